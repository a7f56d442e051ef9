//! Files that tools recreate: one list for danger rules, weight, debts, checkpoints and leases. Invariant:
//! this module does not know whether git tracks a folder, which decides everywhere except in the danger
//! rules.

/// How certain a folder's name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// Only one tool uses this name, in any place.
    Everywhere,
    /// A tool creates it in a project.
    Tool,
    /// An ordinary word that tools use for their output; below a source folder it is somebody's module.
    Word,
    /// As often generated as written by hand. Losing it costs little, but files created in it count as work.
    Perhaps,
}

use Name::{Everywhere, Perhaps, Tool, Word};

#[rustfmt::skip]
const FOLDERS: &[(&str, Name)] = &[
    (".build", Tool), (".cache", Tool), (".coverage", Tool), (".dart_tool", Tool), (".docusaurus", Tool), (".eggs", Tool),
    (".gradle", Tool), (".hypothesis", Tool), (".ipynb_checkpoints", Tool), (".mypy_cache", Everywhere),
    (".next", Everywhere), (".nox", Tool), (".nuxt", Everywhere), (".nyc_output", Tool), (".output", Tool),
    (".parcel-cache", Everywhere), (".pytest_cache", Everywhere), (".ruff_cache", Everywhere), (".sass-cache", Tool),
    (".serverless", Tool), (".svelte-kit", Tool), (".terraform", Tool), (".tmp", Tool), (".tox", Tool),
    (".turbo", Everywhere), (".venv", Tool), (".vite", Tool), (".webpack", Tool), ("__pycache__", Everywhere),
    ("_build", Word), ("_cacache", Everywhere), ("bazel-bin", Tool), ("bazel-out", Tool), ("bin", Perhaps),
    ("build", Word), ("cache", Word), ("cmake-build-debug", Tool), ("cmake-build-release", Tool), ("coverage", Word),
    ("deriveddata", Everywhere), ("dist", Word), ("gen", Perhaps), ("generated", Perhaps), ("htmlcov", Tool),
    ("logs", Perhaps), ("node_modules", Everywhere), ("obj", Perhaps), ("out", Perhaps), ("output", Perhaps),
    ("playwright-report", Tool), ("pods", Perhaps), ("site", Perhaps), ("storybook-static", Tool), ("target", Word),
    ("temp", Perhaps), ("test-results", Tool), ("tmp", Perhaps), ("vendor", Perhaps), ("venv", Word),
];
/// Below these folders an ordinary word names a module: `src/build/mod.rs`.
const SOURCES: &[&str] = &[
    "cmd", "include", "internal", "lib", "libs", "pkg", "source", "sources", "spec", "src", "test", "tests",
];
/// Endings of files that a tool recreates.
const ENDS: &[&str] =
    &[".pyc", ".pyo", ".class", ".o", ".egg-info", ".tsbuildinfo", ".gcda", ".gcno", ".profraw", ".beam"];
const NAMES: &[&str] =
    &["__pycache__", ".DS_Store", "node_modules", ".pytest_cache", "Thumbs.db", ".mypy_cache", ".ruff_cache"];
/// Endings of local databases: nobody's work, but nothing recreates them.
const DATABASES: &[&str] = &[".db", ".db3", ".sqlite", ".sqlite3"];
/// Endings of the files that a database keeps next to itself while it is open.
const BESIDE: &[&str] = &["-journal", "-shm", "-wal"];
/// Files that only keep a generated folder in the repository.
const KEEPERS: &[&str] = &[".gitignore", ".gitkeep", ".keep"];

/// Endings of source files that a tool writes and projects often commit.
#[rustfmt::skip]
const MADE_SOURCES: &[&str] = &[
    ".designer.cs", ".freezed.dart", ".g.cs", ".g.dart", ".gen.go", ".generated.ts", ".gr.dart", ".js.map", ".css.map", ".min.css",
    ".min.js", ".mjs.map", ".pb.cc", ".pb.go", ".pb.gw.go", ".pb.h", "_grpc.pb.go", "_pb.js", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py",
    "_string.go",
];
/// Folders of such files.
const MADE_FOLDERS: &[&str] = &["__generated__", "gen", "generated"];

/// Lock files of package managers, in lower case.
#[rustfmt::skip]
const LOCKS: &[&str] = &[
    ".terraform.lock.hcl", "bun.lock", "bun.lockb", "cabal.project.freeze", "cargo.lock", "chart.lock", "composer.lock",
    "conan.lock", "deno.lock", "flake.lock", "gemfile.lock", "go.sum", "go.work.sum", "gradle.lockfile", "mise.lock",
    "mix.lock", "npm-shrinkwrap.json", "package-lock.json", "package.resolved", "packages.lock.json", "paket.lock",
    "pdm.lock", "pipfile.lock", "pixi.lock", "pnpm-lock.yaml", "podfile.lock", "poetry.lock", "pubspec.lock", "pylock.toml",
    "rebar.lock", "renv.lock", "shard.lock", "stack.yaml.lock", "uv.lock", "yarn.lock",
];

/// Whether it is a package manager's record of the versions it chose: tracked, but not written by hand.
pub fn is_lock_file(path: &str) -> bool {
    LOCKS.contains(&path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase().as_str())
}

fn name(part: &str) -> Option<Name> {
    let part = part.to_ascii_lowercase();
    FOLDERS.iter().find(|(known, _)| *known == part).map(|(_, name)| *name)
}

/// Whether a part of the path is the name of a folder that tools recreate, or often do.
pub fn may_be_made(path: &str) -> bool {
    path.split('/').any(|part| name(part).is_some())
}

