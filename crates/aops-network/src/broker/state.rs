//! The broker's state, and its refusals.
//!
//! Owns every socket of the session's network; writes counts through its caller.

use super::connection::{Connection, Role, Tone};
use super::pump::Pipes;
use super::resolve::Resolver;
use crate::counts::{Counts, Time};
use crate::dns::Names;
use crate::inner::{self, Wish};
use crate::list::{List, Refusal, spelt};
use crate::proxy::Proxies;
use crate::request;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// What the broker needs from the process around it.
pub struct Outside<'a> {
    /// The channel to the process inside.
    pub inner: OwnedFd,
    /// Counts from before.
    pub counts: Counts,
    /// Delivers signals in the kernel's format.
    pub signals: OwnedFd,
    /// Becomes readable when the session is over.
    pub ends: Vec<OwnedFd>,
    /// The session's present list, or why it cannot be read.
    pub list: &'a mut dyn FnMut() -> Result<List, String>,
    pub save: &'a mut dyn FnMut(&Counts),
    /// Shows a message to a person.
    pub tell: &'a mut dyn FnMut(&str),
    pub clock: &'a dyn Fn() -> Time,
    /// The person's own proxies; or why they cannot be used, in which case no host is reached.
    pub proxies: Result<Proxies, String>,
    /// Connections at a time.
    pub most: usize,
}

/// TLS alerts: access denied, internal error.
const DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];
const FAILED: [u8; 7] = [21, 3, 3, 0, 2, 2, 80];

/// The port at which programs that know a proxy find ours.
pub(super) const PROXY: u16 = 3128;

/// See [`Broker::at_once`].
pub(super) const AT_ONCE: u32 = 32;

/// What a listening socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// A port on every address.
    Everywhere(u16),
    Proxy,
    Local(u16),
    /// On this machine, for a server at this port inside.
    Served(u16),
}

/// What to do with a connection after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    /// It has more to do after others had their turn.
    Again,
    Close,
}

pub(super) struct Broker<'a> {
    pub(super) outside: Outside<'a>,
    pub(super) epoll: OwnedFd,
    pub(super) list: List,
    /// Ports that the machine serves on its loopback, if all of them are allowed.
    pub(super) machine: BTreeSet<u16>,
    pub(super) names: Names,
    pub(super) counts: Counts,
    /// Since when the counts have unsaved changes; and whether one of them is a refusal.
    pub(super) unsaved: Option<(Instant, bool)>,
    pub(super) look_ups: UdpSocket,
    pub(super) doors: BTreeMap<u64, (TcpListener, Door)>,
    pub(super) connections: HashMap<u64, Connection>,
    pub(super) resolver: Resolver,
    pub(super) pipes: Pipes,
    pub(super) sockets: Vec<File>,
    pub(super) again: Vec<u64>,
    /// How many refusals and new hosts may be saved immediately until the next turn.
    pub(super) at_once: u32,
    next: u64,
}

/// Tokens with which the loop is woken: first these, then doors and connections. A connection has two.
pub(super) const SIGNALS: u64 = 0;
pub(super) const INNER: u64 = 1;
pub(super) const RESOLVER: u64 = 2;
pub(super) const LOOK_UPS: u64 = 3;
pub(super) const END: u64 = 4;
pub(super) const FIRST: u64 = 8;

impl<'a> Broker<'a> {
    pub(super) fn new(outside: Outside<'a>) -> io::Result<Self> {
        let list = (outside.list)().map_err(io::Error::other)?;
        let wanted = |wish| inner::wish(&outside.inner, wish);
        let look_ups = wanted(Wish::LookUps(53))?.ok_or(io::ErrorKind::AddrInUse)?;
        let look_ups = UdpSocket::from(look_ups);
        look_ups.set_nonblocking(true)?;
        let mut sockets = Vec::new();
        for wish in [Wish::SocketsFour, Wish::SocketsSix] {
            sockets.extend(wanted(wish)?.map(File::from));
        }
        let resolver = Resolver::new()?;
        let counts = outside.counts.clone();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let broker = Self {
            outside,
            epoll,
            list,
            machine: BTreeSet::new(),
            names: Names::default(),
            counts,
            unsaved: None,
            look_ups,
            doors: BTreeMap::new(),
            connections: HashMap::new(),
            resolver,
            pipes: Pipes::default(),
            sockets,
            again: Vec::new(),
            at_once: AT_ONCE,
            next: FIRST,
        };
        broker.watch(&broker.outside.signals, SIGNALS, EventFlags::IN)?;
        broker.watch(&broker.outside.inner, INNER, EventFlags::IN)?;
        broker.watch(&*broker.resolver.wake, RESOLVER, EventFlags::IN)?;
        broker.watch(&broker.look_ups, LOOK_UPS, EventFlags::IN)?;
        for end in &broker.outside.ends {
            broker.watch(end, END, EventFlags::IN)?;
        }
        Ok(broker)
    }

