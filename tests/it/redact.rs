//! Secrets, thrown at the redactor by the thousand.

use aops_hook::text::redact::redact;
use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::borrow::Cow;

/// Pieces that mean something to the redactor, to be put together in any order.
const PIECES: [&str; 60] = [
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
        "[a-zA-Z][a-zA-Z0-9!*.~^+/]{6,60}[a-z][0-9]".prop_map(|body| (format!("\nDB_PASSWORD={body}\n"), body)),
        "[a-zA-Z0-9+/]{60,64}(\n[a-zA-Z0-9+/]{60,64}){1,6}"
            .prop_map(|body| { (format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"), body) }),
        "[a-zA-Z0-9._-]{20,60}[a-z][0-9]".prop_map(|body| (format!("Authorization: Bearer {body}"), body)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

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
    ] {
        let took = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let begun = clock_gettime(ClockId::ThreadCPUTime);
            let _ = redact(&text);
            let took = clock_gettime(ClockId::ThreadCPUTime) - begun;
            took.tv_sec * 1_000_000 + took.tv_nsec / 1000
        };
        // A square would be 64 times as much work, always; caches and neighbours cost something only sometimes.
        let straight = (0..3).any(|_| took(1 << 16) < took(1 << 13).max(1000) * 40);
        assert!(straight, "`{piece}`: eight times the text takes more than forty times as long");
    }
}
