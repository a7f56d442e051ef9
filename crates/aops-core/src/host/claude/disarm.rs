//! Says whether a settings text runs our hooks, and why a changed text would switch them off.
//!
//! Reads text; writes nothing. Invariants: an entry counts only if it runs our program for every call of its
//! event, in a form that an installation writes; an entry recorded earlier counts only while it names the
//! same program.

use crate::host::claude::settings::{PROGRAM, SCRIPT_COMMAND, SCRIPT_IN_SHELL, survey};
use crate::model::event::EVENTS;
use crate::system::files;
use crate::system::leading::{SHELL_PREFIX, leads};
use crate::text::sha256::sha256;
use serde_json::Value;
use std::path::Path;

/// If one of these is set, the client runs no hooks.
pub const VARIABLES: [&str; 4] = [
    "CLAUDE_CODE_SAFE_MODE",
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_RESTRICTED",
    "CLAUDE_CODE_PERSONAL_HOOKS_OFF",
];
/// Settings whose commands the client runs without a shell, and so outside the jail.
const HELPERS: [&str; 5] =
    ["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper"];
/// Marks what runs outside the jail among what was recorded of a file.
const OUTSIDE: &str = "outside ";
/// It also decides which files a shell starts with.
const STARTING: &str = "HOME";
/// Stands for a value that is not text.
const NO_TEXT: &str = "/";
/// A hook with less time, in seconds, is useless.
const LEAST_TIMEOUT: f64 = 1.0;

/// What counts in this text: the events for which it runs our program, each with the program
/// (`Stop=/usr/bin/aops-hook`), and what of it runs outside the jail (`outside BASH_ENV=…`).
pub fn recorded(text: &str) -> Vec<String> {
    let root = parse(text);
    let outside = root.iter().flat_map(outside).map(|(_, entry)| entry);
    registered(text).into_iter().chain(outside).collect()
}

/// What runs outside the jail, by name, each with its entry in a record.
fn outside(root: &Value) -> Vec<(&str, String)> {
    let variables = root.get("env").and_then(Value::as_object).into_iter().flatten();
    let leading =
        |name: &str, value: &Value| name == STARTING || leads(name, value.as_str().unwrap_or(NO_TEXT));
    let variables = variables.filter(|(name, value)| leading(name, value));
    let variables = variables.map(|(name, value)| (name.as_str(), value));
    let helpers = HELPERS.into_iter().filter_map(|name| Some((name, root.get(name)?)));
    let groups = root.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let groups = groups.flat_map(|(event, groups)| {
        groups.as_array().into_iter().flatten().map(move |group| (event.as_str(), group))
    });
    let hooks = groups.flat_map(|(event, group)| {
        group.get("hooks").and_then(Value::as_array).into_iter().flatten().map(move |hook| (event, hook))
    });
    let hooks = hooks.filter(|(event, hook)| hook.get("args").is_some() && !is_ours(event, hook));
    let all = variables.chain(helpers).chain(hooks).filter(|(_, value)| !value.is_null());
    let entry = |name: &str, value: &Value| {
        format!("{OUTSIDE}{name}={}", &sha256(&[value.to_string().as_bytes()])[..16])
    };
    all.map(|(name, value)| (name, entry(name, value))).collect()
}

/// The events for which this text runs our program, unconditionally, each with the program:
/// `Stop=/usr/bin/aops-hook`.
pub fn registered(text: &str) -> Vec<String> {
    let Some(root) = parse(text) else { return Vec::new() };
    let Some(hooks) = root.get("hooks").and_then(Value::as_object) else { return Vec::new() };
    let of_event = |(event, groups): (&String, &Value)| {
        let programs = programs(event, groups).into_iter();
        programs.map(|program| format!("{event}={program}")).collect::<Vec<_>>()
    };
    hooks.iter().flat_map(of_event).collect()
}

/// Whether this file runs our hooks.
pub fn runs_us(recorded: &[String]) -> bool {
    recorded.first().is_none_or(|first| !first.starts_with(OUTSIDE))
}

