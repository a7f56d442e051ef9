//! `workflow list|show|graph|check` with the real program, and texts of people's own.

use crate::support::Sandbox;
use std::fs;
use std::os::unix::fs::symlink;

const NAMES: [&str; 12] = [
    "batch-processing", "build-loop", "context-bootstrap", "debugging", "direct-skill", "feature-dev",
    "minor-edit", "project", "qa-demo", "simple-question", "spec-review", "tdd-cycle",
];

/// A whole workflow with these gates and this body.
fn flow(id: &str, gates: &str, body: &str) -> String {
    format!(
        "---\nid: {id}\ntitle: My {id}\ntype: workflow\ncategory: test\ngates: [{gates}]\nsteps:\n  - id: one\n    name: One\n    description: d\n---\n\n{body}\n"
    )
}

fn user(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.home().join(".config/aops").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn twelve_are_shipped_and_well() {
    let sandbox = Sandbox::new();
    let listed = sandbox.person(&["workflow", "list"]);
    listed.said(&NAMES);
    insta::assert_snapshot!("workflow-list", listed.out);
    sandbox.person(&["workflow", "check"]).said(&["12 workflows, no problems"]);
    let rows = sandbox.person(&["workflow", "list", "--json"]).json();
    let ids: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, NAMES);
    let project = &rows[7];
    assert_eq!(project["gates"], serde_json::json!(["critic", "qa"]));
    assert_eq!(project["variants"], serde_json::json!(["analytics", "ml", "webapp", "optimization"]));
    assert_eq!(project["origin"], "embedded");
    for name in NAMES {
        sandbox.person(&["workflow", "show", name]).said(&["## Overview", "## Success Metrics"]);
        sandbox.person(&["workflow", "graph", name]).said(&[]);
    }
}

#[test]
fn show_resolves_links_and_lists_what_is_contained() {
    let sandbox = Sandbox::new();
    let shown = sandbox.person(&["workflow", "show", "feature-dev"]);
    shown.said(&[]);
    insta::assert_snapshot!("workflow-show", shown.out);
    let full = sandbox.person(&["workflow", "show", "feature-dev", "--full"]);
    full.said(&["# Spec review", "# Test-driven cycle", "# QA and demonstration"]);
    assert!(!full.out.contains("[["), "every link is resolved: {}", full.out);
    let value = sandbox.person(&["workflow", "show", "feature-dev", "--json"]).json();
    assert_eq!(value["contains"], serde_json::json!(["spec-review", "tdd-cycle", "qa-demo"]));
    assert_eq!(value["steps"][1]["needs"], serde_json::json!(["understand"]));
    assert_eq!(value["steps"][1]["phase"], "review");
}

#[test]
fn graphs_for_people_and_programs() {
    let sandbox = Sandbox::new();
    let plain = sandbox.person(&["workflow", "graph", "project", "--variant", "webapp"]);
    plain.said(&[
        "consensus-plan\treview\tplanning,arch,security\tcritic, as in spec-review\tConsensus on the plan",
    ]);
    assert!(plain.out.is_ascii() && plain.out.lines().count() == 12, "plain when piped: {}", plain.out);
    sandbox.person(&["workflow", "graph", "project", "--format", "dot"]).said(&["digraph \"project\" {"]);
    sandbox
        .person(&["workflow", "graph", "project", "--format", "mermaid"])
        .said(&["flowchart TD\n", " --> "]);
    let value = sandbox.person(&["workflow", "graph", "project", "--json"]).json();
    assert_eq!(value["edges"][0], serde_json::json!(["intake", "planning"]));
    let wrong = sandbox.person(&["workflow", "graph", "project", "--variant", "web"]);
    wrong.failed(2, &["no variant `web`; did you mean `webapp`?", "hint: there are analytics, ml"]);
    sandbox.person(&["workflow", "graph", "tdd-cycle", "--variant", "x"]).failed(2, &["has no variants"]);
    sandbox.person(&["workflow", "graph", "project", "--format", "png"]).failed(2, &["png"]);
}

