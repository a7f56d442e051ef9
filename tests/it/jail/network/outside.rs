//! Who is outside: servers of the hosts, a resolver, and a sink that notes whoever should not have come.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write, copy, sink};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

/// Where the names of this machine lead.
const NAMES: [(&str, Ipv4Addr); 7] = [
    ("tls.test", Ipv4Addr::new(93, 184, 216, 1)),
    ("plain.test", Ipv4Addr::new(93, 184, 216, 2)),
    ("db.test", Ipv4Addr::new(93, 184, 216, 3)),
    ("rebound.test", Ipv4Addr::LOCALHOST),
    ("inner.test", Ipv4Addr::new(10, 9, 8, 7)),
    ("evil.test", Ipv4Addr::new(93, 184, 216, 66)),
    // One that takes uploads from anybody.
    ("paste.rs", Ipv4Addr::new(93, 184, 216, 4)),
];
/// Hosts that someone may come to.
const LISTED: [Ipv4Addr; 5] = [NAMES[0].1, NAMES[1].1, NAMES[2].1, NAMES[4].1, NAMES[6].1];
/// An address of this machine that is nobody's.
pub(super) const MACHINE: &str = "93.184.216.99";
pub(super) const ABSTRACT: &str = "aops-network-sink";
const SINK: u16 = 18099;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<BTreeSet<String>>>);

impl Log {
    fn note(&self, what: String) {
        self.0.lock().unwrap().insert(what);
    }
}

/// All of it, as long as the test runs.
pub(crate) struct Outside {
    escaped: Log,
    asked: Log,
}

impl Outside {
    pub(crate) fn new(socket: &Path) -> Self {
        let all = Self::without_tls(socket);
        all.serve(443, |mut one, to| {
            let _ = one.read(&mut [0; 4096]);
            // In one piece, as those who read it expect.
            let _ = one.write_all(format!("answered by {to}:443").as_bytes());
        });
        all
    }

    /// The same where another listens on that port.
    pub(super) fn without_tls(socket: &Path) -> Self {
        let all = Self { escaped: Log::default(), asked: Log::default() };
        all.resolve();
        all.serve(80, |one, _| answer_requests(one));
        all.serve(22, |mut one, to| {
            // Who closes with something unread takes back what it said.
            let _ = write!(one, "SSH-2.0-{to}\r\n").and_then(|()| one.shutdown(Shutdown::Write));
            let _ = copy(&mut one, &mut sink());
        });
        all.serve(5432, |one, to| echo(one, &format!("database {to} ")));
        all.serve(SINK, |mut one, _| drop(one.write_all(b"ESCAPED\n")));
        all.sink(socket);
        all
    }

    /// A server on every address. Whoever comes to a host that is on no list has escaped.
    fn serve(&self, port: u16, answer: fn(TcpStream, Ipv4Addr)) {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap();
        let escaped = self.escaped.clone();
        thread::spawn(move || {
            for one in listener.incoming().flatten() {
                let std::net::IpAddr::V4(to) = one.local_addr().unwrap().ip() else { continue };
                let own = port == 5432 && to == Ipv4Addr::LOCALHOST;
                if !own && (port == SINK || !LISTED.contains(&to)) {
                    escaped.note(format!("tcp {to}:{port}"));
                }
                thread::spawn(move || answer(one, to));
            }
        });
    }

    fn sink(&self, socket: &Path) {
        let six = TcpListener::bind(("::1", SINK)).unwrap();
        let datagrams = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, SINK)).unwrap();
        let path = UnixListener::bind(socket).unwrap();
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(ABSTRACT).unwrap()).unwrap();
        let escaped = self.escaped.clone();
        thread::spawn(move || six.incoming().for_each(|_| escaped.note("tcp ::1".to_owned())));
        let escaped = self.escaped.clone();
        thread::spawn(move || {
            while datagrams.recv_from(&mut [0; 10]).is_ok() {
                escaped.note("udp".to_owned());
            }
        });
        for listener in [path, hidden] {
            let escaped = self.escaped.clone();
            thread::spawn(move || {
                for mut one in listener.incoming().flatten() {
                    escaped.note("unix".to_owned());
                    let _ = one.write_all(b"ESCAPED\n");
                }
            });
        }
    }

    /// The machine's resolver.
    fn resolve(&self) {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)).unwrap();
        let asked = self.asked.clone();
        thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                let (name, end) = question(&query[..length]);
                let found = NAMES.iter().find(|(known, _)| *known == name).filter(|_| query[end - 3] == 1);
                asked.note(name);
                let mut said = query[..end].to_vec();
                said[2] = 0x81;
                said[3] = 0x80;
                said[6..12].copy_from_slice(&[0, u8::from(found.is_some()), 0, 0, 0, 0]);
                if let Some((_, address)) = found {
                    said.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
                    said.extend(address.octets());
                }
                let _ = socket.send_to(&said, from);
            }
        });
    }

    pub(crate) fn escaped(&self) -> Vec<String> {
        self.escaped.0.lock().unwrap().iter().cloned().collect()
    }

    /// Names that someone asked for.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.0.lock().unwrap().iter().cloned().collect()
    }
}

/// The name in a query, and where its question ends.
fn question(query: &[u8]) -> (String, usize) {
    let mut labels = Vec::new();
    let mut at = 12;
    while query[at] > 0 {
        let end = at + 1 + usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..end]).to_ascii_lowercase());
        at = end;
    }
    (labels.join("."), at + 5)
}

/// Answers every request that comes on a connection, each with the host that it names.
fn answer_requests(one: TcpStream) {
    let mut writer = one.try_clone().unwrap();
    let mut lines = BufReader::new(one).lines();
    let mut host = None;
    let mut length = 0;
    while let Some(Ok(line)) = lines.next() {
        if let Some(named) = line.strip_prefix("Host: ") {
            host = Some(named.to_owned());
        }
        if let Some(named) = line.strip_prefix("Content-Length: ") {
            length = named.parse().unwrap_or(0);
        }
        if line.is_empty()
            && let Some(host) = host.take()
        {
            let body = format!("seen {host} with {length}\n");
            let _ = write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = writer.shutdown(std::net::Shutdown::Write);
        }
    }
}

fn echo(mut one: TcpStream, before: &str) {
    let mut piece = [0; 4096];
    let _ = one.write_all(before.as_bytes());
    while let Ok(count @ 1..) = one.read(&mut piece) {
        if one.write_all(&piece[..count]).is_err() {
            return;
        }
    }
}
