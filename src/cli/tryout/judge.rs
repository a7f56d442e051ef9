//! Judges calls of the past as the hook would judge them today, in memory and under all four modes.
//!
//! Reads the configuration and the files that the gates read, for the folder of each call; writes nothing.
//! Invariant:
//! context and verdict come from the hook's own code, as in `simulate`.

use aops_core::config::in_force::{CONFIG_FILE, read_policy};
use aops_core::config::policy::{ModeLevel, Policy, Source, hold_in};
use aops_core::config::texts;
use aops_core::gate::{self, Context, danger, sandbox};
use aops_core::host;
use aops_core::host::past::PastCall;
use aops_core::model::call::{Effect, ToolCall};
use aops_core::model::client::Client;
use aops_core::model::event::Event;
use aops_core::model::gate_id::GateId;
use aops_core::model::named::Stored;
use aops_core::model::verdict::{Ruling, Verdict};
use aops_core::observe;
use aops_core::session::fact::{Fact, Opened};
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use aops_core::system::files;
use aops_core::text::json;
use aops_core::text::time;
use aops_core::tool::targets;
use aops_shell::class::{LineSetting, certain};
use aops_shell::leftovers::only_checks;
use aops_shell::quiet::{self, Quiet};
use aops_shell::syntax::{Ground, Word};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In rising order.
pub(super) const MODES: [ModeLevel; 4] =
    [ModeLevel::Observe, ModeLevel::Guard, ModeLevel::Loop, ModeLevel::Strict];
/// The index of mode `guard` among them, the mode of a person who switches nothing else on.
pub(super) const GUARD: usize = 1;

/// What a mode says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passes,
    /// What it would lose is saved first.
    Keeps(Stop),
    Asks(Stop),
    Refuses(Stop),
}

/// The gate that stops a call, and its rule if the gate has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) gate: GateId,
    pub(super) rule: Option<String>,
}

impl Stop {
    /// A danger rule by its id, another gate by its name.
    pub(super) fn name(&self) -> String {
        match (&self.rule, self.gate) {
            (Some(rule), GateId::Danger) => rule.clone(),
            (Some(rule), gate) => format!("{gate} {rule}"),
            (None, gate) => gate.to_string(),
        }
    }
}

/// The judgement of one call.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) outcomes: [Outcome; 4],
    /// For a shell line: how quiet mode would treat it.
    pub(super) quiet: Option<Quiet>,
    /// It changes the working tree; `checks`: it is a test run, a linter or similar.
    pub(super) changes: bool,
    pub(super) checks: bool,
    /// The folder it was made in is gone.
    pub(super) is_gone: bool,
    /// The call on one line, redacted.
    pub(super) line: String,
}

/// The sessions in which calls in one folder are judged.
struct Standing {
    /// A session before its first entry, used to look up what the call does and reaches.
    new: Session,
    modes: [Session; 4],
    is_gone: bool,
}

