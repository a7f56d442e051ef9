//! Connections that wait no longer than a deadline.
//!
//! Reads and writes streams that others opened. Invariant: the remaining time is measured before every read
//! and write, so a slow peer cannot delay us, however it sends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A stream of bytes to a peer and back, plain or encrypted.
pub trait Wire: Read + Write {
    fn socket(&self) -> &TcpStream;
}

impl Wire for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Wire for &TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

/// Encrypts a plain connection to this host. The program that runs at every event has no implementation of
/// it.
pub trait Encrypt {
    fn encrypt(&self, host: &str, plain: TcpStream) -> Result<Box<dyn Wire>, String>;
}

/// A connection with a deadline.
pub struct Timed<'a> {
    pub stream: Box<dyn Wire + 'a>,
    pub deadline: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let _ = self.stream.socket().set_read_timeout(Some(time_left(self.deadline)?));
            match self.stream.read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.stream.socket().set_write_timeout(Some(time_left(self.deadline)?));
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Never zero, which would mean no timeout at all.
pub fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(io::Error::new(ErrorKind::TimedOut, "the request takes too long"))
    } else {
        Ok(left)
    }
}
