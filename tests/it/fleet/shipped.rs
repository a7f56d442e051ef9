//! The heads of sessions in the database, as each turn's end makes them: sent behind the hooks, kept while it
//! is away, then all once.

use super::postgres::Postgres;
use crate::export::receiver::Receiver;
use crate::support::Sandbox;
use aops_fleet::session::{Machine, SessionHead};
use std::fs;
use std::net::TcpListener;

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
    // A week's heads, more than one batch.
    let file = sandbox.config().join("aops/heads.jsonl");
    let mut heads = fs::read_to_string(&file).unwrap();
    let line = heads.lines().last().unwrap().to_owned();
    (0..250).for_each(|n| heads += &(line.replace(&ids[2].0, &format!("away-{n}")) + "\n"));
    fs::write(&file, heads).unwrap();
    postgres.start_again();
    assert_eq!(postgres.sql("select count(*) from aops.sessions"), "0");
    let last = sandbox.session();
    assert_eq!(last.start("startup").code, Some(0));
    sandbox.wait_until("all of them arrived", || postgres.sql("select count(*) from aops.sessions") == "253");
    assert_eq!(postgres.sql("delete from aops.sessions where id like 'away-%'"), "");
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

/// Database and collector are away while sessions begin and end; then checkpoints, insights and traces
/// arrive, each once, in their order.
#[test]
fn what_sessions_came_to_waits_and_arrives_once() {
    let (mut postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    postgres.configure(&sandbox, &format!("fleet.otlp = \"http://127.0.0.1:{port}\"\n"));
    sandbox.person(&["key", "init"]).said(&["made the key"]);
    postgres.kill();
    let run = |n: usize| {
        let session = sandbox.session();
        assert_eq!(session.start("startup").code, Some(0));
        assert_eq!(session.prompt(&format!("question {n}")).code, Some(0));
        assert_eq!(session.end().code, Some(0));
        sandbox.wait_until("the refresher gave up", || sandbox.alive().is_empty());
        session.id
    };
    let mut ids: Vec<String> = (0..4).map(run).collect();
    postgres.start_again();
    let collector = Receiver::at(port);
    ids.push(run(4));
    let rows = "select session from aops.insights order by at";
    assert_eq!(postgres.sql(rows).lines().collect::<Vec<_>>(), ids, "in their order");
    assert_eq!(postgres.sql("select count(distinct document::json->>'session_id') from aops.insights"), "5");
    let log = fs::read_to_string(sandbox.config().join("aops/log/checkpoint")).unwrap();
    assert_eq!(postgres.sql("select note from aops.checkpoints").trim(), log.trim());
    let told = || {
        let spans = collector.spans();
        let roots = spans.iter().filter(|span| span.parent.is_none());
        roots.map(|span| span.trace.clone()).collect::<Vec<_>>()
    };
    let first = told();
    assert_eq!(first.len(), 5, "a trace for each session");
    // What was sent is not sent again; what is new is.
    postgres.sql("delete from aops.insights");
    ids.push(run(5));
    assert_eq!(postgres.sql(rows), ids[5]);
    assert_eq!((told()[..5].to_vec(), told().len()), (first, 6));
}

/// Heads come in any order and twice; the newest stays. A cost that is not known is none.
#[test]
fn heads_never_go_back() {
    let (postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    postgres.configure(&sandbox, "");
    let mut fleet = postgres.fleet();
    let head = |entries: i64, cost: Option<i64>| SessionHead {
        id: "s".to_owned(),
        entries,
        head: format!("h{entries}"),
        cost,
        ..SessionHead::default()
    };
    for heads in
        [vec![head(1, None), head(3, Some(2_500_000))], vec![head(2, None)], vec![head(3, Some(2_500_000))]]
    {
        fleet.report("m", &heads).unwrap();
    }
    fleet.report("other", &[head(1, None)]).unwrap();
    let rows = "select machine, entries, head from aops.sessions order by 1";
    assert_eq!(postgres.sql(rows), "m|3|h3\nother|1|h1");
    for version in ["1", "2"] {
        fleet.register(&Machine { name: "m", version, policy: "p", bundle: "" }).unwrap();
    }
    let seen = fleet.overview(10).unwrap();
    assert_eq!(
        (seen.machines.len(), seen.machines[0].version.as_str(), seen.sessions, seen.policies),
        (1, "2", 2, 1)
    );
    let shown = sandbox.person(&["fleet", "sessions", "--json"]).json();
    let cost = |machine: &str| {
        let all = shown.as_array().unwrap();
        all.iter().find(|one| one["machine"] == machine).unwrap()["cost_usd"].clone()
    };
    assert_eq!((cost("m"), cost("other")), (2.5.into(), serde_json::Value::Null), "{shown}");
    sandbox.person(&["fleet", "sessions"]).said(&["$2.50"]);
}
