//! Commands that show the names in a file of secrets, or their number, but none of the values.

use super::call::Call;
use crate::syntax::{Simple, Word};
use std::rc::Rc;

/// Programs that pass on their input, or a part of it, and write nothing elsewhere.
const PLAIN: &[&str] = &[
    "cat", "cut", "egrep", "fgrep", "grep", "gsed", "head", "sed", "sort", "tac", "tail", "tr", "uniq",
    "awk", "gawk",
];

/// Endings of files with a name and a value in each line. In other files, such as a key, these filters would
/// show everything.
const PAIRS: &[&str] =
    &["rc", "cfg", "conf", "credentials", "ini", "properties", "tfvars", "toml", "yaml", "yml"];

/// Like `masks`, for a command that may have any name.
pub(crate) fn keeps_values(simple: &Simple, file: &Word) -> bool {
    simple.name().is_some_and(|name| masks(&Call::new(name, simple), file))
}

/// Whether the output of this command reveals none of the file's secrets.
pub(super) fn masks(call: &Call, file: &Word) -> bool {
    let name = file.last_part().lossy().to_lowercase();
    let pairs = name.contains("env") || PAIRS.iter().any(|end| name.ends_with(end));
    match call.name {
        "sed" | "gsed" => pairs && sed(call),
        "cut" => pairs && cut(call),
        "awk" | "gawk" | "mawk" | "nawk" => pairs && awk(call),
        "grep" | "egrep" | "rg" => call.has(&["-q", "--quiet", "-c", "--count", "-l"]) || pairs && grep(call),
        "wc" | "md5sum" | "sha1sum" | "sha256sum" | "shasum" | "cksum" => true,
        _ => false,
    }
}

/// Whether everything this command prints of the file goes through a command that masks it, and nowhere else.
pub(super) fn goes_through(around: &[Rc<Simple>], simple: &Simple, file: &Word) -> bool {
    let Some(name) = simple.name().filter(|name| simple.piped.0 && PLAIN.contains(name)) else {
        return false;
    };
    let gets = |other: &&Rc<Simple>| {
        other.arriving.iter().any(|word| word.bits == file.bits) && other.fed.iter().any(|fed| &**fed == name)
    };
    let behind: Vec<&Rc<Simple>> = around.iter().filter(gets).collect();
    let masker = |other: &Simple| other.name().is_some_and(|name| masks(&Call::new(name, other), file));
    let maskers: Vec<&str> =
        behind.iter().filter(|other| masker(other)).filter_map(|other| other.name()).collect();
    let is_safe = |other: &&Rc<Simple>| {
        let after = other.fed.iter().any(|fed| maskers.contains(&&**fed));
        masker(other) || after || other.piped.0 && other.name().is_some_and(|name| PLAIN.contains(&name))
    };
    !maskers.is_empty() && behind.iter().all(is_safe)
}

/// `diff <(cut -d= -f1 .env) …`: whether the commands inside this word mask the file.
pub(super) fn is_masked_inside(around: &[Rc<Simple>], word: &Word, file: &Word) -> bool {
    let inside = |simple: &&Rc<Simple>| {
        let printed = |name: &str| word.printed.iter().any(|printed| &**printed == name);
        simple.name().is_some_and(printed) && simple.words.iter().any(|word| word.bits == file.bits)
    };
    let masked = |simple: &Rc<Simple>| {
        let own = simple.name().is_some_and(|name| masks(&Call::new(name, simple), file));
        own || goes_through(around, simple, file)
    };
    let mut all = around.iter().filter(inside).peekable();
    all.peek().is_some() && all.all(masked)
}

/// `sed 's/=.*/=***/'`
fn sed(call: &Call) -> bool {
    let changes = call.has(&["-i", "--in-place", "-s", "-f", "--file"]);
    let given: Vec<&Word> = call.values(&["-e", "--expression"]).collect();
    let first = call.operands().first().map(|(_, word)| *word);
    let programs: Vec<String> = if given.is_empty() { first.into_iter().collect() } else { given }
        .into_iter()
        .filter_map(Word::literal)
        .collect();
    let all: Vec<&str> =
        programs.iter().flat_map(|program| program.split([';', '\n'])).map(str::trim).collect();
    let quiet = call.has(&["-n", "--quiet", "--silent"]);
    let drops = |command: &str| command.ends_with('d') && !command.contains(['w', 'r', 'e']);
    !changes
        && all.iter().any(|one| hides(one, quiet))
        && all.iter().all(|one| hides(one, quiet) || drops(one))
}

/// Whether the command is one substitution that removes every value.
fn hides(command: &str, quiet: bool) -> bool {
    let Some(rest) = command.strip_prefix('s') else { return false };
    let Some(sign) = rest.chars().next().filter(|sign| !sign.is_alphanumeric() && *sign != '\\') else {
        return false;
    };
    let parts: Vec<&str> = rest[sign.len_utf8()..].split(sign).collect();
    let [pattern, replacement, flags] = parts.as_slice() else { return false };
    let prints = flags.contains('p');
    let known = flags.chars().all(|flag| matches!(flag, 'g' | 'p' | 'i' | 'I'));
    known && (quiet == prints) && takes_values(pattern) && keeps_none(pattern, replacement)
}

