//! `[effects]`: tools and commands that only read, or that write, according to the user.
//!
//! Reads nothing, writes nothing. A name is that of a tool or a program; `Bash(cargo test*)` means one simple
//! command of a shell line. Invariants: what is in both lists is a write; under `read` a pattern covers a
//! command word for word from its beginning, and the rest only if the pattern ends with `*`.

use super::glob;
use super::rule::{Example, has_words};
use super::value::Value;
use crate::model::call::Effect;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    /// Calls that must count as reads; with a leading `!`, must not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    pub read: Vec<String>,
    pub write: Vec<String>,
}

/// Tools whose lines are split into simple commands.
const LINE_TOOLS: [&str; 2] = ["Bash", "Monitor"];

impl Effects {
    /// What the lists say about a tool or program; `None` if they do not name it.
    pub fn of(&self, name: &str) -> Option<Effect> {
        let named = |list: &[String]| list.iter().any(|pattern| glob::name(pattern, name));
        if named(&self.write) {
            return Some(Effect::Write);
        }
        named(&self.read).then_some(Effect::Read)
    }

    /// What the lists say about one simple command in this tool's line. An uncertain argument is `None`.
    pub fn of_command(
        &self,
        tool: &str,
        program: &str,
        arguments: impl FnOnce() -> Vec<Option<String>>,
    ) -> Option<Effect> {
        let named = self.of(program);
        if named == Some(Effect::Write) || self.line_patterns().next().is_none() {
            return named;
        }
        let words: Vec<Option<String>> =
            std::iter::once(Some(program.to_owned())).chain(arguments()).collect();
        let known: Vec<String> = words.iter().map(|word| word.clone().unwrap_or_default()).collect();
        let of_tool = |text: &'_ str| line_pattern(text).is_some_and(|(of, _)| of == tool);
        let inner = |text: &str| line_pattern(text).map(|(_, inner)| inner.to_owned()).unwrap_or_default();
        let has = |pattern: &str| has_words(pattern.strip_suffix(" *").unwrap_or(pattern), &known);
        if self.write.iter().any(|text| of_tool(text) && has(&inner(text))) {
            return Some(Effect::Write);
        }
        let is_read = self.read.iter().any(|text| of_tool(text) && covers(&inner(text), &words));
        if is_read { Some(Effect::Read) } else { named }
    }

    /// Every pattern for shell lines, with the name of its list.
    pub fn line_patterns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let read = self.read.iter().map(|text| ("effects.read", text.as_str()));
        let all = read.chain(self.write.iter().map(|text| ("effects.write", text.as_str())));
        all.filter(|(_, text)| line_pattern(text).is_some())
    }
}

/// Tool and pattern of `Bash(cargo test*)`; `None` for a plain name.
fn line_pattern(text: &str) -> Option<(&str, &str)> {
    let (tool, rest) = text.split_once('(')?;
    Some((tool, rest.strip_suffix(')')?))
}

/// Compares word for word; further words are covered if the pattern ends with `*`.
fn covers(pattern: &str, words: &[Option<String>]) -> bool {
    let wanted: Vec<&str> = pattern.split_whitespace().collect();
    let open = wanted.last().is_some_and(|word| word.ends_with('*'));
    // `cargo test *` also covers `cargo test`.
    let wanted = if wanted.last() == Some(&"*") { &wanted[..wanted.len() - 1] } else { &wanted[..] };
    let fits = |(wanted, word): (&&str, &Option<String>)| {
        word.as_deref().is_some_and(|word| glob::name(wanted, word))
    };
    words.len() >= wanted.len() && (open || words.len() == wanted.len()) && wanted.iter().zip(words).all(fits)
}

/// What is wrong with an entry of these lists; `None` if it can have an effect.
pub(super) fn problem(key: &str, value: &Value) -> Option<String> {
    let Value::Names(names) = value else { return None };
    let odd = |name: &String| match key {
        "effects.examples" if Example::of(name).is_none() => {
            Some(format!("a call as `Tool(argument)` or `!Tool(argument)`, not {name:?}"))
        }
        "effects.read" if ["Bash", "Monitor", "PowerShell"].contains(&name.as_str()) => {
            Some(format!("a line of `{name}` is judged by its commands; write `{name}(cargo test*)`"))
        }
        "effects.read" | "effects.write" if name.contains('(') => match line_pattern(name) {
            Some((tool, inner)) if LINE_TOOLS.contains(&tool) && !inner.trim().is_empty() => None,
            _ => Some(format!("a shell pattern is `Bash(cargo test*)` or `Monitor(tail -f*)`, not {name:?}")),
        },
        _ => None,
    };
    names.iter().find_map(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(read: &[&str], write: &[&str], line: &str) -> Option<Effect> {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let effects = Effects { read: list(read), write: list(write), ..Effects::default() };
        // `?` stands for an uncertain word.
        let words: Vec<_> = line.split(' ').map(|word| (word != "?").then(|| word.to_owned())).collect();
        effects.of_command("Bash", words[0].as_deref().unwrap(), || words[1..].to_vec())
    }

    #[test]
    fn commands_by_pattern() {
        let read = Some(Effect::Read);
        let write = Some(Effect::Write);
        for (pattern, line, want) in [
            ("Bash(cargo test*)", "cargo test", read),
            ("Bash(cargo test*)", "cargo test --workspace ?", read),
            ("Bash(cargo test*)", "cargo tests", read),
            ("Bash(cargo test*)", "cargo run test", None),
            ("Bash(cargo test*)", "cargo +nightly test", None),
            ("Bash(cargo test*)", "cargo ?", None),
            ("Bash(cargo test*)", "./cargo test", None),
            ("Bash(cargo test)", "cargo test", read),
            ("Bash(cargo test)", "cargo test --workspace", None),
            ("Bash(cargo test *)", "cargo test", read),
            ("Bash(cargo test *)", "cargo test -p x", read),
            ("Bash(cargo test *)", "cargo tests", None),
            ("Bash(./check.sh*)", "./check.sh --all", read),
            ("Monitor(cargo test*)", "cargo test", None),
            ("frob", "frob x", read),
        ] {
            assert_eq!(said(&[pattern], &[], line), want, "{pattern}: {line}");
        }
        for (pattern, line, want) in [
            ("Bash(git push --force*)", "git push origin --force", write),
            ("Bash(git push --force*)", "/usr/bin/git push ? --force-with-lease", write),
            ("Bash(git push --force*)", "git push", read),
            ("Bash(gh pr *)", "gh pr", write),
            ("Bash(gh pr *)", "gh pr create --fill", write),
            ("frob", "frob x", write),
        ] {
            assert_eq!(
                said(&["frob", "Bash(frob*)", "Bash(git *)"], &[pattern], line),
                want,
                "{pattern}: {line}"
            );
        }
    }
}
