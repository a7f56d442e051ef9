//! Commands that carry another command: to another machine, into a container, into a project's environment.

use super::Search;
use super::call::Call;
use super::place::below;
use super::{carried, cloud, code, content, readers, secret};
use crate::commands::given;
use crate::syntax::Word;

/// `scp` into a system folder of the other machine.
pub(super) fn scp(search: &mut Search, call: &Call) {
    const HELD: &[&str] = &["/etc", "/bin", "/sbin", "/usr", "/lib", "/lib64", "/boot", "/var/lib", "/dev"];
    let target = call.operands().last().map(|(_, word)| word.lossy()).unwrap_or_default();
    let path = target.split_once(':').map_or("", |(_, path)| path);
    if path == "/" || HELD.iter().any(|root| below(path, root).is_some()) {
        search.add("system-write", call.simple);
    }
    secret::sends(search, call);
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
    let first =
        call.operands().into_iter().find(|(at, _)| !value(*at)).map_or(call.words.len(), |(at, _)| at);
    search.words(call.from(first), call.simple);
}

/// The lines or words behind `ssh host`.
pub(super) fn ssh(search: &mut Search, call: &Call) {
    const VALUED: &[&str] = &[
        "-b", "-c", "-D", "-E", "-F", "-i", "-J", "-l", "-L", "-m", "-o", "-p", "-R", "-S", "-w", "-W", "-B",
        "-e", "-Q",
    ];
    let at = call.behind_options(0, VALUED);
    secret::sends(search, call);
    tunnels(search, call);
    // The first operand is the host; the rest is joined by blanks and read by the shell there.
    let line: Vec<String> = call.from(at + 1).iter().map(Word::code).collect();
    if !line.is_empty() {
        search.text(&super::fed(call.simple, &line.join(" ")), call.simple);
    } else if let Some(script) = &call.simple.script {
        search.text(script, call.simple);
    }
}

/// `ssh -R 2222:localhost:22 host` opens a port of this machine to another one.
fn tunnels(search: &mut Search, call: &Call) {
    let glued = call.texts.iter().filter_map(|text| text.strip_prefix("-R"));
    let bundled =
        |pair: &&[String]| pair[0].starts_with('-') && !pair[0].starts_with("--") && pair[0].ends_with('R');
    let given = call.texts.windows(2).filter(bundled).map(|pair| pair[1].clone());
    for ends in given.chain(glued.map(str::to_owned)).filter(|text| !text.is_empty()) {
        match ends.rsplit(':').next().unwrap_or_default() {
            "22" | "2375" | "2376" | "3389" | "5900" => search.add("reverse-shell", call.simple),
            "1433" | "1521" | "2379" | "3306" | "5432" | "6379" | "6443" | "8200" | "9200" | "11211"
            | "27017" | "445" => {
                search.add("firewall-off", call.simple);
            }
            _ => {}
        }
    }
}

/// `docker exec box rm -rf /data`, `kubectl exec pod -- sh -c …`
pub(super) fn contained(search: &mut Search, call: &Call) {
    #[rustfmt::skip]
    const VALUED: &[&str] = &[ "-e", "--env", "-u", "--user", "-w", "--workdir", "--env-file", "-n", "--namespace", "-c", "--container", "--detach-keys", "--index", ];
    let verbs = ["exec", "run", "debug"];
    if call.texts.iter().take(2).any(|verb| verb == "cp") {
        secret::named(search, call.simple, call.operands().into_iter().map(|(_, word)| word), "secret-file");
    }
    let Some(at) = call.texts.iter().position(|text| verbs.contains(&text.as_str())) else { return };
    // A container made just for this command holds nothing that could be lost.
    let is_new = call.texts[at] == "run" && matches!(call.name, "docker" | "podman" | "nerdctl");
    let mounts_root = call
        .texts
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "-v" | "--volume" | "--mount") && is_root(&pair[1]));
    if is_new && (mounts_root || call.has(&["--privileged"])) {
        search.add("container-escape", call.simple);
    }
    if is_new {
        mounted(search, call, at);
        return shows_mounted(search, call, at);
    }
    if let Some(dashes) = call.texts.iter().position(|text| text == "--") {
        return search.words(call.from(dashes + 1), call.simple);
    }
    // Without `--`, the command begins after the options and the container's name.
    let at = call.behind_options(at + 1, VALUED);
    search.words(call.from(at + 1), call.simple);
}

