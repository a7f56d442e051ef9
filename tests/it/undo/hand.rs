//! Keepings made by hand, as the keeping before a command makes them; and the state of a repository, to be
//! compared.

use crate::rollback::{Picture, picture, same};
use crate::support::Sandbox;
use aops_core::checkpoint::store::Store;
use aops_core::checkpoint::tree::name;
use aops_core::system::env::Env;
use aops_core::text::sha256::Sum;
use aops_core::text::time::timestamp;
use aops_core::undo::form::{
    Content, Keeping, KeptFile, KeptFolder, KeptRepository, Left, LinkedFile, SCHEMA,
};
use aops_core::undo::shelf::pin_name;
use aops_core::undo::shelf::{self, Draft};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(super) const NOW: i64 = 1_768_298_400_000;

pub(crate) fn env(sandbox: &Sandbox) -> Env {
    let (config, home, cwd) = (sandbox.config(), sandbox.home(), sandbox.project());
    Env { config, home, cwd, now_ms: NOW, ..Env::default() }
}

/// Everything of a repository that an undo has to do with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct World {
    files: Picture,
    git: Vec<(&'static str, String)>,
}

impl World {
    pub(crate) fn of(sandbox: &Sandbox) -> Self {
        let try_git = |arguments: &[&str]| {
            let output = sandbox.command("git").args(arguments).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let refs = try_git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let refs: Vec<&str> = refs
            .lines()
            .filter(|line| !line.starts_with("refs/aops") && !line.starts_with("refs/stash"))
            .collect();
        let mut settings: Vec<String> =
            try_git(&["config", "--local", "--list"]).lines().map(str::to_owned).collect();
        settings.retain(|line| line.starts_with("branch."));
        settings.sort();
        let state: Vec<String> = STATE
            .iter()
            .map(|name| fs::read_to_string(sandbox.project().join(".git").join(name)).unwrap_or_default())
            .collect();
        let git = vec![
            ("index", try_git(&["ls-files", "-s", "-t"])),
            ("HEAD", try_git(&["symbolic-ref", "-q", "HEAD"]) + &try_git(&["rev-parse", "HEAD"])),
            ("status", try_git(&["status", "--porcelain=v2", "--ignored"])),
            ("refs", refs.join("\n")),
            ("settings", settings.join("\n")),
            ("stashes", format!("{:?}", stashes(sandbox))),
            ("merge", format!("{state:?}")),
        ];
        Self { files: picture(&sandbox.project()), git }
    }

    #[track_caller]
    pub(crate) fn same(&self, now: &Self, case: &str) {
        same(&self.files, &now.files, case);
        for (was, is) in self.git.iter().zip(&now.git) {
            assert_eq!(was, is, "{case}");
        }
    }
}

/// Files of the git folder that a merge in progress has.
const STATE: [&str; 3] = ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"];

/// Newest first: id and message.
pub(super) fn stashes(sandbox: &Sandbox) -> Vec<(String, String)> {
    let said = sandbox.git(&["stash", "list", "--format=%H %gs"]);
    said.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(id, words)| (id.to_owned(), words.to_owned()))
        .collect()
}

fn text(path: &Path) -> String {
    name::text(path.as_os_str().as_bytes()).into_owned()
}

pub(crate) struct Hand<'a> {
    sandbox: &'a Sandbox,
    store: Store,
    draft: Draft,
    keeping: Keeping,
    links: bool,
}

impl<'a> Hand<'a> {
    pub(crate) fn of(sandbox: &'a Sandbox) -> Self {
        let store = Store::open(&env(sandbox), &sandbox.project()).unwrap();
        let draft = shelf::begin(&store).unwrap();
        let keeping = Keeping {
            at: timestamp(NOW),
            call_id: "call".to_owned(),
            cwd: text(&sandbox.project()),
            number: draft.number,
            schema: SCHEMA,
            session_id: "20260113-0a1b2c3d".to_owned(),
            ..Keeping::default()
        };
        Self { sandbox, store, draft, keeping, links: false }
    }

    /// Plain files are linked, not copied.
    pub(super) fn linking(mut self, links: bool) -> Self {
        self.links = links;
        self
    }

    /// As if it were kept so long ago.
    pub(super) fn aged(mut self, days: i64) -> Self {
        self.keeping.at = timestamp(NOW - days * 86_400_000);
        self
    }

