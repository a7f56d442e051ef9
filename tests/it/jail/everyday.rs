//! Everyday lines of development: in profile `work` each behaves as without the jail, in `trial` it leaves
//! nothing behind.
//!
//! A program that is not installed must be missing in the same way.

use super::world::{Jailed, Ran, around};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINES: &str = include_str!("../../fixtures/jail/everyday.txt");
const FOLDERS: [&str; 3] = ["home", "project", "tmp"];
/// Without these too little would be tried.
const TOOLS: [&str; 8] = ["git", "make", "node", "npm", "perl", "python3", "gcc", "ssh"];

struct Everyday {
    world: Jailed,
    /// What the folders are filled with before each line.
    fresh: tempfile::TempDir,
    /// The same as a list.
    untouched: BTreeMap<PathBuf, String>,
}

impl Everyday {
    fn new() -> Self {
        let cargo = Path::new(env!("CARGO")).parent().unwrap().display().to_string();
        let mut world = Jailed::new();
        let path = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
        let fixed = [
            ("PATH", format!("{cargo}:{}", path.to_str().unwrap())),
            ("CARGO_INCREMENTAL", "0".to_owned()),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z".to_owned()),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z".to_owned()),
            ("npm_config_fetch_retries", "0".to_owned()),
            ("npm_config_update_notifier", "false".to_owned()),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
        ];
        for (name, value) in fixed {
            world.sandbox = world.sandbox.with(name, value);
        }
        for tool in TOOLS {
            let found = world.bare(&format!("command -v {tool}"));
            assert_eq!(found.code, Some(0), "`{tool}` is needed: install the package that has it");
        }
        fill(&world);
        let fresh = tempfile::tempdir().unwrap();
        copy(&world.root(), fresh.path());
        let mut everyday = Self { world, fresh, untouched: BTreeMap::new() };
        everyday.untouched = everyday.files(true);
        everyday
    }

    /// Everything as it was before the first line: most lines change nothing.
    fn reset(&self) {
        let _ = fs::remove_file(self.folder_file());
        if self.files(true) == self.untouched {
            return;
        }
        for folder in FOLDERS {
            fs::remove_dir_all(self.world.root().join(folder)).unwrap();
        }
        copy(self.fresh.path(), &self.world.root());
    }

    fn line(&self, line: &str) -> String {
        around(line, &self.folder_file())
    }

    /// What the client's line tells the working directory in; it is written in every profile.
    fn folder_file(&self) -> PathBuf {
        self.world.sandbox.tmp().join("claude-1234-cwd")
    }

    /// What differs with the jail, and what a throwaway layer leaves.
    fn compare(&self, line: &str) -> Vec<String> {
        let whole = self.line(line);
        self.reset();
        let plain = (self.world.bare(&whole), self.files(false));
        self.reset();
        let harness = [("AI_AGENT", "claude-code_2-1-325_harness")];
        let held = (self.world.shell(&whole, &harness), self.files(false));
        self.reset();
        let trial = self.world.shell(&whole, &[]);
        let after = self.files(true);
        let mut wrong = Vec::new();
        if (plain.0.code, plain.0.signal, &plain.0.out, &plain.0.err)
            != (held.0.code, held.0.signal, &held.0.out, &held.0.err)
        {
            wrong.push(format!("{line}\n  without: {}\n  with:    {}", short(&plain.0), short(&held.0)));
        }
        let files = differences(&plain.1, &held.1);
        if !files.is_empty() {
            wrong.push(format!("{line}\n  leaves other files: {files:?}"));
        }
        let left = differences(&self.untouched, &after);
        if !left.is_empty() {
            wrong.push(format!("{line}\n  in a throwaway layer ({}) leaves {left:?}", short(&trial)));
        }
        wrong
    }

    /// Every file with kind, mode, number of names and bytes; where it must be untouched also with its time.
    fn files(&self, untouched: bool) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|name| self.world.root().join(name)).collect();
        while let Some(folder) = folders.pop() {
            let Ok(items) = fs::read_dir(&folder) else { continue };
            for path in items.map(|item| item.unwrap().path()) {
                let meta = path.symlink_metadata().unwrap();
                folders.extend(Some(path.clone()).filter(|_| meta.is_dir()));
                let kind = format!("{:o} {}", meta.mode(), if meta.is_dir() { 0 } else { meta.nlink() });
                let bytes = if meta.is_file() && (untouched || is_stable(&path)) {
                    digest(&fs::read(&path).unwrap())
                } else {
                    fs::read_link(&path).map(|to| to.display().to_string()).unwrap_or_default()
                };
                let time = if untouched { format!("{:?}", meta.modified().unwrap()) } else { String::new() };
                found.insert(path, format!("{kind} {bytes} {time}"));
            }
        }
        // Logs have the time in their names.
        found.retain(|path, _| {
            let text = path.to_string_lossy();
            *path != self.folder_file() && !text.ends_with("/tmp") && !text.contains("/.npm/")
        });
        found
    }
}