    pub(super) fn watch(&self, file: impl AsFd, number: u64, flags: EventFlags) -> io::Result<()> {
        epoll::add(&self.epoll, file, EventData::new_u64(number), flags).map_err(Into::into)
    }

    /// A number used only here, together with the next one.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 2;
        self.next
    }

    pub(super) fn now(&self) -> Time {
        (self.outside.clock)()
    }

    pub(super) fn changed(&mut self, is_refusal: bool) {
        let since = self.unsaved.map_or_else(Instant::now, |(since, _)| since);
        self.unsaved = Some((since, is_refusal || self.unsaved.is_some_and(|(_, refused)| refused)));
    }

    pub(super) fn save_counts(&mut self) {
        self.unsaved = None;
        (self.outside.save)(&self.counts);
    }

    /// Refusals and new hosts are reported when the command has ended, so save them quickly.
    pub(super) fn save_soon(&mut self) {
        if self.at_once > 0 {
            self.at_once -= 1;
            self.save_counts();
        } else {
            self.changed(true);
        }
    }

    /// The list refuses; the hint says who can change that.
    pub(super) fn refuse_listed(&mut self, connection: &mut Connection, refusal: Refusal) -> Next {
        let host = connection.host();
        let hint = match refusal {
            Refusal::Denied(_) => "hint: this holds for the whole session; continue without it\n".to_owned(),
            Refusal::NotListed | Refusal::OtherPort | Refusal::AfterSecret => {
                let rule = spelt(&host, connection.port);
                format!("hint: ask the person to run `aops-hook network allow {rule}`\n")
            }
        };
        self.refuse(connection, &refusal.to_string(), &hint)
    }

    /// Says why, in the protocol of the connection, and ends it.
    pub(super) fn refuse(&mut self, connection: &mut Connection, why: &str, hint: &str) -> Next {
        self.refuse_with(connection, request::FORBIDDEN, why, hint)
    }

    /// The same with another HTTP status, if a request is answered.
    pub(super) fn refuse_with(
        &mut self,
        connection: &mut Connection,
        status: &str,
        why: &str,
        hint: &str,
    ) -> Next {
        let said = match connection.tone {
            Tone::Tls => DENIED.to_vec(),
            Tone::Http => {
                let host = format!("{}:{}", connection.host(), connection.port);
                request::refusal(status, &host, &format!("refused, {why}"), hint)
            }
            Tone::Bare => Vec::new(),
        };
        self.end_with(connection, why, &said)
    }

    /// It was allowed, but the host cannot be reached.
    pub(super) fn fail(&mut self, connection: &mut Connection, why: &str) -> Next {
        let said = match connection.tone {
            Tone::Tls => FAILED.to_vec(),
            Tone::Http => {
                let host = format!("{}:{}", connection.host(), connection.port);
                request::refusal(request::BAD_GATEWAY, &host, why, "")
            }
            Tone::Bare => Vec::new(),
        };
        self.end_with(connection, why, &said)
    }

    fn end_with(&mut self, connection: &mut Connection, why: &str, said: &[u8]) -> Next {
        if connection.role == Role::Judged {
            let now = self.now();
            self.counts.refused(&connection.host(), connection.port, why, now);
            self.save_soon();
        }
        if said.is_empty() {
            return Next::Close;
        }
        // A new socket accepts this little at once.
        let _ = (&connection.near).write_all(said);
        connection.close_soon();
        Next::Wait
    }
}
