//! A command in a worktree: the hook and the program around the command know the same session.

use super::world::{Jailed, Ran, around};
use crate::faults::passed;
use crate::support::Session;
use serde_json::json;
use std::fs;
use std::path::Path;

/// A command of this session in this folder, as the client has it asked about, run and reported there.
#[track_caller]
fn ran_in(world: &Jailed, session: &Session, folder: &Path, command: &str) -> Ran {
    let dashed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = folder.to_str().unwrap().chars().map(dashed).collect();
    let transcript = world.sandbox.config().join("projects").join(name).join(format!("{}.jsonl", session.id));
    let call = session.call("Bash", json!({"command": command}));
    let tell = |name: &str, more: serde_json::Value| {
        let mut payload = session.payload(name, crate::faults::with(call.fields(), &more));
        payload["cwd"] = json!(folder);
        payload["transcript_path"] = json!(transcript);
        world.sandbox.hook(name, &payload)
    };
    passed(&tell("PreToolUse", json!({})));
    let line = around(command, &world.sandbox.tmp().join("claude-1234-cwd"));
    let mut run = world.command(&line, &[("CLAUDE_CODE_SESSION_ID", &session.id)]);
    let ran = Ran::of(&run.current_dir(folder).output().unwrap());
    passed(&tell("PostToolUse", json!({"tool_response": {"stdout": "", "stderr": ""}})));
    ran
}

/// In mode `guard` everything is as without us: what a command writes there stays, inside of the project and
/// beside it.
#[test]
fn what_a_command_writes_in_a_worktree_stays() {
    for outside in [false, true] {
        let world = Jailed::with("mode.level = \"guard\"\n");
        let session = world.sandbox.session();
        let project = world.project();
        let worktree =
            if outside { project.with_file_name("side") } else { project.join(".claude/worktrees/side") };
        fs::create_dir_all(worktree.join("src")).unwrap();
        fs::write(worktree.join(".git"), "gitdir: /nowhere\n").unwrap();
        assert_eq!(session.start("startup").code, Some(0));
        passed(&session.prompt("go"));
        for folder in [&worktree, &worktree.join("src"), &project] {
            let ran = ran_in(&world, &session, folder, "echo kept > kept.txt");
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}: {ran:?}", folder.display());
            assert_eq!(
                fs::read_to_string(folder.join("kept.txt")).unwrap(),
                "kept\n",
                "{}",
                folder.display()
            );
        }
        let jailed: Vec<_> = session
            .entries()
            .iter()
            .filter_map(|entry| {
                entry["with"]["end"]["under"]["jailed"]["profile"].as_str().map(str::to_owned)
            })
            .collect();
        assert_eq!(jailed, ["work", "work", "work"]);
        world.sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// What guards the session cannot be written from there: neither the project's settings nor the worktree's
/// own.
#[test]
fn both_the_projects_and_the_worktrees_settings_are_held() {
    for (outside, standing) in [(false, false), (false, true), (true, false), (true, true)] {
        let world = Jailed::with("mode.level = \"guard\"\n");
        let session = world.sandbox.session();
        let project = world.project();
        let worktree =
            if outside { project.with_file_name("side") } else { project.join(".claude/worktrees/side") };
        for folder in [&project, &worktree] {
            fs::create_dir_all(folder.join(".claude")).unwrap();
            if standing {
                fs::write(folder.join(".claude/settings.json"), "{}").unwrap();
            }
        }
        fs::write(worktree.join(".git"), "gitdir: /nowhere\n").unwrap();
        assert_eq!(session.start("startup").code, Some(0));
        passed(&session.prompt("go"));
        let script = "for f in \"$1\" \"$2\"; do echo x >> \"$f/.claude/settings.json\" && echo WRITTEN; done; echo done > mine.txt";
        fs::write(worktree.join("x.sh"), script).unwrap();
        let line = format!("sh x.sh {} {}", project.display(), worktree.display());
        let ran = ran_in(&world, &session, &worktree, &line);
        let case = format!("outside: {outside}, standing: {standing}");
        assert!(
            !ran.out.contains("WRITTEN") && ran.err.to_lowercase().contains("read-only"),
            "{case}: {ran:?}"
        );
        assert_eq!(fs::read_to_string(worktree.join("mine.txt")).unwrap(), "done\n", "{case}");
    }
}
