//! Reads a session's ledger up to an entry, and collects what a statement says about it.
//!
//! Reads the ledger. Invariants: the statement says only what is in the ledger; it copies no text of a
//! person, a model or a command, only names that we or the configuration gave, digests and numbers.

mod names;

use super::authors::{Changed, Writer};
use aops_attest::statement::{
    Agent, Approved, By, Check, Digests, Hold, Jail, Mode, Model, Named, Output, Plan, Qa, SandboxPolicy,
    Seen, Subagent, Test, Verdict, Waiver,
};
use aops_core::config::policy::network::NetworkMode;
use aops_core::config::policy::{DangerLevel, ModeLevel, Policy};
use aops_core::gate::jail::is_shell;
use aops_core::insight::collect::entries;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::model::call::CallState;
use aops_core::model::error::Failure;
use aops_core::model::event::EventKind;
use aops_core::model::named::Stored;
use aops_core::model::outcome::CheckEnding;
use aops_core::model::profile::Profile;
use aops_core::session::fact::{self, Fact, Reported, Step};
use aops_core::session::fold::Session;
use aops_core::session::memory::Waived;
use aops_core::session::observed::{
    self, CommitMade, Committed, ExitSeen, ExitWitness, Observed, PromptSeen, UnseenWhy,
};
use aops_core::session::question::Answerer;
use aops_core::text::redact::redact;
use aops_core::text::sha256::sha256;
use aops_core::text::stored::canonical;
use aops_core::text::template::one_line;
use aops_shell::danger::RULES;
use names::{by_agent, hold, verdict_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One fact from the ledger, with its entry.
#[derive(Debug)]
pub struct At<T> {
    pub seq: u64,
    pub what: T,
}

/// Everything in the ledger, before we know which entries a commit is about.
#[derive(Debug, Default)]
pub struct Story {
    pub session: Session,
    /// Digest and time of each entry, from the first one.
    pub marks: Vec<(String, String)>,
    pub prompts: Vec<At<PromptSeen>>,
    /// By working tree.
    pub changes: BTreeMap<String, Vec<Changed>>,
    pub commits: Vec<At<Committed>>,
    pub attested: Vec<At<observed::Attested>>,
    pub binary: String,
    pub branches: BTreeMap<String, Option<String>>,
    plans: Vec<At<Plan>>,
    verdicts: Vec<At<Subagent>>,
    tests: Vec<At<Test>>,
    checks: Vec<At<Check>>,
    refusals: Vec<At<String>>,
    waivers: Vec<At<Waiver>>,
    approvals: Vec<At<Approved>>,
    blocks: Vec<u64>,
    tampering: Vec<u64>,
    runs: Vec<u64>,
    /// Snapshots of the working tree that are missing: nobody saw what changed there since the one before.
    /// Without a reason: the first one, which has nothing before it.
    unseen: Vec<At<Option<&'static str>>>,
    is_looked_at: bool,
    commands: Vec<At<(Hold, Profile, bool)>>,
    servers: Vec<At<String>>,
    policies: Vec<At<(Mode, Vec<String>)>>,
    networks: Vec<At<NetworkMode>>,
    checkpoints: Vec<At<String>>,
    /// Commands that may be evidence, and lines that ran without network restrictions, by the call's id.
    pending: BTreeMap<String, Pending>,
    starts: BTreeMap<String, String>,
    /// The working tree of the last snapshot.
    root: String,
}

#[derive(Debug, Default)]
struct Pending {
    tests: bool,
    online: bool,
}

impl Story {
    /// Reads the ledger in this folder, up to this entry.
    pub fn read(folder: &Path, trace: &str, last: u64) -> Result<Self, Failure> {
        let mut story = Self::default();
        let read = entries(&folder.join(LEDGER_FILE), |line, fact| {
            if line.seq <= last {
                // The reader skips snapshots and insights; they change nothing.
                story.session.seq = line.seq - 1;
                let _ = story.session.apply(trace, line.ts, fact);
                story.session.seq = line.seq;
                story.add(line.seq, line.ts, fact);
                let at = usize::try_from(line.seq).unwrap_or(usize::MAX);
                story.marks.resize(at.min(1 << 24), (String::new(), String::new()));
                if let Some(mark) = story.marks.last_mut() {
                    *mark = (line.digest.to_owned(), line.ts.to_owned());
                }
            }
        });
        read.map(|()| story).map_err(|e| Failure::storage(folder.display(), e))
    }

    fn add(&mut self, seq: u64, ts: &str, fact: &Fact) {
        self.note_policy(seq);
        match fact {
            Fact::Open(open) => self.binary.clone_from(&open.binary),
            Fact::Event(seen) => self.add_event(seq, ts, seen),
            Fact::Call(step) => self.add_step(seq, step),
            Fact::Verdict(report) => self.add_report(seq, ts, report),
            Fact::Block(_) => self.blocks.push(seq),
            Fact::Violation(violation) if !violation.kind.is_harmless() => self.tampering.push(seq),
            Fact::Run(staged) if staged.stage.is_some() => self.runs.push(seq),
            Fact::Waive(waiver) => {
                let of = match &waiver.gate {
                    Waived::Task => "task".to_owned(),
                    Waived::Call(_) => "call".to_owned(),
                    Waived::Gate(gate) => gate.name().to_owned(),
                };
                self.waivers.push(At { seq, what: Waiver { of, by: By::Person, entry: seq } });
            }
            Fact::Answer(answered) if answered.allowed && answered.by == Answerer::Person => {
                let of = label(answered.rule.as_deref().unwrap_or(answered.gate.name()));
                self.approvals.push(At { seq, what: Approved { of, by: By::Person, entry: seq } });
            }
            Fact::Check(run) => {
                if let CheckEnding::Exit(code) = run.ending {
                    let name = label(&run.id);
                    self.checks.push(At { seq, what: Check { name, exit: code.into() } });
                }
            }
            Fact::Checkpoint(taken) => {
                let name = label(redact(&taken.id).rsplit('/').next().unwrap_or_default());
                self.checkpoints.push(At { seq, what: name });
            }
            Fact::Commit(made) => self.commits.push(At { seq, what: made.clone() }),
            Fact::Attest(made) => self.attested.push(At { seq, what: made.clone() }),
            _ => {}
        }
    }

    /// Records the mode and the danger rules that are off, if they changed.
    fn note_policy(&mut self, seq: u64) {
        let now = in_force(self.session.policy());
        if self.policies.last().is_none_or(|last| last.what != now) {
            self.policies.push(At { seq, what: now });
        }
        let network = self.session.policy().network.mode;
        if self.networks.last().is_none_or(|last| last.what != network) {
            self.networks.push(At { seq, what: network });
        }
    }

    fn add_event(&mut self, seq: u64, ts: &str, seen: &fact::Seen) {
        if let Some(said) = seen.said.as_ref().filter(|said| said.refuses()) {
            self.refusals.push(At { seq, what: said.gate.name().to_owned() });
        }
        if let (EventKind::SubagentStart, Some(id)) = (seen.kind(), &seen.agent_id) {
            self.starts.insert(id.clone(), ts.to_owned());
        }
        if let Some(observed) = seen.observed.as_deref() {
            self.add_observed(seq, observed);
        }
    }

    fn add_observed(&mut self, seq: u64, observed: &Observed) {
        if let Some(head) = &observed.head {
            self.root.clone_from(&head.root);
            self.branches.insert(head.root.clone(), head.branch.clone());
        }
        if let Some(prompt) = &observed.prompt {
            self.prompts.push(At { seq, what: prompt.clone() });
        }
        if observed.unseen {
            let is_first = !self.is_looked_at && observed.unseen_why == Some(UnseenWhy::Before);
            let why = observed.unseen_why.map_or("unknown", UnseenWhy::name);
            self.unseen.push(At { seq, what: (!is_first).then_some(why) });
        }
        let has_files = !observed.files.is_empty() || !observed.outside.is_empty();
        self.is_looked_at |= observed.unseen || has_files;
        let by = [(Writer::Outside, &observed.outside), (Writer::Session, &observed.files)];
        let changed = by.into_iter().flat_map(|(by, files)| files.iter().map(move |file| (by, file)));
        let changed = changed.map(|(by, file)| Changed { seq, by, file: file.clone() });
        self.changes.entry(self.root.clone()).or_default().extend(changed);
    }

    fn add_step(&mut self, seq: u64, step: &Step) {
        let id = step.call.id.as_str();
        match step.to {
            CallState::Pending => {
                let pending = Pending { tests: step.means().tests, online: step.means().jailing.online };
                self.pending.insert(id.to_owned(), pending);
            }
            CallState::Denied => {
                let gate = step.gate.as_ref().map_or("", |gate| gate.name());
                self.refusals.push(At { seq, what: gate.to_owned() });
            }
            CallState::Completed | CallState::Failed => self.add_end(seq, step),
            CallState::Authorized | CallState::Executing => {}
        }
        if let Some(observed) = step.observed.as_deref() {
            self.add_observed(seq, observed);
        }
        if step.ended().plan.is_some() && step.to == CallState::Completed {
            self.plans.push(At { seq, what: Plan { verdict: Verdict::Proceed, by: By::Person, entry: seq } });
        }
    }

    fn add_end(&mut self, seq: u64, step: &Step) {
        let pending = self.pending.remove(&step.call.id).unwrap_or_default();
        let observed = step.observed.as_deref();
        let exit = observed.and_then(|observed| observed.exit.as_ref());
        if step.call.server != "builtin" {
            self.servers.push(At { seq, what: format!("mcp__{}", label(&step.call.server)) });
        }
        let ran = step.to == CallState::Completed || exit.is_some() || step.ended().under.jailed.is_some();
        if is_shell(&step.call.tool) && ran {
            let proof = step.ended().under.jailed.as_ref();
            let held = proof
                .filter(|proof| proof.profile != Profile::None)
                .map_or(Hold::Words, |proof| hold(proof.hold));
            let profile = proof.map_or(Profile::None, |proof| proof.profile);
            self.commands.push(At { seq, what: (held, profile, pending.online) });
        }
        let tree = observed.and_then(|observed| observed.tree.clone());
        if let (true, Some(ExitSeen { code, seen }), Some(tree)) = (pending.tests, exit, tree) {
            let seen = match seen {
                ExitWitness::Jail => Seen::Jail,
                ExitWitness::Client => Seen::Client,
            };
            let test =
                Test { name: "evidence.test".to_owned(), exit: (*code).into(), seen, tree, entry: seq };
            self.tests.push(At { seq, what: test });
        }
    }

    fn add_report(&mut self, seq: u64, ts: &str, report: &Reported) {
        let Some(finding) = report.finding.as_ref().filter(|_| !report.sent_on) else { return };
        let Some(role) = report.agent.known().map(by_agent) else { return };
        let verdict = finding.verdict.as_ref().and_then(Stored::known).map(verdict_of);
        if let (Some(verdict), By::Critic) = (verdict, role) {
            self.plans.push(At { seq, what: Plan { verdict, by: role, entry: seq } });
        }
        let digest = Digests::sha256(sha256(&[canonical(finding).as_bytes()]));
        let what = Subagent {
            invocation_id: label(&report.agent_id),
            role,
            agent: Agent::default(),
            output: verdict.map(|kind| Output { kind, digest }),
            start: self.starts.get(&report.agent_id).cloned(),
            end: Some(ts.to_owned()),
        };
        self.verdicts.push(At { seq, what });
    }

    /// Whether something new was recorded about the tree of this commit since its last statement, and nothing
    /// changed after the commit.
    pub fn is_raised(&self, made: &CommitMade, last: u64) -> bool {
        let since = |seq: u64| seq > made.attested && seq <= last;
        let said =
            self.verdicts.iter().any(|one| since(one.seq)) || self.plans.iter().any(|one| since(one.seq));
        let tested = self.tests.iter().any(|one| since(one.seq));
        (said || tested) && self.last_change() <= made.seq
    }

    /// The last change of any file, in any of the session's trees. A change that nobody could see counts too.
    fn last_change(&self) -> u64 {
        let seen = self.changes.values().flatten().map(|change| change.seq);
        seen.chain(self.unseen.iter().map(|one| one.seq)).max().unwrap_or(0)
    }
}

/// A summary of the entries from `from` on.
pub struct Summary<'a> {
    pub story: &'a Story,
    pub from: u64,
}

