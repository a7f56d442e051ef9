//! What is judged by words: the client's own tools, lines where no network holds, and the list of a session.

use crate::support::{Answer, Sandbox, Session};
use serde_json::json;
use std::fs;

const LISTED: &str = "allow = [\"docs.example\"]\ndeny = [\"gist.example\"]\n";

fn attended(mode: &str) -> Sandbox {
    let sandbox = Sandbox::new().with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    sandbox.configure(&format!("[network]\nmode = \"{mode}\"\n{LISTED}"));
    sandbox
}

fn begun(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    session.hydrate("minor-edit", "new");
    session
}

fn fetches(session: &Session, url: &str) -> Answer {
    session.pre(&session.call("WebFetch", json!({"url": url, "prompt": "x"})))
}

#[test]
fn a_page_is_judged_by_the_same_list() {
    let sandbox = attended("ask");
    let session = begun(&sandbox);
    fetches(&session, "https://docs.example/x").silent();
    let asked = fetches(&session, "https://paste.example/x");
    assert!(asked.out.contains("\"ask\"") && asked.out.contains("`paste.example` (port 443)"), "{asked:?}");
    fetches(&session, "https://gist.example/x").refused(&["gist.example refused, it is denied (person)"]);
    let sandbox = attended("list");
    let session = begun(&sandbox);
    fetches(&session, "https://docs.example/x").silent();
    fetches(&session, "https://paste.example:8443/x").refused(&[
        "paste.example:8443 refused",
        "hint: ask the person to run `aops-hook network allow paste.example:8443`",
    ]);
    let sandbox = attended("observe");
    fetches(&begun(&sandbox), "https://paste.example/x").silent();
}

/// Nobody can be asked: what would be a question is refused.
#[test]
fn a_page_without_a_person_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!("[network]\nmode = \"ask\"\n{LISTED}"));
    fetches(&begun(&sandbox), "https://paste.example/x").refused(&["paste.example refused", "network allow"]);
}

/// Without namespaces only lines that name a host are held, and `status` says that the rest is not.
#[test]
fn where_no_network_holds_lines_are_judged_by_their_words() {
    let sandbox = attended("list");
    let session = begun(&sandbox);
    session.ask_bash("curl -s https://paste.example/ -o x").refused(&["paste.example refused"]);
    session.ask_bash("curl -s https://docs.example/ -o x").silent();
    sandbox.person(&["status"]).said(&["network", "not held"]);
    let sandbox = attended("ask");
    let session = begun(&sandbox);
    let asked = session.ask_bash("git clone https://paste.example/x.git");
    assert!(asked.out.contains("\"ask\"") && asked.out.contains("`paste.example` (port 443)"), "{asked:?}");
}

/// Lock files and settings as they are committed, remotes, the person's settings, and the ecosystem's own
/// hosts.
#[test]
fn a_session_begins_with_the_hosts_that_its_project_fetches_from() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("[network]\nmode = \"list\"\n");
    let lock = |host: &str| {
        format!(
            "{{\"a\": {{\n\"resolved\": \"https://{host}/a.tgz\",\n\"funding\": {{\n\"url\": \"https://fund.example\"\n}}}}}}\n"
        )
    };
    sandbox.put("web/package-lock.json", &lock("npm.example"));
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "lock"]);
    sandbox.git(&["remote", "add", "second", "git@code.example:me/x.git"]);
    sandbox.put("web/package-lock.json", &lock("planted.example"));
    sandbox.put("Cargo.lock", "source = \"registry+https://uncommitted.example/index\"\n");
    fs::write(sandbox.home().join(".npmrc"), "registry=https://person.example:8443/\n# https://no.example\n")
        .unwrap();
    let session = sandbox.session();
    let _ = session.start("startup");
    let list = || fs::read_to_string(session.folder().join("network/list")).unwrap();
    let first = list();
    for row in [
        "allow npm.example derived",
        "allow code.example remote",
        "allow person.example:8443 derived",
        "allow registry.npmjs.org built-in",
    ] {
        assert!(first.lines().any(|line| line == row), "{row}: {first}");
    }
    for host in ["planted", "uncommitted", "fund.example", "no.example", "crates.io"] {
        assert!(!first.contains(host), "{host}: {first}");
    }
    // What is committed later adds nothing, not even where the session is resumed.
    sandbox.git(&["commit", "-qam", "planted"]);
    let _ = session.start("resume");
    assert_eq!(list(), first);
    sandbox.person(&["network", "list"]).said(&["code.example", "remote", "built-in"]);
    sandbox.configure("[network]\nmode = \"list\"\nderive = false\n");
    let other = sandbox.session();
    let _ = other.start("startup");
    assert_eq!(fs::read_to_string(other.folder().join("network/list")).unwrap(), "mode list\n");
}

/// The verbs write the person's file, for the project or everywhere, and take the other answer back.
#[test]
fn an_answer_is_kept_in_the_persons_file() {
    let sandbox = Sandbox::new();
    sandbox.configure("[network]\nmode = \"list\"\n");
    let person = |words: &[&str]| sandbox.person(words);
    person(&["network", "allow", "a.example", "--yes"]).said(&["network: `a.example` allowed in `"]);
    person(&["network", "deny", "b.example", "--everywhere", "--yes"]).said(&["denied everywhere"]);
    let told = person(&["network", "--json"]).json();
    assert_eq!((&told["allow"], &told["deny"]), (&json!(["a.example"]), &json!(["b.example"])), "{told}");
    person(&["network", "deny", "a.example", "--yes"]).said(&["denied in"]);
    let told = person(&["network", "--json"]).json();
    assert_eq!((&told["allow"], &told["deny"]), (&json!([]), &json!(["a.example", "b.example"])), "{told}");
    // Denied everywhere: an answer for one project does not lift that, and says so.
    person(&["network", "allow", "b.example", "--yes"]).said(&["it does not hold here"]);
    person(&["network", "allow", "https://a.example", "--yes"]).failed(2, &["not a host by its name"]);
    person(&["network", "allow", "a.example"]).failed(2, &["needs a person at a terminal"]);
    sandbox.inside(&["network", "allow", "a.example", "--yes"]).failed(2, &["inside"]);
    person(&["network", "watch"]).failed(2, &["no session with a network of its own"]);
}
