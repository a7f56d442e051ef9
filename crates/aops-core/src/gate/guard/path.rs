//! What is protected and where it lies on this machine; compares a path, or a pattern of paths, with it.
//! Letter case is ignored.

use super::place::{PlacesOnDisk, ProtectedPlace};
use crate::host::table::host;
use crate::model::agent::{AGENTS, FILE_PREFIX};
use crate::model::client::{CLIENTS, Client};
use crate::tool::targets::{Act, Target};
use aops_shell::syntax::{Bit, Word};
use std::cmp::Ordering::{self, Equal as At, Greater as Below, Less as Above};
use std::iter;

pub(super) mod pattern;

use pattern::{deep, fits, is_session, named, unnamed};

/// The folders and programs that the guard protects. All paths are absolute.
#[derive(Clone, Debug, Default)]
pub struct Protected {
    pub home: String,
    /// Claude Code's configuration folder.
    pub config: String,
    /// The client whose call is judged.
    pub host: Client,
    /// The other clients in which we are registered, and the one that runs us, each with its folder.
    pub clients: Vec<(Client, String)>,
    /// The clients that a command of this call starts with our hooks active.
    pub hooked: Vec<Client>,
    /// Where sessions of clients other than Claude Code are recorded.
    pub sessions: String,
    /// Our own user configuration folder.
    pub user_config: String,
    /// The administrator's folder of Claude Code's settings.
    pub managed: String,
    pub project: String,
    pub beside: Beside,
    /// The running program and the registered one.
    pub binaries: Vec<String>,
    /// Process IDs that must not be killed, as text: the client's.
    pub pids: Vec<String>,
    pub on_disk: PlacesOnDisk,
    /// In mode `observe`: only our own record, keys, program, configuration and the files that register us
    /// are protected.
    pub own_alone: bool,
    /// Settings files that register us.
    pub registered: Vec<String>,
}

/// Folders that count like the project's own; usually empty.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Above it, where the `.aops` in force lies, if the session began in a subfolder.
    pub root: String,
    /// The worktree that the session is in now, if it began in another tree.
    pub worktree: String,
}

pub(super) const SETTINGS: &str = "a settings file that can switch our hooks off";
const CONFIGURATION: &str = "our configuration";
const SESSIONS: &str = "our record of sessions";
const CHECKPOINTS: &str = "where checkpoints are kept";
const AGENT: &str = "one of our agents";
const BINARY: &str = "our program";
const RUNS: &str = "a run's record or packet";
const FOLDER: &str = "a folder with our settings";
/// Without an entry in these, our plugin's hooks are not loaded.
const PLUGIN_LISTS: [&str; 3] =
    ["installed_plugins.json", "installed_plugins_v2.json", "known_marketplaces.json"];

/// Our files among those of the client: a session's lock, and the list of a project's sessions.
const OWN_FILES: [&str; 2] = [".lock", ".aops-recent"];

