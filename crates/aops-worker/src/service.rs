//! The handlers on the engine. The only file that knows its SDK.
//!
//! Invariants: no program is started inside a durable block; a step is attended, so a cancellation is heard at once and "over" is
//! said when its processes are gone; an answer counts for one digest, and once.

#![expect(deprecated, reason = "the newer form of a service has no name that is set at run time")]

use crate::attend::Steps;
use crate::order::{Decision, LONGEST_WORDS, Leg, LegEnd, Order, PROTOCOL, Standing};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use restate_sdk::service::Discoverable;
use restate_sdk::service::macro_support::service_definition;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The object that knows the machines; its only key.
const MACHINES: &str = "Machines";
pub const ALL: &str = "all";
/// The object that knows which questions of a run were answered; its key is the run.
const ANSWERS: &str = "Answers";
const STANDING: &str = "standing";
const KNOWN: &str = "machines";
const TAKEN: &str = "taken";
/// How long a run waits for a machine that has its labels, before it looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

pub fn name_of(machine: &str) -> String {
    format!("machine-{machine}")
}

struct Run;

#[restate_sdk::workflow(
    name = "Run",
    inactivity_timeout = "24h",
    abort_timeout = "10s",
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
            let words = format!("this worker knows orders of form {PROTOCOL}, not {}", order.protocol);
            return Err(TerminalError::new_with_code(400, words).into());
        }
        let run = ctx.key().to_owned();
        let machine = choose(&ctx, &order).await?;
        let ended = walk(&ctx, &run, &machine, &order).await;
        ctx.request::<_, ()>(RequestTarget::object(MACHINES, ALL, "done"), machine.clone()).send();
        ctx.request::<_, ()>(RequestTarget::object(ANSWERS, &run, "forget"), ()).send();
        let since = now(&ctx).await?;
        tell(&ctx, Standing { state: "over".to_owned(), machine: Some(machine), since, ..standing(&order) });
        ended
    }

    /// One answer for a digest; a second one is refused.
    #[handler]
    async fn answer(&self, ctx: SharedWorkflowContext<'_>, Json(answer): Json<Decision>) -> HandlerResult<()> {
        let standing = ctx.get::<Json<Standing>>(STANDING).await?.map(Json::into_inner);
        let asked = standing.and_then(|standing| standing.about);
        let name = promise_of(&answer.about);
        if ctx.peek_promise::<Json<Decision>>(&name).await?.is_some() {
            return Err(TerminalError::new_with_code(409, "this question was answered already").into());
        }
        if asked.as_deref() != Some(answer.about.as_str()) {
            return Err(TerminalError::new_with_code(409, "the run does not ask this question").into());
        }
        // Two of these handlers may be here at one moment, and only one of them comes first there.
        let take = RequestTarget::object(ANSWERS, ctx.key(), "take");
        let Json(is_first) = ctx.request::<_, Json<bool>>(take, Json(answer.about.clone())).call().await?;
        if !is_first {
            return Err(TerminalError::new_with_code(409, "this question was answered already").into());
        }
        ctx.resolve_promise(&name, Json(answer));
        Ok(())
    }

    #[handler]
    async fn status(&self, ctx: SharedWorkflowContext<'_>) -> HandlerResult<Json<Option<Standing>>> {
        Ok(Json(ctx.get::<Json<Standing>>(STANDING).await?.map(Json::into_inner)))
    }
}

/// How often in a row a machine may give a step back before a person is asked, and how long the run waits each time.
const MOST_GIVEN_BACK: u32 = 8;

fn pause_after(times: u32) -> Duration {
    Duration::from_secs(1 << times.min(6))
}

fn promise_of(about: &str) -> String {
    format!("answer-{about}")
}

fn standing(order: &Order) -> Standing {
    Standing {
        state: "runs".to_owned(),
        machine: None,
        leg: 0,
        question: None,
        about: None,
        since: String::new(),
        who: order.who.clone(),
    }
}

fn tell(ctx: &WorkflowContext<'_>, standing: Standing) {
    ctx.set(STANDING, Json(standing));
}

/// The clock, kept in the journal.
async fn now(ctx: &WorkflowContext<'_>) -> Result<String, TerminalError> {
    ctx.run(|| async { Ok(aops_core::text::time::timestamp(aops_core::system::env::now_ms())) }).name("clock").await
}

