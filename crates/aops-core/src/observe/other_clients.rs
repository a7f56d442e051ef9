//! The other clients on this machine, if a call may touch their files.
//!
//! Reads the file of each client that could register us, and only in that case. Invariants: nothing is
//! remembered between calls, since the files may have changed; in doubt a call is examined in full.

use crate::gate::guard::{self, Protected, ProtectedPlace};
use crate::host;
use crate::model::client::Client;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::tool::targets::Targets;
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct OtherClients<'a> {
    env: &'a Env,
    /// Where links led when the session began.
    linked: Option<&'a BTreeMap<String, String>>,
    /// Clients not looked at yet, each with its folder.
    unseen: Vec<(Client, String)>,
}

impl<'a> OtherClients<'a> {
    pub fn new(env: &'a Env, session: &'a Session) -> Self {
        let linked = Some(&session.memory.watched.linked);
        let folder = |client| (client, env.folder_of(client).to_string_lossy().into_owned());
        Self { env, linked, unseen: env.host.others_by_name().map(folder).collect() }
    }

    /// For a call that touches nothing.
    pub fn none(env: &'a Env) -> Self {
        Self { env, linked: None, unseen: Vec::new() }
    }

    /// This input names a variable that stands for another client's folder, or contains an escape that may
    /// hide it.
    pub fn are_named(&self, input: &str) -> bool {
        let mut names =
            self.unseen.iter().filter_map(|(client, _)| host::table::host(*client).variables.first());
        !self.unseen.is_empty() && (input.contains("\\u") || names.any(|name| input.contains(name)))
    }

    /// One of these targets may belong to another client.
    pub(super) fn may_be_touched(&self, protected: &Protected, reach: &Targets) -> bool {
        if self.unseen.is_empty() {
            return false;
        }
        let in_project = |client: Client| host::table::host(client).in_project.iter();
        let in_project = self.unseen.iter().flat_map(|(client, _)| in_project(*client));
        let in_project = in_project.map(|name| format!("{}/{name}", protected.project));
        let linked = self.linked.into_iter().flat_map(BTreeMap::values).cloned();
        let places = self.unseen.iter().map(|(_, folder)| folder.clone()).chain(in_project).chain(linked);
        reach.over || !reach.hidden.is_empty() || guard::may_touch(places, &reach.paths)
    }

    /// Also protects the clients in which we are registered.
    pub(super) fn add(&mut self, protected: &mut Protected) {
        let unseen = std::mem::take(&mut self.unseen);
        let registered = unseen.into_iter().filter(|(client, _)| host::is_registered(self.env, *client));
        let before = protected.clients.len();
        protected.clients.extend(registered);
        if let Some(linked) = self.linked.filter(|_| protected.clients.len() > before) {
            protected.on_disk.real.clear();
            protected.on_disk.real = behind(protected, linked);
        }
    }
}

/// The protected places as they are called behind these links.
pub fn behind(protected: &Protected, links: &BTreeMap<String, String>) -> Vec<ProtectedPlace> {
    let real =
        |place: ProtectedPlace| Some(ProtectedPlace { path: links.get(&place.path)?.clone(), ..place });
    if links.is_empty() { Vec::new() } else { protected.places().into_iter().filter_map(real).collect() }
}
