//! Finds the agent's command in the shell line that the client builds around it.
//!
//! Reads text, gives text. Today's client runs `source … && eval '<command>' < /dev/null && pwd -P >|
//! <file>`.

/// The text between the command and the file that receives the working directory.
const FOLDER: &str = " && pwd -P >| ";
const NO_INPUT: &str = " < /dev/null";

/// The commands that this line may have been built from, the likeliest first; the line itself if it has
/// another form.
pub fn commands(line: &str) -> Vec<String> {
    let inner = line.rsplit_once(FOLDER).map_or(line, |(inner, _)| inner);
    let inner = inner.strip_suffix(NO_INPUT).unwrap_or(inner);
    let mut found: Vec<String> = Vec::new();
    for (at, word) in inner.match_indices("eval ") {
        let starts = at == 0 || inner[..at].ends_with(|c: char| c.is_whitespace() || c == '\\');
        if let Some(command) = unquoted(&inner[at + word.len()..]).filter(|_| starts) {
            // If the command is a pipe, the client puts the empty input inside its text.
            let without = command.replacen(NO_INPUT, "", 1);
            found.extend((without != command).then_some(without));
            found.insert(0, command);
            // The outermost `eval` is the client's; any inside of it belongs to the agent's text.
            return found;
        }
    }
    found.push(line.to_owned());
    found
}

/// The client gives the command an empty input.
pub fn has_no_input(line: &str) -> bool {
    line.rsplit_once(FOLDER).map_or(line, |(inner, _)| inner).ends_with(NO_INPUT)
}

/// The path in which the line reports the working directory.
pub fn folder_file(line: &str) -> Option<String> {
    let (_, file) = line.rsplit_once(FOLDER)?;
    unquoted(file)
}

/// The text of one shell word; `None` if it is more than one word.
fn unquoted(word: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    c => text.push(c),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => match rest.next()? {
                        c @ ('"' | '\\' | '$' | '`') => text.push(c),
                        '\n' => {}
                        c => text.extend(['\\', c]),
                    },
                    c => text.push(c),
                }
            },
            '\\' => text.push(rest.next()?),
            c if c.is_whitespace() || "&|;<>()".contains(c) => return None,
            c => text.push(c),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_in_the_clients_line() {
        let around = |word: &str| {
            format!(
                "source /h/s.sh 2>/dev/null || true && {{ \\builtin eval 'x y'; }} && eval {word} < /dev/null && pwd -P >| /tmp/claude-1-cwd"
            )
        };
        for (word, command) in [
            ("ls", "ls"),
            ("'echo a b'", "echo a b"),
            ("'echo '\"'\"'it'\"'\"' x'", "echo 'it' x"),
            ("\"it's \\$x\"", "it's $x"),
            ("'eval '\"'\"'a b'\"'\"''", "eval 'a b'"),
        ] {
            let line = around(word);
            assert!(commands(&line).contains(&command.to_owned()), "{line}: {:?}", commands(&line));
            assert_eq!(folder_file(&line).as_deref(), Some("/tmp/claude-1-cwd"));
        }
        assert!(commands(&around("'a < /dev/null | b'")).contains(&"a | b".to_owned()));
        assert_eq!(commands("node server.js"), ["node server.js"]);
        assert_eq!(folder_file("node server.js"), None);
    }
}