/// A machine with all labels that were asked for; waits for one.
async fn choose(ctx: &WorkflowContext<'_>, order: &Order) -> Result<String, TerminalError> {
    let since = now(ctx).await?;
    tell(ctx, Standing { state: "waits".to_owned(), since, ..standing(order) });
    loop {
        let pick = RequestTarget::object(MACHINES, ALL, "pick");
        let Json(found) = ctx.request::<_, Json<Option<String>>>(pick, Json(order.labels.clone())).call().await?;
        match found {
            Some(machine) => return Ok(machine),
            None => ctx.sleep(LOOK_AGAIN).await?,
        }
    }
}

/// Leg after leg, with a person's answer between two of them, to the end.
async fn walk(ctx: &WorkflowContext<'_>, run: &str, machine: &str, order: &Order) -> HandlerResult<Json<LegEnd>> {
    let (mut answer, mut given_back) = (None, 0);
    for leg in 1.. {
        let since = now(ctx).await?;
        let on = Some(machine.to_owned());
        tell(ctx, Standing { machine: on.clone(), leg, since, ..standing(order) });
        let step = RequestTarget::object(name_of(machine), run, "step");
        let work = Leg { run: run.to_owned(), order: order.run.clone(), answer: answer.take() };
        let Json(end) = attended(ctx, step, work).await?;
        let (question, about) = match end {
            LegEnd::Finished { .. } => return Ok(Json(end)),
            LegEnd::GivenBack if given_back < MOST_GIVEN_BACK => {
                ctx.sleep(pause_after(given_back)).await?;
                given_back += 1;
                continue;
            }
            LegEnd::GivenBack => {
                let words = format!("the step was given back {given_back} times; may it be tried again?");
                (words, format!("failed-{leg}"))
            }
            LegEnd::Asks { question, about } => (question, about),
            LegEnd::Failed { words } => (format!("{words}; may it be tried again?"), format!("failed-{leg}")),
        };
        let question = Some(question.chars().take(LONGEST_WORDS).collect());
        let since = now(ctx).await?;
        let (state, leg_of, name) = ("asks".to_owned(), leg, promise_of(&about));
        let about = Some(about);
        tell(ctx, Standing { state, machine: on, leg: leg_of, question, about, since, ..standing(order) });
        let Json(said) = ctx.promise::<Json<Decision>>(&name).await?;
        given_back = 0;
        if said.about.starts_with("failed-") && !said.approve {
            let (outcome, reason) = ("BLOCKED".to_owned(), format!("{} rejected it", said.who));
            return Ok(Json(LegEnd::Finished { outcome, reason, delivered: None }));
        }
        answer = Some(said);
    }
    Err(TerminalError::new("a run without an end").into())
}

/// One step, until it has ended. A cancellation reaches the step too: only its end is the end.
async fn attended(ctx: &WorkflowContext<'_>, step: RequestTarget, work: Leg) -> Result<Json<LegEnd>, TerminalError> {
    let calling = ctx.request::<_, Json<LegEnd>>(step, Json(work)).call();
    let handle = calling.invocation_handle().await?;
    restate_sdk::select! {
        end = calling => { end },
        on_cancel => {
            handle.cancel();
            match handle.attach::<Json<LegEnd>>().await {
                Ok(_) => Err(TerminalError::new_with_code(409, "cancelled; the step had ended")),
                Err(ended) => Err(ended),
            }
        }
    }
}

/// Which questions of a run were answered. One call at a time for a run, so one of two answers comes first.
struct Answers;

#[restate_sdk::object(name = "Answers")]
impl Answers {
    /// Whether this is the first answer to this question.
    #[handler]
    async fn take(&self, ctx: ObjectContext<'_>, Json(about): Json<String>) -> HandlerResult<Json<bool>> {
        let known = ctx.get::<Json<Vec<String>>>(TAKEN).await?.map(Json::into_inner);
        let mut known = known.unwrap_or_default();
        let is_first = !known.contains(&about);
        if is_first {
            known.push(about);
            ctx.set(TAKEN, Json(known));
        }
        Ok(Json(is_first))
    }

    /// The run is over.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        ctx.clear_all();
        Ok(())
    }
}

/// A machine as its worker announced it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    pub name: String,
    pub labels: Vec<String>,
    #[serde(default)]
    pub runs: u64,
}

struct Machines;

