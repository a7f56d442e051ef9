//! One step: handed out once, waited for, judged, recorded.
//!
//! Starts programs through their watcher. Invariant: a step that a dead driver handed out is taken over where it stands,
//! and handed out again only if it never began or was abandoned.

use super::super::Io;
use super::driver::{Driver, random};
use super::judged::{Judged, Witness, judge};
use super::progress::{self, Now};
use crate::checkpoint::form::Kind;
use crate::model::call::CallKey;
use crate::model::error::{Code, Failure};
use crate::run::attempt::{Begun, Deed, Done};
use crate::run::client::Stream;
use crate::run::job::{Job, Place, Standing};
use crate::run::packet::Summary;
use crate::run::plan::{Does, Planned};
use crate::run::status::{Outcome, Trigger};
use crate::system::env::{RUN, RUN_KEY};
use crate::system::git;
use crate::system::process::Ending;
use crate::system::signal;
use crate::text::sha256::sha256;
use rustix::process::Signal;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(30);
/// A watcher that has not begun by now never will; a client that does not end when asked is killed.
const BEGIN: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(10);

impl Driver {
    pub(super) fn step(&mut self, io: &mut Io, index: usize) -> anyhow::Result<Judged> {
        let step = self.plan[index].clone();
        let spent = self.record.budget.is_some_and(|budget| self.record.cost >= budget);
        if spent && matches!(step.does, Does::Client { .. }) {
            let question =
                format!("the budget is used up before step `{}`; may it cost as much again?", step.id);
            return Ok(Judged::pause(Trigger::BudgetExhausted, question));
        }
        let (clock, before) = (Instant::now(), git::baseline(&self.env, &self.root).unwrap_or_default());
        progress::line(io, &json!({"event": "step", "step": step.id, "index": index, "by": step.by()}));
        let handed = if let Some(handed) = self.taken_over(&step) {
            handed
        } else {
            if let Err(failure) = self.keep_tree(Kind::Pre, &step, "run") {
                return Ok(unkept(&failure));
            }
            self.hand_out(index, &step)?
        };
        let place = self.place(&handed);
        let mut stream = Stream::of(place.stdout());
        let (ending, interrupted) = self.wait(io, index, &step, &place, &mut stream)?;
        let stderr = String::from_utf8_lossy(&std::fs::read(place.stderr()).unwrap_or_default()).into_owned();
        let session = matches!(step.does, Does::Client { .. }).then(|| self.session()).flatten();
        let seen = Witness {
            ending,
            interrupted,
            stderr: &stderr,
            stream: &stream,
            session: session.as_ref(),
            checks: &self.policy.checks,
        };
        let judged = judge(&step, &seen);
        let judged = match self.keep_tree(Kind::Post, &step, trigger(&judged)) {
            Err(failure) if judged == Judged::Pass => unkept(&failure),
            _ => judged,
        };
        let duration_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.count(&stream);
        self.keep(&step, handed, &judged, duration_ms, git::touched(&self.env, &self.root, &before))?;
        progress::step_ended(io, &step.id, outcome(&judged), duration_ms, self.record.cost);
        Ok(judged)
    }

    fn place(&self, begun: &Begun) -> Place {
        Place::new(&self.folder, &format!("{}-{}", begun.step, begun.attempt))
    }

    /// The step as a driver before us handed it out, if it ever began.
    fn taken_over(&self, step: &Planned) -> Option<Begun> {
        let begun = self.record.current.clone().filter(|begun| begun.step == step.id)?;
        let place = self.place(&begun);
        let ours = match place.look() {
            Standing::Running | Standing::Ended(_) => true,
            Standing::NotStarted => !place.claim(),
            Standing::Lost => {
                place.sweep();
                false
            }
        };
        ours.then_some(begun)
    }

