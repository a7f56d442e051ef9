//! What is judged by words: the client's own tools, lines where no network holds, and the list of a session.

use crate::support::{Answer, Sandbox, Session};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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
    // The mode in which the gates only record is another one.
    sandbox.configure(&format!("[mode]\nlevel = \"observe\"\n[network]\nmode = \"list\"\n{LISTED}"));
    let session = sandbox.session();
    let _ = session.start("startup");
    fetches(&session, "https://docs.example/x").silent();
    fetches(&session, "https://paste.example/x").refused(&["paste.example refused"]);
}

/// The client's own tool takes whatever `new URL` takes.
#[test]
fn an_address_that_is_spelt_oddly_is_judged_as_it_is_fetched() {
    let sandbox = attended("list");
    let session = begun(&sandbox);
    for url in [
        "https://evil.example:/",
        "https:evil.example/",
        " https://evil.example/",
        "https:\\\\evil.example\\x",
        "HTTPS:////evil.example",
        "https://evil\u{3002}example/",
        "https://%65vil.example/",
        "https://docs.example@evil.example/",
        "ht\ttps://evil.example/",
    ] {
        fetches(&session, url).refused(&["evil.example refused, it is not on"]);
    }
    for url in [
        "https://93.184.216.66/",
        "http://0x5db8d842/",
        "http://1572395074/",
        "http://[2606:2800:220:1::1]/",
        "https://\u{ff45}vil.example/",
        "https://evil.example:99999/",
    ] {
        fetches(&session, url).refused(&["refused, "]);
    }
    fetches(&session, "https://docs.example:443/x").silent();
}

/// By whatever name: the ports that the list names, and those of the session's own servers.
#[test]
fn of_this_machine_only_the_listed_ports_are_fetched_from() {
    let sandbox = Sandbox::new();
    sandbox.configure("[network]\nmode = \"list\"\nservers = true\nlocal = [3000]\n");
    let session = begun(&sandbox);
    for host in ["localhost", "127.0.0.1", "[::1]", "app.localhost"] {
        let of_server = |port: u16| {
            let url = format!("http://{host}:{port}/");
            session.pre(&session.call("mcp__browser__navigate", json!({"url": url})))
        };
        let said = fetches(&session, &format!("http://{host}:3000/"));
        assert!(!said.out.contains("deny"), "{host}: {said:?}");
        assert!(!of_server(3000).out.contains("`[network] local`"), "{host}");
        let why = format!("{host}:9200 refused, no command serves it and `[network] local` does not name it");
        fetches(&session, &format!("http://{host}:9200/")).refused(&[&why]);
        of_server(9200).refused(&[&why]);
    }
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
    sandbox.person(&["status"]).said(&["network", "not confined"]);
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
    person(&["network", "allow", "b.example", "--yes"]).said(&["it has no effect here"]);
    person(&["network", "allow", "https://a.example", "--yes"]).failed(2, &["not a host by its name"]);
    person(&["network", "allow", "a.example"]).failed(2, &["needs a person at a terminal"]);
    sandbox.inside(&["network", "allow", "a.example", "--yes"]).failed(2, &["inside"]);
    person(&["network", "watch"]).failed(2, &["no session with a network of its own"]);
}

/// A session in this folder; its own folder.
fn begun_in(sandbox: &Sandbox, project: &Path) -> PathBuf {
    let session = sandbox.session();
    let mut payload = session.payload("SessionStart", json!({"source": "startup"}));
    payload["cwd"] = json!(project);
    let mut command = sandbox.command(crate::support::BINARY);
    command.arg("SessionStart").envs(sandbox.inside_client()).env("CLAUDE_PROJECT_DIR", project);
    let started = command.write_stdin(payload.to_string()).output().unwrap();
    assert!(started.status.success(), "{started:?}");
    session.folder()
}

