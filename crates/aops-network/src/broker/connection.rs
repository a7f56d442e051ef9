//! One connection, and how far it has come.
//!
//! Reads and writes its sockets; decides nothing.

use super::pump::Flow;
use crate::name::Name;
use crate::request::Way;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long each of these may take.
pub(super) const FIRST_BYTES: Duration = Duration::from_secs(10);
pub(super) const LOOK_UP: Duration = Duration::from_secs(30);
pub(super) const DIAL: Duration = Duration::from_secs(10);
const LINGER: Duration = Duration::from_secs(2);
/// More than any first message has; judging it tells so.
const LONGEST_FIRST: usize = 1 << 17;

#[derive(Debug)]
pub(super) enum Stage {
    /// The first bytes must be a TLS hello.
    Hello,
    /// They must be a plain request.
    Request(Way),
    Resolving,
    /// Addresses that were not tried yet, the next one last.
    Dialling(Vec<SocketAddr>),
    /// The proxy was asked for a tunnel; what it has answered so far.
    Asking(Vec<u8>),
    Relaying,
    /// All is said; what still comes is dropped, so that the last word arrives.
    Closing,
}

/// In which words a refusal is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Tls,
    Http,
    /// The connection ends.
    Bare,
}

/// Which of the ways through us it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Judged,
    /// To a port of this machine.
    Local,
    /// From this machine to a server inside.
    Served,
}

/// What a proxy is told first.
pub(super) enum Through {
    /// The request itself, in a proxy's spelling.
    Request,
    /// This question for a tunnel.
    Tunnel(Vec<u8>),
}

pub(super) struct Connection {
    /// Who connected to us.
    pub(super) near: TcpStream,
    pub(super) far: Option<TcpStream>,
    pub(super) stage: Stage,
    pub(super) tone: Tone,
    pub(super) role: Role,
    /// The name that was looked up; later the one that it was judged by.
    pub(super) name: Option<Name>,
    /// Where it was connected to.
    pub(super) address: IpAddr,
    pub(super) port: u16,
    /// The proxy that it goes through, as it was judged.
    pub(super) through: Option<Through>,
    /// What came and is not judged yet.
    pub(super) read: Vec<u8>,
    pub(super) up: Flow,
    pub(super) down: Flow,
    /// Bytes up and down that are counted already.
    pub(super) counted: (u64, u64),
    pub(super) deadline: Option<Instant>,
}

impl Connection {
    pub(super) fn new(near: TcpStream, role: Role, address: IpAddr, port: u16) -> Self {
        Self {
            near,
            far: None,
            stage: Stage::Resolving,
            tone: Tone::Bare,
            role,
            name: None,
            address,
            port,
            through: None,
            read: Vec::new(),
            up: Flow::default(),
            down: Flow::default(),
            counted: (0, 0),
            deadline: Some(Instant::now() + FIRST_BYTES),
        }
    }

    pub(super) fn host(&self) -> String {
        match (&self.name, self.role) {
            (Some(name), _) => name.to_string(),
            (None, Role::Local) => "localhost".to_owned(),
            (None, _) => self.address.to_string(),
        }
    }

    pub(super) fn wait_for(&mut self, time: Duration) {
        self.deadline = Some(Instant::now() + time);
    }

    /// Reads what is there; whether no more will come.
    pub(super) fn fill(&mut self) -> bool {
        let mut piece = [0; 1 << 13];
        while self.read.len() < LONGEST_FIRST {
            match (&self.near).read(&mut piece) {
                Ok(0) => return true,
                Ok(count) => self.read.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
        false
    }

    /// The last words were written. A socket that is closed with something unread in it takes them back.
    pub(super) fn close_soon(&mut self) {
        let _ = self.near.shutdown(std::net::Shutdown::Write);
        self.stage = Stage::Closing;
        self.wait_for(LINGER);
    }

    /// Drops what still comes; whether that was all.
    pub(super) fn drain(&mut self) -> bool {
        self.read.clear();
        let ended = self.fill();
        self.read.clear();
        ended
    }
}
