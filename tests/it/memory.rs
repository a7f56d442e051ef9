//! The memory server's client against a server of our own, well-behaved and not.

mod learning;
pub(crate) mod server;

use crate::support::Sandbox;
use aops_core::briefing::memory::{Trouble, recall, store};
use aops_core::config::policy::Address;
use aops_core::system::env::Env;
use serde_json::json;
use server::{Habit, Server, text};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(300);

fn env(sandbox: &Sandbox) -> Env {
    Env { config: sandbox.config(), ..Env::default() }
}

fn ask(env: &Env, server: &Server, time: Duration) -> Result<Vec<String>, Trouble> {
    recall(env, &Address::read(&server.url()).unwrap(), "where does the wombat sleep", Instant::now() + time)
}

fn kept(env: &Env) -> Vec<PathBuf> {
    fs::read_dir(env.config.join("aops/memory"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

fn wombat() -> Vec<String> {
    vec!["the wombat sleeps".to_owned()]
}

#[test]
fn plain_servers_are_asked_once() {
    for habit in [Habit::Json, Habit::Events, Habit::Chunked] {
        let sandbox = Sandbox::new();
        let (env, server) = (env(&sandbox), Server::start(habit));
        assert_eq!(ask(&env, &server, LONG), Ok(wombat()), "{habit:?}");
        assert_eq!(server.methods(), ["tools/list", "tools/call"], "{habit:?}");
        assert_eq!(ask(&env, &server, LONG), Ok(wombat()));
        assert_eq!(server.methods(), ["tools/call"], "what was learnt is kept");
    }
}

#[test]
fn a_session_is_opened_where_it_is_wanted_and_used_again() {
    let sandbox = Sandbox::new();
    let (env, server) = (env(&sandbox), Server::start(Habit::Sessions));
    assert_eq!(ask(&env, &server, LONG), Ok(wombat()));
    let opened = ["tools/list", "initialize", "notifications/initialized", "tools/list", "tools/call"];
    assert_eq!(server.methods(), opened);
    assert_eq!(ask(&env, &server, LONG), Ok(wombat()));
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked.last().unwrap().session.as_deref(), Some("first"));
    assert_eq!(server.methods(), ["tools/call"]);
    server.forget_sessions();
    assert_eq!(ask(&env, &server, LONG), Ok(wombat()));
    assert_eq!(server.methods(), ["tools/call", "initialize", "notifications/initialized", "tools/call"]);
    assert_eq!(ask(&env, &server, LONG), Ok(wombat()));
    assert_eq!(server.methods(), ["tools/call"], "the new session was kept");
}

#[test]
fn a_server_that_wants_a_greeting_gets_one() {
    let sandbox = Sandbox::new();
    let (env, server) = (env(&sandbox), Server::start(Habit::Greeting));
    assert_eq!(ask(&env, &server, LONG), Ok(wombat()));
    assert_eq!(ask(&env, &server, LONG), Ok(wombat()));
    assert_eq!(server.methods().last().unwrap(), "tools/call");
}

/// No vice may outlast the deadline, and each is told apart.
#[test]
fn bad_servers_end_in_time() {
    let said = |words: &str| Trouble::Said(words.to_owned());
    for (habit, want) in [
        (Habit::NotFound, Trouble::Missing),
        (Habit::Silent, Trouble::Late),
        (Habit::Drips, Trouble::Late),
        (Habit::DripsHead, Trouble::Late),
        (Habit::Huge, said("answered with more than 1 MB")),
        (Habit::HugeHead, said("does not speak HTTP")),
        (Habit::WrongContent, said("sent no MCP answer")),
        (Habit::NotHttp, said("does not speak HTTP")),
        (Habit::HangsUp, said("does not speak HTTP")),
        (Habit::CutShort, said("hung up in the middle of its answer")),
        (Habit::Login, said("wants a login, which we do not have")),
        (Habit::Broken, said("answered with HTTP 500")),
    ] {
        let sandbox = Sandbox::new();
        let (env, server) = (env(&sandbox), Server::start(habit));
        // None of the late ones would ever end by itself.
        let time = if want == Trouble::Late { SHORT } else { LONG };
        assert_eq!(ask(&env, &server, time), Err(want), "{habit:?}");
        assert!(kept(&env).is_empty(), "nothing was learnt from {habit:?}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let sandbox = Sandbox::new();
    let (env, elsewhere) = (env(&sandbox), Server::start(Habit::Json));
    for status in [301, 302, 303, 307, 308] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let target = elsewhere.url();
        let answer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = std::io::Read::read(&mut stream, &mut request).unwrap();
            let text = format!("HTTP/1.1 {status} Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
            std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
        });
        let trouble = recall(&env, &Address::read(&url).unwrap(), "x", Instant::now() + LONG).unwrap_err();
        assert_eq!(trouble, Trouble::Said("points to another address, which is not followed".to_owned()));
        answer.join().unwrap();
    }
    assert_eq!(elsewhere.methods(), [""; 0]);
}

#[test]
fn a_closed_port_is_missing() {
    let sandbox = Sandbox::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = Address::read(&format!("http://localhost:{port}/mcp")).unwrap();
    assert_eq!(recall(&env(&sandbox), &address, "x", Instant::now() + LONG), Err(Trouble::Missing));
    assert_eq!(recall(&env(&sandbox), &address, "x", Instant::now()), Err(Trouble::Late));
}

#[test]
fn tools_are_called_as_the_server_lists_them() {
    let sandbox = Sandbox::new();
    let (env, server) =
        (env(&sandbox), Server::start(Habit::Json).with_tools(["retrieve_memory", "store_memory"]));
    let address = Address::read(&server.url()).unwrap();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    ask(&env, &server, LONG).unwrap();
    store(&env, &address, &format!("the key is {key}"), &["aops"], Instant::now() + LONG).unwrap();
    recall(&env, &address, &format!("what is {key} for"), Instant::now() + LONG).unwrap();
    server.rename_tools(["memory_search", "memory_store"]);
    ask(&env, &server, LONG).unwrap();
    store(&env, &address, "plain", &["aops"], Instant::now() + LONG).unwrap();
    let asked = server.asked.lock().unwrap();
    let calls: Vec<_> =
        asked.iter().filter(|asked| asked.method == "tools/call").map(|asked| asked.params.clone()).collect();
    let query = "where does the wombat sleep";
    assert_eq!(
        calls,
        [
            json!({ "name": "retrieve_memory", "arguments": { "query": query, "n_results": 8 } }),
            json!({ "name": "store_memory", "arguments": { "content": "the key is [redacted:github-token]", "tags": ["aops"] } }),
            json!({ "name": "retrieve_memory", "arguments": { "query": "what is [redacted:github-token] for", "n_results": 8 } }),
            json!({ "name": "retrieve_memory", "arguments": { "query": query, "n_results": 8 } }),
            json!({ "name": "memory_search", "arguments": { "query": query, "limit": 8 } }),
            json!({ "name": "memory_store", "arguments": { "content": "plain", "metadata": { "tags": ["aops"], "type": "note" } } }),
        ]
    );
    assert!(asked.iter().all(
        |asked| asked.head.contains("Connection: close") && asked.head.starts_with("POST /mcp HTTP/1.1")
    ));
}

#[test]
fn a_server_without_memory_tools_is_missing() {
    let sandbox = Sandbox::new();
    let (env, server) = (env(&sandbox), Server::start(Habit::Json).with_tools(["weather", "mail"]));
    assert_eq!(ask(&env, &server, LONG), Err(Trouble::Missing));
}

#[test]
fn memories_come_in_many_forms() {
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let many = json!({ "memories": (0..50).map(|n| json!({ "content": format!("{n} {}", "x".repeat(9_000)) })).collect::<Vec<_>>() });
    for (result, want) in [
        (
            text("{\"memories\": [{\"content\": \"a\", \"similarity_score\": 0.5}, {\"text\": \"b\"}]}"),
            vec!["a".to_owned(), "b".to_owned()],
        ),
        (
            json!({ "content": [], "structuredContent": { "result": [{ "memory": { "content": "c" }, "score": 2 }] } }),
            vec!["c".to_owned()],
        ),
        (
            text(
                "Found the following memories:\n\nMemory 1:\nContent: d\nsecond line\nHash: 1\nRelevance Score: 0.25\n---\n\nMemory 2:\nContent: e\n",
            ),
            vec!["d\nsecond line".to_owned(), "e".to_owned()],
        ),
        (
            text(
                "Found 2 memories (mode: semantic) for query: 'x'\n\n1. f\n   Hash: 0\n   Created: now [a, b]\n\n2. g\n   more\n   Hash: 1",
            ),
            vec!["f".to_owned(), "g\nmore".to_owned()],
        ),
        (text("No memories found for query: 'x'"), vec![]),
        (text("some words"), vec!["some words".to_owned()]),
        (text(&format!("[\"\\u001b[31m {key}\"]")), vec![" [31m [redacted:github-token]".to_owned()]),
        (json!({}), vec![]),
        (json!({ "content": "odd" }), vec![]),
    ] {
        let sandbox = Sandbox::new();
        let server = Server::start(Habit::Json).answering(result.clone());
        assert_eq!(ask(&env(&sandbox), &server, LONG), Ok(want), "{result}");
    }
    let sandbox = Sandbox::new();
    let server = Server::start(Habit::Json).answering(text(&many.to_string()));
    let found = ask(&env(&sandbox), &server, LONG).unwrap();
    assert!(found.len() == 8 && found.iter().all(|memory| memory.len() <= 2_000));
}

#[test]
fn a_refusal_is_told_in_one_short_line() {
    let sandbox = Sandbox::new();
    let refusal = json!({ "content": [{ "type": "text", "text": format!("no\n\u{1b}[31m{}", "x".repeat(900)) }], "isError": true });
    let server = Server::start(Habit::Json).answering(refusal);
    let Err(Trouble::Said(words)) = ask(&env(&sandbox), &server, LONG) else { panic!("not refused") };
    assert!(words.starts_with("refused: no  [31mxxx") && words.len() < 250, "{words}");
}

/// The file of what was learnt is private, and whatever stands in it does no harm.
#[test]
fn what_was_learnt_is_a_cache() {
    let sandbox = Sandbox::new();
    let (env, server) = (env(&sandbox), Server::start(Habit::Json));
    ask(&env, &server, LONG).unwrap();
    let [file] = kept(&env).try_into().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    for odd in [
        "",
        "[]",
        "{",
        "{\"schema\":1}",
        "{\"schema\":2}",
        "{\"schema\":1,\"session\":3,\"recall\":{\"name\":\"memory_search\"}}",
        "{\"schema\":1,\"session\":\"a\\r\\nX: y\",\"recall\":{\"name\":\"memory_search\",\"count\":\"limit\"}}",
        "{\"schema\":1,\"session\":null,\"recall\":{\"name\":\"memory_delete\",\"count\":\"all\"}}",
    ] {
        fs::write(&file, odd).unwrap();
        assert_eq!(ask(&env, &server, LONG), Ok(wombat()), "{odd}");
    }
    let asked = server.asked.lock().unwrap();
    assert!(
        asked.iter().all(|asked| asked.params["name"] != "memory_delete" && !asked.head.contains("X: y"))
    );
}

#[test]
fn servers_side_by_side_are_learnt_apart() {
    let sandbox = Sandbox::new();
    let env = env(&sandbox);
    let (one, other) = (Server::start(Habit::Json), Server::start(Habit::Sessions));
    for _ in 0..2 {
        assert_eq!(ask(&env, &one, LONG), Ok(wombat()));
        assert_eq!(ask(&env, &other, LONG), Ok(wombat()));
    }
    assert_eq!(kept(&env).len(), 2);
}
