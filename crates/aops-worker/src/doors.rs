//! What is asked of the engine's server for a machine: by its worker, or by the gateway for it.
//!
//! Asks the engine. Invariant: a machine's address serves this machine's steps and nothing else, or it is not
//! announced.

use crate::client::{Address, Answer, SOON};
use crate::order::{ALL, LegEnd, Machine, name_of};
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

/// The time limit for the question whether the server lives.
const QUICK: Option<Duration> = Some(Duration::from_secs(2));

/// The server's own addresses, which have no login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doors {
    pub ingress: Address,
    pub admin: Address,
}

/// The status of a refusal, and the reason.
pub type Refusal = (u16, String);

impl Doors {
    /// Announces a machine that its worker now serves at this address, and resumes its steps.
    pub fn welcome(&self, machine: &Machine, uri: &str) -> Result<(), Refusal> {
        let served = self.look(uri)?;
        if served != [name_of(&machine.name)] {
            let words = format!("`{uri}` serves {}, not the steps of `{}`", served.join(", "), machine.name);
            return Err((409, words));
        }
        accepted(self.admin.ask("POST", "/deployments", Some(&json!({"uri": uri, "force": true})), SOON))?;
        let path = format!("/Machines/{ALL}/hello");
        accepted(self.ingress.ask("POST", &path, Some(&json!(machine)), SOON))?;
        self.resume_paused(&machine.name);
        Ok(())
    }

    /// The services that the server finds at this address.
    fn look(&self, uri: &str) -> Result<Vec<String>, Refusal> {
        let body = json!({"uri": uri, "force": true, "dry_run": true});
        let said = accepted(self.admin.ask("POST", "/deployments", Some(&body), SOON))?;
        let services = said["services"].as_array().cloned().unwrap_or_default();
        Ok(services.iter().filter_map(|service| service["name"].as_str()).map(str::to_owned).collect())
    }

    /// Whether the server reaches the worker of this machine. Returns its address.
    pub fn reach(&self, machine: &str) -> Result<String, Refusal> {
        let ask = |path: &str| accepted(self.admin.ask("GET", path, None, SOON));
        let service = ask(&format!("/services/{}", name_of(machine)))?;
        let deployment =
            ask(&format!("/deployments/{}", service["deployment_id"].as_str().unwrap_or_default()))?;
        let uri = deployment["uri"].as_str().unwrap_or_default().to_owned();
        self.look(&uri).map(|_| uri)
    }

    /// Resumes steps that the engine paused, because it stops trying to reach a machine that was away for
    /// long.
    fn resume_paused(&self, machine: &str) {
        let service = name_of(machine);
        let sql = format!(
            "select id from sys_invocation where target_service_name = '{service}' and status = 'paused' limit 1000"
        );
        let Ok(said) = self.admin.ask("POST", "/query", Some(&json!({"query": sql})), SOON) else { return };
        for id in said.json["rows"].as_array().into_iter().flatten().filter_map(|row| row["id"].as_str()) {
            let _ = self.admin.ask("PATCH", &format!("/invocations/{id}/resume"), None, SOON);
        }
    }

    /// Whether runs are assigned to this machine.
    pub fn counts(&self, machine: &str) -> Result<bool, Refusal> {
        let path = format!("/Machines/{ALL}/counts");
        let said = accepted(self.ingress.ask("POST", &path, Some(&json!(machine)), SOON))?;
        Ok(said != json!(false))
    }

    /// Tells how a step ended. Doing it twice does no harm.
    pub fn ended(&self, awakeable: &str, end: &LegEnd) -> Result<(), Refusal> {
        let path = format!("/restate/awakeables/{awakeable}/resolve");
        accepted(self.ingress.ask("POST", &path, Some(&json!(end)), SOON)).map(drop)
    }

    /// Whether the server answers at all.
    pub fn lives(&self) -> bool {
        self.ingress.ask("GET", "/restate/health", None, QUICK).is_ok()
    }

    /// The server's version.
    pub fn version(&self) -> Result<Value, Refusal> {
        accepted(self.admin.ask("GET", "/version", None, SOON)).map(|said| said["version"].clone())
    }
}

fn accepted(said: io::Result<Answer>) -> Result<Value, Refusal> {
    match said {
        Ok(Answer { status: 200..300, json, .. }) => Ok(json),
        Ok(Answer { status, json, text }) => {
            Err((status, json["message"].as_str().map_or(text, str::to_owned)))
        }
        Err(error) => Err((503, format!("the engine does not answer: {error}"))),
    }
}
