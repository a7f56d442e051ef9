use super::*;
use crate::config::policy::ModeLevel;
use crate::config::workflow::Gate;
use crate::model::agent::AgentId;
use crate::model::call::{CallState, Effect, ToolResult};
use crate::model::debt::DebtId;
use crate::model::gate_id::GateId;
use crate::model::outcome::AgentVerdict;
use crate::model::phase::{Phase, Sandbox};
use crate::model::profile::{Hold, JailState, Loss, Losses, LostFile, Profile, Proof};
use crate::model::trigger::CheckpointTrigger;
use crate::model::verdict::Ruling;
use crate::session::agent_report::{AgentReport, PlanFor, WorkKind};
use crate::session::growth::{ChangedFile, Growth};
use crate::session::memory::{BroughtBack, ClientProcess, Signed, TaskProgress};
use crate::session::observed::{
    CommittedBy, Content, ExitSeen, ExitWitness, FileMode, FileSeen, HeadSeen, Observed, PromptSeen,
};
use crate::session::prompt::Prompt;
use crate::session::question::SecretFile;
use crate::text::json;
use crate::tool::tracking::Tracks;
use std::collections::BTreeMap;

fn undone() -> Undone {
    Undone {
        archive: "a".to_owned(),
        by: "b".to_owned(),
        id: "i".to_owned(),
        own: true,
        phase: Phase::Execute,
        result: "r".to_owned(),
        sandbox: Sandbox::Open,
        stage: RollbackState::Begun,
        state_only: false,
        target: "t".to_owned(),
        task: 1,
    }
}

fn observed() -> Observed {
    let content = || Some(Content { blob: "b".to_owned(), mode: FileMode::Link, sha256: "s".to_owned() });
    let file = || FileSeen { is: content(), path: "p".to_owned(), was: content() };
    let text = || Some("x".to_owned());
    let head = HeadSeen { branch: text(), commit: text(), log: Some(1), ..HeadSeen::default() };
    Observed {
        exit: Some(ExitSeen { code: 1, seen: ExitWitness::Client }),
        files: vec![file()],
        head: Some(head),
        outside: vec![file()],
        prompt: Some(PromptSeen { attended: true, ..PromptSeen::default() }),
        tree: text(),
        unseen: true,
    }
}

fn reached() -> Reached {
    let text = || Some("x".to_owned());
    Reached {
        connections: 1,
        down: 2,
        first: 3,
        host: "h".to_owned(),
        last: 4,
        port: 5,
        reason: text(),
        refused: 6,
        up: 7,
        word: text(),
    }
}

