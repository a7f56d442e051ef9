//! `KEYS`: every key of the configuration with a single value, its form, and how a project may change it.
//!
//! Reads nothing, writes nothing. Invariant: parser, `policy show`, the editors' schema and the page of
//! documentation all follow from this table; tests check the last two.

use super::jail::{Harness, JailLevel};
use super::network::{NetworkMode, Publish};
use super::quiet::QuietLevel;
use super::value::{Field, Form, Value};
use super::witness::{WitnessAttest, WitnessGit};
use super::{DangerLevel, Interactive, Intervene, Level, ModeLevel, OnPause, Policy, Rehearse};
use aops_shell::danger::{RULES, Rule};
use std::sync::LazyLock;

pub struct Key {
    /// Table and key, separated by a dot.
    pub name: &'static str,
    pub form: Form,
    pub project: Project,
    pub about: &'static str,
    value: KeyValue,
}

/// How a key's value is read and set; setting a value of another form changes nothing.
enum KeyValue {
    Field(fn(&Policy) -> Value, fn(&mut Policy, Value)),
    /// The level of a danger rule.
    Danger(&'static Rule),
}

/// How a project's file may change the value it finds: only to a stricter one, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    /// A larger value is stricter.
    Raise,
    /// A smaller value is stricter.
    Lower,
    /// Entries are added to the user's.
    Add,
    /// It may set the value if the user did not.
    Fill,
    /// Only the user may set it: it runs a program, or declares something harmless.
    Keep,
}

/// `table.field: form, what a project may do, about;` for every key.
macro_rules! keys {
    ($($table:ident . $field:ident: $form:expr, $project:ident, $about:literal;)+) => {
        vec![$(Key {
            name: concat!(stringify!($table), ".", stringify!($field)),
            form: $form,
            project: Project::$project,
            about: $about,
            value: KeyValue::Field(
                |policy| Field::to_value(&policy.$table.$field),
                |policy, value| {
                    if let Some(value) = Field::from_value(value) {
                        policy.$table.$field = value;
                    }
                },
            ),
        }),+]
    };
}

const LEVEL: Form = Form::OneOf(Level::WORDS);

/// In the order of the documentation.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let switch = |rule: &'static Rule| Key {
        name: rule.key,
        form: Form::OneOf(DangerLevel::WORDS),
        project: Project::Raise,
        about: rule.reason,
        value: KeyValue::Danger(rule),
    };
    fields().into_iter().chain(RULES.iter().map(switch)).collect()
});

