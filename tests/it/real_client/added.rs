//! How much our hooks added to what the main conversation reads, counted in the client's own requests.
//!
//! The client marks each addition: `... hook additional context: ...` by the role `system`, `Stop hook
//! feedback:` by the user, `... hook error: ...` as the result of a refused call. What it puts into the first
//! message together with words of its own is counted by the difference to a client without our hooks.

use crate::client::Client;
use crate::model::{Model, Request, Turn};
use crate::support::Sandbox;
use std::fs;

const MARKS: [&str; 5] = [
    " hook additional context: ",
    " hook success: ",
    " hook blocking error",
    " hook error: ",
    " hook feedback:",
];

/// The requests of the main conversation, oldest first.
pub(super) fn main_requests(model: &Model) -> Vec<Request> {
    model.requests().into_iter().filter(|request| request.agent.is_none()).collect()
}

/// Bytes our hooks added with each request: the start first, then what each step brought.
pub(super) fn added(requests: &[Request], prompt: &str) -> Vec<usize> {
    let first = requests[0].pieces();
    let length = |pieces: &[String]| pieces.iter().map(String::len).sum::<usize>();
    let mut added = vec![length(&first).strict_sub(length(&alone(prompt)))];
    for pair in requests.windows(2) {
        let (before, now) = (pair[0].pieces(), pair[1].pieces());
        assert_eq!(now[..before.len()], before, "a conversation only grows");
        let marked = |piece: &&String| MARKS.iter().any(|mark| piece.contains(mark));
        added.push(now[before.len()..].iter().filter(marked).map(String::len).sum());
    }
    added
}

/// What the same client is told first where our agents are installed and our hooks are not.
fn alone(prompt: &str) -> Vec<String> {
    let (sandbox, model) = (Sandbox::repository("0.0"), Model::new([Turn::text("Hello.")]));
    let client = Client::guarded(&sandbox, &model);
    fs::remove_file(sandbox.config().join("settings.json")).unwrap();
    client.run(prompt).ended("Hello.");
    model.requests()[0].pieces()
}
