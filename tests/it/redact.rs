//! Secrets, thrown at the redactor by the thousand.

use aops_core::text::redact::redact;
use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::borrow::Cow;

/// Pieces that mean something to the redactor, to be put together in any order.
const PIECES: [&str; 75] = [
    "sk-ant-",
    "sk-",
    "sk_",
    "ghp_",
    "github_pat_",
    "AKIA",
    "AIza",
    "xoxb-",
    "eyJ",
    ".eyJ",
    "SK",
    "hooks.slack.com/services/",
    "0123456789abcdef0123456789abcdef",
    "A1b2C3d4E5f6G7h8I9j0K1l2",
    "ABCDEFGHIJKLMNOP",
    "hunter2",
    "correcthorse",
    "password",
    "_PASSWORD",
    "token",
    "secret",
    "api_key",
    "--password",
    "--token",
    "Authorization",
    "Cookie",
    "pwd",
    "=",
    ":",
    ": ",
    " = ",
    "://",
    "@",
    "u:",
    "-u a:",
    "Bearer ",
    "Basic ",
    "dXNlcjpwYXNz",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "MIIEvQ+/==",
    "\n",
    "\\n",
    "\\\"",
    "\"",
    "'",
    " ",
    "\u{1b}[32m",
    "%3D",
    "é",
    "→",
    "\u{10ffff}",
    "\0",
    "$",
    "{",
    "[redacted:",
    "]",
    "-",
    "export ",
    "<password>",
    "</password>",
    "$6$",
    "data:\n",
    "kind: Secret\n",
    ": |\n  ",
    "  ",
    "Private-Lines: 2\n",
    "master.key ",
    "name",
    "value",
    "8Q~",
    "auth",
    "db:5432:shop:bob:",
    "+",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Secrets with the part that must not be seen again.
fn secret() -> impl Strategy<Value = (String, String)> {
    prop_oneof![
        "[A-Za-z0-9]{40}".prop_map(|body| (format!("ghp_{body}"), body)),
        "[A-Za-z0-9_-]{30,90}".prop_map(|body| (format!("sk-ant-{body}"), body)),
        "[A-Z0-9]{16}".prop_map(|body| (format!("AKIA{body}"), body)),
        "[0-9]{12}-[A-Za-z0-9]{24}".prop_map(|body| (format!("xoxb-{body}"), body)),
        "[A-Za-z0-9_-]{20,60}\\.[A-Za-z0-9_-]{20,60}\\.[A-Za-z0-9_-]{20,60}"
            .prop_map(|body| (format!("eyJ{body}"), body)),
        "[a-zA-Z0-9!*.,~^]{3,30}[a-z][0-9]".prop_map(|body| (format!("postgres://bob:{body}@db/x"), body)),
        "[a-zA-Z0-9!*.~^+/]{6,60}[a-z][0-9]".prop_map(|body| (format!("\"password\": \"{body}\""), body)),
        "[a-zA-Z][a-zA-Z0-9!*.~^+/]{6,60}[a-z][0-9]"
            .prop_map(|body| (format!("\nDB_PASSWORD={body}\n"), body)),
        "[a-zA-Z0-9+/]{60,64}(\n[a-zA-Z0-9+/]{60,64}){1,6}".prop_map(|body| {
            (format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"), body)
        }),
        "[a-zA-Z0-9._-]{20,60}[a-z][0-9]".prop_map(|body| (format!("Authorization: Bearer {body}"), body)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn twice_is_once(text in text()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }

    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        let _ = redact(&text);
    }

    #[test]
    fn nothing_of_a_secret_is_left((secret, body) in secret(), before in "[ \n(,;]{1,3}|", after in "[ \n),;]{1,3}|") {
        let clean = redact(&format!("{before}{secret}{after}")).into_owned();
        prop_assert!(!clean.contains(&body), "{} -> {}", secret, clean);
        prop_assert!(clean.starts_with(&before) && clean.ends_with(&after), "{}", clean);
    }

    #[test]
    fn clean_text_is_borrowed(text in "[a-z .,\n]{0,200}") {
        prop_assert!(matches!(redact(&text), Cow::Borrowed(same) if same == text));
    }
}

/// Near misses by the megabyte: the time must grow with the text, not with its square.
#[test]
fn near_misses_cost_no_square() {
    for piece in [
        "sk-",
        "token=",
        "authorization:",
        "cookie:a=",
        "password:",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY",
        "://a:",
        "eyJ-",
        "--token ",
        "bearer ",
        "token: '",
        "secret=\"\\",
        "-u a:",
        "%3D",
        "\\n",
        "\u{1b}[",
        "token =     ",
        "- ",
        "password",
        "hooks.slack.com/services/",
        "AKIA",
        "key: ",
        "basic A",
        "</password>",
        "<password>",
        "$6$",
        "data:\n",
        "kind: Secret\ndata:\n",
        "password: |\n",
        "-----END PRIVATE KEY-----\n",
        "Private-Lines: 1\n",
        "master.key",
        "name value=",
        "a:5432:",
        "8Q~",
        "auth: ",
    ] {
        let took = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let begun = clock_gettime(ClockId::ThreadCPUTime);
            let _ = redact(&text);
            let took = clock_gettime(ClockId::ThreadCPUTime) - begun;
            took.tv_sec * 1_000_000 + took.tv_nsec / 1000
        };
        // A square would be 64 times as much work, always; caches and neighbours cost something only
        // sometimes.
        let straight = (0..3).any(|_| took(1 << 16) < took(1 << 13).max(1000) * 40);
        assert!(straight, "`{piece}`: eight times the text takes more than forty times as long");
    }
}

/// Bodies of made-up secrets, the same at every run.
struct Made(u64);

impl Made {
    fn letters(&mut self, kind: &str, many: usize) -> String {
        let of: &[u8] = match kind {
            "h" => b"0123456789abcdef",
            "u" => b"ABCDEFGHJKLMNPQRSTUVWXYZ234567",
            "l" => b"abcdefghijklmnopqrstuvwxyz234567",
            "d" => b"123456789",
            "b" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            _ => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        };
        (0..many)
            .map(|_| {
                self.0 =
                    self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(of[usize::try_from(self.0 >> 33).unwrap() % of.len()])
            })
            .collect()
    }

    /// A line of the corpus with its bodies, and the parts that must go.
    fn fill(&mut self, line: &str) -> (String, Vec<String>) {
        let mut text = String::new();
        let mut rest = line;
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
            text.push_str(before);
            let inner = after[1..].chars().take(6).collect::<String>();
            let (inner, _) = inner.split_once('}').unwrap_or_default();
            let (kind, many) = inner.split_once(':').unwrap_or((inner, ""));
            let made = match many.parse() {
                Ok(many) => Some(self.letters(kind, many)),
                Err(_) if kind == "w" => {
                    Some(format!("hunt{}er{}", self.letters("l", 3), self.letters("d", 2)))
                }
                Err(_) => None,
            };
            let long = if made.is_some() { inner.len() + 2 } else { 1 };
            text.push_str(made.as_deref().unwrap_or("{"));
            rest = &after[long..];
        }
        text.push_str(rest);
        let text = text.replace("\\\\", "\u{1}").replace("\\n", "\n").replace('\u{1}', "\\");
        let secrets = text
            .split('«')
            .skip(1)
            .filter_map(|part| part.split_once('»'))
            .map(|(secret, _)| secret.to_owned());
        (text.replace(['«', '»'], ""), secrets.collect())
    }
}

fn corpus(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("# ") && !line.is_empty())
}

