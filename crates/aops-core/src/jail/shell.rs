//! `/path/./aops-hook '<command>'`: what the client runs instead of the shell.
//!
//! Reads the session's state; writes one receipt; becomes the shell. Invariants: signals, streams, terminal,
//! process group and exit code are the command's own; a command without a decision runs in the strictest
//! profile that can be enforced, or not at all, with exit code 126.

use super::enter::{close_on_exec, enter, lock, watch, what_holds};
use super::environment::Judged;
use super::line;
use super::network::{Asked, Reach, run_folder};
use super::own;
use super::plan::{Ground, is_folder_file, is_for_telling};
use super::program::become_program;
use super::receipt;
use super::to_keep::ToKeep;
use super::unheld::{self, Search, Unheld};
use crate::config::in_force;
use crate::config::policy::jail::{Harness, Jail, JailLevel};
use crate::config::policy::network::Network;
use crate::ledger::sessions;
use crate::model::profile::{Hold, JailState, Profile, Proof, line_digest};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::env::{CALLED_IN, Env, JOB, RUN, SHELL_PREFIX};
use crate::system::files;
use aops_shell::verbs::{STARTER, starter};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The verb, also as the client's variable can spell it: the client splits the variable's value before the
/// last ` -`.
pub const VERBS: [&str; 2] = ["shell", "--shell"];
/// The same for a command step of a run: `__line <profile> <line>`; internal.
pub const STEP: &str = "__line";
/// Name of the receipt of a step's command, among the step's files.
pub const STEP_RECEIPT: &str = "jailed";
const CANNOT_RUN: u8 = 126;
/// With these a command could send messages into sessions.
const MESSAGING: [&str; 2] = ["CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"];
/// The client's process ID.
const CLIENT: &str = "CLAUDE_PID";
const SHELL: &str = "/bin/bash";
const STEP_SHELL: &str = "/bin/sh";
/// Another program that the client's variable named before we replaced it.
const CHAINED: &str = "AOPS_SHELL_PREFIX";

/// Whether the whole call is one of these verbs with a line and nothing else: no options are accepted before
/// a line.
pub fn is_call(arguments: &[String]) -> bool {
    match arguments {
        [program, _] => program.ends_with(STARTER),
        [_, verb, _] => VERBS.contains(&verb.as_str()),
        [_, verb, _, _] => verb == STEP,
        _ => false,
    }
}

/// How to run one command.
struct Order {
    hold: Hold,
    profile: Profile,
    ground: Ground,
    /// The session's network, unless the session uses the machine's.
    reach: Option<Reach>,
    messaging: bool,
    /// A program to start directly, without a shell.
    direct: Option<Direct>,
    /// The session's folder, and the calls that this may be: the same command may be open more than once.
    calls: Option<(PathBuf, Vec<String>)>,
    /// The judgement of a command that no person was asked about. It runs only under the same conditions.
    judged: Judged,
    /// Files that the command would lose, to be kept first.
    keeps: Option<ToKeep>,
    /// A process outside of the jail watches how it ends.
    watched: bool,
    /// Written to the command's standard error.
    notice: &'static str,
}

/// A program that is started directly, since a shell would look its name up.
enum Direct {
    /// Our own program, with these arguments.
    Own(Vec<String>),
    /// A program that no jail can hold.
    Unheld(Unheld),
}

/// Becomes the shell; returns only if it cannot. `arguments`: our own, of which the line is the last.
pub fn run(line: &CStr, arguments: &[String], env: &Env) -> u8 {
    let variables = env.variables(|_| true).into_iter().collect();
    let step = match arguments {
        [_, verb, profile, _] if verb == STEP => Some(Profile::named(profile)),
        _ => None,
    };
    let Err(why) = start(line, step, env, &variables);
    let _ = writeln!(
        std::io::stderr(),
        "aops-hook did not run this command: {why}\nhint: `aops-hook doctor` shows which jail works here; a person can set `[jail] level = \"off\"`"
    );
    CANNOT_RUN
}

type Variables = BTreeMap<String, OsString>;

