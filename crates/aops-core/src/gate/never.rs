//! Finds rules of the configuration that no call can match, and says why.
//!
//! Reads a policy, its origins and the table of tools; writes nothing. Invariants: a rule is named only if
//! one of its conditions, or two of them together, cannot match anything; an example inside the rule proves
//! that its tool exists.

use crate::config::policy::glob;
use crate::config::policy::idle::Idle;
use crate::config::policy::rule::{Example, Rule};
use crate::config::policy::value::effect_word;
use crate::config::policy::{Effects, Origins, Policy};
use crate::model::call::Effect;
use crate::tool::table::{self, ToolTouches};

/// Names that other clients use, and our names for the same tools.
const CALLED_OTHERWISE: [(&str, &str); 11] = [
    ("create", "Write"),
    ("list_directory", "LS"),
    ("read_file", "Read"),
    ("replace", "Edit"),
    ("run_shell_command", "Bash"),
    ("shell", "Bash"),
    ("spawn_agent", "Agent"),
    ("str_replace_editor", "Edit"),
    ("view", "Read"),
    ("write_bash", "Bash"),
    ("write_file", "Write"),
];

/// Tools without effect on files whose input may still name files.
const NAME_PATHS: [&str; 8] =
    ["Glob", "Grep", "LS", "LSP", "NotebookRead", "Read", "ReadMcpResource", "ReadMcpResourceTool"];

/// Each rule that can never match, with its place.
pub fn find<'a>(policy: &Policy, origins: &'a Origins) -> Vec<Idle<'a>> {
    let named = policy.rules.iter().filter_map(|rule| {
        let why = why(rule, &policy.effects)?;
        let key = format!("rule.{}", rule.id);
        let at = origins.of(&key).first()?;
        Some(Idle { key, at, why: format!("it can never match: {why}").into() })
    });
    named.collect()
}

fn why(rule: &Rule, effects: &Effects) -> Option<String> {
    every(&rule.tool, |pattern| unknown_tool(rule, pattern))
        .or_else(|| every(&rule.command, odd_command))
        .or_else(|| every(&rule.path, odd_path))
        .or_else(|| without_commands(rule))
        .or_else(|| without_paths(rule))
        .or_else(|| without_effect(rule, effects))
}

/// If no alternative can match: why the first one cannot.
fn every(patterns: &[String], why: impl Fn(&str) -> Option<String>) -> Option<String> {
    let found: Option<Vec<String>> = patterns.iter().map(|pattern| why(pattern)).collect();
    found?.into_iter().next()
}

/// A server's tools may have any name and any effect.
fn may_be_a_servers(pattern: &str) -> bool {
    let fixed = pattern.split(['*', '?']).next().unwrap_or_default();
    let open = fixed.len() < pattern.len();
    fixed.starts_with("mcp__") || open && "mcp__".starts_with(fixed)
}

/// The tools that a rule is about; `None` if it may also concern unknown ones.
fn known_tools(rule: &Rule) -> Option<Vec<&'static str>> {
    let is_open =
        |pattern: &String| may_be_a_servers(pattern) || !table::names().any(|name| glob::name(pattern, name));
    if rule.tool.is_empty() || rule.tool.iter().any(is_open) {
        return None;
    }
    Some(table::names().filter(|name| rule.tool.iter().any(|pattern| glob::name(pattern, name))).collect())
}

fn unknown_tool(rule: &Rule, pattern: &str) -> Option<String> {
    let shown = || {
        let tried = rule.examples.iter().filter_map(|example| Example::of(example));
        tried.filter(|example| example.meant).any(|example| glob::name(pattern, example.tool))
    };
    if may_be_a_servers(pattern) || table::names().any(|name| glob::name(pattern, name)) || shown() {
        return None;
    }
    let other = CALLED_OTHERWISE.iter().find(|(theirs, _)| *theirs == pattern).map(|(_, ours)| *ours);
    let meant = other.or_else(|| table::names().find(|name| name.eq_ignore_ascii_case(pattern)));
    Some(match meant {
        Some(name) => format!("no tool is called `{pattern}` here; write `{name}`"),
        None => format!("we know no tool called `{pattern}`; if there is one, name it in an example"),
    })
}

