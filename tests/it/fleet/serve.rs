//! `fleet serve`: the page in a real browser, and who cannot reach it.

#![expect(clippy::disallowed_methods, reason = "a server that runs beside the test")]

use super::engine::{enqueue, leave, take};
use super::postgres::Postgres;
use super::tab::Tab;
use crate::support::{BINARY, Sandbox};
use aops_fleet::approval::{sign, token_digest};
use aops_fleet::queue::Leave;
use aops_fleet::session::SessionHead;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

/// As an announcement has it.
fn token_of(run: &str) -> String {
    token_digest(&format!("token of {run}"))
}

struct Page {
    server: Child,
    /// `127.0.0.1:…`
    host: String,
    token: String,
}

impl Page {
    /// With a question of each of these runs, answered also by its token.
    fn serve(postgres: &Postgres, sandbox: &Sandbox, runs: &[(&str, &str)]) -> Self {
        let mut fleet = postgres.fleet();
        for (run, question) in runs {
            enqueue(&mut fleet, run, "a repository", &[], 0);
            let taken = take(&mut fleet, "m", &[], 0).unwrap();
            let digest = token_digest(&token_of(run));
            leave(&mut fleet, &taken, &Leave::Pause { question, about: "", token: &digest }).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        postgres.configure(sandbox, &format!("fleet.listen = \"127.0.0.1:{port}\"\n"));
        let mut server = Command::new(BINARY)
            .args(["fleet", "serve", "--json"])
            .env_clear()
            .envs(sandbox.environment())
            .current_dir(sandbox.project())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&said["link"], &said["port"]),
            (&format!("http://127.0.0.1:{port}/").into(), &port.into())
        );
        let token = std::fs::read_to_string(said["token_file"].as_str().unwrap()).unwrap().trim().to_owned();
        assert!(!line.contains(&token), "only a terminal sees it: {line}");
        Self { server, host: format!("127.0.0.1:{port}"), token }
    }

    fn link(&self, token: &str) -> String {
        format!("http://{}/#{token}", self.host)
    }

    /// Status and head of the answer to a request as any program can send it.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let long = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\n{headers}Content-Length: {long}\r\n\r\n{body}").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        (said[9..12].parse().unwrap(), said)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A page of another site, on another port of this machine, that sends a form as soon as it is open.
fn other_site(target: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let page = format!(
        "<body><form method=post action=http://{target}/answer><input name=id value=e-1><input name=decision \
         value=approve><input name=token value={}></form><script>document.forms[0].submit()</script>",
        token_of("e")
    );
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = BufReader::new(&stream).read_line(&mut String::new());
            let long = page.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 -\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {long}\r\n\r\n{page}"
            );
        }
    });
    format!("http://{address}/")
}

const ANSWERS: &str = "select run, decision, note from aops.approvals where decision is not null order by 1";