fn start(
    whole: &CStr,
    step: Option<Profile>,
    env: &Env,
    variables: &Variables,
) -> Result<Infallible, String> {
    let line = &*whole.to_string_lossy();
    let order = Order::of(line, step, env, variables)?;
    let proof = Proof::of(order.hold, order.profile);
    // Begun before anything else can fail, so that a command that does not run is recorded, too.
    let receipt = match (&order.calls, variables.get(JOB).filter(|_| step.is_some())) {
        (Some((folder, ids)), _) => Some(receipt::begin_first(folder, ids, &proof)?),
        (None, Some(job)) if order.hold != Hold::Words => {
            let file = receipt::begin_at(&Path::new(job).with_extension(STEP_RECEIPT), &proof);
            Some(file.map_err(|error| format!("its receipt cannot be written: {error}"))?)
        }
        (None, _) => None,
    };
    order.judged.check(&order.ground, env)?;
    if let Some(keeps) = &order.keeps {
        keeps.keep(env)?;
    }
    close_on_exec();
    if !order.notice.is_empty() {
        let _ = writeln!(std::io::stderr(), "aops-hook: {}", order.notice);
    }
    let mut ground = order.ground;
    if order.profile > Profile::Work {
        ground.told = folder_file(line, &ground).map(|(path, _)| path);
    }
    // A run waits for its step in its own way.
    let clients = if step.is_none() { waiting(variables) } else { Vec::new() };
    if let Some(receipt) = receipt.as_ref().filter(|_| order.watched && order.profile > Profile::None) {
        watch(receipt.again().map_err(|error| format!("its receipt: {error}"))?)?;
    }
    if order.profile > Profile::None {
        order.reach.map_or(Ok(()), |reach| reach.enter(&mut ground))?;
        if let Some(trial) = enter(order.hold, order.profile, &ground, &env.cwd)? {
            trial.begin(receipt, &clients)?;
        }
        lock(order.hold, order.profile, &ground, &env.cwd)?;
    }
    if let Some(direct) = order.direct {
        tell_folder(line, &ground, env)?;
        return exec_direct(line, &direct, &ground.project, variables, order.messaging);
    }
    let shell = if step.is_some() { STEP_SHELL.into() } else { shell(line, variables) };
    exec(whole, &shell, variables, order.messaging)
}

/// Process IDs of those who wait for this command: its parent, and the client if that is another process.
fn waiting(variables: &Variables) -> Vec<i32> {
    let named = variables.get(CLIENT).and_then(|number| number.to_str()?.parse().ok());
    let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_nonzero);
    let mut all: Vec<i32> = parent.map(i32::from).into_iter().chain(named).collect();
    all.dedup();
    all
}

const UNHELD_ANSWER: &str = "nobody was asked about it, and the jail that it needs does not work here";

impl Order {
    fn of(line: &str, step: Option<Profile>, env: &Env, variables: &Variables) -> Result<Self, String> {
        let text = |name: &str| variables.get(name).map(|value| value.to_string_lossy().into_owned());
        let harness = text("AI_AGENT").is_some_and(|agent| agent.ends_with("_harness"));
        let id = text("CLAUDE_CODE_SESSION_ID").unwrap_or_default();
        let own = own::arguments(line, || std::env::current_exe().unwrap_or_default());
        let found = if step.is_none() { session_of(env, &id, harness || own.is_some())? } else { None };
        let session = found.as_ref().map(|(_, session)| session);
        let (jail, network) = policy(env, session)?;
        let known = session.and_then(|session| session.memory.client.jail.clone());
        let project = known.as_ref().map_or_else(|| start_folder(env), |state| PathBuf::from(&state.project));
        let path = |name: &str| variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut ground = Ground::of(env, &project, &path);
        ground.layer_mb = jail.layer_mb;
        let chosen = match step {
            Some(profile) => Chosen { by_agent: true, ..Chosen::of(profile) },
            None => choose(line, harness, &jail, env, found.as_ref())?,
        };
        let Chosen {
            mut profile,
            calls,
            by_agent,
            mut notice,
            leaving,
            online,
            keeps,
            judged,
            wants,
            watched,
        } = chosen;
        // Nobody was asked about an answered line, so the kernel holds it, whatever it calls.
        if own.is_some() && judged.is_none() {
            profile = Profile::None;
            notice = "";
        }
        let direct = own.filter(|_| judged.is_none()).map(Direct::Own).or(leaving.map(Direct::Unheld));
        ground.network.open = online || by_agent && jail.test_network && judged.is_none();
        ground.hidden = judged.hides();
        ground.session = calls.as_ref().map(|(folder, _)| folder.clone());
        ground.watched = found.as_ref().map(|(folder, _)| folder.clone());
        let state = held(known, &jail, &ground, profile)?;
        let is_held = jail.level != JailLevel::Off && state.holds(Profile::QuietRead);
        if !judged.is_none() && !is_held {
            return Err(UNHELD_ANSWER.to_owned());
        }
        let (hold, profile) = settle(&state, &jail, profile)?;
        let run = step.and_then(|_| Some(run_folder(env, &text(RUN).filter(|id| !id.contains('/'))?)));
        let session = found.as_ref().map(|(folder, _)| folder.as_path()).or(run.as_deref());
        let asked = Asked { jail: &jail, network: &network, hold, profile, harness, session, wants: &wants };
        let reach = Reach::of(asked, &ground)?;
        Ok(Self {
            hold,
            profile,
            ground,
            reach,
            messaging: jail.messaging,
            direct,
            calls,
            judged,
            keeps,
            watched,
            notice: if hold == Hold::Words { "" } else { notice },
        })
    }
}