    fn file(&mut self, path: &Path) {
        let Ok(about) = path.symlink_metadata() else {
            let absent = KeptFile { content: Content::Absent, mode: 0, path: text(path), size: 0 };
            // Its folder may have stayed behind.
            let folder = path.parent().and_then(|folder| Some((folder, folder.symlink_metadata().ok()?)));
            if let Some((folder, about)) = folder {
                let kept = KeptFolder { mode: about.mode() & 0o7777, path: text(folder) };
                if !self.keeping.folders.contains(&kept) {
                    self.keeping.folders.push(kept);
                }
            }
            return self.keeping.files.push(absent);
        };
        let content = if about.is_symlink() {
            Content::Symlink(text(&fs::read_link(path).unwrap()))
        } else if self.links {
            let name = self.keeping.files.len().to_string();
            let folder =
                self.sandbox.project().join(format!(".claude/checkpoints/kept/{}", self.draft.number));
            fs::hard_link(path, folder.join(&name)).unwrap();
            let modified = about.mtime() * 1_000_000_000 + about.mtime_nsec();
            Content::Link(LinkedFile { inode: about.ino(), modified, name })
        } else {
            Content::Blob(self.bytes(&fs::read(path).unwrap()))
        };
        let mode = about.permissions().mode() & 0o7777;
        self.keeping.files.push(KeptFile { content, mode, path: text(path), size: about.len() });
    }

    fn bytes(&self, bytes: &[u8]) -> Sum {
        Sum(self.store.keep_bytes(bytes).unwrap())
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(arguments)
    }

    fn repository(&self) -> KeptRepository {
        let root = self.sandbox.project();
        let head_ref =
            self.sandbox.command("git").args(["symbolic-ref", "-q", "HEAD"]).output().unwrap().stdout;
        let head_ref = String::from_utf8(head_ref).unwrap().trim().to_owned();
        let head = self.git(&["rev-parse", "HEAD"]).trim().to_owned();
        KeptRepository {
            git: text(&root.join(".git")),
            head: Some(head.clone()),
            head_ref: Some(head_ref).filter(|name| !name.is_empty()),
            pins: vec![head],
            root: text(&root),
            ..KeptRepository::default()
        }
    }

    fn finish(mut self, line: &str) -> u64 {
        line.clone_into(&mut self.keeping.line);
        self.keeping.files.sort_by(|a, b| a.path.cmp(&b.path));
        self.keeping.folders.sort_by(|a, b| a.path.cmp(&b.path));
        let mut k = 0;
        for kept in &self.keeping.repositories {
            for id in &kept.pins {
                self.git(&["update-ref", &pin_name(self.draft.number, k), id]);
                k += 1;
            }
        }
        shelf::finish(&env(self.sandbox), &self.store, &self.draft, &self.keeping).unwrap();
        self.draft.number
    }

