//! `aops-hook shell '<command>'`: what the client runs in the place of the shell.
//!
//! Reads the session's state; writes one receipt; becomes the shell. Invariants: signals, streams, terminal, process group
//! and exit code are the command's own; without a decision about the command it runs in the strictest profile that holds,
//! or not at all, with exit code 126.

use super::enter::{close_on_exec, enter, lock, what_holds};
use super::line;
use super::own;
use super::plan::{Ground, is_folder_file, is_for_telling};
use super::program::become_program;
use super::receipt::{self, Receipt};
use crate::config::in_force;
use crate::config::policy::jail::{Harness, Jail, JailLevel};
use crate::ledger::sessions;
use crate::model::profile::{Hold, JailState, Profile, Proof, line_digest};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::env::{CALLED_IN, Env, JOB, SHELL_PREFIX};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The same verb as the client's variable can spell it: it splits its value before the last ` -`.
pub const VERBS: [&str; 2] = ["shell", "--shell"];
/// The same for a command step of a run: `__line <profile> <line>`; internal.
pub const STEP: &str = "__line";
/// Beside the step's files: the proof of how its command ran.
pub const STEP_RECEIPT: &str = "jailed";
const CANNOT_RUN: u8 = 126;
/// With these a command could speak into sessions.
const MESSAGING: [&str; 2] = ["CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"];
const SHELL: &str = "/bin/bash";
const STEP_SHELL: &str = "/bin/sh";
/// The foreign program that the client's variable named before us.
const CHAINED: &str = "AOPS_SHELL_PREFIX";

/// The whole call is one of these, with a line and nothing else: what stands before a line is never an option.
pub fn is_call(arguments: &[String]) -> bool {
    match arguments {
        [_, verb, _] => VERBS.contains(&verb.as_str()),
        [_, verb, _, _] => verb == STEP,
        _ => false,
    }
}

/// What is to be done with one command.
struct Order {
    hold: Hold,
    profile: Profile,
    ground: Ground,
    messaging: bool,
    /// It is a call of our own program, with these arguments.
    own: Option<Vec<String>>,
    /// The session's folder, and the calls that it may be: the same command may wait more than once.
    calls: Option<(PathBuf, Vec<String>)>,
    /// Written to the command's standard error.
    notice: &'static str,
}

/// Becomes the shell; returns only if it cannot. The arguments are our own, the line the last of them.
pub fn run(line: &CStr, arguments: &[String], env: &Env) -> u8 {
    let variables = env.variables(|_| true).into_iter().collect();
    let step = arguments.get(1).is_some_and(|verb| verb == STEP).then(|| arguments.get(2).map(String::as_str));
    let Err(why) = start(line, step.map(|profile| Profile::named(profile.unwrap_or_default())), env, &variables);
    let _ = writeln!(
        std::io::stderr(),
        "aops-hook did not run this command: {why}\nhint: `aops-hook doctor` says what holds here; a person can set `[jail] level = \"off\"`"
    );
    CANNOT_RUN
}

type Variables = BTreeMap<String, OsString>;

fn start(whole: &CStr, step: Option<Profile>, env: &Env, variables: &Variables) -> Result<Infallible, String> {
    let line = &*whole.to_string_lossy();
    let order = Order::of(line, step, env, variables)?;
    close_on_exec();
    if !order.notice.is_empty() {
        let _ = writeln!(std::io::stderr(), "aops-hook: {}", order.notice);
    }
    let mut ground = order.ground;
    if order.profile >= Profile::Read {
        ground.told = folder_file(line, &ground).map(|(path, _)| path);
    }
    let proof = Proof { hold: order.hold, profile: order.profile, vanished: String::new() };
    let receipt = match (&order.calls, variables.get(JOB).filter(|_| step.is_some())) {
        (Some((folder, ids)), _) => Some(begin(folder, ids, &proof)?),
        (None, Some(job)) if order.hold != Hold::Words => {
            let file = receipt::begin_at(&Path::new(job).with_extension(STEP_RECEIPT), &proof);
            Some(file.map_err(|error| format!("its receipt cannot be written: {error}"))?)
        }
        (None, _) => None,
    };
    if order.profile > Profile::None {
        let reporter = enter(order.hold, order.profile, &ground, &env.cwd)?;
        if let (Some(reporter), Some(receipt)) = (reporter, receipt) {
            reporter.report(receipt);
        }
        lock(order.hold, &env.cwd)?;
    }
    if let Some(words) = order.own {
        return exec_own(line, &words, &ground, env, variables);
    }
    let shell = if step.is_some() { STEP_SHELL.into() } else { shell(line, variables) };
    exec(whole, &shell, variables, order.messaging)
}

