//! The process inside: it makes sockets in its network and passes them out.
//!
//! A socket belongs to the network in which it was made, whoever holds it. Invariant: the process does what
//! the broker requests, and ends with it.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socket_with,
};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

/// A file that the broker requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// UDP on every address.
    LookUps(u16),
    /// TCP on every address.
    Everywhere(u16),
    /// TCP only on the loopback address.
    Loopback(u16),
    /// A socket that is not connected yet.
    Four,
    Six,
    /// The kernel's list of sockets of either kind.
    SocketsFour,
    SocketsSix,
}

impl Wish {
    fn to_bytes(self) -> [u8; 3] {
        let (kind, port) = match self {
            Self::LookUps(port) => (0, port),
            Self::Everywhere(port) => (1, port),
            Self::Loopback(port) => (2, port),
            Self::Four => (3, 0),
            Self::Six => (4, 0),
            Self::SocketsFour => (5, 0),
            Self::SocketsSix => (6, 0),
        };
        let [high, low] = port.to_be_bytes();
        [kind, high, low]
    }

    fn of([kind, high, low]: [u8; 3]) -> Option<Self> {
        let port = u16::from_be_bytes([high, low]);
        Some(match kind {
            0 => Self::LookUps(port),
            1 => Self::Everywhere(port),
            2 => Self::Loopback(port),
            3 => Self::Four,
            4 => Self::Six,
            5 => Self::SocketsFour,
            6 => Self::SocketsSix,
            _ => return None,
        })
    }

    fn grant(self) -> io::Result<OwnedFd> {
        let fresh = |family| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(family, SocketType::STREAM, flags, None).map_err(io::Error::from)
        };
        match self {
            Self::LookUps(port) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).map(Into::into),
            Self::Everywhere(port) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).map(Into::into),
            Self::Loopback(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(Into::into),
            Self::Four => fresh(AddressFamily::INET),
            Self::Six => fresh(AddressFamily::INET6),
            Self::SocketsFour => File::open("/proc/self/net/tcp").map(Into::into),
            Self::SocketsSix => File::open("/proc/self/net/tcp6").map(Into::into),
        }
    }
}

/// From here on every IPv4 address is this machine: `ip route add local 0.0.0.0/0 dev lo`. A server at one of
/// the loopback's addresses must answer from that very address, like a resolver at 127.0.0.53, but the
/// kernel's own route would use another one.
pub fn take_every_address() -> io::Result<()> {
    add_route(None)?;
    add_route(Some((Ipv4Addr::new(127, 0, 0, 0), 8)))
}

/// Adds a route in the table `local` to the loopback device: to this network, or to all.
fn add_route(to: Option<(Ipv4Addr, u8)>) -> io::Result<()> {
    const LOOPBACK_DEVICE: u32 = 1;
    // Without a protocol number it is the one for routes.
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // AF_INET, prefix length, table `local`, added manually, scope host, type `local`.
    let mut route = vec![2, to.map_or(0, |(_, length)| length), 0, 0, 255, 3, 254, 2];
    route.extend(0u32.to_ne_bytes());
    // RTA_OIF: the device; RTA_DST: the network.
    let mut attribute = |kind: u16, value: [u8; 4]| {
        route.extend(8u16.to_ne_bytes());
        route.extend(kind.to_ne_bytes());
        route.extend(value);
    };
    attribute(4, LOOPBACK_DEVICE.to_ne_bytes());
    if let Some((network, _)) = to {
        attribute(1, network.octets());
    }
    let mut request = Vec::with_capacity(64);
    request.extend(u32::try_from(16 + route.len()).unwrap_or_default().to_ne_bytes());
    // RTM_NEWROUTE with acknowledgement, replacing an existing route.
    request.extend(24u16.to_ne_bytes());
    request.extend((0x1u16 | 0x4 | 0x100 | 0x400).to_ne_bytes());
    request.extend(1u32.to_ne_bytes());
    request.extend(0u32.to_ne_bytes());
    request.extend(route);
    send(&kernel, &request, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::empty())?;
    // NLMSG_ERROR, whose code is 0 on success.
    let code = answer.get(16..20).filter(|_| length >= 20 && answer[4] == 2);
    match code.and_then(|code| Some(i32::from_ne_bytes(code.try_into().ok()?))) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Serves the broker's requests until the broker has ended.
pub fn serve(channel: &OwnedFd) {
    let mut bytes = [0; 3];
    loop {
        match recv(channel, &mut bytes[..], RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            Ok((_, 3)) => {
                let granted = Wish::of(bytes).map(Wish::grant);
                let answered = match &granted {
                    Some(Ok(file)) => pass(channel, file),
                    _ => send(channel, &[1], SendFlags::NOSIGNAL).map(drop),
                };
                if answered.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

fn pass(channel: &OwnedFd, file: &OwnedFd) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    with.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(channel, &[IoSlice::new(&[0])], &mut with, SendFlags::NOSIGNAL).map(drop)
}

/// Sends a request to the process inside; an error if it has ended, `None` if it cannot fulfil the request.
pub fn wish(channel: &OwnedFd, wish: Wish) -> io::Result<Option<OwnedFd>> {
    send(channel, &wish.to_bytes(), SendFlags::NOSIGNAL)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut brought = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let got = loop {
        match recvmsg(channel, &mut [IoSliceMut::new(&mut byte)], &mut brought, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            got => break got?,
        }
    };
    if got.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(brought.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::socketpair;

    #[test]
    fn what_is_wished_for_is_passed_out_and_the_end_ends_it() {
        let (own, other) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let inside = std::thread::spawn(move || serve(&other));
        let listener: TcpListener = wish(&own, Wish::Loopback(0)).unwrap().unwrap().into();
        let port = listener.local_addr().unwrap().port();
        assert!(wish(&own, Wish::Loopback(port)).unwrap().is_none(), "it is taken");
        for fresh in [Wish::Four, Wish::Six, Wish::SocketsFour, Wish::LookUps(0), Wish::Everywhere(0)] {
            assert!(wish(&own, fresh).unwrap().is_some(), "{fresh:?}");
        }
        drop(own);
        inside.join().unwrap();
    }
}
