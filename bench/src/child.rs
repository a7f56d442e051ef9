//! One child, from start to end: its wall time, the processor time and the memory it took.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What one run cost.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The most it held at once, in kilobytes.
    pub(crate) memory: i64,
    /// Pages that the kernel had to bring.
    pub(crate) faults: i64,
}

/// A program, its arguments and the home it runs in; its environment is ours alone.
pub(crate) fn command(program: &Path, arguments: &[&str], home: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("HOME", home).current_dir(home);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs it with this input; anything but success ends the benchmark: a failing program measures nothing.
pub(crate) fn run(command: Command, input: &[u8]) -> Cost {
    try_run(command, input).unwrap_or_else(|why| panic!("{why}"))
}

/// The same, with the reason where it fails.
pub(crate) fn try_run(mut command: Command, input: &[u8]) -> Result<Cost, String> {
    let began = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input may be gone already.
        let _ = stdin.write_all(input);
    }
    let (status, usage) = wait(child.id());
    let wall = began.elapsed();
    if status != 0 {
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut said);
        }
        return Err(format!("{command:?} ended with {status}: {said}"));
    }
    let cpu = time(usage.user) + time(usage.system);
    Ok(Cost { wall, cpu, memory: usage.largest, faults: usage.minor + usage.major })
}

#[repr(C)]
#[derive(Default)]
struct Usage {
    user: [i64; 2],
    system: [i64; 2],
    largest: i64,
    shared: [i64; 3],
    minor: i64,
    major: i64,
    rest: [i64; 8],
}

unsafe extern "C" {
    fn wait4(pid: i32, status: *mut i32, options: i32, usage: *mut Usage) -> i32;
}

fn wait(pid: u32) -> (i32, Usage) {
    let (mut status, mut usage) = (0, Usage::default());
    // SAFETY: both pointers are to live values of the C types; `pid` is a child nobody else waits for.
    let waited = unsafe { wait4(pid.cast_signed(), &raw mut status, 0, &raw mut usage) };
    assert!(waited > 0, "wait4: {}", std::io::Error::last_os_error());
    (status, usage)
}

fn time([seconds, micros]: [i64; 2]) -> Duration {
    Duration::from_micros(u64::try_from(seconds * 1_000_000 + micros).unwrap_or_default())
}