impl Protected {
    /// Every place with a fixed path, as configured and by its real path.
    pub fn places(&self) -> Vec<ProtectedPlace> {
        let mut all = Vec::with_capacity(28);
        let mut add = |path: String, what, tree| {
            if path.starts_with('/') {
                let in_project = path.strip_prefix(&self.project).is_some_and(|rest| rest.starts_with('/'))
                    && !path.starts_with(&self.config);
                all.push(ProtectedPlace { path, what, tree, in_project });
            }
        };
        let worktree = if self.beside.worktree.is_empty() {
            String::new()
        } else {
            format!("{}/.claude", self.beside.worktree)
        };
        for base in [&self.config, &format!("{}/.claude", self.project), &worktree] {
            if base.is_empty() {
                continue;
            }
            add(format!("{base}/settings.json"), SETTINGS, false);
            add(format!("{base}/settings.local.json"), SETTINGS, false);
        }
        add(format!("{}/.claude.json", self.home), SETTINGS, false);
        add(format!("{}/.claude.json", self.config), SETTINGS, false);
        add(format!("{}/aops", self.config), SESSIONS, true);
        add(format!("{}/projects", self.config), SESSIONS, false);
        add(self.user_config.clone(), CONFIGURATION, true);
        add(format!("{}/.claude/checkpoints", self.project), CHECKPOINTS, true);
        for folder in [&self.project, &self.beside.root].into_iter().filter(|folder| !folder.is_empty()) {
            add(format!("{folder}/.aops"), CONFIGURATION, true);
            add(format!("{folder}/.aops/config.toml"), CONFIGURATION, true);
        }
        for agent in AGENTS {
            add(format!("{}/agents/{}.md", self.config, agent.name), AGENT, false);
            add(format!("{}/agents/{FILE_PREFIX}{}.md", self.config, agent.name), AGENT, false);
        }
        add(self.sessions.clone(), SESSIONS, true);
        self.add_clients(&mut add);
        for list in PLUGIN_LISTS {
            add(format!("{}/plugins/{list}", self.config), SETTINGS, false);
        }
        add(format!("{}/plugins/cache/aops", self.config), BINARY, true);
        add(format!("{}/.local/bin/aops-hook", self.home), BINARY, false);
        for binary in &self.binaries {
            add(binary.clone(), BINARY, false);
        }
        all.extend(self.on_disk.real.iter().cloned());
        all
    }

    /// Adds the places of the other clients.
    fn add_clients(&self, add: &mut dyn FnMut(String, &'static str, bool)) {
        for (client, base) in &self.clients {
            let host = host(*client);
            let guarded = host.guards.iter().map(|name| format!("{base}/{name}"));
            for path in guarded.chain(host.in_project.iter().map(|name| format!("{}/{name}", self.project))) {
                add(path.trim_end_matches('/').to_owned(), SETTINGS, path.ends_with('/'));
            }
            let (before, after) = host.agents.place;
            for agent in AGENTS.iter().filter(|_| !before.is_empty()) {
                add(format!("{base}/{before}{}{after}", agent.name), AGENT, false);
            }
        }
    }

    /// This place is protected in the current mode.
    fn holds(&self, place: &ProtectedPlace) -> bool {
        let registers = || self.registered.contains(&place.path) || place.path == self.user_config;
        !self.own_alone || is_own(place.what) || registers()
    }

    pub(super) fn stands(&self, path: &str) -> bool {
        self.on_disk.standing.as_ref().is_none_or(|standing| standing.iter().any(|known| known == path))
    }
}

pub(super) type Component = Vec<Bit>;

/// The components, lexically normalised and in lower case.
pub(super) fn components(bits: &[Bit]) -> Vec<Component> {
    let mut all: Vec<Component> = Vec::new();
    for part in bits.split(|bit| *bit == Bit::Char('/')) {
        match part {
            [] | [Bit::Char('.')] => {}
            [Bit::Char('.'), Bit::Char('.')] => {
                all.pop();
            }
            [Bit::Star, Bit::Star] if all.last().is_some_and(deep) => {}
            part => all.push(lower(part)),
        }
    }
    all
}

pub(super) fn lower(part: &[Bit]) -> Component {
    let mut all = Vec::with_capacity(part.len());
    for bit in part {
        match bit {
            Bit::Char(c) => all.extend(c.to_lowercase().map(Bit::Char)),
            other => all.push(*other),
        }
    }
    all
}

pub(super) struct PlaceMap<'a> {
    protected: &'a Protected,
    places: Vec<(Vec<String>, ProtectedPlace)>,
    config: Vec<String>,
}

impl<'a> PlaceMap<'a> {
    pub(super) fn new(protected: &'a Protected) -> Self {
        let named = |place: ProtectedPlace| (names(&place.path), place);
        let places =
            protected.places().into_iter().filter(|place| protected.holds(place)).map(named).collect();
        Self { protected, places, config: names(&protected.config) }
    }

