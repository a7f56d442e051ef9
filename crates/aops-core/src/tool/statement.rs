//! Finds statements in the input of a query tool (SQL, Cypher, GraphQL), and whether one may change data.
//!
//! Reads only the input. Invariant: a statement that contains a changing word anywhere is a write.

use serde_json::Value;

/// Words that begin a statement.
#[rustfmt::skip]
const HEADS: [&str; 38] = [
    "alter", "analyze", "attach", "begin", "call", "comment", "commit", "copy", "create", "delete", "detach", "do", "drop", "exec", "execute",
    "explain", "foreach", "grant", "insert", "load", "lock", "match", "merge", "mutation", "optional", "pragma", "refresh", "reindex", "replace",
    "revoke", "select", "set", "subscription", "truncate", "unwind", "update", "vacuum", "with",
];

/// Words with which a statement may change something.
#[rustfmt::skip]
const CHANGING: [&str; 38] = [
    "alter", "attach", "call", "checkpoint", "commit", "copy", "create", "delete", "detach", "do", "drop", "exec", "execute", "foreach", "grant",
    "insert", "install", "into", "kill", "load", "lock", "merge", "mutation", "nextval", "outfile", "refresh", "reindex", "remove", "replace",
    "reset", "revoke", "set", "setval", "truncate", "unwind", "update", "upsert", "vacuum",
];

/// Keys whose value is always a statement.
const STATEMENTS: [&str; 6] = ["sql", "statement", "stmt", "cypher", "graphql", "statements"];
/// Keys of commands in JSON form.
const KEYS: [&str; 8] = ["$out", "$merge", "delete", "deletes", "insert", "update", "updates", "drop"];

/// The first statement in this input that may change something.
pub(super) fn changing(input: &str) -> Option<String> {
    let root = serde_json::from_str::<Value>(input).ok()?;
    let mut waiting = vec![(root, false)];
    while let Some((value, is_statement)) = waiting.pop() {
        match value {
            Value::String(text) if changes(&text, is_statement) => return Some(text),
            Value::Array(items) => waiting.extend(items.into_iter().map(|item| (item, is_statement))),
            Value::Object(fields) => {
                for (key, value) in fields {
                    let key = key.to_lowercase();
                    if KEYS.contains(&key.as_str()) && !value.is_null() {
                        return Some(key);
                    }
                    waiting.push((value, is_statement || STATEMENTS.contains(&key.as_str())));
                }
            }
            _ => {}
        }
    }
    None
}

fn changes(text: &str, is_statement: bool) -> bool {
    let text = uncommented(&text.to_lowercase());
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let first = words.clone().next().unwrap_or_default();
    let reaches =
        |word: &str| ["pg_", "lo_", "dblink", "xp_", "sp_"].iter().any(|family| word.starts_with(family));
    let is_statement = is_statement || HEADS.contains(&first) && (first != "do" || text.contains("$$"));
    is_statement
        && words.any(|word| CHANGING.contains(&word) || reaches(word) && text.contains(&format!("{word}(")))
}

/// The text without comments and single-quoted strings.
fn uncommented(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end =
            |from: usize, sign: &str| rest[from..].find(sign).map_or(rest.len(), |at| from + at + sign.len());
        let past = match c {
            '-' if rest.starts_with("--") => end(2, "\n"),
            '/' if rest.starts_with("/*") => end(2, "*/"),
            '\'' => end(1, "'"),
            _ => {
                kept.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        kept.push(' ');
        rest = &rest[past..];
    }
    kept
}

#[cfg(test)]
mod tests {

    #[test]
    fn statements_that_change_are_told_from_those_that_look() {
        let changing = [
            r#"{"sql": "DELETE FROM users"}"#,
            r#"{"sql": "select 1; drop table x"}"#,
            r#"{"query": "WITH x AS (DELETE FROM y RETURNING *) SELECT * FROM x"}"#,
            r#"{"query": "update users set a = 1"}"#,
            r#"{"query": "SELECT * INTO OUTFILE '/x' FROM y"}"#,
            r#"{"statement": "/* select */ truncate x"}"#,
            r#"{"query": "EXPLAIN ANALYZE DELETE FROM x"}"#,
            r#"{"query": "MATCH (n) DETACH DELETE n"}"#,
            r#"{"query": "mutation { a }"}"#,
            r#"{"sql": "select pg_terminate_backend(1)"}"#,
            r#"{"a": [{"sql": ["VACUUM"]}]}"#,
            r#"{"command": {"delete": "users"}}"#,
            r#"{"pipeline": [{"$out": "x"}]}"#,
        ];
        for input in changing {
            assert!(super::changing(input).is_some(), "{input}");
        }
        let looking = [
            r#"{"sql": "SELECT * FROM users WHERE action = 'delete'"}"#,
            r#"{"sql": "select count(*) from updates -- drop"}"#,
            r#"{"query": "how to delete a user"}"#,
            r#"{"query": "do we update this?"}"#,
            r#"{"query": "query { user { id } }"}"#,
            r#"{"sql": "explain select 1"}"#,
            r#"{"query": "MATCH (n) RETURN n"}"#,
            r#"{"sql": "select * from pg_stat_activity"}"#,
            "{}",
            "no json",
        ];
        for input in looking {
            assert_eq!(super::changing(input), None, "{input}");
        }
    }
}
