//! Programs of interpreters that print the environment, or a secret in it: read statement by statement,
//! following the names that hold one.

use super::masked::is_secret_name;

/// How languages read an environment variable: the text before its name.
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "os.environ", "os.getenv", "process.env", "env[", "env.fetch", "$env{", "getenv(", "getenv \"", "$_env", "$_server", "environ[",
    "deno.env", "bun.env", "sys.getenv", "system.getenv", "env.to_h", "env.inspect", "%env", "env::var", "system.get_env", "import.meta.env",
    "$env", "puts env", "p env", "print env",
];
/// Like the list above, but only as a word of its own: not `.env.example`, not `environment`.
const WORDS: &[&str] = &["env.", "environ"];
/// The whole environment.
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "(os.environ)", "dict(os.environ)", "os.environ.items", "os.environ.copy", "(process.env)", "stringify(process.env", "env.to_h", "env.inspect",
    "%env", "($_env)", "($_server)", "deno.env.toobject", "sys.getenv()", "system.getenv()", "getenv()", "os.environ.values",
    "system.get_env()", "os.environ._data", "os.environb", "...process.env", "**os.environ", "values(process.env", "entries(process.env",
];
/// Only the names of the variables, or their number.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "keys(process.env)", "list(os.environ)", "sorted(os.environ)", "set(os.environ)", "len(os.environ)", "os.environ.keys()",
    "env.keys", "keys %env",
];
/// Words that print something.
#[rustfmt::skip]
const PRINTING: &[&str] = &[
    "print", "pprint", "console.", "puts", "echo", "say", "printf", "stdout.write", "p ", "pp ", "var_dump", "print_r", "cat(", "message(", "println",
    "io.puts", "logger.", "logging.", "log(", "format t", "display",
];
/// Signs that a value is only tested, or shown in part.
#[rustfmt::skip]
const TESTING: &[&str] = &[
    "bool(", "len(", "!!", " not in ", ".length", "is not none", "is none", "? '", "? \"", "?'", "?\"", "!== undefined", "!= null", ".nil?", ".empty?",
    "isset(", "empty(", "defined ", "exists ", "key?(", ".key?", "include?", "has(", "startswith", "[:4]", "[:3]", "[:5]", "[:6]", "[:8]", ".slice(0", ".substring(0", "hash", "typeof",
    "' if ", "\" if ", "[:2]", "[:7]", "[:10]", "boolean(",
];
/// Tests too, unless they are part of a loop such as `for k in os.environ`.
const HELD: &[&str] = &[" in os.environ", " in process.env"];

/// Whether this program, in any language, prints a secret of the environment or all of it. `is_value`: the
/// program's result is printed without a print call.
pub(super) fn prints_environment(text: &str, is_value: bool) -> bool {
    let lower = text.to_ascii_lowercase();
    if !asks(&lower) {
        return false;
    }
    if is_value && !tests(&lower) && is_shown(text.trim(), &lower) {
        return true;
    }
    let picks = picks_others(text, &lower);
    let each = !picks && lists(&lower);
    let mut held: Vec<String> = Vec::new();
    text.split([';', '\n']).any(|statement| {
        let lower = statement.to_ascii_lowercase();
        let begins = |at: usize| at == 0 || !lower.as_bytes()[at - 1].is_ascii_alphanumeric();
        let printed =
            PRINTING.iter().flat_map(|word| lower.match_indices(word)).filter(|(at, _)| begins(*at));
        let printed: Vec<(&str, &str)> =
            printed.map(|(at, _)| (statement.get(at..).unwrap_or_default(), &lower[at..])).collect();
        held.extend(each_value(statement, &lower).filter(|_| !picks));
        let shows = |(text, lower): &(&str, &str)| {
            is_shown(text, lower) || holds(text, &held) || each && indexes(lower)
        };
        if printed.iter().any(|part| !tests(part.1) && shows(part)) {
            return true;
        }
        if printed.is_empty() && !tests(&lower) && is_shown(statement, &lower) {
            held.extend(assigned(statement));
        }
        false
    })
}