    fn hand_out(&mut self, index: usize, step: &Planned) -> anyhow::Result<Begun> {
        let attempt = self.record.begun.get(&step.id).map_or(0, |begun| begun.attempt) + 1;
        let run_id = self.record.run_id.clone();
        let id = sha256(&[run_id.as_bytes(), b"\0", step.id.as_bytes()])[..32].to_owned();
        let tool = if matches!(step.does, Does::Run(_)) { "run" } else { "claude" };
        let call = CallKey { id: id.clone(), server: "aops-hook".to_owned(), tool: tool.to_owned() };
        let tree = git::tree(&self.env, &self.root).unwrap_or_default();
        let begun = Begun { attempt, call, step: step.id.clone(), tree };
        self.tell(Deed::Step(begun.clone()))?;
        let key = random(16)?;
        let job = self.job(index, step, attempt, &key)?;
        let mut variables = self.env.variables(|name| name != RUN && name != RUN_KEY);
        let mut set = |name: &str, value: OsString| {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value));
        };
        set(RUN, run_id.into());
        set("AOPS_STEP", step.id.clone().into());
        set("AOPS_IDEMPOTENCY_KEY", id.into());
        match step.does {
            Does::Client { .. } => set(RUN_KEY, key.into()),
            Does::Run(_) => {
                set("AOPS_TASK", self.record.init.task.clone().into());
                set("PATH", self.path_with_us());
            }
        }
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(n, v)| (n.as_str(), v.as_os_str())).collect();
        let place = self.place(&begun);
        place.start(&job, &variables).map_err(|e| Failure::storage(self.folder.display(), e))?;
        Ok(begun)
    }

    fn job(&mut self, index: usize, step: &Planned, attempt: u64, key: &str) -> anyhow::Result<Job> {
        let timeout_ms = self.record.step_timeout_ms;
        let folder = self.root.clone();
        if let Does::Run(line) = &step.does {
            let args = vec!["-c".to_owned(), line.clone()];
            return Ok(Job { args, folder, program: PathBuf::from("/bin/sh"), timeout_ms });
        }
        let approved = self.approved.take();
        self.enter(step, key, approved.clone())?;
        self.note = None;
        let known = self.is_known();
        let prompt =
            approved.is_none().then(|| self.prompt(index, step, attempt > 1 && known)).transpose()?;
        let session = &self.record.init.session_id;
        let mut args = self.kit.arguments(step, session, known, prompt.as_deref());
        if let Some(left) = self.record.budget.map(|budget| budget.saturating_sub(self.record.cost)) {
            args.extend(["--max-budget-usd".to_owned(), progress::usd(left).to_string()]);
        }
        Ok(Job { args, folder, program: self.client.clone(), timeout_ms })
    }

    /// A command step finds us, wherever we are.
    fn path_with_us(&self) -> OsString {
        let own = self.env.program().ok().and_then(|program| Some(program.parent()?.to_owned()));
        let path = self.env.search_path();
        let all: Vec<PathBuf> = std::env::split_paths(&path).chain(own).collect();
        std::env::join_paths(all).unwrap_or(path)
    }

    /// Until the program has ended; and whether somebody asked us to.
    fn wait(
        &mut self,
        io: &mut Io,
        index: usize,
        step: &Planned,
        place: &Place,
        stream: &mut Stream,
    ) -> anyhow::Result<(Option<Ending>, bool)> {
        let began = Instant::now();
        let mut asked: Option<Instant> = None;
        let ending = loop {
            let standing = place.look();
            stream.follow();
            let now = Now {
                step: &step.id,
                index,
                count: self.plan.len(),
                elapsed: began.elapsed(),
                tokens: self.record.tokens.max(stream.tokens),
                cost: self.record.cost,
                tool: stream.last_tool.as_deref(),
            };
            self.progress.tick(io, &now);
            match standing {
                Standing::Ended(ending) => break Some(ending),
                Standing::Lost => {
                    place.sweep();
                    break None;
                }
                Standing::NotStarted if began.elapsed() > BEGIN && place.claim() => {
                    let what = format!("the program of step `{}` could not be started", step.id);
                    return Err(Failure::new(Code::StorageFailed, what).into());
                }
                _ => {}
            }
            match asked {
                None if signal::interrupted() && place.signal(Signal::TERM) => asked = Some(Instant::now()),
                Some(at) if at.elapsed() > END => {
                    place.signal(Signal::KILL);
                }
                _ => {}
            }
            thread::sleep(LOOK);
        };
        stream.follow();
        Ok((ending, asked.is_some()))
    }

    /// What the whole run used so far: the client counts over its session.
    fn count(&mut self, stream: &Stream) {
        let result = stream.result.as_ref();
        let cost = result.and_then(|result| result.cost).unwrap_or_default();
        self.record.cost = self.record.cost.max(cost);
        let known = result.and_then(|result| result.tokens);
        self.record.tokens = known.unwrap_or(self.record.tokens + stream.tokens).max(self.record.tokens);
    }

    fn keep(
        &mut self,
        step: &Planned,
        begun: Begun,
        judged: &Judged,
        duration_ms: u64,
        artifacts: Vec<String>,
    ) -> Result<(), Failure> {
        let outcome = outcome(judged);
        let summary = Summary { artifacts, duration_ms, outcome, step_name: step.id.clone() };
        self.artifacts.keep_summary(&self.record.run_id, &summary)?;
        let reason = match judged {
            Judged::Pause(_) => return Ok(()),
            Judged::Pass => String::new(),
            Judged::Blocked(reason) => reason.clone(),
        };
        let (cost, tokens) = (self.record.cost, self.record.tokens);
        let done =
            Done { call: begun.call, cost, duration_ms, outcome, reason, step: step.id.clone(), tokens };
        self.tell(Deed::Done(done))
    }
}

/// A step whose tree cannot be kept could not be taken back.
fn unkept(failure: &Failure) -> Judged {
    Judged::Blocked(format!("no checkpoint could be kept: {failure}"))
}

/// Why the tree is kept after a step.
fn trigger(judged: &Judged) -> &'static str {
    match judged {
        Judged::Pass => "run",
        Judged::Blocked(_) => "failure",
        Judged::Pause(_) => "pause",
    }
}

fn outcome(judged: &Judged) -> Outcome {
    match judged {
        Judged::Pass => Outcome::Pass,
        Judged::Blocked(_) => Outcome::Blocked,
        Judged::Pause(asked) => asked.trigger.outcome(),
    }
}
