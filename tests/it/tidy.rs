//! The house keeps its own rules: layers, sizes, registered tests, words.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines without tests above which a file stops the build; tables are excepted by name.
const LONGEST_FILE: usize = 400;
const TABLES: [&str; 1] = ["src/event.rs"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(below: &str) -> Vec<(String, String)> {
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

/// The part before `mod tests`, without comments.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Modules in the order of `lib.rs`.
fn floors() -> BTreeMap<String, usize> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let names = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    names.enumerate().map(|(n, name)| (name.to_owned(), n)).collect()
}

#[test]
fn imports_point_up_the_page() {
    let floors = floors();
    assert!(floors.len() > 15, "lib.rs lists the modules: {floors:?}");
    let mut wrong = Vec::new();
    for (file, text) in rust_files("src") {
        let module = file.trim_start_matches("src/").split(['/', '.']).next().unwrap().to_owned();
        let Some(own) = floors.get(&module) else { continue };
        for part in code(&text).split("crate::").skip(1) {
            let named: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if floors.get(&named).is_some_and(|floor| floor > own) {
                wrong.push(format!("{file} names `{named}`, which is declared below `{module}` in lib.rs"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_stay_small() {
    let long = rust_files("src").into_iter().filter(|(name, _)| !TABLES.contains(&name.as_str()));
    let long: Vec<_> = long
        .map(|(name, text)| (name, code(&text).lines().count()))
        .filter(|(_, n)| *n > LONGEST_FILE)
        .collect();
    assert!(long.is_empty(), "cut these where their ideas part: {long:?}");
}

#[test]
fn every_module_says_what_it_is() {
    let silent: Vec<_> = rust_files("src")
        .into_iter()
        .filter(|(name, text)| !text.starts_with("//!") && !name.ends_with("/tests.rs"))
        .map(|(name, _)| name)
        .collect();
    assert!(silent.is_empty(), "no `//!` at the top of {silent:?}");
    let wordy = |text: &str| text.lines().take_while(|line| line.starts_with("//!")).count() > 12;
    let wordy: Vec<_> = rust_files("src")
        .into_iter()
        .filter(|(n, t)| n != "src/lib.rs" && wordy(t))
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
    for (file, text) in rust_files("src") {
        let leaks = words.iter().filter(|word| code(&text).contains(**word) && !file.starts_with("src/wire"));
        wrong.extend(leaks.map(|word| format!("{file}: {word}")));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn names_we_do_not_use() {
    let banned = ["manager", "handler", "helper", "utils", "processor", "engine"];
    let named = |file: &str| banned.iter().any(|word| file.contains(word));
    let wrong: Vec<_> =
        rust_files("src").into_iter().map(|(file, _)| file).filter(|file| named(file)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
