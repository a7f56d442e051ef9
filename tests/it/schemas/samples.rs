//! Every stored type twice: with all it can hold and with the least. Written out whole, so that a new field is noticed.

use aops_core::checkpoint::form::{
    AgentState, AgentStatus, Checkpoint, CheckpointKind, GateOutcome, Governance, Identity, Intake, Invocations,
    Orchestrator, Timing, TokenUsage, ToolInvocation,
};
use aops_core::checkpoint::tree::{Artifacts, File, Folder, LeftOut};
use aops_core::config::policy::check::Moment;
use aops_core::config::policy::{ModeLevel, Policy};
use aops_core::model::call::{CallKey, CallState, Effect, ToolResult};
use aops_core::model::named::{Named, Stored};
use aops_core::model::outcome::PhaseOutcome;
use aops_core::model::phase::Phase;
use aops_core::model::phase::Sandbox;
use aops_core::model::profile::{Hold, JailState, Loss, Losses, LostFile, Profile, Proof};
use aops_core::session::agent_report::AgentReport;
use aops_core::session::fact::{
    Blocked, CallAsked, CallDenied, CallEnded, CallMeans, Checked, Concluded, FORMAT, Fact, Jailing, Kept, Measured,
    NetworkChange, NetworkChanged, Opened, Previous, Reached, Recovered, Reported, Said, Seen, Snapshot, Staged,
    Starts, Step, Taken, TaskChosen, TaskMove, Unasked, Unblocked, Under, Violation,
};
use aops_core::session::growth::{ChangedFile, Growth};
use aops_core::session::kept_count::KeptCount;
use aops_core::session::memory::{
    AtWork, BroughtBack, ClientProcess, IssueInHand, LastRun, Memory, ModeAsked, OpenCall, Parked, PlanShown, Prompted,
    RollbackState, RunStep, Started, TaskProgress, Undone, Waiver, Witness,
};
use aops_core::session::observed::{
    Attested, CommitMade, Committed, CommittedBy, Content, ExitSeen, ExitWitness, FileMode, FileSeen, HeadSeen,
    Observed, PromptSeen, Trail,
};
use aops_core::session::prompt::Prompt;
use aops_core::session::question::{Answered, Answerer, Asked, Question, Questions, SecretFile, Unproven};
use aops_core::session::quiet_count::QuietCount;
use aops_core::session::quieted::{AnswerLevel, Harmless, Quieted};
use aops_core::session::state::{Audit, Flags, Hydration, MainAgent, State, Stopping, Subagent, Task};
use aops_core::text::sha256::{NO_DIGEST, Sum};
use aops_core::tool::tracking::{How, Tracks};
use aops_ledger::heads::Signed;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

fn text() -> String {
    "text".to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "stands where the type has an option")]
fn some() -> Option<String> {
    Some(text())
}

fn stored<T: Named>() -> Stored<T> {
    Stored::of(&text())
}

fn digest() -> String {
    NO_DIGEST.to_owned()
}

fn moment() -> String {
    "2026-01-13T10:00:00.123Z".to_owned()
}

fn map() -> BTreeMap<String, String> {
    BTreeMap::from([("HOME".to_owned(), "/home/user".to_owned())])
}

fn raw() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap()
}

fn key() -> CallKey {
    CallKey { id: text(), server: text(), tool: text() }
}

fn said() -> Said {
    Said { gate: stored(), reason: text(), ruling: stored() }
}

fn changed() -> ChangedFile {
    ChangedFile { is: digest(), lines: 1, path: text(), was: String::new() }
}

fn growth() -> Growth {
    Growth { files: vec![changed()], more_files: 1, more_lines: 1 }
}

fn short() -> Growth {
    Growth { files: vec![changed()], ..Growth::default() }
}

fn tracks() -> Vec<Tracks> {
    let full = Tracks { by: text(), how: How::Claims, ids: vec![text()] };
    let one = |how| Tracks { how, ids: Vec::new(), ..full.clone() };
    vec![full.clone(), one(How::Leaves), one(How::Changes), one(How::Syncs)]
}

fn reached() -> Vec<Reached> {
    let full = Reached {
        connections: 1,
        down: 1,
        first: 1,
        host: text(),
        last: 1,
        port: 443,
        reason: some(),
        refused: 1,
        up: 1,
        word: some(),
    };
    vec![full, Reached { host: text(), port: 443, ..Reached::default() }]
}

fn jailing() -> Jailing {
    Jailing {
        keeps: Some(vec![text()]),
        line_sha256: Some(digest()),
        online: true,
        profile: Some(Profile::Trial),
        wants: vec![text()],
    }
}

