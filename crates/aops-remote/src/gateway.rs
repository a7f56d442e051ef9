//! The gateway of the engine (`[fleet] engine`), used over HTTP by people and by machines.
//!
//! Opens connections. Invariants: requests go only to the address that a person configured; the token is read
//! from the folder of the keys, where no command of an agent sees it, and is never printed.

use crate::tls::{self, Tls};
use aops_core::briefing::memory;
use aops_core::config::policy::Address;
use aops_core::system::env::Env;
use aops_core::system::fleet_home::secret_file;
use aops_core::system::wire::Encrypt;
use aops_core::system::{files, lookup};
use aops_core::text::json::cut;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Longer than the gateway holds a waiting request open.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// A person's token, stored with the keys. It is not the token of the page, which this machine creates and
/// never sends.
pub const TOKEN: &str = "engine.token";
/// The token of this machine's worker, stored next to it.
pub const WORKER_TOKEN: &str = "worker.token";

pub struct Gateway {
    server: Address,
    tls: Option<Tls>,
    token: String,
    url: String,
}

impl Gateway {
    /// `token` is the name of its file.
    pub fn find(env: &Env, url: &str, token: &str) -> Result<Self, String> {
        let file = secret_file(env, token);
        let token = files::read_text(&file).map_err(|error| {
            format!(
                "`{}`: {error}\nhint: write the token that the gateway's operator gave you into it (mode \
                    600)",
                file.display()
            )
        })?;
        Ok(Self { token: token.trim_end().to_owned(), ..Self::before_login(env, url)? })
    }

    /// The gateway without a token, which only a log-in needs.
    pub fn before_login(env: &Env, url: &str) -> Result<Self, String> {
        let url = url.trim_end_matches('/').to_owned();
        let look_up = |name: &str| lookup::addresses(env, name);
        let server = Address::of_person(&url, &look_up)
            .map_err(|why| format!("`fleet.engine`: {why}\nhint: write it as `https://runs.example`"))?;
        let tls = url.starts_with("https://").then(|| tls::trust(env)).transpose()?;
        Ok(Self { server, tls, token: String::new(), url })
    }

    /// One request about a run. Returns the status and the body.
    pub fn ask(&self, run: &str, verb: &str, body: &Value) -> Result<(u16, Value), String> {
        self.post(&format!("runs/{run}{verb}"), body, PATIENCE)
    }

    /// A part of a log-in: `device` or `poll`.
    pub fn log_in(&self, part: &str, body: &Value) -> Result<(u16, Value), String> {
        self.post(&format!("login/{part}"), body, PATIENCE)
    }

    /// Lists the `runs` or the `machines`.
    pub fn list(&self, what: &str) -> Result<Value, String> {
        match self.post(&format!("list/{what}"), &Value::Null, PATIENCE)? {
            (200, list) => Ok(list),
            (status, said) => Err(words_of(status, &said)),
        }
    }

    /// One request. Returns the status and the body.
    pub fn post(&self, what: &str, body: &Value, patience: Duration) -> Result<(u16, Value), String> {
        let path = format!("{}/v1/{what}", self.server.path.trim_end_matches('/'));
        let server = Address { path, ..self.server.clone() };
        let token = format!("Bearer {}", self.token);
        let headers = [("authorization", token.as_str())];
        let sent = memory::post(
            &server,
            self.tls.as_ref().map(|tls| tls as &dyn Encrypt),
            &headers,
            &body.to_string(),
            Instant::now() + patience,
        );
        let (status, said) = sent.map_err(|why| format!("`{}` does not answer: {why}", self.url))?;
        Ok((status, serde_json::from_slice(&said).unwrap_or_default()))
    }
}

/// Why the gateway or the engine refused it.
pub fn words_of(status: u16, said: &Value) -> String {
    let words = said["message"].as_str().unwrap_or("no reason was given");
    format!("the gateway answered {status}: {}", cut(words, 500))
}