/// The project for which the client was started.
fn start_folder(env: &Env) -> PathBuf {
    let told = &env.client.project;
    if told.as_os_str().is_empty() { env.cwd.clone() } else { told.clone() }
}

/// The session with this ID. If its record proves nothing, only a command that needs no decision may run.
fn session_of(env: &Env, id: &str, undecided: bool) -> Result<Option<(PathBuf, Session)>, String> {
    match sessions::find_anywhere(env, id, &env.cwd) {
        Err(_) if undecided || policy(env, None)?.0.level == JailLevel::Off => Ok(None),
        found => found.map_err(|failure| format!("what was decided about it cannot be read: {failure}")),
    }
}

/// What the session found out at its start. If the command comes earlier or without a session (a client may
/// start its servers first), we find out here, only for its own profile.
fn held(
    known: Option<JailState>,
    jail: &Jail,
    ground: &Ground,
    profile: Profile,
) -> Result<JailState, String> {
    match known {
        _ if jail.level == JailLevel::Off => Ok(JailState::default()),
        Some(state) => Ok(state),
        None if profile == Profile::None && jail.level == JailLevel::Auto => Ok(JailState::default()),
        None => what_holds(ground, profile.max(Profile::Work)),
    }
}

/// The configuration of the session, or of this folder.
fn policy(env: &Env, session: Option<&Session>) -> Result<(Jail, Network), String> {
    match session {
        Some(session) => Ok((session.policy().jail.clone(), session.policy().network.clone())),
        None => match in_force::policy(env, &env.cwd) {
            Ok(policy) => Ok((policy.jail, policy.network)),
            Err(failure) => Err(failure.to_string()),
        },
    }
}

struct Chosen {
    profile: Profile,
    calls: Option<(PathBuf, Vec<String>)>,
    /// A subagent made the call, not the main conversation.
    by_agent: bool,
    notice: &'static str,
    /// The program to start outside of the jail.
    leaving: Option<Unheld>,
    /// It only reads, but needs the network for that.
    online: bool,
    keeps: Option<ToKeep>,
    judged: Judged,
    /// Hosts that a person was asked about.
    wants: Vec<String>,
    /// It is a test whose exit code an attestation reports.
    watched: bool,
}

impl Chosen {
    fn of(profile: Profile) -> Self {
        Self {
            profile,
            calls: None,
            by_agent: false,
            notice: "",
            leaving: None,
            online: false,
            keeps: None,
            judged: Judged::default(),
            wants: Vec::new(),
            watched: false,
        }
    }
}

fn choose(
    line: &str,
    harness: bool,
    jail: &Jail,
    env: &Env,
    found: Option<&(PathBuf, Session)>,
) -> Result<Chosen, String> {
    if harness {
        return Ok(Chosen::of(if jail.harness == Harness::None { Profile::None } else { Profile::Work }));
    }
    let (command, calls) = found.and_then(|(_, session)| matched(line, session)).unwrap_or_default();
    Ok(match (found, calls.iter().filter_map(|open| open.means.jailing.profile).max()) {
        (Some((folder, session)), Some(profile)) => {
            let ids = calls.iter().map(|open| open.call.id.clone()).collect();
            let by_agent = calls.iter().all(|open| open.agent_id.is_some());
            let leaves = profile == Profile::None;
            let leaving = if leaves { Some(leaving(&command, &calls, jail, env)?) } else { None };
            let online = calls.iter().all(|open| open.means.jailing.online);
            let keeps = ToKeep::of(&command, &calls, session);
            let judged = Judged::of(&calls);
            let watched = session.policy().witness.attests() && calls.iter().any(|open| open.means.tests);
            Chosen {
                calls: Some((folder.clone(), ids)),
                by_agent,
                leaving,
                online,
                keeps,
                judged,
                wants: calls.iter().flat_map(|open| open.means.jailing.wants.clone()).collect(),
                watched,
                ..Chosen::of(profile)
            }
        }
        // No agent waits for a command, so a person at the client typed this one (`! make`).
        (Some((_, session)), None) if env.client.attended && session.memory.calls.is_empty() => {
            Chosen::of(Profile::Work)
        }
        _ => Chosen { notice: UNASKED, ..Chosen::of(Profile::Trial) },
    })
}

/// The program that was judged. It is looked up again, since another may have taken its place meanwhile.
fn leaving(command: &str, calls: &[&OpenCall], jail: &Jail, env: &Env) -> Result<Unheld, String> {
    let search = Search { env, cwd: &env.cwd, without: &jail.without };
    let leaving = search.of_command(command).ok_or(
        "it may leave the jail only while its program is in a folder that only the superuser can write, and it no longer is",
    )?;
    let was_asked = || calls.iter().all(|open| open.reason.is_some());
    match leaving.configured(env) {
        Some(file) if !was_asked() => {
            Err(format!("`{}` decides what it starts, and nobody was asked", file.display()))
        }
        _ => Ok(leaving),
    }
}

