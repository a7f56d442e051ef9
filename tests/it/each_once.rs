//! What an event asks of the system, call by call: nothing twice, and after many sessions no more than after
//! a few.

use crate::faults::passed;
use crate::support::{BINARY, NO_TRACKER, Sandbox, Session};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Files that one event may open more than once, and why. The first word is the event, or `any`; `SESSION` is
/// the session's id.
const TWICE: &[(&str, &str, &str)] = &[
    (
        "UserPromptSubmit",
        "/ledger.jsonl",
        "the session is unlocked while sources are asked, and judged as it is then",
    ),
    ("UserPromptSubmit", "/.lock", "the same"),
    ("UserPromptSubmit", "/session-state.json", "the same"),
    ("UserPromptSubmit", "/heads.index", "the same"),
    ("UserPromptSubmit", "/context/.new", "looked for, then made"),
    (
        "any",
        "/heads.jsonl",
        "each batch of entries is compared with the newest head, and gets one of its own",
    ),
    ("any", "/.session-state.spare", "the state is swapped with each batch of entries"),
    ("any", "/leases/*", "what others hold is looked at under the lock, and again when something changes"),
    (
        "PreToolUse",
        "/proc/self/cgroup",
        "how many cores there are, for the walk of a checkpoint: a library asks, too",
    ),
    ("PreToolUse", "/sys/fs/cgroup/*", "the same"),
    (
        "PreToolUse",
        "/aops/checkpoints/*",
        "the first checkpoint of a task: the list is read, then appended to",
    ),
    (
        "PreToolUse",
        "/.claude/checkpoints/*",
        "the same: read under the lock, and replaced only as it was read",
    ),
    ("PreToolUse", "/.git/*", "the same: what git ignores, and our own line in it"),
    ("PreToolUse", "/etc/gitconfig", "the same: where git's own list of ignored files is, for each walk"),
    ("PreToolUse", "/.gitconfig", "the same"),
    ("PreToolUse", "/.config/git/config", "the same"),
    ("PreToolUse", "/ledger.jsonl", "the same: where the task began"),
    ("PreToolUse", "/SESSION.jsonl", "the same: how long the client's record is then"),
    ("PostToolUse", "/calls.index", "of a call that was refused: looked up, then brought up to date"),
    ("Stop", "/heads.index", "with each head"),
    ("Stop", "/heads.lock", "with each head"),
    ("Stop", "/ledger.jsonl", "the insights and the log read what was just written"),
    ("SessionStart", "/heads.index", "with each head"),
    ("SessionStart", "/ledger.jsonl", "looked for, then made"),
    ("SessionStart", "/.lock", "looked for, then made"),
    ("SessionStart", "/proc/*", "whether a process is still the same is asked at each use"),
    ("SessionStart", "/clients/*", "read, then replaced"),
    ("SessionStart", "/config.toml", "read, and marked as it is when the session begins"),
    (
        "SessionStart",
        "/project/.claude/settings.json",
        "what it registers, and what of it runs without asking",
    ),
    ("SessionStart", "/project/.claude/settings.local.json", "the same"),
    ("SessionStart", "/plugins/installed_plugins.json", "which plugins greet, and which approve"),
    ("SessionStart", "/plugins/installed_plugins_v2.json", "the same"),
];

/// The calls of one event: those of the program and its threads. What git and other programs do is theirs.
struct Calls(Vec<String>);

impl Calls {
    fn of(sandbox: &Sandbox, event: &str, payload: &Value) -> Self {
        let trace = sandbox.tmp().join("trace");
        let mut strace = sandbox.command("strace");
        strace.args(["-f", "-y", "-s", "4096", "-o", trace.to_str().unwrap(), BINARY, event]);
        let output = strace.envs(sandbox.inside_client()).write_stdin(payload.to_string()).output();
        let output = output.expect("`strace` is needed: install the package of that name");
        assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
        let text = fs::read_to_string(&trace).unwrap();
        let lines = || {
            text.lines().filter_map(|line| line.split_once(' ')).map(|(pid, call)| (pid, call.trim_start()))
        };
        let own = lines().next().unwrap().0;
        let others: BTreeSet<&str> = lines()
            .filter(|(pid, call)| *pid != own && call.starts_with("execve("))
            .map(|(pid, _)| pid)
            .collect();
        // A call that another thread's interrupted is told in two lines. A debug build asks before each close
        // whether the file is open; the one that ships does not.
        let begins =
            |call: &&str| call.starts_with(|c: char| c.is_ascii_lowercase()) && !call.contains("F_GETFD");
        let calls = lines().filter(|(pid, _)| !others.contains(pid)).map(|(_, call)| call).filter(begins);
        Self(calls.map(str::to_owned).collect())
    }

