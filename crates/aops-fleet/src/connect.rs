//! One connection to the database.
//!
//! Opens a socket. Invariants: a password is never part of the address; a connection to another machine is
//! encrypted and its host name is checked, unless the address says `sslmode=disable`; every call has a time
//! limit.

use crate::error::Error;
use crate::schema;
use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Where the database is and how to log in.
pub struct Access<'a> {
    /// `postgresql://user@host/database`, without a password.
    pub url: &'a str,
    pub password: Option<&'a str>,
    /// The certificates to trust; called only if the connection is encrypted.
    pub trust: &'a dyn Fn() -> Result<Arc<ClientConfig>, String>,
}

/// An open connection.
pub struct Fleet {
    pub(crate) client: Client,
}

const PATIENCE: Duration = Duration::from_secs(5);
/// Time limits are set on the server too, so that a lost client holds no lock.
const SETTINGS: &str = "set search_path to aops, pg_temp; set statement_timeout to '20s'; set lock_timeout to '10s'; \
     set idle_in_transaction_session_timeout to '30s'";

impl Fleet {
    /// Opens a connection and checks that the tables are ours.
    pub fn open(access: &Access) -> Result<Self, Error> {
        let mut fleet = Self::open_any(access)?;
        schema::check(&mut fleet.client)?;
        Ok(fleet)
    }

    /// Opens a connection without checking the version of the tables.
    pub fn open_any(access: &Access) -> Result<Self, Error> {
        let mut config = read(access.url)?;
        config.application_name("aops-hook").connect_timeout(PATIENCE).tcp_user_timeout(4 * PATIENCE);
        if let Some(password) = access.password {
            config.password(password);
        }
        let mut client = if config.get_ssl_mode() == SslMode::Disable {
            config.connect(NoTls)?
        } else {
            let trust = (access.trust)().map_err(Error::Refused)?;
            config.connect(MakeRustlsConnect::new(ClientConfig::clone(&trust)))?
        };
        client.batch_execute(SETTINGS)?;
        Ok(Self { client })
    }

    /// The version of the tables; 0 if there are none.
    pub fn version(&mut self) -> Result<i32, Error> {
        schema::version(&mut self.client)
    }

    /// Brings the tables to this program's version. Returns the version before.
    pub fn migrate(&mut self) -> Result<i32, Error> {
        schema::migrate(&mut self.client)
    }
}

/// The address, checked.
pub fn read(url: &str) -> Result<Config, Error> {
    let refuse = |what: &str| Err(Error::Refused(what.to_owned()));
    // The library's message may repeat the address, and with it a password.
    let Ok(mut config) = url.parse::<Config>() else {
        return refuse(
            "`fleet.url` is not a PostgreSQL address\nhint: write `postgresql://aops@db.example/aops`",
        );
    };
    if config.get_password().is_some() {
        return refuse(
            "`fleet.url` has a password, and the configuration is recorded\nhint: put it into the file `fleet.password` next to the keys; `aops-hook fleet doctor` names it",
        );
    }
    if config.get_hosts().is_empty() || config.get_user().is_none() || config.get_dbname().is_none() {
        return refuse(
            "`fleet.url` names no host, user or database\nhint: write `postgresql://aops@db.example/aops`",
        );
    }
    let local = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
    };
    let is_local = config.get_hosts().iter().all(local);
    let mode = match config.get_ssl_mode() {
        SslMode::Prefer if is_local => SslMode::Disable,
        SslMode::Prefer => SslMode::Require,
        given => given,
    };
    config.ssl_mode(mode);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_encrypted_unless_it_stays_here() {
        let mode = |url: &str| read(url).unwrap().get_ssl_mode();
        for local in
            ["postgresql://a@127.0.0.1/d", "postgresql://a@localhost/d", "host=/run/pg user=a dbname=d"]
        {
            assert_eq!(mode(local), SslMode::Disable, "{local}");
        }
        for far in
            ["postgresql://a@db.example/d", "postgresql://a@10.0.0.5/d", "postgresql://a@h/d?sslmode=prefer"]
        {
            assert_eq!(mode(far), SslMode::Require, "{far}");
        }
        assert_eq!(mode("postgresql://a@localhost/d?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgresql://a@10.0.0.5/d?sslmode=disable"), SslMode::Disable);
    }

    #[test]
    fn no_message_repeats_a_password() {
        for url in [
            "postgresql://a:s3cret@h/d",
            "host=h user=a dbname=d password=s3cret",
            "postgresql://a:s3cret@h:x/d",
        ] {
            let Err(Error::Refused(words)) = read(url) else { panic!("{url}") };
            assert!(!words.contains("s3cret") && words.contains("hint: "), "{words}");
        }
        for url in ["", "x", "postgresql:///d", "postgresql://h/d"] {
            assert!(read(url).is_err(), "{url}");
        }
    }
}
