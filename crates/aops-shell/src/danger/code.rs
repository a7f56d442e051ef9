//! Programs of interpreters in the line (`python -c`, `node -e`, a here-document): what they start, remove,
//! read and write, one level deep. Only calls and quoted text are examined.

use super::Search;
use super::call::{Call, is_unknown};
use super::files::{removed, unlinked, written};
use super::program::{Called, Program, TREES, filled, read};
use super::{awk, content, printed, readers, remote, secret, shown, sql, typed};
use crate::syntax::{Bit, Simple, Word, globbed};

#[rustfmt::skip]
const RUNS: &[&str] = &[
    "call", "check_call", "check_output", "exec", "execfile", "execfilesync", "execsync", "getoutput",
    "getstatusoutput", "open3", "passthru", "popen", "proc_open", "qx", "run", "shell", "shell_exec", "spawn", "spawnsync",
    "system", "execute", "call-process", "shell-command", "shell-command-to-string", "start-process", "execv", "execvp", "execlp", "execl", "posix_spawn", "capture2", "capture3", "sh",
];
const FILES: &[&str] = &[
    "remove", "unlink", "unlinksync", "delete", "rmdir", "rename", "renamesync", "truncate", "truncatesync",
    "delete-file", "removefile", "del_file", "rm!", "removesync",
];
const WRITES: &[&str] =
    &["writefilesync", "writefile", "appendfilesync", "file_put_contents", "write_text", "write_bytes"];
const READS: &[&str] = &[
    "open", "read_text", "read_bytes", "readfilesync", "readfile", "file_get_contents", "read", "readlines",
    "load_dotenv_values", "file", "foreach", "readtextfile", "path",
];
const DECODES: &[&str] = &[
    "b64decode", "urlsafe_b64decode", "a85decode", "unhexlify", "fromhex", "atob", "decode64",
    "base64_decode", "loads",
];

pub(super) fn interpreted(search: &mut Search, call: &Call) {
    super::cloud::formed(search, call);
    remote::interpreter(search, call);
    remote::installs(search, call);
    match call.name {
        "perl" | "ruby" => {
            secret::named(
                search,
                call.simple,
                call.operands().into_iter().map(|(_, word)| word),
                "secret-file",
            );
        }
        "awk" | "gawk" | "mawk" | "nawk" => secret::reads(search, call),
        _ => readers::shown(search, call),
    }
    let mut programs = given(call);
    let reads_input = programs.is_empty() && call.operands().iter().all(|(_, word)| word.is("-"));
    programs.extend(call.simple.script.clone().filter(|_| reads_input));
    if programs.iter().any(|program| empties_in_place(call, program)) {
        for word in operands_of(call) {
            content::emptied(search, call.simple, word);
        }
    }
    let is_value = matches!(call.name, "rscript" | "jq")
        || call.options().any(|text| matches!(text.as_str(), "-p" | "--print"));
    if !printed::is_kept(call.simple) && programs.iter().any(|text| shown::prints_environment(text, is_value))
    {
        search.shown.push(call.simple.clone());
    }
    for program in &programs {
        judge(search, call.simple, program);
        // A shell line that something other than a shell receives.
        if !program.contains('(') && !call.name.ends_with("awk") {
            search.perhaps(program, call.simple);
        }
    }
    if let Some(id) = tool(call) {
        search.add(id, call.simple);
    }
}

/// The programs among the arguments.
fn given(call: &Call) -> Vec<String> {
    let operands = call.operands();
    #[rustfmt::skip]
    let flags = [
        "-c", "-e", "-E", "-r", "-p", "--eval", "--print", "-ne", "-pe", "-le", "-lne", "-eval", "-batch", "--expr", "--expression",
        "--execute", "--python-expr", "-x", "--code",
    ];
    let mut programs: Vec<String> = Vec::new();
    for (at, text) in call.texts.iter().enumerate() {
        let bundled = text.starts_with('-') && !text.starts_with("--") && text.ends_with(['e', 'c', 'E']);
        if flags.contains(&text.as_str()) || bundled {
            programs.extend(call.words.get(at + 1).filter(|word| !is_unknown(word)).map(Word::code));
        } else if let Some(glued) = text.strip_prefix("--eval=").or_else(|| text.strip_prefix("-e")) {
            programs.push(glued.to_owned());
        }
    }
    if matches!(call.name, "deno" | "bun" | "crystal" | "swift")
        && operands.first().is_some_and(|(_, word)| word.is("eval"))
    {
        programs.extend(operands.iter().skip(1).map(|(_, word)| word.code()));
    }
    if call.texts.windows(2).any(|pair| pair[0] == "-m" && pair[1] == "timeit") {
        programs.extend(operands.iter().map(|(_, word)| word.code()));
    }
    if call.name.ends_with("awk") {
        let is_value = |at: usize| at > 0 && matches!(call.texts[at - 1].as_str(), "-i" | "-v" | "-F" | "-f");
        programs.extend(operands.iter().find(|(at, _)| !is_value(*at)).map(|(_, word)| word.code()));
    }
    programs
}