    /// Before a command that discards edits.
    pub(super) fn discard(mut self, line: &str) -> u64 {
        let names = |said: String| {
            said.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        let mut paths: BTreeSet<String> = BTreeSet::new();
        for arguments in [
            &["diff", "--name-only", "-z", "--no-renames", "HEAD"][..],
            &["diff", "--name-only", "-z", "--no-renames"],
            &["diff", "--name-only", "-z", "--no-renames", "--cached"],
        ] {
            paths.extend(names(self.git(arguments)));
        }
        // Files that are not tracked, and that the target has.
        let target = line.split(' ').find_map(|word| {
            word.strip_prefix("--source=")
                .or(Some(word).filter(|word| *word == "other" || word.starts_with("HEAD~")))
        });
        if let Some(target) = target {
            let there: BTreeSet<String> =
                names(self.git(&["ls-tree", "-r", "-z", "--name-only", target])).into_iter().collect();
            let untracked = names(self.git(&["ls-files", "-z", "--others"]));
            paths.extend(untracked.into_iter().filter(|path| there.contains(path)));
        }
        for path in paths {
            self.file(&self.sandbox.project().join(path));
        }
        for name in STATE.iter().copied().chain(["AUTO_MERGE"]) {
            let path = self.sandbox.project().join(".git").join(name);
            if path.exists() {
                self.file(&path);
            }
        }
        let mut kept = self.repository();
        kept.index = Some(self.bytes(&fs::read(self.sandbox.project().join(".git/index")).unwrap()));
        let said = self.git(&["ls-files", "-s"]);
        let ids: BTreeSet<&str> = said.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        for id in ids {
            let bytes = self.sandbox.command("git").args(["cat-file", "blob", id]).output().unwrap().stdout;
            kept.indexed.push((id.to_owned(), self.bytes(&bytes)));
        }
        self.keeping.repositories.push(kept);
        self.finish(line)
    }

    /// Before a command that deletes or moves these refs, as far as they are there.
    pub(super) fn refs(mut self, line: &str, refs: &[&str]) -> u64 {
        let mut kept = self.repository();
        kept.pins.clear();
        for name in refs {
            let output =
                self.sandbox.command("git").args(["rev-parse", "-q", "--verify", name]).output().unwrap();
            let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
            if !id.is_empty() {
                kept.pins.push(id.clone());
                kept.refs.push(((*name).to_owned(), id));
            }
        }
        let said = self.git(&["config", "--local", "--list"]);
        let settings =
            said.lines().filter(|line| line.starts_with("branch.")).filter_map(|line| line.split_once('='));
        kept.config = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        self.keeping.repositories.push(kept);
        self.finish(line)
    }

    pub(super) fn stash(mut self, line: &str) -> u64 {
        let mut kept = self.repository();
        let all = stashes(self.sandbox);
        kept.pins = all.iter().map(|(id, _)| id.clone()).collect();
        kept.stashes = Some(all);
        self.keeping.repositories.push(kept);
        self.finish(line)
    }

    pub(crate) fn overwriting(mut self, line: &str, paths: &[&Path]) -> u64 {
        for path in paths {
            self.file(path);
        }
        self.finish(line)
    }

    /// Before a folder of the project is removed.
    pub(super) fn removal(mut self, line: &str, folder: &Path) -> u64 {
        let kept = self.repository();
        let kept = self.below(folder, &self.sandbox.project(), kept);
        self.keeping.repositories.push(kept);
        self.finish(line)
    }

    /// What is as `HEAD` has it is only named.
    fn below(&mut self, folder: &Path, root: &Path, mut kept: KeptRepository) -> KeptRepository {
        let at = root.to_str().unwrap();
        let clean = |sandbox: &Sandbox, path: &str| {
            let tracked = sandbox
                .command("git")
                .args(["-C", at, "ls-files", "--error-unmatch", path])
                .output()
                .unwrap();
            tracked.status.success()
                && sandbox.git(&["-C", at, "status", "--porcelain", "--", path]).is_empty()
        };
        let mut all = vec![folder.to_owned()];
        while let Some(path) = all.pop() {
            let about = path.symlink_metadata().unwrap();
            if about.is_dir() {
                let mode = about.permissions().mode() & 0o7777;
                self.keeping.folders.push(KeptFolder { mode, path: text(&path) });
                all.extend(fs::read_dir(&path).unwrap().flatten().map(|item| item.path()));
                continue;
            }
            let inside = path.strip_prefix(root).unwrap().to_str().unwrap();
            if inside != ".git" && clean(self.sandbox, inside) {
                kept.committed.push(inside.to_owned());
            } else {
                self.file(&path);
            }
        }
        kept.committed.sort();
        kept
    }

    pub(super) fn worktree(mut self, line: &str, tree: &Path, called: &str) -> u64 {
        let tree: PathBuf = tree.canonicalize().unwrap();
        let git = self.sandbox.project().join(".git/worktrees").join(called);
        let head = self.git(&["-C", tree.to_str().unwrap(), "rev-parse", "HEAD"]).trim().to_owned();
        let kept = KeptRepository {
            git: text(&git),
            head: Some(head.clone()),
            head_ref: Some("refs/heads/other".to_owned()),
            pins: vec![head],
            root: text(&tree),
            worktree: Some(called.to_owned()),
            ..KeptRepository::default()
        };
        let mut kept = self.below(&tree, &tree, kept);
        let mut all = vec![git];
        while let Some(path) = all.pop() {
            if path.is_dir() {
                self.keeping.folders.push(KeptFolder { mode: 0o755, path: text(&path) });
                all.extend(fs::read_dir(&path).unwrap().flatten().map(|item| item.path()));
            } else {
                self.file(&path);
            }
        }
        let said = self.git(&["-C", tree.to_str().unwrap(), "ls-files", "-s"]);
        for id in said.lines().filter_map(|line| line.split(' ').nth(1)) {
            let bytes = self.sandbox.command("git").args(["cat-file", "blob", id]).output().unwrap().stdout;
            kept.indexed.push((id.to_owned(), self.bytes(&bytes)));
        }
        self.keeping.repositories.push(kept);
        self.finish(line)
    }
}

/// What lies there now is what the command left.
pub(super) fn note_left(sandbox: &Sandbox, number: u64) {
    let store = Store::open(&env(sandbox), &sandbox.project()).unwrap();
    let keeping = shelf::look(&store, number).unwrap().unwrap();
    let sum = |file: &KeptFile| {
        let path = PathBuf::from(&file.path);
        let link = fs::read_link(&path).ok().map(|target| Sum::of(target.as_os_str().as_bytes()));
        link.or_else(|| fs::read(&path).ok().map(|bytes| Sum::of(&bytes)))
    };
    let head = |_: &KeptRepository| Some(sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned());
    let left = Left {
        files: keeping.files.iter().map(sum).collect(),
        heads: keeping.repositories.iter().map(head).collect(),
        schema: SCHEMA,
        ..Left::default()
    };
    shelf::note_left(&store, number, &left).unwrap();
}
