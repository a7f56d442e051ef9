//! The house keeps its own rules: layers, sizes, registered tests, words.

mod imports;
mod lines;

use aops_core::model::client::Client;
use imports::{Tree, without_tests};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines without tests above which a file stops the build; tables are excepted by name.
/// 400 of the 120 columns that a line once had.
const LONGEST_FILE: usize = 436;
const TABLES: [&str; 2] =
    ["crates/aops-core/src/model/event.rs", "crates/aops-core/src/config/policy/tests/tighten.rs"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn rust_files(below: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for item in fs::read_dir(folder).unwrap().flatten() {
            let path = item.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(below), &mut found);
    found.sort();
    let name = |path: &PathBuf| path.strip_prefix(root()).unwrap().display().to_string();
    found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The source of each crate: the program's, and those below `crates`.
fn crates() -> Vec<String> {
    let items = fs::read_dir(root().join("crates")).unwrap().flatten();
    let mut found: Vec<String> =
        items.map(|item| format!("crates/{}/src", item.file_name().to_str().unwrap())).collect();
    found.sort();
    found.insert(0, "src".to_owned());
    found
}

fn all_rust_files() -> Vec<(String, String)> {
    crates().iter().flat_map(|below| rust_files(below)).collect()
}

/// What is linked into the program and knows the client.
fn program_files() -> Vec<(String, String)> {
    ["src", CORE].iter().flat_map(|below| rust_files(below)).collect()
}

/// Without test modules and without comments.
fn code(text: &str) -> String {
    let lines = without_tests(text);
    lines.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// What runs at every event.
const CORE: &str = "crates/aops-core/src";
/// Folders of it that decide or compute and nothing else.
const PURE: [&str; 5] = ["text", "model", "tool", "session", "gate"];
const PURE_FILES: [&str; 14] = [
    "crates/aops-attest/src/",
    "crates/aops-shell/src/",
    "crates/aops-proof/src/",
    "crates/aops-network/src/name",
    "crates/aops-network/src/list",
    "crates/aops-network/src/hello",
    "crates/aops-network/src/body",
    "crates/aops-network/src/request",
    "crates/aops-network/src/counts",
    "crates/aops-ledger/src/sha256",
    "crates/aops-ledger/src/stored",
    "crates/aops-ledger/src/json",
    "crates/aops-ledger/src/entry",
    "crates/aops-ledger/src/chain",
];

#[test]
fn imports_point_up_the_page() {
    let trees: Vec<Tree> = crates().iter().map(|below| Tree::read(below)).collect();
    let modules: usize = trees.iter().map(|tree| tree.modules.len()).sum();
    assert!(modules > 200 && trees.len() > 1, "the source was found: {modules} modules");
    let wrong: Vec<_> = trees.iter().flat_map(Tree::wrong_imports).collect();
    assert!(wrong.is_empty(), "{} imports point down:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_module_imports_itself_through_others() {
    let trees: Vec<Tree> = crates().iter().map(|below| Tree::read(below)).collect();
    let rings: Vec<_> = trees.iter().flat_map(Tree::rings).collect();
    assert!(rings.is_empty(), "{rings:#?}");
}

/// `ls src` is the architecture.
#[test]
fn the_source_is_one_screen() {
    for below in ["src", CORE] {
        let entries = fs::read_dir(root().join(below)).unwrap().count();
        assert!(entries <= 20, "{entries} entries in {below}");
        let lib = fs::read_to_string(root().join(below).join("lib.rs")).unwrap();
        for folder in imports::declared(&lib) {
            assert!(
                lib.contains(&format!("pub mod {folder}; // ")),
                "{below}/lib.rs does not say what `{folder}` is"
            );
        }
    }
}

#[test]
fn pure_folders_touch_nothing() {
    let outside = [
        "std::fs", "std::env", "std::process", "std::thread", "std::net", "std::io", "std::time::Instant",
        "SystemTime", "rustix", "Instant::now", "File::",
    ];
    let pure = |file: &str| {
        PURE.iter().any(|folder| file.starts_with(&format!("{CORE}/{folder}/")))
            || PURE_FILES.iter().any(|name| file.starts_with(name))
    };
    let mut wrong = Vec::new();
    for (file, text) in all_rust_files().into_iter().filter(|(file, _)| pure(file) && !file.contains("tests"))
    {
        let code = code(&text);
        wrong.extend(
            outside.iter().filter(|word| code.contains(**word)).map(|word| format!("{file}: {word}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_stay_small() {
    let long = all_rust_files().into_iter().filter(|(name, _)| !TABLES.contains(&name.as_str()));
    let long: Vec<_> = long
        .map(|(name, text)| (name, code(&text).lines().count()))
        .filter(|(_, n)| *n > LONGEST_FILE)
        .collect();
    assert!(long.is_empty(), "cut these where their ideas part: {long:?}");
}

/// Most fields of a type of the core.
const WIDEST_TYPE: usize = 15;
/// Types that are wider, with how many fields they have. A row goes, or its number falls; none is added.
const WIDE: [(&str, usize); 4] = [
    ("Policy", 26),
    ("Insights", 47),
    ("Sums", 23),
    // Its written form is the contract's `session-state.json`, key by key.
    ("State", 18),
];

/// The structs of a file that have named fields, with how many.
fn structs(code: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut inside = false;
    for line in code.lines() {
        let words = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("pub ");
        if let Some(rest) = words.strip_prefix("struct ").filter(|rest| rest.ends_with('{')) {
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            found.push((name.to_owned(), 0));
            inside = true;
        } else if line == "}" {
            inside = false;
        } else if let Some((_, fields)) = found.last_mut().filter(|_| inside) {
            // A field is indented once; an attribute begins with `#`.
            let is_field = line.starts_with("    ") && !line[4..].starts_with([' ', '#', '/', '}', ')', '>']);
            *fields += usize::from(is_field && line.contains(": "));
        }
    }
    found
}

#[test]
fn no_type_of_the_core_is_a_bag() {
    let files = rust_files(CORE).into_iter().filter(|(name, _)| !name.contains("tests"));
    let wide: Vec<(String, usize)> = files
        .flat_map(|(_, text)| structs(&code(&text)))
        .filter(|(_, fields)| *fields > WIDEST_TYPE)
        .collect();
    let known: Vec<(String, usize)> = WIDE.map(|(name, fields)| (name.to_owned(), fields)).to_vec();
    assert_eq!(
        wide, known,
        "group the fields of what is wider than {WIDEST_TYPE}, and lower what became narrower"
    );
}

#[test]
fn every_module_says_what_it_is() {
    let silent: Vec<_> = all_rust_files()
        .into_iter()
        .filter(|(name, text)| !text.starts_with("//!") && !name.ends_with("/tests.rs"))
        .map(|(name, _)| name)
        .collect();
    assert!(silent.is_empty(), "no `//!` at the top of {silent:?}");
    let wordy = |text: &str| text.lines().take_while(|line| line.starts_with("//!")).count() > 12;
    let wordy: Vec<_> = all_rust_files()
        .into_iter()
        .filter(|(n, t)| !n.ends_with("src/lib.rs") && wordy(t))
        .map(|(n, _)| n)
        .collect();
    assert!(wordy.is_empty(), "more than twelve lines of module doc: {wordy:?}");
}

#[test]
fn every_test_file_is_registered() {
    let main = fs::read_to_string(root().join("tests/it/main.rs")).unwrap();
    let missing: Vec<_> = fs::read_dir(root().join("tests/it"))
        .unwrap()
        .flatten()
        .filter_map(|item| Some(item.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .filter(|name| name != "main" && !main.contains(&format!("mod {name};")))
        .collect();
    assert!(missing.is_empty(), "tests/it/main.rs does not name {missing:?}");
}

#[test]
fn the_hosts_words_stay_on_the_wire() {
    let words = ["permissionDecision", "hookSpecificOutput", "additionalContext", "systemMessage"];
    let mut wrong = Vec::new();
    for (file, text) in all_rust_files() {
        let is_answer = file.starts_with(&format!("{CORE}/host/")) && file.ends_with("/answer.rs");
        let on_wire = is_answer || file.starts_with(&format!("{CORE}/host/claude/wire"));
        // A key of a registration, not of an answer.
        let code = code(&text).replace("additionalContextLimit", "");
        let leaks = words.iter().filter(|word| code.contains(**word) && !on_wire);
        wrong.extend(leaks.map(|word| format!("{file}: {word}")));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Files outside `host` that name a client other than by asking the list, and why. A row goes; none is added.
const NAME_A_CLIENT: [(&str, &str); 4] = [
    ("crates/aops-core/src/model/client.rs", "the list of names, and what each can do"),
    ("src/run/client.rs", "which clients a run can drive"),
    ("src/run/client/codex.rs", "how a run drives this one"),
    ("src/run/driver/codex.rs", "the same"),
];

/// One more client is one more folder of `host`, not a branch in every file.
#[test]
fn clients_are_asked_and_not_named() {
    let variants = Client::ALL.map(|client| format!("Client::{client:?}"));
    let folders = ["codex", "copilot", "opencode", "gemini"].map(|folder| format!("host::{folder}"));
    let names = |code: &str| {
        let is_end = |at: usize| !code[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let all = variants.iter().chain(&folders);
        all.into_iter().any(|name| code.match_indices(name).any(|(at, _)| is_end(at + name.len())))
    };
    let host = format!("{CORE}/host/");
    let files =
        all_rust_files().into_iter().filter(|(file, _)| !file.starts_with(&host) && !file.contains("tests"));
    let naming: BTreeSet<String> =
        files.filter(|(_, text)| names(&code(text))).map(|(file, _)| file).collect();
    let known = NAME_A_CLIENT.map(|(file, _)| file.to_owned());
    assert_eq!(naming, BTreeSet::from(known), "ask `Client::can`, `Client::row` or `host::table` instead");
}

#[test]
fn names_we_do_not_use() {
    let banned = ["manager", "handler", "helper", "utils", "processor", "engine"];
    let named = |file: &str| banned.iter().any(|word| file.contains(word));
    let wrong: Vec<_> =
        all_rust_files().into_iter().map(|(file, _)| file).filter(|file| named(file)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Who is held by the jail is decided where a program is found, so nothing else starts one.
#[test]
fn programs_are_started_in_one_place() {
    let starts =
        [".spawn()", "Command::new(", "CommandExt", "execv", "posix_spawn", "libc::system(", "libc::popen("];
    let places = ["crates/aops-core/src/system/process", "crates/aops-core/src/jail/program.rs"];
    let mut wrong = Vec::new();
    for (file, text) in program_files().into_iter().filter(|(file, _)| !file.contains("tests")) {
        // The parser of the command line calls a verb so.
        let code = code(&text).replace("clap::Command::new(", "");
        let found =
            starts.iter().filter(|word| code.contains(**word) && !places.iter().any(|p| file.starts_with(p)));
        wrong.extend(found.map(|word| format!("{file}: {word}")));
        if code.contains("Program::fixed(") && !file.starts_with("crates/aops-core/src/system/process") {
            wrong.push(format!("{file}: a program without an identity"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Opens a path as it is: a FIFO in the place of the file is waited for, a device is read.
const OPENS: [&str; 6] =
    ["fs::read(", "fs::read_to_string", "fs::write(", "File::open", "File::create(", "fs::copy("];
/// Begins an open with options of its own.
const BUILDERS: [&str; 2] = ["OpenOptions::new()", "File::options()"];
/// Which files may open so, and why none of them can be made to wait.
const OPEN_THEMSELVES: [(&str, &str); 12] = [
    ("crates/aops-core/src/system/files.rs", "everything else goes through it"),
    ("crates/aops-core/src/system/process/", "reads `/proc` alone"),
    ("src/cli/demo.rs", "writes into a private folder that it has just made"),
    ("src/cli/demo/stage.rs", "writes into a private folder that it has just made"),
    ("src/cli/world.rs", "writes into a private folder that it has just made"),
    ("src/cli/bundle.rs", "a person names the file, which may be a pipe"),
    ("src/cli/man.rs", "a person names the folder"),
    ("src/cli/simulate.rs", "a person names the file, which may be a pipe"),
    ("src/cli/verify.rs", "a person names the file, which may be a pipe"),
    ("src/cli/verify_commit.rs", "a person names the file, which may be a pipe"),
    ("src/cli/verify/proof.rs", "a person names the file, which may be a pipe"),
    ("src/run/queue.rs", "a person names the file, which may be a pipe"),
];

/// The opens in this code that may wait. A path of the kernel's own is none, nor is a file that is new.
fn unguarded_opens(code: &str) -> Vec<&str> {
    let after = |word: &'static str| code.match_indices(word).map(move |(at, _)| (word, at));
    let kernels = |at: usize| ["\"/proc/", "\"/dev/"].iter().any(|path| line_at(code, at).contains(path));
    let plain = OPENS.iter().flat_map(|word| after(word)).filter(|(_, at)| !kernels(*at));
    let built = BUILDERS.iter().flat_map(|word| after(word)).filter(|(_, at)| {
        let before = code[..*at].rfind([';', '{', '}']).unwrap_or_default();
        let rest = &code[*at..];
        let until = rest.find(".open(").or_else(|| rest.find("files::open_")).unwrap_or(rest.len());
        let statement = &code[before..*at + until];
        // Options that stand in a variable are handed over a line later.
        let handed = rest[until..].starts_with("files::open_") || statement.contains("files::open_");
        !handed && !statement.contains("create_new(true)")
    });
    plain.chain(built).map(|(_, at)| line_at(code, at)).collect()
}

fn line_at(code: &str, at: usize) -> &str {
    let begin = code[..at].rfind('\n').map_or(0, |end| end + 1);
    code[begin..].lines().next().unwrap_or_default().trim()
}

/// A repository, or a command that nothing held, can put a FIFO in the place of any file: `system::files`
/// waits for none.
#[test]
fn files_are_opened_in_one_place() {
    let excepted = |file: &str| OPEN_THEMSELVES.iter().find(|(place, _)| file.starts_with(place));
    let (mut wrong, mut used) = (Vec::new(), Vec::new());
    for (file, text) in program_files().into_iter().filter(|(file, _)| !file.contains("tests")) {
        let code = code(&text);
        let found = unguarded_opens(&code);
        match excepted(&file) {
            Some((place, _)) => used.extend(found.first().map(|_| *place)),
            None => wrong.extend(found.iter().map(|line| format!("{file}: {line}"))),
        }
    }
    assert!(wrong.is_empty(), "open these with `system::files`:\n{}", wrong.join("\n"));
    let idle: Vec<_> = OPEN_THEMSELVES.iter().filter(|(place, _)| !used.contains(place)).collect();
    assert!(idle.is_empty(), "these open nothing by themselves any more: {idle:?}");
}

#[test]
fn an_open_that_may_wait_is_seen() {
    for waits in [
        "let x = fs::read(path)?;",
        "x.map(fs::read_to_string)",
        "let f = OpenOptions::new().append(true).open(&path)?;",
        "let o = OpenOptions::new();\n    let f = o.read(true).open(path);",
        "let f = files::open(&a); let g = File::options().read(true).open(b);",
    ] {
        assert_eq!(unguarded_opens(waits).len(), 1, "{waits}");
    }
    for free in [
        "fs::read(\"/proc/self/stat\")",
        "files::read(path)",
        "OpenOptions::new().write(true).create_new(true).open(path)",
        "files::open_itself(path, OpenOptions::new().read(true))",
        "let o = &mut OpenOptions::new();\n    files::open_as(path, o.read(true))",
    ] {
        assert_eq!(unguarded_opens(free), [""; 0], "{free}");
    }
}