/// Whether a part of the path is a folder name that only tools use, wherever it is.
pub fn is_made_everywhere(path: &str) -> bool {
    path.split('/').any(|part| name(part) == Some(Everywhere))
}

/// Whether a tool usually writes this source file. Written by hand it is work, so the caller must know that a
/// tool did.
pub fn is_made_source(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (above, own) = path.rsplit_once('/').unwrap_or(("", &path));
    ends(own, MADE_SOURCES) || above.split('/').any(|part| MADE_FOLDERS.contains(&part))
}

/// Whether only a tool makes a file at this path.
pub fn is_tools(path: &str) -> bool {
    folders(path).next().is_some() || is_made_file(path) && !is_database(path)
}

/// Whether a tool may have made a file at this path.
pub fn may_be_tools(path: &str) -> bool {
    is_tools(path) || may_be_made(path) || is_made_source(path)
}

/// Whether this is a pattern for files that a tool recreates: `*.pyc`.
pub fn is_made_pattern(pattern: &str) -> bool {
    NAMES.contains(&pattern) || pattern.strip_prefix('*').is_some_and(|end| ENDS.contains(&end))
}

/// The generated folders in this project path, outermost first. If git tracks something in one of them, that
/// folder counts as work.
pub fn folders(path: &str) -> impl Iterator<Item = &str> {
    all_folders(path).filter(|folder| is_folder(folder))
}

/// The file that identifies a virtual environment of Python.
pub const ENVIRONMENT: &str = "pyvenv.cfg";

/// The folders of this project path and the path itself, outermost first.
pub fn all_folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| at).chain([path.len()]).map(|end| &path[..end])
}

/// Whether this project path is a generated folder.
pub fn is_folder(path: &str) -> bool {
    let (above, own) = path.rsplit_once('/').unwrap_or(("", path));
    match name(own) {
        Some(Everywhere | Tool) => true,
        Some(Word) => !above.split('/').any(|part| SOURCES.contains(&part)),
        Some(Perhaps) => false,
        None => own.ends_with(".egg-info"),
    }
}

/// Whether a file is nobody's work anywhere, unless git tracks it: a tool's file, or a local database.
pub fn is_made_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let coverage =
        name.strip_prefix(".coverage").is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    NAMES.contains(&name) || coverage || ends(name, ENDS) || is_database(name)
}

/// Whether it is a local database, or a file that one keeps next to itself.
pub fn is_database(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    ends(BESIDE.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name), DATABASES)
}

fn ends(name: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| name.len() > end.len() && name.ends_with(end))
}

/// Whether a tracked file at this path makes the folder around it work: a file that only keeps the folder in
/// git does not.
pub fn is_work_in(path: &str) -> bool {
    !KEEPERS.contains(&path.rsplit('/').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_generated_files() {
        let of = |path: &'static str| folders(path).collect::<Vec<_>>();
        for (path, want) in [
            (".venv/lib/python3/site.py", &[".venv"][..]),
            ("node_modules/a/node_modules/b", &["node_modules", "node_modules/a/node_modules"]),
            ("src/__pycache__/x", &["src/__pycache__"]),
            ("packages/web/dist/x.js", &["packages/web/dist"]),
            ("a.egg-info/PKG-INFO", &["a.egg-info"]),
            ("target", &["target"]),
            ("target/build/x", &["target", "target/build"]),
            ("src/build/mod.rs", &[]),
            ("tests/coverage/x", &[]),
            ("bin/run", &[]),
            ("vendor/x", &[]),
            ("logs/x", &[]),
            ("a/b.rs", &[]),
            ("builder/x", &[]),
            ("", &[]),
        ] {
            assert_eq!(of(path), want, "{path}");
        }
    }

    #[test]
    fn single_files() {
        for path in
            ["a.pyc", "x/app.db", "app.sqlite3", "app.db-wal", ".coverage", ".coverage.host.1", "d/.DS_Store"]
        {
            assert!(is_made_file(path), "{path}");
        }
        for path in ["a.py", "db", ".db", "write-journal", "adb", "main.o.rs", "coverage.rs"] {
            assert!(!is_made_file(path), "{path}");
        }
        assert!(is_made_pattern("*.pyc") && is_made_pattern("node_modules"));
        assert!(!is_made_pattern("*.db") && !is_made_pattern("*.rs") && !is_made_pattern("x.pyc"));
        assert!(may_be_made("a/Vendor/x") && !may_be_made("a/b"));
        assert!(is_made_everywhere("x/node_modules") && !is_made_everywhere("x/dist"));
        for path in ["Cargo.lock", "web/package-lock.json", "go.sum", "Package.resolved", "a/b/uv.lock"] {
            assert!(is_lock_file(path) && !is_made_file(path), "{path}");
        }
        assert!(
            !is_lock_file("package.json") && !is_lock_file("src/lock.rs") && !is_lock_file("yarn.lock/x")
        );
        assert!(is_work_in("build/x") && !is_work_in("build/.gitkeep"));
        for path in ["a/b.pb.go", "x_pb2.py", "app.min.js", "src/__generated__/y.ts", "gen/a.go"] {
            assert!(is_made_source(path) && may_be_tools(path) && !is_tools(path), "{path}");
        }
        for path in ["a/b.go", "generator/x.rs", "min.js", "pb2.py", "gen"] {
            assert!(!is_made_source(path), "{path}");
        }
        assert!(is_tools("dist/a.js") && is_tools("a.pyc") && !is_tools("a.db") && may_be_tools("out/x"));
    }
}