/// `perl -i -ne '' file`, `awk -i inplace 'BEGIN{}' file`: nothing is printed back, so the file ends up
/// empty.
fn empties_in_place(call: &Call, program: &str) -> bool {
    let plain: String = program.chars().filter(|c| !c.is_whitespace()).collect();
    let bundled =
        call.options().any(|text| !text.starts_with("--") && text.contains('i') && !text.contains("inplace"));
    match call.name {
        "perl" | "ruby" => {
            bundled && matches!(plain.as_str(), "" | "$_=\"\"" | "$_=''" | "undef$_" | "$_=\"\";" | "s/.*//s")
        }
        "awk" | "gawk" => {
            call.texts.iter().any(|text| text == "inplace")
                && !plain.contains("print")
                && plain.starts_with("BEGIN{}")
        }
        _ => false,
    }
}

/// The operands, without the program text.
fn operands_of<'a>(call: &Call<'a>) -> Vec<&'a Word> {
    let code = ["-e", "-ne", "-pe", "-E", "-i", "-pie"];
    let is_value = |at: usize| at > 0 && code.contains(&call.texts[at - 1].as_str());
    let skipped = usize::from(call.name.ends_with("awk")) * 2;
    call.operands().into_iter().filter(|(at, _)| !is_value(*at)).map(|(_, word)| word).skip(skipped).collect()
}

/// The rule for a tool that its interpreter runs: `python manage.py flush`, `python -m twine upload`.
fn tool(call: &Call) -> Option<&'static str> {
    let has = |wanted: &str| call.texts.iter().any(|text| text == wanted);
    if let Some(at) = call.texts.iter().position(|text| text.ends_with("manage.py")) {
        let verb = call.texts.get(at + 1).map(String::as_str).unwrap_or_default();
        let empties = matches!(verb, "flush" | "reset_db" | "sqlflush") || verb == "migrate" && has("zero");
        return empties.then_some("database-drop");
    }
    let setup = call.texts.first().is_some_and(|text| text.ends_with("setup.py"));
    let module = call.texts.windows(2).find(|pair| pair[0] == "-m").map(|pair| pair[1].as_str());
    match module {
        Some("twine") if has("upload") => Some("publish-package"),
        Some("pip") if remote::installs_from_elsewhere(call) => Some("remote-code"),
        _ => (setup && has("upload")).then_some("publish-package"),
    }
}

/// A removing function that is passed to another one, which applies it to a list.
const REMOVES_EACH: [&str; 8] = [
    "(rm,", "(unlink,", "(os.remove,", "(os.unlink,", "(fs.unlinksync)", "delete-file)", "'delete-file",
    "(quote delete-file",
];

pub(super) fn judge(search: &mut Search, simple: &Simple, text: &str) {
    if simple.name().is_some_and(|name| name.ends_with("awk")) {
        awk::judge(search, simple, text);
    }
    let program = read(text);
    for called in &program.calls {
        judge_call(search, simple, called, &program);
    }
    for line in &program.quoted {
        search.text(line, simple);
    }
    let lower = text.to_lowercase();
    held(search, simple, &program, &lower);
    spoken(search, simple, &program, text, &lower);
    if program.lists && REMOVES_EACH.iter().any(|call| lower.contains(call)) {
        search.add("rm-unknown", simple);
    }
    let names = |names: &[&str]| names.iter().any(|name| lower.contains(name));
    let fetches = program.makes(&["urlopen", "urlretrieve", "fetch", "get", "get_response"])
        && names(&["urllib", "requests", "httpx", "http", "lwp", "aiohttp"]);
    // `.then(eval)`
    let evaluates = evaluates(&program) || names(&["(eval)", "(exec)"]);
    if evaluates && fetches {
        search.add("remote-code", simple);
    }
    if !simple.fed.is_empty() && simple.script.is_none() && evaluates_input(&lower) {
        search.add(remote::by_source(&simple.fed), simple);
    }
    let runs = program.makes(&["system", "popen", "call", "check_call", "check_output", "exec", "execsync"])
        || text.contains("shell=True");
    if (evaluates || runs) && program.makes(DECODES) && names(&["b64", "marshal", "pickle", "hex", "atob"]) {
        search.add("decoded-code", simple);
    }
    if names(&[".all().delete()", ".delete_all", ".destroy_all"]) {
        search.add(if names(&["boto3"]) { "cloud-delete" } else { "sql-destroy" }, simple);
    }
    let shell = names(&["/bin/sh", "/bin/bash", "pty.spawn", "cmd.exe"]);
    if shell && names(&["socket(", "fsockopen", "tcpsocket", ".connect", "socket.new", "create_connection"]) {
        search.add("reverse-shell", simple);
    }
    if forks_without_end(&program, &lower) {
        search.add("fork-bomb", simple);
    }
    let environment = names(&["os.environ", "process.env", "env.to_h"]);
    if environment && program.makes(&["post", "request", "sendall"]) && names(&["http", "socket"]) {
        search.add("secret-send", simple);
    }
}