/// Whether a registered entry is the one that was recorded. An earlier version recorded only the event's
/// name.
fn is_held(held: &str, now: &str) -> bool {
    held == now || now.split_once('=').is_some_and(|(event, _)| event == held)
}

fn event_of(held: &str) -> &str {
    held.split_once('=').map_or(held, |(event, _)| event)
}

/// Why this text would switch our hooks off, or lead commands past the jail. `recorded`: what was in this
/// file before; empty for a new file.
pub fn disarms<S: AsRef<str>>(text: &str, recorded: &[S]) -> Option<String> {
    let (known, held): (Vec<&str>, Vec<&str>) =
        recorded.iter().map(AsRef::as_ref).partition(|entry| entry.starts_with(OUTSIDE));
    let Some(root) = parse(text) else {
        return (!held.is_empty()).then(|| "it holds our hooks and is no longer readable".to_owned());
    };
    if root.get("disableAllHooks").is_some_and(|value| *value != Value::Bool(false) && !value.is_null()) {
        return Some("it sets `disableAllHooks`".to_owned());
    }
    let is_set = |name: &&&str| {
        let value = root.get("env").and_then(|env| env.get(**name));
        value.is_some_and(|value| !matches!(value.as_str().unwrap_or_default(), "" | "0" | "false"))
    };
    if let Some(name) = VARIABLES.iter().find(is_set) {
        return Some(format!("it sets `{name}`"));
    }
    let odd = survey(text).ok().filter(|_| !held.is_empty()).and_then(|found| found.odd.into_iter().next());
    if let Some((place, _)) = odd {
        return Some(format!("the client does not accept `{place}`, and drops every hook of that file"));
    }
    let now = registered(text);
    let missing = held.iter().filter(|held| !now.iter().any(|known| is_held(held, known)));
    let missing: Vec<&str> = missing.map(|held| event_of(held)).collect();
    match missing.as_slice() {
        [] => {
            let new = outside(&root).into_iter().find(|(_, entry)| !known.contains(&entry.as_str()));
            new.map(|(name, _)| format!("what it sets as `{name}` runs outside the jail"))
        }
        [one] => Some(format!("it no longer runs our hook for `{one}`")),
        [first, rest @ ..] => {
            Some(format!("it no longer runs our hook for `{first}` and {} more", rest.len()))
        }
    }
}

/// Why this edit is not an ordinary one; `None` if it leaves everything of ours unchanged.
pub fn alters(old: &str, new: &str) -> Option<String> {
    let changes = || (ours(old) != ours(new)).then(|| "it changes our entries in that file".to_owned());
    disarms(new, &recorded(old)).or_else(changes)
}

/// Keys that determine how we are run, in addition to those that contain our name.
const OURS: [&str; 2] = [SHELL_PREFIX, "CLAUDE_CONFIG_DIR"];

/// Everything of ours in this text, with the keys above it: our entries, our status line, values that contain
/// our name.
fn ours(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(root) = parse(text) {
        collect_ours("", &root, &mut found);
    }
    found.sort();
    found
}

fn collect_ours(above: &str, value: &Value, found: &mut Vec<String>) {
    let is_ours = |text: &str| text.to_lowercase().contains("aops");
    match value {
        Value::Object(members) if members.get("hooks").is_some_and(Value::is_array) => {
            let matcher = members.get("matcher").unwrap_or(&Value::Null);
            let hooks = members["hooks"].as_array().into_iter().flatten().map(Value::to_string);
            found.extend(hooks.filter(|hook| is_ours(hook)).map(|hook| format!("{above} {matcher} {hook}")));
        }
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            let place = format!("{above}/{name}");
            if is_ours(name) || OURS.contains(&name.as_str()) {
                found.push(format!("{place} {value}"));
            } else {
                collect_ours(&place, value, found);
            }
        }),
        Value::Array(items) => items.iter().for_each(|item| collect_ours(above, item, found)),
        Value::String(text) if is_ours(text) => found.push(format!("{above} {text}")),
        _ => {}
    }
}