/// A rule is compared with each simple command: its own words, without operators or anything before it.
fn odd_command(pattern: &str) -> Option<String> {
    let Some(first) = pattern.split_whitespace().next() else {
        return Some("its `command` is empty".to_owned());
    };
    let assigned = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    if assigned {
        return Some(format!("`{first}` is a variable, and a command begins with its program"));
    }
    let joins = |word: &&str| matches!(*word, "&&" | "||" | "|" | ";" | "&" | ">" | ">>" | "<" | "2>&1");
    let join = pattern.split_whitespace().find(joins)?;
    Some(format!("each command of a line is tried by itself, without `{join}`"))
}

/// A pattern is compared with absolute real paths.
fn odd_path(pattern: &str) -> Option<String> {
    if pattern.trim().is_empty() {
        return Some("its `path` is empty".to_owned());
    }
    let own = pattern.strip_prefix("./").unwrap_or(pattern);
    if let Some(part) = own.split('/').find(|part| matches!(*part, "." | "..")) {
        return Some(format!("paths are compared without `{part}`, and `{pattern}` has one"));
    }
    if own.contains("//") {
        return Some(format!("no path has `//` in it, and `{pattern}` does"));
    }
    if pattern.starts_with('$') {
        return Some(format!(
            "variables are not expanded in `{pattern}`; write `~/…`, `/…` or a path of the project"
        ));
    }
    if pattern.starts_with('~') && !(pattern == "~" || pattern.starts_with("~/")) {
        return Some(format!("only your own home is known as `~`, not `{pattern}`"));
    }
    let (_, rest) = pattern.split_once('{')?;
    let list = rest.split_once('}').is_some_and(|(list, _)| list.contains(','));
    list.then(|| {
        format!("braces are not expanded, so `{pattern}` matches only that exact name; write two patterns")
    })
}

fn without_commands(rule: &Rule) -> Option<String> {
    let tools = known_tools(rule).filter(|_| !rule.command.is_empty())?;
    let runs = |name: &&str| matches!(table::tool(name).touches, ToolTouches::Line | ToolTouches::Strings(_));
    (!tools.iter().any(runs)).then(|| format!("`{}` has no command that we read", list(&tools)))
}

fn without_paths(rule: &Rule) -> Option<String> {
    let tools = known_tools(rule).filter(|_| !rule.path.is_empty())?;
    let has = |name: &&str| table::tool(name).touches != ToolTouches::Nothing || NAME_PATHS.contains(name);
    // Foreign tools may get a field `path` some day; only our own tools are known for sure.
    let ours = |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase());
    let none = tools.iter().all(|name| ours(name) && !has(name));
    none.then(|| format!("`{}` names no path", list(&tools)))
}

fn without_effect(rule: &Rule, effects: &Effects) -> Option<String> {
    if rule.effect.is_empty() {
        return None;
    }
    let wants = |effect: Effect| rule.effect.iter().any(|wanted| effect_word(*wanted) == effect_word(effect));
    let words: Vec<&str> = rule.effect.iter().map(|effect| effect_word(*effect)).collect();
    let words = words.join(" | ");
    if !rule.command.is_empty() && rule.effect.iter().all(|effect| *effect == Effect::Spawn) {
        return Some("a command is never `spawn`".to_owned());
    }
    let tools = known_tools(rule)?;
    let has = |name: &&str| effects_of(name, effects).into_iter().any(wants);
    (!tools.iter().any(has)).then(|| format!("`{}` is never `{words}`", list(&tools)))
}

/// Every effect that a call of this tool may have.
fn effects_of(name: &str, listed: &Effects) -> Vec<Effect> {
    let known = table::tool(name);
    let mut all = match (known.touches, known.class) {
        (ToolTouches::Line | ToolTouches::PowerShell, _) => {
            vec![Effect::Read, Effect::Write, Effect::Tracker, Effect::Control]
        }
        // An agent in a worktree of its own also creates that worktree.
        (_, Ok(Effect::Spawn)) => vec![Effect::Spawn, Effect::Write],
        // Writing a plan file does not count as a change.
        (_, Err(_)) if name == "Write" => vec![Effect::Write, Effect::Control],
        (_, Ok(effect)) => vec![effect],
        (_, Err(_)) => vec![Effect::Write],
    };
    all.extend(listed.of(name));
    all
}

