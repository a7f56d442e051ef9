//! The effect of a shell line (interim: plain words only).

use super::Classed;
use crate::call::Effect;

const READERS: [&str; 20] = [
    "ls", "cat", "head", "tail", "grep", "rg", "wc", "pwd", "echo", "true", "false", "stat", "file", "diff",
    "which", "date", "env", "sleep", "test", "uname",
];

pub fn of(line: &str) -> Classed {
    let write = |why: &str| Classed { effect: Effect::Write, why: why.to_owned() };
    let read = |effect| Classed { effect, why: String::new() };
    let parts: Vec<&str> = line.split("&&").map(str::trim).collect();
    let one = |part: &str| -> Classed {
        if part.contains([';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\n']) {
            return write("it is more than plain words");
        }
        let mut words = part.split_whitespace();
        match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
            ("bd", sub) if !matches!(sub, "sync" | "hooks" | "dolt") => read(Effect::Tracker),
            ("git", "status" | "log" | "diff" | "show" | "rev-parse") => read(Effect::Read),
            ("git", "add" | "commit" | "push" | "tag" | "fetch") => {
                Classed { effect: Effect::Close, why: "it changes the repository".to_owned() }
            }
            (word, _) if READERS.contains(&word) => read(Effect::Read),
            (word, _) => write(&format!("`{word}` is not known to only read")),
        }
    };
    let all: Vec<Classed> = parts.iter().map(|part| one(part)).collect();
    let worst = |want: Effect| all.iter().find(|c| c.effect == want).cloned();
    worst(Effect::Write)
        .or_else(|| worst(Effect::Close))
        .or_else(|| worst(Effect::Tracker))
        .unwrap_or(read(Effect::Read))
}
