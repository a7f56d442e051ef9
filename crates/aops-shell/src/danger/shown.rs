//! Programs of interpreters that print the environment, or a secret in it.

/// How languages ask for a variable of the environment: what stands before its name.
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "os.environ", "os.getenv", "process.env", "env[", "env.fetch", "$env{", "getenv(", "getenv \"", "$_env", "$_server", "environ[",
    "deno.env", "bun.env", "sys.getenv", "system.getenv", "env.to_h", "env.inspect", "%env", "env::var", "system.get_env", "import.meta.env",
    "$env", "env.", "puts env", "p env", "print env", "environ"
];
/// The whole of it.
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "(os.environ)", "dict(os.environ)", "os.environ.items", "os.environ.copy", "(process.env)", "stringify(process.env", "env.to_h", "env.inspect",
    "%env", "($_env)", "($_server)", "deno.env.toobject", "sys.getenv()", "system.getenv()", "getenv()",
    "system.get_env()", "os.environ._data", "os.environb",
];
/// Words that print.
#[rustfmt::skip]
const PRINTING: &[&str] = &[
    "print", "console.", "puts", "echo", "say", "printf", "stdout.write", "p ", "pp ", "var_dump", "print_r", "cat(", "message(", "println",
    "io.puts", "logger.", "log(", "format t", "display",
];
/// Signs that a value is asked about, and not shown.
#[rustfmt::skip]
const TESTING: &[&str] = &[
    "bool(", "len(", "!!", " in os.environ", " not in ", ".length", "is not none", "is none", "? '", "? \"", "?'", "?\"", "!== undefined", "!= null", ".nil?", ".empty?",
    "isset(", "empty(", "defined ", "exists ", "key?(", ".key?", "include?", "has(", "startswith", "[:4]", "[:3]", "[:5]", "[:6]", "[:8]", ".slice(0", ".substring(0", "hash", "typeof",
];

/// Whether this program, in any language, prints a secret of the environment or all of it. `is_value`: what it comes to is
/// printed by itself.
pub(super) fn prints_environment(text: &str, is_value: bool) -> bool {
    let lower = text.to_lowercase();
    if !ASKING.iter().any(|sign| lower.contains(sign)) || TESTING.iter().any(|sign| lower.contains(sign)) {
        return false;
    }
    if is_value && is_shown(text.trim(), &lower) {
        return true;
    }
    let ends = |rest: &str| rest.find([';', '\n']).unwrap_or(rest.len());
    PRINTING.iter().flat_map(|word| lower.match_indices(word)).any(|(at, _)| {
        let rest = &lower[at..];
        let end = ends(rest);
        let begins = at == 0 || !lower.as_bytes()[at - 1].is_ascii_alphanumeric();
        begins && is_shown(text.get(at..at + end).unwrap_or_default(), &rest[..end])
    })
}

/// This expression holds the whole environment, or a variable of it that is named like a secret.
fn is_shown(text: &str, lower: &str) -> bool {
    let bare = matches!(lower.trim(), "process.env" | "env" | "$env" | "sys.getenv()" | "os.environ");
    let named_after = |verb: &str| {
        let rest = lower.split_once(verb).map(|(_, rest)| rest);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "[._{:".contains(c)))
    };
    let bare = bare || ["puts env", "p env", "pp env", "print env"].iter().any(|verb| named_after(verb));
    let whole = bare || WHOLE.iter().any(|sign| lower.contains(sign)) && !lower.contains("os.environ.get");
    let asks = ASKING.iter().any(|sign| lower.contains(sign));
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let named = |name: &str| name.len() > 2 && name.contains(|c: char| c.is_ascii_uppercase());
    whole || asks && words.any(|name| named(name) && super::secret::is_secret_name(name))
}
