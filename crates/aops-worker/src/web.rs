//! Asks an issuer of identities over HTTPS; without TLS only on this machine.
//!
//! Opens connections, reads the system's list of certificate authorities. Invariants: the server's name is
//! checked; the answer is complete, or there is an error.

use crate::client::{Answer, read_answer};
use aops_core::system::env::Env;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_ANSWER: u64 = 1 << 20;
/// Where systems keep their certificate authorities.
const LISTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A URL in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    is_secure: bool,
    host: String,
    port: u16,
    path: String,
}

impl Url {
    pub fn read(text: &str) -> Result<Self, String> {
        let odd = || format!("`{text}` is not the URL of an issuer\nhint: write `https://login.example`");
        let (is_secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(odd()),
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| odd())?),
            _ => (authority, if is_secure { 443 } else { 80 }),
        };
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b".-[]:".contains(&b);
        let is_path = |b: u8| b.is_ascii_graphic();
        if host.is_empty() || !host.bytes().all(is_plain) || !path.bytes().all(is_path) {
            return Err(odd());
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_here =
            bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if !is_secure && !is_here {
            return Err(format!("`{text}`: an issuer elsewhere needs `https://`"));
        }
        Ok(Self { is_secure, host: bare, port, path: path.to_owned() })
    }

    /// A form, or without one a GET.
    pub fn ask(&self, form: Option<&str>, authorization: Option<&str>) -> Result<Answer, String> {
        let at = |error: &dyn std::fmt::Display| format!("`{}`: {error}", self.host);
        let plain = TcpStream::connect((self.host.as_str(), self.port)).map_err(|error| at(&error))?;
        plain.set_read_timeout(Some(PATIENCE)).map_err(|error| at(&error))?;
        plain.set_write_timeout(Some(PATIENCE)).map_err(|error| at(&error))?;
        let method = if form.is_some() { "POST" } else { "GET" };
        let mut head = format!("{method} {} HTTP/1.1\r\nhost: {}:{}\r\n", self.path, self.host, self.port);
        head += "accept: application/json\r\nconnection: close\r\n";
        if let Some(authorization) = authorization {
            head += &["authorization: ", authorization, "\r\n"].concat();
        }
        let form = form.unwrap_or_default();
        let long = form.len();
        let asked = format!(
            "{head}content-type: application/x-www-form-urlencoded\r\ncontent-length: {long}\r\n\r\n{form}"
        );
        let said = if self.is_secure { self.encrypt(plain)?.talk(&asked) } else { { plain }.talk(&asked) };
        read_answer(&said.map_err(|error| at(&error))?).map_err(|error| at(&error))
    }

    fn encrypt(&self, plain: TcpStream) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
        let list =
            Env::read().variables(|name| name == "SSL_CERT_FILE").pop().map(|(_, path)| PathBuf::from(path));
        let list = list.or_else(|| LISTS.iter().map(PathBuf::from).find(|path| path.is_file()));
        let list =
            list.ok_or("this system has no list of certificate authorities\nhint: set `SSL_CERT_FILE`")?;
        let read =
            CertificateDer::pem_file_iter(&list).map_err(|error| format!("`{}`: {error}", list.display()))?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(read.flatten());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?.with_root_certificates(roots);
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let connection = ClientConnection::new(Arc::new(config.with_no_client_auth()), name);
        Ok(StreamOwned::new(connection.map_err(|error| error.to_string())?, plain))
    }
}

trait Talk: Read + Write + Sized {
    fn talk(&mut self, asked: &str) -> std::io::Result<Vec<u8>> {
        self.write_all(asked.as_bytes())?;
        let mut said = Vec::new();
        // A server may close without the farewell of TLS; whether the answer is complete is checked.
        match self.take(LONGEST_ANSWER).read_to_end(&mut said) {
            Err(error) if said.is_empty() => Err(error),
            _ => Ok(said),
        }
    }
}

impl<T: Read + Write> Talk for T {}

/// A string as a value of a form or a query.
pub fn escape(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

/// `a=b&c=d`
pub fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
    fields.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_elsewhere_needs_tls() {
        for good in [
            "https://login.example",
            "https://login.example:8443/realms/a",
            "http://127.0.0.1:9/x",
            "http://[::1]:9",
        ] {
            assert!(Url::read(good).is_ok(), "{good}");
        }
        for odd in [
            "http://login.example", "ftp://x", "https://", "https://a b", "https://x/\r\nh: y", "https://u@x",
        ] {
            assert!(Url::read(odd).is_err(), "{odd}");
        }
        assert_eq!(Url::read("https://x/y?z").unwrap().path, "/y?z");
        assert_eq!(form(&[("a", "b c&d"), ("e", "ä")]), "a=b%20c%26d&e=%C3%A4");
    }
}
