//! What an expansion with an operator makes of a known value: `${c,,}`, `${c#x}`, `${c/a/b}`, `${c:2}`.
//!
//! Pure. Invariant: `None` for every operator that is not plain text.

/// How long a value may be of which a part is cut, and how long the pattern.
const CUT: (usize, usize) = (512, 64);

/// The value after this operator, if both are plain: no quotes, no expansion.
pub(super) fn remade(value: &str, operator: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-.,:=+@/*?".contains(c);
    if value.len() > CUT.0 || operator.len() > CUT.1 || !value.is_ascii() {
        return None;
    }
    let first = |change: fn(&u8) -> u8| {
        let (begin, rest) = value.as_bytes().split_at(value.len().min(1));
        let begin = begin.iter().map(|byte| char::from(change(byte)));
        begin.chain(rest.iter().map(|byte| char::from(*byte))).collect()
    };
    match operator {
        ",," => return Some(value.to_ascii_lowercase()),
        "^^" => return Some(value.to_ascii_uppercase()),
        "," => return Some(first(u8::to_ascii_lowercase)),
        "^" => return Some(first(u8::to_ascii_uppercase)),
        _ => {}
    }
    if let Some((from, to)) = slice(operator).filter(|_| operator.starts_with(':')) {
        return Some(value.get(from.min(value.len())..to.min(value.len())).unwrap_or_default().to_owned());
    }
    let (sign, pattern) = operator.split_at_checked(1)?;
    let (is_long, pattern) = pattern.strip_prefix(sign).map_or((false, pattern), |longer| (true, longer));
    if !pattern.chars().all(is_plain) {
        return None;
    }
    match sign {
        "#" => {
            let mut ends = 0..=value.len();
            let fits = |end: &usize| is_match(pattern, &value[..*end]);
            let end = if is_long { ends.rfind(fits) } else { ends.find(fits) };
            Some(value[end.unwrap_or(0)..].to_owned())
        }
        "%" => {
            let mut begins = 0..=value.len();
            let fits = |begin: &usize| is_match(pattern, &value[*begin..]);
            let begin = if is_long { begins.find(fits) } else { begins.rfind(fits) };
            Some(value[..begin.unwrap_or(value.len())].to_owned())
        }
        "/" => {
            let (old, new) = pattern.split_once('/').unwrap_or((pattern, ""));
            let is_text = !old.is_empty() && !old.contains(['*', '?']);
            is_text.then(|| if is_long { value.replace(old, new) } else { value.replacen(old, new, 1) })
        }
        _ => None,
    }
}

fn is_match(pattern: &str, text: &str) -> bool {
    match pattern.as_bytes().first() {
        None => text.is_empty(),
        Some(b'*') => (0..=text.len()).any(|at| is_match(&pattern[1..], &text[at..])),
        Some(b'?') => !text.is_empty() && is_match(&pattern[1..], &text[1..]),
        Some(byte) => text.as_bytes().first() == Some(byte) && is_match(&pattern[1..], &text[1..]),
    }
}

/// `:from` or `:from:length` with literal numbers; an empty text means all elements.
pub(super) fn slice(text: &str) -> Option<(usize, usize)> {
    let Some(text) = text.strip_prefix(':') else { return text.is_empty().then_some((0, usize::MAX)) };
    let (from, length) = text.split_once(':').map_or((text, None), |(from, length)| (from, Some(length)));
    let from: usize = from.trim().parse().ok()?;
    let length = length.map_or(Some(usize::MAX), |length| length.trim().parse().ok())?;
    Some((from, from.saturating_add(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_made_as_bash_makes_them() {
        for (value, operator, made) in [
            ("GIT push", ",,", "git push"),
            ("git", "^", "Git"),
            ("GIT", ",", "gIT"),
            ("xxgit", "#xx", "git"),
            ("a/b/c", "##*/", "c"),
            ("a/b/c", "#*/", "b/c"),
            ("a.tar.gz", "%.*", "a.tar"),
            ("a.tar.gz", "%%.*", "a"),
            ("abab", "/ab/x", "xab"),
            ("abab", "//ab/x", "xx"),
            ("abab", "//ab", ""),
            ("xgit", ":1", "git"),
            ("xgity", ":1:3", "git"),
            ("ab", ":5", ""),
            ("ab", "#z", "ab"),
        ] {
            assert_eq!(remade(value, operator).as_deref(), Some(made), "{value} {operator}");
        }
        for (value, operator) in [("a", "#$x"), ("a", "@Q"), ("a", ":-b"), ("a", "/?/b"), ("a", "#'x'")] {
            assert_eq!(remade(value, operator), None, "{operator}");
        }
    }
}
