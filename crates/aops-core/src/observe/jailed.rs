//! What the gates need to know about the jail: whether it can be enforced, whether a line may be tried in it,
//! whether a call ran in it.
//!
//! Tries the kernel when a session starts; reads the line of a call and the receipt of one that ended.
//! Invariant: if the client's variable does not name us, nothing here costs anything.

use crate::checkpoint::capture::is_ignored;
use crate::config::in_force::CONFIG_FILE;
use crate::config::policy::Policy;
use crate::config::policy::jail::JailLevel;
use crate::gate::Unheld;
use crate::gate::jail::{LED_PAST, runs_shell};
use crate::host::claude::settings::prefix;
use crate::jail::enter::what_holds;
use crate::jail::network;
use crate::jail::plan::Ground;
use crate::jail::receipt;
use crate::jail::unheld::Search;
use crate::model::call::{Effect, ToolCall, ToolResult};
use crate::model::client::Ability;
use crate::model::event::{Event, EventKind};
use crate::model::profile::{Hold, JailState, Loss, Losses, LostFile, Profile, Proof};
use crate::observe::scratch::temporary_output;
use crate::observe::tampering;
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::env::{Env, SHELL_PREFIX, names_us, starts_through_us};
use crate::system::files::{make_all, make_folders};
use crate::system::superusers;
use crate::text::json;
use crate::text::template::one_line;
use crate::tool::effect::CallSetting;
use crate::tool::targets;
use aops_shell::class::is_only_unknown_beside;
use aops_shell::handed::{self, Outside};
use aops_shell::lasting::{Lasting, lasts};
use aops_shell::leftovers::{is_made_again, only_checks};
use aops_shell::online::needs_network;
use aops_shell::outside::outside;
use aops_shell::syntax::{Ground as LineGround, Line, Simple, Word};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Prefix of a text that another session sent.
const MESSAGE: &str = "<cross-session-message";

/// A prompt that another session sent, not a person.
pub fn is_message(prompt: &str) -> bool {
    prompt.trim_start().starts_with(MESSAGE)
}

/// Tells the code that starts programs what the session knows about its jail. If it knows nothing yet, that
/// code tries for itself.
pub fn tell(env: &Env, policy: &Policy, jail: Option<&JailState>, folder: &Path) {
    let off = policy.jail.level == JailLevel::Off;
    if let Some(hold) = jail.map(|jail| jail.hold).filter(|_| !off).or(off.then_some(Hold::Words)) {
        let _ = env.told.hold.set(hold);
        if let Some(network) = network::held(&policy.network, &env.home, || Some(folder.to_owned())) {
            let _ = env.told.network.set(network);
        }
    }
}

