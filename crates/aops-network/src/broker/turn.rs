//! The broker's loop.
//!
//! Waits for sockets, signals and the end of the session, and handles each in turn.

use super::connection::{Role, Stage};
use super::state::{
    AT_ONCE, Broker, Door, END, FIRST, INNER, LOOK_UPS, Next, Outside, PROXY, RESOLVER, SIGNALS,
};
use crate::dns;
use crate::inner::{self, Wish};
use crate::list::{Mode, Publish, Verdict};
use crate::proxy::Proxies;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// How often we look for servers inside.
const LOOK: Duration = Duration::from_millis(250);
/// How soon a refusal is saved, and how soon everything else.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_secs(1);
const HANGUP: u32 = 1;

/// Judges and passes on until the session is over, or the process inside has ended. `ready`: called when all
/// doors are open.
pub fn run(outside: Outside, ready: impl FnOnce()) -> io::Result<()> {
    let mut broker = Broker::new(outside)?;
    broker.look_at_machine();
    broker.open_doors()?;
    ready();
    let mut events = Vec::with_capacity(256);
    let mut looked = Instant::now();
    loop {
        events.clear();
        match epoll::wait(
            &broker.epoll,
            rustix::buffer::spare_capacity(&mut events),
            broker.patience().as_ref(),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            if !broker.woken(event.data.u64()) {
                broker.save();
                return Ok(());
            }
        }
        for id in std::mem::take(&mut broker.again) {
            broker.step(id);
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            broker.look_around(looked);
        }
        let due = |(since, refused): (Instant, bool)| since.elapsed() >= if refused { SOON } else { LATER };
        if broker.unsaved.is_some_and(due) {
            broker.save();
        }
    }
}