/// Whether the pattern reaches from a separator after the name to the end of the line, whatever the name is.
fn takes_values(pattern: &str) -> bool {
    let plain = pattern.replace(['\\', '(', ')', '$', '^'], "");
    let Some((name, value)) = plain.rsplit_once(['=', ':']) else { return false };
    let value = value.trim_start_matches([']', ' ']).trim_start_matches("s*").trim_end_matches('?');
    let whole = matches!(value, ".*" | ".+" | "[ ]*" | "[ ]+" | "[#]*" | "S*" | "S+");
    let letters = |part: &str| part.chars().any(|c| c.is_ascii_alphabetic());
    let mut outside = name.split('[').map(|part| part.rsplit_once(']').map_or(part, |(_, after)| after));
    // A list of at least two names of secrets, such as `TOKEN|PASSWORD`.
    let asked = || {
        name.split(['|', '[', ']', '.', '*']).filter(|part| is_secret_name(&part.to_uppercase())).count() > 1
    };
    whole && (!outside.any(|part| letters(part.trim_end_matches("s*"))) || asked())
}

/// Whether the replacement contains no part of the value: `&` is the whole match, and `\2` may be a group
/// after the name.
fn keeps_none(pattern: &str, replacement: &str) -> bool {
    let before = pattern.rsplit_once(['=', ':']).map_or("", |(name, _)| name);
    let closed =
        before.matches(')').count() + usize::from(pattern.contains("=)") || pattern.contains("=\\)"));
    // A group that is still open there also contains the value.
    let kept = if before.matches('(').count() > closed { 0 } else { closed };
    !replacement.contains('&') && !(kept + 1..10).any(|n| replacement.contains(&format!("\\{n}")))
}

/// `cut -d= -f1`
fn cut(call: &Call) -> bool {
    let glued = |option: &str| {
        call.texts.iter().find_map(|text| text.strip_prefix(option).filter(|rest| !rest.is_empty()))
    };
    let value = |short: &'static str, long: &'static str| {
        let options: &'static [&'static str] =
            if short == "-d" { &["-d", "--delimiter"] } else { &["-f", "--fields"] };
        let next = || call.values(options).next().map(Word::lossy);
        glued(short).map(str::to_owned).or_else(|| glued(long).map(str::to_owned)).or_else(next)
    };
    let parted = value("-d", "--delimiter=").is_some_and(|sign| matches!(sign.as_str(), "=" | ":"));
    parted && value("-f", "--fields=").is_some_and(|fields| fields == "1")
}

/// `awk -F= '{print $1}'`
fn awk(call: &Call) -> bool {
    let parts = |text: &str| matches!(text, "=" | ":" | "[=:]" | "[:=]" | " *= *");
    let glued = call.texts.iter().find_map(|text| text.strip_prefix("-F").filter(|rest| !rest.is_empty()));
    let next = call.values(&["-F", "--field-separator"]).next().map(Word::lossy);
    let parted = glued.is_some_and(parts) || next.as_deref().is_some_and(parts);
    let value = |at: usize| at > 0 && matches!(call.texts[at - 1].as_str(), "-F" | "-v");
    let program = call.operands().into_iter().find(|(at, _)| !value(*at)).map(|(_, word)| word.lossy());
    parted && program.is_some_and(|program| names_only(&program))
}

fn names_only(program: &str) -> bool {
    let plain: String = program.chars().filter(|c| !c.is_whitespace()).collect();
    let first = |rest: &str| rest.starts_with('1') && !rest[1..].starts_with(|c: char| c.is_ascii_digit());
    let mut fields = plain.split('$').skip(1).peekable();
    let runs = ["getline", "system", "|", ">", "print}", "print;", "nf"]
        .iter()
        .any(|sign| plain.to_lowercase().contains(sign));
    plain.contains("print") && !runs && fields.peek().is_some() && fields.all(first)
}

/// `grep -o '^[A-Z_]*='`
fn grep(call: &Call) -> bool {
    let pattern =
        call.values(&["-e", "--regexp"]).next().or_else(|| call.operands().first().map(|(_, word)| *word));
    let names = |pattern: String| {
        // The pattern without its bracket expressions.
        let outside: String =
            pattern.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
        let (_, behind) = outside.split_once('=').unwrap_or((&outside, ""));
        !outside.contains('.') && behind.is_empty() && pattern.contains(['[', '\\'])
    };
    call.has(&["-o", "--only-matching"]) && pattern.and_then(Word::literal).is_some_and(names)
}

/// `TOKEN`, `AWS_SECRET_ACCESS_KEY`, `DB_PASSWORD`; `TOKEN_NAME` and `SECRET_FILE` only say where a secret
/// is.
pub(crate) fn is_secret_name(name: &str) -> bool {
    // The address of a database holds its password.
    const ADDRESSES: &[&str] = &[
        "AMQP_URL", "DATABASE_URL", "_DSN", "MONGODB_URI", "MONGO_URI", "MONGO_URL", "POSTGRES_URL",
        "REDIS_URL",
    ];
    const WORDS: &[&str] =
        &["SECRET", "TOKEN", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIAL", "CREDENTIALS", "PRIVATE", "PASS"];
    let upper = name.to_uppercase();
    if ["_NAME", "_FILE", "_PATH"].iter().any(|end| upper.ends_with(end)) {
        return false;
    }
    let mut parts = upper.split('_');
    let key = upper.ends_with("_KEY") && !upper.contains("PUBLIC");
    let address = ADDRESSES.iter().any(|end| upper.ends_with(end));
    key || address || parts.any(|part| WORDS.contains(&part))
}
