//! Messages with open files between two processes of ours.
//!
//! Sends and receives. Invariants: a message arrives whole; a received file is closed when another program is
//! executed.

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// At most this many file descriptors come with one message.
const MOST_FILES: usize = 4;

/// The two ends.
pub fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

pub fn send(channel: &OwnedFd, bytes: &[u8], files: &[BorrowedFd]) -> Option<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !with.push(SendAncillaryMessage::ScmRights(files)) {
        return None;
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(channel, &[IoSlice::new(bytes)], &mut with, flags).ok().map(drop)
}

/// The next message: its length, and the file descriptors that came with it. Without a length the other end
/// is closed.
pub fn receive(channel: &OwnedFd, into: &mut [u8], how: RecvFlags) -> Option<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match recvmsg(channel, &mut [IoSliceMut::new(into)], &mut with, RecvFlags::CMSG_CLOEXEC | how) {
            Err(rustix::io::Errno::INTR) => {}
            got => break got.ok()?,
        }
    };
    let files = with.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    });
    Some((got.bytes, files.collect()))
}
