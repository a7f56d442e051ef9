//! What the client was started with: the requested mode, and whether it can start agents.
//!
//! Reads the client's command line and settings when a session starts, and sessions on disk only if a lower
//! mode is requested. Invariants: a lower mode counts only if a person outside of any tool call asked for it;
//! an unreadable mode does not count; unless something says otherwise, the client has agents.

use crate::config::in_force;
use crate::config::policy::ModeLevel;
use crate::config::texts::Reading;
use crate::host::claude::settings::PROGRAM;
use crate::host::table;
use crate::ledger::{clients, sessions};
use crate::model::client::Ability;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::observe::tampering;
use crate::session::fold::Session;
use crate::session::memory::{ClientProcess, ModeAsked};
use crate::session::timer::TimerMark;
use crate::system::env::{Env, MODE, boot_id};
use crate::system::process::kin;
use crate::text::json::{self, Json};
use crate::text::template::one_line;
use std::path::Path;

/// The client that fires this event.
pub fn process(env: &Env) -> Option<ClientProcess> {
    let pid = env.client.pid.parse().ok()?;
    Some(ClientProcess { pid, started: kin::started(pid)? })
}

/// The timers of the session that this client had before, which stay active in this one, and whether some are
/// unknown.
pub fn timers_before(env: &Env, event: &Event) -> (Vec<TimerMark>, bool) {
    let known = env.client.pid.parse().ok().and_then(|pid| clients::session_of(env, pid));
    let Some(before) = known.filter(|id| *id != event.session_id) else { return (Vec::new(), false) };
    match sessions::find_anywhere(env, &before, Path::new(&event.cwd)) {
        Ok(Some((_, session))) => {
            let memory = &session.memory;
            // A session that missed its start never learned about earlier timers.
            (memory.timers.known.clone(), memory.timers.lost || memory.client.unstarted)
        }
        _ => (Vec::new(), true),
    }
}

/// The mode that this start asks for with `AOPS_MODE`, if that is new.
pub fn mode_asked(env: &Reading, session: &Session, event: &Event) -> Result<Option<ModeAsked>, Failure> {
    if event.kind() != EventKind::SessionStart
        || env.user.mode.is_none() && session.memory.configured.mode.is_none()
    {
        return Ok(None);
    }
    let asked = match &env.user.mode {
        Some(word) => judge(env, event, word)?,
        None => ModeAsked::default(),
    };
    Ok(Some(asked).filter(|asked| session.memory.configured.mode.as_ref() != Some(asked)))
}

fn judge(env: &Reading, event: &Event, word: &str) -> Result<ModeAsked, Failure> {
    let asked = one_line(word, 32);
    let Some(level) = ModeLevel::of(word) else {
        let why = format!("it is none of {}", ModeLevel::WORDS.join(", "));
        return Ok(ModeAsked { asked, refused: Some(why), ..ModeAsked::default() });
    };
    let in_force = in_force::load_in(env, None)?;
    let configured = in_force.policy.mode.level();
    let floor = in_force.origins.floor();
    let held = || "the administrator's bundle sets the mode".to_owned();
    let refused = match floor {
        Some(floor) if level < floor => Some(held()),
        _ if level < configured => lowered_by(env, event, level),
        _ => None,
    };
    let stays = |why: String| format!("{why}; the mode stays `{}`", configured.name());
    Ok(ModeAsked { asked, level: Some(level).filter(|_| refused.is_none()), refused: refused.map(stays) })
}

/// Why this lower mode was not requested by a person outside of a tool call.
fn lowered_by(env: &Env, event: &Event, level: ModeLevel) -> Option<String> {
    let project = tampering::project(env, event).join(".claude");
    for name in ["settings.json", "settings.local.json"] {
        let file = project.join(name);
        let text = tampering::settings(&file.to_string_lossy());
        let sets =
            json::read(&text).is_ok_and(|json| json.get("env").is_some_and(|env| env.get(MODE).is_some()));
        if sets || tampering::is_too_large(&file.to_string_lossy()) {
            return Some(format!("`{}` sets it, and a project may only raise the mode", file.display()));
        }
    }
    let (outer, mode) = outer_session(env)?;
    (level < mode).then(|| format!("this client was started inside a tool call of session `{outer}`"))
}

