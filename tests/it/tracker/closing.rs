//! A task that is an issue of the tracker: taken in hand, named, closed; and everything else that closes the
//! work, in order.

use super::world::World;
use crate::support::{Answer, Session, fenced};
use crate::weight::{PLAN, plan_mode};
use serde_json::json;

/// A session whose project's tracker was asked.
fn started(world: &World) -> Session<'_> {
    let session = world.sandbox.session();
    let _ = session.start("startup");
    world.wait_until("the tracker was asked", || world.snapshot().taken_ms.is_some());
    world.wait_until("the refresher ended", || world.alive().is_empty());
    session
}

/// What we write in the tracker ourselves is written: `mb` keeps it in the repository.
fn settle(world: &World) {
    world.wait_until("our own is written", || world.waiting() == 0 && world.alive().is_empty());
}

/// The hydrator plans a change for this issue, or for none; gives what the main agent is told then.
fn plan(session: &Session, issue: Option<&str>) -> String {
    let mut block = json!({"workflow": "minor-edit", "intent": "feed the wombat", "task": "new",
        "acceptance_criteria": ["it is fed"], "steps": ["feed it"]});
    if let Some(id) = issue {
        block["issue"] = json!(id);
    }
    let input = json!({"subagent_type": "prompt-hydrator", "prompt": "p", "description": "d"});
    let call = session.call("Agent", input);
    let _ = session.pre(&call);
    let _ = session.event("SubagentStart", json!({"agent_id": "a1", "agent_type": "prompt-hydrator"}));
    session.stop_agent("a1", "prompt-hydrator", &fenced(block)).silent();
    let told = session.post(&call).json();
    told["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

/// The names of what is owed, in order.
fn owed(answer: &Answer) -> Vec<String> {
    let name = |line: &str| Some(line.split_once(". `")?.1.split('`').next()?.to_owned());
    answer.reason().lines().filter_map(name).collect()
}

#[test]
fn a_task_that_is_an_issue_is_claimed_named_and_closed() {
    let world = World::repository("");
    world.mb(&["create", "Feed the wombat"]);
    let mb = &world.command;
    let session = started(&world);
    let _ = session.prompt("feed the wombat");
    let told = plan(&session, Some("demo-1"));
    for words in ["this task is issue `demo-1`", "update demo-1 --claim`", "close demo-1`"] {
        assert!(told.contains(words), "no `{words}` in {told}");
    }
    assert_eq!(session.state()["main_agent"]["current_task"], "demo-1");
    session.bash(&format!("{mb} update demo-1 --claim"));
    session.write("bowl.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    let stop = session.stop("Done.");
    stop.refused(&[&format!("run `{mb} close demo-1`"), &format!("`{mb} update demo-1 --status open`")]);
    assert_eq!(owed(&stop), ["tracker", "commit", "sync", "push"]);
    session.bash(&format!("{mb} close demo-1"));
    assert_eq!(owed(&session.stop("Done.")), ["commit", "sync", "push"], "what was verified stays so");
    settle(&world);
    session.bash("git add -A && git commit -q -m fed");
    settle(&world);
    session.bash(&format!("{mb} sync && git add -A && git commit -q -m sync"));
    session.bash("git push -q");
    session.stop("Done.").silent();
    assert_eq!(session.state()["main_agent"]["current_task"], "demo-1");
    assert_eq!(world.mb(&["show", "demo-1"])[0]["status"], "closed");
    world.sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn an_issue_that_nobody_named_is_in_hand_once_it_is_claimed() {
    let world = World::repository("");
    world.mb(&["create", "Feed the wombat"]);
    let mb = &world.command;
    let session = started(&world);
    let _ = session.prompt("feed the wombat");
    let told = plan(&session, None);
    assert!(
        told.contains("if a tracked issue is about this") && told.contains("update ID --claim`"),
        "{told}"
    );
    assert_eq!(session.state()["main_agent"]["current_task"], "feed the wombat");
    session.write("bowl.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    assert_eq!(owed(&session.stop("Done.")), ["commit", "push"], "none is in hand");
    session.bash(&format!("{mb} claim demo-1"));
    assert_eq!(session.state()["main_agent"]["current_task"], "demo-1");
    assert_eq!(owed(&session.stop("Done.")), ["tracker", "commit", "sync", "push"]);
    session.bash(&format!("{mb} update demo-1 --status open"));
    assert_eq!(owed(&session.stop("Done.")), ["commit", "sync", "push"], "it was handed back");
    // One that the same prompt took stays with the plan that comes after; the next prompt's task has none.
    let _ = session.prompt("and give it water");
    session.bash(&format!("{mb} claim demo-1"));
    assert!(plan(&session, None).contains("this task is issue `demo-1`"));
    let _ = session.prompt("something else");
    assert!(plan(&session, None).contains("if a tracked issue"));
    assert_eq!(session.state()["main_agent"]["current_task"], "feed the wombat");
}

#[test]
fn a_plan_of_plan_mode_comes_with_the_tracker_too() {
    for mode in ["loop", "strict"] {
        let world = World::repository(&format!("[mode]\nlevel = \"{mode}\"\n"));
        let session = started(&world);
        let _ = session.prompt("feed the wombat");
        let plan = plan_mode(&world.sandbox, &session, true, "default", PLAN);
        plan.said(&["if a tracked issue is about this: `"]);
    }
}

#[test]
fn without_a_tracker_nothing_is_said_of_one() {
    for command in ["no-such-tracker", "none"] {
        let mut world = World::repository("");
        command.clone_into(&mut world.command);
        world.sandbox.configure(&format!("[audit]\nrate = 0.0\n[tracker]\ncommand = \"{command}\"\n"));
        let session = world.sandbox.session();
        let _ = session.start("startup");
        world.wait_until("the refresher ended", || world.alive().is_empty());
        let _ = session.prompt("feed the wombat");
        let told = plan(&session, None);
        assert!(!told.contains("issue") && !told.contains("claim"), "{told}");
    }
}

#[test]
fn work_is_closed_in_the_order_of_the_document() {
    let world = World::repository("[close]\nformat = \"sh fmt.sh\"\n");
    let sandbox = &world.sandbox;
    sandbox.put("fmt.sh", "for f in *.txt; do tr a-z A-Z < $f > .$f && mv .$f $f; done\n");
    world.mb(&["create", "Feed the wombat"]);
    let mb = &world.command;
    for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", "set up"], &["push", "-q"]] {
        sandbox.git(arguments);
    }
    let session = started(&world);
    let prompt = session.prompt("feed the wombat");
    prompt.said(&[
        "Once all changes are made, run `sh fmt.sh`, then start the agent `qa-verifier`, then in one message",
    ]);
    plan(&session, Some("demo-1"));
    session.bash(&format!("{mb} update demo-1 --claim"));
    session.write("bowl.txt").silent();
    let all = ["format", "qa-verifier", "framework", "tracker", "commit", "sync", "push"];
    let stop = session.stop("Done.");
    stop.refused(&["run `sh fmt.sh` by itself"]);
    assert_eq!(owed(&stop), all);
    sandbox.somebody_pushes();
    session.bash("sh fmt.sh");
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash(&format!("{mb} close demo-1"));
    settle(&world);
    session.bash("git add -A && git commit -q -m fed");
    let push = session.call("Bash", json!({"command": "git push"}));
    session.pre(&push).silent();
    let failed = sandbox.command("git").arg("push").output().unwrap();
    assert!(!failed.status.success());
    let _ = session.fail(&push, &String::from_utf8(failed.stderr).unwrap());
    let stop = session.stop("Done.");
    stop.refused(&[
        "run `git pull --rebase`; the remote has commits that are not here, and refused the last push",
    ]);
    assert_eq!(owed(&stop), ["pull", "sync", "push"]);
    session.bash("git fetch -q");
    let stop = session.stop("Done.");
    stop.refused(&["the upstream has 1 commit that is not here"]);
    session.bash("git pull -q --rebase");
    assert_eq!(
        owed(&session.stop("Done.")),
        all.into_iter().filter(|d| !["tracker", "commit"].contains(d)).collect::<Vec<_>>(),
        "what came may not fit, so it is verified again"
    );
    session.bash("sh fmt.sh");
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash(&format!("{mb} sync && git add -A && git commit -q -m sync && git push -q"));
    session.stop("Done.").silent();
    assert!(sandbox.git(&["log", "--format=%s", "origin/main"]).starts_with("sync\nfed\nother\n"));
    assert_eq!(std::fs::read_to_string(sandbox.project().join("bowl.txt")).unwrap(), "HELLO\n");
}

/// Every agent knows the issue in hand, and may say something about it there; it may do nothing else with it.
#[test]
fn reviewers_are_told_the_issue_in_hand_and_may_comment_on_it() {
    let world = World::repository("");
    world.mb(&["create", "Feed the wombat"]);
    let mb = &world.command;
    let session = started(&world);
    let _ = session.prompt("feed the wombat");
    let block = json!({"workflow": "feature-dev", "intent": "feed the wombat", "task": "new", "issue": "demo-1",
        "acceptance_criteria": ["it is fed"], "steps": ["feed it"]});
    session.agent("prompt-hydrator", block).silent();
    let told = format!(
        "Tracker: this task is issue `demo-1` (Feed the wombat); to comment on it: `{mb} comments add demo-1 --body 'TEXT'`"
    );
    let ask = |id: &str, kind: &str, line: &str| {
        session.pre(&session.call("Bash", json!({ "command": line })).by(id, kind))
    };
    let comment = format!("{mb} comments add demo-1 --body 'the plan has no test'");
    for (id, kind, name) in
        [("c1", "critic", "review"), ("a2", "custodiet", "audit"), ("q1", "qa-verifier", "qa")]
    {
        let _ = session.begin_agent(id, kind);
        let text = crate::documents::context(&session, name);
        assert!(text.contains(&told), "{kind}: {text}");
        ask(id, kind, &comment).silent();
    }
    for (id, kind) in [("c1", "critic"), ("a2", "custodiet")] {
        for line in [
            format!("{mb} close demo-1"),
            format!("{comment} && {mb} close demo-1"),
            format!("{comment} > x"),
        ] {
            ask(id, kind, &line).refused(&[kind]);
        }
    }
    // The tracker takes the command as it is told.
    world.sandbox.command("sh").args(["-c", &comment]).assert().success();
    assert!(world.mb(&["show", "demo-1"]).to_string().contains("the plan has no test"));

    let none = World::repository("");
    none.sandbox.configure("[audit]\nrate = 0.0\n[tracker]\ncommand = \"none\"\n");
    let session = none.sandbox.working();
    session.write("bowl.txt").silent();
    session.qa("VERIFIED").silent();
    assert!(crate::documents::context(&session, "qa").contains("Tracker: no tracker is in use here"));
}
