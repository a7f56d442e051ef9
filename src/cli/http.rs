//! One HTTP/1.1 request and answer per connection, for anybody who can reach the address.
//!
//! Listens, reads and writes streams. Invariants: a request has a bounded size and ten seconds, however
//! slowly it arrives, two of them for its head, and the answer has the same limit; the number of open
//! connections is bounded. A new one beyond that replaces the oldest one that has not sent its request, so
//! that slow clients cannot keep others out; if all are being answered, the new one gets an error.

use aops_core::system::wire::Timed;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const LONGEST_HEAD: u64 = 16 << 10;
/// The pause after a connection could not be accepted, perhaps because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// Time limits: for the head of a request; for the rest of it, and for the answer.
const PATIENCE_FOR_HEAD: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(8);
/// How many connections strangers may use at a time.
pub(super) const MOST: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// The status, the header lines, and the body.
pub(super) type Answer = (u16, String, String);

impl Request {
    /// A header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn read(stream: Timed, longest_body: usize) -> io::Result<Self> {
        let odd = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut from = BufReader::new(stream);
        let mut head = from.by_ref().take(LONGEST_HEAD);
        let mut line = String::new();
        head.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(odd("this is not a request"));
        };
        let mut request = Self { method, path, ..Self::default() };
        loop {
            line.clear();
            if head.read_line(&mut line)? == 0 {
                return Err(odd("the request ends in its head"));
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            request.headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        from.get_mut().deadline += PATIENCE;
        let long = request.header("content-length").map_or(Ok(0), str::parse);
        let long: usize = long.map_err(|_| odd("the length is not a number"))?;
        if long > longest_body {
            return Err(odd("the request is too long"));
        }
        let mut body = vec![0; long];
        from.read_exact(&mut body)?;
        request.body = String::from_utf8(body).map_err(|_| odd("the request is not text"))?;
        Ok(request)
    }
}

/// `%20` is a blank.
pub(super) fn unescape(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                out.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => out.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Connections that have not sent their request yet, the oldest first.
#[derive(Default)]
struct Waiting(Mutex<VecDeque<(u64, TcpStream)>>);

impl Waiting {
    fn all(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, number: u64, connection: &TcpStream) -> io::Result<()> {
        let copy = connection.try_clone()?;
        self.all().push_back((number, copy));
        Ok(())
    }

    /// Removes a connection. `false`: it was already ended.
    fn remove(&self, number: u64) -> bool {
        let mut all = self.all();
        let before = all.len();
        all.retain(|(known, _)| *known != number);
        all.len() < before
    }

    /// Ends the oldest one. `false`: there is none.
    fn end_oldest(&self) -> bool {
        let oldest = self.all().pop_front();
        oldest.map(|(_, connection)| connection.shutdown(Shutdown::Both)).is_some()
    }
}

/// Answers connections forever, `most` at a time.
pub(super) fn listen(
    listener: &TcpListener,
    longest_body: usize,
    most: usize,
    judge: impl Fn(&Request) -> Answer + Sync,
) {
    let judge = &judge;
    let open = &AtomicUsize::new(0);
    let waiting = &Waiting::default();
    thread::scope(|scope| {
        for (number, connection) in (0..).zip(listener.incoming()) {
            let Ok(connection) = connection else {
                thread::sleep(PAUSE);
                continue;
            };
            if open.load(Ordering::SeqCst) >= most {
                // An ended connection no longer counts, even if its thread notices later.
                if !waiting.end_oldest() {
                    let _ = refuse(&connection);
                    continue;
                }
                open.fetch_sub(1, Ordering::SeqCst);
            }
            if waiting.add(number, &connection).is_err() {
                let _ = refuse(&connection);
                continue;
            }
            open.fetch_add(1, Ordering::SeqCst);
            let work = move || {
                let mut counts = true;
                let is_wanted = || {
                    counts = waiting.remove(number);
                    counts
                };
                let _ = serve(&connection, longest_body, is_wanted, judge);
                open.fetch_sub(usize::from(counts), Ordering::SeqCst);
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() && waiting.remove(number) {
                open.fetch_sub(1, Ordering::SeqCst);
            }
        }
    });
}

/// Tells a connection, without waiting, that there are too many.
fn refuse(mut connection: &TcpStream) -> io::Result<()> {
    connection.set_nonblocking(true)?;
    connection.write_all(b"HTTP/1.1 503 -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

/// Reads one request and answers it, unless the connection was ended in the meantime.
fn serve(
    stream: &TcpStream,
    longest_body: usize,
    is_wanted: impl FnOnce() -> bool,
    judge: impl FnOnce(&Request) -> Answer,
) -> io::Result<()> {
    let timed = |patience| Timed { stream: Box::new(stream), deadline: Instant::now() + patience };
    let request = Request::read(timed(PATIENCE_FOR_HEAD), longest_body);
    if !is_wanted() {
        return Ok(());
    }
    let (status, headers, body) = match request {
        Ok(request) => judge(&request),
        Err(error) => (400, "Content-Type: text/plain\r\n".to_owned(), format!("{error}\n")),
    };
    let long = body.len();
    let head = format!("HTTP/1.1 {status} -\r\n{headers}Content-Length: {long}\r\nConnection: close\r\n\r\n");
    let mut answer = timed(PATIENCE_FOR_HEAD + PATIENCE);
    answer.write_all(head.as_bytes())?;
    answer.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn ask(address: std::net::SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        stream
    }

    fn answer_of(mut stream: TcpStream) -> String {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    /// The deadline is for the whole request, not for each byte: after it, not even available bytes are read.
    #[test]
    fn a_request_ends_at_its_deadline_however_it_comes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let asked = ask(listener.local_addr().unwrap());
        let (stream, _) = listener.accept().unwrap();
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
        let late = Timed { stream: Box::new(&stream), deadline: Instant::now() };
        assert_eq!(Request::read(late, 0).unwrap_err().kind(), io::ErrorKind::TimedOut);
        let early = Timed { stream: Box::new(&stream), deadline: Instant::now() + Duration::from_mins(1) };
        assert_eq!(Request::read(early, 0).unwrap().method, "GET");
        drop(asked);
    }

    /// Connections are accepted in order: when the last one is answered, all before it were accepted.
    #[test]
    fn who_sends_no_request_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || listen(&listener, 9, 4, |_| (200, String::new(), String::new())));
        let idle = |text: &[u8]| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(text).unwrap();
            stream
        };
        let begun = [b"POST / HTTP/1.1", &b""[..], b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", b"POST"]
            .map(idle);
        for _ in 0..9 {
            assert!(answer_of(ask(address)).starts_with("HTTP/1.1 200"));
        }
        // The oldest of them was closed without an answer.
        let [mut first, ..] = begun;
        let ended = first.read(&mut [0]);
        assert!(ended.as_ref().map_or(true, |long| *long == 0), "{ended:?}");
    }

    #[test]
    fn one_connection_too_many_is_told_so() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let begun = Barrier::new(2);
        let go_on = Barrier::new(2);
        let address = listener.local_addr().unwrap();
        let gates = Box::leak(Box::new((begun, go_on)));
        let begun = &gates.0;
        let go_on = &gates.1;
        thread::spawn(move || {
            listen(&listener, 0, 1, |_| {
                begun.wait();
                go_on.wait();
                (200, String::new(), String::new())
            });
        });
        let first = ask(address);
        begun.wait();
        let second = TcpStream::connect(address).unwrap();
        assert!(answer_of(second).starts_with("HTTP/1.1 503"));
        go_on.wait();
        assert!(answer_of(first).starts_with("HTTP/1.1 200"));
    }
}
