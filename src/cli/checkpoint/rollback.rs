//! Rolls the working tree back to a checkpoint; needs a person at a terminal.
//!
//! Shows the changes, asks, archives the present tree, then applies them.

use super::{Command, Io, Who, id_argument, pick_id, refused, root};
use crate::checkpoint;
use crate::checkpoint::capture::Limits;
use crate::checkpoint::rollback::{Order, Preview};
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::name;
use crate::cli::table::{Tone, clean};
use crate::model::error::{Code, Failure};
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};
use std::io::IsTerminal;

pub(super) const VERB: Command = Command {
    name: "rollback",
    about: "Roll the working tree back to a checkpoint (needs a person at a terminal)",
    examples: &[
        ("aops-hook checkpoint rollback manual/POST_idle_v1 --dry-run", "what it would do"),
        ("aops-hook checkpoint rollback manual/POST_idle_v1", "roll back; the present tree is archived first"),
        ("aops-hook checkpoint rollback manual/POST_idle_v1 --state-only", "the loop goes back, the files stay"),
    ],
    who: Who::OutsideClient,
    arguments: |row| {
        let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
        id_argument(row)
            .arg(flag("dry-run").help("Show what it would do, and do nothing"))
            .arg(flag("state-only").help("Roll back the loop; leave the files alone"))
    },
    run,
};

/// Most paths shown of each kind.
const SHOWN: usize = 20;

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (env, root) = (io.env, root(io));
    let (dry, state_only) = (given.get_flag("dry-run"), given.get_flag("state-only"));
    if !dry {
        super::allowed("checkpoint rollback", Who::AtTerminal, io)?;
    }
    let store = super::store(io)?;
    let id = pick_id(given, "id", &store)?;
    let session_id = store.session_of(&id)?;
    let wrong = || {
        let what = format!("checkpoint `{id}` is not the one in its session's ledger");
        Failure::new(Code::ChecksumMismatch, what)
    };
    // Before any lock is taken. Only the witnessed digest is restored.
    let digest = store.witnessed(env)?.remove(&id.to_string());
    if checkpoint::rollback::said_in_ledger(env, &session_id, &id, digest.as_ref())? == Some(false) {
        return Err(wrong().into());
    }
    let check = |preview: &Preview| {
        let same = preview.target.digest == digest && preview.target.identity.session_id == session_id;
        if same { Ok(()) } else { Err(wrong()) }
    };
    if dry || !io.yes {
        let preview = checkpoint::rollback::preview(env, &Store::open(env, &root)?, &id, &[], &Limits::none())?;
        check(&preview)?;
        show(io, &preview, state_only)?;
        if dry && io.json {
            writeln!(io.out, "{}", to_json(&preview))?;
        }
        if dry {
            return Ok(0);
        }
        if !sure(io)? {
            return refused("nothing was done");
        }
    }
    let (mut shown, mut said) = (Ok(()), Value::Null);
    let order = Order { id: &id, alone: &[], by: "a person", state_only };
    let done = checkpoint::rollback::roll_back(env, &root, &order, None, &mut |preview| {
        check(preview)?;
        said = if io.json { to_json(preview) } else { Value::Null };
        shown = if io.yes { show(io, preview, state_only) } else { Ok(()) };
        Ok(())
    })?;
    shown?;
    if io.json {
        said["archive"] = Some(&done.archive).filter(|archive| !archive.is_empty()).cloned().into();
        said["result"] = done.result.into();
        said["dry_run"] = false.into();
        writeln!(io.out, "{said}")?;
        return Ok(0);
    }
    for folder in &done.kept_folders {
        writeln!(io.out, "kept, because it holds ignored files: {}", clean(&name::shown(folder)))?;
    }
    writeln!(io.out, "rolled back to {id}, which is now {}", done.result)?;
    if !done.archive.is_empty() {
        writeln!(io.out, "to return, run `aops-hook checkpoint rollback {}`", done.archive)?;
    }
    Ok(0)
}

/// The changes that a rollback would make.
fn to_json(preview: &Preview) -> Value {
    let [added, removed, changed] = preview.delta().by_kind();
    json!({
        "id": preview.target.identity.checkpoint_id, "added": added, "removed": removed, "changed": changed,
        "archive": null, "result": null, "dry_run": true,
    })
}

fn show(io: &mut Io, preview: &Preview, state_only: bool) -> anyhow::Result<()> {
    if io.json {
        return Ok(());
    }
    let delta = preview.delta();
    let target = &preview.target;
    writeln!(io.out, "to {}, taken {}", target.identity.checkpoint_id, target.timing.created_at)?;
    if state_only {
        return Ok(writeln!(io.out, "the loop goes back to `{}`; the files stay as they are", target.phase.name())?);
    }
    let [added, removed, changed] = delta.by_kind();
    for (words, paths, tone) in
        [("removed", removed, Tone::Bad), ("brought back", added, Tone::Good), ("changed back", changed, Tone::Warn)]
    {
        for path in paths.iter().take(SHOWN) {
            writeln!(io.out, "  {}", tone.paint(&format!("{words:13} {}", clean(&name::shown(path))), io))?;
        }
        if paths.len() > SHOWN {
            writeln!(io.out, "  {words:13} and {} more", paths.len() - SHOWN)?;
        }
    }
    if delta.is_empty() {
        writeln!(io.out, "  no file differs")?;
    }
    for out in target.artifacts.left_out.iter().take(SHOWN) {
        writeln!(io.out, "  {:13} {} ({})", "left alone", clean(&name::shown(&out.path)), out.reason)?;
    }
    Ok(())
}

fn sure(io: &mut Io) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    write!(io.out, "the present tree is archived first; continue? [y/N] ")?;
    io.out.flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
