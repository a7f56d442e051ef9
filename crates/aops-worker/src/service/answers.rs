//! Records which questions of a run were answered. One call at a time for a run, so one of two answers comes
//! first.

#![expect(clippy::unused_async, reason = "the engine's handlers are async")]

use crate::order::{Decision, Standing, Told};
use aops_remote::signed::Trusted;
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use serde_json::{Value, json};

/// Its key is the run.
pub(super) const ANSWERS: &str = "Answers";
pub(super) const FORGET: &str = "forget";
const TAKEN: &str = "taken";
/// Where a run or a question keeps its status.
pub(super) const STANDING: &str = "standing";
/// The whole call that waits for a person.
pub(super) const ASKED: &str = "asked";
pub(super) const TOLD: &str = "told";

pub(super) struct Answers;

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

    /// Forgets the answers of a run that is over.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        ctx.clear_all();
        Ok(())
    }
}

/// The status of a run or a question, if it has begun.
pub(super) async fn standing(ctx: &SharedWorkflowContext<'_>) -> HandlerResult<Json<Option<Standing>>> {
    Ok(Json(ctx.get::<Json<Standing>>(STANDING).await?.map(Json::into_inner)))
}

/// What became of a run or a question so far, and the whole call that waits for a person.
pub(super) async fn told(ctx: &SharedWorkflowContext<'_>) -> HandlerResult<Json<Value>> {
    let told = ctx.get::<Json<Told>>(TOLD).await?.map(Json::into_inner).unwrap_or_default();
    let asked = ctx.get::<Json<Value>>(ASKED).await?.map(Json::into_inner);
    Ok(Json(json!({"account": told.account, "log": told.log, "asked": asked})))
}

/// Gives an answer. One answer for a digest; a second one is refused, and so is one that no gateway signed.
pub(super) async fn answer(
    ctx: &SharedWorkflowContext<'_>,
    trusted: &Trusted,
    answer: Decision,
) -> HandlerResult<()> {
    if let Err(words) = trusted.check(ctx.key(), &answer) {
        return Err(TerminalError::new_with_code(403, words).into());
    }
    let Json(standing) = standing(ctx).await?;
    let asked = standing.and_then(|standing| standing.about);
    let name = promise_of(&answer.about);
    if ctx.peek_promise::<Json<Decision>>(&name).await?.is_some() {
        return Err(TerminalError::new_with_code(409, "this question was answered already").into());
    }
    if asked.as_deref() != Some(answer.about.as_str()) {
        return Err(TerminalError::new_with_code(409, "the run does not ask this question").into());
    }
    // Two of these handlers may run at the same time; the answers object decides which one is first.
    let take = RequestTarget::object(ANSWERS, ctx.key(), "take");
    let Json(is_first) = ctx.request::<_, Json<bool>>(take, Json(answer.about.clone())).call().await?;
    if !is_first {
        return Err(TerminalError::new_with_code(409, "this question was answered already").into());
    }
    ctx.resolve_promise(&name, Json(answer));
    Ok(())
}

/// The promise that the answer about this digest keeps.
pub(super) fn promise_of(about: &str) -> String {
    format!("answer-{about}")
}
