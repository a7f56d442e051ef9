//! A scripted Messages API on loopback: it says what the test wrote down, and remembers what it was asked.
//!
//! Each conversation, the main one and every subagent, walks its own script; or the main one is answered by what it holds,
//! as a real model would. Invariant: nothing is random; ids are counted and usage is constant. Whatever the client sends
//! elsewhere comes here too, as to a proxy, and is kept as astray.

mod http;
mod request;
mod turn;

pub(crate) use request::{Request, ToolResult};
pub(crate) use turn::Turn;

use http::{Answer, Received};
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
    io: Arc<Mutex<Io>>,
}

type Mind = Box<dyn FnMut(&Request) -> Turn + Send>;

/// What is still to be said, and what was heard.
#[derive(Default)]
struct Io {
    main: Vec<Turn>,
    /// What answers the main conversation in the place of a script.
    mind: Option<Mind>,
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
        let io = Arc::new(Mutex::new(Io { main: main.into_iter().collect(), ..Io::default() }));
        let shared = Arc::clone(&io);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let io = Arc::clone(&shared);
                thread::spawn(move || converse(connection, &io));
            }
        });
        Self { address, io }
    }

    /// A model that answers the main conversation by what it holds, however often it is asked.
    pub(crate) fn minded(mind: impl FnMut(&Request) -> Turn + Send + 'static) -> Self {
        let model = Self::new([]);
        model.io().mind = Some(Box::new(mind));
        model
    }

    /// A subagent whose system prompt has these words goes through these turns. Said again for the same words, it is the
    /// script of the next one; the last script serves all that follow.
    pub(crate) fn agent(self, words: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.io().agents.push((words.to_owned(), turns.into_iter().collect()));
        self
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.io().requests.clone()
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
        self.io().astray.clone()
    }

    fn io(&self) -> MutexGuard<'_, Io> {
        self.io.lock().unwrap()
    }
}

impl Io {
    /// The next turn of whoever asks, and the number of its message.
    fn next(&mut self, request: &Request) -> (Turn, usize) {
        self.messages += 1;
        if let (None, Some(mind)) = (&request.agent, &mut self.mind) {
            return (mind(request), self.messages);
        }
        let name = request.agent.clone().unwrap_or_default();
        let script = request.agent.as_ref().map(|id| self.script(id, &request.system()));
        let turns = match script {
            None => Some(&self.main),
            Some(script) => script.map(|script| &self.agents[script].1),
        };
        let said = self.said.entry(name).or_default();
        let turn = turns.and_then(|turns| turns.get(*said)).cloned().unwrap_or_else(|| Turn::text("Done."));
        *said += 1;
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
fn converse(mut connection: TcpStream, io: &Mutex<Io>) -> io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    while let Some(received) = http::receive(&mut reader)? {
        let (answer, halfway) = answer(&received, io);
        http::send(&mut connection, &answer, received.method == "HEAD", || {
            if let Some((turn, number)) = &halfway {
                happen(io, *number, || turn.happen_halfway());
            }
        })?;
    }
    Ok(())
}

/// The answer, and whose turn it is if something happens in its middle.
fn answer(received: &Received, io: &Mutex<Io>) -> (Answer, Option<(Turn, usize)>) {
    let path = received.path.split('?').next().unwrap_or_default();
    match (received.method.as_str(), path) {
        ("POST", "/v1/messages") => {
            let body: Value = serde_json::from_slice(&received.body).unwrap();
            let (message, turn) = say(
                Request {
                    agent: received.headers.get("x-claude-code-agent-id").cloned(),
                    body: body.clone(),
                },
                io,
            );
            let answer = if body["stream"] == true {
                Answer { status: "200 OK", kind: "text/event-stream", body: turn::stream(&message) }
            } else {
                plain("200 OK", &message)
            };
            (answer, Some(turn))
        }
        ("POST", "/v1/messages/count_tokens") => (plain("200 OK", &json!({"input_tokens": 100})), None),
        ("GET", "/v1/models") => (plain("200 OK", &json!({"data": [], "has_more": false})), None),
        ("HEAD" | "GET", "/") => (plain("200 OK", &json!({})), None),
        (method, _) => {
            io.lock().unwrap().astray.push(format!("{method} {}", received.path));
            let error = json!({"type": "error", "error": {"type": "not_found_error", "message": "not in the script"}});
            (plain("404 Not Found", &error), None)
        }
    }
}

fn plain(status: &'static str, body: &Value) -> Answer {
    Answer { status, kind: "application/json", body: body.to_string() }
}

/// The scripted message, and whose turn it is. The turn's deed runs with the io free, so that other conversations go on.
fn say(request: Request, io: &Mutex<Io>) -> (Value, (Turn, usize)) {
    let model = request.body["model"].as_str().unwrap_or("scripted").to_owned();
    let (turn, number) = {
        let mut io = io.lock().unwrap();
        let next = io.next(&request);
        io.requests.push(request);
        next
    };
    happen(io, number, || turn.happen());
    (turn.message(number, &model), (turn, number))
}

/// A deed that fails must fail the test, not only this thread.
fn happen(io: &Mutex<Io>, number: usize, deed: impl FnOnce()) {
    if panic::catch_unwind(AssertUnwindSafe(deed)).is_err() {
        io.lock().unwrap().astray.push(format!("what happens at message {number} failed"));
    }
}