/// By client and folder; `None` if the configuration is invalid.
type Standings = HashMap<(&'static str, String), Option<Arc<Standing>>>;

pub(super) struct Judge<'a> {
    envs: [(Client, Env); 6],
    user: Option<(String, String)>,
    env: &'a Env,
    standings: Mutex<Standings>,
    /// Judgements by call and folder, so that the same call is judged once.
    known: Mutex<HashMap<u64, Option<Judged>>>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(env: &'a Env) -> Self {
        let path = env.user_config.join(CONFIG_FILE);
        let user = files::read_text(&path).ok().map(|text| (path.display().to_string(), text));
        let own = env.trying(true);
        let of = |client: Client| match own.clone() {
            // These clients cannot ask a person.
            own if client.is_registered_by_name() => Env { dry_run: true, ..own.of_host(client, None) },
            own => own,
        };
        let envs = Client::ALL.map(|client| (client, of(client)));
        Self { envs, user, env, standings: Mutex::default(), known: Mutex::default() }
    }

    /// `None` if the call cannot be judged: it has no folder, or the configuration there is invalid.
    pub(super) fn judge(&self, client: Client, call: &PastCall) -> Option<Judged> {
        let mut hasher = DefaultHasher::new();
        let mode = call.mode.as_ref().map(Stored::name);
        (client.name(), &call.cwd, mode, &call.tool, &call.input).hash(&mut hasher);
        let key = hasher.finish();
        if let Some(known) = lock(&self.known).get(&key) {
            return known.clone();
        }
        let judged = self.judge_anew(client, call);
        lock(&self.known).insert(key, judged.clone());
        judged
    }

    fn judge_anew(&self, client: Client, call: &PastCall) -> Option<Judged> {
        let plain = Path::new(&call.cwd).is_absolute() && !call.cwd.split('/').any(|part| part == "..");
        let standing = self.standing(client, &call.cwd).filter(|_| plain)?;
        let event = host::before_call(client, call).ok()?;
        let env = self.envs.iter().find(|(known, _)| *known == client).map_or(self.env, |(_, env)| env);
        let then = call.at_ms.unwrap_or(env.now_ms);
        let context = observe::call::again(env, &standing.new, &event, then);
        let judged = |session: &Session| match outcome(gate::judge(session, &event, &context)) {
            Outcome::Passes => kept(session, &context).map_or(Outcome::Passes, Outcome::Keeps),
            stopped => stopped,
        };
        let [observe, guard, looped, strict] = &standing.modes;
        let seen = context.call();
        let made = event.call()?;
        let line = json::text_in(&made.input, "command").filter(|_| made.key.tool == "Bash");
        Some(Judged {
            outcomes: [judged(observe), judged(guard), judged(looped), judged(strict)],
            quiet: self.quiet(&event, made, standing.new.policy()),
            changes: seen.is_some_and(|seen| seen.does.effect == Effect::Write && seen.does.touches_tree),
            checks: line.is_some_and(|line| only_checks(&line)),
            is_gone: standing.is_gone,
            line: sandbox::shown(&ToolCall {
                key: made.key.clone(),
                input: made.clipped.clone(),
                ..ToolCall::default()
            }),
        })
    }

    /// How quiet mode would treat a shell line, by its text alone.
    fn quiet(&self, event: &Event, call: &ToolCall, policy: &Policy) -> Option<Quiet> {
        let home = self.env.home.to_string_lossy();
        let ground = Ground { cwd: &event.cwd, home: &home, variables: &[] };
        let line = targets::line(&call.key.tool, &call.input, &ground)?;
        let listed =
            |program: &str, words: &[Word]| policy.effects.of_command("Bash", program, || certain(words));
        let around = LineSetting { ground, project: Some(&event.cwd), listed: &listed };
        Some(quiet::of(&line, &around))
    }

    fn standing(&self, client: Client, cwd: &str) -> Option<Arc<Standing>> {
        let key = (client.name(), cwd.to_owned());
        if let Some(known) = lock(&self.standings).get(&key) {
            return known.clone();
        }
        let made = self.stand(client, Path::new(cwd)).map(Arc::new);
        lock(&self.standings).insert(key, made.clone());
        made
    }

    fn stand(&self, client: Client, cwd: &Path) -> Option<Standing> {
        let env = self.envs.iter().find(|(known, _)| *known == client).map_or(self.env, |(_, env)| env);
        let user = self.user.as_ref().map(|(file, text)| Source { file, text });
        let (policy, origins) = read_policy(env, &texts::project(env, cwd), user).ok()?;
        let session = |mode: ModeLevel| {
            let mut policy = policy.clone();
            hold_in(&mut policy, &origins, mode);
            let mut session = Session::default();
            let opened =
                Opened { policy: Some(Box::new(policy)), folders: folders(env), ..Opened::default() };
            // The first entry of a session is always accepted.
            let _ = session.apply("tryout", &time::timestamp(env.now_ms), &Fact::Open(opened));
            session
        };
        let modes = MODES.map(session);
        let mut new = Session::default();
        new.memory.configured.policy.clone_from(&modes[3].memory.configured.policy);
        new.memory.watched.folders = folders(env);
        Some(Standing { new, modes, is_gone: !cwd.is_dir() })
    }
}

fn folders(env: &Env) -> BTreeMap<String, String> {
    env.folders.iter().cloned().collect()
}

fn outcome(verdict: Verdict) -> Outcome {
    let Some(gate) = verdict.gate else { return Outcome::Passes };
    let stop = Stop { gate, rule: verdict.rule };
    match verdict.ruling {
        Ruling::Pass | Ruling::Allow => Outcome::Passes,
        Ruling::Ask | Ruling::Defer => Outcome::Asks(stop),
        Ruling::Deny => Outcome::Refuses(stop),
    }
}

/// The rule that would ask, if the line's losses were not saved.
fn kept(session: &Session, context: &Context) -> Option<Stop> {
    let rule = danger::kept_by(session, context.call()?)?;
    Some(Stop { gate: GateId::Danger, rule: Some(rule.id().to_owned()) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
