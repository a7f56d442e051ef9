//! What is kept and what is not: ignored files, git's own, large ones; and what is taken away again.

use super::{checkpoint, create, furnish, picture, roll_back, same, told, upset};
use crate::support::Sandbox;
use aops_core::text::sha256::sha256;
use serde_json::json;
use std::fs;

fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = sandbox.command("git").args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    git(&sandbox, &["init", "-q", "-b", "main"]);
    git(&sandbox, &["config", "user.email", "t@example.invalid"]);
    git(&sandbox, &["config", "user.name", "t"]);
    furnish(&sandbox);
    git(&sandbox, &["add", "-A"]);
    git(&sandbox, &["commit", "-q", "-m", "start"]);
    sandbox
}

#[test]
fn git_sees_nothing_of_it() {
    let sandbox = repository();
    create(&sandbox);
    assert_eq!(git(&sandbox, &["status", "--porcelain", "--untracked-files=all"]), "");
    let exclude = || fs::read_to_string(sandbox.project().join(".git/info/exclude")).unwrap();
    let once = exclude();
    create(&sandbox);
    assert_eq!(exclude(), once, "the line is there once");
    // A worktree has its own tree and shares the list.
    let beside = sandbox.tmp().join("beside");
    git(&sandbox, &["worktree", "add", "-q", beside.to_str().unwrap()]);
    let answer =
        sandbox.command(crate::support::BINARY).args(["checkpoint", "create"]).current_dir(&beside).output();
    assert!(answer.unwrap().status.success());
    let status =
        sandbox.command("git").args(["status", "--porcelain"]).current_dir(&beside).output().unwrap();
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "");
    assert_eq!(exclude(), once);
}

/// A command can put a link there, and the checkpoint is made outside of its jail.
#[test]
fn nothing_is_written_through_a_link_in_the_lists_place() {
    let sandbox = repository();
    let list = sandbox.project().join(".git/info/exclude");
    let settings = sandbox.home().join("settings.json");
    fs::write(&settings, "{}").unwrap();
    for (target, made) in [(settings.clone(), false), (sandbox.home().join("new"), true)] {
        fs::remove_file(&list).unwrap();
        std::os::unix::fs::symlink(&target, &list).unwrap();
        create(&sandbox);
        assert!(list.is_symlink());
        assert_eq!(fs::read_to_string(&target).ok(), (!made).then(|| "{}".to_owned()));
    }
    assert_eq!(git(&sandbox, &["status", "--porcelain", "--untracked-files=all"]), "");
}

/// A folder that becomes a repository after its first checkpoint has no line in a list of git's.
#[test]
fn a_later_repository_sees_nothing_of_it_either() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    create(&sandbox);
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "-A"]);
    let added = git(&sandbox, &["ls-files"]);
    assert!(added.contains("a.txt") && !added.contains("checkpoints"), "{added}");
    // One that an older version made gets it with the next checkpoint.
    let list = sandbox.project().join(".claude/checkpoints/.gitignore");
    fs::remove_file(&list).unwrap();
    create(&sandbox);
    assert_eq!(fs::read_to_string(&list).unwrap(), "*\n");
}

/// Checkpoints are the person's: what takes us out names them, wherever it is run.
#[test]
fn an_uninstallation_names_what_stays() {
    let sandbox = repository();
    let session = sandbox.session();
    let _ = session.start("startup");
    create(&sandbox);
    let store = sandbox.project().join(".claude/checkpoints");
    let uninstall = || {
        let mut elsewhere = sandbox.command(crate::support::BINARY);
        let output = elsewhere.args(["uninstall", "--yes"]).current_dir(sandbox.home()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let list = sandbox.project().join(".git/info/exclude");
    let lines = format!(
        "kept in your projects: checkpoints in `{}`; the line `**/.claude/checkpoints/`, which hides them from git, in `{}`",
        store.display(),
        list.display()
    );
    let said = uninstall();
    assert!(said.contains(&lines) && said.contains("\nhint: remove such a folder with `rm -r`"), "{said}");
    assert!(store.is_dir(), "nothing is removed");
    fs::remove_dir_all(&store).unwrap();
    assert!(!uninstall().contains("in your projects"));
}

#[test]
fn the_repository_is_left_alone() {
    let sandbox = repository();
    let id = create(&sandbox);
    sandbox.put("a.txt", "committed\n");
    git(&sandbox, &["commit", "-q", "-a", "-m", "more"]);
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    roll_back(&sandbox, &id);
    assert_eq!(fs::read_to_string(sandbox.project().join("a.txt")).unwrap(), "first\n");
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), " M a.txt\n");
}

