//! The variables that make the client, its own shell, or a program that it starts outside of the jail run or
//! load something.
//!
//! The one table of them; reads where a named program of ours leads. Invariant: a name of a known family
//! counts, unless it is known to be harmless.

use super::started::names_us;
use std::path::Path;

pub const SHELL_PREFIX: &str = "CLAUDE_CODE_SHELL_PREFIX";
const USUAL_SHELLS: [&str; 6] =
    ["/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/fish", "/usr/bin/zsh"];

/// How a variable leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// Its value is run, or is loaded first, whatever it names.
    Runs,
    /// The shell, the loader or the C library loads what it names.
    Loads,
    /// Another program outside of the jail runs what it names: the client, its git.
    Starts,
}

/// The client gives them to its own shell, to the loader, and to the programs that it starts itself.
const NAMES: [(&str, Lead); 33] = [
    ("BASHOPTS", Lead::Runs),
    ("BASH_ENV", Lead::Runs),
    ("BROWSER", Lead::Starts),
    ("CLAUDE_CODE_PLUGIN_CACHE_DIR", Lead::Starts),
    ("CLAUDE_CODE_PLUGIN_DIRS", Lead::Starts),
    ("CLAUDE_CODE_PLUGIN_SEED_DIR", Lead::Starts),
    ("CLAUDE_CODE_PROCESS_WRAPPER", Lead::Starts),
    ("CLAUDE_ENV_FILE", Lead::Starts),
    ("CLAUDE_PTY_HOST_EXEC", Lead::Starts),
    ("EDITOR", Lead::Starts),
    ("ENV", Lead::Runs),
    ("FPATH", Lead::Loads),
    ("GCONV_PATH", Lead::Loads),
    ("GETCONF_DIR", Lead::Loads),
    ("GLIBC_TUNABLES", Lead::Loads),
    ("IFS", Lead::Loads),
    ("LD_AUDIT", Lead::Runs),
    ("LD_PRELOAD", Lead::Runs),
    ("LOCPATH", Lead::Loads),
    ("MODULE_PATH", Lead::Loads),
    ("NLSPATH", Lead::Loads),
    ("NODE_OPTIONS", Lead::Starts),
    ("NULLCMD", Lead::Loads),
    ("PROMPT_COMMAND", Lead::Runs),
    ("PS4", Lead::Runs),
    ("READNULLCMD", Lead::Loads),
    ("RIPGREP_CONFIG_PATH", Lead::Starts),
    ("SHELL", Lead::Loads),
    ("SHELLOPTS", Lead::Runs),
    ("SSH_ASKPASS", Lead::Starts),
    ("TERMCAP", Lead::Loads),
    ("VISUAL", Lead::Starts),
    ("ZDOTDIR", Lead::Loads),
];
/// Beginnings of names.
const FAMILIES: [(&str, Lead); 10] = [
    ("BASH_FUNC_", Lead::Runs),
    ("BASH_", Lead::Loads),
    ("BUN_", Lead::Starts),
    ("CLAUDE_CODE_SHELL", Lead::Loads),
    ("DYLD_", Lead::Loads),
    ("GIT_", Lead::Starts),
    ("LD_", Lead::Loads),
    ("MALLOC_", Lead::Loads),
    ("OPENSSL_", Lead::Starts),
    ("TERMINFO", Lead::Loads),
];
/// Names of these families that lead nowhere; a star is any ending.
const HARMLESS: [&str; 14] = [
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_OUTPUT_LENGTH",
    "BASH_MAX_TIMEOUT_MS",
    "GIT_ADVICE",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "GIT_EDITOR",
    "GIT_LFS_SKIP_SMUDGE",
    "GIT_MERGE_AUTOEDIT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_PAGER",
    "GIT_SEQUENCE_EDITOR",
    "GIT_TERMINAL_PROMPT",
    "MALLOC_ARENA_MAX",
];

/// How the variable of this name leads; `None` if it does not.
pub fn lead(name: &str) -> Option<Lead> {
    let is_harmless =
        |known: &str| known.strip_suffix('*').map_or(name == known, |begin| name.starts_with(begin));
    if HARMLESS.iter().any(|known| is_harmless(known)) {
        return None;
    }
    let whole = NAMES.iter().find(|(known, _)| name == *known);
    whole.or_else(|| FAMILIES.iter().find(|(begin, _)| name.starts_with(begin))).map(|(_, lead)| *lead)
}

/// Whether settings that set this variable lead programs past the jail.
pub fn leads(name: &str, value: &str) -> bool {
    match name {
        "SHELL" => !USUAL_SHELLS.contains(&value),
        // The client runs these when the person wants to write or to read a page.
        "BROWSER" | "EDITOR" | "VISUAL" => value.contains('/'),
        SHELL_PREFIX => !is_this_program(value),
        "NODE_OPTIONS" => !value.split_whitespace().all(is_harmless_to_node),
        "GIT_SSH_COMMAND" => !is_plain_ssh(value),
        _ => lead(name).is_some(),
    }
}