/// The receipt of the first of these calls that has none yet.
fn begin(folder: &Path, ids: &[String], proof: &Proof) -> Result<Receipt, String> {
    let mut why = "there is none to write".to_owned();
    for id in ids {
        match receipt::begin(folder, id, proof) {
            Ok(receipt) => return Ok(receipt),
            Err(error) => why = error.to_string(),
        }
    }
    Err(format!("its receipt cannot be written: {why}"))
}

impl Order {
    fn of(line: &str, step: Option<Profile>, env: &Env, variables: &Variables) -> Result<Self, String> {
        let text = |name: &str| variables.get(name).map(|value| value.to_string_lossy().into_owned());
        let harness = text("AI_AGENT").is_some_and(|agent| agent.ends_with("_harness"));
        let id = text("CLAUDE_CODE_SESSION_ID").unwrap_or_default();
        let own = own::arguments(line, || std::env::current_exe().unwrap_or_default());
        let found = if step.is_none() { session_of(env, &id, harness || own.is_some())? } else { None };
        let session = found.as_ref().map(|(_, session)| session);
        let jail = policy(env, session)?;
        let project = if env.project.as_os_str().is_empty() { &env.cwd } else { &env.project };
        let known = session.and_then(|session| session.memory.jail.clone());
        let project = known.as_ref().map_or_else(|| project.clone(), |state| PathBuf::from(&state.project));
        let path = |name: &str| variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut ground = Ground::of(env, &project, &path);
        ground.layer_mb = jail.layer_mb;
        let chosen = match step {
            Some(profile) => Chosen { profile, calls: None, by_agent: true, notice: "" },
            None => choose(line, harness, &jail, env, found.as_ref()),
        };
        let Chosen { mut profile, calls, by_agent, mut notice } = chosen;
        if own.is_some() {
            (profile, notice) = (Profile::None, "");
        }
        ground.network = by_agent && jail.test_network;
        ground.session = calls.as_ref().map(|(folder, _)| folder.clone());
        let state = held(known, &jail, &ground, profile)?;
        let (hold, profile) = settle(&state, &jail, profile)?;
        Ok(Self {
            hold,
            profile,
            ground,
            messaging: jail.messaging,
            own,
            calls,
            notice: if hold == Hold::Words { "" } else { notice },
        })
    }
}

/// The session of this id. Where its record proves nothing, only what needs no decision goes on without one.
fn session_of(env: &Env, id: &str, undecided: bool) -> Result<Option<(PathBuf, Session)>, String> {
    match sessions::find_anywhere(env, id, &env.cwd) {
        Err(_) if undecided || policy(env, None)?.level == JailLevel::Off => Ok(None),
        found => found.map_err(|failure| format!("what was decided about it cannot be read: {failure}")),
    }
}

/// What the session found at its start. A command that comes before it, or without one (a server of the client may be
/// started first), finds out by itself, and only about its own profile.
fn held(known: Option<JailState>, jail: &Jail, ground: &Ground, profile: Profile) -> Result<JailState, String> {
    match known {
        _ if jail.level == JailLevel::Off => Ok(JailState::default()),
        Some(state) => Ok(state),
        None if profile == Profile::None && jail.level == JailLevel::Auto => Ok(JailState::default()),
        None => what_holds(ground, profile.max(Profile::Work)),
    }
}

/// The configuration of the session, or of this folder.
fn policy(env: &Env, session: Option<&Session>) -> Result<Jail, String> {
    match session {
        Some(session) => Ok(session.policy().jail.clone()),
        None => in_force::policy(env, &env.cwd).map(|policy| policy.jail).map_err(|failure| failure.to_string()),
    }
}

struct Chosen {
    profile: Profile,
    calls: Option<(PathBuf, Vec<String>)>,
    /// An agent made the call, not the main conversation.
    by_agent: bool,
    notice: &'static str,
}

fn choose(line: &str, harness: bool, jail: &Jail, env: &Env, found: Option<&(PathBuf, Session)>) -> Chosen {
    if harness {
        let profile = if jail.harness == Harness::None { Profile::None } else { Profile::Work };
        return Chosen { profile, calls: None, by_agent: false, notice: "" };
    }
    let calls = found.map(|(_, session)| matched(line, session)).unwrap_or_default();
    match (found, calls.iter().filter_map(|open| open.jail).max()) {
        (Some((folder, _)), Some(profile)) => {
            let ids = calls.iter().map(|open| open.call.id.clone()).collect();
            let by_agent = calls.iter().all(|open| open.agent_id.is_some());
            Chosen { profile, calls: Some((folder.clone(), ids)), by_agent, notice: "" }
        }
        // No agent waits for a command, so a person at the client typed this one (`! make`).
        (Some((_, session)), None) if env.attended && session.memory.calls.is_empty() => {
            Chosen { profile: Profile::Work, calls: None, by_agent: false, notice: "" }
        }
        _ => Chosen { profile: Profile::Trial, calls: None, by_agent: false, notice: UNASKED },
    }
}

