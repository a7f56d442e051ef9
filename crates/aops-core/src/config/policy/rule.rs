//! `[[rule]]`: what the user or the project denies, asks about or warns of.
//!
//! Reads the description of a call, writes nothing. Invariants: every condition in a rule must be met, and
//! any one of a condition's alternatives is enough; a rule without a condition is rejected when it is read.

use super::key::EntryField;
use super::value::{EFFECTS, Form, Parts, effect_word};
use super::{glob, words};
use crate::model::call::Effect;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    pub action: Action,
    pub command: Vec<String>,
    pub effect: Vec<Effect>,
    pub examples: Vec<String>,
    /// Whoever asked for a run does not answer what it asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub four_eyes: bool,
    pub id: String,
    pub path: Vec<String>,
    pub reason: String,
    pub tool: Vec<String>,
}

words! {
    /// What happens to a call that a rule matches.
    Action {
        Warn = "warn",
        Ask = "ask",
        #[default]
        Deny = "deny",
    }
}

pub static PARTS: &[EntryField] = &[
    EntryField::needed("id", Form::Id, "its name, in refusals and in the ledger"),
    EntryField::optional("tool", Form::Names, "tools, by name or glob"),
    EntryField::optional("path", Form::Names, "paths the call touches, as globs"),
    EntryField::optional("command", Form::Names, "words of a command, in order; others may be between them"),
    EntryField::optional("effect", Form::SomeOf(EFFECTS), "what the call does"),
    EntryField::needed("action", Form::OneOf(Action::WORDS), "what becomes of the call"),
    EntryField::needed("reason", Form::Text, "shown with the refusal"),
    EntryField::optional(
        "four_eyes",
        Form::Flag,
        "on many machines, somebody other than the person who started the run must answer",
    ),
    EntryField::optional("examples", Form::Names, "calls it must match; with a leading `!`, must not"),
];

/// A call in the form that rules are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    pub tool: &'a str,
    pub effect: Effect,
    /// Absolute real paths.
    pub paths: &'a [String],
    /// Paths that a line or a search reads; a rule about writing ignores them.
    pub read: &'a [String],
    /// The words of each simple command.
    pub commands: &'a [Vec<String>],
    pub project: &'a str,
    pub home: &'a str,
}

impl Rule {
    pub fn matches(&self, call: &Called) -> bool {
        let tool = |pattern: &String| glob::name(pattern, call.tool);
        let path = |pattern: &String| {
            self.named(call).any(|path| glob::covers(pattern, path, call.project, call.home))
        };
        let command = |wanted: &String| call.commands.iter().any(|words| runs(wanted, words, call));
        let effect = |wanted: &Effect| effect_word(*wanted) == effect_word(call.effect);
        (self.tool.is_empty() || self.tool.iter().any(tool))
            && (self.path.is_empty() || self.path.iter().any(path))
            && (self.command.is_empty() || self.command.iter().any(command))
            && (self.effect.is_empty() || self.effect.iter().any(effect))
    }

    /// The paths of a call that this rule is about.
    fn named<'a>(&self, call: &Called<'a>) -> impl Iterator<Item = &'a String> + use<'a> {
        let reading = self.effect.is_empty() || self.effect.contains(&Effect::Read);
        call.paths.iter().chain(if reading { call.read } else { &[] })
    }

    /// Why it matches: for each condition its name, the pattern, and the value that the pattern matched.
    pub fn found(&self, call: &Called) -> Vec<(&'static str, String, String)> {
        let path = |pattern: &String| {
            let hit = self.named(call).find(|path| glob::covers(pattern, path, call.project, call.home))?;
            Some(("path", pattern.clone(), hit.clone()))
        };
        let command = |wanted: &String| {
            let hit = call.commands.iter().find(|words| runs(wanted, words, call))?;
            Some(("command", wanted.clone(), hit.join(" ")))
        };
        let tool = self.tool.iter().find(|pattern| glob::name(pattern, call.tool));
        let tool = tool.map(|pattern| ("tool", pattern.clone(), call.tool.to_owned()));
        let word = effect_word(call.effect);
        let effect = self.effect.iter().find(|wanted| effect_word(**wanted) == word);
        let effect = effect.map(|_| ("effect", word.to_owned(), word.to_owned()));
        let path = self.path.iter().find_map(path);
        let command = self.command.iter().find_map(command);
        tool.into_iter().chain(path).chain(command).chain(effect).collect()
    }

    /// Built from its fields; an error names the field that it concerns.
    pub(super) fn of(parts: &mut Parts) -> Result<Self, (&'static str, String)> {
        let rule = Self {
            action: parts.take("action").unwrap_or_default(),
            command: parts.take("command").unwrap_or_default(),
            effect: parts.take("effect").unwrap_or_default(),
            examples: parts.take("examples").unwrap_or_default(),
            four_eyes: parts.take("four_eyes").unwrap_or_default(),
            id: parts.take("id").unwrap_or_default(),
            path: parts.take("path").unwrap_or_default(),
            reason: parts.take("reason").unwrap_or_default(),
            tool: parts.take("tool").unwrap_or_default(),
        };
        let conditions = [&rule.tool, &rule.path, &rule.command];
        if conditions.iter().all(|condition| condition.is_empty()) && rule.effect.is_empty() {
            return Err(("id", "a rule needs `tool`, `path`, `command` or `effect`".to_owned()));
        }
        if rule.four_eyes && rule.action != Action::Ask {
            return Err((
                "four_eyes",
                "`action = \"ask\"` with it: only a question has an answer".to_owned(),
            ));
        }
        match rule.examples.iter().find(|example| Example::of(example).is_none()) {
            Some(odd) => {
                Err(("examples", format!("a call as `Tool(argument)` or `!Tool(argument)`, not {odd:?}")))
            }
            None => Ok(rule),
        }
    }
}