fn list(tools: &[&str]) -> String {
    tools.join("`, `")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policy::{Source, read};

    /// Why the one rule with these conditions never matches.
    fn told(conditions: &str) -> Option<String> {
        let text = format!("[[rule]]\nid = \"x\"\naction = \"deny\"\nreason = \"r\"\n{conditions}\n");
        let (policy, origins) = read(Some(Source { file: "f", text: &text }), None).unwrap();
        find(&policy, &origins).first().map(ToString::to_string)
    }

    #[test]
    fn rules_that_match_nothing_are_named() {
        for (conditions, word) in [
            ("tool = \"bash\"", "write `Bash`"),
            ("tool = \"run_shell_command\"", "write `Bash`"),
            ("tool = [\"Bsh\", \"Writ\"]", "we know no tool called `Bsh`"),
            ("tool = \"Wr?\"", "we know no tool"),
            ("tool = \"Read\"\neffect = \"write\"", "`Read` is never `write`"),
            (
                "tool = [\"Read\", \"Grep\"]\neffect = [\"write\", \"spawn\"]",
                "`Read`, `Grep` is never `write | spawn`",
            ),
            ("tool = \"Edit\"\neffect = \"read\"", "`Edit` is never `read`"),
            ("tool = \"Bash\"\neffect = \"spawn\"", "is never `spawn`"),
            ("command = \"make\"\neffect = \"spawn\"", "a command is never `spawn`"),
            ("tool = \"WebFetch\"\npath = \"secrets\"", "`WebFetch` names no path"),
            ("tool = \"Edit\"\ncommand = \"make\"", "`Edit` has no command"),
            ("command = \"cd x && make\"", "without `&&`"),
            ("command = \"make > out\"", "without `>`"),
            ("command = \" \"", "is empty"),
            ("command = \"A=1 make\"", "`A=1` is a variable"),
            ("path = \"../other/*\"", "without `..`"),
            ("path = \"src//a\"", "has `//`"),
            ("path = \"$HOME/.ssh\"", "variables are not expanded"),
            ("path = \"~root/.ssh\"", "only your own home"),
            ("path = \"*.{js,ts}\"", "braces are not expanded"),
        ] {
            let said = told(conditions).unwrap_or_default();
            assert!(said.starts_with("`rule.x` (f:"), "{conditions}: {said}");
            assert!(said.contains(") has no effect: it can never match: "), "{conditions}: {said}");
            assert!(said.contains(word), "{conditions}: {said}");
        }
    }

    #[test]
    fn rules_that_may_match_are_not() {
        for conditions in [
            "tool = \"Bash\"",
            "tool = \"*\"\neffect = \"spawn\"",
            "tool = \"mcp__jira__*\"\neffect = \"write\"\npath = \"x\"",
            "tool = \"m*\"\ncommand = \"make\"",
            "tool = [\"Read\", \"Write\"]\neffect = \"write\"",
            "tool = [\"bash\", \"Bash\"]",
            "tool = \"NewTool\"\nexamples = \"NewTool(x)\"",
            "tool = \"Agent\"\neffect = \"write\"",
            "tool = \"Write\"\neffect = \"control\"",
            "tool = \"Bash\"\ncommand = \"bd\"\neffect = \"tracker\"",
            "tool = \"Read\"\npath = \".env*\"",
            "effect = \"spawn\"",
            "command = \"./deploy*\"",
            "command = [\"a && b\", \"make\"]",
            "command = \"dd if=*\"",
            "path = [\"./db\", \"~/.ssh\", \"/etc/**\", \"[id].tsx\", \"{a}\"]",
            "path = \"~\"",
        ] {
            assert_eq!(told(conditions), None, "{conditions}");
        }
        let text = "effects.read = \"Edit\"\n[[rule]]\nid = \"x\"\naction = \"deny\"\nreason = \"r\"\n\
            tool = \"Edit\"\neffect = \"read\"\n";
        let (policy, origins) = read(Some(Source { file: "f", text }), None).unwrap();
        assert_eq!(find(&policy, &origins), [], "[effects] say that it reads");
    }
}
