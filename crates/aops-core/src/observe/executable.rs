//! What a call would add to the programs that run without asking our hook, and what a skill or an agent
//! brings along.
//!
//! Reads the file that an edit changes, the files of skills and agents, and folders of `PATH`; each only for
//! a call that may concern it. Invariants: writing and using a plain text is free; a text that cannot be seen
//! is not plain.

use crate::gate::guard::Protected;
use crate::gate::guard::executable::{Executable, of_target, perhaps};
use crate::model::agent::meant;
use crate::model::call::ToolCall;
use crate::observe::foreign_agents;
use crate::observe::plugins;
use crate::system::env::Env;
use crate::system::files::read_short;
use crate::text::frontmatter::brings;
use crate::text::json::{self, Json};
use crate::tool::targets::{Act, Target, Targets};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Stands for the content of a file that cannot be read.
const UNSEEN: &str = "more than can be looked at";

/// What needs approval, and whether no person can approve it here.
type Found = (String, bool);

/// Why this call would write executable configuration.
pub fn written(env: &Env, protected: &Protected, call: &ToolCall, reach: &Targets) -> Option<Found> {
    let is_there = |target: &Target| target.path.literal().is_some_and(|path| Path::new(&path).exists());
    let mut found = |target: &Target| written_as(env, protected, call, target);
    reach.paths.iter().find_map(|target| {
        found(target).or_else(|| perhaps(target).iter().filter(|meant| is_there(meant)).find_map(&mut found))
    })
}

fn written_as(env: &Env, protected: &Protected, call: &ToolCall, target: &Target) -> Option<Found> {
    let path = target.real.as_ref().unwrap_or(&target.path);
    let named = path.lossy();
    let said = |what: &str| (format!("`{named}` is {what}"), false);
    match of_target(protected, target) {
        Some(Executable::Always(what)) => Some(said(what)),
        Some(Executable::Text) => text(env, call, Path::new(&named)),
        Some(Executable::Saying(row)) => {
            says_anew(call, Path::new(&named), row.words).then(|| said(row.what))
        }
        Some(Executable::Beside(deep)) => {
            let folder: PathBuf = Path::new(&named).components().take(deep + 1).collect();
            let skill = folder.join("SKILL.md");
            let what = read_short(&skill).map_or(skill.exists().then_some(UNSEEN), |text| brings(&text))?;
            Some(said(&format!("next to a skill that brings {what}")))
        }
        None if target.act == Act::Copy => None,
        None => {
            let file = path.literal().map(PathBuf::from)?;
            let in_force = plugins::is_in_force(env, Path::new(&protected.project), &file);
            in_force
                .then(|| said("a part of a plugin that this project switches on"))
                .or_else(|| on_path(env, &file))
        }
    }
}

/// The call adds a line with one of these words, or we cannot see what it adds.
fn says_anew(call: &ToolCall, path: &Path, words: &[&str]) -> bool {
    let old = read_short(path).unwrap_or_default().to_lowercase();
    let is_new =
        |line: &str| words.iter().any(|word| line.contains(word)) && !old.lines().any(|known| known == line);
    new_texts(call, path).is_none_or(|texts| texts.iter().any(|text| text.to_lowercase().lines().any(is_new)))
}

/// After this call the file brings programs, or poses as one of our agents.
fn text(env: &Env, call: &ToolCall, path: &Path) -> Option<Found> {
    let named = path.display();
    let Some(new) = new_texts(call, path) else {
        let words = format!(
            "`{named}` is read by the client, and this call does not show its new text (`Write` does; a plain text is free)"
        );
        return Some((words, false));
    };
    if in_agents(path) && new.iter().any(|text| foreign_agents::name_in(env, path, text).is_some()) {
        return Some((format!("`{named}` defines an agent under one of our names"), true));
    }
    new.iter()
        .find_map(|text| brings(text))
        .map(|what| (format!("`{named}` brings {what}, which run without asking"), false))
}

fn in_agents(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "agents")
}