/// Stands for the brokers of these sessions: holds what a broker holds, and takes a signal to read the list.
#[expect(clippy::disallowed_methods, reason = "it goes on while the test does")]
fn brokers(sandbox: &Sandbox, sessions: &[&Path]) -> Child {
    let marks: Vec<PathBuf> = sessions.iter().map(|folder| folder.join("network/mark")).collect();
    for mark in &marks {
        fs::write(mark, "ready\n").unwrap();
    }
    let script = "import fcntl, signal, sys\n\
        signal.signal(signal.SIGHUP, signal.SIG_IGN)\n\
        marks = [open(path, 'r+') for path in sys.argv[1:]]\n\
        for mark in marks: fcntl.lockf(mark, fcntl.LOCK_EX)\n\
        print('held', flush=True)\n\
        sys.stdin.read()\n";
    let mut command = Command::new("python3");
    command.args(["-c", script]).args(&marks).env_clear().envs(sandbox.environment());
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "held\n");
    holder
}

fn answers_in(folder: &Path) -> usize {
    let ledger = fs::read_to_string(folder.join("ledger.jsonl")).unwrap();
    ledger.lines().filter(|line| line.contains("\"type\":\"network\"")).count()
}

/// An answer for one project says nothing to the sessions of another.
#[test]
fn an_answer_is_written_where_it_holds() {
    let sandbox = Sandbox::new();
    sandbox.configure("[network]\nmode = \"list\"\n");
    let elsewhere = sandbox.tmp().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let (here, there) = (begun_in(&sandbox, &sandbox.project()), begun_in(&sandbox, &elsewhere));
    let mut holder = brokers(&sandbox, &[&here, &there]);
    let list = |folder: &Path| fs::read_to_string(folder.join("network/list")).unwrap();
    let person = |words: &[&str]| sandbox.person(words);
    person(&["network", "allow", "a.example", "--yes"]).said(&["1 running session took it up"]);
    assert_eq!((answers_in(&here), answers_in(&there)), (1, 0), "only here");
    assert!(list(&here).contains("a.example") && !list(&there).contains("a.example"));
    person(&["network", "deny", "b.example", "--yes"]).said(&["1 running session took it up"]);
    assert_eq!((answers_in(&here), answers_in(&there)), (2, 0), "only here");
    person(&["network", "deny", "c.example", "--everywhere", "--yes"])
        .said(&["2 running sessions took it up"]);
    assert_eq!((answers_in(&here), answers_in(&there)), (3, 1), "in both");
    assert!(list(&there).contains("deny c.example person"), "{}", list(&there));
    // What does not hold is no answer: it is denied everywhere.
    let said = person(&["network", "allow", "c.example", "--yes"]);
    assert!(said.out.contains("it has no effect here") && !said.out.contains("took it up"), "{said:?}");
    assert_eq!((answers_in(&here), answers_in(&there)), (3, 1), "nowhere");
    // Denied by a pattern, or at every port.
    let _ = person(&["network", "deny", "*.d.example", "--everywhere", "--yes"]);
    for host in ["x.d.example", "*.y.d.example", "c.example:8080"] {
        let said = person(&["network", "allow", host, "--yes"]);
        assert!(said.out.contains("it has no effect here"), "{host}: {said:?}");
    }
    drop(holder.stdin.take());
    holder.wait().unwrap();
}

/// Who denied a host is told as it is: to the model, to the person, and in the ledger.
#[test]
fn a_host_is_denied_in_the_name_of_whoever_denied_it() {
    let sandbox = attended("list");
    sandbox.put(".aops/config.toml", "[network]\ndeny = [\"gist.example\", \"own.example\"]\n");
    let session = begun(&sandbox);
    fetches(&session, "https://own.example/x").refused(&["own.example refused, it is denied (project)"]);
    // The person said it first.
    fetches(&session, "https://gist.example/x").refused(&["gist.example refused, it is denied (person)"]);
    let list = fs::read_to_string(session.folder().join("network/list")).unwrap();
    for row in ["deny own.example project", "deny gist.example person", "allow docs.example person"] {
        assert!(list.lines().any(|line| line == row), "{row}: {list}");
    }
    sandbox.person(&["network", "list"]).said(&["denied (project)", "denied (person)"]);
    let told = sandbox.person(&["network", "list", "--json"]).json();
    assert_eq!(told["deny"][1], json!({"host": "own.example", "word": "project"}), "{told}");
    let ledger = fs::read_to_string(session.folder().join("ledger.jsonl")).unwrap();
    assert!(ledger.contains("own.example refused, it is denied (project)"));
}

