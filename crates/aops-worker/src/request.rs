//! One HTTP request, read from its connection.
//!
//! Invariant: the request is complete, or there is an error; no part of it exceeds its maximum size.

use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, TcpStream};

const LONGEST_REQUEST: u64 = 256 << 10;
const LONGEST_LINE: u64 = 16 << 10;
const MOST_HEADERS: usize = 100;
const LONGEST_NAME: usize = 200;

#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// What follows the `?`.
    pub query: String,
    /// The token of the header `authorization`.
    pub token: String,
    /// What our own page says of itself.
    pub is_page: bool,
    /// The last address that a proxy named.
    pub forwarded: Option<IpAddr>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn read(stream: &TcpStream) -> io::Result<Self> {
        let odd = || io::Error::from(io::ErrorKind::InvalidData);
        let mut reader = BufReader::new(stream);
        let first = line(&mut reader)?;
        let mut words = first.split(' ').map(str::to_owned);
        let method = words.next().unwrap_or_default();
        let target = words.next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let query = query.to_owned();
        let path = path.to_owned();
        let mut request = Self { method, path, query, ..Self::default() };
        let mut long = 0;
        for _ in 0..MOST_HEADERS {
            let header = line(&mut reader)?;
            if header.is_empty() {
                reader.take(long).read_to_end(&mut request.body)?;
                return if request.body.len() as u64 == long { Ok(request) } else { Err(odd()) };
            }
            let (name, value) = header.split_once(':').ok_or_else(odd)?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    long = value.parse().ok().filter(|n| *n <= LONGEST_REQUEST).ok_or_else(odd)?;
                }
                "authorization" => {
                    value.strip_prefix("Bearer ").unwrap_or_default().clone_into(&mut request.token);
                }
                "x-aops-from" => request.is_page = value == "page",
                // Anybody can write the first addresses; the proxy appends the last one.
                "x-forwarded-for" => {
                    request.forwarded = value.rsplit(',').next().and_then(|last| last.trim().parse().ok());
                }
                "transfer-encoding" => return Err(odd()),
                _ => {}
            }
        }
        Err(odd())
    }

    /// How and from where a person asks, for the record. Only a proxy on this machine is believed.
    pub fn origin(&self, peer: IpAddr) -> String {
        let address = self.forwarded.filter(|_| peer.is_loopback()).unwrap_or(peer);
        format!("{} at {address}", if self.is_page { "page" } else { "terminal" })
    }
}

/// Whether a run can have this id.
pub fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=LONGEST_NAME).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(plain)
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(LONGEST_LINE).read_line(&mut line)?;
    if line.ends_with('\n') { Ok(line.trim_end().to_owned()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