/// `c = "rm -rf src"; os.system(c)`, `c = ["rm", "-rf", "src"]; run(c)`: lines that a program holds until it
/// runs them.
fn held(search: &mut Search, simple: &Simple, program: &Program, lower: &str) {
    const RUNNERS: &[&str] =
        &["child_process", "execa", "open3", "os.popen", "os.system", "shelljs", "subprocess"];
    const BARE: &[&str] = &["exec", "passthru", "popen", "shell_exec", "system"];
    let is_empty = |called: &Called| {
        BARE.contains(&called.name.as_str()) && called.texts.is_empty() && called.before.is_empty()
    };
    if !RUNNERS.iter().any(|name| lower.contains(name)) && !program.calls.iter().any(is_empty) {
        return;
    }
    let joined = program.texts.join(" ");
    for line in program.texts.iter().chain([&joined]) {
        search.likely(&filled(line), simple);
    }
}

/// Languages that use words instead of brackets: `file delete -force src` of Tcl, `tell application "Finder"
/// to delete …`.
fn spoken(search: &mut Search, simple: &Simple, program: &Program, text: &str, lower: &str) {
    for line in text.split([';', '\n']).filter_map(|line| line.trim().strip_prefix("file delete ")) {
        let words: Vec<Word> =
            line.split_whitespace().filter(|word| !word.starts_with('-')).map(Word::of).collect();
        removed(search, simple, &words);
    }
    if lower.contains("\"finder\"") && (lower.contains("empty trash") || lower.contains("empty the trash")) {
        search.add("file-wipe", simple);
    }
    if lower.contains("application \"finder\"") && lower.contains(" delete ") {
        let paths: Vec<Word> =
            program.texts.iter().filter(|text| text.contains('/')).map(|text| Word::of(text)).collect();
        removed(search, simple, &paths);
    }
}

/// An endless loop that starts another process each time. `fork('./worker.js')` starts a known program.
fn forks_without_end(program: &Program, lower: &str) -> bool {
    const ENDLESS: &[&str] = &[
        "while1", "while(1", "while(true", "whiletrue", "for(;;)", "loop{", "loopdo", "untilfalse",
        "until(false",
    ];
    let plain: String = lower.chars().filter(|c| !c.is_whitespace()).collect();
    let has = |signs: &[&str]| signs.iter().any(|sign| plain.contains(sign));
    let bare = |called: &Called| called.name == "fork" && called.texts.is_empty();
    let forks = program.calls.iter().any(bare) || has(&["{fork", ";fork", "dofork", "fork{"]);
    has(&["forkwhile", "whilefork", "while(fork"]) || forks && has(ENDLESS)
}

/// Whether it runs text as a program of its own language; `re.compile` does not.
fn evaluates(program: &Program) -> bool {
    let evaluators = ["exec", "eval", "compile", "instance_eval", "function", "runincontext", "execfile"];
    let is_pattern = |called: &Called| called.whole.to_lowercase() == "re.compile";
    program.calls.iter().any(|called| evaluators.contains(&called.name.as_str()) && !is_pattern(called))
}

/// `exec(sys.stdin.read())`: standard input is run as a program.
fn evaluates_input(lower: &str) -> bool {
    const INPUT: &[&str] = &["stdin", "input()", "open(0", "filesync(0", "<>", "fileinput", "php://input"];
    let is_part = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'));
    let runs =
        |word: &str| matches!(word, "exec" | "eval" | "system" | "os.system" | "os.popen" | "instance_eval");
    INPUT.iter().any(|name| lower.contains(name)) && lower.split(is_part).any(runs)
}

/// A string as a word; parts that the program fills in are unknown.
fn said(text: &str) -> Word {
    let mut bits = Vec::new();
    for (at, part) in text.split(typed::UNKNOWN).enumerate() {
        bits.extend((at > 0).then_some(Bit::Any));
        bits.extend(part.chars().map(Bit::Char));
    }
    Word { bits, ..Word::default() }
}