/// What a call can mean, from the most to the least.
fn meanings() -> [CallMeans; 5] {
    let full = CallMeans {
        deferred: true,
        effect: Some(Effect::Write),
        formats: true,
        grows: Some(changed()),
        jailing: jailing(),
        quiet: Some(Box::new(quieted())),
        since_ms: Some(1),
        tests: true,
        tracks: tracks(),
    };
    let least = CallMeans {
        deferred: false,
        effect: None,
        formats: false,
        grows: None,
        jailing: Jailing { online: true, ..Jailing::default() },
        quiet: Some(Box::new(plainly_quieted())),
        since_ms: None,
        tests: false,
        tracks: Vec::new(),
    };
    let held = Jailing { online: false, profile: Some(Profile::Read), ..least.jailing.clone() };
    let plain = CallMeans { effect: Some(Effect::Write), ..CallMeans::default() };
    [full, CallMeans { jailing: held, quiet: None, ..least.clone() }, least, plain, CallMeans::default()]
}

fn calls() -> Vec<OpenCall> {
    let [most, held, least, plain, nothing] = meanings();
    let question = Question { gate: stored(), line: text(), rule: some(), secret: Some(secret()), since: moment() };
    let guarded = Question { gate: stored(), line: text(), rule: None, secret: None, since: moment() };
    let full = OpenCall {
        agent_id: some(),
        call: key(),
        input_sha256: digest(),
        means: most,
        prompt_id: some(),
        question: Some(question),
        reason: some(),
        state: CallState::Pending,
    };
    let bare =
        |means| OpenCall { agent_id: None, means, prompt_id: None, question: None, reason: None, ..full.clone() };
    let guarded = OpenCall { question: Some(guarded), ..full.clone() };
    vec![guarded, full.clone(), bare(held), bare(least), bare(plain), bare(nothing)]
}

fn quieted() -> Quieted {
    Quieted {
        environment: digest(),
        hides: vec![text()],
        leads: digest(),
        level: AnswerLevel::Reading,
        over: some(),
        proof: vec![Harmless { by: text(), command: text() }],
        reads: vec![text()],
        rules: 1,
    }
}

fn plainly_quieted() -> Quieted {
    Quieted { hides: Vec::new(), over: None, reads: Vec::new(), ..quieted() }
}

fn answered() -> Answered {
    Answered {
        allowed: true,
        by: Answerer::Person,
        call: key(),
        gate: stored(),
        line: text(),
        ms: Some(1),
        rule: some(),
        secret: Some(secret()),
    }
}

fn secret() -> SecretFile {
    SecretFile { path: text(), reads: true }
}

fn questions() -> Questions {
    let least = Answered { ms: None, rule: None, secret: None, ..answered() };
    Questions {
        allowed: 1,
        asked: 1,
        last: Some(answered()),
        refused: 0,
        secrets: vec![secret()],
        seen: 1,
        unproven: vec![
            Unproven { agent_id: some(), answered: answered(), since: moment() },
            Unproven { agent_id: None, answered: least, since: moment() },
        ],
    }
}

fn course() -> TaskProgress {
    let started =
        Started { agent_id: text(), client: text(), done: false, prompt_count: 1, name: stored(), sent_on: 0, task: 1 };
    TaskProgress {
        agents: vec![started],
        audit_rehearsed: true,
        auditing: false,
        baseline_before: Some(digest()),
        before: Some((Phase::Execute, Sandbox::Open)),
        checks: [(text(), LastRun { ending: text().into(), outcome: stored() })].into(),
        prompt_count: 1,
        formatted: true,
        friction: true,
        gates: vec![stored()],
        grown: growth(),
        issues: vec![IssueInHand { id: text(), prompt_count: 1 }],
        kind: Some(stored()),
        let_go: false,
        moved: 1,
        outgrown: some(),
        plan_asked: some(),
        plan_shown: Some(PlanShown::Text(Box::new(report()))),
        planned_todos: true,
        problems: vec![text()],
        reflected: false,
        rejected: true,
        resumed: true,
        rounds: 0,
        start: some(),
        steps: vec![text()],
        task_prompt_count: 1,
        tested: true,
        told_no_git: true,
        told_offline: Some(1),
        told_unsaved: Some(1),
        unmeasured_ms: Some(1),
        unplanned: true,
        unsynced: some(),
        verified: false,
        verified_tree: some(),
        waivers: vec![waiver()],
        writes_at_prompt: 2,
        writes_since_draw: 0,
    }
}