    /// Keeps what was recognised by its name only if it is protected in the current mode.
    fn held(&self, what: Option<&'static str>) -> Option<&'static str> {
        what.filter(|what| !self.protected.own_alone || is_own(what))
    }

    /// What this target is, if touching it is refused.
    pub(super) fn refused(&self, target: &Target) -> Option<&'static str> {
        let given = components(&target.path.bits);
        let act = match target.act {
            Act::Become if self.exists(target, &given) => return None,
            Act::Become => Act::Merge,
            act => act,
        };
        let real = || self.covered(&components(&target.real.as_ref()?.bits), act);
        let is_ours = |name: &String| matches!(name.as_str(), "AOPS" | "AOPS_SESSION");
        let exported = || target.path.unknown.iter().any(is_ours).then_some(SESSIONS);
        self.covered(&given, act).or_else(real).or_else(exported)
    }

    /// This folder surely exists: it was looked up, or contains something that exists.
    fn exists(&self, target: &Target, path: &[Component]) -> bool {
        target.stands.unwrap_or_else(|| {
            let known = [&self.config, &names(&self.protected.project)];
            let above = |known: &[String]| matches!(relate(path, known), Some(At | Above));
            target.path.bits.last() == Some(&Bit::Char('/')) || known.iter().any(|known| above(known))
        })
    }

    /// A `.claude` that Claude Code reads here: in the project, below it, or above it. Others are copies.
    fn is_read_here(&self, path: &[Component]) -> bool {
        path.split_last().is_some_and(|(last, folder)| {
            named(last, ".claude") && relate(folder, &names(&self.protected.project)).is_some()
        })
    }

    /// What this path is, if an act on it is refused.
    fn covered(&self, path: &[Component], act: Act) -> Option<&'static str> {
        if act == Act::Copy {
            let is = |(names, place): &(Vec<String>, ProtectedPlace)| {
                place.what == BINARY && relate(path, names) == Some(At)
            };
            return self.places.iter().any(is).then_some(BINARY);
        }
        if act == Act::Merge && self.is_read_here(path) && !self.protected.own_alone {
            return Some(FOLDER);
        }
        self.held(by_name(path, act)).or_else(|| self.held(in_config(&self.config, path))).or_else(|| {
            let mut touched =
                self.places.iter().filter(|(names, place)| touches(self.protected, path, place, names, act));
            touched.next().map(|(_, place)| place.what)
        })
    }
}

/// Names of what lies in a `.claude`.
pub(super) fn is_in_claude(what: &str) -> bool {
    matches!(what, CHECKPOINTS | SETTINGS | FOLDER)
}

/// The record with its keys, or the program.
fn is_own(what: &str) -> bool {
    matches!(what, SESSIONS | BINARY)
}

/// The only target is one settings file of the client, by its full name.
pub(super) fn is_settings_alone(protected: &Protected, targets: &[Target]) -> bool {
    let [target] = targets else { return false };
    let last = |word: &Word| components(&word.bits).pop();
    let name = target.real.as_ref().and_then(last).or_else(|| last(&target.path)).unwrap_or_default();
    let is = |known: &&str| pattern::exact(&name) && fits(&name, known);
    if target.act != Act::Write || !["settings.json", "settings.local.json"].iter().any(is) {
        return false;
    }
    let whole = Protected { own_alone: false, ..protected.clone() };
    PlaceMap::new(&whole).refused(target) == Some(SETTINGS)
}

/// A pattern is assumed to match any name that it can match.
pub(super) fn may_touch(places: impl Iterator<Item = String>, targets: &[Target]) -> bool {
    let places: Vec<_> = places.map(|place| names(&place)).collect();
    let near = |word: &Word| {
        let path = components(&word.bits);
        !path.iter().all(pattern::exact) || places.iter().any(|place| relate(&path, place).is_some())
    };
    targets.iter().any(|target| near(&target.path) || target.real.as_ref().is_some_and(near))
}

