//! The table's own examples. The corpora are in the main crate, beside those of the other questions.

use super::*;

const HERE: Place = Place { cwd: "/home/u/proj", home: "/home/u", project: Some("/home/u/proj"), read: Some(read) };

/// The one file that is there.
fn read(path: &str) -> Option<String> {
    (path == "/home/u/proj/drop.sql").then(|| "-- all\nBEGIN; DROP TABLE users;".to_owned())
}

fn found(text: &str) -> Vec<&'static str> {
    let line = cut(text, &Ground { cwd: HERE.cwd, home: HERE.home, variables: &[] });
    dangers(&line, &HERE).into_iter().map(|danger| danger.rule.id()).collect()
}

/// A line for the shell: not `Read: path`.
fn is_line(text: &str) -> bool {
    !text
        .split_once(": ")
        .is_some_and(|(tool, _)| tool.starts_with("mcp__") || matches!(tool, "Read" | "Edit" | "PowerShell"))
}

#[test]
fn every_example_is_found_by_its_rule_and_no_counter_example_by_any() {
    let mut wrong = Vec::new();
    for rule in RULES {
        for line in rule.examples.iter().filter(|line| is_line(line)) {
            if !found(line).contains(&rule.id()) {
                wrong.push(format!("{} misses `{line}`: {:?}", rule.id(), found(line)));
            }
        }
        for line in rule.counter.iter().filter(|line| is_line(line)) {
            if !found(line).is_empty() {
                wrong.push(format!("{} has the counter-example `{line}`: {:?}", rule.id(), found(line)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a hint says to do is not asked about again, and is no look that unlocks nothing.
/// A file of statements is looked into, if it is there.
#[test]
fn statements_in_a_file_count() {
    for line in ["psql -f drop.sql", "psql --file=./drop.sql", "mysql app < drop.sql", "sqlite3 a.db < drop.sql"] {
        assert_eq!(found(line), ["sql-destroy"], "{line}");
    }
    for line in ["psql -f create.sql", "psql -f \"$x\"", "cat drop.sql", "sqlite3 :memory: < drop.sql"] {
        assert_eq!(found(line), Vec::<&str>::new(), "{line}");
    }
}

#[test]
fn every_hint_can_be_followed() {
    for rule in RULES {
        for line in rule.instead.split('`').skip(1).step_by(2) {
            assert_eq!(found(line), Vec::<&str>::new(), "{}: `{line}`", rule.id());
        }
        assert!(!rule.instead.contains("first") && !rule.instead.contains("ask the user"), "{}", rule.instead);
    }
}

#[test]
fn a_find_names_the_variables_of_its_line() {
    let said = |text: &str| {
        let line = cut(text, &Ground { cwd: HERE.cwd, home: HERE.home, variables: &[] });
        dangers(&line, &HERE).into_iter().map(|danger| danger.what).collect::<Vec<_>>()
    };
    assert_eq!(said("echo \"$GITHUB_TOKEN\""), ["echo $GITHUB_TOKEN"]);
    assert_eq!(said("rm -rf $a/$b"), ["rm -rf $a/$b"]);
    assert_eq!(said("rm -rf $(ls)/$b"), ["rm -rf …/…"]);
}

#[test]
fn ids_are_plain_and_each_is_there_once() {
    for (at, rule) in RULES.iter().enumerate() {
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(rule.key.starts_with("danger.") && rule.id().chars().all(plain), "{}", rule.key);
        assert!(!RULES[..at].iter().any(|other| other.key == rule.key), "{}", rule.key);
        assert!(rule.examples.len() + rule.counter.len() >= 3 && !rule.counter.is_empty(), "{}", rule.key);
    }
    for (id, ..) in table::FORMS {
        assert!(rule(id).is_some(), "{id}");
    }
}
