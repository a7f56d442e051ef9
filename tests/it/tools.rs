//! `tests/tools.txt`: whatever test starts a tool is in the tool's row, so that `./test` can leave it out
//! where the tool is missing.

use crate::tidy::rust_files;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../build/linker.rs"]
mod linker;

/// What stands in the text of a function that starts the tool: its name, or what of another file starts it.
const STARTS: [(&str, &[&str]); 12] = [
    ("strace", &["\"strace\"", "strace::", " counted(", "inject_at_sync("]),
    ("tmux", &["\"tmux\"", "Tmux::open(", ".sit_down(", "cockpit("]),
    ("ssh-keygen", &["\"ssh-keygen\""]),
    ("openssl", &["\"openssl\"", "\"openssl "]),
    ("chromium", &["\"chromium\"", "Browser::open(", "browser::program(", "browser::show("]),
    ("postgres", &["program(\"postgres\")", "program(\"psql\")", "Postgres::"]),
    ("rpm", &["unplugged(\"rpm\")"]),
    ("zsh", &["\"zsh\""]),
    ("fish", &["\"fish\""]),
    ("man", &["command(\"man\")"]),
    ("python3", &["\"python3\"", "ran(\"python3 ", "python_verifier::", "fake::program(", "World::with("]),
    (
        "node",
        &[
            "\"node\"", "\"npm\"", "Client::guarded(", "Client::unguarded(", "install::program(",
            "World::real(&",
        ],
    ),
];
/// What only has the name of a tool among its words. The pictures are drawn by a script, the network's tests
/// run on a machine that is made for them.
const NO_START: [&str; 4] = ["pictures", "jail::network", "shell_lines", "tools"];

/// A function of a file, and whether it is a test.
struct Function<'a> {
    name: &'a str,
    body: &'a str,
    is_test: bool,
}

/// By their indentation, which the formatter sees to.
fn functions(text: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let code = line.trim_start();
        let Some((before, rest)) = code.split_once("fn ") else { continue };
        if !["", "pub(crate) ", "pub(super) ", "const ", "pub(crate) const "].contains(&before) {
            continue;
        }
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        let end = format!("\n{}}}", &line[..line.len() - code.len()]);
        let one_line = line.trim_end().ends_with('}');
        let length =
            if one_line { line.len() } else { text[start..].find(&end).unwrap_or(text.len() - start) };
        let above = text[..start].rsplit("\n\n").next().unwrap_or_default();
        let is_test = above.rsplit('}').next().unwrap_or_default().contains("#[test]");
        found.push(Function { name, body: &text[start..start + length], is_test });
    }
    found
}

/// The tests of a file that start a tool, themselves or through another function of the file.
fn starting<'a>(text: &'a str, marks: &[&str]) -> Vec<&'a str> {
    let functions = functions(text);
    let mut reached: BTreeSet<usize> = BTreeSet::new();
    loop {
        let names: BTreeSet<&str> = reached.iter().map(|at| functions[*at].name).collect();
        let calls = |body: &str, name: &str| {
            let mut places = body.match_indices(name);
            places.any(|(at, _)| {
                let before = body[..at].chars().next_back().unwrap_or(' ');
                let after = body[at + name.len()..].chars().next().unwrap_or(' ');
                !(before.is_alphanumeric() || "_\"".contains(before)) && matches!(after, '(' | ')' | ',')
            })
        };
        let starts = |one: &Function| {
            marks.iter().any(|mark| one.body.contains(mark)) || names.iter().any(|name| calls(one.body, name))
        };
        let now: BTreeSet<usize> = (0..functions.len()).filter(|at| starts(&functions[*at])).collect();
        if now == reached {
            return reached
                .into_iter()
                .map(|at| &functions[at])
                .filter(|f| f.is_test)
                .map(|f| f.name)
                .collect();
        }
        reached = now;
    }
}

/// What a pattern such as `^(a::|b::(c|d))` begins with.
fn beginnings(pattern: &str) -> Vec<String> {
    let (mut made, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in pattern.char_indices().chain([(pattern.len(), '|')]) {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' if depth == 0 => {
                let piece = &pattern[start..at];
                start = at + 1;
                match piece.split_once('(') {
                    Some((before, rest)) => {
                        let inside = rest.strip_suffix(')').expect("a group ends its piece");
                        made.extend(beginnings(inside).iter().map(|one| format!("{before}{one}")));
                    }
                    None => made.push(piece.to_owned()),
                }
            }
            _ => {}
        }
    }
    made
}

#[test]
fn a_pattern_is_read() {
    assert_eq!(beginnings("(a::|b::(c|d)|e)"), ["a::", "b::c", "b::d", "e"]);
}

fn rows() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let cells = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let read = |cells: Vec<&str>| {
        let [tool, _, pattern] = cells[..] else { panic!("three cells: {cells:?}") };
        (tool.to_owned(), beginnings(pattern.strip_prefix('^').expect("a name is read from its beginning")))
    };
    cells.map(read).collect()
}

/// The modules of tests, as nextest names them, and their text.
fn modules() -> Vec<(String, String)> {
    let name = |file: &str| file["tests/it/".len()..file.len() - ".rs".len()].replace('/', "::");
    rust_files("tests/it").into_iter().map(|(file, text)| (name(&file), text)).collect()
}

#[test]
fn every_test_that_starts_a_tool_is_in_its_row() {
    let (rows, modules) = (rows(), modules());
    let mut wrong = Vec::new();
    for (tool, marks) in STARTS {
        let row = &rows.iter().find(|(name, _)| name == tool).unwrap_or_else(|| panic!("no row of {tool}")).1;
        let mut seen = 0;
        for (module, text) in modules.iter().filter(|(m, _)| !NO_START.iter().any(|out| m.starts_with(out))) {
            for test in starting(text, marks).iter().map(|test| format!("{module}::{test}")) {
                seen += 1;
                if !row.iter().any(|beginning| test.starts_with(beginning)) {
                    wrong.push(format!("{tool}: {test}"));
                }
            }
        }
        assert!(seen > 0, "no test starts {tool}");
    }
    assert!(
        wrong.is_empty(),
        "tests/tools.txt does not name these, so they fail without the tool:\n{}",
        wrong.join("\n")
    );
}

/// A pattern that names no test leaves none out.
#[test]
fn every_pattern_names_a_test() {
    let named: Vec<String> = modules()
        .iter()
        .flat_map(|(module, text)| {
            let tests = functions(text).into_iter().filter(|one| one.is_test);
            tests.map(|one| format!("{module}::{}", one.name)).collect::<Vec<_>>()
        })
        .collect();
    for (tool, row) in rows() {
        let idle: Vec<_> =
            row.iter().filter(|one| !named.iter().any(|name| name.starts_with(one.as_str()))).collect();
        assert!(idle.is_empty(), "{tool}: no test is called {idle:?}");
    }
}

/// A machine with a C compiler need not have GNU's linker: a release is linked by the default one then.
#[test]
fn the_linker_of_a_release_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (place, path) = (folder.path().join("ld.bfd"), std::ffi::OsString::from(folder.path()));
    let whole = place.display().to_string();
    let has = |told: &str, on_path: bool| linker::has_gnu_linker(told, on_path.then_some(path.as_os_str()));
    assert!(
        !has("", false) && !has("ld.bfd\n", false) && !has("ld.bfd\n", true) && !has(&whole, true),
        "there is none"
    );
    fs::write(&place, "").unwrap();
    assert!(has("ld.bfd\n", true) && has(&format!("{whole}\n"), false), "there it is");
    assert!(!has("ld.bfd\n", false), "a bare name is not a place");
}
