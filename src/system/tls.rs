//! Encrypted connections, for what a person sends to another machine. No hook opens one.
//!
//! Reads the system's list of authorities. Invariants: the server's name is always checked; without authorities no server is
//! trusted.

use crate::system::env::Env;
use crate::system::wire::Wire;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

pub type Tls = Arc<ClientConfig>;
pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

impl Wire for TlsStream {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

/// Where systems keep their authorities.
const LISTS: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
];

/// Whom this machine trusts: `$SSL_CERT_FILE`, else the system's list.
pub fn trust(env: &Env) -> Result<Tls, String> {
    let named = env.variables(|name| name == "SSL_CERT_FILE").pop().map(|(_, path)| PathBuf::from(path));
    let list = named.or_else(|| LISTS.iter().map(PathBuf::from).find(|path| path.is_file()));
    let list = list.ok_or("this system has no list of certificate authorities\nhint: set `SSL_CERT_FILE` to one")?;
    let mut roots = RootCertStore::empty();
    let read = CertificateDer::pem_file_iter(&list).map_err(|error| format!("`{}`: {error}", list.display()))?;
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
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// The connection, encrypted for this host (`example.org:4318`).
pub fn wrap(tls: &Tls, host: &str, stream: TcpStream) -> Result<TlsStream, String> {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
    let connection = ClientConnection::new(Arc::clone(tls), name).map_err(|error| error.to_string())?;
    Ok(StreamOwned::new(connection, stream))
}
