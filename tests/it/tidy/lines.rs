//! Lines that a person reads without turning their head: one value for each statement, and a bound for
//! columns.

use super::{all_rust_files, root};
use std::fs;

/// Columns of a comment. Code is as wide as `rustfmt.toml` lets it be.
const WIDEST_COMMENT: usize = 110;
/// Where the bracket that opens here is closed. Brackets in texts do not count.
fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, letter) in code[open..].char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted && depth == 1 => return Some(open + at),
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    None
}

/// After the names of a statement: `= (…);`, perhaps with types before it. So several values are set at once.
fn sets_several(rest: &str) -> bool {
    let value = match rest.strip_prefix(": ") {
        Some(types) if types.starts_with('(') => closing(types, 0).map_or("", |end| &types[end + 1..]),
        _ => rest,
    };
    let Some(value) = value.strip_prefix(" = ").filter(|value| value.starts_with('(')) else { return false };
    closing(value, 0).is_some_and(|end| value[end + 1..].starts_with(';'))
}

/// Statements that set several things at once to save lines: `let (a, b) = (1, 2);`, `(a, b) = (b, a);`.
fn shorthands(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = 0;
    for line in code.split_inclusive('\n') {
        let statement = line.trim_start();
        let open = begin + line.len() - statement.len() + if statement.starts_with("let (") { 4 } else { 0 };
        if code[open..].starts_with('(')
            && closing(code, open).is_some_and(|end| sets_several(&code[end + 1..]))
        {
            found.push(statement.trim_end());
        }
        begin += line.len();
    }
    found
}

#[test]
fn shorthands_are_seen() {
    for shorthand in [
        "let (a, b) = (1, 2);",
        "    let (mut a, b): (u8, u8) = (f(\"(\"), 2);",
        "(self.a, b) = (b, a);",
        "let (a, b) = (\n    first(),\n    second(),\n);",
    ] {
        assert_eq!(shorthands(shorthand).len(), 1, "{shorthand}");
    }
    for plain in [
        "let (a, b) = pair();",
        "let (a, b) = (x, y).max(z);",
        "let Some((a, b)) = (c) else { return };",
        "let a = (1, 2);",
        "(a.b)(c);",
        "let (Some(a), Some(b)) = (x, y) else { return };",
    ] {
        assert_eq!(shorthands(plain), [""; 0], "{plain}");
    }
}

fn is_wide(line: &str, most: usize) -> bool {
    line.chars().count() > most
}

fn nowhere(what: &str, find: impl Fn(&str) -> Vec<&str>) {
    let files = all_rust_files();
    let found = files
        .iter()
        .flat_map(|(file, text)| find(text).into_iter().map(move |line| format!("{file}: {line}")));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn a_statement_sets_one_thing() {
    nowhere("statements that set several things", shorthands);
}

#[test]
fn comments_are_narrow() {
    nowhere("comments that are too wide", |text| {
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        text.lines().filter(is_comment).filter(|line| is_wide(line, WIDEST_COMMENT)).collect()
    });
}

/// Messages and tables that `rustfmt` leaves as they are.
#[test]
fn code_is_as_narrow_as_rustfmt_makes_it() {
    let rules = fs::read_to_string(root().join("rustfmt.toml")).unwrap();
    let most = rules.lines().find_map(|line| line.strip_prefix("max_width = ")).unwrap().parse().unwrap();
    let files =
        all_rust_files().into_iter().filter(|(file, _)| file.starts_with("src/") && !file.contains("tests"));
    let wide = files.flat_map(|(file, text)| {
        let wide = text.lines().filter(|line| is_wide(line, most) && !line.trim_start().starts_with("//"));
        wide.map(|line| format!("{file}: {}", line.trim_start())).collect::<Vec<_>>()
    });
    let wide: Vec<String> = wide.collect();
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