/// As it is, and as it stands in a diff.
fn signed(text: &str) -> [String; 3] {
    let behind =
        |sign: &str| text.split('\n').map(|line| format!("{sign}{line}")).collect::<Vec<_>>().join("\n");
    [text.to_owned(), behind("+"), behind("-")]
}

/// Each shape of the corpus, and what of it must not be seen again.
pub(crate) fn secrets() -> Vec<(String, Vec<String>)> {
    let rows = corpus(include_str!("../fixtures/redact/secrets.txt")).enumerate();
    rows.map(|(n, row)| Made(n as u64 + 7).fill(row.split_once('\t').unwrap().1)).collect()
}

#[test]
fn every_shape_of_the_corpus_goes() {
    let rows: Vec<&str> = corpus(include_str!("../fixtures/redact/secrets.txt")).collect();
    assert!(rows.len() >= 250, "{} shapes", rows.len());
    let mut wrong = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let (name, line) = row.split_once('\t').unwrap();
        let (text, secrets) = Made(n as u64 + 7).fill(line);
        assert!(!secrets.is_empty(), "{name} has no secret");
        for text in signed(&text) {
            let clean = redact(&text);
            // Of several lines each must go.
            let seen = secrets
                .iter()
                .flat_map(|secret| secret.split('\n'))
                .any(|part| clean.contains(part.trim_end_matches('=')));
            if seen {
                wrong.push(format!("{name}: {text:?} -> {clean:?}"));
            }
            assert_eq!(redact(&clean), clean, "{name}: twice is once");
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len() * 3, wrong.join("\n"));
}

#[test]
fn every_harmless_text_of_the_corpus_stays() {
    let rows: Vec<&str> = corpus(include_str!("../fixtures/redact/harmless.txt")).collect();
    assert!(rows.len() >= 250, "{} texts", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        for text in signed(&row.replace("\\n", "\n")) {
            let clean = redact(&text);
            if clean != text {
                wrong.push(format!("{text:?} -> {clean:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len() * 3, wrong.join("\n"));
}
