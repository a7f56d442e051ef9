//! Refuses the end of a turn while the task owes verification, reflection, a commit or a push.
//!
//! Invariants: one refusal with the whole list, in order; silent for tasks that changed nothing and while
//! other agents still work; after a few refusals without progress the turn may end and the user is told.

use super::{Context, checks, is_busy, is_waiting, is_waived};
use crate::config::policy::{Level, ModeLevel, Policy};
use crate::model::agent::{AgentId, ours};
use crate::model::debt::{Debt, DebtId};
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::phase::Phase;
use crate::model::verdict::Verdict;
use crate::model::worktree::Asked;
use crate::session::fold::{Session, is_owed_plan};
use crate::session::memory::RunStep;
use crate::text::plain::{count, shell_word};
use crate::text::template::{Phrase, one_line};

const GATE: GateId = GateId::Owed;
const MOST_ROUNDS: u64 = 3;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    if let Some(words) = unstopped(session, context) {
        return Verdict::notice(GATE, words);
    }
    if event.kind() != EventKind::Stop
        || session.blocked().is_some()
        || is_busy(session, event)
        || is_paused(session, context)
    {
        return Verdict::pass();
    }
    let mut verdict = ending(session, context);
    let left = || left_uncommitted(session, context).or_else(|| left_unpushed(session, context));
    if let Some(words) = left().filter(|_| verdict == Verdict::pass()) {
        verdict = Verdict::notice(GATE, words);
    }
    if !without_git(session, context) {
        return verdict;
    }
    let words = "this is not a git repository, so no commit or push is required";
    verdict
        .join(Verdict::notice(GATE, format!("{words}\nhint: `git init` makes one; you see this only once")))
}

/// The client ends without making a call; the step or session continues with it later.
pub fn is_paused(session: &Session, context: &Context) -> bool {
    context.defers && session.memory.calls.iter().any(is_waiting)
}

/// Tells the person about a turn that ended without a Stop and still owed something. Nothing is refused for
/// it.
fn unstopped(session: &Session, context: &Context) -> Option<String> {
    context.earlier.unstopped.as_ref().filter(|turn| !turn.interrupted)?;
    let names: Vec<&str> = debts(session, context).iter().map(|debt| debt.id.name()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The last turn ended without its Stop hook, and it still owes: {}.\nhint: if you did not stop it yourself, something killed the hook or the client; `aops-hook status` shows where the task stands",
            names.join(", ")
        )
    })
}

/// The notice for the person at the end of a planned task that does not have to be committed.
fn left_uncommitted(session: &Session, context: &Context) -> Option<String> {
    let large = session.is_planned() || session.memory.progress.weight.outgrown.is_some();
    let wrote = is_ending_with_work(session, context);
    let owed = closing_levels(session, context).0 != Level::Off;
    let files = own_files(session, &context.tree.uncommitted);
    let told = session.mode() == ModeLevel::Loop && large && wrote && !owed && files > 0;
    told.then(|| format!("{} changed, not committed", count(files, "file")))
}

/// The notice for the person at the end of a task that is not pushed, since their own commits would go with
/// it.
fn left_unpushed(session: &Session, context: &Context) -> Option<String> {
    let others = context.tree.unpushed;
    let owed = closing_levels(session, context).1 == Level::Enforce && !session.is_small();
    let told = owed && others > 0 && is_ending_with_work(session, context);
    told.then(|| {
        let commits = count(others, "commit");
        format!(
            "not pushed: this branch has {commits} that this session did not make\nhint: `git push` in a terminal sends all of them"
        )
    })
}

/// The turn ends a task that changed something, and that no plan holds up.
fn is_ending_with_work(session: &Session, context: &Context) -> bool {
    let over = matches!(session.state.phase, Phase::Done | Phase::Halted);
    let ends = !over && context.stage.is_none() && session.awaits_plan_of().is_none();
    ends && session.state.task.as_ref().is_some_and(|task| task.writes > 0 && task.waiver.is_none())
}

/// How many of these uncommitted files the current task changed itself, as far as that was measured. Its
/// paths are relative to the project's root, these to the repository's.
pub fn own_files(session: &Session, uncommitted: &[String]) -> u64 {
    let progress = &session.memory.progress;
    let known = !progress.weight.grown.files.is_empty()
        && progress.weight.grown.is_whole()
        && progress.weight.unmeasured_ms.is_none();
    let project = format!("{}/", session.memory.place.root.trim_end_matches('/'));
    let is_below = |folder: &str| folder.is_empty() || project.ends_with(&format!("/{folder}"));
    let is_at = |path: &str, own: &str| path.strip_suffix(own).is_some_and(is_below);
    let is_own =
        |path: &&String| !known || progress.weight.grown.files.iter().any(|own| is_at(path, &own.path));
    uncommitted.iter().filter(is_own).count() as u64
}

