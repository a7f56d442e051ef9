//! What the gateway does for machines: it announces them, and passes on how their steps ended.
//!
//! Asks the engine. Invariant: a token does this only for the machine whose name it has.

use crate::doors::{Doors, Refusal};
use crate::order::{LegEnd, Machine};
use crate::request::is_name;
use crate::tokens::{Person, Role};
use aops_core::system::env::now_ms;
use serde::Deserialize;
use serde_json::{Value, json};

/// A machine that its worker now serves.
#[derive(Debug, Deserialize)]
struct Hello {
    /// Where the engine's server reaches it.
    address: String,
    machine: Machine,
}

/// Handles `/v1/machines/{name}/…`. Returns the status and the body.
pub fn act(doors: &Doors, person: &Person, name: &str, act: &[&str], body: &[u8]) -> (u16, Value) {
    let done = match act {
        ["reach"] if person.may_at_all(Role::Read) => {
            doors.reach(name).map(|address| json!({"address": address}))
        }
        ["reach"] => Err((403, format!("{} may not do this", person.name))),
        _ if !person.may_always(Role::Work) || person.name != name => {
            let hint = "it needs the role `work`, and the name of the machine (`--name`)";
            Err((403, format!("the token of {} does not serve machine {name}: {hint}", person.name)))
        }
        ["hello"] => hello(doors, name, body),
        ["counts"] => doors.counts(name).map(|counts| json!({"counts": counts})),
        ["lives"] if doors.lives() => Ok(json!({"lives": true})),
        ["lives"] => Err((503, "the engine does not answer".to_owned())),
        ["ended", awakeable] if is_name(awakeable) => ended(doors, awakeable, body),
        _ => Err((404, "there is no such thing here".to_owned())),
    };
    done.map_or_else(|(status, words)| (status, json!({"message": words})), |said| (200, said))
}

/// Who asks, the versions on this side, and its clock.
pub fn about(doors: &Doors, person: &Person) -> (u16, Value) {
    match doors.version() {
        Ok(engine) => (
            200,
            json!({"engine": engine, "gateway": env!("CARGO_PKG_VERSION"), "now_ms": now_ms(), "you": person.name}),
        ),
        Err((status, words)) => (status, json!({"message": words})),
    }
}

fn hello(doors: &Doors, name: &str, body: &[u8]) -> Result<Value, Refusal> {
    let read = serde_json::from_slice::<Hello>(body).ok();
    let Some(Hello { address, machine }) = read.filter(|read| read.machine.name == name) else {
        return Err((400, "that does not describe this machine".to_owned()));
    };
    let is_plain = address.bytes().all(|b| b.is_ascii_graphic()) && !address.contains('@');
    if !is_plain || !(address.starts_with("http://") || address.starts_with("https://")) {
        return Err((400, "that is not an address".to_owned()));
    }
    doors.welcome(&machine, &address).map(|()| json!({"known": true}))
}

fn ended(doors: &Doors, awakeable: &str, body: &[u8]) -> Result<Value, Refusal> {
    let end: LegEnd =
        serde_json::from_slice(body).map_err(|_| (400, "that is not the end of a step".to_owned()))?;
    doors.ended(awakeable, &end).map(|()| json!({"told": true}))
}
