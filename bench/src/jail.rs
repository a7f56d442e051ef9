//! Measures a shell command that the client starts through us against the bare shell, interleaved, in each
//! profile.
//!
//! Every command is one that a hook was asked about, as in a session; only the command itself is counted.
//! Before anything is measured, the ledger must say that each row's command ran in the profile of its name.

use crate::child::{Cost, command, run};
use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Files in the large project.
const MANY: usize = 100_000;
/// From our answer to the command the client took 16 ms and more (2.1.325, 5 commands): time in which a jail
/// is made.
const PAUSE: Duration = Duration::from_millis(4);
/// Only in this mode do commands wait for a plan, and so run in `read` and `trial`.
const CONFIGURATION: &str = "tracker.command = \"none\"\naudit.rate = 0\nmode.level = \"strict\"\n";
/// A line that is not known, and one that reads.
const UNKNOWN: &str = "./unknown";
const READS: &str = "/bin/true";
/// What one command may cost more than the bare shell, in milliseconds.
const TARGET: f64 = 1.0;

struct Session<'a> {
    hook: &'a Path,
    home: &'a Path,
    project: PathBuf,
    calls: Cell<u64>,
}

impl<'a> Session<'a> {
    fn new(hook: &'a Path, home: &'a Path, name: &str, prompt: &str) -> Self {
        let project = home.join(name);
        fs::create_dir_all(project.join(".claude")).expect("a project");
        fs::write(project.join(".claude/settings.json"), "{}").expect("settings");
        symlink("/bin/true", project.join("unknown")).expect("a program");
        let session = Self { hook, home, project, calls: Cell::new(0) };
        session.event("SessionStart", r#""source":"startup""#);
        session.event("UserPromptSubmit", &format!(r#""prompt":"{prompt}""#));
        session
    }

    fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = command(program, words, self.home);
        command.current_dir(&self.project).env("CLAUDE_CODE_SHELL_PREFIX", format!("{} --shell", self.hook.display()));
        command.env("CLAUDECODE", "1").env("AI_AGENT", "claude-code_agent").env("CLAUDE_CODE_SESSION_ID", self.id());
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    fn id(&self) -> String {
        format!("bench-{}", self.project.file_name().unwrap_or_default().display())
    }

    fn event(&self, name: &str, fields: &str) {
        let (id, home, cwd) = (self.id(), self.home.display(), self.project.display());
        // As the client names the folder of a project's sessions.
        let dashed = cwd.to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let input = format!(
            r#"{{"session_id":"{id}","transcript_path":"{home}/.claude/projects/{dashed}/{id}.jsonl","cwd":"{cwd}","hook_event_name":"{name}",{fields}}}"#
        );
        run(self.command(self.hook, &[name]), input.as_bytes());
    }

    /// One command from the question about it to its end; what the shell took.
    fn ran(&self, line: &str) -> Cost {
        let call = self.calls.get();
        self.calls.set(call + 1);
        let fields = format!(
            r#""tool_name":"Bash","tool_input":{{"command":"{line}"}},"tool_use_id":"toolu_{call:024}","tool_response":{{"stdout":""}}"#
        );
        self.event("PreToolUse", &fields);
        pause();
        let cost = run(self.command(self.hook, &["--shell", line]), b"");
        self.event("PostToolUse", &fields);
        cost
    }

    /// The profile of the last command, as the ledger has it.
    fn profile(&self) -> String {
        let dashed = self.project.display().to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let sessions = fs::read_dir(self.home.join(".claude/projects").join(dashed)).into_iter().flatten().flatten();
        let ledgers = sessions.filter_map(|session| fs::read_to_string(session.path().join("ledger.jsonl")).ok());
        let ledger = ledgers.collect::<String>();
        let (_, profile) = ledger.rsplit_once(r#""jailed":{"hold":"namespaces","profile":""#).unwrap_or_default();
        profile.split('"').next().unwrap_or_default().to_owned()
    }

    fn bare(&self, line: &str) -> Cost {
        pause();
        run(self.command(Path::new("/bin/bash"), &["-c", line]), b"")
    }
}

/// A processor that sleeps is slow at first, and the client's does not sleep.
fn pause() {
    let began = Instant::now();
    while began.elapsed() < PAUSE {}
}

/// Prints the middle of so many commands in each profile, and how much more that is than the bare shell.
pub(crate) fn measure(hook: &Path, home: &Path, rounds: usize) {
    fs::create_dir_all(home.join(".config/aops")).expect("a home");
    fs::create_dir_all(home.join(".claude")).expect("a home");
    fs::write(home.join(".config/aops/config.toml"), CONFIGURATION).expect("a file");
    fs::write(home.join(".claude/settings.json"), "{}").expect("a file");
    let shut = Session::new(hook, home, "shut", "add a greeting");
    let open = Session::new(hook, home, "open", ". add a greeting");
    let large = Session::new(hook, home, "large", "add a greeting");
    for n in 0..MANY {
        let folder = large.project.join(format!("{:03}", n / 1000));
        if n % 1000 == 0 {
            fs::create_dir(&folder).expect("a folder");
        }
        File::create(folder.join(n.to_string())).expect("a file");
    }
    for (session, line, wanted) in [(&open, UNKNOWN, "work"), (&shut, READS, "read"), (&shut, UNKNOWN, "trial")] {
        session.ran(line);
        assert_eq!(session.profile(), wanted, "the profile of `{line}`");
    }
    let mut rows: [(&str, &dyn Fn() -> Cost, Vec<Cost>); 6] = [
        ("/bin/bash -c", &|| shut.bare(UNKNOWN), Vec::new()),
        ("work", &|| open.ran(UNKNOWN), Vec::new()),
        ("read", &|| shut.ran(READS), Vec::new()),
        ("trial", &|| shut.ran(UNKNOWN), Vec::new()),
        ("trial, 100,000 files", &|| large.ran(UNKNOWN), Vec::new()),
        // The least that a bare shell costs: it starts no program.
        ("/bin/bash -c true", &|| shut.bare("true"), Vec::new()),
    ];
    for _ in 0..rounds {
        for (_, turn, costs) in &mut rows {
            costs.push(turn());
        }
    }
    println!("\na shell command, by profile (target: at most {TARGET} ms more than the bare shell):");
    println!("  {:<24}{:>10}{:>10}{:>8}{:>10}{:>10}{:>8}", "profile", "wall ms", "more", "×", "cpu ms", "more", "×");
    let all = |of: fn(&Cost) -> Duration| rows.iter().map(|row| middle(&row.2, of)).collect::<Vec<_>>();
    let (wall, cpu) = (all(|cost| cost.wall), all(|cost| cost.cpu));
    for (n, (name, ..)) in rows.iter().enumerate() {
        print!("  {name:<24}");
        for times in [&wall, &cpu] {
            print!("{:>10.2}{:>+10.2}{:>8.2}", times[n], times[n] - times[0], times[n] / times[0]);
        }
        println!();
    }
}

/// In milliseconds.
fn middle(costs: &[Cost], of: fn(&Cost) -> Duration) -> f64 {
    let mut times: Vec<f64> = costs.iter().map(|cost| of(cost).as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
