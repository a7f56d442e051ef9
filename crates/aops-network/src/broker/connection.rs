//! One connection, and its progress.
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
/// Longer than any first message; judging the message then reports the problem.
const LONGEST_FIRST: usize = 1 << 17;

#[derive(Debug)]
pub(super) enum Stage {
    /// The first bytes must be a TLS hello.
    Hello,
    /// The first bytes must be a plain request.
    Request(Way),
    Resolving,
    /// Addresses that were not tried yet, in reverse order.
    Dialling(Vec<SocketAddr>),
    /// The proxy was asked for a tunnel; this is its answer so far.
    Asking(Vec<u8>),
    Relaying,
    /// Everything was sent; further input is dropped, so that our last message arrives.
    Closing,
}

/// The protocol in which a refusal is expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Tls,
    Http,
    /// The connection just ends.
    Bare,
}

/// Which of our services it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Judged,
    /// To a port of this machine.
    Local,
    /// From this machine to a server inside.
    Served,
}

/// What we send to a proxy first.
pub(super) enum Through {
    /// The request itself, in the form for a proxy.
    Request,
    /// This request for a tunnel.
    Tunnel(Vec<u8>),
}

pub(super) struct Connection {
    /// The connection from the client.
    pub(super) near: TcpStream,
    pub(super) far: Option<TcpStream>,
    pub(super) stage: Stage,
    pub(super) tone: Tone,
    pub(super) role: Role,
    /// The name that was looked up; later the one by which it was judged.
    pub(super) name: Option<Name>,
    /// The address to which the client connected.
    pub(super) address: IpAddr,
    pub(super) port: u16,
    /// The proxy that it uses, as decided when it was judged.
    pub(super) through: Option<Through>,
    /// Bytes that arrived and are not judged yet.
    pub(super) read: Vec<u8>,
    pub(super) up: Flow,
    pub(super) down: Flow,
    /// Bytes up and down that are already counted.
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

    /// Reads what is available; returns whether the input has ended.
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

    /// The last message was sent. Closing a socket with unread input would discard the message.
    pub(super) fn close_soon(&mut self) {
        let _ = self.near.shutdown(std::net::Shutdown::Write);
        self.stage = Stage::Closing;
        self.wait_for(LINGER);
    }

    /// Drops further input; returns whether it has ended.
    pub(super) fn drain(&mut self) -> bool {
        self.read.clear();
        let ended = self.fill();
        self.read.clear();
        ended
    }
}