const UNASKED: &str =
    "no hook was asked about this command, so it runs in a throwaway layer: its changes are discarded";

/// The command of this line, and the open calls that have this command.
fn matched<'a>(line: &str, session: &'a Session) -> Option<(String, Vec<&'a OpenCall>)> {
    let calls = line::commands(line).into_iter().map(|command| {
        let digest = line_digest(&command);
        let same = |open: &&OpenCall| open.means.jailing.line_sha256.as_deref() == Some(digest.as_str());
        (command, session.memory.calls.iter().filter(same).collect::<Vec<_>>())
    });
    calls.into_iter().find(|(_, calls)| !calls.is_empty())
}

/// The kind of jail that this command gets, and the profile that it can enforce.
fn settle(state: &JailState, jail: &Jail, profile: Profile) -> Result<(Hold, Profile), String> {
    match (state.hold, jail.level) {
        (Hold::Words, JailLevel::Require) => {
            Err(format!("`[jail] level` is `require`, and the jail does not work: {}", state.why))
        }
        _ if profile.is_quiet() && (jail.level == JailLevel::Off || !state.holds(profile)) => {
            Err(format!("nobody was asked about it, and profile `{}` does not work here", profile.name()))
        }
        (_, JailLevel::Off) | (Hold::Words, JailLevel::Auto) => Ok((Hold::Words, Profile::None)),
        (hold, _) if profile == Profile::Trial && !state.trial => Ok((hold, Profile::Read)),
        (hold, _) => Ok((hold, profile)),
    }
}

/// The file for the working directory. It is created if missing, since a bind mount needs an existing file.
fn folder_file(line: &str, ground: &Ground) -> Option<(PathBuf, File)> {
    let path = PathBuf::from(line::folder_file(line)?);
    if !is_folder_file(&path, &ground.temporary) {
        return None;
    }
    let options = &mut OpenOptions::new();
    let made =
        files::open_itself(&path, options.write(true).create(true).truncate(false).mode(0o600)).ok()?;
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
    become_program(shell, &[shell.as_os_str().as_bytes(), b"-c", &line], kept(variables, messaging))
}

/// Reports the working directory as the shell would have.
fn tell_folder(line: &str, ground: &Ground, env: &Env) -> Result<(), String> {
    let Some((_, mut file)) = folder_file(line, ground) else { return Ok(()) };
    let told = [env.cwd.as_os_str().as_bytes(), b"\n"].concat();
    file.set_len(0).and_then(|()| file.write_all(&told)).map_err(|error| error.to_string())
}

fn exec_direct(
    line: &str,
    direct: &Direct,
    project: &Path,
    variables: &Variables,
    messaging: bool,
) -> Result<Infallible, String> {
    match direct {
        Direct::Own(arguments) => exec_own(arguments, project, variables),
        Direct::Unheld(unheld) => {
            if line::has_no_input(line) {
                let nothing = File::open("/dev/null").map_err(|error| error.to_string())?;
                rustix::stdio::dup2_stdin(nothing).map_err(|error| error.to_string())?;
            }
            let words: Vec<&[u8]> = unheld.words.iter().map(String::as_bytes).collect();
            let mut variables: Variables =
                kept(variables, messaging).map(|(name, value)| (name.clone(), value.clone())).collect();
            unheld::restrain(&mut variables);
            become_program(&unheld.program, &words, variables.iter())
        }
    }
}

/// Tells our own program that an agent called it, and in which project, so that it confines the programs that
/// it starts like the agent's commands.
fn exec_own(arguments: &[String], project: &Path, variables: &Variables) -> Result<Infallible, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let arguments = arguments.iter().map(String::as_bytes);
    let words: Vec<&[u8]> = std::iter::once(program.as_os_str().as_bytes()).chain(arguments).collect();
    let prefix = starter(&program.to_string_lossy()).into();
    let mut variables = variables.clone();
    variables.insert(SHELL_PREFIX.to_owned(), prefix);
    variables.insert(CALLED_IN.to_owned(), project.into());
    become_program(&program, &words, kept(&variables, false))
}

/// The variables that a command gets.
fn kept(variables: &Variables, messaging: bool) -> impl Iterator<Item = (&String, &OsString)> {
    variables.iter().filter(move |(name, _)| messaging || !MESSAGING.contains(&name.as_str()))
}

/// Quotes text as one word of a shell line.
fn quoted(text: &[u8]) -> Vec<u8> {
    let inside = text.split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&b"'\\''"[..]);
    [b"'", &inside[..], b"'"].concat()
}