impl Summary<'_> {
    fn of<'s, T: Clone>(&self, all: &'s [At<T>]) -> impl Iterator<Item = T> + use<'s, T> {
        let from = self.from;
        all.iter().filter(move |one| one.seq >= from).map(|one| one.what.clone())
    }

    fn count(&self, all: &[u64]) -> u64 {
        all.iter().filter(|seq| **seq >= self.from).count() as u64
    }

    /// The lowest mode, and every danger rule that was off at some time.
    pub fn policy(&self) -> (Mode, Vec<String>) {
        // The policy at the start of the span was set before it.
        let begin = self.story.policies.iter().rposition(|one| one.seq <= self.from).unwrap_or(0);
        let all = &self.story.policies[begin.min(self.story.policies.len())..];
        let mode = all.iter().map(|one| one.what.0).min().unwrap_or_default();
        let off: BTreeSet<String> = all.iter().flat_map(|one| one.what.1.clone()).collect();
        (mode, off.into_iter().collect())
    }

    /// The lowest mode of the session's network in the span.
    fn network(&self) -> Option<NetworkMode> {
        let all = &self.story.networks;
        let begin = all.iter().rposition(|one| one.seq <= self.from).unwrap_or(0);
        all.iter().skip(begin).map(|one| one.what).min()
    }

    pub fn attended(&self) -> bool {
        let mut prompts = self.of(&self.story.prompts).peekable();
        prompts.peek().is_some() && prompts.all(|prompt| prompt.attended)
    }

    pub fn jail(&self) -> (Jail, Option<SandboxPolicy>) {
        let all: Vec<(Hold, Profile, bool)> = self.of(&self.story.commands).collect();
        let least = all.iter().map(|(hold, ..)| *hold).min();
        let unjailed = all.iter().filter(|(hold, ..)| *hold == Hold::Words).count() as u64;
        let weakest = all.iter().map(|(_, profile, _)| *profile).min();
        let open = |(_, profile, online): &(Hold, Profile, bool)| *profile <= Profile::Work || *online;
        let is_unheld = weakest.is_none_or(|weakest| weakest == Profile::None);
        let network = match self.network() {
            _ if !all.iter().any(open) => "none",
            Some(mode) if mode != NetworkMode::Off && !is_unheld => mode.name(),
            _ => "open",
        };
        let policy = least.zip(weakest).map(|(filesystem, profile)| SandboxPolicy {
            filesystem,
            profile: profile.name().to_owned(),
            network: network.to_owned(),
        });
        (Jail { least, commands: all.len() as u64, unjailed }, policy)
    }

    pub fn tampering(&self) -> u64 {
        self.count(&self.story.tampering)
    }

    pub fn blocks(&self) -> u64 {
        self.count(&self.story.blocks)
    }

    pub fn is_run(&self) -> bool {
        self.story.session.memory.run.is_some() || self.count(&self.story.runs) > 0
    }

    pub fn plan(&self) -> Option<Plan> {
        self.of(&self.story.plans).last()
    }

    pub fn qa(&self) -> Option<Qa> {
        let mut verdicts = self.story.verdicts.iter().filter(|one| one.seq >= self.from);
        let last = verdicts.rfind(|one| one.what.role == By::QaVerifier)?;
        let verdict = last.what.output.as_ref()?.kind;
        Some(Qa { verdict, by: By::QaVerifier, entry: last.seq, after: last.seq > self.story.last_change() })
    }

    /// Test runs after the last change.
    pub fn tests(&self) -> Vec<Test> {
        let last = self.story.last_change();
        self.of(&self.story.tests).filter(|test| test.entry >= last).collect()
    }

    pub fn checks(&self) -> Vec<Check> {
        let last = self.story.last_change();
        let after = self.story.checks.iter().filter(|one| one.seq >= self.from.max(last));
        let newest: BTreeMap<&str, &Check> = after.map(|one| (one.what.name.as_str(), &one.what)).collect();
        newest.into_values().cloned().collect()
    }

    pub fn refusals(&self) -> BTreeMap<String, u64> {
        counts(self.of(&self.story.refusals))
    }

    /// How many looks at the tree are missing, by the reason.
    pub fn unseen(&self) -> BTreeMap<String, u64> {
        counts(self.of(&self.story.unseen).flatten().map(str::to_owned))
    }

    pub fn waivers(&self) -> Vec<Waiver> {
        self.of(&self.story.waivers).collect()
    }

    pub fn approvals(&self) -> Vec<Approved> {
        self.of(&self.story.approvals).collect()
    }

    /// `model`: the model of the agent with this id.
    pub fn subagents(&self, model: &dyn Fn(&str) -> Option<Model>) -> Vec<Subagent> {
        let with_model = |mut one: Subagent| {
            one.agent.model = model(&one.invocation_id);
            one
        };
        self.of(&self.story.verdicts).map(with_model).collect()
    }

    pub fn tools(&self) -> Vec<Named> {
        let names: BTreeSet<String> = self.of(&self.story.servers).collect();
        names.into_iter().map(|name| Named { name }).collect()
    }

    pub fn checkpoints(&self) -> Vec<String> {
        self.of(&self.story.checkpoints).collect()
    }
}

fn counts(names: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

fn in_force(policy: &Policy) -> (Mode, Vec<String>) {
    let mode = match policy.mode.level() {
        ModeLevel::Observe => Mode::Observe,
        ModeLevel::Guard => Mode::Guard,
        ModeLevel::Loop => Mode::Loop,
        ModeLevel::Strict => Mode::Strict,
    };
    let off = RULES.iter().filter(|rule| policy.danger_level(rule) == DangerLevel::Off);
    (mode, off.map(|rule| rule.id().to_owned()).collect())
}

/// A name that somebody else chose, without anything that looks like a secret.
pub fn label(name: &str) -> String {
    // Redacted before it is cut: the beginning of a secret would not be recognised.
    one_line(&redact(name), 64)
}

#[cfg(test)]
mod tests;
