//! Takes secrets out of text before it is written anywhere.
//!
//! Reads nothing, writes nothing. Invariant: no regular expression; one pass over the bytes, and text without a secret
//! comes back borrowed. A pattern is a row in `TOKENS`.

use std::borrow::Cow;

/// A token known by how it begins and what it is made of.
struct Token {
    name: &'static str,
    prefix: &'static str,
    /// Fewest characters after the prefix.
    least: usize,
}

const fn token(name: &'static str, prefix: &'static str, least: usize) -> Token {
    Token { name, prefix, least }
}

/// Longer prefixes first where one begins with another.
static TOKENS: &[Token] = &[
    token("anthropic-key", "sk-ant-", 16),
    token("openai-key", "sk-proj-", 16),
    token("openai-key", "sk-svcacct-", 16),
    token("api-key", "sk-", 32),
    token("stripe-key", "sk_live_", 16),
    token("stripe-key", "sk_test_", 16),
    token("stripe-key", "rk_live_", 16),
    token("github-token", "ghp_", 30),
    token("github-token", "gho_", 30),
    token("github-token", "ghu_", 30),
    token("github-token", "ghs_", 30),
    token("github-token", "ghr_", 30),
    token("github-token", "github_pat_", 30),
    token("gitlab-token", "glpat-", 16),
    token("aws-key-id", "AKIA", 16),
    token("aws-key-id", "ASIA", 16),
    token("slack-token", "xoxb-", 16),
    token("slack-token", "xoxp-", 16),
    token("slack-token", "xoxa-", 16),
    token("slack-token", "xoxr-", 16),
    token("slack-token", "xoxs-", 16),
    token("slack-token", "xapp-", 16),
    token("google-key", "AIza", 35),
    token("google-token", "ya29.", 20),
    token("hugging-face-token", "hf_", 30),
    token("npm-token", "npm_", 30),
    token("pypi-token", "pypi-", 50),
    token("digitalocean-token", "dop_v1_", 40),
    token("sendgrid-key", "SG.", 40),
    token("bearer-token", "Bearer ", 20),
    token("bearer-token", "bearer ", 20),
    token("jwt", "eyJ", 40),
];

/// The text with every secret replaced by its kind in brackets.
pub fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        let found = match bytes[at] {
            b's' | b'r' | b'g' | b'A' | b'x' | b'y' | b'h' | b'n' | b'p' | b'd' | b'S' | b'B' | b'b'
            | b'e'
                if at == 0 || !is_word(bytes[at - 1]) =>
            {
                token_at(bytes, at)
            }
            b'-' if bytes[at..].starts_with(b"-----BEGIN ") => private_key_at(text, at),
            b':' if bytes[at..].starts_with(b"://") => password_at(bytes, at),
            _ => None,
        };
        if let Some((name, from, to)) = found {
            out.push_str(&text[kept..from]);
            out.push_str("[redacted:");
            out.push_str(name);
            out.push(']');
            (kept, at) = (to, to);
        } else {
            at += 1;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

type Found = (&'static str, usize, usize);

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn token_at(bytes: &[u8], at: usize) -> Option<Found> {
    let rest = &bytes[at..];
    TOKENS.iter().find_map(|token| {
        let body = rest.strip_prefix(token.prefix.as_bytes())?;
        let long =
            body.iter().take_while(|b| is_word(**b) || matches!(b, b'-' | b'.' | b'/' | b'+' | b'=')).count();
        (long >= token.least).then_some((token.name, at, at + token.prefix.len() + long))
    })
}

/// From the armour's first line to its last, or to the end of the text when it was cut.
fn private_key_at(text: &str, at: usize) -> Option<Found> {
    let rest = &text[at..];
    let head = rest.find("PRIVATE KEY")?;
    if rest[..head].contains('\n') {
        return None;
    }
    let end = rest.find("-----END ").and_then(|end| Some(end + rest[end + 9..].find("-----")? + 14));
    Some(("private-key", at, at + end.unwrap_or(rest.len())))
}

/// `scheme://user:PASSWORD@host`
fn password_at(bytes: &[u8], at: usize) -> Option<Found> {
    let start = at + 3;
    let plain = |b: &u8| !matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b' ' | b'\n' | b'\\');
    let long = bytes[start..].iter().take(256).take_while(|b| plain(b)).count();
    let authority = &bytes[start..start + long];
    let host = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority[..host].iter().position(|b| *b == b':')?;
    (colon + 1 < host).then_some(("password", start + colon + 1, start + host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_words_stay() {
        let rows = [
            (
                format!("key sk-ant-{} end", "api03-".to_owned() + &"A".repeat(60)),
                "key [redacted:anthropic-key] end",
            ),
            (format!("ghp_{}", "b".repeat(36)), "[redacted:github-token]"),
            (format!("AKIA{}", "C".repeat(16)), "[redacted:aws-key-id]"),
            (format!("x=xoxb-{}-{};", "1".repeat(12), "d".repeat(24)), "x=[redacted:slack-token];"),
            ("postgres://bob:hunter2@db/x".to_owned(), "postgres://bob:[redacted:password]@db/x"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb".to_owned(),
                "a\n[redacted:private-key]\nb",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMII cut".to_owned(), "[redacted:private-key]"),
            (format!("Authorization: Bearer {}", "t".repeat(40)), "Authorization: [redacted:bearer-token]"),
        ];
        for (text, want) in rows {
            assert_eq!(redact(&text), want);
        }
        for plain in [
            "sk-learn is a library",
            "task-ant-farm",
            "http://localhost:8080/x",
            "risk_live_",
            "é sk-ant-é",
            "-----BEGIN CERTIFICATE-----\n",
            "https://a@b/c:d",
            "ghp_short",
        ] {
            assert!(matches!(redact(plain), Cow::Borrowed(p) if p == plain), "{plain}");
        }
    }
}
