//! Programs of interpreters in the line (`python -c`, `node -e`, a here-document): what they start, remove, read and write,
//! one level deep. Only calls and the text between quotes are looked at.

use super::Search;
use super::call::{Call, is_unknown};
use super::files::{removed, unlinked, written};
use super::{remote, secret, sql};
use crate::syntax::{Simple, Word};

/// A call in program text: the last part of its name, all of it, and the texts among its arguments.
#[derive(Debug, Default)]
struct Called {
    name: String,
    whole: String,
    texts: Vec<String>,
    /// The texts of the call that it is a part of: `Path('x').unlink()`.
    before: Vec<String>,
}

#[derive(Debug, Default)]
struct Program {
    calls: Vec<Called>,
    texts: Vec<String>,
    /// Commands between backquotes.
    quoted: Vec<String>,
    /// It asks for the home folder.
    homes: bool,
}

impl Program {
    /// One of these is called.
    fn makes(&self, names: &[&str]) -> bool {
        self.calls.iter().any(|called| names.contains(&called.name.as_str()))
    }
}

#[rustfmt::skip]
const RUNS: &[&str] = &[
    "call", "check_call", "check_output", "exec", "execfile", "execfilesync", "execsync", "getoutput",
    "getstatusoutput", "open3", "passthru", "popen", "proc_open", "qx", "run", "shell", "shell_exec", "spawn", "spawnsync",
    "system", "execute", "execv", "execvp", "execlp", "execl", "posix_spawn", "capture2", "capture3", "sh",
];
const TREES: &[&str] = &[
    "delete_tree", "deltree", "emptydirsync", "remove_dir_all", "remove_entry_secure", "remove_tree", "removeall",
    "removesync", "rimraf", "rimrafsync", "rm_r", "rm_rf", "rmdirsync", "rmsync", "rmtree", "removedirs", "rmtree_f",
    "rm", "deleterecursively",
];
const FILES: &[&str] =
    &["remove", "unlink", "unlinksync", "delete", "rmdir", "rename", "renamesync", "truncate", "truncatesync"];
const WRITES: &[&str] =
    &["writefilesync", "writefile", "appendfilesync", "file_put_contents", "write_text", "write_bytes"];
const READS: &[&str] = &[
    "open", "read_text", "read_bytes", "readfilesync", "readfile", "file_get_contents", "read", "readlines",
    "load_dotenv_values", "file", "foreach", "readtextfile", "path",
];
const LISTS: &[&str] = &[
    "listdir", "walk", "glob", "iglob", "rglob", "scandir", "readdirsync", "readdir", "iterdir", "entries", "children",
];
const DECODES: &[&str] = &[
    "b64decode", "urlsafe_b64decode", "a85decode", "unhexlify", "fromhex", "atob", "decode64", "base64_decode", "loads",
];

pub(super) fn interpreted(search: &mut Search, call: &Call) {
    super::cloud::formed(search, call);
    remote::interpreter(search, call);
    remote::installs(search, call);
    match call.name {
        "perl" | "ruby" => {
            secret::named(search, call.simple, call.operands().into_iter().map(|(_, word)| word), "secret-file");
        }
        "awk" | "gawk" | "mawk" | "nawk" => secret::reads(search, call),
        _ => {}
    }
    let mut programs = given(call);
    let reads_input = programs.is_empty() && call.operands().iter().all(|(_, word)| word.is("-"));
    programs.extend(call.simple.script.clone().filter(|_| reads_input));
    for program in &programs {
        judge(search, call.simple, program);
        // A line for the shell, given to something else.
        if !program.contains('(') && !call.name.ends_with("awk") {
            search.text(program, call.simple);
        }
    }
    if let Some(id) = tool(call) {
        search.add(id, call.simple);
    }
}

/// The programs among the arguments.
fn given(call: &Call) -> Vec<String> {
    let operands = call.operands();
    let flags = ["-c", "-e", "-E", "-r", "-p", "--eval", "--print", "-ne", "-pe", "-le", "-lne"];
    let mut programs: Vec<String> = Vec::new();
    for (at, text) in call.texts.iter().enumerate() {
        let bundled = text.starts_with('-') && !text.starts_with("--") && text.ends_with(['e', 'c', 'E']);
        if flags.contains(&text.as_str()) || bundled {
            programs.extend(call.words.get(at + 1).filter(|word| !is_unknown(word)).map(Word::code));
        } else if let Some(glued) = text.strip_prefix("--eval=").or_else(|| text.strip_prefix("-e")) {
            programs.push(glued.to_owned());
        }
    }
    if matches!(call.name, "deno" | "bun") && operands.first().is_some_and(|(_, word)| word.is("eval")) {
        programs.extend(operands.iter().skip(1).map(|(_, word)| word.code()));
    }
    if call.name.ends_with("awk") {
        programs.extend(operands.first().map(|(_, word)| word.code()));
    }
    programs
}

