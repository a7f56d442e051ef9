//! How each tracker wants to be asked.
//!
//! Pure: argument lists. Invariants: a list is asked for without the tracker's own silent limit; what came from outside
//! follows a `=` or a `--`, so it is never read as an option.

use super::answer::clean;

/// A tracker we can talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `bd` 1.0 and later.
    Bd,
    /// `mb`, which has no audit records.
    Minibeads,
}

/// What a mere read would do otherwise: rewrite and `git add` an export, send usage figures, run a repository's hooks,
/// start a database server that keeps running.
pub const QUIET: [(&str, &str); 6] = [
    ("BD_EXPORT_AUTO", "false"),
    ("BD_DISABLE_METRICS", "1"),
    ("BD_NO_HOOKS", "1"),
    ("BEADS_DOLT_AUTO_START", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("NO_COLOR", "1"),
];

/// Who answers to `--version`, by name and number; or why we leave it alone.
pub fn recognise(said: &str) -> Result<(Dialect, String), String> {
    let line = said.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbered = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    match words[..] {
        ["bd", "version", number, ..] if numbered(&number) => match number.split('.').next() {
            Some("0") => Err(format!("`bd` {} is too old; 1.0 or later is understood", clean(number, 20))),
            _ => Ok((Dialect::Bd, format!("bd {}", clean(number, 20)))),
        },
        ["mb", number, ..] if numbered(&number) => Ok((Dialect::Minibeads, format!("mb {}", clean(number, 20)))),
        _ => Err(format!("another program of that name: it calls itself `{}`", clean(line, 60))),
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

impl Dialect {
    /// Ready work; `limit` 0 is all of it.
    pub fn ready(self, limit: usize) -> Vec<String> {
        words(["ready", "--json", "--limit", &limit.to_string()])
    }

    pub fn in_progress(self, limit: usize) -> Vec<String> {
        words(["list", "--status", "in_progress", "--json", "--limit", &limit.to_string()])
    }

    pub fn blocked(self) -> Vec<String> {
        words(["blocked", "--json"])
    }

    /// Every issue that may hold this text, closed ones too.
    pub fn find(self, text: &str) -> Vec<String> {
        match self {
            Dialect::Bd => words(["list", "--all", "--json", "--limit", "0", &format!("--desc-contains={text}")]),
            Dialect::Minibeads => words(["list", "--json"]),
        }
    }

    pub fn create(self, title: &str, body: &str, kind: &str, priority: u8, labels: &[String]) -> Vec<String> {
        let mut list = words(["create", "--json"]);
        list.push(format!("--title={title}"));
        list.push(format!("--description={body}"));
        list.push(format!("--type={kind}"));
        list.push(format!("--priority={priority}"));
        if !labels.is_empty() {
            list.push(format!("--labels={}", labels.join(",")));
        }
        list
    }

    pub fn comments(self, issue: &str) -> Vec<String> {
        match self {
            Dialect::Bd => words(["comments", "--json", "--", issue]),
            Dialect::Minibeads => words(["comments", "list", "--json", "--", issue]),
        }
    }

    pub fn comment(self, issue: &str, body: &str) -> Vec<String> {
        match self {
            Dialect::Bd => words(["comments", "add", "--json", "--", issue, body]),
            Dialect::Minibeads => words(["comments", "add", "--json", &format!("--body={body}"), "--", issue]),
        }
    }

    /// Takes the record on its input; nothing where there are none.
    pub fn audit(self) -> Option<Vec<String>> {
        (self == Dialect::Bd).then(|| words(["audit", "record", "--stdin", "--json"]))
    }

    /// Where its files are.
    pub fn place(self) -> Vec<String> {
        words(["where", "--json"])
    }

    /// Arguments that every call begins with.
    pub fn always(self) -> Vec<String> {
        match self {
            Dialect::Bd => Vec::new(),
            // It keeps a history of commands otherwise, even of those that only read.
            Dialect::Minibeads => words(["--mb-no-cmd-logging"]),
        }
    }
}
