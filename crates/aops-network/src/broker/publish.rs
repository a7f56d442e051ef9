//! Makes servers inside reachable at the same port of this machine's loopback.
//!
//! Reads the kernel's list of sockets inside. Invariant: only the loopback address is opened, whatever
//! address a server listens on.

use super::state::{Broker, Door, PROXY};
use crate::counts::Served;
use rustix::event::epoll::EventFlags;
use std::collections::BTreeSet;
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, TcpListener};

/// How many ports are tried if the same one is taken.
const MOST_TRIED: u16 = 100;
/// Servers at a time, since a command could otherwise take every port of this machine.
const MOST_SERVED: usize = 64;
const LISTENS: &str = "0A";

/// Listening sockets in the kernel's list: address, in the kernel's notation, and port.
pub(super) fn listening(text: &str) -> impl Iterator<Item = (&str, u16)> {
    text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (address, port) = words.nth(1)?.rsplit_once(':')?;
        (words.nth(1)? == LISTENS).then(|| Some((address, u16::from_str_radix(port, 16).ok()?)))?
    })
}

impl Broker<'_> {
    /// Opens new servers, and closes those that are gone.
    pub(super) fn publish(&mut self) {
        let mut there = BTreeSet::new();
        for list in &mut self.sockets {
            let mut text = String::new();
            if list.rewind().and_then(|()| list.read_to_string(&mut text)).is_ok() {
                there.extend(listening(&text).map(|(_, port)| port));
            }
        }
        let own = |door: &Door| match door {
            Door::Everywhere(port) | Door::Local(port) => Some(*port),
            Door::Proxy => Some(PROXY),
            Door::Served(_) => None,
        };
        let ours: BTreeSet<u16> = self.doors.values().filter_map(|(_, door)| own(door)).collect();
        let wanted: BTreeSet<u16> =
            there.into_iter().filter(|port| !ours.contains(port) && self.list.publishes(*port)).collect();
        let gone = |door: &Door| matches!(door, Door::Served(port) if !wanted.contains(port));
        let before = self.doors.len();
        self.doors.retain(|_, (_, door)| !gone(door));
        let is_open = |port: &&u16| !self.doors.values().any(|(_, door)| *door == Door::Served(**port));
        let new: Vec<u16> = wanted.iter().filter(is_open).copied().collect();
        let mut changed = before != self.doors.len();
        let served = self.doors.values().filter(|(_, door)| matches!(door, Door::Served(_))).count();
        for port in new.into_iter().take(MOST_SERVED.saturating_sub(served)) {
            changed |= self.open_outside(port);
        }
        if changed {
            self.tell_served();
        }
    }

    /// Opens the same port, or the next free one.
    fn open_outside(&mut self, port: u16) -> bool {
        let ports = (port..=u16::MAX).take(MOST_TRIED.into());
        let Some(listener) =
            ports.into_iter().find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
        else {
            return false;
        };
        let number = self.number();
        let opened =
            listener.set_nonblocking(true).is_ok() && self.watch(&listener, number, EventFlags::IN).is_ok();
        if opened {
            self.doors.insert(number, (listener, Door::Served(port)));
        }
        opened
    }

    fn tell_served(&mut self) {
        let served = self.doors.values().filter_map(|(listener, door)| match door {
            Door::Served(inside) => {
                Some(Served { inside: *inside, outside: listener.local_addr().ok()?.port() })
            }
            _ => None,
        });
        self.counts.served = served.collect();
        self.changed(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_servers_are_read_from_the_kernels_list() {
        let four = "  sl  local_address rem_address   st tx_queue\n   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000\n   \
                    1: 0100007F:0BB9 0100007F:1F90 01 00000000:00000000\n   2: 00000000:0050 00000000:0000 0A 0:0\n";
        assert_eq!(listening(four).collect::<Vec<_>>(), [("0100007F", 3000), ("00000000", 80)]);
        let six =
            "sl\n 0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0\n";
        assert_eq!(listening(six).map(|(_, port)| port).collect::<Vec<_>>(), [8080]);
        assert_eq!(listening("sl\nbroken\n1: x\n").count(), 0);
    }
}
