//! Linters and checkers: they read the files that their arguments name, and write them only if an option or a
//! verb says so. Also when started by a project's tool runner: `npx`, `pnpm exec`, `uvx`, `poetry run`.
//!
//! Invariant: none of them is a read, since their configuration may run programs; we only know what they
//! touch.

use super::command::{Invocation, Touched};
use crate::syntax::{Bit, Word};

/// Sorted.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "actionlint", "ajv", "alex", "ansible-lint", "bandit", "biome", "black", "buf", "check-jsonschema", "clang-tidy", "codespell",
    "commitlint", "cspell", "deptry", "detect-secrets", "djlint", "dprint", "editorconfig-checker", "eslint", "flake8", "gitleaks",
    "golangci-lint", "hadolint", "html-validate", "htmlhint", "isort", "json-schema-validate", "jsonlint", "knip", "ktlint",
    "ls-lint", "luacheck", "lychee", "markdown-link-check", "markdownlint", "markdownlint-cli", "markdownlint-cli2", "mdl", "mypy",
    "oxlint", "phpcs", "phpstan", "prettier", "proselint", "pycodestyle", "pydocstyle", "pylint", "pyright", "remark",
    "rubocop", "ruff", "rumdl", "semgrep", "shfmt", "solhint", "spectral", "sqlfluff", "standard", "stylelint", "swiftlint", "taplo",
    "textlint", "tflint", "tslint", "typos", "vale", "vulture", "write-good", "xo", "yamllint",
];

/// Programs that run a tool of a project, sorted: the tool follows their options, or one of these verbs.
#[rustfmt::skip]
pub(super) const RUNNERS: &[&str] = &["bundle", "bunx", "npm", "npx", "pipenv", "pipx", "pnpm", "pnpx", "poetry", "rye", "uv", "uvx", "yarn"];
const VERBS: &[&str] = &["dlx", "exec", "run", "tool", "x"];

/// What may change a named file: an option that fixes it or names an output file, or a verb that formats.
#[rustfmt::skip]
const WRITING: &[&str] = &[
    "--apply", "--apply-unsafe", "--auto-correct", "--autocorrect", "--autofix", "--cache-location", "--fix", "--fix-dry-run", "--fix-errors",
    "--fix-only", "--fix-type", "--init", "--inplace", "--in-place", "--interactive", "--out", "--out-file", "--output", "--output-file",
    "--overwrite", "--report", "--save", "--unsafe", "--unsafe-fixes", "--write", "--write-changes", "--write-baseline",
];
const LETTERS: &str = "AaiIowW";
const FORMS: &[&str] = &[
    "compile", "dev", "fix", "fmt", "format", "generate", "init", "install", "migrate", "rage", "start",
    "sync", "upgrade",
];
/// Formatters, which write unless told only to check.
const FORMATTERS: &[&str] = &["black", "isort"];

/// A linter called by its own name.
pub(super) fn linted(command: &Invocation) -> Touched {
    touched(command.name, command.arguments).unwrap_or_else(|| super::anything(command.simple))
}

/// A linter started by a runner; any other tool is unknown.
pub(super) fn carried(command: &Invocation) -> Touched {
    let words = command.arguments;
    let plain = |from: usize| (from..words.len()).find(|at| !words[*at].is_option());
    let at = match plain(0) {
        Some(at) if VERBS.iter().any(|verb| words[at].is(verb)) => plain(at + 1),
        at => at,
    };
    let tool = at.and_then(|at| Some((words[at].literal()?, &words[at + 1..])));
    let looked = tool.and_then(|(name, rest)| {
        // `npx markdownlint-cli2@0.18`, `npx @biomejs/biome`
        let bare = name.rsplit('/').next().unwrap_or_default();
        let bare = bare.split('@').next().unwrap_or_default();
        NAMES.binary_search(&bare).is_ok().then(|| touched(bare, rest)).flatten()
    });
    looked.unwrap_or_else(|| super::anything(command.simple))
}

/// No files, if every word is plain and none of them makes the linter write.
fn touched(name: &str, words: &[Word]) -> Option<Touched> {
    let writes = |word: &Word| {
        let text = word.lossy();
        let option = text.split('=').next().unwrap_or_default();
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        WRITING.contains(&option)
            || letters.is_some_and(|letters| letters.contains(|c| LETTERS.contains(c)))
            || word.bits.first().is_none_or(|bit| !matches!(bit, Bit::Char(_))) && word.splits
    };
    let first = words.iter().find(|word| !word.is_option());
    let forms = first.is_some_and(|verb| FORMS.iter().any(|form| verb.is(form)));
    let checks =
        words.iter().any(|word| ["--check", "-c", "--check-only", "--diff"].iter().any(|only| word.is(only)));
    let mends = FORMATTERS.contains(&name) && !checks;
    (!words.iter().any(writes) && !forms && !mends).then(Touched::default)
}

/// A shell runs its file, unless it is told only to check it.
pub(super) fn started(command: &Invocation) -> Touched {
    let checks = command.arguments.first().is_some_and(|word| word.is_firm() && word.is("-n"));
    let plain = command.arguments.iter().skip(1).all(|word| !word.is_option() && !word.is("-c"));
    if checks && plain && command.arguments.len() > 1 {
        return Touched::default();
    }
    let mut touched = super::anything(command.simple);
    // It runs this file but does not write it: `bash x.sh`.
    if let Some(script) = command.arguments.first().filter(|word| word.is_firm() && !word.is_option()) {
        touched.files.retain(|(word, _)| word != script);
    }
    touched
}
