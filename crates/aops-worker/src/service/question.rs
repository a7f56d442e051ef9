//! A session's question without a run: a person's answer, for which the session's machine waits.
//!
//! Invariant: an answer counts for the digest of the very call, and once.

use super::answers::{self, FORGET};
use crate::order::{Decision, LONGEST_WORDS, Order, PROTOCOL, Standing};
use aops_core::system::env::now_ms;
use aops_core::text::time::timestamp;
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

pub(super) struct Question;

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
        tell(&ctx, &mut standing, "asks").await?;
        let said = ctx.promise::<Json<Decision>>(&answers::promise_of(&about)).await;
        ctx.request::<_, ()>(RequestTarget::object(answers::ANSWERS, ctx.key(), FORGET), ()).send();
        let (outcome, reason) = match &said {
            Ok(Json(said)) => {
                (if said.approve { "APPROVED" } else { "REJECTED" }, format!("by {}", said.who))
            }
            Err(error) => ("BLOCKED", error.message().to_owned()),
        };
        standing.question = None;
        standing.about = None;
        standing.outcome = Some(outcome.to_owned());
        standing.reason = Some(reason);
        tell(&ctx, &mut standing, "over").await?;
        Ok(said?)
    }

    #[handler]
    async fn answer(
        &self,
        ctx: SharedWorkflowContext<'_>,
        Json(answer): Json<Decision>,
    ) -> HandlerResult<()> {
        answers::answer(&ctx, answer).await
    }

    #[handler]
    async fn status(&self, ctx: SharedWorkflowContext<'_>) -> HandlerResult<Json<Option<Standing>>> {
        answers::standing(&ctx).await
    }
}

/// Publishes the new state.
async fn tell(ctx: &WorkflowContext<'_>, standing: &mut Standing, state: &str) -> Result<(), TerminalError> {
    standing.since = ctx.run(|| async { Ok(timestamp(now_ms())) }).name("clock").await?;
    state.clone_into(&mut standing.state);
    ctx.set(answers::STANDING, Json(standing.clone()));
    Ok(())
}