fn digest(bytes: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes {:x}", bytes.len(), hasher.finish())
}

/// These hold times and numbers of files that differ from one run to the next.
fn is_stable(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let varies = [
        "/target/", "/.git/index", "/__pycache__/", "/.git/worktrees/", ".pack", ".rev", ".idx", "/x.db",
        "/.global-cache", ".zip",
    ];
    !varies.iter().any(|part| text.contains(part))
}

fn short(ran: &Ran) -> String {
    let clip = |text: &str| text.chars().take(400).collect::<String>();
    format!("{:?} {:?} {:?} {:?}", ran.code, ran.signal, clip(&ran.out), clip(&ran.err))
}

fn differences(one: &BTreeMap<PathBuf, String>, other: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let paths: std::collections::BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    let differs = |path: &&&PathBuf| one.get(**path) != other.get(**path);
    let words = |path: &PathBuf| format!("{}: {:?} / {:?}", path.display(), one.get(path), other.get(path));
    paths.iter().filter(differs).map(|path| words(path)).collect()
}

#[expect(clippy::disallowed_methods, reason = "copies trees with all their times and links")]
fn copy(from: &Path, to: &Path) {
    for folder in FOLDERS {
        assert!(Command::new("cp").arg("-a").arg(from.join(folder)).arg(to).status().unwrap().success());
    }
}