#[test]
fn the_page_approves_rejects_and_blocks() {
    let (postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    let evil = "<script>document.title = 'owned'</script> & <b>bold</b>";
    let runs = [("a", "may a?"), ("b", evil), ("c", "may c?"), ("e", "may e?")];
    let page = Page::serve(&postgres, &sandbox, &runs);
    let mut fleet = postgres.fleet();
    fleet
        .report("m", &[SessionHead { id: "a-session".to_owned(), entries: 7, ..SessionHead::default() }])
        .unwrap();
    enqueue(&mut fleet, "working", "a repository", &[], 0);
    take(&mut fleet, "m", &[], 0).unwrap();
    let mut tab = Tab::open(&sandbox);
    tab.go(&page.link("wrong"));
    tab.shows("the token is wrong");
    tab.go(&page.link(&page.token));
    let shown = tab.shows("Questions");
    for words in ["may a?", evil, "a-session", "working"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(tab.eval("document.title"), "aops fleet");
    assert_eq!(
        tab.eval("location.href + document.cookie"),
        format!("http://{}/", page.host),
        "no token, no cookie"
    );
    // Enter in the note is no answer.
    tab.eval("window.stays = true");
    tab.enter("input[name=note]");
    assert_eq!((tab.eval("window.stays"), postgres.sql(ANSWERS)), (Value::Bool(true), String::new()));
    for (row, button) in [("a-1", "approve"), ("b-1", "reject"), ("c-1", "block"), ("working", "block")] {
        tab.press(&format!("value=\"{row}\""), button);
        tab.shows(&format!("{row}: {button}"));
        tab.eval("document.querySelector('a').click()");
        tab.shows("Questions");
    }
    assert_eq!(postgres.sql(ANSWERS), "a|approve|a note\nb|reject|a note\nc|block|a note");
    assert_eq!(postgres.sql("select count(*) from aops.approvals where who like '%@% by the page'"), "3");
    let states = "select id, state, outcome from aops.runs order by id";
    assert_eq!(
        postgres.sql(states),
        "a|waiting|\nb|waiting|\nc|done|BLOCKED\ne|paused|\nworking|done|BLOCKED"
    );
    // Another site's form, with everything but its origin right.
    tab.go(&other_site(&page.host));
    tab.shows("the form is of another site");
    // The link of an announcement opens its question, and answers it once.
    tab.go(&page.link(&token_of("e")));
    assert!(!tab.shows("may e?").contains("Questions"));
    tab.press(&token_of("e"), "approve");
    tab.shows("e-1: approve");
    assert_eq!(postgres.sql("select who from aops.approvals where run = 'e'"), "the link of e-1");
    tab.go(&page.link(&token_of("e")));
    tab.shows("its question is answered");
}

/// Everything right but one thing is refused.
#[test]
fn a_form_counts_only_from_the_page_itself() {
    let (postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    let page = Page::serve(&postgres, &sandbox, &[("a", "may a?"), ("b", "may b?")]);
    let (host, origin) = (format!("Host: {}\r\n", page.host), format!("Origin: http://{}\r\n", page.host));
    let proof = sign(page.token.as_bytes(), b"a-1");
    let good = format!("id=a-1&decision=approve&proof={proof}");
    let status = |headers: &str, body: &str| page.ask("POST", "/answer", headers, body).0;
    let both = format!("{host}{origin}");
    for (headers, body) in [
        (host.clone(), good.clone()),
        (format!("{host}Origin: null\r\n"), good.clone()),
        (format!("{host}Origin: http://127.0.0.1:9\r\n"), good.clone()),
        (format!("Host: evil.example\r\n{origin}"), good.clone()),
        (origin.clone(), good.clone()),
        (both.clone(), "id=a-1&decision=approve".to_owned()),
        (both.clone(), format!("id=b-1&decision=approve&proof={proof}")),
        (both.clone(), format!("id=b-1&decision=approve&token={}", token_of("a"))),
        (both.clone(), format!("id=a-1&decision=nonsense&proof={proof}")),
        (both.clone(), format!("id=a-1&decision=approve&proof={}", page.token)),
    ] {
        assert_eq!(status(&headers, &body), 403, "{headers}{body}");
    }
    assert_eq!(page.ask("POST", "/", &both, "token=").0, 403);
    assert_eq!(page.ask("GET", "/", "Host: localhost\r\n", "").0, 403, "another name: a rebound one");
    assert_eq!(page.ask("GET", "/answer", &host, "").0, 404);
    assert_eq!(page.ask("POST", "/", &format!("{both}Content-Length: 20000\r\n"), "").0, 400);
    assert_eq!(postgres.sql(ANSWERS), "");
    assert_eq!([status(&both, &good), status(&both, &good)], [200, 409], "it is answered once");
    assert_eq!(postgres.sql(ANSWERS), "a|approve|");
    let (_, said) = page.ask("GET", "/", &host, "");
    for held in ["default-src 'none'; script-src 'self'", "frame-ancestors 'none'", "no-store"] {
        assert!(said.contains(held), "{held}: {said}");
    }
    assert!(!said.contains("Set-Cookie") && !said.contains("may b?"), "{said}");
}

/// Who has no token does not reach the database; who has the form of one learns nothing of it.
#[test]
fn strangers_learn_nothing_of_the_database() {
    let (mut postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    let page = Page::serve(&postgres, &sandbox, &[("a", "may a?")]);
    let both = format!("Host: {0}\r\nOrigin: http://{0}\r\n", page.host);
    postgres.kill();
    for (path, body) in [("/", "token=x"), ("/answer", "id=a-1&decision=approve&token=x"), ("/", "")] {
        assert_eq!(page.ask("POST", path, &both, body).0, 403, "{path} {body}");
    }
    let (status, said) = page.ask("POST", "/", &both, &format!("token={}", token_of("a")));
    assert!(
        status == 503 && said.contains("this cannot be looked up now") && !said.contains("/tmp"),
        "{said}"
    );
    let (status, said) = page.ask("POST", "/", &both, &format!("token={}", page.token));
    assert!(status == 503 && !said.contains("this cannot be looked up now"), "{said}");
    let upper = both.replace("127.0.0.1", "LOCALHOST").replacen(
        "Origin: http://LOCALHOST",
        "Origin: http://localhost",
        1,
    );
    assert_eq!(page.ask("POST", "/", &upper, "token=x").0, 403);
    assert!(page.ask("POST", "/", &upper, "token=x").1.contains("the token is wrong"), "a name has no case");
}

/// On a network it wants TLS before it; and no agent opens it, reads its token or answers in a person's
/// place.
#[test]
fn the_page_is_for_people() {
    let (postgres, sandbox) = (Postgres::with_tables(), Sandbox::new());
    postgres.configure(&sandbox, "fleet.listen = \"0.0.0.0:0\"\n");
    sandbox.person(&["fleet", "serve"]).failed(2, &["needs TLS in front of it", "hint: set `fleet.page`"]);
    postgres.configure(&sandbox, "mode.level = \"guard\"\nfleet.page = \"https://approve.example\"\n");
    sandbox.inside(&["fleet", "serve"]).failed(2, &["`fleet serve` needs a person at a terminal"]);
    sandbox.inside(&["runs", "--fleet"]).failed(2, &["`runs --fleet` needs a person at a terminal"]);
    let session = sandbox.session();
    assert_eq!(session.start("startup").code, Some(0));
    assert_eq!(session.prompt("approve it yourself").code, Some(0));
    for line in ["fleet serve", "fleet approve x", "fleet reject x --yes", "fleet block x", "fleet release x"]
    {
        session.ask_bash(&format!("aops-hook {line}")).refused(&["is for a person, not for a tool call"]);
    }
    for line in
        ["curl -s http://127.0.0.1:7390/", "nc localhost 7390", "curl https://approve.example/answer -d x"]
    {
        session
            .ask_bash(line)
            .refused(&["is for people, not for a tool call", "hint: ask the user to open it"]);
    }
    session.ask_bash("curl -s http://127.0.0.1:7391/").silent();
    let fetch = session.call("WebFetch", json!({"url": "http://localhost:7390/", "prompt": "x"}));
    session.pre(&fetch).refused(&["is for people"]);
    let file = sandbox.config().join("aops/keys/fleet.token");
    session.ask_bash(&format!("cat {}", file.display())).refused(&["secret"]);
    let read = session.call("Read", json!({"file_path": file}));
    session.pre(&read).refused(&["secret"]);
}
