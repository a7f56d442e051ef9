//! A run: its place, its machine, its legs and its questions, to its end.
//!
//! Served by the gateway, so that losing a machine loses no run. Invariants: a cancelled run ends when
//! nothing of its step is left, or says by when; an answer counts for one digest, and once; a run returns
//! everything it took, however it ends.

use super::answers::{self, ANSWERS, ASKED, Answers, FORGET, STANDING, TOLD, promise_of};
use super::here::CANCELLED;
use super::machines::{MACHINES, Machines, Wanted};
use super::question::Question;
use super::serve::serve;
use super::slots::{SLOTS, Slots, Wants, key_of};
use crate::client::{Address, SOON};
use crate::order::{
    ALL, Decision, LONGEST_WORDS, Leg, LegEnd, LogLine, Machine, Order, PROTOCOL, Standing, Told, name_of,
};
use crate::port::Port;
use aops_core::system::env::now_ms;
use aops_core::text::time::timestamp;
use aops_remote::signed::Trusted;
use restate_sdk::context::{InvocationHandle, RequestTarget};
use restate_sdk::prelude::*;
use serde_json::Value;
use std::time::Duration;

/// How long a run waits for a machine with its labels before it looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How long after a step's grace its machine counts as unreachable.
const OVER_GRACE: Duration = Duration::from_secs(3);
/// How often in a row a machine may give a step back, or a run may lose its machine, before a person is
/// asked.
const MOST_GIVEN_BACK: u32 = 8;
/// The prefix of the digest of a question that concerns no packet.
const FAILED: &str = "failed-";

struct Run {
    admin: Address,
    trusted: Trusted,
}

#[restate_sdk::workflow(
    name = "Run",
    inactivity_timeout = "24h",
    abort_timeout = "10s",
    journal_retention = "7 days",
    workflow_completion_retention = "7 days",
    invocation_retry_policy(
        initial_interval = "100ms",
        factor = 2.0,
        max_interval = "10s",
        max_attempts = 50,
        on_max_attempts = "pause"
    )
)]
impl Run {
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, Json(order): Json<Order>) -> HandlerResult<Json<LegEnd>> {
        if order.protocol != PROTOCOL {
            let words = format!("this gateway knows orders of form {PROTOCOL}, not {}", order.protocol);
            return Err(TerminalError::new_with_code(400, words).into());
        }
        let standing = Standing::of(&order);
        let told = Told::default();
        let mut walk = Walk { ctx: &ctx, admin: &self.admin, order: &order, standing, told, machine: None };
        let ended = walk.reach_end().await;
        walk.clear_up(&ended).await?;
        Ok(Json(ended?))
    }

    /// One answer for a digest; a second one is refused, and so is one that no gateway signed.
    #[handler]
    async fn answer(
        &self,
        ctx: SharedWorkflowContext<'_>,
        Json(answer): Json<Decision>,
    ) -> HandlerResult<()> {
        answers::answer(&ctx, &self.trusted, answer).await
    }

    #[handler]
    async fn status(&self, ctx: SharedWorkflowContext<'_>) -> HandlerResult<Json<Option<Standing>>> {
        answers::standing(&ctx).await
    }

    #[handler]
    async fn told(&self, ctx: SharedWorkflowContext<'_>) -> HandlerResult<Json<Value>> {
        answers::told(&ctx).await
    }
}

fn pause_after(times: u32) -> Duration {
    Duration::from_secs(1 << times.min(6))
}

/// How a step ended, including that it was taken from its machine.
enum StepEnd {
    Ended(LegEnd),
    /// Its invocation was killed or cancelled: its machine was unreachable for too long, or a person released
    /// the run.
    Taken,
}

struct Walk<'a, 'ctx> {
    ctx: &'a WorkflowContext<'ctx>,
    admin: &'a Address,
    order: &'a Order,
    standing: Standing,
    told: Told,
    machine: Option<Machine>,
}

impl Walk<'_, '_> {
    async fn reach_end(&mut self) -> Result<LegEnd, TerminalError> {
        self.take_place().await?;
        self.choose(None).await?;
        self.legs().await
    }

    /// Publishes the run's new state.
    async fn tell(&mut self, state: &str) -> Result<(), TerminalError> {
        // The time is kept in the journal.
        let since = self.ctx.run(|| async { Ok(timestamp(now_ms())) }).name("clock").await?;
        self.told.add(LogLine {
            at: since.clone(),
            what: self.standing.sentence(state),
            ..LogLine::default()
        });
        self.standing.since = since;
        state.clone_into(&mut self.standing.state);
        self.ctx.set(TOLD, Json(self.told.clone()));
        self.ctx.set(STANDING, Json(self.standing.clone()));
        Ok(())
    }