fn ending(session: &Session, context: &Context) -> Verdict {
    let debts = debts(session, context);
    if debts.is_empty() {
        return warned(session, context);
    }
    let names: Vec<&str> = debts.iter().map(|debt| debt.id.name()).collect();
    let stop = &session.state.stop;
    let planned = is_owed_plan(&stop.owed) && session.awaits_plan_of().is_none() && context.stage.is_none();
    let progress = names.len() < stop.owed.len() || planned;
    // No agent can be started, so asking for its report would change nothing.
    let stuck = session.memory.client.agentless.is_some() && debts.iter().any(|debt| debt.id.is_report());
    let tired = stop.refusals >= session.policy().stop.refusals && !progress || stuck;
    if context.stop().is_some_and(|stop| stop.push_failed) && names == ["push"] {
        let words = "the work is committed and not pushed: the last push failed\nhint: the answer of the remote says why; `git push` in a terminal tries it again";
        return Verdict::notice(GATE, words.to_owned());
    }
    let progress = &session.memory.progress;
    if progress.proven.rounds >= MOST_ROUNDS && debts[0].id == DebtId::QaVerifier {
        let issues = one_line(&progress.plan.problems.join("; "), 400);
        let values = vec![
            ("rounds", progress.proven.rounds.to_string()),
            ("issues", issues),
            ("owed", names.join(", ")),
        ];
        let phrase = Some(Phrase::new("refusals/stop-unverified.md", values));
        return Verdict { gate: Some(GATE), phrase, ..Verdict::pass() };
    }
    if tired {
        let values = vec![("refusals", stop.refusals.to_string()), ("owed", names.join(", "))];
        let phrase = Some(Phrase::new("refusals/stop-let-go.md", values));
        return Verdict { gate: Some(GATE), phrase, ..Verdict::pass() };
    }
    refuse(debts)
}

/// What this task still owes, in the order in which to do it.
pub fn debts(session: &Session, context: &Context) -> Vec<Debt> {
    held(session, context, Level::Enforce)
}

/// One sentence about what a task will owe at its end: knowing it in advance saves a refused stop.
pub fn announce(policy: &Policy, context: &Context) -> String {
    let gates = &policy.gates;
    let start = |agent: AgentId, level: Level| {
        (level == Level::Enforce).then(|| format!("start the agent `{}`", context.agent(agent)))
    };
    let word = |word: &str, level: Level| (level == Level::Enforce).then(|| word.to_owned());
    let reflect = start(AgentId::Framework, gates.reflect).filter(|_| policy.mode.level() != ModeLevel::Loop);
    // A reflection counts only once the work is verified.
    let format = policy.close.format.as_deref().filter(|_| gates.commit().max(gates.qa) == Level::Enforce);
    let format = format.map(|command| format!("run `{}`", one_line(command, 200)));
    let (first, then) = match (start(AgentId::QaVerifier, gates.qa), reflect) {
        (qa @ Some(_), reflect @ Some(_)) => (qa, reflect),
        (qa, reflect) => (None, qa.or(reflect)),
    };
    let push = word("push (not if commits of the user would go with it)", gates.push());
    let last: Vec<String> = [then, word("commit", gates.commit()), push].into_iter().flatten().collect();
    let together = match last.split_last() {
        None => None,
        Some((one, [])) => Some(one.clone()),
        Some((one, others)) => Some(format!("in one message {} and {one}", others.join(", "))),
    };
    let groups: Vec<String> = format.into_iter().chain(first).chain(together).collect();
    if groups.is_empty() {
        String::new()
    } else {
        format!("Once all changes are made, {}.", groups.join(", then "))
    }
}

/// There is no git repository for closing the work, and the user has not been told yet.
pub fn without_git(session: &Session, context: &Context) -> bool {
    let (commit, push) = closing_levels(session, context);
    let asked = commit == Level::Enforce || push == Level::Enforce;
    let halted = session.state.phase == Phase::Halted;
    let small = context.stage.is_none() && session.is_small();
    context.tree.asked == Asked::NoRepository
        && asked
        && !halted
        && !small
        && !session.memory.progress.told.no_git
}

/// Debts whose gate is set to `warn`.
fn warned(session: &Session, context: &Context) -> Verdict {
    let debts = held(session, context, Level::Warn);
    if debts.is_empty() { Verdict::pass() } else { refuse(debts).soften() }
}

fn refuse(debts: Vec<Debt>) -> Verdict {
    Verdict { debts, ..Verdict::refuse(GATE, Phrase::new("refusals/stop-owed.md", Vec::new())) }
}