/// The session in whose tool call this client was started, and its mode.
fn outer_session(env: &Env) -> Option<(String, ModeLevel)> {
    let client = process(env).map(|client| client.pid);
    let own = || i32::try_from(std::process::id()).unwrap_or_default();
    let above = kin::ancestors(client.unwrap_or_else(own));
    let boot = boot_id();
    let is_above = |session: &Session| {
        let is_one = |client: &ClientProcess| clients::is_alive(client) && above.contains(&client.pid);
        session.memory.place.boot == boot && session.memory.client.process.as_ref().is_some_and(is_one)
    };
    let known = sessions::all(env).into_iter().rev().filter_map(|found| sessions::session(&found));
    known
        .into_iter()
        .find(is_above)
        .map(|session| (session.state.session_id.clone(), session.policy().mode.level()))
}

/// The message to the user about a mode that is not applied.
pub fn unheard(asked: &ModeAsked) -> Option<String> {
    let why = asked.refused.as_ref()?;
    Some(format!(
        "`{MODE}={}` has no effect: {why}\nhint: set it where you start the client yourself, or run `{PROGRAM} mode`",
        asked.asked
    ))
}

/// Names of the tool that starts agents.
const TOOL: [&str; 2] = ["Agent", "Task"];

/// Why this client cannot start agents; `None` if it can, or if we do not know.
pub fn agentless(env: &Env, event: &Event) -> Option<String> {
    let line = env.client.pid.parse().map(kin::command_line).unwrap_or_default();
    by_command_line(&line).or_else(|| match env.host {
        host if !host.can(Ability::StartsAgents) => {
            Some(format!("our agents are not in {}", table::host(host).title))
        }
        host if host.is_registered_by_name() => None,
        _ => by_settings(env, event),
    })
}

fn by_command_line(line: &[String]) -> Option<String> {
    let is_agent = |word: &String| TOOL.contains(&word.as_str());
    if let Some(tools) = values(line, &["--tools"])
        && !tools.iter().any(|tool| is_agent(tool) || tool == "default")
    {
        return Some(format!("`--tools {}`", one_line(&tools.join(","), 80)));
    }
    let denied = values(line, &["--disallowedTools", "--disallowed-tools"])?;
    denied.iter().find(|tool| denies(tool)).map(|tool| format!("`--disallowedTools {}`", one_line(tool, 80)))
}

/// The rule forbids the tool, or our first agent.
fn denies(rule: &str) -> bool {
    TOOL.iter().any(|tool| rule == *tool || rule.strip_prefix(tool) == Some("(prompt-hydrator)"))
}

/// The values of these options; a value may hold several names separated by commas.
fn values(line: &[String], options: &[&str]) -> Option<Vec<String>> {
    let mut found: Option<Vec<String>> = None;
    let mut words = line.iter().peekable();
    while let Some(word) = words.next() {
        let (name, glued) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if !options.contains(&name) {
            continue;
        }
        let list = found.get_or_insert_with(Vec::new);
        let mut add =
            |text: &str| list.extend(text.split([',', ' ']).filter(|s| !s.is_empty()).map(str::to_owned));
        glued.into_iter().for_each(&mut add);
        while let Some(value) = words.next_if(|next| glued.is_none() && !next.starts_with('-')) {
            add(value);
        }
    }
    found
}

fn by_settings(env: &Env, event: &Event) -> Option<String> {
    let folders = [env.config.clone(), tampering::project(env, event).join(".claude"), env.managed()];
    let names = ["settings.json", "settings.local.json", "managed-settings.json"];
    folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).find_map(|file| {
        let text = tampering::settings(&file.to_string_lossy());
        let json = json::read(&text).ok()?;
        let Json::List(rules) = json.get("permissions")?.get("deny")? else { return None };
        let rule = rules.iter().filter_map(Json::text).find(|rule| denies(rule))?;
        Some(format!("`{rule}` is denied in `{}`", file.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_agents_is_known_by_its_command_line() {
        let of = |line: &str| by_command_line(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in [
            "claude -p x",
            "claude --tools default",
            "claude --tools Read,Agent -p",
            "claude --tools Read Task --verbose",
            "claude --disallowedTools Bash Agent(Explore)",
            "claude --tools=Bash,Agent",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
        for (line, why) in [
            ("claude -p x --tools Read,Edit", "`--tools Read,Edit`"),
            ("claude --tools=Read -p x", "`--tools Read`"),
            ("claude --tools --verbose", "`--tools `"),
            // A word after another option is a prompt.
            ("claude --tools Read -p Agent", "`--tools Read`"),
            ("claude --disallowedTools Bash,Agent -p", "`--disallowedTools Agent`"),
            (
                "claude --disallowed-tools Bash Task(prompt-hydrator)",
                "`--disallowedTools Task(prompt-hydrator)`",
            ),
        ] {
            assert_eq!(of(line).as_deref(), Some(why), "{line}");
        }
    }
}