fn judge_call(search: &mut Search, simple: &Simple, called: &Called, program: &Program) {
    let name = called.name.as_str();
    let own = if called.texts.is_empty() { &called.before } else { &called.texts };
    let words: Vec<Word> =
        own.iter().filter(|text| !text.is_empty()).map(|text| globbed(&said(text))).collect();
    if RUNS.contains(&name) {
        let more = called.more.then(|| "${_unknown}".to_owned());
        let line: Vec<String> = words.iter().map(super::call::quoted).chain(more).collect();
        search.text(&line.join(" "), simple);
        // A single word is just an argument: `["config", "export"]`.
        for text in called.texts.iter().filter(|text| text.contains(char::is_whitespace)) {
            let line = filled(text);
            if program.lists { typed::for_each(search, &line, simple) } else { search.text(&line, simple) }
        }
    }
    removes(search, simple, called, &words, program);
    writes(search, simple, called, &words, program);
    if READS.contains(&name) {
        secret::named(search, simple, &words, "secret-file");
    }
    let pays = ["gateway.", "braintree.", "stripe."]
        .iter()
        .any(|begin| called.whole.to_lowercase().starts_with(begin));
    if matches!(name, "deleteindex" | "clearobjects" | "clearindex")
        || pays && matches!(name, "delete" | "cancel")
    {
        search.add("cloud-delete", simple);
    }
    if matches!(name, "drop_all" | "drop_database" | "dropdatabase" | "flushall" | "flushdb") {
        search.add("database-drop", simple);
    }
    if matches!(name, "execute" | "query" | "raw" | "executescript" | "executemany")
        && called.texts.iter().any(|text| sql::destroys(text))
    {
        search.add("sql-destroy", simple);
    }
}

/// A call that removes files, or folders with their content.
fn removes(search: &mut Search, simple: &Simple, called: &Called, words: &[Word], program: &Program) {
    let name = called.name.as_str();
    let flags = words.iter().any(|word| word.is("rf") || word.is("s"));
    let recursive = called.recursive || flags && matches!(name, "delete" | "rmdir");
    let lists = FILES.contains(&name) || name == "rm";
    if TREES.contains(&name) && (name != "rm" || called.whole.contains('.')) || lists && recursive {
        let words: Vec<Word> =
            words.iter().filter(|word| !matches!(word.lossy().as_str(), "rf" | "s")).cloned().collect();
        remove_trees(search, simple, called, &words, program);
    } else if FILES.contains(&name) {
        // The program lists folders, so it removes whatever it finds there.
        let in_folder = |word: &Word| word.lossy().trim_end_matches('…').ends_with('/');
        if program.lists && words.iter().all(in_folder) {
            search.add("rm-unknown", simple);
        }
        unlinked(search, simple, words);
        secret::named(search, simple, words, "secret-file");
    }
}

/// A call that writes a file, or leaves it empty.
fn writes(search: &mut Search, simple: &Simple, called: &Called, words: &[Word], program: &Program) {
    let name = called.name.as_str();
    let mode = called.texts.get(1).map(String::as_str).unwrap_or_default();
    if matches!(name, "write_text" | "write_bytes") && !called.before.is_empty() {
        // `Path("x").write_text("")`
        let file = said(&called.before[0]);
        written(search, simple, &file);
        if called.texts == [""] {
            content::emptied(search, simple, &file);
        }
        return;
    }
    if WRITES.contains(&name) || name == "open" && mode.contains(['w', 'a', 'x', '+', '>']) && mode.len() < 4
    {
        let empty = called.texts.get(1).is_some_and(String::is_empty)
            || name == "open" && mode == "w" && !program.fills;
        for word in words.iter().take(1) {
            written(search, simple, word);
            if empty {
                content::emptied(search, simple, word);
            } else if mode != "a" {
                content::replaced(search, simple, word);
            }
        }
    }
    if matches!(name, "truncate" | "truncatesync") {
        for word in words {
            content::emptied(search, simple, word);
        }
    }
}

/// A call that removes the folders these words name; without words, the paths that the program names; without
/// those, any folder.
fn remove_trees(search: &mut Search, simple: &Simple, called: &Called, words: &[Word], program: &Program) {
    if called.texts.is_empty() && program.homes {
        return removed(search, simple, [&Word::of("~")]);
    }
    if !words.is_empty() {
        return removed(search, simple, words.iter().filter(|word| !is_mode(word)));
    }
    let all: Vec<Word> =
        program.texts.iter().filter(|text| is_path(text)).map(|text| Word::of(text)).collect();
    removed(search, simple, &all);
    if all.is_empty() && !program.makes_temporary {
        removed(search, simple, [&Word::any()]);
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with(['/', '~', '.']) || text.contains('/') && !text.contains(' ')
}

fn is_mode(word: &Word) -> bool {
    matches!(word.lossy().as_str(), "utf8" | "utf-8" | "recursive" | "force" | "true")
}