    /// Waits until fewer runs of this repository are active than the limit allows.
    async fn take_place(&mut self) -> Result<(), TerminalError> {
        let (awakeable, has_one) = self.ctx.awakeable::<bool>();
        let wants = Wants { run: self.ctx.key().to_owned(), awakeable };
        let take = RequestTarget::object(SLOTS, key_of(&self.standing.repository), "take");
        let Json(at_once) = self.ctx.request::<_, Json<bool>>(take, Json(wants)).call().await?;
        if !at_once {
            self.standing.waits_for = Some("other runs of this repository".to_owned());
            self.tell("waits").await?;
            has_one.await?;
            self.standing.waits_for = None;
        }
        Ok(())
    }

    fn give_place(&self) {
        let give = RequestTarget::object(SLOTS, key_of(&self.standing.repository), "give");
        self.ctx.request::<_, ()>(give, self.ctx.key().to_owned()).send();
    }

    /// Chooses a machine with all requested labels, and waits for one if there is none.
    async fn choose(&mut self, rather_not: Option<String>) -> Result<(), TerminalError> {
        let wanted = Wanted { labels: self.order.labels.clone(), rather_not };
        let mut is_told = false;
        loop {
            let pick = RequestTarget::object(MACHINES, ALL, "pick");
            let picking = self.ctx.request::<_, Json<Option<Machine>>>(pick, Json(wanted.clone()));
            let Json(found) = picking.call().await?;
            if let Some(machine) = found {
                self.standing.machine = Some(machine.name.clone());
                self.standing.waits_for = None;
                self.machine = Some(machine);
                return Ok(());
            }
            if !is_told {
                is_told = true;
                let labels = wanted.labels.join(", ");
                let with = if labels.is_empty() { String::new() } else { format!(" with {labels}") };
                self.standing.waits_for = Some(format!("a machine{with}"));
                self.tell("waits").await?;
            }
            self.ctx.sleep(LOOK_AGAIN).await?;
        }
    }

    /// Gives the machine back. Returns its name.
    fn leave(&mut self) -> Option<String> {
        let name = self.machine.take()?.name;
        let done = RequestTarget::object(MACHINES, ALL, "done");
        self.ctx.request::<_, ()>(done, name.clone()).send();
        Some(name)
    }

    /// Runs leg after leg, each after a person's answer to the one before, to the end.
    async fn legs(&mut self) -> Result<LegEnd, TerminalError> {
        let mut answer = None::<Decision>;
        let mut given_back = 0;
        let mut restore = false;
        for leg in 1.. {
            self.standing.leg = leg;
            self.tell("runs").await?;
            let run = self.ctx.key().to_owned();
            let work = Leg { run, order: self.order.run.clone(), answer: answer.clone(), restore };
            let (question, about) = match self.step(work).await? {
                StepEnd::Ended(LegEnd::Finished { outcome, reason, delivered, account }) => {
                    self.told.account = account.clone();
                    return Ok(LegEnd::Finished { outcome, reason, delivered, account });
                }
                StepEnd::Taken if given_back < MOST_GIVEN_BACK => {
                    given_back += 1;
                    restore = true;
                    self.standing.pinned = false;
                    let left = self.leave();
                    self.choose(left).await?;
                    continue;
                }
                StepEnd::Ended(LegEnd::GivenBack) if given_back < MOST_GIVEN_BACK => {
                    self.ctx.sleep(pause_after(given_back)).await?;
                    given_back += 1;
                    continue;
                }
                StepEnd::Ended(LegEnd::GivenBack) | StepEnd::Taken => {
                    (format!("the step did not finish {given_back} times"), format!("{FAILED}{leg}"))
                }
                StepEnd::Ended(LegEnd::Failed { words }) => (words, format!("{FAILED}{leg}")),
                StepEnd::Ended(LegEnd::Asks { question, about, pinned, asked, account }) => {
                    self.standing.pinned = pinned;
                    self.standing.four_eyes = asked["four_eyes"] == true;
                    self.told.account = account;
                    self.ctx.set(ASKED, Json(asked));
                    (question, about)
                }
            };
            let said = self.ask(question, about).await?;
            given_back = 0;
            if said.about.starts_with(FAILED) && !said.approve {
                let outcome = "BLOCKED".to_owned();
                let reason = format!("{} rejected it", said.who);
                let account = Value::Null;
                return Ok(LegEnd::Finished { outcome, reason, delivered: None, account });
            }
            answer = Some(said);
        }
        Err(TerminalError::new("a run without an end"))
    }