/// Options of `docker run` that take the next word.
#[rustfmt::skip]
const RUN_VALUED: &[&str] = &[
    "-e", "-h", "-l", "-m", "-p", "-u", "-v", "-w", "--add-host", "--cap-add", "--cap-drop", "--cpus", "--device", "--entrypoint", "--env",
    "--env-file", "--gpus", "--hostname", "--ip", "--label", "--link", "--log-driver", "--memory", "--mount", "--name", "--network",
    "--platform", "--publish", "--pull", "--restart", "--security-opt", "--shm-size", "--tmpfs", "--ulimit", "--user", "--volume", "--workdir",
];

/// `docker run -v "$PWD":/w alpine rm -rf /w/src`: the command with the folders of this machine.
fn mounted(search: &mut Search, call: &Call, run: usize) {
    let of_mount = |text: &str| {
        let part = |names: [&str; 3]| {
            text.split(',').find_map(|part| names.iter().find_map(|name| part.strip_prefix(name)))
        };
        let (from, to) = part(["source=", "src=", "source="])
            .zip(part(["target=", "dst=", "destination="]))
            .or_else(|| {
                let mut parts = text.split(':');
                parts.next().zip(parts.next())
            })?;
        let is_path = from.starts_with(['/', '.', '~', '…']);
        (is_path && to.starts_with('/'))
            .then(|| (from.replace('…', "${_unknown}"), to.trim_end_matches('/').to_owned()))
    };
    let words = given(call.from(run + 1), &["-v", "--volume", "--mount"]);
    let mounts: Vec<(String, String)> = words.iter().filter_map(|word| of_mount(&word.lossy())).collect();
    let Some((from, to)) = mounts.first().filter(|(_, to)| mounts.len() == 1 && !to.is_empty()) else {
        return;
    };
    let folder = given(call.from(run + 1), &["-w", "--workdir"]).first().map(Word::lossy);
    let image = call.behind_options(run + 1, RUN_VALUED);
    let line: Vec<String> = call.from(image + 1).iter().map(super::call::quoted).collect();
    let line = line.join(" ");
    let moved = if folder.is_some_and(|folder| folder.trim_end_matches('/') == to) {
        format!("cd {from} && {line}")
    } else {
        line
    };
    search.perhaps(&moved.replace(to.as_str(), from), call.simple);
}

/// A new container loses nothing of this machine, but can show what is mounted into it.
fn shows_mounted(search: &mut Search, call: &Call, run: usize) {
    const READERS: &[&str] =
        &["cat", "head", "tail", "base64", "xxd", "grep", "less", "more", "strings", "od"];
    let mounts = call.texts.iter().any(|text| {
        text.starts_with("-v")
            || text.starts_with("--volume")
            || text.starts_with("--mount")
            || text.starts_with("-it")
    });
    let reads = call.texts[run..].iter().any(|text| READERS.contains(&text.as_str()));
    if mounts && reads {
        secret::named(search, call.simple, &call.words[call.words.len().saturating_sub(3)..], "secret-file");
    }
}

fn is_root(volume: &str) -> bool {
    let source = volume
        .split([',', ':'])
        .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
    let source = source.or_else(|| volume.split(':').next()).unwrap_or_default();
    matches!(source, "/" | "/etc" | "/root" | "/var/run/docker.sock" | "/boot" | "/dev")
}

/// `docker`: its own verbs, and what it runs inside a container.
pub(super) fn docker(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    let all = |word: &Word| word.printed.iter().any(|name| matches!(&**name, "docker" | "podman"));
    let stops =
        call.texts.first().is_some_and(|verb| matches!(verb.as_str(), "stop" | "kill" | "rm" | "rmi"));
    let piped = call.words.last().is_some_and(|word| word.splits && word.shifts == Some(0));
    if stops && (call.words.iter().any(all) || piped) {
        search.add("container-wipe", call.simple);
    }
    contained(search, call);
}

