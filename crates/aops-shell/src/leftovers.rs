//! What a command leaves behind that nobody counts as a result: caches always, generated files after a test
//! run.
//!
//! Reads names and words, but no file.

use crate::danger::is_generated;

/// Folders in which tools keep what only makes them faster.
const CACHES: &[&str] = &[
    ".angular", ".cache", ".dart_tool", ".docusaurus", ".eggs", ".gradle", ".hypothesis",
    ".ipynb_checkpoints", ".mypy_cache", ".nox", ".nyc_output", ".parcel-cache", ".pytest_cache",
    ".ruff_cache", ".sass-cache", ".tox", ".turbo", ".vite", "__pycache__", "_cacache",
];
/// Cache folders inside Cargo's target folder, where build results are next to them.
const CARGO: &str = "target";
const CARGO_CACHES: &[&str] = &[".fingerprint", "build", "deps", "incremental", "tmp"];
const CACHE_FILES: &[&str] = &[
    ".coverage", ".ds_store", ".eslintcache", ".prettiercache", ".rustc_info.json", ".stylelintcache",
    "cachedir.tag", ".cargo-lock",
];
const CACHE_ENDINGS: &[&str] = &[".pyc", ".pyo", ".tsbuildinfo", ".swp"];
/// What git changes just by looking, or keeps until it cleans up.
const GIT: &str = ".git";
const GIT_LEFTOVERS: &[&str] =
    &["COMMIT_EDITMSG", "FETCH_HEAD", "ORIG_HEAD", "fsmonitor--daemon", "gc.log", "index", "logs", "objects"];
/// Files that a test run recreates: reports, local databases, compiled objects.
const REPORT_ENDINGS: &[&str] = &[
    ".class", ".db", ".db-journal", ".gcda", ".gcno", ".lcov", ".log", ".o", ".profraw", ".sqlite",
    ".sqlite3", ".tap", ".trx",
];
const REPORTS: &[&str] =
    &["coverage.json", "coverage.xml", "junit.xml", "lcov.info", "test-results.xml", "report.xml"];

/// Whether it only makes a tool faster, so that nobody misses it. The path is relative to the project.
pub fn is_cache(path: &str) -> bool {
    let parts: Vec<String> = path.split('/').map(str::to_ascii_lowercase).collect();
    let Some(name) = parts.last() else { return true };
    let in_git = path.strip_prefix(GIT).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| {
        let first = rest.split('/').next().unwrap_or_default();
        GIT_LEFTOVERS.contains(&first) || has_ending(first, &[".lock"])
    });
    let in_cargo = parts.iter().position(|part| part == CARGO).is_some_and(|at| {
        let below = &parts[at + 1..];
        below.iter().any(|part| CARGO_CACHES.contains(&part.as_str())) || has_ending(name, &[".d"])
    });
    in_git
        || in_cargo
        || parts.iter().any(|part| CACHES.contains(&part.as_str()))
        || CACHE_FILES.contains(&name.as_str())
        || name.starts_with(".coverage.")
        || has_ending(name, CACHE_ENDINGS)
}

