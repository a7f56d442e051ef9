//! A person runs our verbs, or edits what guards a session, while sessions are open: known for what it is.

use crate::own::let_time_pass;
use crate::support::{Sandbox, Session};
use serde_json::json;
use std::fs;

fn registered() -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.person(&["install"]).said(&["registered"]);
    sandbox
}

/// A command from its question to its end, while which this is done; what is said at its end.
fn during(session: &Session, line: &str, done: impl FnOnce()) -> String {
    let call = session.call("Bash", json!({"command": line}));
    session.pre(&call).silent();
    done();
    let answer = session.post(&call);
    format!("{}{}", answer.out, answer.err)
}

#[test]
fn an_uninstallation_between_calls_locks_no_session() {
    let sandbox = registered();
    let (session, other) = (sandbox.working(), sandbox.working());
    session.write("a").silent();
    let said = sandbox.person(&["uninstall", "--yes"]).out;
    assert!(said.contains("2 sessions are open: end them (`/exit`), then `claude --continue`"), "{said}");
    for (session, line) in [(&session, "touch b1"), (&other, "touch b2")] {
        assert_eq!(during(session, line, || ()), "");
        assert_eq!(session.state()["state"]["custodiet_blocked"], false);
    }
    // Installed again, then removed by hand instead of by our own verb.
    sandbox.person(&["install"]).said(&["registered"]);
    assert_eq!(during(&session, "touch c", || ()), "");
    let settings = sandbox.config().join("settings.json");
    let said = during(&session, "touch d", || fs::write(&settings, "{}").unwrap());
    assert!(
        said.contains("the session is blocked") && said.contains("changed while a tool call ran"),
        "{said}"
    );
    assert_eq!(session.state()["state"]["custodiet_blocked"], true);
    let_time_pass(&sandbox, &settings);
    let said = during(&other, "touch e", || ());
    assert!(said.contains("blocked") && said.contains("since the last tool call, while none ran"), "{said}");
}

/// A call may hide who runs the verb: our hooks are not off by a person's wish then.
#[test]
fn an_uninstallation_while_a_call_runs_is_the_calls() {
    let sandbox = registered();
    let session = sandbox.working();
    let said = during(&session, "sh hidden.sh", || drop(sandbox.person(&["uninstall", "--yes"])));
    assert!(said.contains("the session is blocked"), "{said}");
    // Nor does an old record speak for what a call does later.
    let sandbox = registered();
    let session = sandbox.working();
    sandbox
        .person(&["uninstall", "--yes"])
        .said(&["1 session is open: end it (`/exit`), then `claude --continue`"]);
    sandbox.person(&["install"]).said(&["registered"]);
    assert_eq!(during(&session, "touch a", || ()), "");
    let said =
        during(&session, "sh hidden.sh", || fs::remove_file(sandbox.config().join("settings.json")).unwrap());
    assert!(said.contains("the session is blocked"), "{said}");
}

#[test]
fn a_mode_that_a_person_sets_is_not_told_as_a_calls_change() {
    let sandbox = registered();
    let session = sandbox.working();
    session.write("a").silent();
    sandbox.person(&["mode", "loop", "--project", "--yes"]).said(&["is set"]);
    assert_eq!(during(&session, "touch b", || ()), "");
    sandbox.person(&["danger", "off", "git-discard", "--yes"]).said(&["is set"]);
    assert_eq!(during(&session, "touch b", || ()), "");
    // By hand: told, with the truth about when.
    let file = sandbox.home().join(".config/aops/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n# by hand\n")).unwrap();
    let_time_pass(&sandbox, &file);
    let said = during(&session, "touch c", || ());
    assert!(said.contains("changed since the last tool call, while none ran: "), "{said}");
    let said = during(&session, "touch d", || fs::write(&file, &text).unwrap());
    assert!(said.contains("changed while a tool call ran: "), "{said}");
}