/// `kubectl`: its verbs, and what it runs in a pod.
pub(super) fn kubectl(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    let plain = |text: &String| text.split_whitespace().collect::<String>().to_lowercase();
    let stops =
        |text: &String| plain(text).contains("\"replicas\":0") || plain(text).contains("\"finalizers\":null");
    if call.texts.iter().any(|text| text == "patch") && call.texts.iter().any(stops) {
        search.add("cluster-delete", call.simple);
    }
    contained(search, call);
}

/// Runners that take the command without a verb before it.
const DIRECT: &[&str] = &[
    "npx", "bunx", "pnpx", "uvx", "dotenv", "firejail", "fakeroot", "proxychains", "proxychains4",
    "torsocks", "systemd-run", "runuser", "setpriv", "systemd-inhibit", "dbus-run-session", "gdb",
    "valgrind", "rlwrap", "cross-env", "doppler", "wsl", "pkexec", "gosu", "su-exec", "catchsegv", "numactl",
    "cpulimit", "prlimit", "watchexec", "entr",
];

/// `poetry run x`, `npx x`, `bundle exec x`, `uv run x`, `op run -- x`: the command behind them.
pub(super) fn environment(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    super::remote::installs(search, call);
    if let Some(at) = call.texts.iter().position(|text| text == "--") {
        return search.words(call.from(at + 1), call.simple);
    }
    for word in call.values(&["-c", "-C", "--command"]).filter(|word| word.lossy().contains(' ')) {
        search.perhaps(&word.code(), call.simple);
    }
    let runs = |text: &String| matches!(text.as_str(), "run" | "exec" | "x" | "dlx");
    let verb = || call.texts.iter().position(runs).map_or(usize::MAX, |at| at + 1);
    let rest = call.from(if DIRECT.contains(&call.name) { 0 } else { verb() });
    let valued =
        ["--unit", "-p", "--property", "--uid", "--gid", "--slice", "--description", "-E", "--setenv"];
    let is_value = |at: usize| {
        call.name == "systemd-run" && at > 0 && valued.iter().any(|option| rest[at - 1].is(option))
    };
    let first = (0..rest.len()).find(|at| !rest[*at].is_option() && !is_value(*at)).unwrap_or(rest.len());
    search.words(&rest[first..], call.simple);
    // `direnv exec . rm -rf x`, `watchexec -e rs 'rm -rf x'`
    carried::behind(search, call);
    for word in call.words {
        search.likely(&word.code(), call.simple);
    }
}

/// `tmux new "…"`, `screen -dm …`, `at`, `hyperfine '…'`, `watchexec`: text that is run as a line or typed.
pub(super) fn lines(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    for word in call.words.iter().filter(|word| word.lossy().contains(' ')) {
        search.text(&typed(&word.code()), call.simple);
    }
    if let Some(at) = call.texts.iter().position(|text| text == "--") {
        search.words(call.from(at + 1), call.simple);
    }
    if let Some(script) = call.simple.script.as_ref().filter(|_| matches!(call.name, "at" | "batch")) {
        search.text(script, call.simple);
    }
    let sent =
        call.texts.iter().position(|text| matches!(text.as_str(), "send-keys" | "send" | "-X" | "stuff"));
    if let Some(at) = sent {
        // `send-keys rm Space -rf Space src Enter`
        let begin = call.behind_options(at + 1, &["-t", "-N", "-p"]);
        let keys = call.from(begin).iter().map(|word| match word.lossy().as_str() {
            "Space" => " ".to_owned(),
            "Enter" | "C-m" | "KPEnter" => "\n".to_owned(),
            _ => typed(&word.code()),
        });
        search.perhaps(&keys.collect::<String>(), call.simple);
    } else if call.name == "screen" {
        let first = call.words.iter().position(|word| !word.is_option()).unwrap_or(call.words.len());
        search.words(&call.words[first..], call.simple);
    }
    carried::behind(search, call);
}

