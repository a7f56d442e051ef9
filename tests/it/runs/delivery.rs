//! What a run changed is delivered: committed on its branch, pushed, read back, proposed. Remotes are real
//! bare repositories; the forge's program and `ssh` are stand-ins that say so.

use super::world::{CONFIG, DriverOutput, World, bash, until};
use crate::model::{Model, Turn};
use crate::proof::public_key;
use crate::support::Sandbox;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const STEPS: &str =
    "  - {id: make, name: Make, description: make, run: echo made > new.txt; echo more >> README.md; rm old.txt}
  - {id: test, name: Test, description: test, run: test -f new.txt}
";

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

struct Remote {
    world: World,
    bare: PathBuf,
}

impl Remote {
    /// A project with a remote that has its first commit. Programs in `tools` come first on `PATH`.
    fn new(steps: &str) -> Self {
        let sandbox = Sandbox::new();
        let tools = sandbox.tmp().join("tools");
        let (_, others) = sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
        let path =
            std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&others))).unwrap();
        let world = World::of(sandbox.with("PATH", path), &[("work", steps)]);
        world.sandbox.put("old.txt", "old\n");
        world.commit();
        let bare = world.sandbox.tmp().join("remote.git");
        world.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
        world.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        world.git(&["push", "-q", "-u", "origin", "main"]);
        Self { world, bare }
    }

    fn tool(&self, name: &str, text: &str) {
        script(&self.world.sandbox.tmp().join("tools").join(name), text);
    }

    fn hook(&self, name: &str, text: &str) {
        script(&self.bare.join("hooks").join(name), text);
    }

    fn at_remote(&self, args: &[&str]) -> String {
        self.world.git(&[&["--git-dir", self.bare.to_str().unwrap()], args].concat())
    }

    fn branches(&self) -> String {
        self.at_remote(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
    }

    /// The branch of this run, and what it should be called.
    fn branch(told: &DriverOutput) -> String {
        format!("aops/{}", told.last["run_id"].as_str().unwrap())
    }
}

fn reason(told: &DriverOutput) -> &str {
    told.last["reason"].as_str().unwrap()
}

