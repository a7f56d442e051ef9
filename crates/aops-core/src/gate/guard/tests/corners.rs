//! Tests each corner case that the corpus does not reach.

use super::*;
use crate::gate::guard::unguarded::started;
use crate::tool::targets::{Act, CommandRun, Target, Targets};
use aops_shell::syntax::Word;

/// As if only this place existed.
fn standing_alone(path: &str) -> PlacesOnDisk {
    PlacesOnDisk { standing: Some(vec![path.to_owned()]), ..PlacesOnDisk::default() }
}

#[test]
fn corners() {
    let mark = |text: &str| {
        super::super::hidden::named(&protected(), &crate::tool::targets::Hidden::Program(text.to_owned()))
    };
    assert_eq!(mark("open('agents/Critic.md', 'w')").as_deref(), Some("agents/critic.md"));
    assert_eq!(mark("open('/home/u/.config/aops/x', 'w')").as_deref(), Some("/home/u/.config/aops"));
    assert_eq!(mark("open('/opt/bin/aops-hook', 'w')").as_deref(), Some("/opt/bin/aops-hook"));
    assert_eq!(mark("open('/opt/bin/aops-hooks')"), None);
    let runs = |verbs: &str| mark(&format!("subprocess.run(['aops-hook', {verbs}])"));
    assert_eq!(runs("'checkpoint', 'rollback'").as_deref(), Some("aops-hook rollback"));
    assert_eq!(runs("'checkpoint', 'list'"), None);
    assert_eq!(super::super::verb::refused(&protected(), &crate::tool::targets::CommandRun::default()), None);
    let standing = Protected { on_disk: standing_alone("/a"), ..protected() };
    assert_eq!((standing.stands("/a"), standing.stands("/b")), (true, false));
    assert!(
        Protected { home: String::new(), ..protected() }
            .places()
            .iter()
            .all(|place| place.path.starts_with('/'))
    );
    let relative = Protected { config: "relative".into(), ..protected() }.places();
    assert!(!relative.is_empty() && relative.iter().all(|place| place.path.starts_with('/')));
    let elsewhere = Protected { config: "/cfg".into(), ..protected() };
    let ground = Ground { cwd: "/", home: "/home/u", variables: &[] };
    for (line_, wanted) in [
        ("rm /cfg/sett*.json", "deny"),
        ("rm /cfg/*.local.json", "deny"),
        ("rm /cfg/x*.txt", "pass"),
        ("rm -r /home/*/.config/aops/x/y", "deny"),
        ("rm -r /home/*/.config/aops/x/**", "deny"),
        ("tar xf a.tar -C /cfg/projects", "pass"),
    ] {
        let input = serde_json::json!({ "command": line_ }).to_string();
        let line = line("Bash", &input, &ground);
        let said = judge(&elsewhere, &targets::of("Bash", &input, line.as_ref(), &ground));
        assert_eq!(said.ruling.name(), wanted, "{line_}: {}", said.reason);
    }
}

/// No call may write a run's own files, wherever the project lies.
#[test]
fn packets_of_a_run() {
    for (line, wanted) in [
        ("rm artifacts/loop_state/run.jsonl", Ruling::Deny),
        ("rm /else/where/artifacts/loop_state", Ruling::Deny),
        ("echo x > artifacts/checkpoints/cp_1.yaml", Ruling::Deny),
        ("echo x > artifacts/terminal/tp_1.yaml", Ruling::Deny),
        ("echo x > artifacts/checkpoints/notes.yaml", Ruling::Pass),
        ("echo x > artifacts/terminal/cp_1.yaml", Ruling::Pass),
        ("echo x > artifacts/other/tp_1.yaml", Ruling::Pass),
        ("echo x > artifacts/report.md", Ruling::Pass),
        ("node_modules/.bin/other; ./claude-x/claudia", Ruling::Pass),
        ("echo x > .aops/runs/checkpoints/cp_1.yaml", Ruling::Deny),
        ("echo x > /else/where/.claude/aops-hook", Ruling::Deny),
        ("echo x > .claude/agents/aops-critic.md", Ruling::Deny),
        ("echo x > .claude/agents/aops-helper.md", Ruling::Pass),
    ] {
        assert_eq!(bash(line), wanted, "{line}");
    }
}

/// A path that leads elsewhere is judged by its real path; a command without words starts nothing.
#[test]
fn real_paths_and_no_words() {
    let mut targets = Targets::default();
    let real = Some(Word::of("/home/u/.claude/settings.json"));
    targets.paths.push(Target { path: Word::of("/tmp/link"), act: Act::Write, real, stands: None });
    assert_eq!(judge(&protected(), &targets).ruling, Ruling::Deny);
    assert!(started(&CommandRun::default()).is_none());
}

/// Sweeping a folder removes what exists in it, except checkpoints, which git ignores.
#[test]
fn a_sweep_takes_what_stands_below() {
    let of = |protected: &Protected, path: &str, act: Act| {
        let mut targets = Targets::default();
        targets.paths.push(Target { path: Word::of(path), act, real: None, stands: None });
        judge(protected, &targets).ruling
    };
    assert_eq!(of(&protected(), "/home/u/proj", Act::Sweep), Ruling::Deny);
    let checkpoints = "/home/u/proj/.claude/checkpoints";
    let kept = Protected { on_disk: standing_alone(checkpoints), ..protected() };
    assert_eq!(of(&kept, "/home/u/proj", Act::Sweep), Ruling::Pass);
    assert_eq!(of(&kept, "/home/u/proj", Act::Whole), Ruling::Deny);
    for (act, wanted) in [(Act::Whole, Ruling::Deny), (Act::Sweep, Ruling::Deny), (Act::Write, Ruling::Pass)]
    {
        assert_eq!(of(&kept, "/home/u/.claude/projects/x", act), wanted, "{act:?}");
    }
}

/// `$n.json` says too little about a settings file's name to distinguish it from any other.
#[test]
fn a_name_that_only_might_fit_counts_for_nothing() {
    for line in [
        "echo '{}' > out/$n.json",
        "while read n; do echo '{}' > out/$n.json; done < list",
        "for n in $(jq -r '.[].name' a.json); do curl -s http://x/$n > \"$OUT/$n.json\"; done",
        "mkdir -p out/${kind}s",
    ] {
        assert_eq!(bash(line), Ruling::Pass, "{line}");
    }
    for line in [
        "echo '{}' > .claude/$n.json",
        "echo '{}' > ~/$n.json",
        "echo '{}' > out/.claude.json",
        "echo '{}' > \"$d/.claude/settings.json\"",
        "for n in ../.claude/settings; do echo '{}' > out/$n.json; done",
        "echo '{}' > out/${x}ude.json",
        "rm -rf ${x}/.aops",
    ] {
        assert_eq!(bash(line), Ruling::Deny, "{line}");
    }
}
