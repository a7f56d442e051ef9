//! Compares a path, or a pattern of paths, with what is protected. Names are compared without case.

use super::place::{
    AGENT, BINARY, CHECKPOINTS, CONFIGURATION, FOLDER, Place, Protected, RUNS, SESSIONS, SETTINGS,
};
use crate::model::agent::{AGENTS, Agent};
use crate::shell::syntax::Bit;
use crate::shell::targets::{Act, Target};
use std::cmp::Ordering;

pub(super) mod pattern;

use pattern::{deep, fits, is_session, named, unnamed};

/// One component of a path.
pub(super) type Part = Vec<Bit>;

/// How a path lies to a protected place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lies {
    At,
    Below,
    /// It holds the place.
    Above,
}

/// The components, lexically normalised, in lower case.
pub(super) fn parts(bits: &[Bit]) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
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

pub(super) fn lower(part: &[Bit]) -> Part {
    let mut all = Vec::with_capacity(part.len());
    for bit in part {
        match bit {
            Bit::Char(c) => all.extend(c.to_lowercase().map(Bit::Char)),
            other => all.push(*other),
        }
    }
    all
}

/// The protected places, cut for comparing.
pub(super) struct Map<'a> {
    protected: &'a Protected,
    places: Vec<(Place, Vec<String>)>,
    config: Vec<String>,
    binaries: Vec<Vec<String>>,
}

impl<'a> Map<'a> {
    pub(super) fn new(protected: &'a Protected) -> Self {
        let places = protected.places().into_iter().map(|place| {
            let names = names(&place.path);
            (place, names)
        });
        let binaries = protected.binaries.iter().map(|path| names(path)).collect();
        Self { protected, places: places.collect(), config: names(&protected.config), binaries }
    }

    /// This folder is surely there already: looked up, or above what we know to be there.
    pub(super) fn stands(&self, target: &Target, path: &[Part]) -> bool {
        target.stands.unwrap_or_else(|| {
            let known = [&self.config, &names(&self.protected.project)];
            let above = |known: &[String]| matches!(relate(path, known), Some(Lies::At | Lies::Above));
            target.path.bits.last() == Some(&Bit::Char('/')) || known.iter().any(|known| above(known))
        })
    }

    /// A `.claude` that Claude Code reads here: in the project, below it, or above it. Others are copies.
    fn is_heard(&self, path: &[Part]) -> bool {
        path.split_last().is_some_and(|(last, folder)| {
            named(last, ".claude") && relate(folder, &names(&self.protected.project)).is_some()
        })
    }

    /// What this path is, if touching it like this is refused.
    pub(super) fn covered(&self, path: &[Part], act: Act) -> Option<&'static str> {
        if act == Act::Copy {
            let programs = self.places.iter().filter(|(place, _)| place.what == BINARY);
            let mut programs = programs.map(|(_, names)| names).chain(&self.binaries);
            return programs.any(|program| relate(path, program) == Some(Lies::At)).then_some(BINARY);
        }
        if act == Act::Merge && self.is_heard(path) {
            return Some(FOLDER);
        }
        by_name(path, act).or_else(|| in_config(&self.config, path)).or_else(|| {
            let touched =
                |(place, names): &&(Place, Vec<String>)| touches(self.protected, path, place, names, act);
            self.places.iter().find(touched).map(|(place, _)| place.what)
        })
    }
}