/// A project as people have them: a repository with two commits and a branch, a crate, a package, a module, a
/// Makefile.
fn fill(world: &Jailed) {
    let sandbox = &world.sandbox;
    for (name, text) in [
        ("a.txt", "one\ntwo\nthree\n"),
        ("b.txt", "bee\n"),
        ("with blank.txt", "blank\n"),
        ("grün.txt", "grün\n"),
        ("sub/dir/deep.txt", "deep one\n"),
        ("data.csv", "name,count\nx,3\ny,4\n"),
        ("data.json", "{\"name\": \"x\", \"list\": [1, 2]}\n"),
        ("script.sh", "#!/bin/sh\necho script\n"),
        ("lines.sh", "greet() { echo \"hello $1\"; }\n"),
        (".gitignore", "target\nnode_modules\n"),
        (".claude/settings.json", "{}\n"),
        (".aops/config.toml", ""),
        ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        (
            "src/main.rs",
            "fn main() {\n    println!(\"hello {:?}\", std::env::args().nth(1));\n}\n\n#[test]\nfn it_adds() {\n    assert_eq!(1 + 1, 2);\n}\n",
        ),
        (
            "package.json",
            "{\"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": {\"build\": \"node -e 'console.log(1)' > built.js\", \"test\": \"exit 4\"}}\n",
        ),
        ("lib/package.json", "{\"name\": \"lib\", \"version\": \"1.0.0\"}\n"),
        ("lib/index.js", "module.exports = 'lib';\n"),
        ("mod.py", "def add(a, b):\n    return a + b\n"),
        (
            "test_mod.py",
            "import unittest, mod\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(mod.add(1, 2), 3)\n",
        ),
        (
            "Makefile",
            "all:\n\techo made > made.txt\nclean:\n\trm -f made.txt\nparallel: p1 p2 p3 p4\np%:\n\ttouch $@\nfail:\n\texit 3\nenv:\n\techo $(NAME)\n",
        ),
        ("../home/.cache/wheel", "wheel"),
        ("../home/.claude/settings.json", "{}\n"),
        (
            "../home/.gitconfig",
            "[user]\n\tname = t\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n[core]\n\tpager = cat\n\tcheckStat = minimal\n\ttrustctime = false\n",
        ),
    ] {
        sandbox.put(name, text);
    }
    let made = world.bare(
        "set -e; chmod +x script.sh; ln -s a.txt link; git init -q; git add -A; git commit -qm first; \
         git switch -q -c feature; echo f > f.txt; git add f.txt; git commit -qm feature; git switch -q main; \
         echo four >> a.txt; git commit -qam second",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
}

/// Runs the lines of these sections.
fn behave_the_same(sections: &[&str]) {
    let everyday = Everyday::new();
    let mut wrong = Vec::new();
    for section in LINES.split("\n## ").skip(1) {
        let (name, lines) = section.split_once('\n').unwrap();
        for line in lines.lines().filter(|line| !line.is_empty() && sections.contains(&name)) {
            wrong.extend(everyday.compare(&line.replace(" ⏎ ", "\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_two_hundred() {
    let lines = LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert!(lines.count() >= 200);
    let known = [
        "git",
        "cargo",
        "npm",
        "python",
        "go, docker, ssh and others",
        "make and build tools",
        "files",
        "text",
        "shell",
    ];
    let found: Vec<&str> =
        LINES.split("\n## ").skip(1).map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(found, known, "each section has a test below");
}

#[test]
fn lines_of_git_are_as_without_the_jail() {
    behave_the_same(&["git"]);
}

#[test]
fn lines_of_cargo_and_make_are_as_without_the_jail() {
    behave_the_same(&["cargo", "make and build tools"]);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn lines_of_npm_are_as_without_the_jail() {
    behave_the_same(&["npm"]);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn lines_of_python_and_others_are_as_without_the_jail() {
    behave_the_same(&["python", "go, docker, ssh and others"]);
}

#[test]
fn lines_about_files_are_as_without_the_jail() {
    behave_the_same(&["files", "text"]);
}

#[test]
fn lines_of_the_shell_are_as_without_the_jail() {
    behave_the_same(&["shell"]);
}

/// Builds, tests and scripts that nobody is asked about: without network, with caches that are thrown away.
#[test]
fn four_of_five_contained_lines_end_as_without_the_jail() {
    let mut everyday = Everyday::new();
    everyday.world.sandbox = everyday.world.sandbox.with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    let configuration =
        "tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"contained\"\n";
    let sections = LINES.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    let builds = ["cargo", "npm", "python", "make and build tools"];
    let lines = sections.filter(|(name, _)| builds.contains(name)).flat_map(|(_, lines)| lines.lines());
    let (mut contained, mut others) = (0, Vec::new());
    for line in lines.filter(|line| !line.is_empty()).map(|line| line.replace(" ⏎ ", "\n")) {
        everyday.reset();
        let plain = everyday.world.bare(&everyday.line(&line));
        everyday.reset();
        everyday.world.sandbox.configure(configuration);
        let session = everyday.world.prompted();
        let call = session.inner.call("Bash", json!({"command": line}));
        if !session.inner.pre(&call).out.contains(r#""permissionDecision":"allow""#) {
            continue;
        }
        let held = session.run_and_end(&call, &line);
        if held.profile() == "quiet-work" {
            contained += 1;
            let same = (held.code, held.signal, &held.out) == (plain.code, plain.signal, &plain.out);
            others.extend(
                (!same).then(|| format!("{line}\n  without: {}\n  with:    {}", short(&plain), short(&held))),
            );
        }
    }
    println!("{contained} contained, {} ended otherwise\n{}", others.len(), others.join("\n"));
    assert!(contained >= 30, "{contained}");
    assert!(others.len() * 5 <= contained, "{contained}: {}", others.join("\n"));
}