/// Text as it is typed: `\n`, `\r`, `\015` and `^M` end a line.
fn typed(text: &str) -> String {
    ["\\n", "\\r", "\\015", "\\012", "^M", "\r"]
        .iter()
        .fold(text.to_owned(), |text, sign| text.replace(sign, "\n"))
}

/// `expect -c 'send "rm -rf src\r"'`: what it types into another program.
pub(super) fn expect(search: &mut Search, call: &Call) {
    let given = call.values(&["-c"]).map(Word::code).chain(call.simple.script.clone());
    for text in given.collect::<Vec<_>>() {
        for row in text.split(['\n', ';']).map(str::trim) {
            let line = ["spawn ", "exec ", "system "].iter().find_map(|verb| row.strip_prefix(verb));
            search.text(line.unwrap_or_default().trim_start_matches("-noecho "), call.simple);
        }
        for part in text.split('"').skip(1).step_by(2) {
            search.perhaps(&typed(part), call.simple);
        }
    }
}

/// A program that no rule knows: judges a line or code in one of its options, and a removal in its arguments.
pub(super) fn unknown(search: &mut Search, call: &Call) {
    #[rustfmt::skip]
    const LINES: &[&str] = &["-c", "-x", "-C", "--command", "--cmd", "--exec", "--execute", "--run", "--shell-command", "--on-change", "--script", "--entrypoint"];
    const CODE: &[&str] =
        &["-e", "--eval", "-eval", "--expr", "--expression", "-batch", "--python-expr", "--code", "-r", "-s"];
    for (at, text) in call.texts.iter().enumerate().filter(|(_, text)| text.starts_with('-')) {
        let (option, glued) =
            text.split_once('=').map_or((text.as_str(), None), |(option, value)| (option, Some(value)));
        let value = glued.map(Word::of).or_else(|| call.words.get(at + 1).cloned()).unwrap_or_default();
        let code = value.code();
        if LINES.contains(&option) && code.contains(' ') {
            search.perhaps(&typed(&code), call.simple);
        }
        if (CODE.contains(&option) || LINES.contains(&option)) && code.contains(['(', '"', '\'']) {
            code::judge(search, call.simple, &code);
        }
    }
    if let Some(at) = call.texts.iter().position(|text| text == "--") {
        return search.words(call.from(at + 1), call.simple);
    }
    carried::behind(search, call);
}

/// `make SHELL=…`, `make --eval='x:; line'`, `make -f - <<< …`: variables, recipes and `$(shell …)`.
pub(super) fn make(search: &mut Search, call: &Call) {
    readers::shown(search, call);
    for (_, word) in call.operands() {
        if let Some(value) = word.past('=').filter(|value| value.lossy().contains(' ')) {
            search.perhaps(&value.code(), call.simple);
        }
    }
    let given = given(call.words, &["--eval"]).into_iter().map(|word| word.code());
    let texts: Vec<String> = given.chain(call.simple.script.clone()).collect();
    for row in texts.iter().flat_map(|text| text.lines()) {
        let recipe = if row.starts_with('\t') {
            Some(row)
        } else {
            row.split_once(':').and_then(|(_, rest)| rest.split_once(';')).map(|(_, rest)| rest)
        };
        if let Some(recipe) = recipe {
            search.text(recipe.trim_start_matches(['\t', ' ', '@', '-', '+']), call.simple);
        }
        for part in row.split("$(shell ").skip(1) {
            search.text(part.rsplit_once(')').map_or(part, |(line, _)| line), call.simple);
        }
    }
    unknown(search, call);
}

/// `parallel < lines`, `parallel -a lines`, `parallel :::: lines`: every row of a file is a line.
pub(super) fn parallel(search: &mut Search, call: &Call) {
    let end = call.texts.iter().position(|text| text.starts_with(":::")).unwrap_or(call.texts.len());
    let said = call.texts.get(end).is_some_and(|text| matches!(text.as_str(), ":::" | ":::+"));
    let takes =
        |text: &str| text.len() == 2 && !matches!(text, "-k" | "-u" | "-q" | "-v" | "-t" | "-X" | "-m");
    let is_value = |at: usize| at > 0 && takes(&call.texts[at - 1]) && call.texts[at - 1].starts_with('-');
    let has_command = (0..end).any(|at| !call.texts[at].starts_with('-') && !is_value(at));
    if !has_command && !said && !call.only_tells() && call.simple.script.is_none() {
        search.add("unknown-code", call.simple);
    }
}