/// The jail of a session that starts now, and the message for the person about it.
pub fn at_start(env: &Env, policy: &Policy, event: &Event) -> (Option<JailState>, Option<String>) {
    let jail = &policy.jail;
    if jail.level == JailLevel::Off || env.dry_run {
        return (None, None);
    }
    if !env.is_jailing() {
        let foreign = env.client.shell_prefix.as_ref().map(|prefix| {
            let what = if names_us(prefix) {
                "us, but not as the program that starts commands"
            } else {
                "another program"
            };
            format!(
                "`{SHELL_PREFIX}` names {what}, so shell commands are judged only by their text: `{}`\n\
                hint: `aops-hook install` sets it",
                one_line(prefix, 120)
            )
        });
        let required = (jail.level == JailLevel::Require).then(|| "the jail is required, and the client does not start commands through us: no command may run\nhint: run `aops-hook install` and start the client again".to_owned());
        return (None, required.or(foreign).or_else(|| unheeded(env)));
    }
    // Only an existing folder can be guarded.
    let _ = make_all(&env.user_config);
    let _ = make_all(&env.data.join("sessions"));
    if rustix::process::geteuid().is_root() {
        // Every user's client reads this folder, whatever our umask is.
        // Ours is next to the client's, unless a test moves it.
        let beside = env.administered.parent() == env.managed().parent();
        for folder in [Some(env.managed()), beside.then(|| env.administered.clone())].iter().flatten() {
            for made in make_folders(folder, 0o755).unwrap_or_default() {
                let _ = fs::set_permissions(made, fs::Permissions::from_mode(0o755));
            }
        }
    }
    let project = tampering::project(env, event);
    if let Some((name, by)) = env.led_past() {
        let why = format!(
            "`{name}`, which `{}` sets, makes the client's shell run code before the jail",
            one_line(&by.display().to_string(), 200)
        );
        let told = format!("no shell command runs here: {why}\nhint: {LED_PAST}");
        let project = project.display().to_string();
        let state = JailState { hold: Hold::Words, led_past: true, project, trial: false, why };
        return (Some(state), Some(told));
    }
    let mut ground = Ground::here(env, &project);
    ground.layer_mb = jail.layer_mb;
    let state = match what_holds(&ground, Profile::Trial) {
        Ok(state) => state,
        // Each command finds out for itself, and does not run if it cannot be confined.
        Err(why) => {
            let why = one_line(&why, 200);
            return (
                None,
                Some(format!("we could not find out whether the kernel can confine shell commands: {why}")),
            );
        }
    };
    let told = shortfall(&state).map(|words| {
        format!("{words} ({})\nhint: `aops-hook doctor` names what is missing", one_line(&state.why, 200))
    });
    let doubled = state.is_on().then(|| doubled(env)).flatten();
    (Some(state), told.into_iter().chain(doubled).reduce(|all, more| format!("{all}\n{more}")))
}

/// Another name of a file that guards leads around every jail. A backup of hard links makes such names.
fn doubled(env: &Env) -> Option<String> {
    let files =
        ["settings.json", "aops/keys/note.key", "aops/keys/ml-dsa.key"].map(|name| env.config.join(name));
    let mut files = files.into_iter().chain([env.user_config.join(CONFIG_FILE)]);
    let has_two = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.nlink() > 1);
    let path = files.find(has_two)?;
    let path = path.display();
    Some(format!(
        "`{path}` has a second name (a hard link), by which any command can reach it\n\
        hint: give it a single name: `cp -p '{path}' '{path}.new' && mv '{path}.new' '{path}'`"
    ))
}

/// The message for the person if the jail is incomplete.
fn shortfall(state: &JailState) -> Option<&'static str> {
    match (state.hold, state.trial) {
        (Hold::Namespaces, true) => None,
        (Hold::Namespaces, false) => {
            Some("throwaway layers do not work here, so unknown commands wait for the plan")
        }
        (Hold::Landlock, _) => {
            Some("namespaces do not work here, so Landlock confines shell commands, without throwaway layers")
        }
        (Hold::Seatbelt, _) => Some("the macOS sandbox confines shell commands, which is untested"),
        (Hold::Words, _) => {
            Some("the kernel does not confine shell commands here, so they are judged only by their text")
        }
    }
}

/// The user's settings name us, but the client does not start commands through us.
fn unheeded(env: &Env) -> Option<String> {
    let file = env.config.join("settings.json");
    let named = prefix::found(&tampering::settings(&file.to_string_lossy()));
    named.filter(|value| env.host.can(Ability::StartsShellsThroughUs) && starts_through_us(value)).map(|_| {
        format!(
            "`{}` sets `{SHELL_PREFIX}`, but the client does not start commands through us, so they are judged only by their text\nhint: start the client again, and check whether a project's settings set it again",
            file.display()
        )
    })
}

/// How the jail can run a line.
#[derive(Default)]
pub struct Looked {
    /// We do not know whether it changes anything, and it can be tried out.
    pub unknown: bool,
    /// It only reads, but needs the network for that.
    pub online: bool,
    /// A program in it that cannot be jailed.
    pub unheld: Unheld,
    /// Why it cannot be tried out, although it is not known to change anything.
    pub lasts: Option<&'static str>,
}

