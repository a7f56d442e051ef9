//! What a client must answer to be one of ours: the trait that each folder implements, and the row of facts
//! that goes with it.
//!
//! Facts were measured by running the client, with version and day. Invariant: nothing is asked of a client
//! elsewhere; what most clients do alike is said here once, and a client says only what it does otherwise.

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

/// One event of a client, by its own name.
#[derive(Debug)]
pub struct HostEvent {
    pub name: &'static str,
    /// What we call it.
    pub ours: &'static str,
    /// A refusal holds.
    pub refuses: bool,
    /// Takes text for the model.
    pub context: bool,
    /// Takes words for the person.
    pub speaks: bool,
    /// Seconds that the client waits for the hook; 0: not registered.
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

/// One that we only look at.
pub const fn observed(name: &'static str, timeout: u32) -> HostEvent {
    HostEvent { name, ours: name, refuses: false, context: false, speaks: false, timeout }
}

/// One that the client calls by another name than we do, and that has no words for the person.
pub const fn named(
    name: &'static str,
    ours: &'static str,
    refuses: bool,
    context: bool,
    timeout: u32,
) -> HostEvent {
    HostEvent { name, ours, refuses, context, speaks: false, timeout }
}

/// The facts of a client.
#[derive(Debug)]
pub struct HostRow {
    pub client: Client,
    pub title: &'static str,
    /// The version that was measured, and when.
    pub measured: (&'static str, &'static str),
    /// Empty for Claude Code, whose events are `EVENTS`.
    pub events: &'static [HostEvent],
    /// What we are registered in, below its folder.
    pub registration: &'static str,
    /// What an administrator registers us in for everybody; empty where there is no such file, or where it is
    /// ours alone.
    pub managed: &'static str,
    /// What can take our hooks away, below its folder and in a project; a folder ends with a slash.
    pub guards: &'static [&'static str],
    pub in_project: &'static [&'static str],
    pub agents: AgentFiles,
    /// Variables that move its folder or leave its hooks out; the first names the folder, where one does.
    pub variables: &'static [&'static str],
    /// Those of them that leave an administrator's hooks out.
    pub bypass: &'static [&'static str],
    /// Its commands that our hooks see, each as the first word; empty: any first word is well.
    pub verbs: &'static [&'static str],
    /// Options that leave our hooks out, or may.
    pub drops: &'static [&'static str],
    /// In the order of `QUESTIONS`.
    pub answers: [&'static str; QUESTIONS.len()],
}

impl HostRow {
    /// The events that we are registered for.
    pub fn registered(&self) -> impl Iterator<Item = &'static HostEvent> {
        self.events.iter().filter(|event| event.timeout > 0)
    }

    /// The event that we call by this name.
    pub fn event(&self, ours: &str) -> Option<&'static HostEvent> {
        self.events.iter().find(|event| event.ours == ours)
    }
}

/// The files of agents.
#[derive(Debug)]
pub struct AgentFiles {
    /// Ours below the client's folder: what stands before its name, and after. Empty where it has none of
    /// ours.
    pub place: (&'static str, &'static str),
    /// Where a project may have some, and the ending of their names.
    pub in_project: &'static [&'static str],
    pub ending: &'static str,
    /// The text of one, of its name and description as JSON strings and its instructions.
    pub text: fn(name: &str, description: &str, body: &str) -> String,
}

/// With name and description in a head of YAML.
pub const IN_MARKDOWN: AgentFiles =
    AgentFiles { place: ("agents/", ".md"), in_project: &[".claude/agents"], ending: "md", text: with_head };

/// The client has agents that are not ours.
pub const NO_AGENTS: AgentFiles = AgentFiles { place: ("", ""), ..IN_MARKDOWN };

pub fn with_head(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}

/// What keeps a client from running hooks that are registered in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// This key in this file below its folder switches every hook off.
    Switch { key: &'static str, file: &'static str },
    /// A new installation mends it: what is wrong.
    Installation(&'static str),
}

/// How an administrator brings our hooks to everybody.
#[derive(Clone, Copy, Debug)]
pub enum ForEverybody {
    /// The client knows no such file, or we did not measure it.
    No,
    /// By a file that is ours alone.
    Own,
    /// By entries in a file that others write too.
    Shared,
    /// By a file of this name in our own folder, which a list in the client's file names by its address.
    Listed {
        name: &'static str,
        list: fn(address: &str) -> String,
        has: fn(text: &str, address: &str) -> bool,
    },
}