#[test]
fn ignored_files_stay_and_tracked_ones_come_back() {
    for in_git in [true, false] {
        let sandbox = if in_git { repository() } else { Sandbox::new() };
        sandbox.put(".gitignore", "*.log\n/build/\n");
        sandbox.put("debug.log", "kept by nobody\n");
        sandbox.put("build/out.o", "made\n");
        sandbox.put("kept.log", "tracked all the same\n");
        if in_git {
            git(&sandbox, &["add", "-f", "kept.log", ".gitignore"]);
        }
        let id = create(&sandbox);
        sandbox.put("debug.log", "changed\n");
        sandbox.put("build/out.o", "made anew\n");
        sandbox.put("build/more.o", "made too\n");
        sandbox.put("kept.log", "changed as well\n");
        roll_back(&sandbox, &id);
        let read = |name: &str| fs::read_to_string(sandbox.project().join(name)).unwrap();
        assert_eq!(
            [read("debug.log"), read("build/out.o"), read("build/more.o")],
            ["changed\n", "made anew\n", "made too\n"]
        );
        assert_eq!(read("kept.log"), if in_git { "tracked all the same\n" } else { "changed as well\n" });
    }
}

/// The list of tracked files is longer than a mebibyte; the last of them is ignored all the same.
#[test]
fn a_tracked_file_at_the_end_of_a_long_list_comes_back() {
    let sandbox = repository();
    sandbox.put(".gitignore", "*.log\n");
    for n in 0..4_500 {
        fs::write(sandbox.project().join(format!("{n:0240}")), "").unwrap();
    }
    sandbox.put("z.log", "kept\n");
    git(&sandbox, &["add", "--all", "--force"]);
    let id = create(&sandbox);
    fs::remove_file(sandbox.project().join("z.log")).unwrap();
    roll_back(&sandbox, &id);
    assert_eq!(fs::read_to_string(sandbox.project().join("z.log")).unwrap(), "kept\n");
}

/// Rules in many places, some taking back what others say: what is kept is what git lists.
#[test]
fn what_is_kept_is_what_git_lists() {
    let sandbox = repository();
    let put = |path: &str, text: &str| sandbox.put(path, text);
    put(".gitignore", "*.log\n/only-here\nbuild/\n!keep.log\n# none\n\\#odd\nsub/*.tmp\na?c\n[xy].bin\n");
    put("sub/.gitignore", "!again.log\n/deep\n*.o\n**/far/*.txt\ntrail  \n");
    put("sub/inner/.gitignore", "*\n!.gitignore\n!*.md\n");
    put(".git/info/exclude", "private/\n**/.claude/checkpoints/\n");
    put("mine/.gitignore", "\u{feff}bom\r\nwindows\r\n");
    fs::create_dir_all(sandbox.home().join(".config/git")).unwrap();
    fs::write(sandbox.home().join(".config/git/ignore"), "*.swp\n").unwrap();
    let folders =
        ["", "sub/", "sub/inner/", "sub/deep/", "build/", "private/", "mine/", "x/y/far/", "only-here/"];
    let names = [
        "a.log", "keep.log", "again.log", "#odd", "t.tmp", "abc", "x.bin", "z.bin", "m.o", "n.md", "f.txt",
        "trail", "bom", "windows", "v.swp", "plain", "\u{fc}.md",
    ];
    for folder in folders {
        for name in names {
            put(&format!("{folder}{name}"), "x\n");
        }
    }
    put("sub/far/only-here", "x\n");
    git(&sandbox, &["add", "-f", "a.log", "build/plain", "private/n.md"]);
    fs::remove_file(sandbox.project().join("a.txt")).unwrap();
    let id = create(&sandbox);
    let kept = told(&sandbox, &["show", &id]);
    let kept = kept["artifacts"]["files"].as_array().unwrap();
    for file in kept.iter().filter(|file| file["target"].is_null()) {
        let content = fs::read(sandbox.project().join(file["path"].as_str().unwrap())).unwrap();
        let held = (file["sha256"].as_str(), file["size"].as_u64());
        assert_eq!(held, (Some(sha256(&[&content]).as_str()), Some(content.len() as u64)), "{file}");
    }
    let kept: Vec<String> = kept.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect();
    let listed = git(&sandbox, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let there = |path: &&str| !path.is_empty() && sandbox.project().join(path).symlink_metadata().is_ok();
    // What a tool makes again is left out without a rule, too.
    let there = |path: &&str| there(path) && !path.ends_with("m.o");
    let mut listed: Vec<String> = listed.split('\0').filter(there).map(str::to_owned).collect();
    listed.sort();
    listed.dedup();
    assert!(listed.len() > 50, "{listed:?}");
    assert_eq!(kept, listed);
}

/// What the rules hide is not the same before and after.
#[test]
fn rules_that_changed_lose_nothing() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    sandbox.put(".gitignore", "secret\n");
    sandbox.put("secret", "ignored then\n");
    let id = create(&sandbox);
    let was = picture(&sandbox.project());
    // Now another file is hidden, and changed while nobody looks; and the ignored one is in plain sight.
    sandbox.put(".gitignore", "a.txt\nempty\n");
    sandbox.put("a.txt", "changed in hiding\n");
    fs::remove_dir(sandbox.project().join("empty")).unwrap();
    sandbox.put("empty", "a hidden file where a folder was\n");
    let hidden = picture(&sandbox.project());
    let archive = roll_back(&sandbox, &id);
    same(&was, &picture(&sandbox.project()), "the hidden file came back, the ignored one stayed");
    roll_back(&sandbox, &archive);
    same(&hidden, &picture(&sandbox.project()), "what was hidden was not lost");
}

