//! Encrypted connections, for what a person sends to another machine. No hook opens one.
//!
//! Reads the system's list of certificate authorities. Invariants: the server's name is always checked;
//! without authorities no server is trusted.

use aops_core::system::env::Env;
use aops_core::system::wire::{Encrypt, Wire};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

/// The certificate authorities we trust, and the TLS settings.
pub struct Tls(pub Arc<ClientConfig>);

struct TlsStream(StreamOwned<ClientConnection, TcpStream>);

impl Wire for TlsStream {
    fn socket(&self) -> &TcpStream {
        &self.0.sock
    }
}

impl Read for TlsStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Where systems keep their certificate authorities.
const LISTS: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
];

/// What a connection to this address needs; `None` if it is not encrypted.
pub fn for_url(env: &Env, url: &str) -> Result<Option<Box<dyn Encrypt>>, String> {
    if !url.starts_with("https://") {
        return Ok(None);
    }
    Ok(Some(Box::new(trust(env)?)))
}

/// The authorities this machine trusts: `$SSL_CERT_FILE`, or else the system's list.
pub fn trust(env: &Env) -> Result<Tls, String> {
    let named = env.variables(|name| name == "SSL_CERT_FILE").pop().map(|(_, path)| PathBuf::from(path));
    let list = named.or_else(|| LISTS.iter().map(PathBuf::from).find(|path| path.is_file()));
    let list =
        list.ok_or("this system has no list of certificate authorities\nhint: set `SSL_CERT_FILE` to one")?;
    let mut roots = RootCertStore::empty();
    let read =
        CertificateDer::pem_file_iter(&list).map_err(|error| format!("`{}`: {error}", list.display()))?;
    let (added, _) = roots.add_parsable_certificates(read.flatten());
    if added == 0 {
        return Err(format!(
            "`{}` names no certificate authority\nhint: `SSL_CERT_FILE` names another list",
            list.display()
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(Tls(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}

impl Encrypt for Tls {
    /// For a host like `example.org:4318`.
    fn encrypt(&self, host: &str, plain: TcpStream) -> Result<Box<dyn Wire>, String> {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
        let connection =
            ClientConnection::new(Arc::clone(&self.0), name).map_err(|error| error.to_string())?;
        Ok(Box::new(TlsStream(StreamOwned::new(connection, plain))))
    }
}