/// The debts of the gates that are set to this level.
fn held(session: &Session, context: &Context, how: Level) -> Vec<Debt> {
    if let Some(stage) = &context.stage {
        return if how == Level::Enforce { of_step(session, stage, context) } else { Vec::new() };
    }
    let Some(task) = session.state.task.as_ref().filter(|task| task.writes > 0) else { return Vec::new() };
    let progress = &session.memory.progress;
    // A new prompt came, and we do not know yet whether it continues that task: a question may be answered
    // freely.
    let asked =
        session.state.state.hydration_pending && progress.prompts.count != progress.prompts.first_of_task;
    let waived = task.waiver.is_some() && !asked || asked && task.writes == progress.prompts.writes_before;
    // A task that was let go is over.
    let over = session.state.phase == Phase::Halted || progress.let_go;
    if over || waived || checks::halts(session, context) {
        return Vec::new();
    }
    if let Some(agent) = session.awaits_plan_of() {
        // The work is unverified and half done, and nothing is committed: it needs its plan first.
        let line =
            Phrase::new("owed/plan.md", vec![("name", agent.to_string()), ("agent", context.agent(agent))]);
        // A question to the user may come first.
        let asks = context.stop().is_some_and(|stop| stop.asks);
        return if how == Level::Enforce && !asks {
            vec![Debt { id: agent.into(), line }]
        } else {
            Vec::new()
        };
    }
    let mut debts = Vec::new();
    let held = |level: Level, gate: GateId| level == how && !is_waived(session, context, gate);
    let small = session.is_small();
    let ends = ending_level(session, context) == how;
    let format =
        session.policy().close.format.as_deref().filter(|_| !small && ends && !progress.proven.formatted);
    debts.extend(format.map(|command| run(DebtId::Format, "owed/format.md", command)));
    if held(session.policy().gates.checks, checks::GATE) {
        debts.extend(checks::owed(context).map(|line| Debt { id: DebtId::Checks, line }));
        let test = session.policy().evidence.test.as_deref().filter(|_| !progress.proven.tested);
        debts.extend(test.map(|command| run(DebtId::Evidence, "owed/evidence.md", command)));
    }
    if !small {
        debts.extend(reviews(session, context, held));
        debts.extend(closing(session, context, how));
    }
    debts
}

/// A debt that is paid by running a command.
fn run(id: DebtId, template: &'static str, command: &str) -> Debt {
    Debt { id, line: Phrase::new(template, vec![("command", one_line(command, 200))]) }
}

/// The work is verified as it is now.
fn is_verified(session: &Session, context: &Context) -> bool {
    session.memory.progress.proven.verified && !context.stop().is_some_and(|stop| stop.outdated)
}

/// What other agents owe the task: audit, verification, reflection.
fn reviews(session: &Session, context: &Context, held: impl Fn(Level, GateId) -> bool) -> Vec<Debt> {
    let gates = &session.policy().gates;
    let progress = &session.memory.progress;
    let mut debts = Vec::new();
    if session.state.audit.due && held(gates.audit, GateId::Audit) {
        let line = Phrase::new("owed/custodiet.md", vec![("agent", context.agent(AgentId::Custodiet))]);
        debts.push(Debt { id: DebtId::Custodiet, line });
    }
    if session.owes_qa() && !is_verified(session, context) && held(gates.qa, GateId::Qa) {
        debts.push(Debt { id: DebtId::QaVerifier, line: qa(session, context) });
    }
    // In mode `loop` an agent reflects only if something went wrong; otherwise the reflection is written from
    // the ledger.
    let smooth = session.mode() == ModeLevel::Loop && !progress.friction;
    if !progress.proven.reflected && !smooth && held(gates.reflect, GateId::Reflect) {
        let line = Phrase::new("owed/framework.md", vec![("agent", context.agent(AgentId::Framework))]);
        debts.push(Debt { id: DebtId::Framework, line });
    }
    debts
}

/// In a run each step owes the verdict of its own agent, and the closing step also commit and push.
fn of_step(session: &Session, stage: &RunStep, context: &Context) -> Vec<Debt> {
    let mut debts = Vec::new();
    if stage.verifies && !is_verified(session, context) && !is_waived(session, context, GateId::Qa) {
        debts.push(Debt { id: DebtId::QaVerifier, line: qa(session, context) });
    }
    let owing = stage.agent.as_ref().map(Stored::name).filter(|_| stage.said.is_none());
    debts.extend(owing.and_then(ours).map(|agent| {
        let values = vec![("name", agent.name.to_owned()), ("agent", context.agent(agent.id))];
        Debt { id: agent.id.into(), line: Phrase::new("owed/step-agent.md", values) }
    }));
    if checks::halts(session, context) {
        return debts;
    }
    let gates = &session.policy().gates;
    if gates.checks == Level::Enforce && !is_waived(session, context, checks::GATE) {
        debts.extend(checks::owed(context).map(|line| Debt { id: DebtId::Checks, line }));
    }
    if stage.closes {
        debts.extend(closing(session, context, Level::Enforce));
    }
    debts
}

