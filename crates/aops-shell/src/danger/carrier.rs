//! Commands that carry another one: to another machine, into a container, into an environment of a project.

use super::Search;
use super::call::Call;
use super::cloud;
use super::place::below;
use crate::syntax::Word;

/// `scp` to a folder of the other machine's system.
pub(super) fn scp(search: &mut Search, call: &Call) {
    const HELD: &[&str] = &["/etc", "/bin", "/sbin", "/usr", "/lib", "/lib64", "/boot", "/var/lib", "/dev"];
    super::system::option_lines(search, call);
    let target = call.operands().last().map(|(_, word)| word.lossy()).unwrap_or_default();
    let path = target.split_once(':').map_or("", |(_, path)| path);
    if path == "/" || HELD.iter().any(|root| below(path, root).is_some()) {
        search.add("system-write", call.simple);
    }
    super::secret::sends(search, call);
}

/// `cmd /c del /f x`
pub(super) fn cmd(search: &mut Search, call: &Call) {
    lines(search, call);
    let first = call.texts.iter().position(|text| !text.starts_with('/')).unwrap_or(call.texts.len());
    search.words(call.from(first), call.simple);
}

/// `lvm lvremove x`, `watch -n 5 ls`: the first operand is the program.
pub(super) fn direct(search: &mut Search, call: &Call) {
    let value = |at: usize| at > 0 && matches!(call.texts[at - 1].as_str(), "-n" | "--interval");
    let first = call.operands().into_iter().find(|(at, _)| !value(*at)).map_or(call.words.len(), |(at, _)| at);
    search.words(call.from(first), call.simple);
}

/// The lines or words behind `ssh host`.
pub(super) fn ssh(search: &mut Search, call: &Call) {
    const VALUED: &[&str] = &[
        "-b", "-c", "-D", "-E", "-F", "-i", "-J", "-l", "-L", "-m", "-o", "-p", "-R", "-S", "-w", "-W", "-B", "-e",
        "-Q",
    ];
    let at = call.behind_options(0, VALUED);
    super::system::option_lines(search, call);
    super::secret::sends(search, call);
    // The first operand is the host; what follows is joined by blanks and read by its shell.
    let line: Vec<String> = call.from(at + 1).iter().map(Word::code).collect();
    if !line.is_empty() {
        search.text(&super::fed(call.simple, &line.join(" ")), call.simple);
    } else if let Some(script) = &call.simple.script {
        search.text(script, call.simple);
    }
}

/// `docker exec box rm -rf /data`, `kubectl exec pod -- sh -c …`
pub(super) fn contained(search: &mut Search, call: &Call) {
    #[rustfmt::skip]
    const VALUED: &[&str] = &[ "-e", "--env", "-u", "--user", "-w", "--workdir", "--env-file", "-n", "--namespace", "-c", "--container", "--detach-keys", "--index", ];
    let verbs = ["exec", "run", "debug"];
    let Some(at) = call.texts.iter().position(|text| verbs.contains(&text.as_str())) else { return };
    // Nothing of this machine is lost inside a container that is made for the command.
    let is_new = call.texts[at] == "run" && matches!(call.name, "docker" | "podman" | "nerdctl");
    let mounts_root = call
        .texts
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "-v" | "--volume" | "--mount") && is_root(&pair[1]));
    if is_new && (mounts_root || call.has(&["--privileged"])) {
        search.add("container-escape", call.simple);
    }
    if is_new {
        return;
    }
    if let Some(dashes) = call.texts.iter().position(|text| text == "--") {
        return search.words(call.from(dashes + 1), call.simple);
    }
    // Without `--` the command begins behind the options and the container's name.
    let at = call.behind_options(at + 1, VALUED);
    search.words(call.from(at + 1), call.simple);
}

fn is_root(volume: &str) -> bool {
    let source =
        volume.split([',', ':']).find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
    let source = source.or_else(|| volume.split(':').next()).unwrap_or_default();
    matches!(source, "/" | "/etc" | "/root" | "/var/run/docker.sock" | "/boot" | "/dev")
}

