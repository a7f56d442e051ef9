//! Checks whether a text is its own RFC 8785 form: one document has one spelling, so that no two readers see
//! two documents.
//!
//! Reads the text once and allocates nothing, except for names with escapes or beyond ASCII.

use crate::json::unescaped;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Deeper than any entry of ours, and than any value that is parsed as a fact.
const DEEPEST: usize = 160;

/// One value with nothing before or after it, each name once and in order, every string and number in its
/// only form.
pub fn is_canonical(text: &str) -> bool {
    let mut rest = text;
    value(&mut rest, 0).is_some() && rest.is_empty()
}

/// The content of a string is in its only form.
pub fn is_plain_string(inside: &str) -> bool {
    string_inside(inside).is_some_and(|long| long == inside.len())
}

fn take<'a>(rest: &mut &'a str, long: usize) -> &'a str {
    let (taken, after) = rest.split_at(long);
    *rest = after;
    taken
}

fn is_next(rest: &mut &str, token: &str) -> bool {
    let is = rest.starts_with(token);
    if is {
        take(rest, token.len());
    }
    is
}

fn value(rest: &mut &str, depth: usize) -> Option<()> {
    match rest.as_bytes().first()? {
        b'{' | b'[' if depth == DEEPEST => None,
        b'{' => object(rest, depth),
        b'[' => list(rest, depth),
        b'"' => string(rest).map(drop),
        b't' => is_next(rest, "true").then_some(()),
        b'f' => is_next(rest, "false").then_some(()),
        b'n' => is_next(rest, "null").then_some(()),
        _ => number(rest),
    }
}

fn object(rest: &mut &str, depth: usize) -> Option<()> {
    take(rest, 1);
    let mut before: Option<&str> = None;
    while !is_next(rest, "}") {
        if before.is_some() && !is_next(rest, ",") {
            return None;
        }
        let name = string(rest)?;
        if before.is_some_and(|before| order(before, name) != Ordering::Less) || !is_next(rest, ":") {
            return None;
        }
        before = Some(name);
        value(rest, depth + 1)?;
    }
    Some(())
}

fn list(rest: &mut &str, depth: usize) -> Option<()> {
    take(rest, 1);
    let mut first = true;
    while !is_next(rest, "]") {
        if !std::mem::take(&mut first) && !is_next(rest, ",") {
            return None;
        }
        value(rest, depth + 1)?;
    }
    Some(())
}

/// Names are sorted by their UTF-16 units.
fn order(one: &str, other: &str) -> Ordering {
    let simple = |name: &str| name.is_ascii() && !name.contains('\\');
    if simple(one) && simple(other) {
        return one.cmp(other);
    }
    let one: Cow<str> = unescaped(one);
    let other: Cow<str> = unescaped(other);
    one.encode_utf16().cmp(other.encode_utf16())
}

/// The content of the next string.
fn string<'a>(rest: &mut &'a str) -> Option<&'a str> {
    if !is_next(rest, "\"") {
        return None;
    }
    let long = string_inside(rest)?;
    let inside = take(rest, long);
    is_next(rest, "\"").then_some(inside)
}

/// Length of a string's content, up to its quotation mark or the end.
fn string_inside(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => break,
            b'\\' => escape(&bytes[at + 1..])? + 1,
            0..0x20 => return None,
            _ => 1,
        };
    }
    Some(at)
}

/// Length of the escape after a backslash: the short form if there is one, otherwise lower-case hex of a
/// control character.
fn escape(after: &[u8]) -> Option<usize> {
    match after {
        [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(1),
        [b'u', b'0', b'0', high @ b'0'..=b'1', low, ..] => {
            let low = char::from(*low).to_digit(16).filter(|_| !low.is_ascii_uppercase())?;
            let code = u32::from(high - b'0') * 16 + low;
            (!matches!(code, 8 | 9 | 10 | 12 | 13)).then_some(5)
        }
        _ => None,
    }
}

fn number(rest: &mut &str) -> Option<()> {
    let long = rest.bytes().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
    let text = take(rest, long);
    // A number must be the shortest form of its double: `01`, `1.0` and `9007199254740993` are not.
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    (ryu_js::Buffer::new().format_finite(value) == text).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{read, unchanged};
    use proptest::prelude::*;

    #[rustfmt::skip]
    const WRONG: &[&str] = &[
        "", " {}", "{} ", "{}{}", "{ }", r#"{"a":1,"a":1}"#, r#"{"b":1,"a":2}"#, r#"{"a":1,}"#, "[1,]", "[,1]",
        "01", "1.0", "-0", "0.10", "1e5", "1E-7", "+1", "1.", ".5", "9007199254740993", "1e999", "nul", "NaN",
        r#""\u0041""#, r#""\/""#, r#""\u000A""#, r#""\u000a""#, r#""\u001F""#, r#""\ud83d\ude02""#, "\"\n\"",
        "\"a", "\u{feff}{}", "{\"a\":1}\0", "{\"\u{fb33}\":2,\"😂\":1}", "truefalse", "{\"a\"}", "{1:1}",
    ];

    #[test]
    fn one_document_has_one_spelling() {
        for right in [
            "{}",
            "[]",
            "null",
            r#"{"a":[1,-2.5,1e-7,1e+21,"\u000f\n€"],"b":{"":false}}"#,
            "{\"😂\":1,\"\u{fb33}\":2}",
            r#""\u007f""#.replace("\\u007f", "\u{7f}").as_str(),
        ] {
            assert!(is_canonical(right), "{right}");
        }
        for wrong in WRONG {
            assert!(!is_canonical(wrong), "{wrong:?}");
        }
        assert!(!is_canonical(&"[".repeat(1 << 20)));
        assert!(is_plain_string("a\\n€") && !is_plain_string("a\"b") && !is_plain_string("\\u0041"));
    }

    proptest! {
        /// Accepts exactly what the writer writes.
        #[test]
        fn what_is_written_is_canonical(names in prop::collection::vec(any::<String>(), 0..6), texts in any::<[String; 2]>(), n in any::<f64>()) {
            let n = if n.is_finite() { n } else { 0.0 };
            let members: Vec<String> = names.iter().map(|name| format!("{}:[{},{n:e}]", serde_json::to_string(name).unwrap(), serde_json::to_string(&texts[0]).unwrap())).collect();
            let document = format!("{{{}}}", members.join(","));
            let written = read(&document).unwrap().canonical(unchanged);
            prop_assert!(is_canonical(&written), "{written}");
            prop_assert_eq!(is_canonical(&document), written == document);
            let odd = &texts[1];
            prop_assert_eq!(is_canonical(odd), read(odd).is_ok_and(|json| json.canonical(unchanged) == *odd));
        }
    }
}