fn asks(lower: &str) -> bool {
    let apart = |at: usize, sign: &str| {
        let before = lower[..at].chars().next_back();
        let glued = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | '\'' | '"' | '_'));
        !glued && !lower[at + sign.len()..].starts_with("ment")
    };
    ASKING.iter().any(|sign| lower.contains(sign))
        || WORDS.iter().any(|sign| lower.match_indices(sign).any(|(at, sign)| apart(at, sign)))
}

fn tests(lower: &str) -> bool {
    let has = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    has(TESTING) || has(HELD) && !lower.contains("for ") && !lower.contains("for(")
}

/// Whether one of these names occurs in the text as a word.
fn holds(text: &str, names: &[String]) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .any(|word| names.iter().any(|name| name == word))
}

/// The name that gets a value: `key = …`, `const key = …`, `my $key = …`.
fn assigned(statement: &str) -> Option<String> {
    let (before, after) = statement.split_once('=')?;
    let name = before.split_whitespace().next_back()?.trim_start_matches('$').trim_end_matches(':');
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (plain && !after.starts_with('=')).then(|| name.to_owned())
}

/// Whether it loops over the variables of the environment.
fn lists(lower: &str) -> bool {
    let plain: String = lower.chars().filter(|c| !c.is_whitespace()).collect();
    [
        "inos.environ:", "inos.environ]", "inprocess.env", "insorted(os.environ", "keys(process.env",
        "env.each", "eachkey", "inenviron)",
    ]
    .iter()
    .any(|sign| plain.contains(sign))
}

/// Whether it reads a variable whose name the program computes: `os.environ[k]`.
fn indexes(lower: &str) -> bool {
    let signs = ["environ[", "process.env[", "environ.get(", "getenv(", "env["];
    let computed = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    signs.iter().any(|sign| lower.match_indices(sign).any(|(at, _)| computed(&lower[at + sign.len()..])))
}

/// The loop variable that holds each value: `for k, v in os.environ.items()`, `.forEach(([k, v]) => …)`.
fn each_value<'t>(statement: &'t str, lower: &str) -> impl Iterator<Item = String> + use<'t> {
    let begins = lower.find("os.environ.items").or_else(|| lower.find("entries(process.env"));
    let pair = begins.and_then(|at| {
        let before =
            statement[..at].rsplit_once(" in ").map(|(before, _)| before).filter(|_| lower.contains("for"));
        let after =
            || statement[at..].split_once("([").map(|(_, rest)| rest.split(']').next().unwrap_or_default());
        before.or_else(after)
    });
    let value = pair.and_then(|pair| pair.rsplit_once(',')).map(|(_, value)| value.trim());
    let name = value.map(|value| value.trim_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    name.filter(|name| !name.is_empty()).map(str::to_owned).into_iter()
}

/// Whether it selects variables by a name that is not a secret's: `if k.startswith('PY')`.
fn picks_others(text: &str, lower: &str) -> bool {
    let picks = [" if ", "if(", "if (", ".filter(", "grep"].iter().any(|sign| lower.contains(sign));
    let secret = |word: &str| {
        let upper = word.to_uppercase();
        matches!(upper.as_str(), "KEY" | "API") || is_secret_name(&upper)
    };
    picks && !text.split(['"', '\'', '/']).any(|literal| literal.split(['|', '_']).any(secret))
}

/// Whether this expression holds the whole environment, or a variable of it that is named like a secret.
fn is_shown(text: &str, lower: &str) -> bool {
    let bare = matches!(lower.trim(), "process.env" | "env" | "$env" | "sys.getenv()" | "os.environ");
    let named_after = |verb: &str| {
        let rest = lower.split_once(verb).map(|(_, rest)| rest);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "[._{:".contains(c)))
    };
    let bare = bare || ["puts env", "p env", "pp env", "print env"].iter().any(|verb| named_after(verb));
    let values = NAMES.iter().fold(lower.to_owned(), |text, sign| text.replace(sign, ""));
    let gone_through = values.contains(" in ") || values.contains("=>");
    let whole =
        WHOLE.iter().any(|sign| values.contains(sign)) && !values.contains("os.environ.get") && !gone_through;
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let named = |name: &str| name.len() > 2 && name.contains(|c: char| c.is_ascii_uppercase());
    bare || whole || asks(lower) && words.any(|name| named(name) && is_secret_name(name))
}