/// The keys that are fields of the policy.
#[expect(clippy::too_many_lines, reason = "a table: one entry for each key")]
fn fields() -> Vec<Key> {
    keys! {
    mode.level: Form::OneOf(ModeLevel::WORDS), Raise,
        "how much of the loop is enforced; a gate that a file sets keeps its own level";
    mode.observe: Form::Flag, Lower, "an older name of `level = \"observe\"`";
    mode.rehearse: Form::OneOf(Rehearse::WORDS), Raise, "in mode `observe`: the mode whose refusals are recorded";
    small.files: Form::Whole(0, 1_000), Lower,
        "in mode `loop`: a task with more files than this and more lines than `small.lines` needs a plan, as does one with four times as many";
    small.lines: Form::Whole(0, 100_000), Lower,
        "in mode `loop`: the same for lines added and removed";
    small.never: Form::Names, Add, "in mode `loop`: files whose change always needs a plan, by name or glob";
    evidence.test: Form::Text, Fill,
        "a shell command that must have succeeded after the last change before a task stops";
    close.format: Form::Text, Fill,
        "a shell command that formats the files, to be run after the last change and before the work is verified";
    gates.sandbox: LEVEL, Raise, "no changes before the prompt is hydrated and the plan reviewed";
    gates.critic: LEVEL, Raise, "the plan is reviewed if the workflow asks for it";
    gates.audit: LEVEL, Raise, "an audit that was drawn is started before more is written";
    gates.checks: LEVEL, Raise, "a failing `[[check]]` holds up what it guards until it passes";
    gates.qa: LEVEL, Raise, "work is verified by another agent before it stops";
    gates.reflect: LEVEL, Raise, "verified work is reflected on before it stops";
    gates.commit: LEVEL, Raise, "work is committed before it stops";
    gates.push: LEVEL, Raise, "commits are pushed before it stops";
    gates.close: LEVEL, Raise, "sets `commit` and `push`";
    audit.rate: Form::Share, Raise, "share of writes after which an audit is drawn; 0 is never, 1 always";
    audit.at_least_every: Form::Whole(1, 10_000), Lower,
        "writes after which an audit is due whatever the draw says";
    audit.grace: Form::Whole(0, 1_000), Lower, "further writes that are allowed while an audit is due";
    stop.refusals: Form::Whole(1, 10), Raise, "how often a stop is refused without progress before the turn may end";
    hydration.deadline_ms: Form::Whole(50, 5_000), Raise,
        "how long a prompt waits for its context, in milliseconds";
    effects.read: Form::Names, Keep, "tools and commands that only read, by name or glob, or as `Bash(cargo test*)`";
    effects.write: Form::Names, Add,
        "tools and commands that write, by name or glob, or as `Bash(gh pr*)`; takes precedence over `effects.read`";
    effects.examples: Form::Names, Add, "calls that must read; with a leading `!`, must not";
    tracker.command: Form::Text, Keep, "the tracker's program; `none`: no tracker";
    memory.server: Form::Server, Keep, "an MCP memory server that is already running";
    insights.command: Form::Text, Keep,
        "the model that `insights --analyse` asks: a program with its options, the prompt on its input";
    insights.prompts: Form::Flag, Lower, "what you type may leave this machine: to the database that machines share, and to a collector";
    checkpoint.interactive: Form::OneOf(Interactive::WORDS), Raise,
        "around which phases an interactive session keeps checkpoints";
    checkpoint.max_file_mb: Form::Whole(1, 1_024), Raise,
        "larger files are left out of checkpoints, in megabytes";
    checkpoint.max_tree_mb: Form::Whole(1, 65_536), Raise,
        "the largest size of a checkpoint, in megabytes; above it the largest files are left out";
    checkpoint.keep: Form::Whole(1, 1_000), Raise, "checkpoints kept when old ones are collected";
    checkpoint.intervene: Form::OneOf(Intervene::WORDS), Keep,
        "work in which `qa-verifier` found issues is kept and mended, or rolled back and done anew";
    undo.files: Form::Whole(1, 1_000_000), Raise, "how many files are kept before one command; with more, it needs your approval";
    undo.mb: Form::Whole(1, 65_536), Raise, "how many megabytes are copied before one command; with more, it needs your approval";
    undo.look_ms: Form::Whole(50, 5_000), Raise,
        "how long we look for what a command would lose, in milliseconds; after that, it needs your approval";
    undo.keep_days: Form::Whole(1, 3_650), Raise, "days after which what was kept is deleted";
    undo.keep_mb: Form::Whole(1, 1_048_576), Raise,
        "megabytes kept altogether; above that the oldest is deleted, if it is older than a day";
    jail.level: Form::OneOf(JailLevel::WORDS), Raise,
        "whether the kernel confines shell commands: `auto` if it can, `require` blocks them if it cannot";
    jail.layer_mb: Form::Whole(16, 1_048_576), Lower, "the largest throwaway layer of one command, in megabytes";
    jail.test_network: Form::Flag, Lower, "a reviewer's commands have the network";
    jail.messaging: Form::Flag, Lower, "commands may send messages into sessions of the client";
    jail.harness: Form::OneOf(Harness::WORDS), Raise,
        "how the hooks and servers that the client starts with a shell are jailed";
    jail.without: Form::Names, Keep, "programs that run without the jail, each in a line of its own";
    network.mode: Form::OneOf(NetworkMode::WORDS), Raise,
        "what commands reach: everything, everything through the session's own network, or only hosts on the list; `ask` asks you about the others";
    network.allow: Form::Hosts, Lower, "hosts that may be reached, as `host`, `*.host` or `host:port`; without a port 443, 80 and 22";
    network.deny: Form::Hosts, Add, "hosts that are never reached, even if something else allows them";
    network.derive: Form::Flag, Lower, "hosts of lock files, of package managers' settings and of git remotes may be reached";
    network.private: Form::Hosts, Lower, "hosts that may resolve to a private address";
    network.local: Form::Ports(&[]), Lower, "ports of this machine that commands reach at `127.0.0.1`";
    network.publish: Form::Ports(Publish::WORDS), Keep, "ports of commands' servers that are opened on this machine's loopback";
    network.sockets: Form::Names, Lower, "unix sockets that commands see; a container engine's socket leads around the list";
    network.servers: Form::Flag, Raise, "the list also holds for hooks and servers that the client starts with a shell";
    network.ech: Form::Flag, Lower, "a TLS hello may hide a second name (ECH), as browsers' hellos do";
    quiet.allow: Form::OneOf(QuietLevel::WORDS), Lower,
        "which questions of the client are answered for you: none, those about lines proven to only read, or also those about lines that the jail contains";
    quiet.network: Form::Names, Lower, "programs that may use the network to read, such as `gh`";
    quiet.unattended: Form::Flag, Lower, "also in a session in which nobody sits at the client";
    witness.url: Form::Names, Keep, "witnesses that are asked to sign the log's checkpoints, as `http://127.0.0.1:7380`";
    witness.key: Form::Names, Keep, "the public keys of these witnesses";
    witness.quorum: Form::Whole(0, 64), Keep, "how many of them must have signed; 0 means all";
    witness.git: Form::OneOf(WitnessGit::WORDS), Raise,
        "whether the log's checkpoints go into git notes of the project, pushed with the work";
    witness.attest: Form::OneOf(WitnessAttest::WORDS), Raise,
        "whether commits of sessions carry a signed statement in git notes of the project, pushed with the work";
    fleet.url: Form::Database, Keep, "the PostgreSQL that machines share, as `postgresql://aops@db.example/aops`";
    fleet.per_repository: Form::Whole(1, 1_000), Lower, "how many runs of one repository may go at the same time";
    fleet.announce: Form::Text, Keep,
        "a shell command that tells people about a question; it gets JSON on its input";
    fleet.defer: Form::Flag, Lower, "a question of a session without a terminal waits for an answer from anywhere";
    fleet.engine: Form::Text, Keep, "the gateway of the engine, for people and workers, as `https://runs.example`";
    fleet.identity: Form::Text, Keep, "the key of the engine's server, as `publickeyv1_…`: a worker accepts only calls signed with it";
    fleet.gateway_keys: Form::Names, Keep, "the keys of the gateways whose answers count here, each as in `gateway.key.pub`";
    fleet.listen: Form::Text, Keep, "the address and port on which the engine's server reaches the worker of this machine";
    fleet.certificate: Form::Text, Keep, "the certificate of that port (PEM), with its key beside it as `.key`: the port speaks TLS";
    fleet.labels: Form::Names, Keep, "labels of this machine: runs that ask for them come here";
    fleet.reattach: Form::Period, Keep, "how long a step continues on a machine that is cut off from the engine";
    fleet.grace: Form::Period, Keep, "how long a step has to end itself before it is killed";
    fleet.lost_after: Form::Period, Keep, "how long a machine may be away before its runs continue elsewhere";
    fleet.otlp: Form::Text, Keep, "a collector that gets the trace of each session that ended, as `https://otlp.example`";
    fleet.page: Form::Text, Keep, "where people open the gateway's page, if that is not `fleet.engine`, as `https://approve.example`";
    run.claude: Form::Text, Keep, "the client that `run` starts";
    run.notify: Form::Text, Keep, "a shell command, started when a run pauses or ends";
    run.on_pause: Form::OneOf(OnPause::WORDS), Raise,
        "what a queue of runs does when one of them does not pass";
    deliver.branch: Form::Text, Keep,
        "the branch on which a run delivers its work; `{run}` is its id; `none`: it stays in the working tree";
    deliver.pull_request: Form::Text, Keep,
        "a shell command that makes the pull request; `auto`: the forge's own program; `none`: no pull request";
    }
}