fn checked() -> Checked {
    Checked {
        ending: text().into(),
        id: text(),
        ms: 1,
        on: Moment::Stop,
        outcome: PhaseOutcome::Pass.into(),
        output: text(),
        path: some(),
        run: text(),
        timeout_ms: 100,
    }
}

fn stage() -> RunStep {
    RunStep {
        agent: Some(stored()),
        approved: some(),
        closes: false,
        failing: vec![text()],
        key_sha256: digest(),
        note: some(),
        phase: Phase::Execute,
        prompted: false,
        refused: some(),
        refused_by: Some(stored()),
        run_id: text(),
        sandbox: Sandbox::Open,
        step: text(),
        verdict: some(),
        verifies: true,
        waived: vec![text()],
    }
}

/// A step of which nothing is known yet.
fn begun() -> RunStep {
    let (failing, waived) = (Vec::new(), Vec::new());
    let nothing = RunStep { agent: None, approved: None, note: None, verdict: None, ..stage() };
    RunStep { failing, waived, verifies: false, refused: None, refused_by: None, ..nothing }
}

fn waiver() -> Waiver {
    Waiver { gate: text().into(), reason: text(), until_ms: 1 }
}

fn undone() -> Undone {
    Undone {
        archive: text(),
        by: text(),
        id: text(),
        own: true,
        phase: Phase::Execute,
        result: text(),
        sandbox: Sandbox::Open,
        stage: RollbackState::Begun,
        state_only: false,
        target: text(),
        task: 1,
    }
}

fn report() -> AgentReport {
    AgentReport {
        acceptance_criteria: vec![text()],
        gates: vec![stored()],
        intent: some(),
        issue: some(),
        kind: Some(stored()),
        parked: Some(1),
        patterns: vec![text()],
        problems: vec![text()],
        reflection: map(),
        steps: vec![text()],
        task: Some(stored()),
        verdict: Some(stored()),
        workflow: some(),
    }
}