/// What the file may contain after this call; `None` if only running the call would show that.
fn new_texts(call: &ToolCall, path: &Path) -> Option<Vec<String>> {
    let input = json::read(&call.input).ok()?;
    let field = |name: &str| input.text_of(name);
    match call.key.tool.as_str() {
        "Write" => Some(vec![field("content")?]),
        "Edit" => Some(vec![edited(old_text(path)?, std::slice::from_ref(&input))]),
        "MultiEdit" => {
            let Some(Json::List(edits)) = input.get("edits") else { return None };
            Some(vec![edited(old_text(path)?, edits)])
        }
        tool if tool.starts_with("mcp__") => {
            let mut all = Vec::new();
            collect(&input, &mut all);
            Some(all)
        }
        _ => None,
    }
}

/// The text of a file; `None` if it exists but cannot be read.
fn old_text(path: &Path) -> Option<String> {
    read_short(path).or_else(|| (!path.exists()).then(String::new))
}

fn edited(mut text: String, edits: &[Json]) -> String {
    for edit in edits {
        let old = edit.text_of("old_string").unwrap_or_default();
        let new = edit.text_of("new_string").unwrap_or_default();
        let all = matches!(edit.get("replace_all"), Some(Json::Bool(true)));
        text = match (old.is_empty() || !text.contains(&old), all) {
            (true, _) => text + "\n" + &new,
            (_, true) => text.replace(&old, &new),
            (_, false) => text.replacen(&old, &new, 1),
        };
    }
    text
}

/// Collects every text in it, since each may be the whole file.
fn collect(json: &Json, all: &mut Vec<String>) {
    match json {
        Json::Object(members) => members.iter().for_each(|(_, value)| collect(value, all)),
        Json::List(items) => items.iter().for_each(|item| collect(item, all)),
        value => all.extend(value.text().map(std::borrow::Cow::into_owned)),
    }
}

/// A program that is written to a place where it hides another one of the same name.
fn on_path(env: &Env, path: &Path) -> Option<Found> {
    let folder = path.parent()?;
    let name = path.file_name()?;
    let search = env.path_of_commands();
    let mut folders = std::env::split_paths(&search).filter(|at| at.is_absolute());
    folders.find(|at| at == folder)?;
    let program = |at: PathBuf| {
        std::fs::metadata(at).is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
    };
    let hidden = folders.map(|at| at.join(name)).find(|at| program(at.clone()));
    let replaced = || program(path.to_path_buf()).then(|| path.to_path_buf());
    let other = hidden.or_else(replaced)?;
    let words = format!("`{}` would be run in the place of `{}`", path.display(), other.display());
    Some((words, false))
}

/// What the skill, command or agent of this call brings, and its file. Those that we ship bring nothing
/// foreign.
pub fn used(env: &Env, cwd: &Path, call: &ToolCall) -> Option<String> {
    let input = json::read(&call.input).ok()?;
    let text = |name: &str| input.text_of(name).filter(|text| !text.is_empty());
    let files = match call.key.tool.as_str() {
        "Skill" => plugins::skill_files(
            env,
            cwd,
            &text("skill").or_else(|| text("command")).or_else(|| text("name"))?,
        ),
        "SlashCommand" => plugins::skill_files(env, cwd, &text("command")?),
        "Agent" | "Task" => {
            let kind = text("subagent_type")?;
            if meant(&kind).is_some() {
                return None;
            }
            plugins::agent_files(env, cwd, &kind)
        }
        _ => return None,
    };
    let found = files.files.into_iter().find_map(|path| {
        let what = match read_short(&path) {
            Some(text) if plugins::is_ours(&text) => None,
            Some(text) => brings(&text),
            None => Some(UNSEEN),
        }?;
        Some(format!("`{}` brings {what}", path.display()))
    });
    let unseen = || {
        (!files.are_all)
            .then(|| "there are too many files to check whether one of them brings programs".to_owned())
    };
    found.or_else(unseen)
}