pub(super) fn names(path: &str) -> Vec<String> {
    path.to_lowercase().split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The file of one of our agents, under its own name or its second one.
fn is_agent_file(last: &Component, name: &str) -> bool {
    fits(last, &format!("{name}.md")) || fits(last, &format!("{FILE_PREFIX}{name}.md"))
}

/// Protected by its name, wherever it lies. A pattern that merely could match does not count: `$n.json` may
/// be `.claude.json`, but so may `$n`, which says even less.
fn by_name(path: &[Component], act: Act) -> Option<&'static str> {
    let last = path.last()?;
    let named = |part: &Component, name: &str| named(part, name) && !pattern::hints(part, name);
    let is = |back: usize, name: &str| path.len().checked_sub(back).is_some_and(|at| named(&path[at], name));
    let pair =
        |one: &str, two: &str| path.windows(2).any(|pair| named(&pair[0], one) && named(&pair[1], two));
    let ends = |begin: &str| pattern::fits_around(last, begin, ".yaml");
    let packet = is(2, "checkpoints") && ends("cp_") || is(2, "terminal") && ends("tp_");
    let managed = is(1, "managed-settings.json") && (is(2, "claude-code") || is(2, "claudecode"));
    let settings = ["settings.json", "settings.local.json", "managed-settings.json"];
    let settings = is(2, ".claude") && settings.iter().any(|name| fits(last, name));
    if path.iter().any(|part| named(part, ".aops")) || in_system(path) == Some("aops-hook") {
        Some(CONFIGURATION)
    } else if in_system(path).is_some() {
        Some(SETTINGS)
    } else if is(3, "artifacts") && packet || pair("artifacts", "loop_state") {
        Some(RUNS)
    } else if pair(".claude", "checkpoints") {
        Some(CHECKPOINTS)
    } else if settings || managed || is(1, ".claude.json") || is(2, "managed-settings.d") {
        Some(SETTINGS)
    } else if is(1, ".claude") && (act.goes_below() || act == Act::Into) {
        Some(FOLDER)
    } else if is(2, "agents")
        && (is(3, ".claude") || pattern::exact(last))
        && AGENTS.iter().any(|agent| is_agent_file(last, agent.name))
    {
        Some(AGENT)
    } else if path.windows(4).any(in_session) {
        Some(SESSIONS)
    } else {
        let folder = is(2, "bin") && is(3, ".local") || is(2, ".claude");
        (folder && fits(last, "aops-hook")).then_some(BINARY)
    }
}

/// The administrator's folders with settings of a client, or with our configuration: `install --managed`
/// writes there.
pub fn system_folders() -> impl Iterator<Item = &'static str> {
    iter::once("aops-hook").chain(CLIENTS.iter().flat_map(|row| row.system.iter().copied()))
}

/// The one of these folders that this path is, or lies in.
fn in_system(path: &[Component]) -> Option<&'static str> {
    let at = |n: usize, name: &str| path.get(n).is_some_and(|part| named(part, name));
    let place = if at(0, "etc") { 1 } else { 2 };
    let is_system = place == 1 || at(0, "library") && at(1, "application support");
    system_folders().find(|name| is_system && at(place, name))
}

/// `.claude/projects/PROJECT/SESSION`.
fn in_session(four: &[Component]) -> bool {
    let projects = named(&four[0], ".claude") && named(&four[1], "projects");
    projects && !unnamed(&four[3]) && is_session(&four[3])
}

/// Protected by its name below Claude Code's configuration folder, wherever that lies.
fn in_config(config: &[String], path: &[Component]) -> Option<&'static str> {
    if config.is_empty() || path.len() <= config.len() || relate(path, config) != Some(Below) {
        return None;
    }
    let rest = &path[config.len()..];
    match rest {
        [file] if pattern::fits_around(file, "settings", ".json") => Some(SETTINGS),
        [projects, _] | [projects, _, _]
            if named(projects, "projects") && rest.last().is_some_and(unnamed) =>
        {
            Some(SESSIONS)
        }
        // The client's own record, which says who interrupted a turn.
        [projects, .., file] if named(projects, "projects") && pattern::is_transcript(file) => Some(SESSIONS),
        // Whoever holds a lock keeps us from taking it.
        [projects, .., file]
            if named(projects, "projects") && OWN_FILES.iter().any(|name| fits(file, name)) =>
        {
            Some(SESSIONS)
        }
        [plugins, file] if named(plugins, "plugins") && is_plugin_list(file) => Some(SETTINGS),
        [plugins, .., _] if named(plugins, "plugins") && rest[1..].iter().any(pattern::is_plugin) => {
            Some(BINARY)
        }
        _ => None,
    }
}