/// One of each kind with every optional field set.
#[expect(clippy::too_many_lines, reason = "every field of every fact")]
fn all() -> Vec<Fact> {
    let text = || Some("x".to_owned());
    let map = || BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let raw = || RawValue::from_string("{}".to_owned()).unwrap();
    let said = || Some(Said { gate: GateId::Rules.into(), reason: "r".to_owned(), ruling: Ruling::Deny.into() });
    let means = CallMeans {
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
        quiet: Some(Box::new(Quieted {
            environment: "e".to_owned(),
            hides: vec!["h".to_owned()],
            leads: "l".to_owned(),
            level: AnswerLevel::Contained,
            over: text(),
            proof: vec![Harmless { by: "b".to_owned(), command: "c".to_owned() }],
            reads: vec!["r".to_owned()],
            rules: 1,
        })),
        since_ms: Some(1),
        tests: true,
        tracks: vec![Tracks { ids: vec!["i".to_owned()], ..Tracks::default() }],
    };
    let asks = CallAsked {
        input: Some(raw()),
        means,
        schedules: text().map(Into::into),
        starts: Some(Starts::default()),
        timers_lost: true,
    };
    let grown = Growth { files: vec![ChangedFile::default()], more_files: 1, more_lines: 1 };
    let under = Under {
        hindered: true,
        hosts: vec![reached()],
        jailed: Some(Proof {
            exit: None,
            hold: Hold::Namespaces,
            profile: Profile::Work,
            lost: Losses {
                files: vec![LostFile { loss: Loss::Made, path: "p".to_owned() }],
                full_mb: Some(1),
                more: 1,
                ports: vec![1],
            },
        }),
        kept: Some(Kept {
            bytes: 5,
            digest: "d".to_owned(),
            files: 1,
            number: 17,
            pins: vec!["c".to_owned()],
            rule: text(),
            what: "1 file, 5 bytes".to_owned(),
        }),
        offline: true,
    };
    let end = CallEnded {
        drawn: Some(true),
        duration_ms: Some(1),
        launched: true,
        marks: Some(map()),
        measured: Measured { grown: Some(grown), lasts: true, moved: true, unchanged: true },
        plan: Some(Box::default()),
        rejected: true,
        result: Some(ToolResult::default()),
        todos: Some((1, 2)),
        under,
        unended: true,
    };
    let step = Step {
        agent_id: text(),
        agent_type: text(),
        asks: Some(Box::new(asks)),
        call: CallKey::of("Bash", "t"),
        denied: Some(CallDenied { outgrown: text(), rule: text(), told: true }),
        end: Some(Box::new(end)),
        from: Some(CallState::Pending),
        gate: Some(GateId::Rules.into()),
        input_sha256: "s".to_owned(),
        mode: text(),
        observed: Some(Box::new(observed())),
        prompt_id: text(),
        reason: text(),
        rehearsed: said(),
        to: CallState::Denied,
    };
    let seen = Seen {
        about: raw(),
        agent_id: text(),
        agent_type: text(),
        agentless: text(),
        anew: true,
        asks_plan: true,
        plan_hook: text(),
        plan_shown: Some(crate::session::memory::PlanShown::File(1)),
        baseline: Some(map()),
        baseline_before: Some("d".to_owned()),
        baseline_sha256: Some("d".to_owned()),
        beside: true,
        boot: text(),
        changed: vec!["f".to_owned()],
        clashes: vec!["c".to_owned()],
        client: Some(ClientProcess { pid: 1, started: "2".to_owned() }),
        dialog: true,
        event: "Stop".to_owned(),
        folders: Some(map()),
        foreign: text(),
        ends: true,
        goes_on: true,
        greets: text(),
        held: Some(BTreeMap::from([("a".to_owned(), vec!["b".to_owned()])])),
        jail: Some(JailState { hold: Hold::Namespaces, project: "p".to_owned(), trial: true, why: "w".to_owned() }),
        hosts: vec![reached()],
        leaves: true,
        linked: Some(map()),
        log: Some(Signed { origin: "o".to_owned(), size: 1 }),
        marks: Some(map()),
        meant: Some(Prompt::Command),
        mode: text(),
        no_git: true,
        observed: Some(Box::new(observed())),
        owed: Some(vec![DebtId::Commit.into()]),
        parked_paths: vec!["f".to_owned()],
        parks: Some(1),
        policy: Some(Box::default()),
        policy_hash: text(),
        prompt_id: text(),
        prompt_sha256: text(),
        reflection: Some(map()),
        rehearsed: said(),
        resumes: true,
        root: text(),
        run: text(),
        said: said(),
        shuts: true,
        starter: text(),
        takes_up: Some(1),
        timers: vec!["t".to_owned().into()],
        timers_lost: true,
        traceparent: text(),
        uncounted: true,
        unproven: text(),
        unstopped: true,
        waits: true,
    };
    let finding = AgentReport {
        acceptance_criteria: vec!["c".to_owned()],
        gates: vec![Gate::Qa.into()],
        intent: text(),
        issue: text(),
        kind: Some(WorkKind::Domain.into()),
        parked: Some(1),
        patterns: vec!["p".to_owned()],
        problems: vec!["p".to_owned()],
        reflection: map(),
        steps: vec!["s".to_owned()],
        task: Some(PlanFor::New.into()),
        verdict: Some(AgentVerdict::Ok.into()),
        workflow: text(),
    };
    let previous = Previous { folder: "f".to_owned(), head: "h".to_owned(), seq: 3 };
    let recovered = Recovered {
        executing: vec!["t".to_owned()],
        lost_after: Some(1),
        torn_bytes: Some(2),
        torn_file: text(),
        what: "w".to_owned(),
    };
    let (memory, state) = (Memory { progress: TaskProgress::default(), ..Memory::default() }, State::empty());
    vec![
        Fact::Open(Opened {
            folders: map(),
            policy: Some(Box::default()),
            previous: Some(previous),
            ..Opened::default()
        }),
        Fact::Event(Box::new(seen)),
        Fact::Call(step),
        Fact::Question(Asked { rule: text(), secret: Some(SecretFile::default()), ..Asked::default() }),
        Fact::Answer(Answered {
            ms: Some(1),
            rule: text(),
            secret: Some(SecretFile::default()),
            ..Answered::default()
        }),
        Fact::Block(Blocked { by: "b".to_owned(), reason: "r".to_owned() }),
        Fact::Unblock(Unblocked { by: "b".to_owned() }),
        Fact::Verdict(Reported {
            agent: AgentId::Critic.into(),
            agent_id: "a".to_owned(),
            finding: Some(finding),
            parked_paths: vec!["f".to_owned()],
            parks: Some(1),
            problem: text(),
            replans: true,
            sent_on: true,
            takes_up: Some(1),
            todos: Some((1, 2)),
            tree: text(),
        }),
        Fact::Waive(Waiver::default()),
        Fact::Task(TaskChosen { alone: true, at: Some(1), by: "b".to_owned(), held: true, how: TaskMove::Drop }),
        Fact::Check(Checked { output: "x".to_owned(), path: Some("y".to_owned()), ..Checked::default() }),
        Fact::Mode(ModeAsked { asked: "loop".to_owned(), level: Some(ModeLevel::Loop), refused: text() }),
        Fact::Run(Staged {
            outcome: Some(PhaseOutcome::Pass.into()),
            stage: Some(RunStep::default()),
            ..Staged::default()
        }),
        Fact::Violation(Violation {
            agent_id: text(),
            call: Some(CallKey::of("Bash", "t")),
            event: "e".to_owned(),
            said: said(),
            unasked: Some(Unasked { drawn: Some(true), effect: Effect::Write, grows: Some(ChangedFile::default()) }),
            violation: "v".to_owned(),
        }),
        Fact::Recovery(recovered),
        Fact::Checkpoint(Taken {
            digest: "d".to_owned(),
            id: "i".to_owned(),
            measures: true,
            trigger: CheckpointTrigger::Start.into(),
        }),
        Fact::Rollback(undone()),
        Fact::Undo(BroughtBack { files: 1, number: 2, told: true }),
        Fact::Commit(Committed {
            by: CommittedBy::Call(CallKey::of("Bash", "t")),
            commit: "c".to_owned(),
            before: text(),
            root: "r".to_owned(),
        }),
        Fact::Network(NetworkChanged { change: NetworkChange::Foreign, host: text(), what: text() }),
        Fact::Attest(Attested { commit: "c".to_owned(), last_entry: 1, statement_sha256: "s".to_owned() }),
        Fact::Insights(Concluded { insights: raw() }),
        Fact::Snapshot(Box::new(Snapshot { memory: memory.into(), state: state.into() })),
    ]
}

#[test]
fn the_plain_serialisation_is_the_canonical_form_and_comes_back() {
    for fact in all() {
        let (kind, with) = fact.stored();
        let json = json::read(&with).unwrap();
        assert_eq!(crate::text::json::canonical(&json), with, "{kind}");
        let again = Fact::read(kind, &with).unwrap_or_else(|| panic!("{kind} does not come back: {with}"));
        assert_eq!(again.stored(), (kind, with));
    }
}

#[test]
fn a_commit_mark_sorts_last() {
    for fact in all() {
        let (kind, with) = fact.stored();
        let json::Json::Object(members) = json::read(&with).unwrap() else { panic!("{kind} is no object") };
        assert!(members.iter().all(|(name, _)| name.as_ref() < "working_digest"), "{kind}: {with}");
    }
}
