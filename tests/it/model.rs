//! A scripted Messages API on loopback: it says what the test wrote down, and remembers what it was asked.
//!
//! Each conversation, the main one and every subagent, walks its own script. Invariant: nothing is random; ids are
//! counted and usage is constant. Whatever the client sends elsewhere comes here too, as to a proxy, and is kept as
//! astray.

mod http;
mod request;
mod turn;

pub(crate) use request::{Request, ToolResult};
pub(crate) use turn::Turn;

use http::Received;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// A running server; it ends with the test's process.
pub(crate) struct Model {
    address: SocketAddr,
    desk: Arc<Mutex<Desk>>,
}

/// What is still to be said, and what was heard.
#[derive(Default)]
struct Desk {
    main: Vec<Turn>,
    /// Words of the agent's system prompt, its turns.
    agents: Vec<(String, Vec<Turn>)>,
    /// Which of these each subagent walks, by its id.
    walked: HashMap<String, usize>,
    /// How far each conversation is; the main one has the empty name.
    said: HashMap<String, usize>,
    messages: usize,
    requests: Vec<Request>,
    astray: Vec<String>,
}

impl Model {
    /// A model whose main conversation goes like this, over all runs of one test. Afterwards it only says `Done.`.
    pub(crate) fn new(main: impl IntoIterator<Item = Turn>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let desk = Arc::new(Mutex::new(Desk { main: main.into_iter().collect(), ..Desk::default() }));
        let shared = Arc::clone(&desk);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let desk = Arc::clone(&shared);
                thread::spawn(move || converse(connection, &desk));
            }
        });
        Self { address, desk }
    }

    /// A subagent whose system prompt has these words goes through these turns. Said again for the same words, it is the
    /// script of the next one; the last script serves all that follow.
    pub(crate) fn agent(self, words: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.desk().agents.push((words.to_owned(), turns.into_iter().collect()));
        self
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.desk().requests.clone()
    }

    /// The results the main conversation was shown, each once.
    pub(crate) fn tool_results(&self) -> Vec<ToolResult> {
        let mut results: Vec<ToolResult> = Vec::new();
        for result in self.requests().iter().filter(|r| r.agent.is_none()).flat_map(Request::tool_results) {
            if !results.contains(&result) {
                results.push(result);
            }
        }
        results
    }

    /// What no script foresaw: requests to other hosts or to paths the API does not have, deeds that failed.
    pub(crate) fn astray(&self) -> Vec<String> {
        self.desk().astray.clone()
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap()
    }
}

impl Desk {
    /// The next turn of whoever asks, and the number of its message.
    fn next(&mut self, request: &Request) -> (Turn, usize) {
        let name = request.agent.clone().unwrap_or_default();
        let script = request.agent.as_ref().map(|id| self.script(id, &request.system()));
        let turns = match script {
            None => Some(&self.main),
            Some(script) => script.map(|script| &self.agents[script].1),
        };
        let said = self.said.entry(name).or_default();
        let turn = turns.and_then(|turns| turns.get(*said)).cloned().unwrap_or_else(|| Turn::text("Done."));
        *said += 1;
        self.messages += 1;
        (turn, self.messages)
    }

    /// The script of this subagent: the first for its words that nobody walks yet, else the last.
    fn script(&mut self, id: &str, system: &str) -> Option<usize> {
        if let Some(script) = self.walked.get(id) {
            return Some(*script);
        }
        let fits: Vec<usize> =
            (0..self.agents.len()).filter(|n| system.contains(&self.agents[*n].0)).collect();
        let free = fits.iter().find(|n| !self.walked.values().any(|walked| walked == *n));
        let script = *free.or(fits.last())?;
        self.walked.insert(id.to_owned(), script);
        Some(script)
    }
}

/// One connection, until the client hangs up.
fn converse(mut connection: TcpStream, desk: &Mutex<Desk>) -> io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    while let Some(received) = http::receive(&mut reader)? {
        let (status, kind, body) = answer(&received, desk);
        http::send(&mut connection, status, kind, body.as_bytes(), received.method == "HEAD")?;
    }
    Ok(())
}

fn answer(received: &Received, desk: &Mutex<Desk>) -> (&'static str, &'static str, String) {
    const JSON: &str = "application/json";
    let path = received.path.split('?').next().unwrap_or_default();
    match (received.method.as_str(), path) {
        ("POST", "/v1/messages") => {
            let body: Value = serde_json::from_slice(&received.body).unwrap();
            let message = say(
                Request {
                    agent: received.headers.get("x-claude-code-agent-id").cloned(),
                    body: body.clone(),
                },
                desk,
            );
            if body["stream"] == true {
                ("200 OK", "text/event-stream", turn::stream(&message))
            } else {
                ("200 OK", JSON, message.to_string())
            }
        }
        ("POST", "/v1/messages/count_tokens") => ("200 OK", JSON, json!({"input_tokens": 100}).to_string()),
        ("GET", "/v1/models") => ("200 OK", JSON, json!({"data": [], "has_more": false}).to_string()),
        ("HEAD" | "GET", "/") => ("200 OK", JSON, "{}".to_owned()),
        (method, _) => {
            desk.lock().unwrap().astray.push(format!("{method} {}", received.path));
            let error = json!({"type": "error", "error": {"type": "not_found_error", "message": "not in the script"}});
            ("404 Not Found", JSON, error.to_string())
        }
    }
}

/// The scripted message. The turn's deed runs with the desk free, so that other conversations go on.
fn say(request: Request, desk: &Mutex<Desk>) -> Value {
    let model = request.body["model"].as_str().unwrap_or("scripted").to_owned();
    let (turn, number) = {
        let mut desk = desk.lock().unwrap();
        let next = desk.next(&request);
        desk.requests.push(request);
        next
    };
    // A deed that fails must fail the test, not only this thread.
    if panic::catch_unwind(AssertUnwindSafe(|| turn.happen())).is_err() {
        desk.lock().unwrap().astray.push(format!("what happens before message {number} failed"));
    }
    turn.message(number, &model)
}
