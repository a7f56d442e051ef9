//! `docs/coverage.md` and `docs/deviations.md`: every requirement of the design documents is held by a test
//! that exists, or by a deviation that is told. And `templates/README.md` names every placeholder there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cells of every row of every table, without the heads.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let tables = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("|---"));
    let rows = tables.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>());
    rows.filter(|cells: &Vec<&str>| !matches!(cells[0], "requirement" | "id")).collect()
}

#[test]
fn every_requirement_has_a_test_or_a_deviation() {
    let (coverage, deviations) = (read("docs/coverage.md"), read("docs/deviations.md"));
    let told: BTreeSet<&str> = rows(&deviations).iter().map(|cells| cells[0]).collect();
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    let held = rows(&coverage);
    assert!(held.len() > 100, "{} requirements", held.len());
    for cells in &held {
        let [requirement, by] = cells[..] else { panic!("two cells a row: {cells:?}") };
        if by.is_empty() {
            wrong.push(format!("nothing holds: {requirement}"));
        }
        for word in by.split_whitespace().map(|word| word.trim_matches('`')) {
            match word.split_once('#') {
                Some((file, function)) if !has_test(file, function) => wrong.push(format!("no test {word}")),
                Some(_) => {}
                None if told.contains(word) => {
                    used.insert(word);
                }
                None => wrong.push(format!("neither a test nor a deviation: {word}")),
            }
        }
    }
    let idle: Vec<_> = told.difference(&used).collect();
    assert!(wrong.is_empty() && idle.is_empty(), "{wrong:#?} deviations of no requirement: {idle:?}");
}

/// What we promise, and what we say of an attack, is held by tests that exist.
#[test]
fn every_promise_names_tests_that_exist() {
    for page in ["docs/guarantees.md", "docs/threat-model.md"] {
        let text = read(page);
        let held = text.split("| we say | held by |").nth(1).unwrap_or_default();
        let rows: Vec<&str> = held.lines().filter(|line| line.starts_with("| ")).collect();
        assert!(rows.len() > 25, "{page}: {} rows", rows.len());
        for row in rows {
            let (_, by) = row.trim_matches('|').rsplit_once(" | ").unwrap();
            let names: Vec<&str> = by.split('`').skip(1).step_by(2).collect();
            for (file, function) in names.iter().filter_map(|name| name.split_once('#')) {
                assert!(has_test(file, function), "{page}: no test {file}#{function}");
            }
            let measured = names.iter().any(|name| name.starts_with("bench/") || name.contains(" bench "));
            assert!(measured || by.contains('#'), "{page}: nothing holds {row}");
            for path in names.iter().filter(|name| name.starts_with("tests/") || name.starts_with("bench/")) {
                assert!(root().join(path).exists(), "{page}: no {path}");
            }
        }
    }
}

/// What the pages say of a corpus is what it holds.
#[test]
fn the_pages_count_the_corpora() {
    let count = |name: &str, comment: &str| {
        let text = read(&format!("tests/fixtures/{name}"));
        text.lines().filter(|line| !line.is_empty() && !line.starts_with(comment)).count()
    };
    let (shapes, texts) = (count("redact/secrets.txt", "# "), count("redact/harmless.txt", "# "));
    let (destructive, harmless) = (count("danger/destructive.txt", "# "), count("danger/harmless.txt", "# "));
    let figures = [
        ("guarantees", format!("of {} everyday lines that only look", count("effect/everyday.txt", "#"))),
        ("guarantees", format!("| {} everyday lines (git, cargo", count("jail/everyday.txt", "#"))),
        ("guarantees", format!("of {destructive} and {harmless} lines of our own")),
        ("guarantees", format!("| {shapes} shapes of secrets")),
        ("guarantees", format!("; {texts} harmless texts stay")),
        ("threat-model", format!(": {shapes} shapes and {texts} harmless texts")),
    ];
    for (page, words) in figures {
        assert!(read(&format!("docs/{page}.md")).contains(&words), "docs/{page}.md does not say `{words}`");
    }
}

pub(crate) fn has_test(file: &str, function: &str) -> bool {
    let below = ["", "tests/it/"].map(|folder| root().join(folder).join(file));
    let text = below.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    text.contains(&format!("fn {function}("))
}

#[test]
fn every_deviation_says_what_and_why() {
    for cells in rows(&read("docs/deviations.md")) {
        assert!(cells.len() == 5 && cells.iter().all(|cell| !cell.is_empty()), "{cells:?}");
        assert!(["000", "001", "002", "003", "004"].contains(&cells[1]), "{cells:?}");
    }
}

#[test]
fn the_readme_of_templates_names_every_placeholder() {
    let readme = read("templates/README.md");
    let mut missing = Vec::new();
    for path in templates(&root().join("templates")) {
        let name = path.strip_prefix(root().join("templates")).unwrap().to_str().unwrap().to_owned();
        for piece in fs::read_to_string(&path).unwrap().split("{{").skip(1) {
            let placeholder = piece.split("}}").next().unwrap();
            if name != "README.md" && !readme.contains(&format!("`{placeholder}`")) {
                missing.push(format!("{name}: {placeholder}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

fn templates(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    items.flat_map(|path| if path.is_dir() { templates(&path) } else { vec![path] }).collect()
}