fn reported() -> Reported {
    let (agent, agent_id, finding) = (stored(), text(), Some(report()));
    Reported {
        agent,
        agent_id,
        finding,
        parked_paths: vec![text()],
        parks: Some(1),
        problem: some(),
        replans: true,
        sent_on: false,
        takes_up: Some(1),
        todos: Some((0, 1)),
        tree: some(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "stands where the type has an option")]
fn policy() -> Option<Box<Policy>> {
    Some(Box::default())
}

fn held() -> BTreeMap<String, Vec<String>> {
    BTreeMap::from([("settings.json".to_owned(), vec!["Stop".to_owned()])])
}

fn client() -> ClientProcess {
    ClientProcess { pid: 1, started: text() }
}

fn asked() -> ModeAsked {
    ModeAsked { asked: text(), level: Some(ModeLevel::Loop), refused: some() }
}

/// Nothing is asked for any more.
fn unheld() -> ModeAsked {
    ModeAsked { asked: text(), level: None, refused: None }
}

fn jail() -> JailState {
    JailState { hold: Hold::Namespaces, project: text(), trial: true, why: text() }
}

fn unjailed() -> JailState {
    JailState { trial: false, why: String::new(), ..jail() }
}

fn proof() -> Proof {
    let files = vec![LostFile { loss: Loss::Made, path: text() }];
    Proof {
        exit: None,
        hold: Hold::Namespaces,
        profile: Profile::Work,
        lost: Losses { files, full_mb: Some(1), more: 1, ports: vec![80] },
    }
}

fn unasked() -> Unasked {
    Unasked { drawn: Some(true), effect: Effect::Write, grows: Some(changed()) }
}

/// A prompt whose turn is over.
fn over() -> Prompted {
    Prompted { id: text(), open: false, sha256: digest() }
}

fn parked() -> Parked {
    Parked {
        acceptance_criteria: vec![text()],
        asked: true,
        audit_due: true,
        baseline_sha256: Some(digest()),
        critic_verdict: Some(stored()),
        files: 1,
        hydrated_intent: some(),
        intent: some(),
        original_prompt: some(),
        paths: vec![text()],
        phase: Phase::Execute,
        progress: Box::new(course()),
        sandbox: Sandbox::Open,
        wanted: true,
        workflow: some(),
        writes: 1,
    }
}

fn unplanned() -> Parked {
    Parked {
        asked: false,
        audit_due: false,
        baseline_sha256: None,
        critic_verdict: None,
        hydrated_intent: None,
        intent: None,
        original_prompt: None,
        paths: Vec::new(),
        progress: Box::new(calm_course()),
        wanted: false,
        workflow: None,
        ..parked()
    }
}

fn signed() -> Signed {
    Signed { origin: text(), size: 1 }
}

fn memory() -> Memory {
    Memory {
        agentless: some(),
        at_work: vec![
            AtWork { agent_id: some(), call: text(), client: text(), name: stored(), since: moment() },
            AtWork { agent_id: None, call: text(), client: text(), name: stored(), since: moment() },
        ],
        baseline_sha256: Some(digest()),
        boot: text(),
        brought_back: Some(BroughtBack { files: 1, number: 2, told: false }),
        clashes: vec!["critic".to_owned()],
        calls: calls(),
        chosen: Some(asked()),
        client: Some(client()),
        progress: course(),
        elsewhere: true,
        folders: map(),
        greets: some(),
        held: held(),
        invocations: BTreeMap::from([("critic".to_owned(), 1)]),
        jail: Some(jail()),
        linked: map(),
        log: Some(signed()),
        marks: map(),
        policy: policy(),
        parked: vec![parked(), unplanned()],
        prompted: Some(Prompted { id: text(), open: true, sha256: digest() }),
        questions: questions(),
        root: text(),
        run: Some(stage()),
        shadowed: some(),
        synced: 1,
        timers: vec![digest().into()],
        timers_lost: true,
        plan_hook: some(),
        told_plan_hook: true,
        kept: Some(KeptCount { newest: 17, times: 3 }),
        quiet: Some(QuietCount { answered: 1, hindered: vec![digest()], off: some() }),
        told_way_out: true,
        trail: trail(),
        undoing: Some(Box::new(undone())),
        undone: Some(Box::new(undone())),
        unproven: some(),
    }
}

fn calm_course() -> TaskProgress {
    TaskProgress {
        baseline_before: None,
        before: None,
        checks: BTreeMap::new(),
        formatted: false,
        friction: false,
        grown: Growth::default(),
        issues: Vec::new(),
        kind: None,
        moved: 0,
        outgrown: None,
        plan_asked: None,
        plan_shown: None,
        planned_todos: false,
        rejected: false,
        resumed: false,
        start: None,
        tested: false,
        audit_rehearsed: false,
        told_no_git: false,
        told_offline: None,
        told_unsaved: None,
        unmeasured_ms: None,
        unplanned: false,
        unsynced: None,
        verified_tree: None,
        ..course()
    }
}

/// A person was asked about a plan whose text was not in the question.
fn shown_a_file() -> Memory {
    let calm = calm();
    Memory { progress: TaskProgress { plan_shown: Some(PlanShown::File(1)), ..calm.progress }, ..calm }
}

/// The same in a task that nothing interrupted.
fn calm() -> Memory {
    Memory {
        clashes: Vec::new(),
        progress: calm_course(),
        policy: None,
        plan_hook: None,
        timers_lost: false,
        told_plan_hook: false,
        questions: Questions::default(),
        agentless: None,
        elsewhere: false,
        brought_back: None,
        chosen: None,
        client: None,
        jail: None,
        baseline_sha256: None,
        run: None,
        shadowed: None,
        at_work: Vec::new(),
        log: None,
        greets: None,
        parked: Vec::new(),
        prompted: None,
        timers: Vec::new(),
        kept: None,
        quiet: None,
        told_way_out: false,
        trail: Trail::default(),
        undoing: None,
        undone: None,
        unproven: None,
        ..memory()
    }
}

fn state() -> State {
    let full = Subagent { acceptance_criteria: vec![text()], last_invoked: moment(), result: some(), verdict: some() };
    let least = Subagent { acceptance_criteria: Vec::new(), result: None, verdict: None, ..full.clone() };
    State {
        audit: Audit { done: 0, drawn: 0, due: false, writes_since: 0 },
        date: "2026-01-13".to_owned(),
        digest: None,
        ended_at: Some(moment()),
        hydration: Hydration {
            acceptance_criteria: vec![text()],
            critic_verdict: Some(stored()),
            hydrated_intent: some(),
            original_prompt: some(),
        },
        insights: Some(raw()),
        ledger: None,
        main_agent: MainAgent { current_task: some(), todos_completed: 0, todos_total: 0 },
        phase: Phase::Idle,
        policy_hash: digest(),
        sandbox: Sandbox::Shut,
        schema: aops_core::session::state::SCHEMA,
        session_id: text(),
        started_at: moment(),
        state: Flags {
            current_workflow: some(),
            custodiet_block_reason: some(),
            custodiet_blocked: false,
            hydration_pending: false,
        },
        stop: Stopping { owed: vec![stored()], refusals: 0 },
        subagents: BTreeMap::from([("critic".to_owned(), full), ("other".to_owned(), least)]),
        task: Some(Task { intent: some(), n: 1, waiver: Some(stored()), writes: 0 }),
    }
}

/// The same with every `null` that can be.
fn bare() -> State {
    State {
        ended_at: None,
        hydration: Hydration { acceptance_criteria: vec![text()], ..Hydration::default() },
        insights: None,
        main_agent: MainAgent::default(),
        state: Flags::default(),
        task: None,
        ..state()
    }
}

/// `session-state.json` as it stands on disk.
pub(crate) fn states() -> Vec<Value> {
    let witness = Witness {
        binary: "0.2.0".to_owned(),
        bytes: 1,
        format: FORMAT,
        head: digest(),
        last: 1,
        memory: memory().into(),
        seq: 1,
        snapshot: (0, 0),
    };
    let waiting = State { task: Some(Task { intent: None, n: 1, waiver: None, writes: 0 }), ..state() };
    let on_disk = |(state, memory): (State, Memory)| {
        let ledger = Some(Witness { memory: memory.into(), ..witness.clone() });
        State { digest: Some(digest()), ledger, ..state }
    };
    let last = Some(Answered { ms: None, rule: None, secret: None, ..answered() });
    let questions = Questions { asked: 1, last, ..Questions::default() };
    let shown = Memory { chosen: Some(unheld()), jail: Some(unjailed()), prompted: Some(over()), ..shown_a_file() };
    [(state(), memory()), (bare(), calm()), (waiting, Memory { questions, ..shown })]
        .map(on_disk)
        .iter()
        .map(|state| serde_json::to_value(state).unwrap())
        .collect()
}

fn seen() -> Seen {
    Seen {
        about: raw(),
        agent_id: some(),
        agent_type: some(),
        agentless: some(),
        anew: true,
        asks_plan: true,
        plan_hook: some(),
        plan_shown: Some(PlanShown::Text(Box::new(report()))),
        baseline: Some(map()),
        baseline_before: Some(digest()),
        baseline_sha256: Some(digest()),
        beside: true,
        boot: some(),
        changed: vec![text()],
        clashes: vec!["critic".to_owned()],
        client: Some(client()),
        dialog: true,
        ends: true,
        event: text(),
        folders: Some(map()),
        foreign: some(),
        goes_on: true,
        greets: some(),
        held: Some(held()),
        jail: Some(jail()),
        hosts: reached(),
        leaves: true,
        linked: Some(map()),
        log: Some(signed()),
        marks: Some(map()),
        meant: Some(Prompt::Command),
        mode: some(),
        no_git: true,
        observed: Some(Box::new(observed())),
        owed: Some(vec![stored()]),
        parked_paths: vec![text()],
        parks: Some(1),
        policy: policy(),
        policy_hash: Some(digest()),
        prompt_id: some(),
        prompt_sha256: Some(digest()),
        reflection: Some(map()),
        rehearsed: Some(said()),
        resumes: true,
        root: some(),
        run: some(),
        said: Some(said()),
        shuts: true,
        starter: some(),
        takes_up: Some(1),
        timers: vec![digest().into()],
        timers_lost: true,
        traceparent: some(),
        uncounted: true,
        unproven: some(),
        unstopped: true,
        waits: true,
    }
}

fn observed() -> Observed {
    let content = || Some(Content { blob: text(), mode: FileMode::Executable, sha256: digest() });
    let file = || FileSeen { is: content(), path: text(), was: content() };
    Observed {
        exit: Some(ExitSeen { code: 1, seen: ExitWitness::Jail }),
        files: vec![file(), FileSeen { is: None, ..file() }, FileSeen { was: None, ..file() }],
        head: Some(head()),
        outside: vec![file()],
        prompt: Some(PromptSeen { attended: true, salt: text(), sha256: digest() }),
        tree: some(),
        unseen: true,
    }
}

fn little_observed() -> Observed {
    let head = HeadSeen { branch: None, commit: None, log: None, ..head() };
    let prompt = PromptSeen { attended: false, salt: text(), sha256: digest() };
    Observed { head: Some(head), prompt: Some(prompt), ..Observed::default() }
}

fn head() -> HeadSeen {
    HeadSeen { branch: some(), commit: some(), git: text(), log: Some(1), root: text(), stamp: text() }
}

fn trail() -> Trail {
    let made = CommitMade { attested: 1, commit: text(), root: text(), seq: 1 };
    Trail {
        commits: vec![made.clone(), CommitMade { attested: 0, ..made }],
        heads: vec![head(), HeadSeen { branch: None, commit: None, log: None, ..head() }],
    }
}

fn ended() -> CallEnded {
    let kept = Kept { bytes: 1, digest: digest(), files: 1, number: 1, pins: vec![text()], rule: some(), what: text() };
    CallEnded {
        drawn: Some(true),
        duration_ms: Some(1),
        launched: true,
        marks: Some(map()),
        measured: Measured { grown: Some(growth()), lasts: true, moved: true, unchanged: true },
        plan: Some(Box::default()),
        rejected: true,
        result: Some(ToolResult { bytes: 1, head: text(), sha256: digest(), tail: text() }),
        todos: Some((0, 1)),
        under: Under { hindered: true, hosts: reached(), jailed: Some(proof()), kept: Some(kept), offline: true },
        unended: true,
    }
}

/// Ends of a call that hold little.
fn little_ended() -> Vec<Step> {
    let measured =
        [Measured { grown: Some(short()), ..Measured::default() }, Measured { lasts: true, ..Measured::default() }];
    let plainly = Some(Proof::of(Hold::Namespaces, Profile::Trial));
    let under = [Under { jailed: plainly, ..Under::default() }, Under { offline: true, ..Under::default() }];
    let measured = measured.map(|measured| CallEnded { measured, ..CallEnded::default() });
    let under = under.map(|under| CallEnded { under, ..CallEnded::default() });
    let ends = measured.into_iter().chain(under).chain([CallEnded::default()]);
    ends.map(|end| Step { end: Some(Box::new(end)), ..unstepped() }).collect()
}

/// Questions that hold little, and refusals.
fn little_asked() -> Vec<Step> {
    let [_, held, least, plain, nothing] = meanings();
    let asks = [held, least, plain, nothing].map(|means| CallAsked { means, ..CallAsked::default() });
    let denied = [
        CallDenied { rule: some(), ..CallDenied::default() },
        CallDenied { outgrown: some(), ..CallDenied::default() },
    ];
    let asks = asks.map(|asks| Step { asks: Some(Box::new(asks)), ..unstepped() });
    asks.into_iter().chain(denied.map(|denied| Step { denied: Some(denied), ..unstepped() })).collect()
}

fn step() -> Step {
    let [means, ..] = meanings();
    let asks = CallAsked {
        input: Some(raw()),
        means,
        schedules: Some(digest().into()),
        starts: Some(Starts { client: text(), name: stored() }),
        timers_lost: true,
    };
    Step {
        agent_id: some(),
        agent_type: some(),
        asks: Some(Box::new(asks)),
        call: key(),
        denied: Some(CallDenied { outgrown: some(), rule: some(), told: true }),
        end: Some(Box::new(ended())),
        from: Some(CallState::Pending),
        gate: Some(stored()),
        input_sha256: digest(),
        mode: some(),
        observed: Some(Box::new(observed())),
        prompt_id: some(),
        reason: some(),
        rehearsed: Some(said()),
        to: CallState::Denied,
    }
}

/// An event of which nothing more is known than that it came.
fn unseen() -> Seen {
    Seen {
        beside: false,
        greets: None,
        starter: None,
        timers: Vec::new(),
        timers_lost: false,
        traceparent: None,
        uncounted: false,
        unproven: None,
        changed: Vec::new(),
        clashes: Vec::new(),
        agent_id: None,
        agentless: None,
        anew: false,
        client: None,
        policy: None,
        foreign: None,
        root: None,
        run: None,
        baseline: None,
        baseline_before: None,
        baseline_sha256: None,
        jail: None,
        hosts: Vec::new(),
        linked: None,
        log: None,
        held: None,
        meant: None,
        no_git: false,
        observed: None,
        owed: None,
        agent_type: None,
        boot: None,
        folders: None,
        marks: None,
        mode: None,
        policy_hash: None,
        prompt_id: None,
        prompt_sha256: None,
        goes_on: false,
        leaves: false,
        parked_paths: Vec::new(),
        parks: None,
        resumes: false,
        takes_up: None,
        unstopped: false,
        waits: false,
        rehearsed: None,
        said: None,
        asks_plan: false,
        dialog: false,
        plan_hook: None,
        plan_shown: None,
        reflection: None,
        ends: false,
        shuts: false,
        ..seen()
    }
}

fn unstepped() -> Step {
    Step { call: key(), input_sha256: digest(), to: CallState::Denied, ..Step::default() }
}

/// Every type of entry with the most and the least it holds.
pub(crate) fn facts() -> Vec<(&'static str, Vec<Value>)> {
    let previous = Some(Previous { folder: text(), head: digest(), seq: 1 });
    let open = Opened {
        binary: text(),
        policy: policy(),
        boot: text(),
        folders: map(),
        format: FORMAT,
        policy_hash: digest(),
        previous,
        project: text(),
    };
    let recovered = Recovered {
        executing: vec![text()],
        lost_after: Some(1),
        torn_bytes: Some(1),
        torn_file: some(),
        what: text(),
    };
    let violation = Violation {
        agent_id: some(),
        call: Some(key()),
        event: text(),
        said: Some(said()),
        unasked: Some(unasked()),
        violation: text(),
    };
    let mut all = vec![
        Fact::Open(Opened { policy: None, previous: None, ..open.clone() }),
        Fact::Open(open),
        Fact::Event(Box::new(unseen())),
        Fact::Event(Box::new(seen())),
        Fact::Event(Box::new(Seen { plan_shown: Some(PlanShown::File(1)), ..unseen() })),
        Fact::Event(Box::new(Seen { jail: Some(unjailed()), ..unseen() })),
        Fact::Event(Box::new(Seen { observed: Some(Box::default()), ..unseen() })),
        Fact::Event(Box::new(Seen { observed: Some(Box::new(little_observed())), ..unseen() })),
        Fact::Call(Step { observed: Some(Box::default()), ..unstepped() }),
        Fact::Call(Step { observed: Some(Box::new(little_observed())), ..unstepped() }),
        Fact::Call(unstepped()),
        Fact::Call(step()),
        Fact::Question(Asked { call: key(), gate: stored(), line: text(), rule: some(), secret: Some(secret()) }),
        Fact::Question(Asked { call: key(), gate: stored(), line: text(), rule: None, secret: None }),
        Fact::Answer(answered()),
        Fact::Answer(Answered { ms: None, rule: None, secret: None, ..answered() }),
        Fact::Block(Blocked { by: text(), reason: text() }),
        Fact::Unblock(Unblocked { by: text() }),
        Fact::Verdict(Reported { finding: Some(AgentReport::default()), ..reported() }),
        Fact::Verdict(Reported {
            finding: None,
            parked_paths: Vec::new(),
            parks: None,
            takes_up: None,
            problem: None,
            replans: false,
            todos: None,
            tree: None,
            ..reported()
        }),
        Fact::Verdict(reported()),
        Fact::Waive(waiver()),
        Fact::Task(TaskChosen { alone: false, at: Some(1), by: text(), held: false, how: TaskMove::Drop }),
        Fact::Task(TaskChosen { alone: true, at: None, by: text(), held: true, how: TaskMove::Resume }),
        Fact::Task(TaskChosen { alone: false, at: Some(0), by: text(), held: false, how: TaskMove::Want }),
        Fact::Check(checked()),
        Fact::Check(Checked { output: String::new(), path: None, ..checked() }),
        Fact::Mode(asked()),
        Fact::Mode(unheld()),
        Fact::Run(Staged {
            outcome: Some(stored()),
            run_id: text(),
            run_outcome: Some(stored()),
            stage: None,
            task: text(),
            workflow: some(),
        }),
        Fact::Run(Staged { run_id: text(), stage: Some(stage()), task: text(), ..Staged::default() }),
        Fact::Run(Staged { run_id: text(), stage: Some(begun()), task: text(), ..Staged::default() }),
        Fact::Violation(Violation { agent_id: None, call: None, said: None, unasked: None, ..violation.clone() }),
        Fact::Violation(Violation { unasked: Some(Unasked { drawn: None, ..unasked() }), ..violation.clone() }),
        Fact::Violation(Violation { unasked: Some(Unasked { grows: None, ..unasked() }), ..violation.clone() }),
        Fact::Violation(violation),
        Fact::Recovery(Recovered { what: text(), ..Recovered::default() }),
        Fact::Recovery(recovered),
        Fact::Checkpoint(Taken { digest: digest(), id: text(), measures: true, trigger: stored() }),
        Fact::Checkpoint(Taken { digest: digest(), id: text(), measures: false, trigger: stored() }),
        Fact::Rollback(undone()),
        Fact::Undo(BroughtBack { files: 1, number: 2, told: true }),
        Fact::Commit(Committed { before: some(), by: CommittedBy::Call(key()), commit: text(), root: text() }),
        Fact::Commit(Committed { before: None, by: CommittedBy::Outside, commit: text(), root: text() }),
        Fact::Attest(Attested { commit: text(), last_entry: 1, statement_sha256: digest() }),
        Fact::Network(NetworkChanged { change: NetworkChange::Allowed, host: some(), what: None }),
        Fact::Network(NetworkChanged { change: NetworkChange::Foreign, host: None, what: some() }),
        Fact::Insights(Concluded { insights: raw() }),
        Fact::Snapshot(Box::new(Snapshot { memory: memory().into(), state: state().into() })),
        Fact::Snapshot(Box::new(Snapshot { memory: calm().into(), state: bare().into() })),
        Fact::Snapshot(Box::new(Snapshot { memory: shown_a_file().into(), state: bare().into() })),
        Fact::Snapshot(Box::new(Snapshot {
            memory: Memory {
                chosen: Some(unheld()),
                jail: Some(unjailed()),
                prompted: Some(over()),
                questions: Questions {
                    asked: 1,
                    last: Some(Answered { ms: None, rule: None, secret: None, ..answered() }),
                    ..Questions::default()
                },
                ..memory()
            }
            .into(),
            state: State { task: Some(Task::default()), ..state() }.into(),
        })),
    ];
    all.extend(little_asked().into_iter().chain(little_ended()).map(Fact::Call));
    let mut kinds: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for (kind, with) in all.iter().map(Fact::stored) {
        let with: Value = serde_json::from_str(&with).unwrap();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, samples)) => samples.push(with),
            None => kinds.push((kind, vec![with])),
        }
    }
    kinds
}