    /// How many there are but for those that the machine decides: looks at each ancestor, and waits for
    /// another process.
    fn of_its_own(&self) -> usize {
        let waits = ["ppoll(", "wait4(", "futex(", "read("];
        self.0
            .iter()
            .filter(|call| !call.contains("/proc/") && !waits.iter().any(|wait| call.starts_with(wait)))
            .count()
    }

    fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|call| call.starts_with(&format!("{name}("))).count()
    }

    /// The path of every file that was opened, or tried; folders are not among them, nor what was only looked
    /// up.
    fn opened(&self) -> Vec<String> {
        let path = |call: &String| {
            let rest = call.strip_prefix("openat(").or_else(|| call.strip_prefix("open("))?;
            let (folder, rest) = rest.split_once('"')?;
            let (path, flags) = rest.split_once('"')?;
            let folder = folder
                .split_once('<')
                .and_then(|(_, folder)| folder.rsplit_once('>'))
                .map(|(folder, _)| folder);
            let whole = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", folder?) };
            (!flags.contains("O_DIRECTORY") && !flags.contains("O_PATH")).then_some(whole)
        };
        self.0.iter().filter_map(path).collect()
    }

    #[track_caller]
    fn opens_each_once(&self, event: &str, session: &Session, what: &str) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for path in self.opened() {
            *counts.entry(path.replace(&session.id, "SESSION")).or_default() += 1;
        }
        let is = |path: &str, file: &str| match file.strip_suffix('*') {
            Some(folder) => path.contains(folder),
            None => path.ends_with(file),
        };
        let named =
            |path: &str| TWICE.iter().any(|(of, file, _)| (*of == "any" || *of == event) && is(path, file));
        counts.retain(|path, count| *count > 1 && !named(path));
        assert!(counts.is_empty(), "{what}: {event} opens {counts:#?}");
    }
}

fn workshop(mode: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}[mode]\nlevel = \"{mode}\"\n"));
    sandbox
}

const MODES: [&str; 3] = ["guard", "loop", "strict"];

/// A session that has begun and was asked something, as so many before it were.
fn after(sandbox: &Sandbox, sessions: usize) -> Session<'_> {
    let first = sandbox.session();
    passed(&first.start("startup"));
    passed(&first.prompt("mend the first thing"));
    let folder = first.folder();
    for n in 1..sessions {
        let copy = sandbox.sessions().join(format!("20260101-{n:08x}"));
        fs::create_dir(&copy).unwrap();
        for file in ["ledger.jsonl", "session-state.json"] {
            fs::copy(folder.join(file), copy.join(file)).unwrap();
        }
    }
    // Nobody noted the copies, so the first prompt after them looks at each. The one that is counted comes
    // later.
    for text in ["mend the second thing", "mend the third thing"] {
        let session = sandbox.session();
        passed(&session.start("startup"));
        passed(&session.prompt(text));
    }
    let session = sandbox.session();
    passed(&session.start("startup"));
    session
}

#[test]
fn a_prompt_costs_the_same_after_two_thousand_sessions() {
    for mode in MODES {
        let [few, many] = [5, 2000].map(|sessions| {
            let sandbox = workshop(mode);
            let session = after(&sandbox, sessions);
            let payload =
                session.payload("UserPromptSubmit", json!({"prompt": "go on with the other thing"}));
            Calls::of(&sandbox, "UserPromptSubmit", &payload)
        });
        let (few, many) = (few.0.len(), many.0.len());
        assert!(many * 10 <= few * 12, "{mode}: {few} calls after 5 sessions, {many} after 2,000");
    }
}

