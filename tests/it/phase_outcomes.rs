//! Each phase that is entered ends with exactly one outcome, in sessions of every course and in runs.

use crate::model::{Model, Turn};
use crate::runs::world::{World, agent, bash, proceed, verdict};
use crate::support::{Sandbox, Session};
use aops_core::model::phase::Phase;
use aops_core::session::fact::Fact;
use aops_core::session::fold;
use serde_json::{Value, json};

fn is_walked(phase: Phase) -> bool {
    !matches!(phase, Phase::Idle | Phase::Done | Phase::Halted)
}

/// The phases that ended, with their outcomes, if every entered one has one; folded anew from the entries.
#[track_caller]
fn outcomes(entries: &[Value]) -> Vec<(String, String)> {
    let (mut session, mut open, mut all) = (fold::Session::default(), None, Vec::new());
    for entry in entries {
        let (kind, with) = (entry["type"].as_str().unwrap(), &entry["with"]);
        let fact = Fact::read(kind, &with.to_string()).unwrap();
        // What a hook hears between the end of a session and its next start belongs to no phase.
        let (before, in_step) =
            (session.state.phase, session.memory.run.is_some() || session.state.ended_at.is_some());
        session.apply(entry["trace_id"].as_str().unwrap(), entry["ts"].as_str().unwrap(), &fact).unwrap();
        let after = session.state.phase;
        for end in ["ended", "also_ended"].iter().filter_map(|key| with.get(key)) {
            let phase = Phase::of(end["phase"].as_str().unwrap()).unwrap();
            let verdict = phase == Phase::Verify && kind == "verdict" && with["agent"] == "qa-verifier";
            assert!(
                open.take_if(|open| *open == phase).is_some() || verdict,
                "{phase:?} was not entered: {entry:#}"
            );
            all.push((phase.name().to_owned(), end["outcome"].as_str().unwrap().to_owned()));
        }
        if before != after && !in_step && kind != "run" {
            assert!(open.is_none(), "{open:?} was left without an outcome: {entry:#}");
            let wanted = is_walked(after).then(|| after.name());
            assert_eq!(with.get("entered").and_then(Value::as_str), wanted, "{entry:#}");
        }
        if let Some(entered) = with.get("entered") {
            assert_eq!(open, None, "entered twice: {entry:#}");
            open = Phase::of(entered.as_str().unwrap());
        }
    }
    assert_eq!(open, None, "left without an outcome at the end: {all:?}");
    all
}

fn report(session: &Session, agent: &str, block: &Value) {
    let id = format!("a{}", session.entries().len());
    let _ = session.begin_agent(&id, agent);
    let words = format!("```aops\n{block}\n```");
    let fields = json!({"agent_id": id, "agent_type": agent, "last_assistant_message": words});
    let _ = session.event("SubagentStop", fields);
}

/// One of the things that happen in sessions.
fn happens(session: &Session, what: usize) {
    let plan = |task: &str| json!({"workflow": "feature-dev", "intent": "i", "task": task, "acceptance_criteria": ["c"], "steps": ["s"]});
    let review = |word: &str| json!({"verdict": word, "acceptance_criteria": ["c"], "problems": ["p"]});
    let qa = |word: &str| json!({"verdict": word, "issues": ["i"]});
    match what {
        0 => drop(session.prompt("make it better")),
        1 => drop(session.prompt(". just do it")),
        2 => report(session, "prompt-hydrator", &plan("new")),
        3 => report(session, "prompt-hydrator", &plan("continue")),
        4 | 5 => report(session, "critic", &review("PROCEED")),
        6 => report(session, "critic", &review("REVISE")),
        7 => report(session, "critic", &review("HALT")),
        8 | 9 => drop(session.write(&format!("f{}.txt", session.entries().len()))),
        10 | 11 => report(session, "qa-verifier", &qa("VERIFIED")),
        12 => report(session, "qa-verifier", &qa("ISSUES")),
        13 => drop(session.stop("Done.")),
        14 => drop(session.reflect()),
        15 => {
            let _ = session.end();
            let _ = session.start("resume");
        }
        _ => drop(session.end()),
    }
}

