//! A session's question without a run: a person's answer, for which the session's machine waits.
//!
//! Invariant: an answer counts for the digest of the very call, once, and only if the gateway signed it.

use super::answers::{self, ASKED, FORGET, TOLD};
use crate::order::{Decision, LONGEST_WORDS, LogLine, Order, PROTOCOL, Standing, Told};
use aops_core::system::env::now_ms;
use aops_core::text::time::timestamp;
use aops_remote::signed::Trusted;
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use serde_json::{Value, json};

pub(super) struct Question {
    pub(super) trusted: Trusted,
}

#[restate_sdk::workflow(
    name = "Question",
    inactivity_timeout = "24h",
    abort_timeout = "10s",
    journal_retention = "7 days",
    workflow_completion_retention = "7 days"
)]
impl Question {
    #[handler]
    async fn ask(&self, ctx: WorkflowContext<'_>, Json(order): Json<Order>) -> HandlerResult<Json<Decision>> {
        let text = |name: &str| order.run[name].as_str().unwrap_or_default().to_owned();
        let about = text("about");
        if order.protocol != PROTOCOL || about.is_empty() {
            return Err(TerminalError::new_with_code(400, "that is not the question of a session").into());
        }
        let mut standing = Standing {
            machine: Some(text("machine")),
            question: Some(text("question").chars().take(LONGEST_WORDS).collect()),
            about: Some(about.clone()),
            ..Standing::of(&order)
        };
        let mut told = Told::default();
        ctx.set(ASKED, Json(json!({"session": true})));
        tell(&ctx, &mut standing, &mut told, "asks").await?;
        let said = ctx.promise::<Json<Decision>>(&answers::promise_of(&about)).await;
        ctx.request::<_, ()>(RequestTarget::object(answers::ANSWERS, ctx.key(), FORGET), ()).send();
        let (outcome, reason) = match &said {
            Ok(Json(said)) => {
                told.add(LogLine::of(said));
                (if said.approve { "APPROVED" } else { "REJECTED" }, format!("by {}", said.who))
            }
            Err(error) => ("BLOCKED", error.message().to_owned()),
        };
        standing.question = None;
        standing.about = None;
        standing.outcome = Some(outcome.to_owned());
        standing.reason = Some(reason);
        ctx.clear(ASKED);
        tell(&ctx, &mut standing, &mut told, "over").await?;
        Ok(said?)
    }

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

/// Publishes the new state.
async fn tell(
    ctx: &WorkflowContext<'_>,
    standing: &mut Standing,
    told: &mut Told,
    state: &str,
) -> Result<(), TerminalError> {
    standing.since = ctx.run(|| async { Ok(timestamp(now_ms())) }).name("clock").await?;
    state.clone_into(&mut standing.state);
    told.add(LogLine { at: standing.since.clone(), what: standing.sentence(state), ..LogLine::default() });
    ctx.set(TOLD, Json(told.clone()));
    ctx.set(answers::STANDING, Json(standing.clone()));
    Ok(())
}
