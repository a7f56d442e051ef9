//! Texts that are in the program itself: those of the guard, so that no file can change them, and those that
//! are made of many parts.

use crate::tidy::rust_files;
use std::fmt::Write;

const CORE: &str = "crates/aops-core/src/";

/// A part of the page, and the files (by the beginning of their path) whose texts it has. The first part that
/// names a file has its texts.
const PARTS: &[(&str, &[&str])] = &[
    (
        "The guard, and calls that cannot be made",
        &["gate/guard", "gate/watch", "gate/block", "gate/moved", "gate/repeat", "gate/report"],
    ),
    (
        "Approvals, the jail and the network",
        &[
            "gate/danger", "gate/jail", "gate/network", "gate/questions", "gate/quiet", "gate/unsaved",
            "hook/keeping", "jail", "observe/jailed",
        ],
    ),
    ("Agents and tasks", &["gate", "briefing/prompt", "hook/cap"]),
    ("The start of a session, and what was put back", &["briefing", "checkpoint", "observe"]),
    ("When aops-hook itself fails", &["hook", "host", "model/error", "proof/append"]),
];

/// The plain string literals of a file, with `…` for each placeholder, in the order of the file.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (mark, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = match mark {
            b'/' if after.starts_with('/') => after.split_once('\n').map_or("", |(_, next)| next),
            b'\'' if after.starts_with("\"'") => &after[2..],
            b'\'' if after.starts_with("\\'") => &after[2..],
            b'"' => {
                let (text, next) = literal(after);
                found.push(text);
                next
            }
            _ => after,
        };
    }
    found
}

/// The value of the literal that begins here, and what comes after it.
fn literal(code: &str) -> (String, &str) {
    let mut text = String::new();
    let mut letters = code.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (text, &code[at + 1..]),
            '\\' => match letters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, '\n')) => while letters.next_if(|(_, blank)| blank.is_whitespace()).is_some() {},
                Some((_, other)) => text.push(other),
                None => {}
            },
            '{' | '}' if letters.next_if(|(_, next)| *next == letter).is_some() => text.push(letter),
            '{' => {
                text.push('…');
                letters.by_ref().find(|(_, end)| *end == '}');
            }
            _ => text.push(letter),
        }
    }
    (text, "")
}

/// The code without its tests, which come last.
fn tested(code: &str) -> &str {
    code.split_once("#[cfg(test)]\nmod tests {").map_or(code, |(before, _)| before)
}

/// Also the advice of each error code, which is the whole table of one file.
fn is_message(file: &str, text: &str) -> bool {
    if file.ends_with("model/error.rs") {
        return text.split_whitespace().count() > 4;
    }
    let ends = ["\nhint: ", "\nApprove only", "\nRepair what"];
    ends.iter().any(|end| text.contains(end)) || text.starts_with("Not saved: ")
}

fn part_of(file: &str) -> Option<usize> {
    let file = file.strip_prefix(CORE)?;
    PARTS.iter().position(|(_, files)| files.iter().any(|begin| file.starts_with(begin)))
}

/// What a session can say, by part, each text once.
fn said() -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new(); PARTS.len()];
    for (file, code) in rust_files(CORE.trim_end_matches('/')) {
        let Some(part) = part_of(&file).filter(|_| !file.contains("tests")) else { continue };
        for text in literals(tested(&code)).into_iter().filter(|text| is_message(&file, text)) {
            let text = text.trim().to_owned();
            if !parts[part].contains(&text) {
                parts[part].push(text);
            }
        }
    }
    parts
}

/// What `doctor` can find, and how to mend it.
fn findings() -> Vec<String> {
    let files = rust_files("src/cli/doctor").into_iter().filter(|(file, _)| !file.contains("tests"));
    let mut found = Vec::new();
    for text in files.flat_map(|(_, code)| literals(tested(&code))) {
        let is_whole = !text.starts_with(['/', '-', ',', ';']) && text.split_whitespace().count() > 3;
        if is_whole && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

pub(super) fn page() -> String {
    let mut page =
        "\n# Texts in the program\n\nNo file can replace these, so that nothing changes what the guard \
        says. `…` is a name, a path or a reason.\n"
            .to_owned();
    for ((title, _), texts) in PARTS.iter().zip(said()) {
        write!(page, "\n## {title}\n\n```text\n{}\n```\n", texts.join("\n\n")).unwrap();
    }
    let findings = findings().join("\n");
    write!(page, "\n## What `doctor` finds, and what to do about it\n\n```text\n{findings}\n```\n").unwrap();
    page += "\n## What commands print\n\n[Commands](commands.md) shows what `status`, `report`, `install` and \
        all others print, from real runs. [The page](fleet.md#the-page) with questions of runs has a picture.\n";
    page
}

#[test]
fn literals_are_read_as_the_compiler_reads_them() {
    let code = "let a = \"one {} \\\"two\\\"\\n\\\n        hint: {{x}} {name:?}\"; // \"no\"\nlet b = '\"'; f(\"three\")";
    assert_eq!(literals(code), ["one … \"two\"\nhint: {x} …", "three"]);
}

#[test]
fn every_part_has_texts() {
    for ((title, _), texts) in PARTS.iter().zip(said()) {
        assert!(texts.len() > 3, "{title}: {texts:?}");
    }
    assert!(findings().len() > 50);
}
