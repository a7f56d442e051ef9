//! The heads of sessions in the database, as each turn's end makes them: sent behind the hooks, kept while it is away, then all once.

use super::postgres::Postgres;
use crate::support::Sandbox;

#[test]
fn heads_wait_for_the_database_and_arrive() {
    let (mut postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    postgres.configure(&sandbox, "");
    postgres.kill();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let session = sandbox.session();
        let start = session.start("startup");
        assert_eq!(start.code, Some(0), "{start:?}");
        assert_eq!(session.prompt("what is this?").code, Some(0));
        let stop = session.stop("It is a project.");
        assert_eq!(stop.code, Some(0), "the hooks do not notice: {stop:?}");
        ids.push((session.id.clone(), session.entries().len()));
    }
    sandbox.wait_until("the refreshers gave up", || sandbox.alive().is_empty());
    postgres.start_again();
    assert_eq!(postgres.sql("select count(*) from aops.sessions"), "0");
    let last = sandbox.session();
    assert_eq!(last.start("startup").code, Some(0));
    sandbox.wait_until("all of them arrived", || postgres.sql("select count(*) from aops.sessions") == "3");
    sandbox.wait_until("and the refresher ended", || sandbox.alive().is_empty());
    for (id, entries) in ids {
        let row = postgres.sql(&format!("select entries, mode from aops.sessions where id = '{id}'"));
        assert_eq!(row, format!("{entries}|strict"));
    }
    let rows = postgres.sql("select count(*), count(distinct machine), min(phase) <> '' from aops.sessions");
    assert_eq!(rows, "3|1|t");
    // What was sent is not sent again.
    postgres.sql("delete from aops.sessions");
    assert_eq!(last.prompt("more").code, Some(0));
    assert_eq!(last.stop("Done.").code, Some(0));
    sandbox.wait_until("the new heads arrived", || postgres.sql("select count(*) from aops.sessions") == "1");
    let seen = postgres.sql("select count(*) from aops.machines where policy <> ''");
    assert_eq!(seen, "1", "the machine is there");
}
