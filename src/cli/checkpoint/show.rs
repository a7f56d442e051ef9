//! Shows one checkpoint: state of the loop, agents, gates, files.

use super::{Command, Io, Who, id_argument, pick_id, size, store};
use crate::checkpoint::tree::name;
use crate::cli::table::{Tone, clean};
use clap::{Arg, ArgAction, ArgMatches};

pub(super) const VERB: Command = Command {
    name: "show",
    about: "Show one checkpoint",
    examples: &[
        ("aops-hook checkpoint show manual/POST_idle_v1", "state of the loop, agents, gates, size"),
        ("aops-hook checkpoint show manual/POST_idle_v1 --files", "every file, with mode, size and digest"),
    ],
    who: Who::Anyone,
    arguments: |row| {
        id_argument(row).arg(Arg::new("files").long("files").action(ArgAction::SetTrue).help("Every file"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = store(io)?;
    let one = store.read(&pick_id(given, "id", &store)?)?;
    if io.json {
        writeln!(io.out, "{}", serde_json::to_string_pretty(&one)?)?;
        return Ok(0);
    }
    let title = Tone::Strong.paint(&one.identity.checkpoint_id, io).into_owned();
    let (loop_, tree) = (&one.orchestrator, &one.artifacts);
    let mut lines = vec![
        ("taken", format!("{} ({}), in {} ms", one.timing.created_at, one.trigger(), one.timing.duration_ms)),
        ("follows", one.parent.clone().unwrap_or_else(|| "nothing".to_owned())),
        ("session", one.identity.session_id.clone()),
        ("task", loop_.task.clone().unwrap_or_default()),
        ("done", loop_.completed.join(", ")),
        ("to do", loop_.incomplete.join(", ")),
    ];
    lines.extend(
        one.metadata.iter().filter(|(key, _)| *key != "trigger").map(|(key, text)| (key.as_str(), text.clone())),
    );
    for (label, all) in [("gate", &one.governance.gates), ("check", &one.governance.checks)] {
        for found in all.iter().filter(|found| found.outcome != "PASS") {
            let why = found.reason.as_deref().unwrap_or_default();
            lines.push((label, format!("{} {} {why}", found.name, found.outcome)));
        }
    }
    for agent in one.agents.iter().filter(|agent| agent.tool_invocations > 0 || agent.summary.is_some()) {
        let summary = agent.summary.as_deref().unwrap_or_default();
        lines.push((
            "agent",
            format!("{}: {} calls, {} tokens  {summary}", agent.name, agent.tool_invocations, agent.tokens),
        ));
    }
    lines.push((
        "tree",
        format!("{} files in {} folders, {}", tree.files.len(), tree.folders.len(), size(tree.bytes())),
    ));
    lines.extend(
        tree.left_out
            .iter()
            .map(|out| ("left out", format!("{} ({}, {})", name::shown(&out.path), out.reason, size(out.size)))),
    );
    writeln!(io.out, "{title}")?;
    for (label, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(io.out, "  {label:9} {}", clean(text))?;
    }
    if given.get_flag("files") {
        for file in &tree.files {
            let target = file.target.as_deref().map(|target| format!(" -> {target}")).unwrap_or_default();
            let path = clean(&format!("{}{target}", name::shown(&file.path))).into_owned();
            writeln!(io.out, "{:04o} {:>12} {} {path}", file.mode, file.size, &file.sha256.to_string()[..12])?;
        }
    }
    Ok(0)
}
