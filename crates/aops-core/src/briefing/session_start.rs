//! Builds the context of a new session: how work is done here, the axioms, the state of the loop, the
//! folders.
//!
//! Reads the project's `CORE.md` and `AGENTS.md`; writes the embedded texts to files for other programs, and
//! lines for later shell calls to the file that the host names. Invariants: the long text comes once, and
//! again only after the host has forgotten it; below mode `loop` there is none, and no text asks for
//! something that is not enforced.

use crate::config::policy::{Level, ModeLevel, Policy};
use crate::config::texts::{self, Library, Reading};
use crate::gate::{Context, owed};
use crate::host::table;
use crate::ledger::open::Ledger;
use crate::model::agent::{AGENTS, AgentId};
use crate::model::client::Ability;
use crate::model::error::Failure;
use crate::model::event::Event;
use crate::model::named::join_names;
use crate::model::phase::Phase;
use crate::session::fold::Session;
use crate::system::env::{Env, OWN_FOLDERS};
use crate::system::files::{self, find, make_all};
use crate::text::json::cut;
use crate::text::template::{Phrase, one_line, quote};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Longest context, in bytes: every session pays for it in tokens.
const LONGEST: usize = 6_000;
/// The same in mode `loop`.
const LONGEST_OF_LOOP: usize = 1_200;
const CORE: usize = 1_800;
const AGENTS_MD: usize = 2_000;
/// Where the client looks for its own instructions.
const CLIENTS_OWN: [&str; 3] = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"];

/// The context for the start of a session: empty below mode `loop`. In a run the prompt describes the step;
/// the context adds the axioms and the note of the person who resumed it.
pub fn context(
    env: &Reading,
    policy: &Policy,
    session: &Session,
    event: &Event,
    context: &Context,
) -> Result<String, Failure> {
    let stage = context.stage.as_ref();
    let cwd = Path::new(&event.cwd);
    // Do not mention planning agents to a client that cannot start agents.
    let planned = policy.gates.sandbox == Level::Enforce
        && context.start().is_none_or(|start| start.agentless.is_none());
    let first =
        matches!(event.source(), "startup" | "compact") || event.source() == "clear" && stage.is_none();
    let (parts, longest) = match (stage, policy.mode.level()) {
        (None, ModeLevel::Observe | ModeLevel::Guard) => return Ok(String::new()),
        (None, ModeLevel::Loop) => {
            let guide = if first && planned { Some(loop_guide(env, policy, context)?) } else { None };
            let has_plan =
                session.state.hydration.hydrated_intent.is_some() && session.state.phase != Phase::Done;
            let agents = agents(env, cwd, first, 0);
            (vec![guide, agents, standing(session).filter(|_| has_plan)], LONGEST_OF_LOOP)
        }
        (None, ModeLevel::Strict) => {
            let guide = if first && planned { Some(guide(env, context)?) } else { None };
            (
                vec![
                    guide,
                    axioms(env, first),
                    agents(env, cwd, first, AGENTS_MD),
                    core(cwd, first),
                    standing(session),
                ],
                LONGEST,
            )
        }
        (Some(stage), _) => {
            let note = stage.note.as_ref();
            let note =
                note.map(|note| format!("The user, who let this run continue, says:\n{}", quote(note)));
            (vec![axioms(env, first), agents(env, cwd, first, AGENTS_MD), core(cwd, first), note], LONGEST)
        }
    };
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    Ok(cut(&text, longest).to_owned())
}

/// At most this many problems of texts are reported; `workflow check` lists them all.
const TOLD: usize = 3;

/// For the person: workflows and other texts, their own or the project's, that cannot be used.
pub fn broken_texts(env: &Reading) -> Option<String> {
    let problems = &Library::read(env).problems;
    let lines: Vec<String> =
        problems.iter().take(TOLD).map(|problem| one_line(&problem.to_string(), 300)).collect();
    let more = problems.len().saturating_sub(TOLD);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    (!lines.is_empty()).then(|| {
        let lines = lines.join("\n");
        format!(
            "a workflow cannot be used as it is:\n{lines}{more}\nhint: `aops-hook workflow check` lists every problem"
        )
    })
}

