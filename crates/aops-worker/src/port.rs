//! A port that the engine's server calls: its address, whose calls it accepts, and how it is encrypted.
//!
//! Reads the certificate. Invariant: on a network it accepts only the server's signed calls, encrypted unless
//! a person says that something else encrypts them.

use crate::given::Given;
use aops_core::config::policy::Fleet;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The engine's server speaks HTTP/2 and nothing else.
const SPOKEN: &[u8] = b"h2";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub listen: SocketAddr,
    /// The key with which the server signs its calls.
    pub identity: Option<String>,
    pub certificate: Option<Certificate>,
}

/// A file of PEM with a certificate and those of its authorities. Its private key is in the file beside it
/// with the ending `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate(PathBuf);

/// The options that a port is set with, but for its address.
pub const OPTIONS: [&str; 3] = ["identity", "certificate", "plain"];

impl Port {
    /// What no option says, the user's configuration does. `name` is the option with the address.
    pub fn read(given: &Given, fleet: &Fleet, name: &str, listen: &str) -> Result<Self, String> {
        let listen = given.address(name, listen)?;
        let either =
            |name: &str, usual: &Option<String>| given.last(name).map(str::to_owned).or(usual.clone());
        let identity = either("identity", &fleet.identity);
        let certificate = either("certificate", &fleet.certificate).map(|file| Certificate(file.into()));
        let is_plain = given.is_on("plain")?;
        let is_network = !listen.ip().is_loopback();
        if is_network && identity.is_none() {
            return Err(format!(
                "`--{name} {listen}` without `--identity`: whoever reaches it could run programs here\n\
                 hint: give the server's key (`publickeyv1_…`), or listen on 127.0.0.1"
            ));
        }
        if is_network && certificate.is_none() && !is_plain {
            return Err(format!(
                "`--{name} {listen}` without a certificate: whoever is on the way could read the runs\n\
                 hint: give `--certificate`, or `--plain on` if a tunnel encrypts it"
            ));
        }
        // A file that cannot be read is told now.
        certificate.as_ref().map(Certificate::read).transpose()?;
        Ok(Self { listen, identity, certificate })
    }

    /// The address at which the server calls this port if nothing else is given.
    pub fn address(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.listen)
    }
}

impl Certificate {
    /// As the files are now.
    pub fn read(&self) -> Result<Arc<ServerConfig>, String> {
        let Self(chain) = self;
        let key = chain.with_extension("key");
        let at = |path: &Path, why: &dyn Display| format!("`{}`: {why}", path.display());
        let certificates =
            CertificateDer::pem_file_iter(chain).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = certificates.map_err(|error| at(chain, &error))?;
        let secret = PrivateKeyDer::from_pem_file(&key).map_err(|error| at(&key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?.with_no_client_auth();
        let mut config = config.with_single_cert(certificates, secret).map_err(|error| at(chain, &error))?;
        config.alpn_protocols = vec![SPOKEN.to_vec()];
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_served_only_signed_and_encrypted() {
        let fleet = Fleet::default();
        let read = |listen: &str, more: &[&str]| {
            let words: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
            Port::read(&Given::read(&words, &OPTIONS)?, &fleet, "listen", listen)
        };
        let signed = ["--identity", "publickeyv1_x"];
        for open in ["10.0.0.5:9080", "0.0.0.0:9080", "[::]:9080"] {
            let said = read(open, &[]).unwrap_err();
            assert!(said.contains(open) && said.contains("`--identity`") && said.contains("hint:"), "{said}");
            let said = read(open, &signed).unwrap_err();
            assert!(said.contains(open) && said.contains("hint: give `--certificate`"), "{said}");
            assert!(read(open, &[&signed[..], &["--plain", "on"]].concat()).is_ok(), "{open}");
            assert!(read(open, &["--plain", "on"]).is_err(), "unsigned: {open}");
        }
        for here in ["127.0.0.1:9080", "[::1]:9080"] {
            assert!(read(here, &[]).is_ok(), "{here}");
        }
        assert!(read("here", &[]).unwrap_err().contains("ADDRESS:PORT"));
        assert!(read("127.0.0.1:1", &["--plain", "yes"]).unwrap_err().contains("`on` or `off`"));
        assert!(read("127.0.0.1:1", &["--certificate", "/nowhere"]).unwrap_err().contains("`/nowhere`"));
    }
}