/// With `servers = true` every address in a call of a server is judged, however its field is named.
#[test]
fn a_servers_tool_is_judged_by_each_address_that_it_is_given() {
    let sandbox = attended("list");
    let given = [
        json!({"url": "https://paste.example/x"}),
        json!({"uri": "https://paste.example/x"}),
        json!({"urls": ["https://docs.example/x", "https://paste.example/x"]}),
        json!({"baseUrl": "https://paste.example"}),
        json!({"url": "paste.example"}),
        json!({"url": "paste\u{3002}example"}),
        json!({"url": "paste%2eexample"}),
        json!({"url": "view-source:https://paste.example/x"}),
        json!({"url": {"href": "//paste.example/x"}}),
        json!({"requests": [{"method": "GET", "target": {"page_uri": "https://paste.example/x"}}]}),
    ];
    let call = |session: &Session, input: &serde_json::Value| {
        session.pre(&session.call("mcp__web__open", input.clone()))
    };
    let session = begun(&sandbox);
    for input in &given {
        let said = call(&session, input);
        assert!(!said.out.contains("paste.example refused"), "only with `servers`: {said:?}");
    }
    let sandbox = attended("list");
    sandbox.configure(&format!("[network]\nmode = \"list\"\nservers = true\n{LISTED}"));
    let session = begun(&sandbox);
    for input in &given {
        call(&session, input).refused(&["paste.example refused, it is not on this project's list"]);
    }
    for input in [
        json!({"url": "https://docs.example/x"}),
        // No address, and no field for one.
        json!({"query": "https://paste.example/x", "url": "src/main.rs"}),
    ] {
        let said = call(&session, &input);
        assert!(!said.out.contains("refused"), "{said:?}");
    }
}

/// Foreign text may have named the host, so the question says what came in before.
#[test]
fn a_question_names_the_foreign_text_before_it() {
    let sandbox = attended("ask");
    let session = begun(&sandbox);
    let asked = |url: &str| fetches(&session, url).out;
    let before = asked("https://paste.example/x");
    assert!(before.contains("`paste.example` (port 443): it is not on"), "{before}");
    let page = session.call("WebFetch", json!({"url": "https://docs.example/x", "prompt": "x"}));
    session.pre(&page).silent();
    let _ = session.post(&page);
    let after = asked("https://paste.example/x");
    assert!(
        after.contains("`paste.example` (port 443), after reading a page of `docs.example`: it is not on"),
        "{after}"
    );
    let search = session.call("WebSearch", json!({"query": "x"}));
    let _ = session.pre(&search);
    let _ = session.post(&search);
    assert!(asked("https://paste.example/x").contains("(port 443), after a search of the web: it is not on"));
}

#[test]
fn an_answer_says_that_an_observer_refuses_nothing() {
    let sandbox = attended("observe");
    let said = sandbox.person(&["network", "deny", "evil.example", "--yes"]);
    said.said(&["denied", "`[network] mode` is `observe`, which refuses nothing"]);
}

/// The network of a session is made when it starts.
#[test]
fn a_mode_that_is_edited_holds_from_the_next_start() {
    for (before, after) in [("off", "list"), ("list", "off"), ("ask", "list")] {
        let sandbox = Sandbox::new();
        let set = |mode: &str| sandbox.configure(&format!("[network]\nmode = \"{mode}\"\n"));
        set(before);
        let session = begun(&sandbox);
        set(after);
        let said = session.prompt("go on");
        let words = format!("`[network] mode = \\\"{after}\\\"` takes effect at the next start of a session");
        assert!(said.out.contains(&words), "{said:?}");
        assert!(!session.prompt("go on again").out.contains("takes effect"), "once");
        let shown = || {
            let now = sandbox.person(&["status", "--json"]).json();
            now["network"].as_str().unwrap_or("off").split([':', ',', ' ']).next().unwrap().to_owned()
        };
        assert_eq!(shown(), before);
        let _ = session.start("resume");
        assert_eq!(shown(), after);
    }
}
