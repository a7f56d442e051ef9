use super::*;
use crate::config::policy::ModeLevel;
use crate::model::agent::AgentId;
use crate::model::call::{CallKey, CallState, Effect};
use crate::model::gate_id::GateId;
use crate::model::outcome::AgentVerdict;
use crate::model::profile::{Hold, JailState, Profile};
use crate::session::agent_report::WorkKind;
use crate::session::call_means::{CallMeans, Jailing};
use crate::session::growth::{ChangedFile, Growth};
use crate::session::kept_count::KeptCount;
use crate::session::memory::*;
use crate::session::observed::{CommitMade, HeadSeen, Trail};
use crate::session::question::{Answered, Question, Questions, SecretFile, Unproven};
use crate::session::quiet_count::QuietCount;
use crate::session::quieted::Quieted;
use crate::text::json;
use crate::text::stored::canonical;
use crate::tool::tracking::Tracks;
use aops_ledger::heads::Signed;

fn undone() -> Undone {
    let text = |text: &str| text.to_owned();
    Undone {
        archive: text("a"),
        by: text("b"),
        id: text("i"),
        own: true,
        phase: Phase::Execute,
        result: text("r"),
        sandbox: Sandbox::Open,
        stage: RollbackState::Begun,
        state_only: false,
        target: text("t"),
        task: 1,
    }
}

/// Every optional field set, every list with something in it: what is not in sorted order shows.
fn full() -> (State, Memory) {
    let text = || Some("x".to_owned());
    let map = || BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let memory = Memory {
        agentless: text(),
        chosen: Some(ModeAsked { asked: "loop".to_owned(), level: Some(ModeLevel::Loop), refused: text() }),
        client: Some(ClientProcess { pid: 1, started: "2".to_owned() }),
        at_work: vec![AtWork { agent_id: text(), ..AtWork::default() }],
        baseline_sha256: Some("d".to_owned()),
        boot: "b".to_owned(),
        calls: vec![OpenCall {
            agent_id: text(),
            call: CallKey::of("Bash", "t"),
            input_sha256: "s".to_owned(),
            means: CallMeans {
                deferred: true,
                effect: Some(Effect::Write),
                formats: true,
                grows: Some(ChangedFile::default()),
                jailing: Jailing {
                    keeps: Some(vec!["git-discard".to_owned()]),
                    line_sha256: text(),
                    online: true,
                    profile: Some(Profile::Trial),
                    wants: vec!["h".to_owned()],
                },
                quiet: Some(Box::new(Quieted::default())),
                since_ms: Some(1),
                tests: true,
                tracks: vec![Tracks { ids: vec!["i".to_owned()], ..Tracks::default() }],
            },
            prompt_id: text(),
            question: Some(Question { rule: text(), secret: Some(SecretFile::default()), ..Question::default() }),
            reason: text(),
            state: CallState::Pending,
        }],
        progress: TaskProgress {
            agents: vec![Started::default()],
            baseline_before: text(),
            before: Some((Phase::Done, Sandbox::Open)),
            formatted: true,
            friction: true,
            issues: vec![IssueInHand::default()],
            kind: Some(WorkKind::Domain.into()),
            rejected: true,
            resumed: true,
            unsynced: text(),
            grown: Growth { files: vec![ChangedFile::default()], more_files: 1, more_lines: 1 },
            moved: 1,
            outgrown: text(),
            plan_asked: text(),
            plan_shown: Some(PlanShown::File(1)),
            planned_todos: true,
            start: text(),
            tested: true,
            told_no_git: true,
            told_offline: Some(1),
            told_unsaved: Some(1),
            audit_rehearsed: true,
            unmeasured_ms: Some(1),
            unplanned: true,
            verified_tree: text(),
            waivers: vec![Waiver::default()],
            ..TaskProgress::default()
        },
        brought_back: Some(BroughtBack { files: 1, number: 2, told: false }),
        clashes: vec!["c".to_owned()],
        folders: map(),
        greets: Some("g".to_owned()),
        held: BTreeMap::from([("a".to_owned(), vec!["b".to_owned()])]),
        invocations: BTreeMap::from([("a".to_owned(), 1)]),
        jail: Some(JailState { hold: Hold::Namespaces, project: "p".to_owned(), trial: true, why: "w".to_owned() }),
        linked: map(),
        log: Some(Signed { origin: "o".to_owned(), size: 1 }),
        marks: map(),
        policy: Some(Box::default()),
        parked: vec![Parked {
            asked: true,
            audit_due: true,
            baseline_sha256: text(),
            critic_verdict: Some(AgentVerdict::Revise.into()),
            hydrated_intent: text(),
            intent: text(),
            original_prompt: text(),
            paths: vec!["f".to_owned()],
            wanted: true,
            workflow: text(),
            ..Parked::default()
        }],
        prompted: Some(Prompted { id: "p".to_owned(), open: true, sha256: "s".to_owned() }),
        questions: Questions {
            asked: 1,
            last: Some(Answered { ms: Some(1), rule: text(), ..Answered::default() }),
            secrets: vec![SecretFile::default()],
            seen: 1,
            unproven: vec![Unproven { agent_id: text(), ..Unproven::default() }],
            ..Questions::default()
        },
        root: "r".to_owned(),
        run: Some(RunStep {
            agent: Some(AgentId::Critic.into()),
            approved: text(),
            failing: vec!["f".to_owned()],
            note: text(),
            refused: text(),
            refused_by: Some(GateId::Rules.into()),
            verifies: true,
            waived: vec!["w".to_owned()],
            ..RunStep::default()
        }),
        shadowed: text(),
        synced: 1,
        timers: vec!["t".to_owned().into()],
        timers_lost: true,
        elsewhere: true,
        plan_hook: text(),
        told_plan_hook: true,
        told_way_out: true,
        trail: Trail {
            commits: vec![CommitMade { attested: 1, ..CommitMade::default() }],
            heads: vec![HeadSeen { branch: text(), commit: text(), log: Some(1), ..HeadSeen::default() }],
        },
        kept: Some(KeptCount { newest: 17, times: 3 }),
        quiet: Some(QuietCount { answered: 1, hindered: vec!["d".to_owned()], off: text() }),
        undoing: Some(Box::new(undone())),
        undone: Some(Box::new(undone())),
        unproven: Some("u".to_owned()),
    };
    let subagent = Subagent {
        acceptance_criteria: vec!["c".to_owned()],
        last_invoked: "l".to_owned(),
        result: text(),
        verdict: text(),
    };
    let mut state = State::empty();
    state.digest = text();
    state.ledger = Some(Witness { memory: memory.clone().into(), ..Witness::default() });
    state.subagents = BTreeMap::from([("critic".to_owned(), subagent)]);
    state.task = Some(Task::default());
    (state, memory)
}

#[test]
fn the_plain_serialisation_is_the_canonical_form() {
    let (state, memory) = full();
    for text in [canonical(&state), canonical(&memory)] {
        assert_eq!(json::canonical(&json::read(&text).unwrap()), text);
    }
}