#[restate_sdk::object(name = "Machines")]
impl Machines {
    /// A worker serves this machine from now on.
    #[handler]
    async fn hello(&self, ctx: ObjectContext<'_>, Json(machine): Json<Machine>) -> HandlerResult<()> {
        let mut all = known(&ctx).await?;
        let runs = all.get(&machine.name).map_or(0, |known| known.runs);
        all.insert(machine.name.clone(), Machine { runs, ..machine });
        ctx.set(KNOWN, Json(all));
        Ok(())
    }

    /// The machine with these labels that has the fewest runs.
    #[handler]
    async fn pick(
        &self,
        ctx: ObjectContext<'_>,
        Json(labels): Json<Vec<String>>,
    ) -> HandlerResult<Json<Option<String>>> {
        let mut all = known(&ctx).await?;
        let fits = |machine: &&mut Machine| labels.iter().all(|label| machine.labels.contains(label));
        let Some(found) = all.values_mut().filter(fits).min_by_key(|machine| machine.runs) else {
            return Ok(Json(None));
        };
        found.runs += 1;
        let name = found.name.clone();
        ctx.set(KNOWN, Json(all));
        Ok(Json(Some(name)))
    }

    /// Every machine by its name.
    #[handler]
    async fn list(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<BTreeMap<String, Machine>>> {
        Ok(Json(ctx.get::<Json<BTreeMap<String, Machine>>>(KNOWN).await?.map(Json::into_inner).unwrap_or_default()))
    }

    /// A run on this machine is over.
    #[handler]
    async fn done(&self, ctx: ObjectContext<'_>, name: String) -> HandlerResult<()> {
        let mut all = known(&ctx).await?;
        if let Some(machine) = all.get_mut(&name) {
            machine.runs = machine.runs.saturating_sub(1);
        }
        ctx.set(KNOWN, Json(all));
        Ok(())
    }
}

async fn known(ctx: &ObjectContext<'_>) -> Result<BTreeMap<String, Machine>, TerminalError> {
    Ok(ctx.get::<Json<BTreeMap<String, Machine>>>(KNOWN).await?.map(Json::into_inner).unwrap_or_default())
}

/// The steps on one machine. Its service has the machine's name, which is known only when the program runs: the trait form of the
/// SDK's macro gives what is needed to set it.
#[restate_sdk::object]
trait Here {
    async fn step(leg: Json<Leg>) -> HandlerResult<Json<LegEnd>>;
}

struct OnMachine(Arc<Steps>);

impl Here for OnMachine {
    async fn step(&self, ctx: ObjectContext<'_>, Json(leg): Json<Leg>) -> HandlerResult<Json<LegEnd>> {
        let (awakeable, done) = ctx.awakeable::<Json<LegEnd>>();
        // Every attempt comes here: a step that runs is attended again, one that is unknown begins.
        let attending = self.0.attend(ctx.invocation_id(), &leg, &awakeable).await?;
        let end = restate_sdk::select! {
            end = done => { end },
            on_cancel => {
                attending.kill().await;
                return Err(TerminalError::new_with_code(409, "cancelled; nothing of the step is left").into());
            }
        };
        attending.over();
        Ok(end?)
    }
}

/// Serves runs and the steps of this machine, for ever.
pub async fn serve(steps: Arc<Steps>, listen: SocketAddr, identity: Option<&str>) -> Result<(), String> {
    let mut here = <ServeHere<OnMachine> as Discoverable>::discover();
    let name = name_of(&steps.machine);
    here.name = name.clone().try_into().map_err(|_| format!("`{name}` is not the name of a service"))?;
    let options = ServiceOptions::new()
        .inactivity_timeout(Duration::from_hours(24))
        .abort_timeout(Duration::from_secs(10))
        .retry_policy_initial_interval(Duration::from_millis(100))
        .retry_policy_exponentiation_factor(2.0)
        .retry_policy_max_interval(Duration::from_secs(10))
        .retry_policy_max_attempts(50)
        .retry_policy_pause_on_max_attempts();
    let machine = service_definition(OnMachine(steps).serve(), here).options(options);
    let mut endpoint = Endpoint::builder().bind(Run).bind(Machines).bind(Answers).bind(machine);
    if let Some(key) = identity {
        endpoint = endpoint.identity_key(key).map_err(|error| format!("the server's key: {error}"))?;
    }
    HttpServer::new(endpoint.build()).listen_and_serve(listen).await;
    Ok(())
}