impl Key {
    pub fn of(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    pub fn get(&self, policy: &Policy) -> Value {
        match &self.value {
            KeyValue::Field(get, _) => get(policy),
            KeyValue::Danger(rule) => policy.danger_level(rule).to_value(),
        }
    }

    pub fn set(&self, policy: &mut Policy, value: Value) {
        match &self.value {
            KeyValue::Field(_, set) => set(policy, value),
            KeyValue::Danger(rule) => {
                if let Some(level) = DangerLevel::from_value(value) {
                    policy.danger.insert(rule.id().to_owned(), level);
                }
            }
        }
    }

    pub fn table(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(table, _)| table)
    }

    pub fn last(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, last)| last)
    }

    /// The value after a project asked for `wanted`, or why it must not change it.
    pub fn tightened(&self, now: &Value, wanted: Value) -> Result<Value, String> {
        let old = now.rank(self.form);
        let new = wanted.rank(self.form);
        let refused = |why: &str| Err(format!("a project {why}, and without it this is {now}, not {wanted}"));
        match (self.project, now, wanted.clone()) {
            (Project::Raise, ..) if new < old => refused("may only raise this"),
            (Project::Lower, Value::Flag(_), _) if new > old => refused("may only switch this off"),
            (Project::Lower, ..) if new > old => refused("may only lower this"),
            (Project::Lower, Value::Names(old), Value::Names(new)) => {
                match new.iter().find(|name| !old.contains(name)) {
                    Some(name) => Err(format!("a project may only lower this, and {name:?} is not in it")),
                    None => Ok(wanted),
                }
            }
            (Project::Lower, Value::Ports(old), Value::Ports(new)) => {
                match new.iter().find(|port| !old.contains(port)) {
                    Some(port) => Err(format!("a project may only lower this, and {port} is not in it")),
                    None => Ok(wanted),
                }
            }
            (Project::Raise | Project::Lower, ..) | (Project::Fill, Value::Nothing, _) => Ok(wanted),
            (Project::Add, Value::Names(old), Value::Names(new)) => {
                let more = new.into_iter().filter(|name| !old.contains(name));
                Ok(Value::Names(old.iter().cloned().chain(more).collect()))
            }
            (Project::Keep, Value::Names(old), Value::Names(new)) => {
                match new.iter().find(|name| !old.contains(name)) {
                    Some(name) => Err(format!("only the user may add {name:?}")),
                    None => Ok(now.clone()),
                }
            }
            _ if *now == wanted => Ok(wanted),
            _ => refused("may not set this"),
        }
    }
}

/// One field of a `[[rule]]` or `[[check]]`.
#[derive(Debug)]
pub struct EntryField {
    pub name: &'static str,
    pub form: Form,
    pub needed: bool,
    pub about: &'static str,
}

impl EntryField {
    pub(super) const fn needed(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, form, needed: true, about }
    }

    pub(super) const fn optional(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, form, needed: false, about }
    }
}
