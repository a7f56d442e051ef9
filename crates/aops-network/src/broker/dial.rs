//! Connects to a judged name, and starts passing bytes.
//!
//! Invariant: an address is checked before it is dialled, and no other address is dialled.

use super::connection::{Connection, DIAL, LOOK_UP, Role, Stage, Through, Tone};
use super::pump::Flowed;
use super::resolve::Answer;
use super::state::{Broker, Next};
use crate::address::is_public;
use crate::counts::MUCH;
use crate::inner::{self, Wish};
use crate::list::Pass;
use crate::name::Name;
use crate::proxy::{Speech, is_open};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

/// All events on a connection's socket, reported once each.
pub(super) const ALL: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

impl Broker<'_> {
    /// The connection may go to this name, so look up its address.
    pub(super) fn begin(&mut self, id: u64, connection: &mut Connection, name: Name, on: Pass) -> Next {
        let now = self.now();
        let known = self.counts.row_of(name.as_str(), connection.port).is_some_and(|row| row.connections > 0);
        self.counts.passed(name.as_str(), connection.port, on, now);
        if known {
            self.changed(false);
        } else {
            self.save_soon();
        }
        let proxies = match &self.outside.proxies {
            Ok(proxies) => proxies,
            Err(why) => {
                let why = format!("cannot be reached, {why}");
                return self.fail(connection, &why);
            }
        };
        let speech = match connection.tone {
            Tone::Tls => Some(Speech::Tls),
            Tone::Http => Some(Speech::Plain),
            // These programs speak another protocol, and know no such proxy.
            Tone::Bare => None,
        };
        let proxy = speech.and_then(|speech| proxies.of_host(&name, connection.port, speech));
        match (proxy, speech) {
            (Some(proxy), Some(Speech::Plain)) => {
                connection.up.first = proxy.spell(&connection.up.first, &name, connection.port);
                connection.through = Some(Through::Request);
            }
            (Some(proxy), _) => connection.through = Some(Through::Tunnel(proxy.ask(&name, connection.port))),
            (None, _) => {}
        }
        let (asked, at) = match proxy {
            Some(proxy) => (proxy.host.clone(), proxy.port),
            None => (name.to_string(), connection.port),
        };
        connection.name = Some(name);
        connection.stage = Stage::Resolving;
        connection.wait_for(LOOK_UP);
        match self.resolver.ask(id, asked, at) {
            Some(addresses) => self.dial_checked(id, connection, &addresses),
            None => Next::Wait,
        }
    }

    pub(super) fn resolved(&mut self, answer: Answer) {
        let Answer { id, addresses, .. } = answer;
        let Some(mut connection) = self.connections.remove(&id) else { return };
        // It may have been refused meanwhile.
        let next = match connection.stage {
            Stage::Resolving => self.dial_checked(id, &mut connection, &addresses),
            _ => Next::Wait,
        };
        self.put_back(id, connection, next);
    }

    fn dial_checked(&mut self, id: u64, connection: &mut Connection, addresses: &[SocketAddr]) -> Next {
        // A proxy is chosen by the person, wherever it is, and resolves the name itself.
        let may_be_private = connection.through.is_some()
            || connection.name.as_ref().is_some_and(|name| self.list.may_be_private(name));
        let checked = addresses.iter().filter(|address| may_be_private || is_public(address.ip()));
        let mut checked: Vec<SocketAddr> = checked.copied().collect();
        checked.reverse();
        if !checked.is_empty() {
            connection.stage = Stage::Dialling(checked);
            return self.dial(id, connection);
        }
        if addresses.is_empty() {
            return self.fail(connection, "cannot be reached, its name is not known");
        }
        self.refuse(
            connection,
            "its name resolves to a private address",
            "hint: a person can name it in `[network] private`\n",
        )
    }

    /// Tries the next address.
    pub(super) fn dial(&mut self, id: u64, connection: &mut Connection) -> Next {
        connection.far = None;
        loop {
            let Stage::Dialling(left) = &mut connection.stage else { return Next::Close };
            let Some(address) = left.pop() else {
                self.resolver.forget();
                return self.fail(connection, "cannot be reached");
            };
            let Ok(socket) = self.socket(address.ip(), connection.role) else { continue };
            match connect(&socket, &address) {
                Ok(()) | Err(Errno::INPROGRESS) => {}
                Err(_) => continue,
            }
            let far = TcpStream::from(socket);
            if self.watch(&far, id + 1, ALL).is_ok() {
                connection.far = Some(far);
                connection.wait_for(DIAL);
                return Next::Wait;
            }
        }
    }

    /// A socket of our own; for a server inside, a socket from inside.
    fn socket(&self, to: IpAddr, role: Role) -> io::Result<OwnedFd> {
        let four = to.is_ipv4();
        if role == Role::Served {
            let wish = if four { Wish::Four } else { Wish::Six };
            return inner::wish(&self.outside.inner, wish)?.ok_or_else(|| io::ErrorKind::Unsupported.into());
        }
        let family = if four { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socket_with(family, SocketType::STREAM, flags, None).map_err(Into::into)
    }

    /// Something happened to a socket that is connecting.
    pub(super) fn dialled(&mut self, id: u64, connection: &mut Connection) -> Next {
        let Some(far) = &connection.far else { return Next::Close };
        match far.take_error() {
            Ok(None) if far.peer_addr().is_ok() => {}
            Ok(None) => return Next::Wait,
            _ => return self.dial(id, connection),
        }
        let _ = (far.set_nodelay(true), connection.near.set_nodelay(true));
        if let Some(Through::Tunnel(question)) = &connection.through {
            // A new socket accepts this little at once.
            let asked = (&*far).write_all(question);
            connection.stage = Stage::Asking(Vec::new());
            return if asked.is_ok() {
                self.answered(connection)
            } else {
                self.fail(connection, "cannot be reached")
            };
        }
        self.start(connection)
    }

    /// The proxy may have answered.
    pub(super) fn answered(&mut self, connection: &mut Connection) -> Next {
        let (Some(far), Stage::Asking(answer)) = (&connection.far, &mut connection.stage) else {
            return Next::Close;
        };
        let mut byte = [0];
        // Byte by byte, since everything after the answer comes from the host.
        let said = loop {
            match (&*far).read(&mut byte) {
                Ok(1..) => answer.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Wait,
                Ok(0) | Err(_) => break Err("cannot be reached, your proxy does not answer".to_owned()),
            }
            if let Some(said) = is_open(answer) {
                break said;
            }
        };
        match said {
            Ok(()) => self.start(connection),
            Err(why) => self.fail(connection, &why),
        }
    }

    fn start(&mut self, connection: &mut Connection) -> Next {
        connection.stage = Stage::Relaying;
        connection.deadline = None;
        self.relay(connection)
    }

    pub(super) fn relay(&mut self, connection: &mut Connection) -> Next {
        let Connection { near, far: Some(far), up, .. } = connection else { return Next::Close };
        let sent = up.go(near, far, &mut self.pipes);
        self.note_sent(connection);
        let Connection { near, far: Some(far), up, down, .. } = connection else { return Next::Close };
        let flowed = [sent, down.go(far, near, &mut self.pipes)];
        // Once a server has answered one request, we are done, whatever else was sent.
        let answered = up.body.is_some() && down.has_ended();
        if flowed.contains(&Flowed::Broken) || flowed == [Flowed::Ended; 2] || answered {
            return Next::Close;
        }
        if flowed.contains(&Flowed::Again) { Next::Again } else { Next::Wait }
    }

    /// Saves at once that much was sent: a command that then kills this process does not hide it.
    fn note_sent(&mut self, connection: &mut Connection) {
        let more = connection.up.moved - connection.counted.0;
        if connection.role != Role::Served && more >= MUCH {
            self.count(connection);
            self.save_counts();
        } else if more > 0 {
            self.changed(false);
        }
    }

    /// Counts the bytes since the last time.
    pub(super) fn count(&mut self, connection: &mut Connection) {
        let up = connection.up.moved;
        let down = connection.down.moved;
        let (old_up, old_down) = connection.counted;
        if connection.role == Role::Served || (up, down) == (old_up, old_down) {
            return;
        }
        let now = self.now();
        self.counts.moved(&connection.host(), connection.port, up - old_up, down - old_down, now);
        connection.counted = (up, down);
        self.changed(false);
    }

    pub(super) fn put_back(&mut self, id: u64, mut connection: Connection, next: Next) {
        match next {
            Next::Wait => drop(self.connections.insert(id, connection)),
            Next::Again => {
                self.connections.insert(id, connection);
                self.again.push(id);
            }
            Next::Close => {
                self.count(&mut connection);
                connection.up.give_back(&mut self.pipes);
                connection.down.give_back(&mut self.pipes);
            }
        }
    }
}