/// A terminal is needed for this one: `script` gives one, and is part of util-linux.
#[test]
#[cfg(target_os = "linux")]
fn boxes_on_a_terminal_and_a_list_on_a_narrow_one() {
    let sandbox = Sandbox::new();
    let on_terminal = |columns: u32| {
        let line = format!("stty cols {columns}; {} workflow graph project", crate::support::BINARY);
        let output = sandbox.command("script").args(["-qec", &line, "/dev/null"]).output();
        let output =
            output.expect("`script` is missing: install util-linux (Debian: apt-get install bsdutils)");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let wide = on_terminal(100);
    assert!(wide.contains("╭") && wide.contains("▼"), "{wide}");
    let narrow = on_terminal(40);
    assert!(!narrow.contains("╭") && narrow.contains("consensus-plan"), "{narrow}");
}

#[test]
fn an_unknown_one_is_refused_with_the_one_meant() {
    let sandbox = Sandbox::new();
    for verb in ["show", "graph"] {
        let answer = sandbox.person(&["workflow", verb, "feature-def"]);
        answer.failed(2, &["there is no workflow `feature-def`; did you mean `feature-dev`?", "hint: "]);
    }
    sandbox.person(&["workflow", "show"]).failed(2, &["<ID>"]);
    sandbox.person(&["workflow"]).failed(2, &["list", "show", "graph", "check"]);
    for verb in ["list", "show", "graph", "check"] {
        sandbox.person(&["workflow", verb, "--help"]).said(&["Examples:", "aops-hook workflow"]);
    }
}

#[test]
fn the_project_comes_before_the_user_and_the_user_before_us() {
    let sandbox = Sandbox::new();
    user(&sandbox, "workflows/minor-edit.md", &flow("minor-edit", "", "user's"));
    user(&sandbox, "workflows/tdd-cycle.md", &flow("tdd-cycle", "qa", "user's"));
    sandbox.put(".aops/workflows/tdd-cycle.md", &flow("tdd-cycle", "critic, qa", "project's"));
    sandbox.put(".aops/workflows/release.md", &flow("release", "qa", "Shown as in [[qa-demo]]."));
    sandbox.person(&["workflow", "check"]).said(&["13 workflows, no problems"]);
    let listed = sandbox.person(&["workflow", "list"]);
    listed.said(&[
        "minor-edit\tnone\t1\tuser\tMy minor-edit\n",
        "tdd-cycle\tcritic, qa\t1\tproject\tMy tdd-cycle\n",
        "release\tcritic, qa\t1\tproject\tMy release\n",
        "feature-dev\tcritic, qa\t6\tembedded\t",
    ]);
    sandbox
        .person(&["workflow", "show", "tdd-cycle"])
        .said(&["project (.aops/workflows/tdd-cycle.md)", "\nproject's\n"]);
}

#[test]
fn a_project_may_add_gates_not_drop_any() {
    let sandbox = Sandbox::new();
    sandbox.put(".aops/workflows/feature-dev.md", &flow("feature-dev", "qa", ""));
    let checked = sandbox.person(&["workflow", "check"]);
    let wanted = ".aops/workflows/feature-dev.md:6: a project's `feature-dev` may add gates, not drop any: `critic` is missing from `gates`\n1 problem in 12 workflows\n";
    assert_eq!((checked.code, checked.out.as_str()), (Some(1), wanted));
    sandbox.person(&["workflow", "show", "feature-dev"]).failed(1, &["`feature-dev` cannot be used", ":6: "]);

    // What the user added counts as much as what we ship; what the user dropped is not owed.
    let sandbox = Sandbox::new();
    user(&sandbox, "workflows/minor-edit.md", &flow("minor-edit", "critic", ""));
    sandbox.put(".aops/workflows/minor-edit.md", &flow("minor-edit", "qa", ""));
    let checked = sandbox.person(&["workflow", "check"]);
    assert!(checked.code == Some(1) && checked.out.contains("`critic` is missing"), "{checked:?}");
    sandbox.put(".aops/workflows/minor-edit.md", &flow("minor-edit", "critic", ""));
    sandbox.person(&["workflow", "check"]).said(&["no problems"]);

    // One below that cannot be read might have had any gate.
    user(&sandbox, "workflows/minor-edit.md", "no workflow");
    let checked = sandbox.person(&["workflow", "check"]);
    assert!(checked.code == Some(1) && checked.out.contains("`qa` is missing"), "{checked:?}");
}

#[test]
fn dangling_and_circular_links_are_named_with_file_and_line() {
    let sandbox = Sandbox::new();
    sandbox.put(".aops/workflows/one.md", &flow("one", "qa", "See [[two]]."));
    sandbox.put(".aops/workflows/two.md", &flow("two", "qa", "\nSee [[one]] and [[nowhere-9]]."));
    let checked = sandbox.person(&["workflow", "check"]);
    let wanted = "\
.aops/workflows/one.md:13: workflows contain each other in a ring: one -> two -> one
.aops/workflows/two.md:14: dangling link `[[nowhere-9]]`: there is no such workflow
2 problems in 14 workflows
";
    assert_eq!((checked.code, checked.out.as_str(), checked.err.as_str()), (Some(1), wanted, ""));
    let json = sandbox.person(&["workflow", "check", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        (json.code, &value["ok"], value["problems"][0]["line"].as_u64()),
        (Some(1), &false.into(), Some(13))
    );
    sandbox.person(&["workflow", "show", "one"]).failed(1, &["`one` cannot be used", "one -> two -> one"]);
    sandbox.person(&["workflow", "show", "qa-demo"]).said(&["# QA and demonstration"]);
}

#[test]
fn a_file_is_checked_as_if_it_were_in_force() {
    let sandbox = Sandbox::new();
    sandbox.put(".aops/workflows/other.md", "broken, and not asked about");
    sandbox.put("drafts/release.md", &flow("release", "qa", "[[qa-demo]]"));
    sandbox.put("drafts/bad.md", &flow("bed", "qa", "[[tdd-cicle]]"));
    sandbox.person(&["workflow", "check", "drafts/release.md"]).said(&["1 workflow, no problems"]);
    let checked =
        sandbox.person(&["workflow", "check", "drafts/bad.md", "drafts/none.md", "drafts/release.md"]);
    let wanted = "\
drafts/bad.md:2: `id` is `bed`, but the file's name says `bad`
drafts/none.md:1: there is no such file
2 problems in 3 workflows
";
    assert_eq!((checked.code, checked.out.as_str()), (Some(1), wanted));
    let listed = sandbox.person(&["workflow", "list"]);
    listed.said(&["other\t\t\tproject\tbroken: `aops-hook workflow check .aops/workflows/other.md`"]);
}

#[test]
fn links_and_pipes_in_a_project_do_no_harm() {
    let sandbox = Sandbox::new();
    let secret = sandbox.home().join("secret.md");
    fs::write(&secret, flow("out", "qa", "TOP SECRET")).unwrap();
    sandbox.put(".aops/workflows/loud.md", &flow("loud", "qa", "\u{1b}[31mred\u{1b}]0;title\u{7}"));
    let folder = sandbox.project().join(".aops/workflows");
    symlink(&secret, folder.join("out.md")).unwrap();
    assert!(sandbox.command("mkfifo").arg(folder.join("pipe.md")).output().unwrap().status.success());
    let checked = sandbox.person(&["workflow", "check"]);
    assert_eq!(checked.code, Some(1));
    let lines: Vec<_> = checked.out.lines().collect();
    let wanted = [
        ".aops/workflows/out.md:1: is a link out of the project",
        ".aops/workflows/pipe.md:1: is not a plain file",
        "2 problems in 13 workflows",
    ];
    assert_eq!(lines, wanted);
    sandbox.person(&["workflow", "show", "out"]).failed(2, &["there is no workflow `out`"]);
    let shown = sandbox.person(&["workflow", "show", "loud"]);
    shown.said(&["·[31mred·]0;title·"]);
    assert!(!shown.out.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn from_a_folder_below_it_is_the_same_project() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join(".git")).unwrap();
    sandbox.put(".aops/workflows/release.md", &flow("release", "qa", ""));
    sandbox.put("src/deep/file", "");
    let below = |arguments: &[&str]| {
        let mut command = sandbox.command(crate::support::BINARY);
        let output =
            command.args(arguments).current_dir(sandbox.project().join("src/deep")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(below(&["workflow", "list"]).contains("release\tcritic, qa\t1\tproject"), "found from below");
}
