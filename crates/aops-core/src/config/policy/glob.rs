//! Globs of the configuration: `*` and `?` in names; in paths also `**`.
//!
//! Reads nothing, writes nothing. Every other character stands for itself, even brackets and braces, which
//! are common in file names. Invariant: the running time is at most the product of both lengths.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobPiece {
    Char(char),
    /// Any character but `/`.
    One,
    /// Any run without `/`.
    Run,
    /// Any run at all.
    Deep,
    /// `**/`: nothing, or any run that ends with `/`.
    Folders,
}

/// Whether the pattern matches a whole name. `*` matches any character: names have no parts.
pub fn name(pattern: &str, text: &str) -> bool {
    let pieces = pattern.chars().map(|c| match c {
        '*' => GlobPiece::Deep,
        '?' => GlobPiece::One,
        other => GlobPiece::Char(other),
    });
    walk(&pieces.collect::<Vec<_>>(), text)
}

/// Whether the pattern matches a path or a folder that contains it. A pattern with a `/` inside is relative
/// to `root`; one without is compared with every component; `/…` is absolute, `~/…` begins at `home`.
pub fn covers(pattern: &str, text: &str, root: &str, home: &str) -> bool {
    let (folder, pattern) = match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => (home, rest),
        _ if pattern.starts_with('/') => ("", pattern),
        _ if pattern.trim_end_matches('/').contains('/') => (root, pattern.trim_start_matches("./")),
        _ => {
            let part = pieces(pattern.trim_end_matches('/'));
            return text.split('/').any(|given| !given.is_empty() && walk(&part, given));
        }
    };
    let Some(text) = below(folder, text) else { return false };
    let pieces = pieces(pattern.trim_matches('/'));
    let text = text.trim_matches('/');
    let mut ends = text.match_indices('/').map(|(at, _)| at).chain([text.len()]);
    pieces.is_empty() || ends.any(|end| walk(&pieces, &text[..end]))
}

fn below<'a>(folder: &str, text: &'a str) -> Option<&'a str> {
    let folder = folder.trim_end_matches('/');
    text.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn pieces(pattern: &str) -> Vec<GlobPiece> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let fresh =
            pieces.last().is_none_or(|last| *last == GlobPiece::Char('/') || *last == GlobPiece::Folders);
        let (piece, long) = match c {
            '*' if rest.starts_with("**/") && fresh => (GlobPiece::Folders, 3),
            '*' if rest.starts_with("**") => (GlobPiece::Deep, 2),
            '*' => (GlobPiece::Run, 1),
            '?' => (GlobPiece::One, 1),
            other => (GlobPiece::Char(other), other.len_utf8()),
        };
        pieces.push(piece);
        rest = &rest[long..];
    }
    pieces
}

/// Whether the pieces match the whole text. `ends[n]`: the pieces so far match the first `n` characters.
fn walk(pieces: &[GlobPiece], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for piece in pieces {
        // Whether this piece has begun before the current character and may continue.
        let mut begun = false;
        let mut next = vec![false; ends.len()];
        for at in 0..ends.len() {
            let last = at.checked_sub(1).map(|n| text[n]);
            let one = |fits: bool| fits && at > 0 && ends[at - 1];
            next[at] = match piece {
                GlobPiece::Char(wanted) => one(last == Some(*wanted)),
                GlobPiece::One => one(last != Some('/')),
                GlobPiece::Run => ends[at] || begun && last != Some('/'),
                GlobPiece::Deep => ends[at] || begun,
                GlobPiece::Folders => ends[at] || begun && last == Some('/'),
            };
            begun = if *piece == GlobPiece::Run { next[at] } else { begun || ends[at] };
        }
        ends = next;
    }
    ends[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(pattern: &str, text: &str) -> bool {
        walk(&pieces(pattern), text)
    }

    #[test]
    fn names() {
        for (pattern, text, want) in [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("mcp__jira__*", "mcp__jira__get/x", true),
            ("mcp__*__get_?", "mcp__a__get_b", true),
            ("mcp__*__get_?", "mcp__a__get_", false),
            ("*", "", true),
            ("", "", true),
            ("**", "anything", true),
        ] {
            assert_eq!(name(pattern, text), want, "{pattern} {text}");
        }
    }

    #[test]
    fn paths() {
        for (pattern, text, want) in [
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**/*.rs", "src/b.rs", true),
            ("src/**/*.rs", "src/a/c/b.rs", true),
            ("src/**/*.rs", "srcs/b.rs", false),
            ("**/x", "x", true),
            ("**/x", "ax", false),
            ("**/x", "a/x", true),
            ("src/**", "src/a/b", true),
            ("a?c", "a/c", false),
            ("ü*", "üx", true),
        ] {
            assert_eq!(path(pattern, text), want, "{pattern} {text}");
        }
    }

    #[test]
    fn what_a_pattern_covers() {
        for (pattern, text, want) in [
            (".env", "/p/a/.env", true),
            (".env*", "/p/.env.local", true),
            ("secrets", "/p/secrets/key", true),
            ("secrets/", "/p/a/secrets/key", true),
            ("migrations/*.sql", "/p/migrations/1.sql", true),
            ("migrations/*.sql", "/p/sub/migrations/1.sql", false),
            ("db/migrations", "/p/db/migrations/1.sql", true),
            ("./db/migrations", "/p/db/migrations/1.sql", true),
            ("db/migrations", "/other/db/migrations/1.sql", false),
            ("/etc/**", "/etc/passwd", true),
            ("/etc", "/etc/ssh/x", true),
            ("/etc", "/etcetera", false),
            ("~/.ssh", "/home/u/.ssh/id", true),
            ("~/.ssh", "/home/user/.ssh/id", false),
            ("~", "/home/u/x", true),
            ("~", "/home/user/x", false),
            ("/", "/anything", true),
        ] {
            assert_eq!(covers(pattern, text, "/p", "/home/u"), want, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = "*a".repeat(250);
        let text = "a".repeat(4096) + "b";
        assert!(!path(&pattern, &text));
        assert!(path(&pattern, &text[..4096]));
    }
}
