//! What `docs/ci.md` and the files of `ci/` show works as it stands.

use super::shop::{Shop, long};
use crate::pages::{blocks, read};
use crate::support::BINARY;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A pull request: `base` and an attested commit after it; the program and `ci/` as a job has them.
fn job() -> (Shop, String) {
    let shop = Shop::new();
    shop.attested("a.txt", long(&[(3, "three")]));
    let folder = shop.sandbox.tmp().join("bin");
    fs::create_dir(&folder).unwrap();
    symlink(BINARY, folder.join("aops-hook")).unwrap();
    fs::write(shop.folder.join(".git/info/exclude"), "ci\nreports\nattest.*\n").unwrap();
    symlink(root().join("ci"), shop.folder.join("ci")).unwrap();
    let path = shop.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    (shop, format!("{}:{}", folder.display(), path.into_string().unwrap()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Runs a script as a step of a job: exit code, output, and what it wrote as the summary.
fn step(shop: &Shop, path: &str, script: &str, more: &[(&str, &str)]) -> (i32, String, String) {
    let summary = shop.sandbox.tmp().join("summary.md");
    let _ = fs::remove_file(&summary);
    let mut command = shop.sandbox.command("bash");
    let command = command.args(["-e", "-o", "pipefail", "-c", script]).env("PATH", path).current_dir(&shop.folder);
    let command = command.env("BASE", shop.git(&["rev-parse", "base"])).env("HEAD", shop.head());
    let command = command.env("HEAD_REPO", &shop.folder).env("GITHUB_STEP_SUMMARY", &summary);
    let output = command.envs(more.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), said, fs::read_to_string(&summary).unwrap_or_default())
}

/// Each script of the page, in its order.
#[test]
fn the_scripts_of_the_page_run() {
    let (shop, path) = job();
    shop.sandbox.configure("[mode]\nlevel = \"guard\"\n");
    let session = shop.sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("what is here?");
    let _ = session.stop("nothing");
    let page = read("docs/ci.md");
    let scripts = blocks(&page, "bash");
    assert_eq!(scripts.len(), 4, "{scripts:?}");
    for script in &scripts {
        let (code, said, _) = step(&shop, &path, script, &[]);
        assert_eq!(code, 0, "{script}\n{said}");
    }
    for file in ["reports/session.html", "reports/session.jsonl", "reports/insights.json", "attest.sarif", "attest.xml"]
    {
        assert!(fs::metadata(shop.folder.join(file)).is_ok_and(|file| file.len() > 50), "{file}");
    }
}

/// The step of the page passes for an attested commit and fails for another.
#[test]
fn the_workflow_of_the_page_decides() {
    let (shop, path) = job();
    let yaml = blocks(&read("docs/ci.md"), "yaml").concat();
    let script = yaml.split_once("run: |\n").unwrap().1.split_once("  env:").unwrap().0.replace("--wait 120s", "");
    let (code, said, summary) = step(&shop, &path, &script, &[]);
    assert!(code == 0 && summary.starts_with("**Guarded: 1 of 1 commit, lowest level A2.**"), "{said}{summary}");
    shop.put("b.txt", "by hand\n");
    shop.commit("by hand");
    let (code, said, summary) = step(&shop, &path, &script, &[]);
    assert!(code == 1 && summary.starts_with("**Guarded: 1 of 2 commits"), "{said}{summary}");
}

/// With the program, and without it.
#[test]
fn the_action_checks_a_pull_request() {
    let (shop, path) = job();
    let script = format!("bash {}/check.sh", root().join("ci").display());
    let summary = shop.sandbox.tmp().join("attest.md").display().to_string();
    let wishes = [("SUMMARY", summary.as_str()), ("REQUIRE", "A2"), ("WAIT", "1s")];
    let (code, said, shown) = step(&shop, &path, &script, &wishes);
    assert!(code == 0 && said.contains(" A2 claude-code") && shown.contains("**Guarded: 1 of 1"), "{said}{shown}");
    let bare = path.split_once(':').unwrap().1;
    let (code, said, _) = step(&shop, bare, &script, &wishes);
    assert!(code == 0 && said.contains("is not installed") && said.contains(" A2 claude-code"), "{said}");
    let (code, said, _) = step(&shop, &path, &script, &[("PROGRAM", "file:///nowhere")]);
    assert!(code == 2 && said.contains("without its digest"), "{said}");
    let program = format!("file://{BINARY}");
    let (code, said, _) = step(&shop, bare, &script, &[("PROGRAM", &program), ("SHA256", &"0".repeat(64))]);
    assert!(code != 0 && !said.contains(" A2 "), "another program than the pinned one is not run: {said}");
    shop.put("b.txt", "by hand\n");
    shop.commit("by hand");
    assert_eq!(step(&shop, &path, &script, &wishes).0, 1);
    assert_eq!(step(&shop, bare, &script, &wishes).0, 1);
}

/// The job of the template, as its runner would run it.
#[test]
fn the_template_for_gitlab_checks_a_merge_request() {
    let (shop, path) = job();
    let text = read("ci/gitlab.yml");
    let lines = |name: &str| -> Vec<String> {
        let rest = text.split_once(&format!("  {name}:\n")).unwrap().1;
        let items = rest.lines().take_while(|line| line.starts_with("    - "));
        items.map(|line| line.trim_start_matches("    - ").to_owned()).collect()
    };
    let script = [lines("before_script"), lines("script")].concat().join("\n").replace("--wait 120s", "");
    let report = shop.folder.join("attest.xml").display().to_string();
    let (code, said, _) = step(&shop, &path, &script, &[("REPORT", &report), ("REQUIRE", "A2")]);
    assert_eq!(code, 0, "{said}");
    assert!(fs::read_to_string(&report).unwrap().contains("failures=\"0\""));
    let (code, _, _) = step(&shop, &path, &script, &[("REPORT", &report), ("REQUIRE", "A3")]);
    assert!(code == 1 && fs::read_to_string(&report).unwrap().contains("type=\"WITNESS\""));
}
