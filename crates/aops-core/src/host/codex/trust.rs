//! The digests by which Codex records that a person trusts a hook: it silently skips an untrusted one.
//!
//! Reads and gives texts of `config.toml`. Invariants: everything that is not ours stays byte for byte; our
//! additions are found again by their names, and nothing else is removed.

use crate::host::claude::settings::Registered;
use crate::text::json::quoted;
use crate::text::sha256::sha256;
use std::fmt::Write;
use toml::de::{DeTable, DeValue};

/// The trust in one hook: its name in the configuration, and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// `<hooks.json>:<event>:<group>:<handler>`
    pub key: String,
    pub digest: String,
}

/// The trust in one hook of this file; the digest is over its sorted, compact JSON.
pub fn trust(file: &str, one: &Registered) -> Trust {
    let event = snake(&one.event);
    let at = one.at;
    let limit = one.limit.map(|limit| format!("\"additionalContextLimit\":{limit},")).unwrap_or_default();
    let timeout = one.timeout.unwrap_or(600.0).trunc();
    let identity = format!(
        "{{\"event_name\":{},\"hooks\":[{{{limit}\"async\":false,\"command\":{},\"timeout\":{timeout},\"type\":\"command\"}}]}}",
        quoted(&event),
        quoted(&one.command)
    );
    Trust {
        key: format!("{file}:{event}:{}:{}", at.0, at.1),
        digest: format!("sha256:{}", sha256(&[identity.as_bytes()])),
    }
}

/// `PreToolUse` is `pre_tool_use`.
fn snake(name: &str) -> String {
    let mut all = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !all.is_empty() {
            all.push('_');
        }
        all.push(c.to_ascii_lowercase());
    }
    all
}

fn header(key: &str) -> String {
    format!("[hooks.state.{}]", quoted(key))
}

/// The configuration that trusts these hooks.
pub fn with(text: &str, all: &[Trust]) -> String {
    let mut text = without(text, all);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for one in all {
        let _ = write!(text, "{}\ntrusted_hash = {}\n", header(&one.key), quoted(&one.digest));
    }
    text
}

/// The configuration without trust in these hooks: whole tables are removed, whatever their digest.
pub fn without(text: &str, all: &[Trust]) -> String {
    let ours = |line: &str| all.iter().any(|one| line.trim() == header(&one.key));
    let mut kept = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            inside = ours(line);
        }
        if !inside {
            kept.push_str(line);
        }
    }
    kept
}

/// Each of these hooks is trusted, and none is switched off.
pub fn holds(text: &str, all: &[Trust]) -> bool {
    let Ok(table) = DeTable::parse(text) else { return false };
    let table = table.into_inner();
    let state = table.get("hooks").and_then(|hooks| hooks.get_ref().get("state"));
    let known = |one: &Trust| state?.get_ref().get(&one.key);
    let is_on = |one: &Trust| {
        let field = |name: &str| Some(known(one)?.get_ref().get(name)?.get_ref());
        let is_off = field("enabled").and_then(DeValue::as_bool) == Some(false);
        !is_off && field("trusted_hash").and_then(DeValue::as_str) == Some(one.digest.as_str())
    };
    all.iter().all(is_on)
}

/// The configuration switches every hook off.
pub fn switches_off(text: &str) -> bool {
    let Ok(table) = DeTable::parse(text) else { return false };
    let features = table.get_ref().get("features").and_then(|features| features.get_ref().get("hooks"));
    features.and_then(|hooks| hooks.get_ref().as_bool()) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(event: &str, at: (usize, usize), limit: Option<u64>) -> Registered {
        let command = format!("/b/x {event}");
        let event = event.to_owned();
        Registered { event, command, args: None, timeout: Some(600.0), limit, at, current: false }
    }

    /// These are the digests that Codex itself reports with `hooks/list`.
    #[test]
    fn digests_are_those_of_codex() {
        let digest = |event, limit| trust("/h/hooks.json", &handler(event, (0, 0), limit)).digest;
        let pre = digest("PreToolUse", Some(6000));
        let stop = digest("Stop", None);
        assert_eq!(pre, "sha256:1b9a3b6a7147490666720961a1b32f5d9609488002b36e2ab1c97e3c3578eb4e");
        assert_eq!(stop, "sha256:fdbe5fa0dc2cb46f22a862eb4fa4330006c570ca4201827dda2e8666f8ae9f22");
    }

    #[test]
    fn what_is_added_is_trusted_and_goes_again() {
        let foreign = "model = \"x\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n# the end";
        let all = [("PreToolUse", (0, 0)), ("Stop", (1, 0))];
        let all = all.map(|(event, at)| trust("/h/hooks.json", &handler(event, at, None)));
        let once = with(foreign, &all);
        assert_eq!(with(&once, &all), once);
        assert!(holds(&once, &all) && !holds(foreign, &all));
        assert!(!holds(&format!("{once}enabled = false\n"), &all), "a person switched the last one off");
        assert!(holds(&format!("{once}enabled = true\n"), &all));
        assert_eq!(without(&once, &all), format!("{foreign}\n"));
        assert_eq!(all[1].key, "/h/hooks.json:stop:1:0");
        assert_eq!(without(&format!("{once}[a]\nb = 1\n"), &all), format!("{foreign}\n[a]\nb = 1\n"));
    }
}
