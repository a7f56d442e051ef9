//! One headless run of the client, from its start to the last line it printed.

use serde_json::Value;
use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A run takes about a second, a whole loop ten, on a busy machine many times that; one that takes this long
/// hangs.
const PATIENCE: Duration = Duration::from_mins(3);

/// What the client did and said.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    /// Its stream of JSON records.
    pub(crate) records: Vec<Value>,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(command: Command) -> Self {
        let mut command = on_machine(command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", command.get_program().display()));
        let out = drain(child.stdout.take().unwrap());
        let err = drain(child.stderr.take().unwrap());
        let status = wait(&mut child);
        // Tools it left running hold the pipes open, and nobody needs them any more.
        end_group(&child);
        let (out, err) = (out.join().unwrap(), err.join().unwrap());
        assert!(
            status.is_some(),
            "the client hung for {PATIENCE:?} and was ended\nstdout: {out}\nstderr: {err}"
        );
        let records = out.lines().map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in `{line}`\nstderr: {err}"))
        });
        Self { code: status.and_then(|status| status.code()), records: records.collect(), err }
    }

    pub(crate) fn session_id(&self) -> &str {
        self.records
            .iter()
            .find_map(|record| record["session_id"].as_str())
            .unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The record that ends every run.
    pub(crate) fn result(&self) -> &Value {
        let last = self.records.iter().rfind(|record| record["type"] == "result");
        last.unwrap_or_else(|| panic!("no result in {self:?}"))
    }

    /// The client ended well, with these last words of the model.
    #[track_caller]
    pub(crate) fn ended(&self, words: &str) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.result()["result"], words, "{self:?}");
    }
}

/// What the folder in this variable holds lies over `/etc` for the client and what it starts, in a mount
/// namespace.
pub(crate) const OVER_ETC: &str = "AOPS_TEST_OVER_ETC";

/// The same command on a machine with another `/etc`, where one is wanted.
fn on_machine(command: Command) -> Command {
    let Some((_, Some(over))) = command.get_envs().find(|(name, _)| *name == OVER_ETC) else {
        return command;
    };
    let enter =
        "mount -t overlay overlay -o lowerdir=\"$AOPS_TEST_OVER_ETC\":/etc /etc && exec \"$0\" \"$@\"";
    assert!(Path::new(over).is_dir(), "{}", over.display());
    #[expect(clippy::disallowed_methods, reason = "the same client, entered by another door")]
    let mut entered = Command::new("unshare");
    entered.args(["--user", "--map-root-user", "--mount", "sh", "-c", enter]).arg(command.get_program());
    entered.args(command.get_args()).env_clear();
    entered.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    entered.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
    entered
}

/// As the client wrote it: a record a line.
impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "exit code {:?}", self.code)?;
        self.records.iter().try_for_each(|record| writeln!(f, "{record}"))?;
        write!(f, "stderr: {}", self.err)
    }
}

/// How it ended, or nothing when patience ran out.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

fn end_group(child: &Child) {
    let group = rustix::process::Pid::from_child(child);
    // An empty group is what we want.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
}

fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