/// How strictly commit and push are required; a person can waive each, or both as `close`.
fn closing_levels(session: &Session, context: &Context) -> (Level, Level) {
    let gates = &session.policy().gates;
    let waived =
        |gate: GateId| is_waived(session, context, gate) || is_waived(session, context, GateId::Close);
    let of = |level: Level, gate: GateId| if waived(gate) { Level::Off } else { level };
    (of(gates.commit(), GateId::Commit), of(gates.push(), GateId::Push))
}

/// How strictly the rest of closing planned work is required: as strictly as commit or verification.
fn ending_level(session: &Session, context: &Context) -> Level {
    let qa = if is_waived(session, context, GateId::Qa) { Level::Off } else { session.policy().gates.qa };
    closing_levels(session, context).0.max(qa)
}

/// Debts of closing at this level: open issues, and work that is not committed, not merged or not pushed.
fn closing(session: &Session, context: &Context, how: Level) -> Vec<Debt> {
    let (commit, push) = closing_levels(session, context);
    let progress = &session.memory.progress;
    let tree = &context.tree;
    let mut debts = Vec::new();
    if ending_level(session, context) == how && !progress.closing.issues.is_empty() {
        debts.push(Debt { id: DebtId::Tracker, line: issues(session) });
    }
    if commit == how && !tree.uncommitted.is_empty() {
        let files = one_line(&tree.uncommitted.join(", "), 200);
        let foreign = one_line(&tree.foreign.join(", "), 200);
        let others = if foreign.is_empty() {
            foreign
        } else {
            format!("; changed by somebody else, so not required: {foreign}")
        };
        let values = vec![("files", files), ("others", others)];
        debts.push(Debt { id: DebtId::Commit, line: Phrase::new("owed/commit.md", values) });
    }
    let to_push = tree.push.as_ref().filter(|_| push == how);
    if to_push.is_some() && (tree.behind > 0 || progress.closing.rejected) {
        let why = match tree.behind {
            0 => "the remote has commits that are not here, and refused the last push".to_owned(),
            1 => "the upstream has 1 commit that is not here".to_owned(),
            n => format!("the upstream has {n} commits that are not here"),
        };
        // A rebase would stash other people's changes and restore them, and then they would look like this
        // session's.
        let command = if tree.others { "git pull --no-rebase --no-edit" } else { "git pull --rebase" };
        let values = vec![("command", command.to_owned()), ("why", why)];
        debts.push(Debt { id: DebtId::Pull, line: Phrase::new("owed/pull.md", values) });
    }
    if let Some(program) = progress.closing.unsynced.as_deref().filter(|_| commit == how) {
        debts.push(run(DebtId::Sync, "owed/sync.md", &format!("{} sync", shell_word(program))));
    }
    if let Asked::Unasked(why) = &tree.asked {
        let is_commit = commit == how && tree.uncommitted.is_empty();
        let id = if is_commit { Some(DebtId::Commit) } else { (push == how).then_some(DebtId::Push) };
        debts.extend(id.map(|id| {
            let values = vec![("name", id.to_string()), ("why", one_line(why, 200))];
            Debt { id, line: Phrase::new("owed/unasked.md", values) }
        }));
    }
    if let Some((command, ahead)) = to_push {
        let values = vec![("command", command.clone()), ("ahead", ahead.clone())];
        debts.push(Debt { id: DebtId::Push, line: Phrase::new("owed/push.md", values) });
    }
    debts
}

/// The issues of the current task, and how each is closed or handed back.
fn issues(session: &Session) -> Phrase {
    let ids: Vec<&str> =
        session.memory.progress.closing.issues.iter().map(|issue| issue.id.as_str()).collect();
    let program = shell_word(&session.policy().tracker.command);
    let ids = ids.join(" ");
    let values = vec![
        ("close", format!("{program} close {ids}")),
        ("hand_back", format!("{program} update {ids} --status open")),
    ];
    Phrase::new("owed/tracker.md", values)
}

fn qa(session: &Session, context: &Context) -> Phrase {
    let progress = &session.memory.progress;
    let agent = ("agent", context.agent(AgentId::QaVerifier));
    if context.stop().is_some_and(|stop| stop.outdated) {
        return Phrase::new("owed/qa-verifier-outdated.md", vec![agent]);
    }
    if progress.proven.rounds == 0 || progress.plan.problems.is_empty() {
        return Phrase::new("owed/qa-verifier.md", vec![agent]);
    }
    let issues = one_line(&progress.plan.problems.join("; "), 400);
    let rounds = [("round", progress.proven.rounds.to_string()), ("rounds", MOST_ROUNDS.to_string())];
    Phrase::new("owed/qa-verifier-again.md", [agent, ("issues", issues)].into_iter().chain(rounds).collect())
}
