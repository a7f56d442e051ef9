//! Limits how many runs of a repository run at a time.
//!
//! Invariant: a place belongs to one run, and is passed on in the order in which runs asked.

use aops_core::text::sha256::sha256;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Its key is the digest of the repository's address.
pub(super) const SLOTS: &str = "Slots";
const PLACES: &str = "places";

pub(super) fn key_of(repository: &str) -> String {
    sha256(&[repository.as_bytes()])[..32].to_owned()
}

/// A run that wants a place, and the awakeable that is resolved when it gets one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wants {
    pub(super) run: String,
    pub(super) awakeable: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Places {
    taken: Vec<String>,
    waiting: VecDeque<Wants>,
}

impl Places {
    /// Whether the run has a place now; otherwise it waits.
    fn take(&mut self, wants: Wants, most: usize) -> bool {
        if self.taken.contains(&wants.run) {
            return true;
        }
        if self.taken.len() < most {
            self.taken.push(wants.run);
            return true;
        }
        self.waiting.retain(|other| other.run != wants.run);
        self.waiting.push_back(wants);
        false
    }

    /// The run gives up its place or its wait. Returns the runs that get a place now.
    fn give(&mut self, run: &str, most: usize) -> Vec<Wants> {
        self.taken.retain(|taken| taken != run);
        self.waiting.retain(|wants| wants.run != run);
        let mut next = Vec::new();
        while self.taken.len() < most
            && let Some(wants) = self.waiting.pop_front()
        {
            self.taken.push(wants.run.clone());
            next.push(wants);
        }
        next
    }
}

pub(super) struct Slots {
    /// 0 means any number.
    pub(super) per_repository: usize,
}

#[restate_sdk::object(name = "Slots")]
impl Slots {
    #[handler]
    async fn take(&self, ctx: ObjectContext<'_>, Json(wants): Json<Wants>) -> HandlerResult<Json<bool>> {
        let mut places = places(&ctx).await?;
        let most = most(&ctx, self.per_repository).await?;
        let has_one = places.take(wants, most);
        ctx.set(PLACES, Json(places));
        Ok(Json(has_one))
    }

    #[handler]
    async fn give(&self, ctx: ObjectContext<'_>, run: String) -> HandlerResult<()> {
        let mut places = places(&ctx).await?;
        let most = most(&ctx, self.per_repository).await?;
        for next in places.give(&run, most) {
            ctx.resolve_awakeable(&next.awakeable, true);
        }
        if places == Places::default() {
            ctx.clear_all();
        } else {
            ctx.set(PLACES, Json(places));
        }
        Ok(())
    }
}

async fn places(ctx: &ObjectContext<'_>) -> Result<Places, TerminalError> {
    Ok(ctx.get::<Json<Places>>(PLACES).await?.map(Json::into_inner).unwrap_or_default())
}

/// Kept in the journal: a gateway may restart with another number while a call is under way.
async fn most(ctx: &ObjectContext<'_>, configured: usize) -> Result<usize, TerminalError> {
    let most = if configured == 0 { u64::MAX } else { configured as u64 };
    let kept = ctx.run(|| async move { Ok(most) }).name("most").await?;
    Ok(usize::try_from(kept).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(run: &str) -> Wants {
        Wants { run: run.to_owned(), awakeable: format!("{run}!") }
    }

    #[test]
    fn places_are_given_in_order_and_once() {
        let mut places = Places::default();
        assert!(places.take(wants("a"), 2) && places.take(wants("b"), 2));
        assert!(!places.take(wants("c"), 2) && !places.take(wants("d"), 2));
        assert!(places.take(wants("a"), 2), "asked again by a retry: it has one");
        assert!(!places.take(wants("d"), 2), "asked again: it waits once");
        assert_eq!(places.give("b", 2), [wants("c")]);
        assert_eq!(places.give("b", 2), [], "given back twice");
        assert_eq!(places.give("d", 2), [], "it was cancelled while it waited");
        assert_eq!((places.give("a", 2), places.give("c", 2)), (vec![], vec![]));
        assert_eq!(places, Places::default());
        assert!((0..100).all(|n| places.take(wants(&n.to_string()), usize::MAX)));
    }
}