/// This settings file runs our hooks at every event, and each program exists.
pub fn is_whole(path: &Path) -> bool {
    let text = files::read_text(path).unwrap_or_default();
    let events = EVENTS.iter().filter(|kind| kind.timeout > 0).map(|kind| kind.name.to_owned());
    let outside = recorded(&text).into_iter().filter(|entry| entry.starts_with(OUTSIDE));
    let held: Vec<String> = events.chain(outside).collect();
    let programs = survey(&text).map(|found| found.ours).unwrap_or_default();
    disarms(&text, &held).is_none() && programs.iter().all(|one| Path::new(one.program()).is_file())
}

fn parse(text: &str) -> Option<Value> {
    let root: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    root.is_object().then_some(root)
}

/// Our programs that these groups of an event run.
fn programs<'v>(event: &str, groups: &'v Value) -> Vec<&'v str> {
    let groups = groups.as_array().into_iter().flatten().filter(|group| matches_all(group));
    let hooks = groups.filter_map(|group| group.get("hooks").and_then(Value::as_array)).flatten();
    hooks.filter_map(|hook| our_program(event, hook)).collect()
}

/// A matcher that excludes some calls makes the hook useless.
fn matches_all(group: &Value) -> bool {
    group
        .get("matcher")
        .is_none_or(|matcher| matcher.as_str().is_some_and(|text| matches!(text, "" | "*" | ".*")))
}

/// This entry of an event runs our program, for every call and with enough time.
pub fn is_ours(event: &str, hook: &Value) -> bool {
    our_program(event, hook).is_some()
}

fn our_program<'v>(event: &str, hook: &'v Value) -> Option<&'v str> {
    let text = |key: &str| hook.get(key).and_then(Value::as_str);
    let is_set =
        |key: &&str| hook.get(*key).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
    let bound = hook.get("if").is_some() || ["async", "asyncRewake", "once", "shell"].iter().any(is_set);
    let short = hook.get("timeout").and_then(Value::as_f64).is_some_and(|seconds| seconds < LEAST_TIMEOUT);
    let command = text("command").filter(|_| text("type") == Some("command") && !bound && !short)?;
    match hook.get("args") {
        None => in_shell(event, command),
        Some(args) => {
            let told: Option<Vec<&str>> = args.as_array()?.iter().map(Value::as_str).collect();
            named(event, command, &told?)
        }
    }
}

/// The program, if its name is ours and its argument is this event. Without an argument it reads the event
/// from its input.
fn named<'c>(event: &str, program: &'c str, told: &[&str]) -> Option<&'c str> {
    let name = program.rsplit('/').next().unwrap_or_default();
    let by_name = name.strip_prefix(PROGRAM).and_then(|rest| rest.strip_prefix('-')) == Some(event);
    let is_told = told.is_empty() || told == [event];
    (by_name && told.is_empty() || name == PROGRAM && is_told).then_some(program)
}

/// The same in a shell line, which must be the program alone, or the program and the event. Anything more,
/// such as a second command or a variable in front, could replace our answer.
fn in_shell<'c>(event: &str, line: &'c str) -> Option<&'c str> {
    let line = line.trim();
    let told = line.strip_suffix(event).filter(|rest| rest.ends_with(' ')).map(str::trim_end);
    let word = told.unwrap_or(line);
    let told = told.map(|_| event);
    let quoted = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    let single = quoted('\'').filter(|inside| !inside.contains('\''));
    let double = quoted('"').filter(|inside| inside.chars().all(|c| is_plain(c) || c == ' '));
    let unquoted = single.or(double).unwrap_or(word);
    let is_word =
        single.or(double).is_some() || word.strip_prefix(ROOT).unwrap_or(word).chars().all(is_plain);
    let is_script = [SCRIPT_COMMAND, SCRIPT_IN_SHELL].contains(&word);
    named(event, unquoted, told.as_slice()).filter(|_| is_word || is_script)
}

