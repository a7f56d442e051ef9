//! Passwords on command lines and in `netrc`, where no name and sign stand before them: `sshpass -p X`, `mysql -pX`.
//!
//! Reads nothing, writes nothing. Invariant: the command that makes an option a password stands in the same command, at
//! most `NEAR` bytes before it.

use super::FoundSecret;
use super::look::{is_code, is_placeholder};

/// So far back a command's name is looked for.
const NEAR: usize = 200;

/// A command, the option behind which it takes a password, and whether the two may or must be one word.
static SWITCHES: &[(&str, &str, Glued)] = &[
    ("mysql", "-p", Glued::Must),
    ("mysqldump", "-p", Glued::Must),
    ("mysqladmin", "-p", Glued::Must),
    ("mariadb", "-p", Glued::Must),
    ("mariadb-dump", "-p", Glued::Must),
    ("7z", "-p", Glued::Must),
    ("sshpass", "-p", Glued::May),
    ("login", "-p", Glued::May),
    ("unzip", "-P", Glued::May),
    ("zip", "-P", Glued::May),
    ("redis-cli", "-a", Glued::May),
    ("ldapsearch", "-w", Glued::May),
    ("htpasswd", "-b", Glued::Last),
    ("htpasswd", "-nb", Glued::Last),
    ("htpasswd", "-cb", Glued::Last),
    ("htpasswd", "-bc", Glued::Last),
    ("htpasswd", "-nbB", Glued::Last),
    ("htpasswd", "-Bbn", Glued::Last),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Glued {
    Must,
    May,
    /// The password is the last word of the command.
    Last,
}

fn ends_command(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b';' | b'|' | b'&')
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || ends_command(byte) || matches!(byte, b'"' | b'\'' | b'`' | b'\\')
}

/// At `-`: an option of such a command.
pub(super) fn at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    if at == floor || !matches!(bytes[at - 1], b' ' | b'\t') {
        return None;
    }
    let word = bytes[at..].iter().take(NEAR).take_while(|b| !ends_word(**b)).count();
    let option = &bytes[at..at + word];
    let fits = |(_, known, glued): &&(&str, &str, Glued)| match glued {
        Glued::Must => option.len() > known.len() && option.starts_with(known.as_bytes()),
        Glued::May => option.starts_with(known.as_bytes()),
        Glued::Last => option == known.as_bytes(),
    };
    // Few options begin like one of these; only then is it worth looking back.
    SWITCHES.iter().find(fits)?;
    let before = &bytes[floor.max(at.saturating_sub(NEAR))..at];
    let begin = before.iter().rposition(|b| ends_command(*b)).map_or(0, |at| at + 1);
    let names = || before[begin..].split(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'"' | b'\''));
    let runs = |name: &str| names().any(|word| word == name.as_bytes());
    let (_, known, glued) = SWITCHES.iter().filter(fits).find(|(name, _, _)| runs(name))?;
    let from = match glued {
        Glued::Last => last_word(bytes, at + word)?,
        _ if option.len() > known.len() => at + known.len(),
        Glued::May => next_word(bytes, at + word)?,
        Glued::Must => return None,
    };
    secret(bytes, from)
}

/// At the `w` of `password X`, as `netrc` has it: behind a login.
pub(super) fn netrc_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let before = bytes[floor.max(at.saturating_sub(NEAR))..at].strip_suffix(b"pass")?;
    let from = bytes[at..].strip_prefix(b"word").and_then(|_| next_word(bytes, at + 4))?;
    let mut words = before.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).rev();
    let login = words.nth(1).is_some_and(|word| word == b"login");
    login.then(|| secret(bytes, from)).flatten()
}

fn next_word(bytes: &[u8], at: usize) -> Option<usize> {
    let blanks = bytes[at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let from = at + blanks;
    let quote = usize::from(matches!(bytes.get(from), Some(b'"' | b'\'')));
    (blanks > 0 && from < bytes.len()).then_some(from + quote)
}

fn last_word(bytes: &[u8], at: usize) -> Option<usize> {
    let long = bytes[at..].iter().take(NEAR).take_while(|b| !ends_command(**b)).count();
    let rest = bytes[at..at + long].trim_ascii_end();
    let rest = rest.strip_suffix(b"'").or_else(|| rest.strip_suffix(b"\"")).unwrap_or(rest);
    let from = rest.iter().rposition(|b| ends_word(*b))? + 1;
    (rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() >= 2).then_some(at + from)
}

fn secret(bytes: &[u8], from: usize) -> Option<FoundSecret> {
    let long = bytes[from..].iter().take_while(|b| !ends_word(**b)).count();
    let text = &bytes[from..from + long];
    let port = text.iter().all(u8::is_ascii_digit) && text.len() < 6;
    let none = text.len() < 4 || port || text.starts_with(b"-") || is_placeholder(text) || is_code(text);
    (!none).then_some(FoundSecret { name: "password", from, to: from + long })
}
