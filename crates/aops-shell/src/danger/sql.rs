//! Statements that destroy data, in SQL and in the shells of other stores.

use super::call::is_trial;

/// Whether this text holds a statement that drops, empties or rewrites whole tables.
pub fn destroys(text: &str) -> bool {
    let statements = statements(text);
    statements.iter().any(|statement| destructive(statement))
}

/// Statements as words in upper case, without strings and comments.
fn statements(text: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    let end = |word: &mut String, all: &mut Vec<Vec<String>>| {
        if let (false, Some(last)) = (word.is_empty(), all.last_mut()) {
            last.push(std::mem::take(word).to_uppercase());
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                end(&mut word, &mut all);
                letters.by_ref().find(|c| *c == '\'');
                word.push('\'');
                end(&mut word, &mut all);
            }
            '-' if letters.peek() == Some(&'-') => {
                letters.by_ref().find(|c| *c == '\n');
            }
            '/' if letters.peek() == Some(&'*') => {
                let mut last = ' ';
                letters.by_ref().find(|c| std::mem::replace(&mut last, *c) == '*' && *c == '/');
            }
            ';' => {
                end(&mut word, &mut all);
                all.push(Vec::new());
            }
            _ if letter.is_alphanumeric() || matches!(letter, '_' | '.' | '`' | '"' | '*') => {
                word.push(letter);
            }
            _ => {
                end(&mut word, &mut all);
                if matches!(letter, '(' | ')' | '=' | ',') {
                    word.push(letter);
                    end(&mut word, &mut all);
                }
            }
        }
    }
    end(&mut word, &mut all);
    all
}

fn destructive(words: &[String]) -> bool {
    const DROPPED: &[&str] = &[
        "TABLE", "DATABASE", "SCHEMA", "INDEX", "VIEW", "USER", "ROLE", "KEYSPACE", "COLLECTION", "SEQUENCE",
        "TABLESPACE", "FUNCTION", "PROCEDURE", "TRIGGER", "TYPE", "EXTENSION", "MATERIALIZED", "EXTERNAL",
        "SNAPSHOT", "MODEL", "STAGE", "WAREHOUSE", "STREAM", "PIPE", "OWNED", "PARTITION", "COLUMN",
    ];
    let is = |at: usize, known: &[&str]| words.get(at).is_some_and(|word| known.contains(&word.as_str()));
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    // A statement may follow another on the same line: `psql -c "BEGIN; DROP …"` is split, `EXPLAIN` is not.
    let at = words.iter().position(|word| !matches!(word.as_str(), "BEGIN" | "(" | "\\C")).unwrap_or(0);
    if is_of_trial(&words[at.min(words.len())..]) {
        return false;
    }
    if is(at, &["DROP"]) {
        return is(at + 1, DROPPED);
    }
    if is(at, &["PURGE"]) {
        return is(at + 1, &["BINARY", "MASTER"]);
    }
    if is(at, &["TRUNCATE"]) {
        return words.len() > at + 1 && !is(at + 1, &["("]);
    }
    if is(at, &["DELETE"]) && is(at + 1, &["FROM"]) || is(at, &["WITH"]) && has("DELETE") {
        return words.len() > at + 2 && (!has("WHERE") || always(words));
    }
    if is(at, &["UPDATE"]) && has("SET") {
        return !has("WHERE") || always(words);
    }
    if is(at, &["ALTER"]) && has("DROP") {
        return true;
    }
    is(at, &["FLUSHALL", "FLUSHDB"])
        || is(at, &["RESET"]) && is(at + 1, &["MASTER"])
        || is(at, &["GRANT"]) && is(at + 1, &["ALL"]) && has("*.*")
}

/// Whether it drops or empties only databases, schemas or tables made for tests.
fn is_of_trial(words: &[String]) -> bool {
    const KINDS: &[&str] =
        &["DATABASE", "SCHEMA", "TABLE", "TEMPORARY", "IF", "EXISTS", "FROM", "ONLY", "VIEW", "COLLECTION"];
    let Some((first, rest)) = words.split_first() else { return false };
    let kind = rest.iter().take_while(|word| KINDS.contains(&word.as_str())).count();
    let ends =
        |word: &&String| !matches!(word.as_str(), "CASCADE" | "RESTRICT" | "WHERE" | "RESTART" | "WITH");
    let mut named = rest[kind..].iter().take_while(ends).filter(|word| *word != ",").peekable();
    matches!(first.as_str(), "DROP" | "TRUNCATE" | "DELETE")
        && named.peek().is_some()
        && named.all(|name| is_trial(&name.replace(['`', '"'], "")))
}

/// `WHERE 1=1`, `WHERE TRUE`
fn always(words: &[String]) -> bool {
    let Some(at) = words.iter().position(|word| word == "WHERE") else { return false };
    let rest: Vec<&str> = words[at + 1..].iter().map(String::as_str).collect();
    matches!(rest.as_slice(), ["TRUE" | "1"] | ["1", "=", "1"] | ["'", "=", "'"])
}

/// Whether this line for a document or key store deletes data.
pub(super) fn drops_documents(code: &str) -> bool {
    const CALLS: &[&str] = &[
        "dropdatabase(", ".drop(", "dropcollection(", "deletemany({})", ".remove({})", ".remove()",
        "dropindexes(", "dropuser(", "dropalluser", "updatemany({},", "shutdownserver(",
    ];
    let plain: String = code.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
    CALLS.iter().any(|call| plain.contains(call))
}
