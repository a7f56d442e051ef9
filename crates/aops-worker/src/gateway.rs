//! The gateway: the only way to the engine for people and programs. It knows who asks and what they may do,
//! and records it.
//!
//! Listens, asks the engine, appends to the audit. Invariants: nothing is passed on without a token that has
//! the role for that run; an act is in the audit before it is passed on.

mod options;
mod reply;
mod pending;
mod door;
mod login;
mod acts;
mod looks;
mod page;
mod bundles;
mod events;
mod route;

pub use options::Gateway;

use crate::announce;
use crate::away::Away;
use crate::service::serve_runs;
use crate::signed::Signer;
use door::Door;
use serde_json::json;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

impl Gateway {
    /// Serves people and the engine; never returns unless it fails.
    pub fn serve(self) -> Result<(), String> {
        let listener =
            TcpListener::bind(self.listen).map_err(|error| format!("`{}`: {error}", self.listen))?;
        let signer = Signer::open(&self.key)?;
        let trusted = signer.trusted();
        let away = Away::new(self.ingress.clone(), self.admin.clone(), self.lost_after);
        Arc::clone(&away).watch();
        let door = Arc::new(Door::new(self, signer, away));
        let version = json!({"version": env!("CARGO_PKG_VERSION")});
        if !door.write("start", "gateway", "gateway", &version) {
            return Err(format!("`{}` cannot be written", door.gateway.audit.display()));
        }
        let people = Arc::clone(&door);
        thread::spawn(move || people.listen(&listener));
        let here = door.gateway.address.clone().unwrap_or_else(|| door.gateway.runs.address());
        let admin = door.gateway.admin.clone();
        thread::spawn(move || announce::deployment(&admin, &here));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let Gateway { runs, admin, per_repository, .. } = &door.gateway;
        runtime.block_on(serve_runs(runs, admin.clone(), *per_repository, trusted))
    }
}