impl Broker<'_> {
    /// How long the loop may wait.
    fn patience(&self) -> Option<Timespec> {
        let time = if !self.again.is_empty() {
            Duration::ZERO
        } else if self.unsaved.is_some_and(|(_, refused)| refused) {
            SOON
        } else if self.list.publish != Publish::None
            || self.list.mode == Mode::Observe
            || !self.connections.is_empty()
            || self.unsaved.is_some()
        {
            LOOK
        } else {
            return None;
        };
        time.try_into().ok()
    }

    /// The ports on which clients may connect to any address: those of the list, and of the person's proxies.
    fn ports(&self) -> BTreeSet<u16> {
        let proxies = self.outside.proxies.iter().flat_map(Proxies::all);
        self.list.ports().into_iter().chain(proxies.map(|proxy| proxy.port)).collect()
    }

    /// Opens every door that the list requires and that is not open yet.
    pub(super) fn open_doors(&mut self) -> io::Result<()> {
        let ports = self.ports();
        let everywhere = ports.iter().copied().map(Door::Everywhere);
        // A port that is open on every address is also open on the loopback.
        let local = self.local_ports();
        let local = local.difference(&ports).map(|port| Door::Local(*port));
        let proxy = (!ports.contains(&PROXY)).then_some(Door::Proxy);
        let wanted: Vec<Door> = everywhere.chain(local).chain(proxy).collect();
        for door in wanted {
            if self.doors.values().any(|(_, known)| *known == door) {
                continue;
            }
            let wish = match door {
                Door::Everywhere(port) => Wish::Everywhere(port),
                Door::Local(port) => Wish::Loopback(port),
                Door::Proxy | Door::Served(_) => Wish::Loopback(PROXY),
            };
            // A command's own server may use the port by now.
            let Some(listener) = inner::wish(&self.outside.inner, wish)? else {
                if !matches!(door, Door::Local(port) if self.machine.contains(&port)) {
                    (self.outside.tell)(&format!(
                        "a port of the network's list is already in use inside: {door:?}"
                    ));
                }
                continue;
            };
            let listener = TcpListener::from(listener);
            listener.set_nonblocking(true)?;
            let number = self.number();
            self.watch(&listener, number, EventFlags::IN)?;
            self.doors.insert(number, (listener, door));
        }
        Ok(())
    }

    /// Handles one wake-up; returns whether the loop continues.
    fn woken(&mut self, number: u64) -> bool {
        match number {
            SIGNALS => return self.signalled(),
            INNER | END => return false,
            RESOLVER => {
                for answer in self.resolver.take() {
                    self.resolved(answer);
                }
            }
            LOOK_UPS => self.answer_look_ups(),
            FIRST.. if self.doors.contains_key(&number) => self.accept_all(number),
            _ => self.step(number & !1),
        }
        true
    }

    fn signalled(&mut self) -> bool {
        let mut signal = [0; 128];
        let read = rustix::io::read(&self.outside.signals, &mut signal[..]);
        if read == Err(Errno::AGAIN) || read == Err(Errno::INTR) {
            return true;
        }
        let number = u32::from_ne_bytes([signal[0], signal[1], signal[2], signal[3]]);
        if number != HANGUP {
            return false;
        }
        match (self.outside.list)() {
            Ok(list) => {
                self.list = list;
                self.look_at_machine();
                self.narrow();
                if let Err(error) = self.open_doors() {
                    (self.outside.tell)(&format!("not every port of the new list could be opened: {error}"));
                }
                // The sender of the signal sees from this that the new list is in force.
                self.save();
            }
            Err(why) => (self.outside.tell)(&format!(
                "the network's list cannot be read, so the old one stays: {why}"
            )),
        }
        true
    }

    /// Keeps an open connection only if its host, or its port of this machine, is still allowed.
    fn narrow(&mut self) {
        let local = self.local_ports();
        let fallen = |name, port| matches!(self.list.judge(name, port), Verdict::Refuse(_));
        let judged = self.connections.iter().filter(|(_, connection)| {
            let under_way = matches!(
                connection.stage,
                Stage::Resolving | Stage::Dialling(_) | Stage::Asking(_) | Stage::Relaying
            );
            let name = connection.name.as_ref();
            let is_local = connection.role == Role::Local;
            let gone = is_local && !local.contains(&connection.port);
            under_way && (gone || !is_local && name.is_some_and(|name| fallen(name, connection.port)))
        });
        let ended: Vec<u64> = judged.map(|(id, _)| *id).collect();
        for id in ended {
            if let Some(connection) = self.connections.remove(&id) {
                self.put_back(id, connection, Next::Close);
            }
        }
        self.close_doors();
    }

    /// Closes doors that neither the list nor the machine requires any more.
    fn close_doors(&mut self) {
        let ports = self.ports();
        let local = self.local_ports();
        self.doors.retain(|_, (_, door)| match door {
            Door::Everywhere(port) => ports.contains(port),
            Door::Local(port) => local.contains(port) && !ports.contains(port),
            // Only if no other port has the same number.
            Door::Proxy => !ports.contains(&PROXY),
            Door::Served(_) => true,
        });
    }

    fn answer_look_ups(&mut self) {
        let mut query = [0; 600];
        while let Ok((length, from)) = self.look_ups.recv_from(&mut query) {
            if let Some(answer) = dns::answer(&query[..length], &mut self.names) {
                let _ = self.look_ups.send_to(&answer, from);
            }
        }
    }

    fn accept_all(&mut self, number: u64) {
        while let Some((listener, door)) = self.doors.get(&number) {
            let door = *door;
            match listener.accept() {
                Ok((near, _)) if self.connections.len() < self.outside.most => self.accept(near, door),
                // Over the limit, so it is closed.
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(_) => return,
            }
        }
    }

    fn step(&mut self, id: u64) {
        let Some(mut connection) = self.connections.remove(&id) else { return };
        let next = match connection.stage {
            Stage::Hello | Stage::Request(_) => self.first_bytes(id, &mut connection),
            Stage::Resolving => Next::Wait,
            Stage::Dialling(_) => self.dialled(id, &mut connection),
            Stage::Asking(_) => self.answered(&mut connection),
            Stage::Relaying => self.relay(&mut connection),
            Stage::Closing => {
                if connection.drain() {
                    Next::Close
                } else {
                    Next::Wait
                }
            }
        };
        self.put_back(id, connection, next);
    }

    /// Looks for servers inside, and for connections that took too long.
    fn look_around(&mut self, now: Instant) {
        self.at_once = AT_ONCE;
        if self.list.publish != Publish::None || !self.counts.served.is_empty() {
            self.publish();
        }
        if self.look_at_machine() {
            self.close_doors();
            // If a command's own server has a port, the port stays with that server, as it would without us.
            let _ = self.open_doors();
        }
        let late = self.connections.iter().filter(|(_, one)| one.deadline.is_some_and(|end| end <= now));
        for id in late.map(|(id, _)| *id).collect::<Vec<u64>>() {
            let Some(mut connection) = self.connections.remove(&id) else { continue };
            let next = match connection.stage {
                Stage::Dialling(_) => self.dial(id, &mut connection),
                Stage::Asking(_) => {
                    self.fail(&mut connection, "cannot be reached, your proxy does not answer")
                }
                Stage::Resolving => self.fail(&mut connection, "cannot be reached, its name is not known"),
                Stage::Hello | Stage::Request(_) if self.only_notes(&connection) => {
                    self.pass_unread(id, &mut connection)
                }
                Stage::Hello | Stage::Request(_) if connection.read.is_empty() => Next::Close,
                Stage::Hello | Stage::Request(_) => {
                    self.refuse(&mut connection, "it did not name its host", "")
                }
                Stage::Relaying => Next::Wait,
                Stage::Closing => Next::Close,
            };
            self.put_back(id, connection, next);
        }
    }

    /// Also counts the bytes of open connections.
    fn save(&mut self) {
        for id in self.connections.keys().copied().collect::<Vec<u64>>() {
            if let Some(mut connection) = self.connections.remove(&id) {
                self.count(&mut connection);
                self.connections.insert(id, connection);
            }
        }
        self.save_counts();
    }
}
