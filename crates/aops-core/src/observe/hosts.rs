//! What the session's list says about the hosts that a call names or needs, and what a command reached.
//!
//! Reads the list and the broker's notes in the session's folder, and removes the notes that it has read.
//! Invariant: with `[network]` off, and for a call that names no host, no file is read.

use crate::config::policy::network::NetworkMode;
use crate::gate::jail::runs_shell;
use crate::gate::{Context, Unlisted};
use crate::jail::network;
use crate::model::call::ToolCall;
use crate::model::event::{Event, EventKind};
use crate::model::profile::line_digest;
use crate::session::fact::Reached;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::text::json::{self, Json};
use crate::text::template::one_line;
use aops_network::counts::Served;
use aops_network::list::{Refusal, Verdict, spelt};
use aops_network::name::Name;
use aops_shell::hosts::{Host, is_this_machine, named, of_address, of_fetch};
use aops_shell::syntax::Line;
use std::path::Path;

/// The hosts that a call names, if hosts are judged.
pub fn of_call(session: &Session, call: &ToolCall, line: Option<&Line>) -> Vec<Host> {
    let network = &session.policy().network;
    if network.mode < NetworkMode::Ask {
        return Vec::new();
    }
    let fetches = call.key.tool == "WebFetch" || network.servers && call.key.server != "builtin";
    match line.filter(|_| runs_shell(call)) {
        Some(line) => named(line),
        None if fetches => {
            let mut found = Vec::new();
            if let Ok(input) = json::read(&call.input) {
                of_input(&input, false, &mut found);
            }
            found
        }
        None => Vec::new(),
    }
}

/// Endings of field names with addresses, as servers spell them: `url`, `urls`, `page_uri`, `baseUrl`.
const ADDRESSES: [&str; 4] = ["url", "urls", "uri", "uris"];

/// The hosts of all addresses in a tool's input, each once, at any depth.
fn of_input(input: &Json, is_address: bool, found: &mut Vec<Host>) {
    match input {
        Json::Text(_) if is_address => {
            let host = input.text().and_then(|text| of_address(&text));
            found.extend(host.filter(|host| !found.contains(host)));
        }
        Json::List(items) => items.iter().for_each(|item| of_input(item, is_address, found)),
        Json::Object(members) => {
            for (name, member) in members {
                let name = name.to_ascii_lowercase();
                of_input(member, is_address || ADDRESSES.iter().any(|end| name.ends_with(end)), found);
            }
        }
        _ => {}
    }
}

/// How much is shown of a text that is no valid host name.
const LONGEST_NAME: usize = 100;

/// Which of the hosts the list refuses, and which others were refused to the same line before.
pub fn look(session: &Session, folder: &Path, event: &Event, context: &mut Context) {
    let network = &session.policy().network;
    let (Some(call), Some(seen)) = (event.call(), context.call_mut()) else { return };
    if network.mode < NetworkMode::Ask {
        return;
    }
    // Before a command has been refused something, no line has recorded wishes.
    let is_line = runs_shell(call);
    let wished = session.memory.questions.wants_hosts && is_line;
    let line = if wished { line_of(call) } else { None };
    let needed = line.map(|line| network::wanted_by(folder, &line)).unwrap_or_default();
    if seen.hosts.named.is_empty() && needed.is_empty() {
        return;
    }
    let Some(list) = network::list(folder).or_else(|| network_list(session)) else { return };
    let named = seen.hosts.named.iter().map(|host| (host.name.clone(), host.port, false));
    for (host, port, needed) in named.chain(needed.into_iter().map(|(host, port)| (host, port, true))) {
        if !is_line && is_this_machine(&host) {
            // The client's own tools reach this machine from outside of the session's network.
            let counts = network::counts(folder).unwrap_or_default();
            let is_open = list.local.contains(&port) || counts.served.iter().any(|one| one.outside == port);
            seen.hosts.unlisted.extend((!is_open).then(|| own_port(&host, port)));
            continue;
        }
        let Some(name) = judged_name(&host) else {
            // A command cannot reach such an address either; another tool of the client might.
            if !is_line {
                seen.hosts.unlisted.push(no_name(&host, port));
            }
            continue;
        };
        let Verdict::Refuse(refusal) = list.judge(&name, port) else { continue };
        let rule = spelt(&host, port);
        if !seen.hosts.unlisted.iter().any(|known| known.rule == rule) {
            let denied = !refusal.is_open();
            let after_secret = refusal == Refusal::AfterSecret;
            seen.hosts.unlisted.push(Unlisted {
                rule,
                port,
                why: refusal.to_string(),
                denied,
                needed,
                after_secret,
            });
        }
    }
    if !seen.hosts.unlisted.is_empty() {
        seen.hosts.foreign = network::foreign(folder);
    }
    // Only the question can open the host: an answered line would be refused again and again.
    if network.mode == NetworkMode::Ask && seen.hosts.unlisted.iter().any(|host| !host.denied) {
        seen.quiet = None;
    }
}

/// A name that a list can contain. If it ends in a number it is an address, however it is written.
fn judged_name(host: &str) -> Option<Name> {
    let last = host.rsplit('.').next().unwrap_or_default();
    Name::of(host.as_bytes()).filter(|_| !last.starts_with(|c: char| c.is_ascii_digit()))
}

fn no_name(host: &str, port: u16) -> Unlisted {
    Unlisted {
        rule: one_line(host, LONGEST_NAME),
        port,
        why: "it is an address, or cannot be read as a name; lists contain only names".to_owned(),
        denied: true,
        needed: false,
        after_secret: false,
    }
}

fn own_port(host: &str, port: u16) -> Unlisted {
    Unlisted {
        rule: format!("{host}:{port}"),
        why: "no command serves it and `[network] local` does not name it".to_owned(),
        ..no_name(host, port)
    }
}

fn network_list(session: &Session) -> Option<aops_network::list::List> {
    session.policy().network.list()
}

/// The foreign text that this call fetched: a page, a server's answer.
pub fn foreign(call: &ToolCall) -> Option<String> {
    let input = || json::read(&call.input).ok();
    match call.key.tool.as_str() {
        "WebFetch" => {
            let host = input()?.text_of("url").and_then(|url| of_fetch(&url));
            Some(host.map_or_else(
                || "reading a page".to_owned(),
                |host| format!("reading a page of `{}`", host.name),
            ))
        }
        "WebSearch" => Some("a search of the web".to_owned()),
        _ if call.key.server != "builtin" => Some(format!("an answer of the server `{}`", call.key.server)),
        _ => None,
    }
}

/// The digest of a call's command line.
pub fn line_of(call: &ToolCall) -> Option<String> {
    json::read(&call.input).ok()?.text_of("command").map(|line| line_digest(&line))
}

/// After a command: new hosts, each refused host, and servers that were opened at another port. At the
/// session's end: all hosts.
pub fn reached(env: &Env, session: &Session, folder: &Path, event: &Event) -> (Vec<Reached>, Vec<Served>) {
    if session.policy().network.mode == NetworkMode::Off || env.dry_run {
        return (Vec::new(), Vec::new());
    }
    match event.kind() {
        EventKind::PostToolUse | EventKind::PostToolUseFailure if event.call().is_some_and(runs_shell) => {
            network::take_news(folder)
        }
        EventKind::SessionEnd => (network::all_reached(folder), Vec::new()),
        _ => (Vec::new(), Vec::new()),
    }
}