#[test]
fn large_files_are_left_out_and_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.configure("[checkpoint]\nmax_file_mb = 2\nmax_tree_mb = 3\n");
    furnish(&sandbox);
    let big = |name: &str, kilobytes: usize| {
        fs::write(sandbox.project().join(name), vec![b'x'; kilobytes << 10]).unwrap();
    };
    big("huge.bin", 2500);
    big("large.bin", 1900);
    big("middling.bin", 1800);
    let id = create(&sandbox);
    let left = &told(&sandbox, &["show", &id])["artifacts"]["left_out"];
    let left: Vec<_> = left
        .as_array()
        .unwrap()
        .iter()
        .map(|out| (out["path"].as_str().unwrap(), out["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        left,
        [
            ("huge.bin", "larger than `checkpoint.max_file_mb`"),
            ("large.bin", "the tree is larger than `checkpoint.max_tree_mb`"),
        ]
    );
    checkpoint(&sandbox, &["rollback", &id, "--dry-run"]).said(&["left alone    huge.bin"]);
    big("huge.bin", 2600);
    fs::remove_file(sandbox.project().join("large.bin")).unwrap();
    big("new.bin", 9000);
    upset(&sandbox);
    let upset = picture(&sandbox.project());
    let archive = roll_back(&sandbox, &id);
    let there = |name: &str| sandbox.project().join(name).exists();
    assert!(there("huge.bin") && !there("large.bin") && !there("new.bin"));
    roll_back(&sandbox, &archive);
    same(&upset, &picture(&sandbox.project()), "the archive knows no limit");
}

/// What cannot be archived is never overwritten; following the advice gets through.
#[test]
fn what_is_in_the_way_is_named() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let id = create(&sandbox);
    let was = picture(&sandbox.project());
    let path = sandbox.project().join("a.txt");
    fs::remove_file(&path).unwrap();
    let made = sandbox.command("mkfifo").arg(&path).output().unwrap();
    assert!(made.status.success());
    checkpoint(&sandbox, &["rollback", &id, "--yes"]).failed(2, &["`a.txt` is in the way", "hint: move it"]);
    fs::rename(&path, sandbox.tmp().join("aside")).unwrap();
    roll_back(&sandbox, &id);
    same(&was, &picture(&sandbox.project()), "after the advice");

    fs::remove_file(&path).unwrap();
    fs::create_dir_all(path.join("sub/.git")).unwrap();
    checkpoint(&sandbox, &["rollback", &id, "--yes"]).failed(2, &["`a.txt` is in the way", "hint: move it"]);
    fs::rename(&path, sandbox.tmp().join("repository")).unwrap();
    roll_back(&sandbox, &id);
    same(&was, &picture(&sandbox.project()), "after the advice, again");
}

#[test]
fn old_ones_go_and_what_is_needed_stays() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let mut pictures = Vec::new();
    for n in 0..5 {
        sandbox.put("a.txt", &format!("version {n}\n"));
        pictures.push((create(&sandbox), picture(&sandbox.project())));
    }
    assert_eq!(told(&sandbox, &["gc", "--keep", "2", "--dry-run"])["removed"].as_array().unwrap().len(), 3);
    assert_eq!(told(&sandbox, &["list"]).as_array().unwrap().len(), 5);
    checkpoint(&sandbox, &["gc", "--keep", "2", "--older-than", "1d", "--yes"]).said(&["deleted 0 of 5"]);
    let said = told(&sandbox, &["gc", "--keep", "2", "--yes"]);
    assert_eq!((&said["kept"], &said["blobs"]), (&json!(2), &json!(3)), "{said}");
    assert_eq!(told(&sandbox, &["verify"])["ok"], true);
    // The cache does not claim what is gone: a content that was collected is kept anew.
    sandbox.put("a.txt", "version 0\n");
    pictures.push((create(&sandbox), picture(&sandbox.project())));
    assert_eq!(told(&sandbox, &["verify"])["ok"], true);
    for (id, was) in &pictures[3..] {
        roll_back(&sandbox, id);
        same(was, &picture(&sandbox.project()), id);
    }
    // `…_v1` would be the beginning of `…_v10`.
    checkpoint(&sandbox, &["show", &pictures[1].0]).failed(2, &["no checkpoint", "hint:"]);
}

#[test]
fn a_tree_is_exported() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let id = create(&sandbox);
    let was = picture(&sandbox.project());
    upset(&sandbox);
    let to = sandbox.tmp().join("out");
    told(&sandbox, &["export", &id, "--to", to.to_str().unwrap()]);
    let mut wanted = was;
    wanted.retain(|path, _| path != b".claude");
    let mut exported = picture(&to.join("tree"));
    exported.retain(|path, _| path != b".claude");
    same(&wanted, &exported, "exported");
    checkpoint(&sandbox, &["export", &id, "--to", to.to_str().unwrap()])
        .failed(2, &["exists already", "hint:"]);
}
