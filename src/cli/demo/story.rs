//! The session that the demo plays: a task from its prompt to a pushed commit, then one that is blocked.
//!
//! Only moves and expectations; the gates decide.

use super::Scene;
use super::player::Expect::{Passes, RefusedBy};
use super::player::Player;
use super::stage::Stage;
use crate::claude::wire::heard::Heard;
use anyhow::ensure;
use serde_json::{Value, json};

/// Changes that are made at most while waiting for the lot to fall, and for the audit to bind.
const MOST_CHANGES: u32 = 40;

const GREET: &str = "#!/bin/sh\nprintf 'hello, %s\\n' \"$1\"\n";
const GREET_FIXED: &str = "#!/bin/sh\n: \"${1:?who?}\"\nprintf 'hello, %s\\n' \"$1\"\n";
const TEST: &str = "#!/bin/sh\ntest \"$(sh greet.sh Ada)\" = 'hello, Ada'\n";

pub(super) fn play(
    stage: &mut Stage,
    show: &mut dyn FnMut(Scene) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut player = Player::new(stage, show);
    plan(&mut player)?;
    work(&mut player)?;
    audit(&mut player)?;
    finish(&mut player)?;
    blocked(&mut player)
}

fn hydration(workflow: &str, intent: &str, criteria: &[&str]) -> Value {
    json!({"workflow": workflow, "intent": intent, "task": "new", "acceptance_criteria": criteria,
        "steps": ["write it", "test it"]})
}

fn plan(player: &mut Player) -> anyhow::Result<()> {
    player.act(1, "act 1: a task, from its prompt to a pushed commit")?;
    player.prompt(
        "greet people by name, with a test",
        "asks for `prompt-hydrator` before any change",
        Passes,
    )?;
    player.write("greet.sh", GREET, RefusedBy("sandbox"))?;
    player.reads("README.md")?;
    let hydrator = player.start("prompt-hydrator")?;
    let plan = hydration("feature-dev", "greet by name", &["prints a greeting"]);
    player.report(&hydrator, "feature-dev: greet by name", Some(&plan), "the plan goes to review")?;
    player.write("greet.sh", GREET, RefusedBy("sandbox"))?;
    let critic = player.start("critic")?;
    let problem = "nothing says what happens without a name";
    let revise = json!({"verdict": "REVISE", "acceptance_criteria": [], "problems": [problem]});
    player.report(
        &critic,
        &format!("REVISE: {problem}"),
        Some(&revise),
        "back to planning, with the problem",
    )?;
    let hydrator = player.start("prompt-hydrator")?;
    let criteria = ["prints a greeting", "fails without a name"];
    let plan = hydration("feature-dev", "greet by name; fail without one", &criteria);
    player.report(
        &hydrator,
        "feature-dev: greet by name; fail without one",
        Some(&plan),
        "and to review again",
    )?;
    let critic = player.start("critic")?;
    player.report(&critic, "Looks good to me!", None, "")?;
    let proceed = json!({"verdict": "PROCEED", "acceptance_criteria": criteria, "problems": []});
    player.report(&critic, "PROCEED", Some(&proceed), "the sandbox opens")
}

fn work(player: &mut Player) -> anyhow::Result<()> {
    player.write("greet.sh", GREET, Passes)?;
    let settings = player.stage.home().join(".claude/settings.json").display().to_string();
    player.reaches_for(&settings, "~/.claude/settings.json", RefusedBy("guard"))
}