/// The variable with which a plugin's hooks name their folder.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// A character without meaning to a shell anywhere in a word.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@:,%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events that we register for.
    fn expected() -> Vec<&'static str> {
        EVENTS.iter().filter(|kind| kind.timeout > 0).map(|kind| kind.name).collect()
    }

    fn settings(hook: &str, matcher: &str) -> String {
        format!(r#"{{"model":"x","hooks":{{"PreToolUse":[{{{matcher}"hooks":[{hook}]}}],"Stop":[]}}}}"#)
    }

    #[test]
    fn our_entries_are_known_in_either_form() {
        let rows = [
            (true, r#"{"type":"command","command":"/b/aops-hook","args":["PreToolUse"]}"#, ""),
            (true, r#"{"type":"command","command":"/with blank/aops-hook","args":["PreToolUse"]}"#, ""),
            (true, r#"{"type":"command","command":"/b/aops-hook PreToolUse"}"#, ""),
            (true, r#"{"type":"command","command":"'/with blank/aops-hook' PreToolUse"}"#, ""),
            (true, r#"{"type":"command","command":"/b/aops-hook-PreToolUse"}"#, r#""matcher":"*","#),
            (true, r#"{"type":"http"},{"type":"command","command":"aops-hook"}"#, r#""matcher":"","#),
            (false, r#"{"type":"command","command":"/b/other aops-hook"}"#, ""),
            (false, r#"{"type":"command","command":"/b/aops-hook","args":["PostToolUse"]}"#, ""),
            (false, r#"{"type":"command","command":"/b/aops-hook PostToolUse"}"#, ""),
            (false, r#"{"type":"command","command":"/b/aops-hook status PreToolUse"}"#, ""),
            (false, r#"{"type":"command","command":"/b/aops-hook-PostToolUse"}"#, ""),
            (false, r#"{"type":"command","command":"/b/aops-hook PreToolUse","timeout":0.001}"#, ""),
            (true, r#"{"type":"command","command":"/b/aops-hook PreToolUse","timeout":5}"#, ""),
            (false, r#"{"type":"prompt","command":"aops-hook"}"#, ""),
            (false, r#"{"type":"command","command":"aops-hook","async":true}"#, ""),
            (false, r#"{"type":"command","command":"aops-hook","if":"Bash(x)"}"#, ""),
            (false, r#"{"type":"command","command":"aops-hook"}"#, r#""matcher":"Read","#),
            (
                true,
                r#"{"type":"command","command":"${CLAUDE_PLUGIN_ROOT}/bin/aops-hook","args":["PreToolUse"]}"#,
                "",
            ),
            (true, r#"{"type":"command","command":"${CLAUDE_PLUGIN_ROOT}/bin/aops-hook PreToolUse"}"#, ""),
            (
                true,
                r#"{"type":"command","command":"${CLAUDE_PROJECT_DIR}/.claude/aops-hook","args":["PreToolUse"]}"#,
                "",
            ),
            (
                true,
                r#"{"type":"command","command":"\"$CLAUDE_PROJECT_DIR\"/.claude/aops-hook PreToolUse"}"#,
                "",
            ),
            (true, r#"{"type":"command","command":"\"/with blank/aops-hook\" PreToolUse"}"#, ""),
            (
                true,
                r#"{"type":"command","command":"/b/aops-hook","args":["PreToolUse"],"onFailure":"block"}"#,
                "",
            ),
            (false, r#"{"type":"command","command":"/b/aops-hook","args":["PreToolUse"],"once":true}"#, ""),
        ];
        for (ours, hook, matcher) in rows {
            let text = settings(hook, matcher);
            let found = registered(&text);
            let found: Vec<&str> = found.iter().map(|held| event_of(held)).collect();
            assert_eq!(found == ["PreToolUse"], ours, "{text}");
            assert_eq!(disarms(&text, &["PreToolUse"]).is_none(), ours, "{text}");
            let is_outside = !ours && hook.contains("\"args\"");
            assert_eq!(disarms::<&str>(&text, &[]).is_some(), is_outside, "{text}");
        }
    }

    /// A command before or after our program would decide in our place.
    #[test]
    fn a_line_with_anything_else_in_it_is_not_ours() {
        let lines = [
            "/b/aops-hook PreToolUse > /dev/null; true",
            "/b/aops-hook PreToolUse || true",
            "/b/aops-hook PreToolUse && true",
            "/b/aops-hook PreToolUse & true",
            "/b/aops-hook PreToolUse | cat",
            "/b/aops-hook PreToolUse # PreToolUse",
            "/b/aops-hook; true PreToolUse",
            "/b/aops-hook\\ntrue PreToolUse",
            "/b/aops-hook $(true) PreToolUse",
            "/b/aops-hook < /dev/null",
            "/b/aops-hook --help PreToolUse",
            "PATH=/tmp /b/aops-hook PreToolUse",
            "HOME=/tmp aops-hook PreToolUse",
            "PATH=/b/aops-hook",
            "env HOME=/tmp /b/aops-hook PreToolUse",
            "timeout 0 /b/aops-hook PreToolUse",
            "exec -a aops-hook true; /b/aops-hook",
            "! /b/aops-hook PreToolUse",
            "$HOME/aops-hook PreToolUse",
            "~/b/aops-hook PreToolUse",
            "'/b/x'/../aops-hook' PreToolUse",
            "\\\"$(true)/aops-hook\\\" PreToolUse",
            "\\\"/b/`true`/aops-hook\\\" PreToolUse",
            "/with blank/aops-hook",
            "/b/*/aops-hook",
        ];
        for line in lines {
            let text = settings(&format!(r#"{{"type":"command","command":"{line}"}}"#), "");
            assert!(parse(&text).is_some() && registered(&text).is_empty(), "{text}");
            assert!(disarms(&text, &["PreToolUse"]).is_some(), "{text}");
        }
        for args in [r#"["PreToolUse","--help"]"#, r#"["PreToolUse",1]"#, r#""PreToolUse""#, "{}", "[1]"] {
            let text =
                settings(&format!(r#"{{"type":"command","command":"/b/aops-hook","args":{args}}}"#), "");
            assert!(registered(&text).is_empty(), "{text}");
        }
    }

    /// A program is not ours just because its file has our name.
    #[test]
    fn another_program_of_our_name_is_not_the_one_that_was_held() {
        let with = |program: &str| {
            settings(&format!(r#"{{"type":"command","command":"{program} PreToolUse"}}"#), "")
        };
        let held = registered(&with("/b/aops-hook"));
        assert_eq!(held, ["PreToolUse=/b/aops-hook"]);
        assert_eq!(disarms(&with("/b/aops-hook"), &held), None);
        assert_eq!(disarms(&with("'/b/aops-hook'"), &held), None);
        for other in
            ["/tmp/aops-hook", "aops-hook", "/b/../tmp/aops-hook", "${CLAUDE_PLUGIN_ROOT}/bin/aops-hook"]
        {
            let why = disarms(&with(other), &held).unwrap();
            assert_eq!(why, "it no longer runs our hook for `PreToolUse`", "{other}");
        }
        // A session of an earlier version recorded only the event's name.
        assert_eq!(disarms(&with("/tmp/aops-hook"), &["PreToolUse"]), None);
    }

    #[test]
    fn an_ordinary_edit_leaves_ours_as_it_is() {
        let hook = |program: &str| format!(r#"{{"type":"command","command":"{program}","args":["Stop"]}}"#);
        let with = |hook: &str, rest: &str| format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{hook}]}}]}}{rest}}}"#);
        let prefix = r#","env":{"CLAUDE_CODE_SHELL_PREFIX":"/b/aops-hook --shell"}"#;
        let old = with(&hook("/b/aops-hook"), prefix);
        let other = r#"{"type":"command","command":"say done"}"#;
        for new in [
            old.clone(),
            with(&hook("/b/aops-hook"), &format!(r#","model":"x"{prefix}"#)),
            with(&format!("{other},{}", hook("/b/aops-hook")), prefix),
            with(&hook("/b/aops-hook"), &prefix.replace('}', r#","A":"b"}"#)),
        ] {
            assert_eq!(alters(&old, &new), None, "{new}");
        }
        for new in [
            "{}".to_owned(),
            "{".to_owned(),
            with(&hook("/tmp/aops-hook"), prefix),
            with(&hook("/b/aops-hook").replace('}', r#","timeout":600}"#), prefix),
            with(&hook("/b/aops-hook"), ""),
            with(&hook("/b/aops-hook"), &prefix.replace("/b/", "/tmp/")),
            with(&hook("/b/aops-hook"), &format!(r#"{prefix},"disableAllHooks":true"#)),
            with(&hook("/b/aops-hook"), &prefix.replace('}', r#","AOPS_MODE":"observe"}"#)),
        ] {
            assert!(alters(&old, &new).is_some(), "{new}");
        }
        assert_eq!(alters("", r#"{"permissions":{"allow":["Bash(ls)"]}}"#), None);
        assert!(alters("{}", r#"{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/bin/sh"}}"#).is_some());
    }

    #[test]
    fn switching_hooks_off_disarms_from_any_file() {
        assert!(disarms::<&str>(r#"{"disableAllHooks":true}"#, &[]).is_some());
        assert!(disarms::<&str>(r#"{"disableAllHooks":"yes"}"#, &[]).is_some());
        assert_eq!(disarms::<&str>(r#"{"disableAllHooks":false}"#, &[]), None);
        assert_eq!(disarms::<&str>(r#"{"nested":{"disableAllHooks":true}}"#, &[]), None);
    }

    #[test]
    fn an_entry_that_the_client_does_not_accept_disarms_its_file() {
        let ours = r#"{"hooks":[{"type":"command","command":"/b/aops-hook PreToolUse"}]}"#;
        for odd in [r#"{"matcher":{}}"#, r#"{"matcher":"x"}"#] {
            let text = format!(r#"{{"hooks":{{"PreToolUse":[{ours}],"Stop":[{odd}]}}}}"#);
            assert!(disarms(&text, &["PreToolUse"]).unwrap().contains("drops every hook"), "{text}");
            assert_eq!(disarms::<&str>(&text, &[]), None, "{text}");
        }
        for (value, off) in [("\"1\"", true), ("\"0\"", false), ("\"\"", false)] {
            let text = format!(r#"{{"env":{{"CLAUDE_CODE_SIMPLE":{value}}}}}"#);
            assert_eq!(disarms::<&str>(&text, &[]).is_some(), off, "{text}");
        }
    }

    #[test]
    fn what_a_shell_or_a_loader_runs_first_leads_past_the_jail() {
        for name in [
            "BASH_ENV",
            "CLAUDE_CODE_SHELL_PREFIX",
            "HOME",
            "LD_AUDIT",
            "LD_LIBRARY_PATH",
            "PS4",
            "SHELLOPTS",
        ] {
            let why = disarms::<&str>(&format!(r#"{{"env":{{"{name}":"/x"}}}}"#), &[]).unwrap_or_default();
            assert!(why.contains(name), "{name}: {why}");
        }
        for name in ["NODE_ENV", "PATH", "BASH_MAX_TIMEOUT_MS", "GIT_AUTHOR_NAME"] {
            assert_eq!(disarms::<&str>(&format!(r#"{{"env":{{"{name}":"/x"}}}}"#), &[]), None, "{name}");
        }
        assert!(disarms::<&str>(r#"{"env":{"PS4":1}}"#, &[]).is_some());
    }

    #[test]
    fn unreadable_text_disarms_only_the_file_that_holds_us() {
        for text in ["", "{", "[]", "null", "{\"hooks\":{}"] {
            assert_eq!(disarms::<&str>(text, &[]), None, "{text}");
            assert!(registered(text).is_empty(), "{text}");
            assert!(disarms(text, &expected()).is_some(), "{text}");
        }
        let why = disarms("{}", &expected()).unwrap();
        assert!(why.starts_with("it no longer runs our hook for `Setup` and "), "{why}");
    }
}
