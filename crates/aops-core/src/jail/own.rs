//! Recognises a call of our own program, which writes to the ledger, where no command may write.
//!
//! Reads text and the environment, writes nothing. Invariant: such a call is started directly, with exactly
//! these words and by the program that we are: no shell, function or other program of that name takes part.
//! The programs that it starts are confined.

use super::line;
use aops_shell::verbs;
use std::path::{Path, PathBuf};

const NAME: &str = "aops-hook";

/// The arguments, if this line is nothing but a call of ours that anyone may make, such as `aops-hook
/// checkpoint create`.
pub(super) fn arguments(line: &str, program: impl FnOnce() -> PathBuf) -> Option<Vec<String>> {
    let mut words = line::commands(line).iter().find_map(|command| plain_words(command))?;
    let named = words.remove(0);
    let is_free = verbs::called(&words).is_some_and(verbs::is_ours) && !verbs::writes_files(&words);
    let is_ours = || {
        named == NAME
            || !named.ends_with(verbs::STARTER)
                && named.contains('/')
                && Path::new(&named).canonicalize().is_ok_and(|path| path == program())
    };
    (is_free && is_ours()).then_some(words)
}

/// The words of a line that is a single command without expansion or redirection.
pub(super) fn plain_words(line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = line.trim_matches([' ', '\n']).chars().peekable();
    let mut inside = false;
    while let Some(c) = rest.next() {
        if c == ' ' {
            inside = false;
            continue;
        }
        if !inside {
            words.push(String::new());
            inside = true;
        }
        let word = words.last_mut()?;
        match c {
            '\'' | '"' => loop {
                match rest.next()? {
                    end if end == c => break,
                    '$' | '`' | '\\' | '!' if c == '"' => return None,
                    c => word.push(c),
                }
            },
            _ if c.is_alphanumeric() || "-_./:=@,+%".contains(c) => word.push(c),
            _ => return None,
        }
    }
    words.first().is_some_and(|name| !name.contains('=')).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_call_with_a_verb_for_anyone_is_ours() {
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        let own = program.to_str().unwrap();
        for (line, words) in [
            ("aops-hook checkpoint create", &["checkpoint", "create"][..]),
            ("aops-hook block \"it drifts\"", &["block", "it drifts"]),
            (&format!("{own} status"), &["status"]),
            (
                "source /h/s.sh && eval 'aops-hook status' < /dev/null && pwd -P >| /tmp/claude-1-cwd",
                &["status"],
            ),
        ] {
            assert_eq!(
                arguments(line, || program.clone()).as_deref(),
                Some(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>()[..]),
                "{line}"
            );
        }
        for line in [
            "aops-hook",
            "aops-hook clear-block",
            "aops-hook mode observe",
            "aops-hook demo",
            "aops-hook demo --fast",
            "aops-hook insights --analyse",
            "aops-hook insights batch --analyze",
            "aops-hook shell ls",
            "aops-hook PreToolUse",
            "/bin/ls status",
            "./aops-hook status",
            &own.replace(own.rsplit('/').next().unwrap_or_default(), "./aops-hook status"),
            "aops-hook status; ls",
            "aops-hook status > x",
            "aops-hook status $x",
            "aops-hook block \"$(ls)\"",
            "X=1 aops-hook status",
            "aops-hook report -o x",
            "sudo aops-hook status",
            "aops-hook 'status",
        ] {
            assert_eq!(arguments(line, || program.clone()), None, "{line}");
        }
    }
}
