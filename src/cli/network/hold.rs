//! `network hold`: the hosts that commands reached while all were allowed, and the list that limits commands
//! to them.
//!
//! Reads all sessions' notes and looks their hosts up; after a yes it writes the user's file. Invariant: what
//! a person denied stays denied.

use super::tell_renewed;
use crate::cli::table::{Cell, Tone};
use crate::cli::{Io, policy_here, user_file};
use aops_core::config::policy::choose;
use aops_core::config::policy::network::NetworkMode;
use aops_core::jail::network::seen::{self, Traffic};
use aops_core::text::plain::count;
use aops_network::address::is_public;
use aops_network::counts::size;
use aops_network::list::Pattern;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};

struct Found {
    rule: String,
    traffic: Traffic,
    at: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Public,
    /// All its addresses are private.
    Private,
    /// A port of this machine.
    Local(u16),
}

pub(super) fn run(io: &mut Io) -> anyhow::Result<u8> {
    let now = policy_here(io)?;
    let seen = seen::look(io.env);
    let denied: Vec<Pattern> = now.policy.network.deny.iter().filter_map(|host| Pattern::of(host)).collect();
    let mut found = Vec::new();
    for (rule, traffic) in &seen.hosts {
        let Some(pattern) = Pattern::of(rule) else { continue };
        if !denied.iter().any(|deny| deny.covers(&pattern.name, pattern.port.unwrap_or(443))) {
            found.push(Found { rule: rule.clone(), traffic: *traffic, at: place(&pattern) });
        }
    }
    if found.is_empty() {
        let hint = "hint: `[network] mode = \"observe\"` notes what commands reach";
        return io.print(format!("no session on this machine has reached a host yet\n{hint}"));
    }
    if !io.json {
        writeln!(io.out, "{}:\n", seen.describe())?;
        let row = |one: &Found| {
            let Traffic { sessions, up, down } = one.traffic;
            let what = format!("{}, {} in, {} out", count(sessions, "session"), size(down), size(up));
            let place = match one.at {
                Place::Public => "",
                Place::Private => "private address",
                Place::Local(_) => "this machine",
            };
            [&one.rule, &what, place].map(|text| Cell::new(text, Tone::Plain))
        };
        let rows: Vec<_> = found.iter().map(row).collect();
        io.table(["HOST", "SEEN IN", ""], rows)?;
    }
    if io.json && !io.yes {
        let rules: Value = found.iter().map(|one| one.rule.as_str()).collect();
        return io.print(json!({"allow": rules, "sessions_seen": seen.sessions, "changed": false}));
    }
    if !io.yes {
        let question = "\nhold commands to these hosts, in every project? [y/N]: ";
        let said = io.ask(question)?;
        if !said.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes")) {
            return io.print("nothing was changed");
        }
    }
    write(io, &found)
}

fn place(pattern: &Pattern) -> Place {
    if pattern.name.as_str() == seen::LOCALHOST {
        return Place::Local(pattern.port.unwrap_or(80));
    }
    let at = (pattern.name.as_str(), pattern.port.unwrap_or(443)).to_socket_addrs();
    let all: Vec<SocketAddr> = at.map(Iterator::collect).unwrap_or_default();
    let is_private = !all.is_empty() && !all.iter().any(|address| is_public(address.ip()));
    if is_private { Place::Private } else { Place::Public }
}

fn write(io: &mut Io, found: &[Found]) -> anyhow::Result<u8> {
    let project = policy_here(io)?.project;
    let local =
        found.iter().filter_map(|one| if let Place::Local(port) = one.at { Some(port) } else { None });
    let local: BTreeSet<u16> = local.chain(policy_here(io)?.policy.network.local).collect();
    let edit = |old: &str| {
        let mut text = choose::set_network_local(old, &local)?;
        for one in found.iter().filter(|one| !matches!(one.at, Place::Local(_))) {
            text = choose::add_host(&text, None, "allow", &one.rule)?;
            if one.at == Place::Private {
                let name = Pattern::of(&one.rule)?.name.to_string();
                text = choose::add_host(&text, None, "private", &name)?;
            }
        }
        choose::set_network_mode(&text, NetworkMode::List)
    };
    let edited = user_file::edit(io, &project, edit, "`[network]` with `mode = \"list\"` and `allow`")?;
    edited.write(io)?;
    let told = tell_renewed(io)?;
    let holds = edited.policy.network.mode == NetworkMode::List;
    let rules: Value = found.iter().map(|one| one.rule.as_str()).collect();
    let value = json!({"allow": rules, "file": edited.shown, "in_force": holds, "sessions": told});
    let stays = if holds { "" } else { "\nhere it has no effect: `aops-hook policy` says what overrides it" };
    let running =
        if told > 0 { format!("; {} took it up", count(told, "running session")) } else { String::new() };
    let words =
        format!("network: commands reach {} and no other, by `{}`", count(found.len(), "host"), edited.shown);
    io.answer(&value, format!("{words}{running}{stays}"))
}