/// A change of a further file that goes with a registration.
#[derive(Debug)]
pub struct Companion {
    /// Below the client's folder.
    pub file: &'static str,
    /// What an installation says of it, after the name of the registration.
    pub said: &'static str,
}

/// A client. One implementation each, in a folder of its own.
pub trait Host: Sync + Debug {
    fn row(&self) -> &'static HostRow;

    /// The event called `name` in these bytes.
    fn read(&self, name: &str, input: &[u8]) -> Result<Event, Failure>;

    /// The verdict as it wants to hear it. `payload`: the event that is answered.
    fn spell(&self, kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer;

    /// The answer to an event that aops-hook itself failed on.
    fn fail(&self, kind: EventKind, failure: &Failure) -> Answer {
        self.spell(kind, &answer::broken(kind, failure), b"")
    }

    /// The event so short that it fits into a link; nothing where that is not known of this client.
    fn shortened(&self, _input: &[u8], _most: usize) -> Option<String> {
        None
    }

    /// What registers us: the text of its file with our entries, which run this program.
    fn register(&self, text: &str, program: &str) -> Result<String, Unreadable>;

    /// The same text without us; a file that is ours alone becomes empty. `original`: what it was before.
    fn unregister(&self, text: &str, original: Option<&str>) -> Result<String, Unreadable>;

    /// The line that it runs before a call, as its file says.
    fn command(&self, text: &str) -> Option<String>;

    /// A further file that must say the same as the registration.
    fn companion(&self) -> Option<Companion> {
        None
    }

    /// The text of that file, where the registration at this path was `old` and becomes `new`.
    fn accompany(&self, text: &str, _path: &str, _old: &str, _new: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    /// What keeps it from running our hooks. `managed`: those of an administrator.
    fn hindrance(&self, _folder: &Path, _managed: bool) -> Option<Hindrance> {
        None
    }

    /// A person registered us, and nothing takes it away.
    fn has_hooks(&self, folder: &Path) -> bool {
        let text = files::read_text(folder.join(self.row().registration)).unwrap_or_default();
        let wanted = |program: &str| self.register(&text, program);
        runs_as_wanted(Path::new("/"), self.command(&text), &text, &wanted)
            && self.hindrance(folder, false).is_none()
    }

    fn for_everybody(&self) -> ForEverybody {
        ForEverybody::No
    }

    /// The text that registers us for everybody, in place of this one.
    fn register_for_everybody(&self, text: &str, program: &str) -> Result<String, Unreadable> {
        self.register(text, program)
    }

    /// The file that it keeps of a session.
    fn transcript(&self, _env: &Env, _session_id: &str) -> Option<PathBuf> {
        None
    }

    /// This is such a file.
    fn is_transcript(&self, _path: &Path) -> bool {
        false
    }

    /// What a session used, as that file says.
    fn scan(&self, _transcript: &Path, _lens: &Lens) -> io::Result<Scan> {
        Ok(Scan::default())
    }

    /// What one request to the model used, where an event of this name says it in its own fields: the model,
    /// and the tokens.
    fn request(&self, _event: &str, _about: &str) -> Option<(String, Usage)> {
        None
    }

    /// Adds the files in which it keeps its sessions. One whose format is not known is named all the same.
    fn past_files(&self, env: &Env, found: &mut PastFiles);

    /// Reads such a file, and hands on what it says one after another.
    fn read_past(
        &self,
        _file: &PastFile,
        _until: Instant,
        _take: &mut dyn FnMut(PastRecord),
    ) -> io::Result<PastCounts> {
        Ok(PastCounts::default())
    }
}

/// The program that this line starts is there, below this root, and the text is what registers it.
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

/// The text with an entry for each event of this row. `hook`: what a client's entry has beside or instead.
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

/// A file that is ours alone, without us; one that somebody else put in its place stays.
pub fn without_ours(text: &str) -> String {
    if text.contains(settings::PROGRAM) { String::new() } else { text.to_owned() }
}

/// The line before a call in settings of Claude's form.
pub fn command_in(text: &str, grammar: Grammar) -> Option<String> {
    let ours = settings::survey_in(text, grammar).ok()?.ours;
    let asks = |event: &str| matches!(event, "PreToolUse" | "BeforeTool");
    ours.into_iter().find(|one| asks(&one.event)).map(|one| one.command)
}