fn names(path: &str) -> Vec<String> {
    path.to_lowercase().split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Protected wherever it lies.
fn by_name(path: &[Part], act: Act) -> Option<&'static str> {
    let last = path.last()?;
    let at = |n: usize| path.len().checked_sub(n).and_then(|i| path.get(i));
    if path.iter().any(|part| named(part, ".aops")) {
        return Some(CONFIGURATION);
    }
    let packets = |two: &[Part]| named(&two[0], "artifacts") && named(&two[1], "loop_state");
    let packet = at(3).is_some_and(|part| named(part, "artifacts"))
        && (at(2).is_some_and(|part| named(part, "checkpoints"))
            && pattern::fits_around(last, "cp_", ".yaml")
            || at(2).is_some_and(|part| named(part, "terminal"))
                && pattern::fits_around(last, "tp_", ".yaml"));
    if packet || path.windows(2).any(packets) {
        return Some(RUNS);
    }
    if path.windows(2).any(|two| named(&two[0], ".claude") && named(&two[1], "checkpoints")) {
        return Some(CHECKPOINTS);
    }
    if named(last, ".claude.json") {
        return Some(SETTINGS);
    }
    let in_claude = at(2).is_some_and(|part| named(part, ".claude"));
    let settings = ["settings.json", "settings.local.json", "managed-settings.json"];
    if in_claude && settings.iter().any(|name| fits(last, name)) {
        return Some(SETTINGS);
    }
    let managed = |part: &Part| named(part, "claude-code") || named(part, "claudecode");
    if named(last, "managed-settings.json") && at(2).is_some_and(managed)
        || at(2).is_some_and(|part| named(part, "managed-settings.d"))
    {
        return Some(SETTINGS);
    }
    if named(last, ".claude") && matches!(act, Act::Whole | Act::Into) {
        return Some(FOLDER);
    }
    if at(2).is_some_and(|part| named(part, "agents")) {
        let claude = at(3).is_some_and(|part| named(part, ".claude"));
        let is_file = |agent: &Agent| {
            let file = format!("{}.md", agent.name);
            fits(last, &file) && (claude || pattern::exact(last))
        };
        if AGENTS.iter().any(is_file) {
            return Some(AGENT);
        }
    }
    let session = |four: &[Part]| {
        named(&four[0], ".claude")
            && named(&four[1], "projects")
            && !unnamed(&four[3])
            && is_session(&four[3])
    };
    if path.windows(4).any(session) {
        return Some(SESSIONS);
    }
    let bin = at(2).is_some_and(|part| named(part, "bin")) && at(3).is_some_and(|part| named(part, ".local"));
    (bin && fits(last, "aops-hook")).then_some(BINARY)
}

/// Protected by a name below Claude Code's configuration folder, wherever that is.
fn in_config(config: &[String], path: &[Part]) -> Option<&'static str> {
    if config.is_empty() || path.len() <= config.len() || relate(path, config) != Some(Lies::Below) {
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
        [plugins, .., _] if named(plugins, "plugins") && rest[1..].iter().any(pattern::ours) => Some(BINARY),
        _ => None,
    }
}

fn touches(protected: &Protected, path: &[Part], place: &Place, names: &[String], act: Act) -> bool {
    match relate(path, names) {
        Some(Lies::At) if path.iter().any(deep) => protected.stands(&place.path),
        Some(Lies::At) => !matches!(act, Act::Into | Act::Merge) || place.tree,
        // The sessions' folder itself is Claude Code's; what is ours in it has a name of its own.
        Some(Lies::Below) if names.last().is_some_and(|name| name == "projects") => {
            let session = path.get(names.len() + 1).is_some_and(|part| !unnamed(part) && is_session(part));
            session || act == Act::Whole && path.len() == names.len() + 1
        }
        Some(Lies::Below) => place.tree,
        Some(Lies::Above) if act == Act::Whole => protected.stands(&place.path),
        // The project's own places are too near to every copied folder; the tripwire looks after those.
        Some(Lies::Above) if act == Act::Merge && !place.in_project => true,
        Some(Lies::Above) if matches!(act, Act::Into | Act::Merge) => {
            matches!(place.what, SETTINGS | BINARY)
                && !place.path.ends_with(".claude.json")
                && path.len() + 1 == names.len()
        }
        _ => false,
    }
}

/// Walks path and place side by side; `**` may stand for any number of parts.
fn relate(path: &[Part], place: &[String]) -> Option<Lies> {
    // Most paths are plain, and part ways soon.
    let mut plain = true;
    for (part, name) in path.iter().zip(place) {
        plain &= pattern::exact(part);
        if !plain {
            break;
        }
        if !fits(part, name) {
            return None;
        }
    }
    if plain {
        return match path.len().cmp(&place.len()) {
            Ordering::Less => Some(Lies::Above),
            Ordering::Equal => Some(Lies::At),
            Ordering::Greater => Some(Lies::Below),
        };
    }
    let end = place.len();
    let mut reached = vec![false; end + 1];
    reached[0] = true;
    // The whole place was spelled out before the path went on; a `**` alone does not lead into it.
    let (mut spelled, mut below) = (end == 0, false);
    for part in path {
        below |= spelled;
        if deep(part) {
            // Below the place already: nothing is left to reach.
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
        (true, _) => Some(Lies::At),
        (false, true) => Some(Lies::Above),
        (false, false) => below.then_some(Lies::Below),
    }
}

/// A part the line does not say at all: too little to refuse by.
fn hides(part: &Part) -> bool {
    part.iter().all(|bit| *bit == Bit::Any)
}
