//! Moves bytes from one socket to another inside the kernel.
//!
//! Invariant: bytes are written before more are read, so a slow reader slows its writer down.

use crate::answer;
use crate::body::Body;
use rustix::io::Errno;
use rustix::net::Shutdown;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;

/// Capacity of a pipe, and of one that is widened because much flows through it.
const PIECE: usize = 1 << 16;
const WIDE: usize = 1 << 20;
/// How many pieces are moved before others have their turn.
const TURN: usize = 32;
/// How many empty pipes are kept for later connections.
const KEPT: usize = 32;

pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    size: usize,
}

impl Pipe {
    /// Saves calls if much flows; a user's pipes share a limited number of pages, so not every pipe gets it.
    fn widen(&mut self) {
        self.size = fcntl_setpipe_size(&self.write, WIDE).unwrap_or(PIECE).max(PIECE + 1);
    }

    fn is_wide(&self) -> bool {
        self.size > PIECE
    }
}

#[derive(Default)]
pub(super) struct Pipes(Vec<Pipe>);

impl Pipes {
    fn take(&mut self) -> Option<Pipe> {
        let made = || pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok();
        self.0.pop().or_else(|| made().map(|(read, write)| Pipe { read, write, size: PIECE }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flowed {
    /// Wait until one of the sockets is ready.
    Waits,
    /// There is more, but others have their turn first.
    Again,
    Ended,
    Broken,
}

/// One direction of a connection.
#[derive(Default)]
pub(super) struct Flow {
    /// Written before anything else.
    pub(super) first: Vec<u8>,
    /// If only this much may pass: anything after it is read and dropped.
    pub(super) body: Option<Body>,
    /// Before the head of an answer is passed on: what has come of it.
    pub(super) head: Option<Vec<u8>>,
    pipe: Option<Pipe>,
    /// Bytes in the pipe.
    held: usize,
    pub(super) moved: u64,
    ended: bool,
}

impl Flow {
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn go(&mut self, from: &TcpStream, to: &TcpStream, pipes: &mut Pipes) -> Flowed {
        if self.ended {
            return Flowed::Ended;
        }
        match self.write_first(to) {
            Flowed::Ended => {}
            other => return other,
        }
        if self.head.is_some() {
            match self.pass_head(from, to) {
                Flowed::Ended => {}
                other => return other,
            }
        }
        let flowed =
            if self.body.is_some() { self.go_counted(from, to) } else { self.go_whole(from, to, pipes) };
        self.ended |= flowed == Flowed::Ended;
        flowed
    }

    /// Returns `Ended` when all of it is written.
    fn write_first(&mut self, mut to: &TcpStream) -> Flowed {
        while !self.first.is_empty() {
            match to.write(&self.first) {
                Ok(0) => return Flowed::Broken,
                Ok(written) => {
                    self.first.drain(..written);
                    self.moved += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Flowed::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Flowed::Broken,
            }
        }
        Flowed::Ended
    }

    /// Returns `Ended` when the head of the answer is written, or nothing more comes.
    fn pass_head(&mut self, mut from: &TcpStream, to: &TcpStream) -> Flowed {
        let mut piece = [0; 1 << 12];
        while let Some(read) = &mut self.head {
            if let Some(head) = answer::head(read) {
                let rest = read.split_off(head.length);
                self.first = head.ours;
                if head.is_interim {
                    *read = rest;
                } else {
                    self.first.extend(rest);
                    self.head = None;
                }
                match self.write_first(to) {
                    Flowed::Ended => continue,
                    other => return other,
                }
            }
            match from.read(&mut piece) {
                Ok(0) => {
                    self.first = self.head.take().unwrap_or_default();
                    return self.write_first(to);
                }
                Ok(count) => read.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Flowed::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Flowed::Broken,
            }
        }
        Flowed::Ended
    }

    /// Moves the bytes of one request. The other end is not told that no more follow, since some servers take
    /// that for the end of the connection.
    fn go_counted(&mut self, mut from: &TcpStream, to: &TcpStream) -> Flowed {
        let mut piece = [0; 1 << 14];
        for _ in 0..TURN {
            let read = match from.read(&mut piece) {
                Ok(0) => return Flowed::Ended,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Flowed::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Flowed::Broken,
            };
            let Some(Ok(taken)) = self.body.as_mut().map(|body| body.take(&piece[..read])) else {
                return Flowed::Broken;
            };
            self.first.extend_from_slice(&piece[..taken]);
            match self.write_first(to) {
                Flowed::Ended => {}
                other => return other,
            }
        }
        Flowed::Again
    }

    fn go_whole(&mut self, from: &TcpStream, to: &TcpStream, pipes: &mut Pipes) -> Flowed {
        if self.pipe.is_none() {
            self.pipe = pipes.take();
        }
        let Some(pipe) = &mut self.pipe else { return Flowed::Broken };
        if self.moved > WIDE as u64 && !pipe.is_wide() {
            pipe.widen();
        }
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        for _ in 0..TURN {
            if self.held == 0 {
                match splice(from, None, &pipe.write, None, pipe.size, flags) {
                    Ok(0) => {
                        let _ = rustix::net::shutdown(to, Shutdown::Write);
                        return Flowed::Ended;
                    }
                    Ok(read) => self.held = read,
                    Err(Errno::AGAIN) => return Flowed::Waits,
                    Err(Errno::INTR) => continue,
                    Err(_) => return Flowed::Broken,
                }
            }
            while self.held > 0 {
                match splice(&pipe.read, None, to, None, self.held, flags) {
                    Ok(0) => return Flowed::Broken,
                    Ok(written) => {
                        self.held -= written;
                        self.moved += written as u64;
                    }
                    Err(Errno::AGAIN) => return Flowed::Waits,
                    Err(Errno::INTR) => {}
                    Err(_) => return Flowed::Broken,
                }
            }
        }
        Flowed::Again
    }

    /// Returns the pipe of a finished direction for reuse.
    pub(super) fn give_back(&mut self, pipes: &mut Pipes) {
        let room = self.held == 0 && pipes.0.len() < KEPT;
        if let Some(pipe) = self.pipe.take().filter(|pipe| room && !pipe.is_wide()) {
            pipes.0.push(pipe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (two, _) = listener.accept().unwrap();
        two.set_nonblocking(true).unwrap();
        (one, two)
    }

    /// Continues until this direction has ended.
    fn run(flow: &mut Flow, from: &TcpStream, to: &TcpStream) -> Flowed {
        let mut pipes = Pipes::default();
        loop {
            match flow.go(from, to, &mut pipes) {
                Flowed::Waits | Flowed::Again => std::thread::yield_now(),
                done => return done,
            }
        }
    }

    #[test]
    fn all_bytes_arrive_and_the_end_is_passed_on() {
        let (mut writer, from) = pair();
        let (mut reader, to) = pair();
        let sent: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let all = sent.clone();
        let writing = std::thread::spawn(move || writer.write_all(&all));
        let reading = std::thread::spawn(move || {
            let mut got = Vec::new();
            reader.read_to_end(&mut got).map(|_| got)
        });
        let mut flow = Flow { first: b"first".to_vec(), ..Flow::default() };
        assert_eq!(run(&mut flow, &from, &to), Flowed::Ended);
        writing.join().unwrap().unwrap();
        assert!(reading.join().unwrap().unwrap() == [&b"first"[..], &sent].concat());
        assert_eq!(flow.moved, 3_000_005);
    }

    /// A server that was asked to close, and does not say that it will.
    #[test]
    fn an_answer_says_that_it_is_the_last_of_its_connection() {
        let (mut writer, from) = pair();
        let (mut reader, to) = pair();
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        let mut flow = Flow { head: Some(Vec::new()), ..Flow::default() };
        let mut pipes = Pipes::default();
        let mut interim = [0; 25];
        while flow.moved < 25 {
            assert!(matches!(flow.go(&from, &to, &mut pipes), Flowed::Waits));
        }
        reader.read_exact(&mut interim).unwrap();
        writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        drop(writer);
        assert_eq!(run(&mut flow, &from, &to), Flowed::Ended);
        let mut got = String::new();
        reader.read_to_string(&mut got).unwrap();
        assert_eq!(got, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    }

    #[test]
    fn what_follows_a_body_is_not_passed_on() {
        let (mut writer, from) = pair();
        let (mut reader, to) = pair();
        writer.write_all(b"abcGET /second HTTP/1.1\r\n\r\n").unwrap();
        drop(writer);
        let mut flow = Flow { first: b"head ".to_vec(), body: Some(Body::Length(3)), ..Flow::default() };
        assert_eq!(run(&mut flow, &from, &to), Flowed::Ended);
        drop(to);
        let mut got = String::new();
        reader.read_to_string(&mut got).unwrap();
        assert_eq!(got, "head abc");
    }
}