    /// Waits for a person's answer. Meanwhile another run of the repository has the place.
    async fn ask(&mut self, question: String, about: String) -> Result<Decision, TerminalError> {
        let name = promise_of(&about);
        let question =
            if about.starts_with(FAILED) { format!("{question}; may it be tried again?") } else { question };
        self.standing.question = Some(question.chars().take(LONGEST_WORDS).collect());
        self.standing.about = Some(about);
        self.tell("asks").await?;
        self.give_place();
        let Json(said) = self.ctx.promise::<Json<Decision>>(&name).await?;
        self.standing.question = None;
        self.standing.about = None;
        self.standing.four_eyes = false;
        self.ctx.clear(ASKED);
        self.told.add(LogLine::of(&said));
        self.take_place().await?;
        Ok(said)
    }

    /// Runs one step until it has ended. A cancellation reaches the step too; we still wait for the step's
    /// own end.
    async fn step(&mut self, work: Leg) -> Result<StepEnd, TerminalError> {
        let machine = self.machine.clone().unwrap_or_default();
        let step = RequestTarget::object(name_of(&machine.name), self.ctx.key(), "step");
        let calling = self.ctx.request::<_, Json<LegEnd>>(step, Json(work)).call();
        let handle = calling.invocation_handle().await?;
        restate_sdk::select! {
            end = calling => {
                match end {
                    Ok(Json(end)) => Ok(StepEnd::Ended(end)),
                    Err(error) if is_taken(&error) => Ok(StepEnd::Taken),
                    Err(error) => Err(error),
                }
            },
            on_cancel => Err(self.end_step(&machine, &handle).await?)
        }
    }

    /// Cancels a step and waits until its processes are gone. An unreachable machine learns of no
    /// cancellation: the engine then forgets its step, and the message says by when the machine will have
    /// ended it by itself.
    async fn end_step(
        &self,
        machine: &Machine,
        handle: &InvocationHandle,
    ) -> Result<TerminalError, TerminalError> {
        handle.cancel();
        let patience = Duration::from_secs(machine.grace_s) + OVER_GRACE;
        let is_heard = restate_sdk::select! {
            end = handle.attach::<Json<LegEnd>>() => { Some(end.err()) },
            _ = self.ctx.sleep(patience) => { None }
        };
        if let Some(ended) = is_heard {
            return Ok(
                ended.unwrap_or_else(|| TerminalError::new_with_code(409, "cancelled; the step had ended"))
            );
        }
        let admin = self.admin.clone();
        let path = format!("/invocations/{}/kill", handle.invocation_id());
        let asks = move || admin.ask("PATCH", &path, None, SOON);
        self.ctx
            .run(|| async move {
                let said = tokio::task::spawn_blocking(asks).await??;
                if said.status < 500 { Ok(()) } else { Err(std::io::Error::other(said.text).into()) }
            })
            .name("kill")
            .await?;
        let lets_go = i64::try_from(machine.lets_go_after().as_millis()).unwrap_or_default();
        let by = self.ctx.run(|| async move { Ok(timestamp(now_ms() + lets_go)) }).name("clock").await?;
        let name = &machine.name;
        let words = format!("ended here; machine {name} was away, its copy ends by {by} at the latest");
        Ok(TerminalError::new_with_code(409, words))
    }

    /// Returns what the run had, and publishes how it ended.
    async fn clear_up(&mut self, ended: &Result<LegEnd, TerminalError>) -> Result<(), TerminalError> {
        let run = self.ctx.key().to_owned();
        self.give_place();
        self.ctx.request::<_, ()>(RequestTarget::object(ANSWERS, run, FORGET), ()).send();
        self.leave();
        let (outcome, reason) = match ended {
            Ok(LegEnd::Finished { outcome, reason, .. }) => (outcome.clone(), reason.clone()),
            Ok(_) => ("BLOCKED".to_owned(), String::new()),
            Err(error) => ("BLOCKED".to_owned(), error.message().to_owned()),
        };
        self.standing.question = None;
        self.standing.about = None;
        self.standing.waits_for = None;
        self.standing.outcome = Some(outcome);
        self.standing.reason = Some(reason);
        self.tell("over").await
    }
}

/// Whether this is the engine's error for a killed invocation, or a machine's error for a cancelled one.
fn is_taken(error: &TerminalError) -> bool {
    error.code() == 409
        && (error.message().eq_ignore_ascii_case("killed") || error.message().starts_with(CANCELLED))
}

/// Serves runs and what they share; never returns unless it fails.
pub async fn serve_runs(
    port: &Port,
    admin: Address,
    per_repository: usize,
    trusted: Trusted,
) -> Result<(), String> {
    let endpoint = Endpoint::builder()
        .bind(Question { trusted: trusted.clone() })
        .bind(Run { admin, trusted })
        .bind(Machines)
        .bind(Slots { per_repository })
        .bind(Answers);
    serve(endpoint, port).await
}
