//! The contract of a client: the trait that each client's folder implements, and the row of facts that
//! belongs to it.
//!
//! Facts were measured by running the client, and name its version and the day. Invariant: nothing outside of
//! `host` asks about a client's details; what most clients have in common is implemented here, and a client
//! implements only its differences.

use super::claude::settings::{self, Grammar, Group, Hook, Unreadable, quoted};
use super::claude::transcript::scan::{Lens, Scan};
use super::claude::usage::Usage;
use super::claude::wire::answer::{self, Answer};
use super::past::{PastCounts, PastFile, PastFiles, PastRecord};
use crate::model::client::Client;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Verdict;
use crate::system::env::{Env, below_root};
use crate::system::files;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One event of a client, by the client's own name.
#[derive(Debug)]
pub struct HostEvent {
    pub name: &'static str,
    /// Our name for it.
    pub ours: &'static str,
    /// A refusal takes effect.
    pub refuses: bool,
    /// Accepts text for the model.
    pub context: bool,
    /// Accepts text for the person.
    pub speaks: bool,
    /// Seconds that the client waits for the hook; 0 if it is not registered.
    pub timeout: u32,
}

pub const QUESTIONS: [&str; 14] = [
    "recognised by",
    "how a call is blocked",
    "what a passing call prints",
    "if the hook crashes",
    "if the hook is too slow",
    "a call that needs approval (`ask`)",
    "calls have an id",
    "who makes a call",
    "an agent's verdict arrives with",
    "the end of a turn can be blocked",
    "how often in a row",
    "tokens come from",
    "an administrator's file",
    "past sessions that `tryout` reads",
];

pub const fn event(name: &'static str, refuses: bool, context: bool, timeout: u32) -> HostEvent {
    HostEvent { name, ours: name, refuses, context, speaks: true, timeout }
}

/// An event that we only observe.
pub const fn observed(name: &'static str, timeout: u32) -> HostEvent {
    HostEvent { name, ours: name, refuses: false, context: false, speaks: false, timeout }
}

/// An event whose name differs from ours, and that has no text for the person.
pub const fn named(
    name: &'static str,
    ours: &'static str,
    refuses: bool,
    context: bool,
    timeout: u32,
) -> HostEvent {
    HostEvent { name, ours, refuses, context, speaks: false, timeout }
}

#[derive(Debug)]
pub struct HostRow {
    pub client: Client,
    pub title: &'static str,
    /// The version that was measured, and the day.
    pub measured: (&'static str, &'static str),
    /// Empty for Claude Code, whose events are `EVENTS`.
    pub events: &'static [HostEvent],
    /// The file that registers us, below the client's folder.
    pub registration: &'static str,
    /// The file with which an administrator registers us for everybody; empty if there is none, or if it
    /// contains only our entries.
    pub managed: &'static str,
    /// Files that could remove our hooks, below the client's folder and in a project; a folder ends with a
    /// slash.
    pub guards: &'static [&'static str],
    pub in_project: &'static [&'static str],
    pub agents: AgentFiles,
    /// Variables that move the client's folder or disable our hooks; the first names the folder, if one does.
    pub variables: &'static [&'static str],
    /// Those of them that disable an administrator's hooks.
    pub bypass: &'static [&'static str],
    /// Its commands for which our hooks are active, each as the first word; if empty, they are active for any
    /// command.
    pub verbs: &'static [&'static str],
    /// Options that disable our hooks, or may do so.
    pub drops: &'static [&'static str],
    /// In the order of `QUESTIONS`.
    pub answers: [&'static str; QUESTIONS.len()],
}

impl HostRow {
    /// The events for which we are registered.
    pub fn registered(&self) -> impl Iterator<Item = &'static HostEvent> {
        self.events.iter().filter(|event| event.timeout > 0)
    }

    /// The event for which this is our name.
    pub fn event(&self, ours: &str) -> Option<&'static HostEvent> {
        self.events.iter().find(|event| event.ours == ours)
    }
}

/// Where and how a client stores agents.
#[derive(Debug)]
pub struct AgentFiles {
    /// Prefix and suffix of our agents' paths below the client's folder. Empty if it has none of our agents.
    pub place: (&'static str, &'static str),
    /// Folders of agents in a project, and the ending of their file names.
    pub in_project: &'static [&'static str],
    pub ending: &'static str,
    /// Builds an agent's text from name and description (as JSON strings) and instructions.
    pub text: fn(name: &str, description: &str, body: &str) -> String,
}

/// With name and description in a YAML head.
pub const IN_MARKDOWN: AgentFiles =
    AgentFiles { place: ("agents/", ".md"), in_project: &[".claude/agents"], ending: "md", text: with_head };

/// The client has agents, but none of ours.
pub const NO_AGENTS: AgentFiles = AgentFiles { place: ("", ""), ..IN_MARKDOWN };

pub fn with_head(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}

/// What keeps a client from running its registered hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// This key in this file below the client's folder switches every hook off.
    Switch { key: &'static str, file: &'static str },
    /// Something is wrong that a new installation repairs; says what it is.
    Installation(&'static str),
}

/// How an administrator registers our hooks for everybody.
#[derive(Clone, Copy, Debug)]
pub enum ForEverybody {
    /// The client has no such file, or we did not measure it.
    No,
    /// With a file that contains only our entries.
    Own,
    /// With entries in a file that others use, too.
    Shared,
    /// With a file of this name in our own folder; a list in the client's file contains its address.
    Listed {
        name: &'static str,
        list: fn(address: &str) -> String,
        has: fn(text: &str, address: &str) -> bool,
    },
}

