//! Records which questions of a run were answered. One call at a time for a run, so one of two answers comes
//! first.

#![expect(clippy::unused_async, reason = "the engine's handlers are async")]

use restate_sdk::prelude::*;

/// Its key is the run.
pub(super) const ANSWERS: &str = "Answers";
const TAKEN: &str = "taken";

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