/// How work is done here, with the names that our agents have here.
fn guide(env: &Reading, context: &Context) -> Result<String, Failure> {
    let names = AGENTS.iter().map(|agent| context.agent(agent.id));
    let keys = ["hydrator", "critic", "custodiet", "qa", "framework"];
    let client = ("client", table::host(env.host).title.to_owned());
    let values = keys.into_iter().zip(names).chain([client]).collect();
    Ok(Phrase::new("AGENTS.md", values).fill(&texts::template(env, "AGENTS.md")?))
}

/// How a larger task is planned.
fn loop_guide(env: &Reading, policy: &Policy, context: &Context) -> Result<String, Failure> {
    let (most_files, most_lines) = policy.small.most();
    let values = vec![
        ("client", table::host(env.host).title.to_owned()),
        ("files", policy.small.files.to_string()),
        ("lines", policy.small.lines.to_string()),
        ("most_files", most_files.to_string()),
        ("most_lines", most_lines.to_string()),
        ("hydrator", context.agent(AgentId::Hydrator)),
        ("critic", context.agent(AgentId::Critic)),
        ("at_the_end", owed::announce(policy, context)),
    ];
    Ok(Phrase::new("loop-guide.md", values).fill(&texts::template(env, "loop-guide.md")?))
}

fn axioms(env: &Reading, wanted: bool) -> Option<String> {
    wanted.then(|| texts::axioms_text(env))
}

/// One line with phase, plan gate and task; `None` before the first task.
fn standing(session: &Session) -> Option<String> {
    let task = session.state.task.as_ref()?;
    let phase = session.state.phase.name();
    let sandbox = session.state.sandbox.name();
    let intent = one_line(task.intent.as_deref().unwrap_or("no intent"), 200);
    let owed = if session.state.stop.owed.is_empty() {
        String::new()
    } else {
        format!("; owed: {}", join_names(&session.state.stop.owed))
    };
    Some(format!("The loop is in phase `{phase}`, sandbox `{sandbox}`; task {}: {intent}{owed}", task.n))
}

/// A text of the project; `None` for a link or anything but a file of moderate size.
fn text_at(path: &Path) -> Option<String> {
    let plain = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() < 1 << 20);
    plain.then(|| files::read_text(path).ok())?
}

/// The project's `AGENTS.md`, unless the client reads it itself or a `CLAUDE.md` includes it. If it is longer
/// than `longest` bytes, only its path.
fn agents(env: &Reading, cwd: &Path, wanted: bool, longest: usize) -> Option<String> {
    if env.host.can(Ability::ReadsAgentsPage) {
        // These clients read the file themselves.
        return None;
    }
    let root = env.root();
    let folders: Vec<&Path> = cwd.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    let mut found = folders.iter().map(|folder| folder.join("AGENTS.md")).filter(|_| wanted);
    let (path, text) = found.find_map(|path| text_at(&path).map(|text| (path, text)))?;
    let beside = |folder: &Path| CLIENTS_OWN.iter().any(|name| folder.join(name).is_file());
    if !path.parent().is_some_and(beside) {
        // In this case the client reads it itself (measured with 2.1.325).
        return None;
    }
    let places = folders.iter().flat_map(|folder| CLIENTS_OWN.map(|name| folder.join(name)));
    let own = places.chain([env.config.join("CLAUDE.md")]).filter(|path| path.is_file());
    if own.filter_map(|path| files::read_text(path).ok()).any(|own| own == text || imports_agents(&own)) {
        return None;
    }
    let path = path.display();
    if text.len() > longest {
        return Some(format!(
            "How to work on this project is in `{path}`: read it before you change anything."
        ));
    }
    Some(format!("From `{path}`:\n\n{}", text.trim_end()))
}

