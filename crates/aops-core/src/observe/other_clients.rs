//! The clients beside the one that runs us, as far as a call may touch what is theirs.
//!
//! Reads the file of each that would register us, and only then. Invariants: nothing is remembered from call
//! to call, since the files may have changed in between; in doubt a call is looked at in full.

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
    /// Where links led as the session began.
    linked: Option<&'a BTreeMap<String, String>>,
    /// Each with its folder, until they were looked at.
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

    /// This input names a variable that stands for the folder of one of them, or an escape may hide that it
    /// does.
    pub fn are_named(&self, input: &str) -> bool {
        let mut names =
            self.unseen.iter().filter_map(|(client, _)| host::table::host(*client).variables.first());
        !self.unseen.is_empty() && (input.contains("\\u") || names.any(|name| input.contains(name)))
    }

    /// One of these targets may be theirs.
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

    /// Protects those that we are registered in, too.
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

/// The protected places, where these links lead.
pub fn behind(protected: &Protected, links: &BTreeMap<String, String>) -> Vec<ProtectedPlace> {
    let real =
        |place: ProtectedPlace| Some(ProtectedPlace { path: links.get(&place.path)?.clone(), ..place });
    if links.is_empty() { Vec::new() } else { protected.places().into_iter().filter_map(real).collect() }
}