/// `cmake -E rm -rf src`, `cmake -E remove_directory src`
pub(super) fn cmake(search: &mut Search, call: &Call) {
    let Some(at) = call.texts.iter().position(|text| text == "-E") else { return };
    match call.texts.get(at + 1).map(String::as_str) {
        Some("rm" | "env" | "time") => search.words(call.from(at + 1), call.simple),
        Some("chdir") => search.words(call.from(at + 3), call.simple),
        Some("remove_directory") => super::files::removed(search, call.simple, call.from(at + 2)),
        _ => {}
    }
}

/// `gdb -ex 'shell …'`: lines and code of a debugger.
pub(super) fn debugger(search: &mut Search, call: &Call) {
    if let Some(at) = call.texts.iter().position(|text| text == "--args") {
        search.words(call.from(at + 1), call.simple);
    }
    for word in call.values(&["-ex", "-iex", "--eval-command", "-o", "-O"]) {
        let text = word.code();
        let line = ["shell ", "!", "platform shell "].iter().find_map(|sign| text.strip_prefix(sign));
        if let Some(line) = line {
            search.text(line, call.simple);
        }
        code::judge(search, call.simple, &text);
    }
}

/// `gh gist create .env`, `gh issue create --body-file .env`: a file that is uploaded to a forge.
pub(super) fn forge(search: &mut Search, call: &Call) {
    cloud::formed(search, call);
    let shares = call.texts.iter().take(2).any(|text| {
        matches!(text.as_str(), "gist" | "snippet" | "release" | "issue" | "pr" | "mr" | "discussion" | "api")
    });
    if shares {
        let named = call.words.iter().filter(|word| !word.is_option() || word.lossy().contains('='));
        secret::named(search, call.simple, named, "secret-send");
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

/// `ex -sc '%d|x' file`, `vim -es +%d +wq file`: the commands of an editor, and what they run or do to the
/// file.
pub(super) fn editor(search: &mut Search, call: &Call) {
    let is_flag = |at: usize| {
        let text = call.texts[at].as_str();
        matches!(text, "--cmd" | "-S")
            || text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
    };
    let is_value = |at: usize| at > 0 && is_flag(at - 1);
    let plus = |at: usize| call.texts[at].starts_with('+') && call.texts[at].len() > 1;
    let given = (0..call.texts.len()).filter(|at| is_value(*at)).map(|at| call.words[at].code());
    let added = (0..call.texts.len()).filter(|at| plus(*at)).map(|at| call.texts[at][1..].to_owned());
    let commands: Vec<String> = given.chain(added).chain(call.simple.script.clone()).collect();
    let mut steps = commands.iter().flat_map(|text| text.split(['|', '\n'])).map(str::trim);
    let all = ["%d", "%delete", "1,$d", ",d", "%d_", "%d _", "0,$d", "g/.*/d", "g/^/d", "%d!"];
    if steps.clone().any(|step| all.contains(&step)) {
        let files =
            (0..call.words.len()).filter(|at| !is_value(*at) && !plus(*at) && !call.words[*at].is_option());
        files.for_each(|at| content::emptied(search, call.simple, &call.words[at]));
    }
    // `:!line`, `silent execute '!line'`, `%!line`
    let is_before = |text: &str| text.chars().all(|c| c.is_alphanumeric() || ":'\"%.,$ ".contains(c));
    for (before, line) in
        steps.by_ref().filter_map(|step| step.split_once('!')).filter(|(before, _)| is_before(before))
    {
        let end = if before.ends_with(['"', '\'']) { &before[before.len() - 1..] } else { "" };
        search.text(line.strip_suffix(end).unwrap_or(line), call.simple);
    }
    for text in &commands {
        code::judge(search, call.simple, text);
    }
    secret::reads(search, call);
}
