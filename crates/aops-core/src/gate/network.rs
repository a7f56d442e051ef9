//! Asks a person about a host that is on no list, and tells the model what was refused.
//!
//! Reads what the session's list says about the hosts that a call names; writes nothing. Invariants: if the
//! network confines the command, a question here only comes earlier than the network's refusal; otherwise
//! unlisted hosts are refused or asked about. For a dangerous line, the danger is asked about first. Way out:
//! `aops-hook network allow`.

use super::jail::{is_on, leaves, runs_shell};
use super::{Context, Unheld, Unlisted, danger, level, profile};
use crate::config::policy::Level;
use crate::config::policy::network::NetworkMode;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::profile::{Hold, Profile};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::Reached;
use crate::session::fold::Session;
use crate::text::template::one_line;
use aops_network::list::spelt;

const GATE: GateId = GateId::Jail;
/// The name of these questions in the ledger.
const RULE: &str = "network";
/// At most this many hosts are named in one message.
const MOST_NAMED: usize = 5;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    match event.kind() {
        EventKind::PreToolUse => before(session, event, context),
        EventKind::PostToolUse | EventKind::PostToolUseFailure => after(session, context),
        EventKind::SessionEnd => at_end(session, context),
        _ => Verdict::pass(),
    }
}

fn before(session: &Session, event: &Event, context: &Context) -> Verdict {
    let mode = session.policy().network.mode;
    let (Some(call), Some(seen)) = (event.call(), context.call()) else { return Verdict::pass() };
    if mode < NetworkMode::Ask {
        return Verdict::pass();
    }
    let shell = runs_shell(call);
    let said = match &seen.jail.unheld {
        Unheld::Alone { program, .. } if shell && is_on(session) && leaves(seen) => {
            outside(program, mode, context)
        }
        _ if seen.hosts.unlisted.is_empty() => return Verdict::pass(),
        _ if shell => of_line(session, event, context, &seen.hosts.unlisted),
        _ => of_fetch(mode, context, &seen.hosts.unlisted),
    };
    if said.ruling != Ruling::Ask || level(session.policy(), GateId::Danger) != Level::Enforce {
        return said;
    }
    // The danger is the graver question, and there is only one dialog.
    match danger::judge(session, event, context) {
        danger if danger.ruling < Ruling::Ask => said,
        danger if danger.ruling > Ruling::Ask => Verdict::pass(),
        danger => beside(danger, &seen.hosts.unlisted),
    }
}

/// Asks both at once: if the person approved only the danger, the host would still be refused.
fn beside(danger: Verdict, hosts: &[Unlisted]) -> Verdict {
    let open: Vec<&Unlisted> = hosts.iter().filter(|host| !host.denied).collect();
    let Some(first) = open.first() else { return danger };
    let words = format!("reaches {}: {}; a yes allows {}", named(&open), first.why, for_session(&open));
    let mut danger = Verdict { asks_hosts: true, ..danger };
    match &mut danger.phrase {
        Some(phrase) => {
            let reason = phrase.values.iter_mut().filter(|(name, _)| *name == "reason");
            reason.for_each(|(_, value)| *value = format!("{value}, and {words}"));
        }
        None => danger.reason = format!("This command {words}.\n{}", danger.reason),
    }
    danger
}

fn can_ask(context: &Context) -> bool {
    context.attended || context.defers
}

fn verdict(ruling: Ruling, reason: String) -> Verdict {
    Verdict { ruling, rule: Some(RULE.to_owned()), ..Verdict::deny(GATE, reason) }
}

/// A program outside of the jail uses the machine's network.
fn outside(program: &str, mode: NetworkMode, context: &Context) -> Verdict {
    let words = one_line(
        &format!(
            "`{program}` runs outside of the jail with the machine's network, where `[network] mode = \"{}\"` has no effect on it",
            mode.name()
        ),
        400,
    );
    if can_ask(context) {
        return verdict(Ruling::Ask, format!("{words}\nApprove only if you know what it reaches."));
    }
    let hint = "ask the user to run it in a terminal of their own";
    verdict(Ruling::Deny, format!("{words}: no tool call may do this without a person\nhint: {hint}"))
}

/// A shell line: if its network is confined, the network itself refuses.
fn of_line(session: &Session, event: &Event, context: &Context, hosts: &[Unlisted]) -> Verdict {
    let mode = session.policy().network.mode;
    let held = session.memory.client.jail.as_ref().is_some_and(|jail| jail.hold == Hold::Namespaces);
    if !held {
        return of_fetch(mode, context, hosts);
    }
    let online = matches!(profile::of_call(session, event, context), Some(Profile::Work | Profile::Read));
    let open: Vec<&Unlisted> = hosts.iter().filter(|host| !host.denied).collect();
    let asks = mode == NetworkMode::Ask || open.iter().any(|host| host.after_secret);
    if !asks || !online || open.is_empty() || !can_ask(context) {
        return Verdict::pass();
    }
    verdict(Ruling::Ask, question("This command reaches", &open, &for_session(&open), context))
}