/// Courses of sessions by a generator whose seed is the number of the course: what fails once fails always.
#[test]
fn every_phase_of_any_session_has_one_outcome() {
    let mut seen = std::collections::BTreeSet::new();
    for course in 0..16_u64 {
        let sandbox = Sandbox::repository("0.0");
        let session = sandbox.session();
        let _ = session.start("startup");
        let mut dice = course;
        // Half of them begin as work does, so that its later phases are reached.
        let begin: &[usize] = if course % 2 == 0 { &[0, 2, 4, 8] } else { &[] };
        for what in begin {
            happens(&session, *what);
        }
        for _ in 0..14 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            happens(&session, usize::try_from((dice >> 33) % 17).unwrap());
        }
        let _ = session.end();
        seen.extend(outcomes(&session.entries()));
    }
    for phase in ["hydrate", "review", "execute", "verify", "intervene", "reflect"] {
        assert!(seen.iter().any(|(one, _)| one == phase), "no course came to {phase}: {seen:?}");
    }
}

/// The verifier is started before the first stop, as the loop recommends: `verify` has its outcome all the
/// same.
#[test]
fn verify_has_an_outcome_on_the_recommended_path() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.qa("ISSUES").silent();
    session.write("a.txt").silent();
    session.qa("ISSUES").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add a.txt && git commit -q -m a && git push -q");
    session.stop("Done.").silent();
    let all = outcomes(&session.entries());
    let all: Vec<String> = all.iter().map(|(phase, outcome)| format!("{phase} {outcome}")).collect();
    let again = "verify INTERVENTION_REQUIRED";
    let wanted = [
        "execute PASS", again, "intervene PASS", again, "intervene PASS", "verify PASS", "reflect PASS",
        "close PASS",
    ];
    assert_eq!(all[all.len() - wanted.len()..], wanted);
    let log = sandbox.person(&["log", &session.id]);
    log.said(&["[execute ends: PASS]  [verify ends: INTERVENTION_REQUIRED]"]);
}

#[test]
fn every_step_of_a_run_has_one_outcome() {
    let steps = "  - {id: plan, name: Plan, description: look around, phase: hydrate}
  - {id: design, name: Design, description: have it reviewed, agent: critic, phase: review}
  - {id: build, name: Build, description: make it, phase: execute}
  - {id: review, name: Review, description: look, agent: qa-verifier, phase: verify}
  - {id: end, name: End, description: end it, phase: close}
";
    let say = |words: &str| vec![Turn::text(words)];
    let by = |name: &str| vec![agent(name), Turn::text("It has spoken.")];
    let turns = [
        say("Planned."),
        by("critic"),
        say("Planned."),
        by("critic"),
        say("Shall it be tabs?"),
        vec![bash("echo built >> effects"), Turn::text("Built.")],
        by("qa-verifier"),
        say("Mended."),
        by("qa-verifier"),
        vec![bash("git add -A && git commit -qm all"), Turn::text("Closed.")],
    ];
    let revise = verdict(&json!({"verdict": "REVISE", "acceptance_criteria": [], "problems": ["too vague"]}));
    let model = Model::new(turns.concat())
        .agent("You review a plan", [revise])
        .agent("You review a plan", [proceed()])
        .agent(
            "You find out whether the work does",
            [verdict(&json!({"verdict": "ISSUES", "issues": ["stale"]}))],
        )
        .agent(
            "You find out whether the work does",
            [verdict(&json!({"verdict": "VERIFIED", "issues": []}))],
        );
    let world = World::with(&model, &[("w", steps)]);
    world.run("w").paused("ESCALATION_REQUESTED");
    world.person(&["resolve", &world.checkpoint(), "--answer", "tabs", "--yes"]).said(&["APPROVED"]);
    world.resume(&world.checkpoint()).passed();
    let all = outcomes(&world.session().entries());
    let all: Vec<String> = all.iter().map(|(phase, outcome)| format!("{phase} {outcome}")).collect();
    let wanted = [
        "hydrate PASS",
        "review INTERVENTION_REQUIRED",
        "hydrate PASS",
        "review PASS",
        "execute ASK_USER",
        "execute PASS",
        "verify INTERVENTION_REQUIRED",
        "intervene PASS",
        "verify PASS",
        "close PASS",
    ];
    assert_eq!(all, wanted);
    // In the attempt ledger every attempt that was begun ends once: it is done, or the run pauses at it.
    let mut open = None;
    for deed in world.deeds() {
        match deed["kind"].as_str().unwrap() {
            "STEP" => assert_eq!(open.replace(deed["with"]["step"].clone()), None, "{deed}"),
            "DONE" | "CHECKPOINT" => assert_eq!(open.take(), Some(deed["with"]["step"].clone()), "{deed}"),
            _ => {}
        }
    }
    assert_eq!(open, None);
}