#[test]
fn a_passed_run_is_at_the_remote() {
    let remote = Remote::new(STEPS);
    let world = &remote.world;
    let main = world.git(&["rev-parse", "HEAD"]);
    // Generated files are nobody's work.
    world.sandbox.put("__pycache__/x.pyc", "cache");
    let told = world.run("work");
    told.passed();
    let branch = Remote::branch(&told);
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(remote.at_remote(&["rev-parse", &branch]), head);
    assert_eq!(told.last["delivered"]["branch"], branch.as_str());
    assert_eq!(told.last["delivered"]["commit"], head.trim());
    assert_eq!(told.last["delivered"]["remote"], "origin");
    assert!(reason(&told).contains(&format!("is on branch `{branch}` of `origin`")), "{told:#?}");
    // One commit, with all that changed and nothing else; the branch that one stood on is as it was.
    let changed = world.git(&["diff", "--name-status", "main", &branch]);
    assert_eq!(changed, "M\tREADME.md\nA\tnew.txt\nD\told.txt\n");
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]), "1\n");
    assert_eq!(
        (world.git(&["rev-parse", "main"]), remote.at_remote(&["rev-parse", "main"])),
        (main.clone(), main)
    );
    assert_eq!(world.git(&["rev-parse", "--abbrev-ref", "@{upstream}"]), format!("origin/{branch}\n"));
    let message = world.git(&["log", "-1", "--format=%B"]);
    for words in ["make it so\n", "workflow work", "- make: PASS", "- test: PASS", "Cost: none"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // It stays delivered in the record.
    let deeds = world.deeds();
    let kinds: Vec<&str> = deeds.iter().rev().take(2).map(|deed| deed["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["TERMINAL", "DELIVERED"]);
    // The tree is clean, so the next one begins at once.
    world.run("work").blocked("ended with 1");
}

#[test]
fn a_run_that_changes_nothing_makes_no_branch() {
    let remote = Remote::new("  - {id: look, name: Look, description: look, run: test -f README.md}\n");
    let told = remote.world.run("work");
    told.passed();
    assert!(reason(&told).contains("nothing changed") && told.last["delivered"].is_null(), "{told:#?}");
    assert_eq!(remote.world.git(&["branch", "--show-current"]), "main\n");
    assert_eq!(remote.branches(), "main\n");
}

/// The commit that the run itself makes carries an attestation of the session whose work it is, and the
/// remote has both.
#[test]
fn the_delivered_commit_is_attested() {
    let model = Model::new([bash("echo made > new.txt"), Turn::text("Made.")]);
    let world =
        World::with(&model, &[("w", "  - {id: build, name: Build, description: make it, phase: execute}\n")]);
    world.configure(&format!("{CONFIG}\n[witness]\nattest = \"notes\"\n"));
    world.sandbox.person(&["key", "init", "--yes"]).said(&["made the key"]);
    world.commit();
    let bare = world.sandbox.tmp().join("remote.git");
    let bare = bare.to_str().unwrap();
    world.git(&["init", "-q", "--bare", "-b", "main", bare]);
    world.git(&["remote", "add", "origin", bare]);
    world.git(&["push", "-q", "-u", "origin", "main"]);
    world.run("w").passed();
    let key = public_key(&world.sandbox).to_string();
    let words = ["verify-commit", "main..HEAD", "--key", &key, "--people", "none", "--json"];
    let told = world.sandbox.person(&words).json();
    assert_eq!(
        (&told["ok"], told["commits"].as_array().unwrap().len()),
        (&serde_json::json!(true), 1),
        "{told}"
    );
    assert_eq!(told["commits"][0]["binding"], "commit");
    assert!(world.git(&["ls-remote", bare]).contains("refs/notes/aops-attest"));
}

/// A run of commands alone has no session whose ledger could tell how its commit came to be: that is said.
#[test]
fn a_commit_without_a_session_is_told_to_have_no_attestation() {
    for attest in ["off", "notes"] {
        let world = World::new(&[("w", STEPS)]);
        world.sandbox.put("old.txt", "old\n");
        world.configure(&format!("{CONFIG}\n[witness]\nattest = \"{attest}\"\n"));
        world.sandbox.person(&["key", "init", "--yes"]).said(&["made the key"]);
        world.commit();
        let ran = world.person(&["run", "make it so", "--workflow", "w"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let words = "attest: no step of this run had a session, so its commit has no attestation";
        let said = format!("{}{}", ran.out, ran.err);
        assert_eq!(said.matches(words).count(), usize::from(attest == "notes"), "{ran:?}");
        assert!(!world.git(&["for-each-ref"]).contains("aops-attest"));
    }
}

/// Where a repository has no remote, its branch is the delivery, and that is said.
#[test]
fn without_a_remote_the_branch_is_in_the_repository() {
    let remote = Remote::new(STEPS);
    remote.world.git(&["remote", "remove", "origin"]);
    let told = remote.world.run("work");
    told.passed();
    assert!(reason(&told).contains("of this repository, which has no remote"), "{told:#?}");
    assert_eq!(told.last["delivered"]["remote"], serde_json::Value::Null);
    assert_eq!(remote.world.git(&["show", &format!("{}:new.txt", Remote::branch(&told))]), "made\n");
}

/// The bundle has everything, so nothing is lost with the folder.
#[track_caller]
fn is_kept(remote: &Remote, told: &DriverOutput) {
    let world = &remote.world;
    let (_, bundle) = reason(told).split_once("in the bundle `").unwrap();
    let bundle = bundle.trim_end_matches('`');
    let other = world.sandbox.tmp().join("other");
    let other = other.to_str().unwrap();
    world.git(&["clone", "-q", remote.bare.to_str().unwrap(), other]);
    world.git(&["-C", other, "fetch", "-q", bundle, "+refs/aops/*:refs/heads/kept/*"]);
    let run = told.last["run_id"].as_str().unwrap();
    assert_eq!(world.git(&["-C", other, "show", &format!("kept/{run}:new.txt")]), "made\n");
    assert!(
        world.there("new.txt") && reason(told).contains(world.sandbox.project().to_str().unwrap()),
        "{told:#?}"
    );
}

#[test]
fn a_remote_that_refuses_blocks_the_run() {
    let remote = Remote::new(STEPS);
    remote.hook("pre-receive", "#!/bin/sh\necho 'not on a Friday' >&2\nexit 1\n");
    let told = remote.world.run("work");
    told.blocked("UNDELIVERED: ");
    assert!(reason(&told).contains("not on a Friday"), "{told:#?}");
    assert!(told.err.contains(&format!("git push -u origin {}", Remote::branch(&told))), "{told:#?}");
    assert!(told.last["delivered"].is_null(), "{told:#?}");
    is_kept(&remote, &told);
}

/// A push that says yes is no proof.
#[test]
fn a_remote_that_takes_and_forgets_blocks_the_run() {
    let remote = Remote::new(STEPS);
    let forget = "#!/bin/sh\nwhile read old new name; do git update-ref -d \"$name\"; done\n";
    remote.hook("post-receive", forget);
    let told = remote.world.run("work");
    told.blocked("UNDELIVERED: `origin` does not have it");
    is_kept(&remote, &told);
}

#[test]
fn a_hook_of_the_user_that_refuses_the_commit_blocks_the_run() {
    let remote = Remote::new(STEPS);
    let hook = remote.world.sandbox.project().join(".git/hooks/pre-commit");
    script(&hook, "#!/bin/sh\necho 'no commits today' >&2\nexit 1\n");
    let told = remote.world.run("work");
    told.blocked("UNDELIVERED: `git commit`: no commits today");
    is_kept(&remote, &told);
}

/// What a step pushed itself is delivered, if the remote has it.
#[test]
fn what_a_step_pushed_is_read_back() {
    let steps = "  - {id: make, name: Make, description: make, run: echo made > new.txt; git add -A; git commit -qm mine; git push -q}\n";
    let remote = Remote::new(steps);
    let told = remote.world.run("work");
    told.passed();
    assert_eq!(told.last["delivered"]["branch"], "main");
    assert_eq!(
        (remote.branches().as_str(), remote.at_remote(&["log", "-1", "--format=%s", "main"]).as_str()),
        ("main\n", "mine\n")
    );
}

#[test]
fn work_stays_in_the_tree_where_that_is_wanted() {
    let remote = Remote::new(STEPS);
    remote.world.configure(&format!("{CONFIG}\n[deliver]\nbranch = \"none\"\n"));
    let told = remote.world.run("work");
    told.passed();
    assert_eq!((reason(&told), remote.branches().as_str()), ("every step passed", "main\n"));
    assert_eq!(remote.world.git(&["branch", "--show-current"]), "main\n");
}

/// A stand-in for GitHub's `gh`, with a file in the place of a forge.
const GH: &str = r#"#!/bin/sh
# A stand-in for `gh`: a file is its forge.
forge="$HOME/forge"
echo "$@" >> "$HOME/asked"
case "$1 $2" in
'pr list') test -f "$forge" && grep -F -- "$4 " "$forge" | cut -d' ' -f2 ;;
'pr create')
  echo "$4 https://github.example/x/pull/$(($(cat "$forge" 2>/dev/null | wc -l) + 1))" >> "$forge"
  cat "$AOPS_BODY" > "$HOME/body"
  echo "$AOPS_TITLE into $AOPS_BASE" > "$HOME/title"
  tail -n 1 "$forge" | cut -d' ' -f2 ;;
*) exit 9 ;;
esac
true
"#;

/// A stand-in for `ssh`: the other machine is this one.
const SSH: &str = "#!/bin/sh\n# A stand-in for `ssh`: the other machine is this one.\nfor last; do :; done\nexec sh -c \"$last\"\n";

#[test]
fn the_pull_request_is_made_once() {
    let mut remote = Remote::new(STEPS);
    remote.tool("gh", GH);
    remote.tool("ssh-here", SSH);
    let ssh = remote.world.sandbox.tmp().join("tools/ssh-here");
    remote.world.sandbox = remote.world.sandbox.with("GIT_SSH_COMMAND", ssh);
    let world = &remote.world;
    world.git(&["remote", "set-url", "origin", &format!("git@github.example:{}", remote.bare.display())]);
    let told = world.run("work");
    told.passed();
    let address = "https://github.example/x/pull/1";
    assert_eq!(told.last["delivered"]["pull_request"], address);
    assert!(reason(&told).ends_with(&format!("; pull request {address}")), "{told:#?}");
    let read = |name: &str| fs::read_to_string(world.sandbox.home().join(name)).unwrap();
    assert_eq!(read("title"), "make it so into main\n");
    let body = read("body");
    assert!(body.contains("- make: PASS") && body.contains("Cost: none"), "{body}");
    let asked = read("asked");
    let (first, second) = asked.split_once('\n').unwrap();
    assert!(
        first.starts_with("pr list --head aops/") && second.starts_with("pr create --head aops/"),
        "{asked}"
    );
    // Taken back and done again, the branch goes on and the request is the same.
    let run = told.last["run_id"].as_str().unwrap();
    let back = world.person(&["checkpoint", "rollback", &format!("{run}/PRE_make_v1"), "--yes"]);
    assert_eq!(back.code, Some(0), "{back:?}");
    let again = world.resume(run);
    again.passed();
    assert_eq!(again.last["delivered"]["pull_request"], address);
    assert_eq!(read("forge").lines().count(), 1);
}

#[test]
fn a_forge_that_fails_takes_no_pass_away() {
    let remote = Remote::new(STEPS);
    remote.tool(
        "gh",
        "#!/bin/sh\n# A stand-in for `gh` that nobody logged in.\necho 'run gh auth login' >&2\nexit 4\n",
    );
    remote.world.configure(&format!(
        "{CONFIG}\n[deliver]\npull_request = \"gh pr create --fill --head {{branch}}\"\n"
    ));
    let told = remote.world.run("work");
    told.passed();
    assert!(
        reason(&told).contains("; no pull request: `gh` cannot say if there is one: run gh auth login"),
        "{told:#?}"
    );
    assert!(remote.branches().contains("aops/"));
}

/// A program that we do not know cannot be asked whether there is a request: it is started once for a commit.
#[test]
fn a_forge_of_ones_own_is_started_once() {
    let remote = Remote::new(STEPS);
    let world = &remote.world;
    let command =
        r#"echo "{branch} $AOPS_TITLE" >> "$HOME/forge"; kill -9 "$(cat "$HOME/driver")" 2>/dev/null; true"#;
    world.configure(&format!(
        "{CONFIG}\n[jail]\nlevel = \"off\"\n[deliver]\npull_request = '''{command}'''\n"
    ));
    // The driver is killed by the very command, before it hears of its end.
    let mut driver = world.start(&["run", "make it so", "--workflow", "work", "--json"]);
    fs::write(world.sandbox.home().join("driver"), driver.id().to_string()).unwrap();
    let ended = driver.wait().unwrap();
    assert_eq!(ended.code(), None, "it was killed");
    until("the command has ended", || world.sandbox.home().join("forge").exists());
    let run = world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    let told = world.resume(&run);
    told.passed();
    assert!(reason(&told).contains("no pull request: its command was started before"), "{told:#?}");
    let forge = fs::read_to_string(world.sandbox.home().join("forge")).unwrap();
    assert_eq!(forge, format!("{} make it so\n", Remote::branch(&told)));
}