fn is_plugin_list(file: &Component) -> bool {
    PLUGIN_LISTS.iter().any(|name| named(file, name))
}

fn touches(
    protected: &Protected,
    path: &[Component],
    place: &ProtectedPlace,
    names: &[String],
    act: Act,
) -> bool {
    match relate(path, names) {
        Some(At) if path.iter().any(deep) => protected.stands(&place.path),
        Some(At) => !matches!(act, Act::Into | Act::Merge) || place.tree,
        // The sessions' folder itself belongs to Claude Code; our folders in it have names of their own.
        Some(Below) if names.last().is_some_and(|name| name == "projects") => {
            let session = path.get(names.len() + 1).is_some_and(|part| !unnamed(part) && is_session(part));
            session || act.goes_below() && path.len() == names.len() + 1
        }
        Some(Below) => place.tree,
        Some(Above) if act == Act::Whole => protected.stands(&place.path),
        Some(Above) if matches!(act, Act::Spare | Act::SpareBoth) => {
            !is_spared(path, names, act) && protected.stands(&place.path)
        }
        // Git ignores checkpoints because of a line in `info/exclude`.
        Some(Above) if act == Act::Sweep => place.what != CHECKPOINTS && protected.stands(&place.path),
        // Copied folders often lie close to the project's own places, so those are checked after the call
        // instead.
        Some(Above) if act == Act::Merge && !place.in_project => true,
        Some(Above) if matches!(act, Act::Into | Act::Merge) => {
            matches!(place.what, SETTINGS | BINARY)
                && !place.path.ends_with(".claude.json")
                && path.len() + 1 == names.len()
        }
        _ => false,
    }
}

/// The place lies in a folder that this act leaves alone.
fn is_spared(path: &[Component], names: &[String], act: Act) -> bool {
    let is_kept = |name: &String| name == ".claude" || act == Act::SpareBoth && name == ".aops";
    path.iter().all(pattern::exact) && names.iter().skip(path.len()).any(is_kept)
}

/// Where the path lies relative to the place. `Above`: it contains the place.
pub(super) fn relate(path: &[Component], place: &[String]) -> Option<Ordering> {
    for (part, name) in path.iter().zip(place) {
        if !pattern::exact(part) {
            return relate_pattern(path, place);
        }
        if !fits(part, name) {
            return None;
        }
    }
    Some(path.len().cmp(&place.len()))
}

/// Walks path and place in parallel; `**` may stand for any number of components.
fn relate_pattern(path: &[Component], place: &[String]) -> Option<Ordering> {
    let end = place.len();
    let mut reached = vec![false; end + 1];
    reached[0] = true;
    // The path must name the whole place before it continues; a `**` alone does not lead into it.
    let mut spelled = end == 0;
    let mut below = false;
    for part in path {
        below |= spelled;
        if deep(part) {
            // Once the path has reached the place, everything below it is covered.
            if let Some(first) = reached.iter().position(|here| *here) {
                reached[first..].fill(true);
            }
            continue;
        }
        spelled = false;
        let mut next = vec![false; end + 1];
        for at in (0..end).filter(|at| reached[*at]) {
            next[at + 1] = fits(part, &place[at]) && !hides(part);
        }
        spelled |= next[end];
        reached = next;
        if !below && !reached.contains(&true) {
            return None;
        }
    }
    match (reached[end], reached.contains(&true)) {
        (true, _) => Some(At),
        (false, true) => Some(Above),
        (false, false) => below.then_some(Below),
    }
}

/// Apart from dots, only the running shell knows this component, which is too little for a refusal: `"$x"*`,
/// `$x.*`.
fn hides(part: &Component) -> bool {
    part.first() == Some(&Bit::Any) && !part.iter().any(|bit| matches!(bit, Bit::Char(c) if *c != '.'))
}