/// The client's own tools, and commands without a network of their own: only this question protects here.
fn of_fetch(mode: NetworkMode, context: &Context, hosts: &[Unlisted]) -> Verdict {
    let open: Vec<&Unlisted> = hosts.iter().filter(|host| !host.denied).collect();
    let asks = mode == NetworkMode::Ask || hosts.iter().all(|host| host.after_secret);
    if asks && open.len() == hosts.len() && can_ask(context) {
        return verdict(Ruling::Ask, question("This call reaches", &open, "it for this call alone", context));
    }
    let first = hosts.iter().find(|host| host.denied).unwrap_or(&hosts[0]);
    let next = if first.denied { String::new() } else { allow_hint(&first.rule) };
    verdict(Ruling::Deny, format!("network: {} refused, {}{next}", first.rule, first.why))
}

fn allow_hint(rule: &str) -> String {
    format!("\nhint: ask the person to run `aops-hook network allow {rule}`")
}

/// What a yes to a command allows. A host without a port is allowed at the usual ones.
fn for_session(hosts: &[&Unlisted]) -> String {
    let usual = hosts.iter().any(|host| !host.rule.ends_with(&format!(":{}", host.port)));
    format!("it for this session{}", if usual { ", at the ports 443, 80 and 22" } else { "" })
}

/// The text for the person at the screen. `allowed`: what a yes allows.
fn question(verb: &str, hosts: &[&Unlisted], allowed: &str, context: &Context) -> String {
    let was =
        if hosts.iter().all(|host| host.needed) { "; it was refused when this line ran before" } else { "" };
    // Foreign text may have named the host.
    let foreign = context.call().and_then(|seen| seen.hosts.foreign.as_ref());
    let foreign = foreign.map(|what| format!(", after {}", one_line(what, 120))).unwrap_or_default();
    let first = &hosts[0].rule;
    format!(
        "{verb} {}{foreign}: {}{was}.\nApproving allows {allowed}. `aops-hook network allow {first}` keeps that for this project, `aops-hook network deny {first}` refuses it from now on.",
        named(hosts),
        hosts[0].why
    )
}

/// `x.example` (port 443), `y.example:8080` (port 8080).
fn named(hosts: &[&Unlisted]) -> String {
    let name = |host: &&Unlisted| format!("`{}` (port {})", host.rule, host.port);
    let mut names: Vec<String> = hosts.iter().take(MOST_NAMED).map(name).collect();
    let more = hosts.len().saturating_sub(MOST_NAMED);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}

/// The hosts that the command may reach once it starts, since it only starts if the person approved them.
pub fn approved_if_started(verdict: &Verdict, context: &Context) -> Vec<String> {
    let about_hosts = verdict.asks_hosts || verdict.rule.as_deref() == Some(RULE);
    let asks = about_hosts && matches!(verdict.ruling, Ruling::Ask | Ruling::Defer);
    let hosts = context.call().into_iter().filter(|_| asks).flat_map(|seen| &seen.hosts.unlisted);
    // Hosts that the question only counted, without naming them, need a question of their own.
    hosts.filter(|host| !host.denied).take(MOST_NAMED).map(|host| host.rule.clone()).collect()
}

/// Tells the model what was refused: otherwise it takes the refusal for a broken network and tries detours.
fn after(session: &Session, context: &Context) -> Verdict {
    let refused: Vec<&Reached> = context.hosts().iter().filter(|host| host.reason.is_some()).collect();
    let asks = session.policy().network.mode == NetworkMode::Ask && can_ask(context);
    let say = |host: &&Reached| {
        let rule = spelt(&host.host, host.port);
        let next = match (host.is_wanted(), asks) {
            (false, _) => String::new(),
            (true, false) => format!(". Ask the person to run: aops-hook network allow {rule}"),
            (true, true) => {
                format!(
                    ". Run the same line again and the person is asked, or ask them to run: aops-hook network allow {rule}"
                )
            }
        };
        let why = host.reason.as_deref().unwrap_or_default();
        one_line(&format!("network: {}:{} refused, {why}{next}", host.host, host.port), 300)
    };
    let served = context.end().into_iter().flat_map(|end| &end.served);
    let mut said: Vec<String> = served.map(|served| format!("network: {served}")).collect();
    said.extend(refused.iter().take(MOST_NAMED).map(say));
    let more = refused.len().saturating_sub(MOST_NAMED);
    said.extend((more > 0).then(|| format!("network: {more} more refused")));
    if said.is_empty() { Verdict::pass() } else { Verdict::context(GATE, said.join("\n")) }
}

/// Nobody was there to ask, so the refused hosts are listed once at the session's end.
fn at_end(session: &Session, context: &Context) -> Verdict {
    let wanted = context.hosts().iter().filter(|host| host.is_wanted());
    let wanted: Vec<String> = wanted.map(|host| spelt(&host.host, host.port)).collect();
    if context.attended || wanted.is_empty() || session.policy().network.mode < NetworkMode::Ask {
        return Verdict::pass();
    }
    let shown: Vec<&str> = wanted.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = wanted.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let words = format!(
        "network: refused in this session, since nobody could be asked: {}{more}\nhint: `aops-hook network allow HOST` allows one for this project",
        shown.join(", ")
    );
    Verdict::notice(GATE, words)
}