/// The bundle, the configuration and the texts are read once, and no path is resolved part by part.
#[test]
fn a_prompt_opens_no_file_twice() {
    for (mode, most) in [("guard", 90), ("loop", 230), ("strict", 240)] {
        let sandbox = workshop(mode);
        let session = after(&sandbox, 5);
        let payload = session.payload("UserPromptSubmit", json!({"prompt": "go on with the other thing"}));
        let calls = Calls::of(&sandbox, "UserPromptSubmit", &payload);
        assert!(
            calls.opened().iter().any(|path| path.ends_with("/.config/aops/config.toml")),
            "{:#?}",
            calls.0
        );
        calls.opens_each_once("UserPromptSubmit", &session, mode);
        assert!(calls.count("readlink") <= 3, "{mode}: {:#?}", calls.0);
        assert!(calls.0.len() <= most, "{mode}: {} calls: {:#?}", calls.0.len(), calls.0);
    }
}

/// Files of other clients are looked at for a call that may touch them, and for no other.
#[test]
fn a_call_opens_no_file_twice_and_none_of_other_clients() {
    for mode in MODES {
        let sandbox = workshop(mode);
        let session = after(&sandbox, 5);
        passed(&session.prompt("look around"));
        let (readme, new) = (sandbox.project().join("README.md"), sandbox.project().join("new.md"));
        let inputs = [
            ("Read", json!({"file_path": readme}), 60),
            ("Bash", json!({"command": "ls -l && git status > /dev/null"}), 70),
            ("Bash", json!({"command": "cat README.md"}), 60),
            ("Write", json!({"file_path": new, "content": "x\n"}), 550),
        ];
        let theirs = ["/.codex/", "/.copilot/", "/opencode/", "/.gemini/", "/.qwen/"];
        for (tool, input, most) in inputs {
            let call = session.call(tool, input.clone());
            for (event, fields) in [("PreToolUse", call.fields()), ("PostToolUse", call.fields())] {
                let calls = Calls::of(&sandbox, event, &session.payload(event, fields));
                let what = format!("{mode}: {event} of {tool} {input}");
                calls.opens_each_once(event, &session, &what);
                let foreign = |path: &String| theirs.iter().any(|folder| path.contains(folder));
                assert!(!calls.opened().iter().any(foreign), "{what}: {:#?}", calls.opened());
                assert!(calls.0.len() <= most, "{what}: {} calls: {:#?}", calls.0.len(), calls.0);
            }
        }
        for line in ["rm ~/.codex/hooks.json", "rm -r ~/.c*", "rm $CODEX_HOME/x", "python3 -c 'open(\"x\")'"]
        {
            let call = session.call("Bash", json!({"command": line}));
            let calls = Calls::of(&sandbox, "PreToolUse", &session.payload("PreToolUse", call.fields()));
            let looked = calls.opened().iter().filter(|path| path.ends_with("/.codex/hooks.json")).count();
            assert_eq!(looked, 1, "{mode}: {line}: {:#?}", calls.opened());
        }
    }
}

#[test]
fn a_start_and_an_end_of_a_turn_open_no_file_twice() {
    for mode in MODES {
        let sandbox = workshop(mode);
        drop(after(&sandbox, 5));
        let session = sandbox.session();
        let start = session.payload("SessionStart", json!({"source": "startup"}));
        let calls = Calls::of(&sandbox, "SessionStart", &start);
        calls.opens_each_once("SessionStart", &session, mode);
        assert!(calls.of_its_own() <= 420, "{mode}: {} calls: {:#?}", calls.of_its_own(), calls.0);
        passed(&session.prompt("look around"));
        let fields = json!({"stop_hook_active": false, "last_assistant_message": "Done.", "background_tasks": [],
            "session_crons": []});
        let calls = Calls::of(&sandbox, "Stop", &session.payload("Stop", fields));
        calls.opens_each_once("Stop", &session, mode);
        assert!(calls.0.len() <= 400, "{mode}: {} calls: {:#?}", calls.0.len(), calls.0);
    }
}