/// Whether a tool recreates it whenever it is run: a by-product of a test run, the result of a build.
pub fn is_made_again(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let packaged = path.split('/').any(|part| part.ends_with(".egg-info"));
    is_generated(path) || packaged || REPORTS.contains(&name.as_str()) || has_ending(&name, REPORT_ENDINGS)
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Words that say that a command only checks something.
const CHECKS: &[&str] = &[
    "ava", "bats", "check", "clippy", "ctest", "cypress", "eslint", "flake8", "jest", "lint", "mocha",
    "mypy", "nextest", "nox", "phpunit", "playwright", "pylint", "pyright", "pytest", "rspec", "ruff",
    "spec", "specs", "test", "tests", "tox", "typecheck", "unittest", "verify", "vet", "vitest",
];
/// Words that say that a command creates or changes something after all.
const MAKES: &[&str] = &[
    "apply", "build", "bundle", "compile", "deploy", "dist", "fix", "fmt", "format", "generate", "gen",
    "init", "install", "migrate", "migration", "migrations", "package", "publish", "release", "seed",
    "update", "updatesnapshot", "upgrade", "write",
];
/// Commands that may surround a check and create nothing.
const AROUND: &[&str] = &[
    ".", ":", "[", "[[", "awk", "cat", "cd", "cut", "do", "done", "echo", "else", "exit", "export", "fi",
    "grep", "head", "if", "jq", "ls", "printf", "pwd", "rg", "set", "sed", "sort", "source", "tail", "then",
    "tr", "true", "uniq", "unset", "wc", "while",
];

/// Whether the line runs only tests, linters or type checks, judging by its words.
pub fn only_checks(line: &str) -> bool {
    let mut checks = false;
    for command in line.split([';', '|', '&', '\n', '(', ')', '{', '}', '`']) {
        let mut words =
            command.split_whitespace().filter(|word| !word.contains('=') || word.starts_with('-'));
        let Some(first) = words.next() else { continue };
        let is_rest = first.bytes().all(|byte| byte.is_ascii_digit() || b"<>!".contains(&byte));
        if is_rest || AROUND.contains(&first) {
            continue;
        }
        let all = || std::iter::once(first).chain(words.clone());
        let says = |known: &[&str]| {
            all().take(6).flat_map(parts).any(|part| known.contains(&part.to_ascii_lowercase().as_str()))
        };
        if !says(CHECKS) || says(MAKES) || all().any(|word| matches!(word, "-u" | "-w" | "-i")) {
            return false;
        }
        checks = true;
    }
    checks
}

/// `./run-tests.sh`: `run`, `tests`, `sh`.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_no_news() {
        for path in [
            "__pycache__/a.cpython-312.pyc",
            "src/x/__pycache__/b.pyc",
            ".pytest_cache/v/cache/lastfailed",
            "target/debug/deps/x-1a2b",
            "target/debug/.fingerprint/x/lib",
            "target/debug/incremental/x",
            "target/debug/x.d",
            "target/CACHEDIR.TAG",
            "node_modules/.cache/babel/x.json",
            ".git/index",
            ".git/objects/ab/cd",
            ".git/index.lock",
            ".coverage",
            "tsconfig.tsbuildinfo",
            ".mypy_cache/3.12/a.json",
        ] {
            assert!(is_cache(path), "{path}");
        }
        for path in [
            "out/app",
            "target/debug/app",
            "target/release/app",
            "dist/index.html",
            "src/main.py",
            "db.sqlite3",
            ".git/refs/heads/main",
            ".git/config",
            ".git/hooks/pre-commit",
            "build/app",
            "node_modules/x/index.js",
            "deps/x.c",
            "cache.py",
            "src/incremental.rs",
        ] {
            assert!(!is_cache(path), "{path}");
        }
    }

    #[test]
    fn by_products_of_a_test_run() {
        for path in
            ["target/debug/app", "coverage/index.html", "junit.xml", "test.db", "src/a.o", "out/app", "x.log"]
        {
            assert!(is_made_again(path), "{path}");
        }
        for path in ["src/a.py", "tests/__snapshots__/a.snap", "README.md", "package-lock.json"] {
            assert!(!is_made_again(path), "{path}");
        }
    }

    const CHECK_LINES: &str =
        "cargo test\ncargo nextest run 2>&1 | tail -5\nnpm test\nnpm run test:unit\npytest -q
make test\npython -m pytest tests/\ncd api && go test ./...\n./run-tests.sh\nCI=1 npx vitest run
cargo clippy --all-targets\nnpm run lint && npm test\npython3 manage.py test\nuv run pytest -k 'a and b'
make check\ncargo test --offline 2>&1 | grep passed\ntox -e py312\nbin/rspec spec/models";
    const OTHER_LINES: &str =
        "make\nmake build\nmake build test\nnpm run build && npm test\ncargo build\nblack .
npm run format\npython manage.py migrate\neslint --fix src\njest -u\nruff format .\npython3 script.py
./setup.sh; pytest\nprettier --write .\nvitest run --update\n\ncd x\nnpm run check:fix";

    #[test]
    fn a_test_run_is_known_by_its_words() {
        for line in CHECK_LINES.lines() {
            assert!(only_checks(line), "{line}");
        }
        for line in OTHER_LINES.lines() {
            assert!(!only_checks(line), "{line}");
        }
    }
}
