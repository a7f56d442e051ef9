//! The steps on one machine.
//!
//! Its service is named after the machine, which is known only at run time. To set such a name we need the
//! trait form of the SDK's macro, which is deprecated, and a hidden function. A test fails if they disappear.

#![expect(deprecated, reason = "the newer form of a service has no name that is set at run time")]

use super::serve::serve;
use crate::attend::Steps;
use crate::order::{Leg, LegEnd, name_of};
use crate::port::Port;
use aops_remote::signed::Trusted;
use restate_sdk::prelude::*;
use restate_sdk::service::Discoverable;
use restate_sdk::service::macro_support::service_definition;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

pub(super) const CANCELLED: &str = "cancelled; nothing of the step is left";

#[restate_sdk::object]
trait Here {
    async fn step(leg: Json<Leg>) -> HandlerResult<Json<LegEnd>>;
}

struct OnMachine(Arc<Steps>, Trusted);

impl Here for OnMachine {
    async fn step(&self, ctx: ObjectContext<'_>, Json(leg): Json<Leg>) -> HandlerResult<Json<LegEnd>> {
        // The engine is not trusted with who answered.
        if let Some(Err(words)) = leg.answer.as_ref().map(|answer| self.1.check(&leg.run, answer)) {
            return Ok(Json(LegEnd::Failed { words }));
        }
        let (awakeable, done) = ctx.awakeable::<Json<LegEnd>>();
        // Every attempt comes here: a running step is attended again, an unknown one begins.
        let attending = self.0.attend(ctx.invocation_id(), &leg, &awakeable).await?;
        let cut_off = attending.cut_off();
        let attempt = async move {
            let end = restate_sdk::select! {
                end = done => { end },
                on_cancel => {
                    attending.kill().await;
                    return Err(TerminalError::new_with_code(409, CANCELLED).into());
                }
            };
            attending.over();
            Ok(end?)
        };
        unless(cut_off, attempt).await
    }
}

/// The attempt's result, or a failure that the engine tries again, as soon as the worker was cut off from it.
async fn unless(
    cut_off: impl Future<Output = ()>,
    attempt: impl Future<Output = HandlerResult<Json<LegEnd>>>,
) -> HandlerResult<Json<LegEnd>> {
    let mut cut_off = pin!(cut_off);
    let mut attempt = pin!(attempt);
    poll_fn(|context| match attempt.as_mut().poll(context) {
        Poll::Ready(end) => Poll::Ready(end),
        Poll::Pending => {
            cut_off.as_mut().poll(context).map(|()| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
        }
    })
    .await
}

/// Serves the steps of this machine; never returns unless it fails.
pub async fn serve_machine(steps: Arc<Steps>, port: &Port, trusted: Trusted) -> Result<(), String> {
    let mut here = <ServeHere<OnMachine> as Discoverable>::discover();
    let name = name_of(&steps.machine);
    here.name = name.clone().try_into().map_err(|_| format!("`{name}` is not the name of a service"))?;
    let options = ServiceOptions::new()
        .inactivity_timeout(Duration::from_hours(24))
        .journal_retention(Duration::from_hours(7 * 24))
        .abort_timeout(Duration::from_secs(10))
        .retry_policy_initial_interval(Duration::from_millis(100))
        .retry_policy_exponentiation_factor(2.0)
        .retry_policy_max_interval(Duration::from_secs(10))
        .retry_policy_max_attempts(50)
        .retry_policy_pause_on_max_attempts();
    let machine = service_definition(OnMachine(steps, trusted).serve(), here).options(options);
    serve(Endpoint::builder().bind(machine), port).await
}
