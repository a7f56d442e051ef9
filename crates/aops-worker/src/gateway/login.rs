//! Log-in at the gateway by the issuer that people have already.
//!
//! Asks the issuer. Invariants: a log-in that was not begun here, or is older than ten minutes, ends nowhere;
//! each is ended once; who logged in is in the audit.

use super::door::{Caller, Door};
use super::reply::{Said, problem};
use crate::oidc::{Oidc, Session};
use crate::tokens::Person;
use aops_core::system::random;
use serde_json::{Value, json};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

const LASTS: Duration = Duration::from_mins(10);
const MOST_BEGUN: usize = 1000;

impl Door {
    fn oidc(&self) -> Result<Oidc, Said> {
        let file = self.gateway.oidc.as_ref();
        let file = file.ok_or_else(|| problem(404, "this gateway knows no issuer of identities"))?;
        Oidc::read(file).map_err(|words| problem(503, words.split('\n').next().unwrap_or_default()))
    }

    /// Whoever has this session, if the issuer's file still knows them.
    pub(super) fn of_session(&self, token: &str) -> Option<Person> {
        let session = Session::of(token, &self.signer)?;
        self.oidc().ok()?.person(&session)
    }

    /// Whom people log in with.
    pub(super) fn issuer(&self) -> Said {
        (200, json!({"issuer": self.oidc().ok().map(|oidc| oidc.issuer)}))
    }

    pub(super) fn log_in(&self, act: &str, body: &[u8], from: &str) -> Said {
        let oidc = match self.oidc() {
            Ok(oidc) => oidc,
            Err(said) => return said,
        };
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |name: &str| asked[name].as_str().unwrap_or_default();
        let done = match act {
            "begin" => self.begin(&oidc),
            "finish" => self.finish(&oidc, text("state"), text("code"), from),
            "device" => self.begin_device(&oidc),
            "poll" => self.poll(&oidc, text("handle"), from),
            _ => return problem(404, "there is no such thing here"),
        };
        done.unwrap_or_else(|words| problem(403, &words))
    }

    fn begin(&self, oidc: &Oidc) -> Result<Said, String> {
        let begun = oidc.begin()?;
        let said = json!({"url": begun.url, "state": begun.state});
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.browsers.retain(|(at, _)| at.elapsed() < LASTS);
        if pending.browsers.len() >= MOST_BEGUN {
            pending.browsers.pop_front();
        }
        pending.browsers.push_back((Instant::now(), begun));
        Ok((200, said))
    }

    fn finish(&self, oidc: &Oidc, state: &str, code: &str, from: &str) -> Result<Said, String> {
        let begun = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.browsers.retain(|(at, _)| at.elapsed() < LASTS);
            let at = pending.browsers.iter().position(|(_, begun)| begun.state == state);
            at.and_then(|at| pending.browsers.remove(at)).map(|(_, begun)| begun)
        };
        let begun = begun.ok_or("this log-in was not started here, or has expired: log in again")?;
        self.admit(oidc, &oidc.finish(&begun, code)?, from)
    }

    fn begin_device(&self, oidc: &Oidc) -> Result<Said, String> {
        let device = oidc.begin_device()?;
        let handle = random::hex(32).map_err(|error| error.to_string())?;
        let said = json!({
            "handle": handle, "user_code": device.user_code, "url": device.verification_uri,
            "url_complete": device.verification_uri_complete, "interval": device.interval.unwrap_or(5)
        });
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.devices.retain(|(at, ..)| at.elapsed() < LASTS);
        if pending.devices.len() >= MOST_BEGUN {
            pending.devices.pop_front();
        }
        pending.devices.push_back((Instant::now(), handle, device));
        Ok((200, said))
    }

    fn poll(&self, oidc: &Oidc, handle: &str, from: &str) -> Result<Said, String> {
        let found = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.devices.retain(|(at, ..)| at.elapsed() < LASTS);
            pending.devices.iter().find(|(_, known, _)| known == handle).map(|(.., device)| device.clone())
        };
        let device = found.ok_or("this log-in was not started here, or has expired: log in again")?;
        let ended = oidc.poll_device(&device);
        if matches!(ended, Ok(None)) {
            return Ok((202, json!({"message": "not yet"})));
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.devices.retain(|(_, known, _)| known != handle);
        drop(pending);
        let session = ended?.ok_or("the issuer gave no ID token")?;
        self.admit(oidc, &session, from)
    }

    fn admit(&self, oidc: &Oidc, session: &Session, from: &str) -> Result<Said, String> {
        let person = oidc.person(session).ok_or("the log-in is over")?;
        let caller = Caller { person, from: from.to_owned() };
        if !self.note(&caller, "login", &session.issuer, &Value::Null) {
            return Ok(problem(500, "the audit cannot be written"));
        }
        Ok((200, json!({"token": session.token(&self.signer), "name": session.name})))
    }
}