pub fn look(
    env: &Env,
    session: &Session,
    call: &ToolCall,
    line: Option<&Line>,
    around: &CallSetting,
    effect: Effect,
) -> Looked {
    let on = session.memory.client.jail.as_ref().is_some_and(JailState::is_on);
    let Some(line) = line.filter(|_| on && runs_shell(call)) else { return Looked::default() };
    let root = Path::new(around.line.project.unwrap_or(around.line.ground.cwd));
    let is_free = |simple: &Simple, word: &Word| temporary_output(env, root, simple, word).is_some();
    let stays = effect == Effect::Write
        && around.listed.is_none()
        && is_only_unknown_beside(line, &around.line, &is_free);
    let unknown = stays && !outside(line);
    let lasting = if is_background(call) { Some(Lasting::Background) } else { lasts(line) };
    let lasts = lasting.filter(|_| unknown).map(why_it_lasts);
    let online = effect == Effect::Read && needs_network(line, &around.line);
    let looked = |unheld| Looked { unknown: unknown && lasts.is_none(), online, unheld, lasts };
    let search =
        Search { env, cwd: Path::new(around.line.ground.cwd), without: &session.policy().jail.without };
    if let Some(alone) = search.of_command(&line.text) {
        let configured = || alone.configured(env).map(|file| file.display().to_string());
        let fixed = |path: &str| superusers::is_out_of_reach(&search.cwd.join(path));
        let around = Outside { reads: effect == Effect::Read, fixed: &fixed };
        let hands = handed::unknown(&alone.words, &around).or_else(configured);
        return looked(Unheld::Alone { program: alone.words[0].clone(), hands });
    }
    let within = first_words(&line.text).into_iter().find(|word| search.leaving(word).is_some());
    looked(within.map_or(Unheld::Nothing, Unheld::Within))
}

fn why_it_lasts(lasting: Lasting) -> &'static str {
    match lasting {
        Lasting::Background => {
            "it would continue in the background, but what runs before the plan ends with its command"
        }
        Lasting::Server => {
            "it starts a server, which nobody could reach: what is tried out before the plan has a network of its own and ends with its command"
        }
    }
}

/// The client does not wait for its end.
pub fn is_background(call: &ToolCall) -> bool {
    let is_set = |input: &json::Json| matches!(input.get("run_in_background"), Some(json::Json::Bool(true)));
    call.key.tool == "Monitor" || json::read(&call.input).is_ok_and(|input| is_set(&input))
}

/// Splits a line into commands by its text alone. Quotes are ignored, so it may split too often, but never
/// too rarely.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.split([';', '|', '&', '\n', '(', ')', '{', '}', '`']).filter(|part| !part.trim().is_empty())
}

fn assigns(word: &str) -> bool {
    word.contains('=')
}

fn first_words(text: &str) -> Vec<String> {
    const BEFORE: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "time"];
    let command = |word: &&str| !assigns(word) && !BEFORE.contains(word);
    let firsts = commands(text).filter_map(|part| words(part).find(command));
    firsts.map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
}

/// Splits a command into words as a shell does: other white space, such as U+00A0, is part of a name there.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split([' ', '\t', '\n']).filter(|word| !word.is_empty())
}

