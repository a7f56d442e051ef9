//! One HTTP request, read from its connection.
//!
//! Invariant: the request is complete, or there is an error; no part of it exceeds its maximum size.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;

const LONGEST_REQUEST: u64 = 256 << 10;
const LONGEST_LINE: u64 = 16 << 10;
const MOST_HEADERS: usize = 100;

#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// The token of the header `authorization`.
    pub token: String,
    pub body: Vec<u8>,
}

impl Request {
    pub fn read(stream: &TcpStream) -> io::Result<Self> {
        let odd = || io::Error::from(io::ErrorKind::InvalidData);
        let mut reader = BufReader::new(stream);
        let first = line(&mut reader)?;
        let mut words = first.split(' ').map(str::to_owned);
        let method = words.next().unwrap_or_default();
        let path = words.next().unwrap_or_default();
        let mut request = Self { method, path, ..Self::default() };
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
                "transfer-encoding" => return Err(odd()),
                _ => {}
            }
        }
        Err(odd())
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(LONGEST_LINE).read_line(&mut line)?;
    if line.ends_with('\n') { Ok(line.trim_end().to_owned()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