/// A change of another file that is part of a registration.
#[derive(Debug)]
pub struct Companion {
    /// Relative to the client's folder.
    pub file: &'static str,
    /// What an installation prints about it, after the name of the registration.
    pub said: &'static str,
}

/// A client. Each has one implementation, in a folder of its own.
pub trait Host: Sync + Debug {
    fn row(&self) -> &'static HostRow;

    /// The event called `name` in these bytes.
    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure>;

    /// The verdict in the form that the client expects. `payload`: the event that is answered.
    fn spell(&self, kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer;

    /// The answer to an event in which aops-hook itself failed.
    fn fail(&self, kind: EventKind, failure: &Failure) -> Answer {
        self.spell(kind, &answer::broken(kind, failure), b"")
    }

    /// The event, shortened so that it fits into a symlink; `None` if we do not know how to shorten this
    /// client's events.
    fn shortened(&self, _input: &[u8], _most: usize) -> Option<String> {
        None
    }

    /// The text of the registration file with our entries, which run this program.
    fn register(&self, text: &str, program: &str) -> Result<String, Unreadable>;

    /// The same text without us; a file with only our entries becomes empty. `original`: the text before we
    /// registered.
    fn unregister(&self, text: &str, original: Option<&str>) -> Result<String, Unreadable>;

    /// The line that the client runs before a call, according to its file.
    fn command(&self, text: &str) -> Option<String>;

    /// Another file that must match the registration.
    fn companion(&self) -> Option<Companion> {
        None
    }

    /// The text of that file when the registration at this path changes from `old` to `new`.
    fn accompany(&self, text: &str, _path: &str, _old: &str, _new: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    /// What keeps the client from running our hooks. `managed`: those of an administrator.
    fn hindrance(&self, _folder: &Path, _managed: bool) -> Option<Hindrance> {
        None
    }

    /// A person registered us, and nothing disables the hooks.
    fn has_hooks(&self, folder: &Path) -> bool {
        let text = files::read_text(folder.join(self.row().registration)).unwrap_or_default();
        let wanted = |program: &str| self.register(&text, program);
        runs_as_wanted(Path::new("/"), self.command(&text), &text, &wanted)
            && self.hindrance(folder, false).is_none()
    }

    fn for_everybody(&self) -> ForEverybody {
        ForEverybody::No
    }

    /// The text that registers us for everybody and replaces this one.
    fn register_for_everybody(&self, text: &str, program: &str) -> Result<String, Unreadable> {
        self.register(text, program)
    }

    /// The file that the client keeps about a session.
    fn transcript(&self, _env: &Env, _session_id: &str) -> Option<PathBuf> {
        None
    }

    /// This is a file about a session.
    fn is_transcript(&self, _path: &Path) -> bool {
        false
    }

    /// What a session used, according to that file.
    fn scan(&self, _transcript: &Path, _lens: &Lens) -> io::Result<Scan> {
        Ok(Scan::default())
    }

    /// The model and tokens of one request, if an event of this name contains them in its own fields.
    fn request(&self, _event: &str, _about: &str) -> Option<(String, Usage)> {
        None
    }

    /// Adds the files in which the client keeps its sessions, even those with an unknown format.
    fn past_files(&self, env: &Env, found: &mut PastFiles);

    /// Reads such a file, and passes on its records one after another.
    fn read_past(
        &self,
        _file: &PastFile,
        _until: Instant,
        _take: &mut dyn FnMut(PastRecord),
    ) -> io::Result<PastCounts> {
        Ok(PastCounts::default())
    }
}

/// The program that this line starts exists below this root, and the text is exactly its registration.
pub fn runs_as_wanted(
    root: &Path,
    line: Option<String>,
    text: &str,
    wanted: &dyn Fn(&str) -> Result<String, Unreadable>,
) -> bool {
    let Some(line) = line else { return false };
    let program = settings::program(&line, false);
    below_root(root, Path::new(program)).is_file() && wanted(program).is_ok_and(|wanted| wanted == text)
}

/// The text with an entry for each event of this row. `hook`: changes an entry to the client's own form.
pub fn register_rows(
    row: &HostRow,
    text: &str,
    program: &str,
    grammar: Grammar,
    hook: &dyn Fn(&HostEvent, Hook) -> Hook,
) -> Result<String, Unreadable> {
    let group = |event: &str| {
        let event = row.registered().find(|known| known.name == event)?;
        let plain = Hook {
            r#type: "command",
            command: format!("{} {}{}", quoted(program), event.ours, row.client.option()),
            timeout: event.timeout,
            ..Hook::default()
        };
        Some(Group { hooks: [hook(event, plain)] })
    };
    settings::register_all(text, grammar, row.registered().map(|event| event.name), &group)
}

/// A file with only our entries, without us. If somebody replaced it by another file, that stays.
pub fn without_ours(text: &str) -> String {
    if text.contains(settings::PROGRAM) { String::new() } else { text.to_owned() }
}

/// The line that is run before a call, from settings in Claude's format.
pub fn command_in(text: &str, grammar: Grammar) -> Option<String> {
    let ours = settings::survey_in(text, grammar).ok()?.ours;
    let asks = |event: &str| matches!(event, "PreToolUse" | "BeforeTool");
    ours.into_iter().find(|one| asks(&one.event)).map(|one| one.command)
}