/// The proof of how a command ran, and whether it is missing. A command that never ran needs none.
pub fn proof(
    env: &Env,
    folder: &Path,
    session: &Session,
    event: &Event,
    open: &OpenCall,
) -> (Option<Proof>, bool) {
    let Some(call) = event.call().filter(|_| open.means.jailing.profile.is_some() && !env.dry_run) else {
        return (None, false);
    };
    let ran = event.kind() == EventKind::PostToolUse || call.error.starts_with(EXIT.trim_end());
    if !ran {
        return (None, false);
    }
    let same = |other: &&OpenCall| {
        other.call.id != call.key.id && other.means.jailing.line_sha256 == open.means.jailing.line_sha256
    };
    let same: Vec<&str> =
        session.memory.calls.iter().filter(same).map(|other| other.call.id.as_str()).collect();
    let mut proof = receipt::take(folder, &call.key.id, &same, !is_background(call) && !call.unended);
    // An answer in the person's place is valid only for its own profile.
    let wanted = open.means.quiet.as_ref().map(|quiet| quiet.level.profile());
    let holds =
        |proof: &Proof| wanted.is_none_or(|wanted| proof.hold == Hold::Namespaces && proof.profile >= wanted);
    let unproven = !proof.as_ref().is_some_and(holds);
    if let Some(proof) = &mut proof {
        keep_results(&mut proof.lost, session, call, open);
        if matches!(proof.profile, Profile::Trial | Profile::QuietWork) {
            add_temporary(env, session, event, call, &mut proof.lost);
        }
    }
    (proof, unproven)
}

/// Adds the temporary files in which the line itself stores output: they are lost with the layer, too.
fn add_temporary(env: &Env, session: &Session, event: &Event, call: &ToolCall, lost: &mut Losses) {
    let home = env.home.to_string_lossy();
    let ground = LineGround { cwd: &event.cwd, home: &home, variables: &[] };
    let line = targets::line(&call.key.tool, &call.input, &ground).filter(|line| line.text.contains('>'));
    let root =
        session.memory.client.jail.as_ref().map(|jail| PathBuf::from(&jail.project)).unwrap_or_default();
    for simple in line.iter().flat_map(|line| &line.commands) {
        let files = simple.writes.iter().filter_map(|word| temporary_output(env, &root, simple, word));
        lost.files.extend(files.map(|path| LostFile { loss: Loss::Made, path }));
    }
}

/// How the client reports the exit code of a failed command.
const EXIT: &str = "Exit code ";

/// The exit code that the client reported.
pub fn exit_code(error: &str) -> Option<i32> {
    error.strip_prefix(EXIT)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Error texts (lowercase) of programs that could not reach another machine.
pub(super) const UNREACHED: [&str; 14] = [
    "could not connect to",
    "could not resolve",
    "connection refused",
    "dns error",
    "eai_again",
    "econnrefused",
    "enotfound",
    "failed to connect to",
    "failed to lookup address",
    "name or service not known",
    "name resolution",
    "network is unreachable",
    "network unreachable",
    "no such host",
];

/// This command failed in a layer without a network, and the missing network explains it.
pub(super) fn is_offline(session: &Session, event: &Event, proof: &Proof) -> bool {
    let has_network = event.by_our_agent().is_some() && session.policy().jail.test_network;
    let Some(call) = event.call().filter(|_| proof.profile == Profile::Trial && !has_network) else {
        return false;
    };
    let printed = call.result.as_ref().map(ToolResult::lines).unwrap_or_default();
    let said = [&call.error, &printed].map(|text| text.to_lowercase());
    let failed = event.kind() == EventKind::PostToolUseFailure;
    failed && UNREACHED.iter().any(|words| said.iter().any(|text| text.contains(words)))
}

/// At most this many files of one command are named in the ledger.
const MOST_NAMED: usize = 20;

/// Keeps those of the lost changes that a person would miss: for a test run, neither files that tools make
/// again nor those that git ignores.
fn keep_results(lost: &mut Losses, session: &Session, call: &ToolCall, open: &OpenCall) {
    if lost.is_empty() {
        return;
    }
    let command = json::read(&call.input).ok().and_then(|input| input.text_of("command")).unwrap_or_default();
    if open.means.tests || only_checks(&command) {
        let root =
            session.memory.client.jail.as_ref().map(|jail| PathBuf::from(&jail.project)).unwrap_or_default();
        lost.files.retain(|file| {
            let ignored = || file.loss == Loss::Made && is_ignored(&root, &file.path);
            !is_made_again(&file.path) && !ignored()
        });
    }
    lost.cut(MOST_NAMED);
}