/// A checkpoint after ADR-002: identity, phase, PRE or POST, version, timing, orchestrator and agents, artifacts,
/// governance, parent, metadata.
pub(crate) fn checkpoints() -> Vec<Value> {
    let agent = AgentState {
        name: text(),
        status: AgentStatus::Complete,
        summary: some(),
        token_usage: TokenUsage { input: 1000, output: 200 },
        tokens: 1200,
        tool_invocations: Invocations::List(vec![ToolInvocation { id: text(), outcome: stored(), tool: text() }]),
    };
    let idle = AgentState { status: AgentStatus::Pending, summary: None, ..agent.clone() };
    let file = File { mode: 0o644, path: text(), sha256: Sum::default(), size: 17, target: None };
    let link = File { mode: 0o777, target: some(), ..file.clone() };
    let outcome = GateOutcome { name: text(), outcome: stored(), reason: some() };
    let passed = GateOutcome { reason: None, ..outcome.clone() };
    let first = Checkpoint {
        agents: vec![agent, idle],
        artifacts: Artifacts {
            files: vec![file, link],
            folders: vec![Folder { mode: 0o755, path: text() }],
            left_out: vec![LeftOut { path: text(), reason: text(), size: 1 }],
        },
        digest: Some(digest()),
        governance: Governance {
            checks: vec![outcome.clone(), passed.clone()],
            gates: vec![outcome, passed],
            passed: true,
        },
        identity: Identity {
            checkpoint_id: "manual/POST_execute_v1".to_owned(),
            ledger_head: digest(),
            project: text(),
            run_id: "manual".to_owned(),
            session_id: text(),
        },
        metadata: BTreeMap::from([("trigger".to_owned(), text())]),
        orchestrator: Orchestrator {
            completed: vec![text()],
            current_phase: text(),
            incomplete: vec![text()],
            intake_summary: Intake {
                acceptance_criteria: vec![text()],
                context_refs: vec![text()],
                intent: some(),
                project_type: some(),
                prompt: some(),
                workflow: some(),
            },
            policy_hash: digest(),
            sandbox: Sandbox::Open,
            task: some(),
            task_number: 1,
            workflow: some(),
        },
        parent: None,
        phase: "execute".to_owned(),
        schema: 2,
        timing: Timing { created_at: moment(), duration_ms: 12, started_at: moment() },
        kind: CheckpointKind::Post,
        version: 1,
    };
    let second = Checkpoint {
        kind: CheckpointKind::Pre,
        orchestrator: Orchestrator {
            intake_summary: Intake::default(),
            task: None,
            workflow: None,
            ..first.orchestrator.clone()
        },
        parent: some(),
        ..first.clone()
    };
    [first, second].iter().map(|one| serde_json::to_value(one).unwrap()).collect()
}