const UNASKED: &str =
    "no hook was asked about this command, so it runs in a throwaway layer: what it changes is gone afterwards";

/// The calls of this command that wait to be run.
fn matched<'a>(line: &str, session: &'a Session) -> Vec<&'a OpenCall> {
    let commands = line::commands(line);
    let calls = commands.iter().map(|command| {
        let digest = line_digest(command);
        let same = |open: &&OpenCall| open.line_sha256.as_deref() == Some(digest.as_str());
        session.memory.calls.iter().filter(same).collect::<Vec<_>>()
    });
    calls.into_iter().find(|calls| !calls.is_empty()).unwrap_or_default()
}

/// What holds for this command, and the profile that can be held with it.
fn settle(state: &JailState, jail: &Jail, profile: Profile) -> Result<(Hold, Profile), String> {
    match (state.hold, jail.level) {
        (Hold::Words, JailLevel::Require) => {
            Err(format!("`[jail] level` is `require`, and the jail does not hold: {}", state.why))
        }
        (_, JailLevel::Off) | (Hold::Words, JailLevel::Auto) => Ok((Hold::Words, Profile::None)),
        (hold, _) if profile == Profile::Trial && !state.trial => Ok((hold, Profile::Read)),
        (hold, _) => Ok((hold, profile)),
    }
}

/// The file for the working directory, made where it is missing: nothing can be bound to a file that is not there.
fn folder_file(line: &str, ground: &Ground) -> Option<(PathBuf, File)> {
    let path = PathBuf::from(line::folder_file(line)?);
    if !is_folder_file(&path, &ground.temporary) {
        return None;
    }
    let made = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&path)
        .ok()?;
    is_for_telling(&made).then_some((path, made))
}

/// The shell that the client would have started.
fn shell(line: &str, variables: &Variables) -> PathBuf {
    let zsh = |shell: &&Path| shell.ends_with("zsh") && line.contains("/snapshot-zsh-");
    variables.get("SHELL").map(Path::new).filter(zsh).unwrap_or(Path::new(SHELL)).to_owned()
}

fn exec(line: &CStr, shell: &Path, variables: &Variables, messaging: bool) -> Result<Infallible, String> {
    let chained = variables.get(CHAINED).filter(|program| !program.is_empty());
    let line = match chained {
        Some(program) => [program.as_bytes(), b" ", &quoted(line.to_bytes())].concat(),
        None => line.to_bytes().to_vec(),
    };
    become_program(&[shell.as_os_str().as_bytes(), b"-c", &line], kept(variables, messaging))
}

/// Our own program, and the working directory told as the shell would have told it. It is told that an agent called it, and in
/// which project, so that what it starts is held as the agent's commands are.
fn exec_own(
    line: &str,
    arguments: &[String],
    ground: &Ground,
    env: &Env,
    variables: &Variables,
) -> Result<Infallible, String> {
    if let Some((_, mut file)) = folder_file(line, ground) {
        let told = [env.cwd.as_os_str().as_bytes(), b"\n"].concat();
        file.set_len(0).and_then(|()| file.write_all(&told)).map_err(|error| error.to_string())?;
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let arguments = arguments.iter().map(String::as_bytes);
    let words: Vec<&[u8]> = std::iter::once(program.as_os_str().as_bytes()).chain(arguments).collect();
    let mut prefix = program.clone().into_os_string();
    prefix.push(" --shell");
    let mut variables = variables.clone();
    variables.insert(SHELL_PREFIX.to_owned(), prefix);
    variables.insert(CALLED_IN.to_owned(), ground.project.clone().into());
    become_program(&words, kept(&variables, false))
}

/// The variables that a command gets.
fn kept(variables: &Variables, messaging: bool) -> impl Iterator<Item = (&String, &OsString)> {
    variables.iter().filter(move |(name, _)| messaging || !MESSAGING.contains(&name.as_str()))
}

/// One word of a shell line.
fn quoted(text: &[u8]) -> Vec<u8> {
    let inside = text.split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&b"'\\''"[..]);
    [b"'", &inside[..], b"'"].concat()
}
