//! Only a session that the driver started has a run's permissions: an environment variable proves nothing.

use super::world::World;
use serde_json::json;

#[test]
fn a_forged_variable_loosens_nothing() {
    let world = World::new(&[("one", "  - {id: one, name: One, description: o, run: 'true'}\n")]);
    world.run("one").passed();
    let run = world.runs()[0]["run_id"].as_str().unwrap().to_owned();
    let sandbox = crate::support::Sandbox::new().with("AOPS_RUN", run).with("AOPS_RUN_KEY", "guessed");
    let session = sandbox.session();
    let _ = session.start("startup");
    let asked = session.prompt("change everything");
    assert!(asked.out.contains("prompt-hydrator"), "an ordinary prompt asks for the loop: {asked:?}");
    let write = session.call("Bash", json!({"command": "touch x"}));
    session.pre(&write).refused(&["prompt-hydrator", "hint:"]);
    assert_eq!(session.state()["sandbox"], "shut");
}

/// A question is put off, run or not: that frees nobody, however often the client asks again.
#[test]
fn a_question_is_deferred_and_stays_one() {
    let rule = "[[rule]]\nid = \"r\"\ncommand = \"touch danger\"\naction = \"ask\"\nreason = \"first ask\"\n";
    let check =
        "[[check]]\nid = \"c\"\non = \"commit\"\nrun = \"echo first ask; false\"\noutcome = \"ASK_USER\"\n";
    // A waiver lifts checks, so there the sandbox is off instead.
    let unguarded = format!("{check}[gates]\nsandbox = \"off\"\n");
    for (config, prompt, line) in
        [(rule, ". go", "touch danger"), (&unguarded, "go", "git commit --allow-empty -m x")]
    {
        let sandbox = crate::support::Sandbox::new().with("AOPS_RUN", "some-run");
        sandbox.configure(config);
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt(prompt);
        let call = session.call("Bash", json!({"command": line}));
        for _ in 0..2 {
            let said = session.pre(&call).json();
            assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "defer", "{line}: {said}");
            session.end().silent();
        }
        assert_eq!(session.calls()[&call.id], ["PENDING"]);
        let inside = session.call("Bash", json!({"command": line})).by("a1", "helper");
        session.pre(&inside).refused(&["first ask"]);
    }
}
