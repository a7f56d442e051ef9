//! Records which questions of a run were answered. One call at a time for a run, so one of two answers comes
//! first.

use crate::order::{Decision, Standing};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

/// Its key is the run.
pub(super) const ANSWERS: &str = "Answers";
pub(super) const FORGET: &str = "forget";
const TAKEN: &str = "taken";
/// Where a run or a question keeps its status.
pub(super) const STANDING: &str = "standing";

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
    #[expect(clippy::unused_async, reason = "the form that the SDK wants")]
    async fn forget(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        ctx.clear_all();
        Ok(())
    }
}

/// The status of a run or a question, if it has begun.
pub(super) async fn standing(ctx: &SharedWorkflowContext<'_>) -> HandlerResult<Json<Option<Standing>>> {
    Ok(Json(ctx.get::<Json<Standing>>(STANDING).await?.map(Json::into_inner)))
}

/// Gives an answer. One answer for a digest; a second one is refused.
pub(super) async fn answer(ctx: &SharedWorkflowContext<'_>, answer: Decision) -> HandlerResult<()> {
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
