//! A scripted Messages API on loopback: it gives the answers that the test wrote, and keeps every request.
//!
//! Each conversation, the main one and every subagent, has its own script; or a function answers from the
//! messages, as a real model would. In the client's auto mode it finds every call harmless, and agents hand
//! their reports back with the tool for it. Invariant: nothing is random; ids are counted and usage is constant.
//! Requests to other hosts come here too, as to a proxy, and are kept as astray.

mod gemini;
mod http;
mod request;
mod responses;
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
    state: Arc<Mutex<ModelState>>,
}

/// The only way in which the report of an agent reaches its caller in auto mode.
const HAND_BACK: &str = "SubagentHandback";

type Mind = Box<dyn FnMut(&Request) -> Turn + Send>;

/// What is left to answer, and what was asked.
#[derive(Default)]
struct ModelState {
    main: Vec<Turn>,
    /// Answers instead of a script.
    mind: Option<Mind>,
    /// Words of an agent's system prompt, and its turns.
    agents: Vec<(String, Vec<Turn>)>,
    /// Which of these each subagent has, by its id.
    walked: HashMap<String, usize>,
    /// How far each conversation is; the main one has the empty name.
    said: HashMap<String, usize>,
    messages: usize,
    requests: Vec<Request>,
    astray: Vec<String>,
}

impl Model {
    /// A model with these answers in its main conversation, over all starts of the client in one test; then
    /// always `Done.`.
    pub(crate) fn new(main: impl IntoIterator<Item = Turn>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state =
            Arc::new(Mutex::new(ModelState { main: main.into_iter().collect(), ..ModelState::default() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || converse(connection, &state));
            }
        });
        Self { address, state }
    }

    /// A model that answers with a function of the request; its agents too, unless they have scripts.
    pub(crate) fn minded(mind: impl FnMut(&Request) -> Turn + Send + 'static) -> Self {
        let model = Self::new([]);
        model.state().mind = Some(Box::new(mind));
        model
    }

    /// A subagent whose system prompt has these words gives these answers. A second script for the same words
    /// is for the second such agent; the last script serves all that follow.
    pub(crate) fn agent(self, words: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.state().agents.push((words.to_owned(), turns.into_iter().collect()));
        self
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The tool results in the main conversation, each once.
    pub(crate) fn tool_results(&self) -> Vec<ToolResult> {
        let mut results: Vec<ToolResult> = Vec::new();
        for result in self.requests().iter().filter(|r| r.agent.is_none()).flat_map(Request::tool_results) {
            if !results.contains(&result) {
                results.push(result);
            }
        }
        results
    }

    /// Requests to other hosts or unknown paths, and deeds that failed.
    pub(crate) fn astray(&self) -> Vec<String> {
        self.state().astray.clone()
    }

    fn state(&self) -> MutexGuard<'_, ModelState> {
        self.state.lock().unwrap()
    }
}

impl ModelState {
    /// The next turn of this conversation, and the number of its message.
    fn next(&mut self, request: &Request) -> (Turn, usize) {
        self.messages += 1;
        let scripted = request.agent.is_some() && !self.agents.is_empty();
        if let (false, Some(mind)) = (scripted, &mut self.mind) {
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

    /// The subagent that a client does not name, by the words of its system prompt.
    fn by_words(&self, body: &Value) -> Option<String> {
        let system = body["system"].to_string();
        self.agents
            .iter()
            .map(|(words, _)| words)
            .find(|words| !words.is_empty() && system.contains(*words))
            .cloned()
    }

    /// The script of this subagent: the first for its words that no other agent has, else the last.
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

/// Serves one connection until the client closes it.
fn converse(mut connection: TcpStream, state: &Mutex<ModelState>) -> io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    while let Some(received) = http::receive(&mut reader)? {
        let (answer, halfway) = answer(&received, state);
        http::send(&mut connection, &answer, received.method == "HEAD", || {
            if let Some((turn, number)) = &halfway {
                happen(state, *number, || turn.happen_halfway());
            }
        })?;
    }
    Ok(())
}

/// The answer, and its turn, for what happens in its middle.
fn answer(received: &Received, state: &Mutex<ModelState>) -> (Answer, Option<(Turn, usize)>) {
    let path = received.path.split('?').next().unwrap_or_default();
    match (received.method.as_str(), path) {
        ("POST", "/v1/messages") => {
            let body: Value = serde_json::from_slice(&received.body).unwrap();
            let named = received.headers.get("x-claude-code-agent-id").cloned();
            let agent = named.or_else(|| state.lock().unwrap().by_words(&body));
            let (message, turn) = say(Request { agent, body: body.clone() }, state);
            let answer = if body["stream"] == true {
                Answer { status: "200 OK", kind: "text/event-stream", body: turn::stream(&message) }
            } else {
                plain("200 OK", &message)
            };
            (answer, Some(turn))
        }
        ("POST", "/v1/responses") => {
            let (_, (turn, number)) = say(responses::request(received), state);
            let body = responses::stream(&turn, number, &received.body);
            (Answer { status: "200 OK", kind: "text/event-stream", body }, Some((turn, number)))
        }
        ("POST", path) if path.starts_with("/v1beta/models/") && path.contains("enerateContent") => {
            let (said, turn) = if gemini::is_aside(&received.body) {
                (gemini::aside(), None)
            } else {
                let (_, (turn, number)) = say(gemini::request(received), state);
                (gemini::answer(&turn, number), Some((turn, number)))
            };
            let streams = path.contains("streamGenerate");
            let stream = |said: &Value| format!("data: {said}\r\n\r\n");
            let answer = if streams {
                Answer { status: "200 OK", kind: "text/event-stream", body: stream(&said) }
            } else {
                plain("200 OK", &said)
            };
            (answer, turn)
        }
        ("POST", path) if path.ends_with(":countTokens") => {
            (plain("200 OK", &json!({"totalTokens": 100})), None)
        }
        ("POST", "/v1/messages/count_tokens") => (plain("200 OK", &json!({"input_tokens": 100})), None),
        ("GET", "/v1/models") => (plain("200 OK", &json!({"data": [], "has_more": false})), None),
        ("HEAD" | "GET", "/") => (plain("200 OK", &json!({})), None),
        (method, _) => {
            state.lock().unwrap().astray.push(format!("{method} {}", received.path));
            let error = json!({"type": "error", "error": {"type": "not_found_error", "message": "not in the script"}});
            (plain("404 Not Found", &error), None)
        }
    }
}

fn plain(status: &'static str, body: &Value) -> Answer {
    Answer { status, kind: "application/json", body: body.to_string() }
}

/// The scripted message and its turn. The turn's deed runs without the lock, so that other conversations go
/// on.
fn say(request: Request, state: &Mutex<ModelState>) -> (Value, (Turn, usize)) {
    let model = request.body["model"].as_str().unwrap_or("scripted").to_owned();
    let is_judged = request.body["safeguards"].is_array();
    let (turn, number) = {
        let mut state = state.lock().unwrap();
        let (turn, number) = state.next(&request);
        let turn = if request.offers(HAND_BACK) { turn.handed_back(HAND_BACK) } else { turn };
        state.requests.push(request);
        (turn, number)
    };
    happen(state, number, || turn.happen());
    (turn.message(number, &model, is_judged), (turn, number))
}

/// A deed that fails must fail the test, not only this thread.
fn happen(state: &Mutex<ModelState>, number: usize, deed: impl FnOnce()) {
    if panic::catch_unwind(AssertUnwindSafe(deed)).is_err() {
        state.lock().unwrap().astray.push(format!("what happens at message {number} failed"));
    }
}