/// `docker`: its own verbs, and what it runs inside a container.
pub(super) fn docker(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    let all = |word: &Word| word.printed.iter().any(|name| matches!(&**name, "docker" | "podman"));
    let stops = call.texts.first().is_some_and(|verb| matches!(verb.as_str(), "stop" | "kill" | "rm" | "rmi"));
    let piped = call.words.last().is_some_and(|word| word.splits && word.shifts == Some(0));
    if stops && (call.words.iter().any(all) || piped) {
        search.add("container-wipe", call.simple);
    }
    contained(search, call);
}

/// `kubectl`: its verbs, and what it runs in a pod.
pub(super) fn kubectl(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    contained(search, call);
}

/// Those that take the command without a verb before it.
const DIRECT: &[&str] = &[
    "npx", "bunx", "pnpx", "uvx", "dotenv", "firejail", "fakeroot", "proxychains", "proxychains4", "torsocks",
    "systemd-run", "runuser", "setpriv", "systemd-inhibit", "dbus-run-session", "gdb", "valgrind", "rlwrap",
    "cross-env", "doppler", "wsl", "pkexec", "gosu", "su-exec", "catchsegv", "numactl", "cpulimit", "prlimit",
    "watchexec", "entr",
];

/// `poetry run x`, `npx x`, `bundle exec x`, `uv run x`, `op run -- x`: the command behind them.
pub(super) fn environment(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    super::remote::installs(search, call);
    if let Some(at) = call.texts.iter().position(|text| text == "--") {
        return search.words(call.from(at + 1), call.simple);
    }
    let runs = |text: &String| matches!(text.as_str(), "run" | "exec" | "x" | "dlx");
    let verb = || call.texts.iter().position(runs).map_or(usize::MAX, |at| at + 1);
    let rest = call.from(if DIRECT.contains(&call.name) { 0 } else { verb() });
    let valued = ["--unit", "-p", "--property", "--uid", "--gid", "--slice", "--description", "-E", "--setenv"];
    let is_value =
        |at: usize| call.name == "systemd-run" && at > 0 && valued.iter().any(|option| rest[at - 1].is(option));
    let first = (0..rest.len()).find(|at| !rest[*at].is_option() && !is_value(*at)).unwrap_or(rest.len());
    search.words(&rest[first..], call.simple);
}

/// `tmux new "…"`, `screen -dm …`, `at`, `hyperfine '…'`, `watchexec`: text that is a line.
pub(super) fn lines(search: &mut Search, call: &Call) {
    for word in call.words.iter().filter(|word| word.lossy().contains(' ')) {
        search.text(&word.code(), call.simple);
    }
    if let Some(script) = call.simple.script.as_ref().filter(|_| matches!(call.name, "at" | "batch")) {
        search.text(script, call.simple);
    }
    let sent = call.texts.iter().position(|text| matches!(text.as_str(), "send-keys" | "send" | "-X" | "stuff"));
    if sent.is_none() && call.name == "screen" {
        let first = call.words.iter().position(|word| !word.is_option()).unwrap_or(call.words.len());
        search.words(&call.words[first..], call.simple);
    }
}

/// `ansible all -m shell -a 'rm -rf /'`
pub(super) fn ansible(search: &mut Search, call: &Call) {
    if call.has(&["--check", "-C", "--list-hosts"]) {
        return;
    }
    for word in call.values(&["-a", "--args"]) {
        search.text(&word.code(), call.simple);
    }
    let state = call.texts.iter().any(|text| text.contains("state=absent"));
    let power = call.texts.iter().any(|text| text == "reboot" || text.ends_with(".reboot"));
    if state || power {
        search.add(if power { "shutdown" } else { "infra-destroy" }, call.simple);
    }
}

/// `su -c '…'`, `script -c '…'`: the value of `-c`.
pub(super) fn behind_c(search: &mut Search, call: &Call) {
    let values: Vec<&Word> = call.values(&["-c", "--command", "--run"]).collect();
    for word in values {
        search.text(&word.code(), call.simple);
    }
}