/// Small changes until the lot falls on one, then until the audit can wait no longer.
fn audit(player: &mut Player) -> anyhow::Result<()> {
    let until = |player: &mut Player, over: &dyn Fn(&Player, &Heard) -> anyhow::Result<bool>| {
        for n in 1..=MOST_CHANGES {
            let heard = player.written("notes.txt", &format!("line {n}\n"))?;
            if over(player, &heard)? {
                return Ok((n, heard));
            }
        }
        anyhow::bail!("after {MOST_CHANGES} changes nothing came of the audit")
    };
    let (n, heard) = until(player, &|player, _| Ok(player.stage.session()?.state.audit.due))?;
    let does = format!("changes `notes.txt` {n} times");
    player.tell(
        "agent",
        &does,
        "PostToolUse",
        &heard,
        heard.context.lines().next().unwrap_or_default(),
        Passes,
    )?;
    let (n, heard) = until(player, &|_, heard| Ok(heard.refused))?;
    let does = format!("goes on: {} more changes pass, then one", n - 1);
    player.tell("agent", &does, "PreToolUse", &heard, "", RefusedBy("audit"))?;
    let custodiet = player.start("custodiet")?;
    player.report(&custodiet, "OK: within the plan", Some(&json!({"verdict": "OK"})), "the audit is done")?;
    player.write("test.sh", TEST, Passes)
}

fn finish(player: &mut Player) -> anyhow::Result<()> {
    if player.stage.has_git() {
        player.git("git add -A && git commit -q -m 'greet by name'", &[], RefusedBy("checks"))?;
    }
    player.removes("notes.txt")?;
    player.stop(RefusedBy("owed"))?;
    let qa = player.start("qa-verifier")?;
    let issue = "`sh greet.sh` without a name prints \"hello, \" and succeeds";
    let issues = json!({"verdict": "ISSUES", "issues": [issue]});
    player.report(&qa, &format!("ISSUES: {issue}"), Some(&issues), "back to work")?;
    player.write("greet.sh", GREET_FIXED, Passes)?;
    let qa = player.start("qa-verifier")?;
    let verified = json!({"verdict": "VERIFIED", "issues": []});
    player.report(
        &qa,
        "VERIFIED: both criteria hold",
        Some(&verified),
        "holds until something is changed",
    )?;
    let framework = player.start("framework")?;
    let reflection = json!({"reflection": {
        "request": "greet people by name, with a test", "guidance_received": "a plan, reviewed twice",
        "followed": "Yes", "outcome": "success", "accomplishment": "greet.sh and its test",
        "root_cause": "none", "proposed_change": "none"}});
    player.report(&framework, "the reflection, in seven fields", Some(&reflection), "kept")?;
    if player.stage.has_git() {
        player.stop(RefusedBy("owed"))?;
        let lines: [&[&str]; 2] = [&["add", "-A"], &["commit", "-q", "-m", "greet by name"]];
        player.git("git add -A && git commit -q -m 'greet by name'", &lines, Passes)?;
        player.git("git push --force", &[], RefusedBy("rules"))?;
        player.git("git push -q", &[&["push", "-q"]], Passes)?;
    }
    player.stop(Passes)
}

fn blocked(player: &mut Player) -> anyhow::Result<()> {
    player.act(2, "act 2: a task that leaves its bounds")?;
    player.prompt(
        "mention the greeting in the readme",
        "asks for `prompt-hydrator` before any change",
        Passes,
    )?;
    let hydrator = player.start("prompt-hydrator")?;
    let plan = hydration("minor-edit", "mention greet.sh in the readme", &["README.md names greet.sh"]);
    player.report(
        &hydrator,
        "minor-edit: mention greet.sh",
        Some(&plan),
        "a workflow without review: the sandbox opens",
    )?;
    player.write("LICENSE", "all rights reserved\n", Passes)?;
    let custodiet = player.start("custodiet")?;
    let violation = "a licence was added; only the readme was asked for";
    let block = json!({"verdict": "BLOCK", "violation": violation});
    player.report(
        &custodiet,
        &format!("BLOCK: {violation}"),
        Some(&block),
        "blocked; `halt-report.md` tells a person",
    )?;
    let report = player.stage.folder()?.join("halt-report.md");
    ensure!(report.is_file(), "`{}` was not written", report.display());
    player.write("README.md", "# greet\n\nsh greet.sh NAME\n", RefusedBy("block"))?;
    player.prompt("go on, please", "", RefusedBy("block"))?;
    let id = player.stage.session_id().to_owned();
    player.person(&["clear-block", &id, "--yes"], "aops-hook clear-block")?;
    player.prompt("only the readme, please", "asks for `prompt-hydrator` before any change", Passes)
}