/// As `has_words`, but a program of the project or the home is also recognised by its path relative to that.
fn runs(wanted: &str, words: &[String], call: &Called) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    let below = |folder: &str| program.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/');
    let written = |as_path: String| {
        let words: Vec<String> = std::iter::once(as_path).chain(rest.iter().cloned()).collect();
        has_words(wanted, &words)
    };
    has_words(wanted, words)
        || wanted.contains('/')
            && (below(call.project).is_some_and(|path| written(format!("./{path}")))
                || below(call.home).is_some_and(|path| written(format!("~/{path}"))))
}

/// The program by its last component, or by its path as written if the pattern has a `/`; then the other
/// words in order, with anything in between.
pub(super) fn has_words(wanted: &str, words: &[String]) -> bool {
    let mut wanted = wanted.split_whitespace();
    let Some((program, rest)) = words.split_first() else { return false };
    let mut rest = rest.iter();
    wanted.next().is_some_and(|first| is_program(first, program))
        && wanted.all(|word| rest.any(|given| glob::name(word, given)))
}

/// `./deploy*` and `deploy/*` are paths, so they do not match a bare program name.
fn is_program(wanted: &str, program: &str) -> bool {
    let plain = |path: &str| path.strip_prefix("./").unwrap_or(path).to_owned();
    let last = program.rsplit('/').next().unwrap_or(program);
    let by_path = wanted.contains('/') && program.contains('/');
    glob::name(wanted, last) || by_path && glob::name(&plain(wanted), &plain(program))
}

/// A call on which a rule is tried: `Bash(git push)`, `Write(src/lib.rs)`, `mcp__jira__get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example<'a> {
    /// Whether the rule should match it.
    pub meant: bool,
    pub tool: &'a str,
    pub argument: &'a str,
}

impl<'a> Example<'a> {
    pub fn of(text: &'a str) -> Option<Self> {
        let bare = text.strip_prefix('!');
        let meant = bare.is_none();
        let text = bare.unwrap_or(text);
        let (tool, argument) = match text.split_once('(') {
            Some((tool, rest)) => (tool, rest.strip_suffix(')')?),
            None => (text, ""),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        (!tool.is_empty() && tool.chars().all(plain)).then_some(Self { meant, tool, argument })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_and_by_its_path() {
        for (pattern, line, want) in [
            ("deploy*", "./deploy.sh", true),
            ("./deploy*", "./deploy.sh --now", true),
            ("./deploy*", "/p/deploy.sh", true),
            ("./deploy*", "deploy.sh", false),
            ("./deploy*", "/other/deploy.sh", false),
            ("tools/deploy", "tools/deploy", true),
            ("tools/deploy", "./tools/deploy", true),
            ("./tools/deploy", "tools/deploy", true),
            ("./tools/deploy *now", "/p/tools/deploy x --now", true),
            ("./tools/deploy *now", "/p/tools/deploy x", false),
            ("/usr/bin/git push", "/usr/bin/git push", true),
            ("/usr/bin/git push", "git push", false),
            ("~/bin/*", "/home/u/bin/x", true),
            ("~/bin/*", "/home/user/bin/x", false),
            ("*/deploy", "/srv/x/deploy", true),
        ] {
            let commands = [line.split(' ').map(ToOwned::to_owned).collect()];
            let rule = Rule { command: vec![pattern.to_owned()], ..Rule::default() };
            let call = Called {
                tool: "Bash",
                effect: Effect::Write,
                paths: &[],
                read: &[],
                commands: &commands,
                project: "/p",
                home: "/home/u",
            };
            assert_eq!(
                (rule.matches(&call), !rule.found(&call).is_empty()),
                (want, want),
                "{pattern}: {line}"
            );
        }
    }
}