/// The rule for a tool that is run by its interpreter: `python manage.py flush`, `python -m twine upload`.
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

pub(super) fn judge(search: &mut Search, simple: &Simple, text: &str) {
    let program = read(text);
    for called in &program.calls {
        judge_call(search, simple, called, &program);
    }
    for line in &program.quoted {
        search.text(line, simple);
    }
    let lower = text.to_lowercase();
    let names = |names: &[&str]| names.iter().any(|name| lower.contains(name));
    let fetches = program.makes(&["urlopen", "urlretrieve", "fetch", "get", "get_response"])
        && names(&["urllib", "requests", "httpx", "http", "lwp", "aiohttp"]);
    let evaluates = evaluates(&program);
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
    let shell = names(&["/bin/sh", "/bin/bash", "pty.spawn", "cmd.exe"]);
    if shell && names(&["socket", "fsockopen"]) {
        search.add("reverse-shell", simple);
    }
    let forks = program.makes(&["fork"]) || names(&["fork while", "fork()"]);
    if forks && names(&["while", "for", "loop", "until"]) {
        search.add("fork-bomb", simple);
    }
    let environment = names(&["os.environ", "process.env", "env.to_h"]);
    if environment && program.makes(&["post", "request", "sendall"]) && names(&["http", "socket"]) {
        search.add("secret-send", simple);
    }
}

/// It runs text as a program of its own language; `re.compile` does not.
fn evaluates(program: &Program) -> bool {
    let evaluators = ["exec", "eval", "compile", "instance_eval", "function", "runincontext", "execfile"];
    let is_pattern = |called: &Called| called.whole.to_lowercase() == "re.compile";
    program.calls.iter().any(|called| evaluators.contains(&called.name.as_str()) && !is_pattern(called))
}

/// `exec(sys.stdin.read())`: what arrives is not read but run.
fn evaluates_input(lower: &str) -> bool {
    const INPUT: &[&str] = &["stdin", "input()", "open(0", "filesync(0", "<>", "fileinput", "php://input"];
    let is_part = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'));
    let runs = |word: &str| matches!(word, "exec" | "eval" | "system" | "os.system" | "os.popen" | "instance_eval");
    INPUT.iter().any(|name| lower.contains(name)) && lower.split(is_part).any(runs)
}

fn judge_call(search: &mut Search, simple: &Simple, called: &Called, program: &Program) {
    let name = called.name.as_str();
    let own = if called.texts.is_empty() { &called.before } else { &called.texts };
    let words: Vec<Word> = own.iter().filter(|text| !text.is_empty()).map(|text| Word::of(text)).collect();
    if RUNS.contains(&name) {
        let line: Vec<String> = words.iter().map(super::call::quoted).collect();
        search.text(&line.join(" "), simple);
        for text in &called.texts {
            search.text(text, simple);
        }
    }
    if TREES.contains(&name) && (name != "rm" || called.whole.contains('.')) {
        remove_trees(search, simple, called, &words, program);
    }
    if FILES.contains(&name) {
        // It looks into folders: what it removes is what it finds there.
        if words.is_empty() && program.makes(LISTS) {
            search.add("rm-unknown", simple);
        }
        unlinked(search, simple, &words);
        secret::named(search, simple, &words, "secret-file");
    }
    let mode = called.texts.get(1).map(String::as_str).unwrap_or_default();
    if WRITES.contains(&name) || name == "open" && mode.contains(['w', 'a', 'x', '+', '>']) && mode.len() < 4 {
        words.iter().take(1).for_each(|word| written(search, simple, word));
    }
    if READS.contains(&name) {
        secret::named(search, simple, &words, "secret-file");
    }
    let pays = ["gateway.", "braintree.", "stripe."].iter().any(|begin| called.whole.to_lowercase().starts_with(begin));
    if matches!(name, "deleteindex" | "clearobjects" | "clearindex") || pays && matches!(name, "delete" | "cancel") {
        search.add("cloud-delete", simple);
    }
    if matches!(name, "execute" | "query" | "raw" | "executescript" | "executemany")
        && called.texts.iter().any(|text| sql::destroys(text))
    {
        search.add("sql-destroy", simple);
    }
}