/// It loads no module: most projects that set it raise a limit.
fn is_harmless_to_node(option: &str) -> bool {
    const BEGINNINGS: [&str; 10] = [
        "--dns-result-order=",
        "--enable-source-maps",
        "--experimental-vm-modules",
        "--max-",
        "--no-deprecation",
        "--no-warnings",
        "--openssl-legacy-provider",
        "--stack-",
        "--trace-",
        "--unhandled-rejections=",
    ];
    BEGINNINGS.iter().any(|begin| option.starts_with(begin))
}

/// `ssh -i ~/.ssh/deploy -o IdentitiesOnly=yes`: another key or port, and no other program.
fn is_plain_ssh(value: &str) -> bool {
    const SETTINGS: [&str; 4] =
        ["BatchMode=", "IdentitiesOnly=", "StrictHostKeyChecking=", "UserKnownHostsFile="];
    let mut words = value.split_whitespace();
    let mut is_plain = matches!(words.next(), Some("ssh" | "/usr/bin/ssh"))
        && !value.contains(['$', '`', ';', '&', '|', '\n', '<', '>', '(', '\\']);
    while let Some(option) = words.next() {
        is_plain &= match (option, words.next()) {
            ("-i" | "-p", Some(_)) => true,
            ("-o", Some(setting)) => SETTINGS.iter().any(|known| setting.starts_with(known)),
            _ => false,
        };
    }
    is_plain
}

/// The program in this value of the client's variable is the one that runs now.
fn is_this_program(value: &str) -> bool {
    let program = value.rsplit_once(" -").map_or(value, |(program, _)| program);
    let program = Path::new(program.strip_suffix(" shell").unwrap_or(program));
    let own = || std::env::current_exe().ok()?.canonicalize().ok();
    names_us(value)
        && program.is_absolute()
        && program.canonicalize().ok().is_some_and(|real| Some(real) == own())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_leads_and_its_harmless_names_do_not() {
        for name in [
            "BASHOPTS", "BASH_ENV", "BASH_FUNC_ls%%", "BASH_LOADABLES_PATH", "BASH_XTRACEFD", "BUN_OPTIONS",
            "CLAUDE_CODE_SHELL", "DYLD_INSERT_LIBRARIES", "ENV", "FPATH", "GCONV_PATH", "GIT_CONFIG_COUNT",
            "GIT_SSH_COMMAND", "GLIBC_TUNABLES", "IFS", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD",
            "LOCPATH", "MALLOC_TRACE", "MODULE_PATH", "NLSPATH", "NODE_OPTIONS", "PROMPT_COMMAND", "PS4",
            "SHELL", "SHELLOPTS", "TERMINFO", "TERMINFO_DIRS", "ZDOTDIR",
        ] {
            assert!(leads(name, "/x"), "{name}");
        }
        for (name, value) in [
            ("ANTHROPIC_MODEL", "x"),
            ("BASH_DEFAULT_TIMEOUT_MS", "1"),
            ("BASH_MAX_OUTPUT_LENGTH", "1"),
            ("BASH_MAX_TIMEOUT_MS", "1"),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "1"),
            ("DATABASE_URL", "x://y/z"),
            ("EDITOR", "vim"),
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_EDITOR", "true"),
            ("GIT_PAGER", "cat"),
            ("MALLOC_ARENA_MAX", "2"),
            ("GIT_SSH_COMMAND", "ssh -i ~/.ssh/deploy -o IdentitiesOnly=yes"),
            ("NODE_ENV", "test"),
            ("NODE_OPTIONS", "--max-old-space-size=8192 --no-warnings"),
            ("PATH", "/x"),
            ("PYTHONPATH", "/x"),
            ("RUST_LOG", "x"),
            ("SHELL", "/bin/bash"),
            ("SHELLCHECK_OPTS", "/x"),
            ("TERM", "xterm"),
            ("TZ", "UTC"),
        ] {
            assert!(!leads(name, value), "{name}");
        }
        for (name, value) in [
            ("NODE_OPTIONS", "--max-old-space-size=1 --require ./x.js"),
            ("GIT_SSH_COMMAND", "ssh -o ProxyCommand=./x"),
            ("GIT_SSH_COMMAND", "ssh -i k; ./x"),
            ("GIT_SSH_COMMAND", "./ssh -i k"),
        ] {
            assert!(leads(name, value), "{name}={value}");
        }
        assert_eq!((lead("PS4"), lead("LD_LIBRARY_PATH")), (Some(Lead::Runs), Some(Lead::Loads)));
    }

    #[test]
    fn the_prefix_of_commands_is_this_very_program() {
        let own = std::env::current_exe().unwrap();
        for value in ["/p/tools/aops-hook --shell", "aops-hook --shell", "/bin/sh"] {
            assert!(leads(SHELL_PREFIX, value), "{value}");
        }
        let named = tempfile::tempdir().unwrap();
        let link = named.path().join("aops-hook");
        std::os::unix::fs::symlink(own, &link).unwrap();
        assert!(!leads(SHELL_PREFIX, &format!("{} --shell", link.display())));
    }
}
