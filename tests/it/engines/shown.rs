//! `docs/fleet.md`: every command that it shows is run, and says what the page says; `…` is anything.

use super::attended::{Fleet, silent};
use super::free_port;
use crate::client::install as packages;
use crate::support::{BINARY, Sandbox};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[test]
fn the_pages_commands_work() {
    let fleet = Fleet::new(silent(), "true");
    let (_worker, world) = (fleet.worker(), &fleet.world);
    let page = page();
    let workflow = blocks(&page, "markdown")[0];
    world.sandbox.put(".aops/workflows/tidy.md", workflow);
    world.sandbox.put("README.md", "# A project  \n");
    world.commit();
    world.git(&["push", "-q"]);
    world.configure(&format!("[fleet]\nengine = \"http://127.0.0.1:{}\"\n", fleet.door().port));
    let keys = world.sandbox.config().join("aops/keys");
    fs::create_dir_all(&keys).unwrap();
    fs::write(keys.join("engine.token"), "annann\n").unwrap();
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut run = 0;
    for shown in blocks.flat_map(|block| block.split("$ ").skip(1)) {
        let (line, wanted) = shown.split_once('\n').unwrap();
        let line = line.strip_prefix("aops-hook ").unwrap();
        let said = world.sandbox.on_terminal(&format!("{line} --color=never"), "");
        assert_eq!(said.code, Some(0), "{line}: {said:?}");
        let parts = wanted.lines().flat_map(|line| line.split('…')).map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            assert!(said.out.contains(part), "{line}: no `{part}` in {}", said.out);
        }
        run += 1;
    }
    assert!(run > 2, "the commands were found");
    let there = world.git(&["ls-remote", "origin", "refs/heads/aops/*"]);
    assert_eq!(there.lines().count(), 1, "its branch is at the remote: {there}");
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleet.md")).unwrap()
}

fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Everything that the page starts ends with this.
struct Started(PathBuf);

impl Drop for Started {
    fn drop(&mut self) {
        for pid in fs::read_to_string(&self.0).unwrap_or_default().lines().rev() {
            let _ = Command::new("kill").args(["-9", pid]).status();
        }
    }
}

/// A newcomer has the page, the programs, a remote and a forge's program, which is a script here: what the
/// page says takes them from nothing to a pull request.
#[test]
fn the_way_from_nothing_ends_with_a_pull_request() {
    let sandbox = Sandbox::repository("0");
    let (page, tmp) = (page(), sandbox.tmp());
    let bin = tmp.join("bin");
    fs::create_dir_all(&bin).unwrap();
    for name in ["aops-hook", "aops-fleet"] {
        symlink(Path::new(BINARY).with_file_name(name), bin.join(name)).unwrap();
    }
    let gh = "#!/bin/sh\ncase \"$1 $2\" in \"pr create\") echo \"$@\" >> ~/made; echo https://forge.example/pull/1;; esac\n";
    fs::write(bin.join("gh"), gh).unwrap();
    fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
    let told = sandbox.environment();
    let path = told.iter().find(|(name, _)| name == "PATH").unwrap().1.to_str().unwrap().to_owned();
    let shell = |script: &str, folder: &Path| -> Output {
        let mut command = Command::new("sh");
        command.args(["-euc", script]).env_clear().envs(sandbox.environment()).current_dir(folder);
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.stdin(Stdio::null()).output().unwrap()
    };
    let ok = |script: &str, folder: &Path| {
        let said = shell(script, folder);
        let words = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
        assert!(said.status.success(), "{script}: {words}");
        words
    };
    let project = sandbox.project();
    let bare = tmp.join("remote.git").display().to_string();
    sandbox.put(".aops/workflows/tidy.md", blocks(&page, "markdown")[0]);
    sandbox.put("README.md", "# A project  \n");
    let who = "git config --global user.name n; git config --global user.email n@example.invalid; ";
    ok(&format!("{who}git add -A; git commit -qm work; git push -q"), &project);
    // As the page says, with ports of this test, and with the server that the tests have.
    let (gateway, worker, runs) = (free_port(), free_port(), free_port());
    let own = packages::restate();
    let started = Started(tmp.join("started"));
    let set_up = blocks(page.split("## Set up").nth(1).unwrap(), "sh")[..3].concat();
    assert!(set_up.contains("npm install") && set_up.matches(" &\n").count() == 3, "{set_up}");
    let set_up = set_up
        .replace("npm install --prefix . @restatedev/restate-server@1.7.12", "mkdir -p node_modules/.bin")
        .replace("node_modules/.bin/restate-server", &own.display().to_string())
        .replace("7391", &gateway.to_string())
        .replace("9443", &worker.to_string())
        .replace("--tokens tokens", &format!("--tokens tokens --runs 127.0.0.1:{runs}"))
        .replace(" &\n", &format!(" & echo $! >> '{}'\n", started.0.display()));
    ok(&set_up, &tmp);
    let config = sandbox.home().join(".config/aops/config.toml");
    let forge = "\n[deliver]\npull_request = \"gh pr create --fill --head {branch}\"\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + forge).unwrap();
    let mut words = String::new();
    sandbox.wait_until("every check of the doctor is fine", || {
        let said = shell("aops-hook fleet doctor", &project);
        words = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
        said.status.success()
    });
    assert!(words.lines().all(|line| line.starts_with("ok")), "{words}");
    let line = blocks(&page, "console")[0].lines().next().unwrap();
    let said = ok(line.strip_prefix("$ ").unwrap(), &project);
    assert!(said.contains("https://forge.example/pull/1"), "{said}");
    let made = fs::read_to_string(sandbox.home().join("made")).unwrap();
    let branch = made.trim().rsplit(' ').next().unwrap();
    let text = ok(&format!("git --git-dir '{bare}' show '{branch}:README.md'"), &project);
    assert_eq!(text, "# A project\n", "its work is at the remote");
}
