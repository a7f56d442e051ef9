//! The machines, as their workers announced them.

use crate::order::Machine;
use aops_core::system::env::now_ms;
use aops_core::text::time::timestamp;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The object that keeps them; its only key is `all`.
pub(super) const MACHINES: &str = "Machines";
const KNOWN: &str = "machines";

type Known = BTreeMap<String, Machine>;

/// What a run needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wanted {
    pub(super) labels: Vec<String>,
    /// This machine is chosen only if no other fits.
    pub(super) rather_not: Option<String>,
}

/// The machine with these labels that has the fewest runs.
fn choose(known: &Known, wanted: &Wanted) -> Option<String> {
    let fits = |machine: &&Machine| {
        !machine.away && wanted.labels.iter().all(|label| machine.labels.contains(label))
    };
    let is_last = |machine: &Machine| wanted.rather_not.as_ref() == Some(&machine.name);
    let found = known.values().filter(fits).min_by_key(|machine| (is_last(machine), machine.runs));
    found.map(|machine| machine.name.clone())
}

pub(super) struct Machines;

#[restate_sdk::object(name = "Machines")]
impl Machines {
    /// Registers a machine that a worker now serves.
    #[handler]
    async fn hello(&self, ctx: ObjectContext<'_>, Json(machine): Json<Machine>) -> HandlerResult<()> {
        let mut all = known(&ctx).await?;
        let runs = all.get(&machine.name).map_or(0, |known| known.runs);
        all.insert(machine.name.clone(), Machine { runs, away: false, ..machine });
        ctx.set(KNOWN, Json(all));
        Ok(())
    }

    /// Chooses a machine for a run, and counts the run for it.
    #[handler]
    async fn pick(
        &self,
        ctx: ObjectContext<'_>,
        Json(wanted): Json<Wanted>,
    ) -> HandlerResult<Json<Option<Machine>>> {
        let mut all = known(&ctx).await?;
        let Some(found) = choose(&all, &wanted).and_then(|name| all.get_mut(&name)) else {
            return Ok(Json(None));
        };
        found.runs += 1;
        let found = found.clone();
        ctx.set(KNOWN, Json(all));
        Ok(Json(Some(found)))
    }

    /// Counts one run less for this machine.
    #[handler]
    async fn done(&self, ctx: ObjectContext<'_>, name: String) -> HandlerResult<()> {
        let mut all = known(&ctx).await?;
        if let Some(machine) = all.get_mut(&name) {
            machine.runs = machine.runs.saturating_sub(1);
        }
        ctx.set(KNOWN, Json(all));
        Ok(())
    }

    /// Assigns no run to this machine until its worker announces itself again.
    #[handler]
    async fn lost(&self, ctx: ObjectContext<'_>, Json(name): Json<String>) -> HandlerResult<()> {
        let mut all = known(&ctx).await?;
        let now = ctx.run(|| async { Ok(timestamp(now_ms())) }).name("clock").await?;
        if let Some(machine) = all.get_mut(&name).filter(|machine| !machine.away) {
            machine.away = true;
            machine.since = Some(now);
        }
        ctx.set(KNOWN, Json(all));
        Ok(())
    }

    /// Lists every machine by its name.
    #[handler]
    async fn list(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Known>> {
        Ok(Json(ctx.get::<Json<Known>>(KNOWN).await?.map(Json::into_inner).unwrap_or_default()))
    }

    /// Whether this machine is assigned runs.
    #[handler]
    async fn counts(
        &self,
        ctx: SharedObjectContext<'_>,
        Json(name): Json<String>,
    ) -> HandlerResult<Json<bool>> {
        let all = ctx.get::<Json<Known>>(KNOWN).await?.map(Json::into_inner).unwrap_or_default();
        Ok(Json(all.get(&name).is_some_and(|machine| !machine.away)))
    }
}

async fn known(ctx: &ObjectContext<'_>) -> Result<Known, TerminalError> {
    Ok(ctx.get::<Json<Known>>(KNOWN).await?.map(Json::into_inner).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_chosen_by_labels_then_by_load_and_never_while_it_is_away() {
        let machine = |name: &str, labels: &[&str], runs: u64, away: bool| {
            let labels = labels.iter().map(|label| (*label).to_owned()).collect();
            (name.to_owned(), Machine { name: name.to_owned(), labels, runs, away, ..Machine::default() })
        };
        let known = Known::from([
            machine("a", &["linux"], 2, false),
            machine("b", &["linux", "gpu"], 3, false),
            machine("c", &["linux", "gpu"], 0, true),
        ]);
        let chosen = |labels: &[&str], rather_not: Option<&str>| {
            let labels = labels.iter().map(|label| (*label).to_owned()).collect();
            choose(&known, &Wanted { labels, rather_not: rather_not.map(str::to_owned) })
        };
        assert_eq!(chosen(&["linux"], None).as_deref(), Some("a"));
        assert_eq!(chosen(&["gpu", "linux"], None).as_deref(), Some("b"), "`c` is away");
        assert_eq!(chosen(&["linux"], Some("a")).as_deref(), Some("b"), "more runs, but another one");
        assert_eq!(chosen(&["gpu"], Some("b")).as_deref(), Some("b"), "no other fits");
        assert_eq!(chosen(&["mac"], None), None);
    }
}