/// The text contains `@AGENTS.md` or `@docs/AGENTS.md`.
fn imports_agents(text: &str) -> bool {
    let bare = |word: &str| word.trim_end_matches(|c: char| ".,;:)".contains(c)).to_owned();
    text.split_whitespace().map(bare).any(|word| word.starts_with('@') && word.ends_with("AGENTS.md"))
}

fn core(cwd: &Path, wanted: bool) -> Option<String> {
    let text = text_at(&cwd.join("CORE.md")).filter(|_| wanted)?;
    let long = text.len() > CORE;
    let note = if long { "\n(trimmed; the rest is in `CORE.md`)" } else { "" };
    Some(format!("{}{note}", cut(text.trim_end(), CORE)))
}

/// Exports `AOPS`, `AOPS_SESSION`, `ACA_DATA` and `PYTHONPATH` to every later shell call of the session.
pub fn export(env: &Env, ledger: &Ledger) -> Result<(), Failure> {
    let Some(file) = env.client.env_file.as_ref().filter(|_| !env.dry_run) else { return Ok(()) };
    let texts = written_out(env)?;
    let lines = format!(
        "export AOPS={}\nexport AOPS_SESSION={}\nexport ACA_DATA={}\nexport PYTHONPATH=\"$AOPS${{PYTHONPATH:+:$PYTHONPATH}}\"\n",
        shell(&texts),
        shell(&ledger.place().path),
        shell(&env.data),
    );
    let storage = |e| Failure::storage(file.display(), e);
    open_exports(env, file).map_err(storage)?.write_all(lines.as_bytes()).map_err(storage)
}

/// The client's file, whose folder every command can write to. So we write through neither a link in its
/// place nor a second name of another file, and its folder must not be a guarded one.
fn open_exports(env: &Env, file: &Path) -> io::Result<fs::File> {
    let named = file.parent().zip(file.file_name()).ok_or(ErrorKind::InvalidInput)?;
    let folder = files::real(named.0)?;
    let config = files::real(&env.config).unwrap_or_else(|_| env.config.clone());
    if OWN_FOLDERS.iter().any(|own| folder.starts_with(config.join(own))) {
        return Err(io::Error::other("its folder leads to ours"));
    }
    let dir = files::open_real(&folder, OFlags::PATH | OFlags::DIRECTORY)?;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = rustix::fs::openat(dir, named.1, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
    let about = rustix::fs::fstat(&opened)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile || about.st_nlink != 1 {
        return Err(io::Error::other("it is not a regular file with a single name"));
    }
    Ok(opened.into())
}

fn shell(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

/// The embedded texts as files, in a folder named after this version; written once.
fn written_out(env: &Env) -> Result<PathBuf, Failure> {
    let folder = env.config.join("aops/texts").join(env!("CARGO_PKG_VERSION"));
    for asset in texts::ASSETS {
        let path = folder.join(asset.path);
        let plain = fs::symlink_metadata(&path)
            .is_ok_and(|meta| meta.is_file() && meta.len() == asset.text.len() as u64);
        let current = plain && files::read(&path).is_ok_and(|bytes| bytes == asset.text.as_bytes());
        if !current {
            make_all(path.parent().unwrap_or(&folder))?;
            let written = find(&path).and_then(|found| found.replace(asset.text.as_bytes(), 0o600));
            written.map_err(|e| Failure::storage(path.display(), e))?;
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_text_of_the_same_length_is_written_anew() {
        let home = tempfile::tempdir().unwrap();
        let env = Env { config: home.path().join("c"), ..Env::default() };
        let folder = written_out(&env).unwrap();
        let asset = &texts::ASSETS[0];
        let path = folder.join(asset.path);
        fs::write(&path, "x".repeat(asset.text.len())).unwrap();
        written_out(&env).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), asset.text);
    }
}