/// A call removes the folders that these words name; without any, those of the paths that the program names, or any at all.
fn remove_trees(search: &mut Search, simple: &Simple, called: &Called, words: &[Word], program: &Program) {
    const TEMPORARY: &[&str] = &["mkdtemp", "mkdtempsync", "temporarydirectory", "mktmpdir", "tempdir", "tmpdir"];
    if called.texts.is_empty() && program.homes {
        return removed(search, simple, [&Word::of("~")]);
    }
    if !words.is_empty() {
        return removed(search, simple, words.iter().filter(|word| !is_mode(word)));
    }
    let all: Vec<Word> = program.texts.iter().filter(|text| is_path(text)).map(|text| Word::of(text)).collect();
    removed(search, simple, &all);
    if all.is_empty() && !program.makes(TEMPORARY) {
        removed(search, simple, [&Word::any()]);
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with(['/', '~', '.']) || text.contains('/') && !text.contains(' ')
}

fn is_mode(word: &Word) -> bool {
    matches!(word.lossy().as_str(), "utf8" | "utf-8" | "recursive" | "force" | "true")
}

/// The calls and texts of a program in any of these languages.
fn read(text: &str) -> Program {
    let letters: Vec<char> = text.chars().take(64 * 1024).collect();
    let mut reader = Reader::default();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        at = match letter {
            '"' | '\'' | '`' => {
                let (literal, end) = literal(&letters, at);
                reader.text(literal, letter == '`');
                end
            }
            '#' if at == 0 || letters[at - 1].is_whitespace() => {
                letters[at..].iter().position(|letter| *letter == '\n').map_or(letters.len(), |line| at + line)
            }
            _ => {
                reader.letter(letter, at > 0 && matches!(letters[at - 1], ' ' | '\t'));
                at + 1
            }
        };
    }
    let lower = text.to_lowercase();
    let homes = ["homedir(", "path.home(", "dir.home", "env.home", "environ['home']", "getenv('home')"];
    reader.program.homes = homes.iter().any(|word| lower.contains(word));
    reader.program
}

#[derive(Default)]
struct Reader {
    program: Program,
    /// The calls whose brackets are open, by their place in the program.
    open: Vec<Option<usize>>,
    /// The call without brackets that is being read: `system "a", "b"`.
    bare: Option<usize>,
    /// The name that is being read.
    name: String,
}

impl Reader {
    fn text(&mut self, literal: String, is_backquoted: bool) {
        #[rustfmt::skip]
        const BARE: &[&str] = &["system", "exec", "unlink", "rm_rf", "rmtree", "rmdir", "popen", "script", "delete", "qx"];
        let last = self.name.rsplit(['.', ':']).next().unwrap_or_default();
        self.program.texts.push(literal.clone());
        if let Some(called) = self.open.iter().rev().flatten().next().or(self.bare.as_ref()) {
            self.program.calls[*called].texts.push(literal);
        } else if BARE.contains(&last) {
            // `do shell script "…"`
            let name = last.replace("script", "system");
            let called = Called { name, whole: self.name.clone(), texts: vec![literal], ..Called::default() };
            self.program.calls.push(called);
            self.bare = Some(self.program.calls.len() - 1);
        } else if is_backquoted {
            self.program.quoted.push(literal);
        }
        self.name.clear();
    }

    fn letter(&mut self, letter: char, is_apart: bool) {
        match letter {
            '(' => self.open_call(),
            ')' => {
                self.open.pop();
                self.name.clear();
            }
            ';' | '\n' | '}' => {
                self.bare = None;
                self.name.clear();
            }
            ' ' | '\t' => {}
            _ if letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':' | '$') => {
                if is_apart && letter != '.' {
                    self.name.clear();
                }
                self.name.push(letter);
            }
            _ => self.name.clear(),
        }
    }

    fn open_call(&mut self) {
        let whole = std::mem::take(&mut self.name);
        let name = whole.rsplit(['.', ':', '>', '$']).next().unwrap_or_default().to_lowercase();
        if name.is_empty() {
            return self.open.push(self.open.last().copied().flatten());
        }
        let chained = self.program.calls.last().filter(|_| whole.starts_with('.'));
        let before = chained.map(|called| called.texts.clone()).unwrap_or_default();
        self.program.calls.push(Called { name, whole, before, ..Called::default() });
        self.open.push(Some(self.program.calls.len() - 1));
    }
}

/// A text between quotes that begins here, and the place after it.
fn literal(letters: &[char], from: usize) -> (String, usize) {
    let quote = letters[from];
    let triple = letters.get(from + 1) == Some(&quote) && letters.get(from + 2) == Some(&quote);
    let mut at = if triple { from + 3 } else { from + 1 };
    let mut text = String::new();
    while let Some(&letter) = letters.get(at) {
        let closes =
            letter == quote && (!triple || letters.get(at + 1) == Some(&quote) && letters.get(at + 2) == Some(&quote));
        if closes {
            return (text, at + if triple { 3 } else { 1 });
        }
        if letter == '\\' {
            at += 1;
        }
        text.extend(letters.get(at));
        at += 1;
    }
    (text, at)
}
