//! The commands whose arguments are another command, and what stands before it.

/// A command whose arguments are another command.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Its options that take a value of their own.
    pub(super) valued: &'static [&'static str],
    /// Operands before the command.
    pub(super) operands: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands }
}

pub(super) static WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group", "--chdir"],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("env", &["-u", "-C", "--unset", "--chdir", "-P"], 0),
    wrapper("nohup", &[], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper("time", &["-f", "--format", "-o", "--output"], 0),
    wrapper("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper("gtimeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("command", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("builtin", &[], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("chronic", &[], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("taskset", &[], 1),
    wrapper("chrt", &[], 1),
    wrapper("chroot", &[], 1),
    wrapper("unshare", &[], 0),
    wrapper("setarch", &[], 1),
    wrapper("strace", &["-e", "-p", "-s", "-u", "-o"], 0),
    wrapper("ltrace", &["-e", "-p", "-s", "-u", "-o"], 0),
    wrapper("flock", &["-w", "-E"], 1),
    wrapper(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-s",
            "-E",
            "-J",
            "-R",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--max-chars",
        ],
        0,
    ),
    wrapper("parallel", &["-j", "--jobs", "-n", "-N", "-a"], 0),
];
