//! Checks what is useful but not required: the commands on PATH, a client, agents under other names, other
//! clients that read our registration, a key and a witness of the log; and who called us last.
//!
//! Reads PATH, agent files, sessions and the log. Invariant: nothing found here keeps a hook from working.

use super::registration::Scene;
use super::{Report, bad, report};
use crate::cli::install::receipt::Receipt;
use crate::cli::sessions::changed_ms;
use aops_core::config::in_force;
use aops_core::config::texts::Reading;
use aops_core::ledger::{clients, sessions};
use aops_core::model::agent::FILE_PREFIX;
use aops_core::model::error::Failure;
use aops_core::observe::{brought, foreign_agents};
use aops_core::proof::check::{self, Examined};
use aops_core::proof::life::{self, Standing};
use aops_core::proof::trust;
use aops_core::text::plain::count;
use aops_core::text::time;

/// The commands for people can be called by their name.
pub(super) fn on_path(scene: &Scene) -> Report {
    let own = scene.env.program().unwrap_or_default();
    let folder = own.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    match scene.env.on_path("aops-hook") {
        None => bad(
            "`aops-hook` is not on PATH, so it has to be typed with its folder",
            format!("add `{folder}` to PATH"),
        ),
        Some(found) if found.canonicalize().ok() != own.canonicalize().ok() => {
            let what =
                format!("`aops-hook` on PATH is `{}`, and this is `{}`", found.display(), own.display());
            bad(what, format!("put `{folder}` before the others in PATH, or remove the one you do not want"))
        }
        Some(found) => Ok(format!("`{}`", found.display())),
    }
}

/// At least one client that we can guard is installed.
pub(super) fn has_client(scene: &Scene) -> Report {
    match scene.env.on_path("claude") {
        Some(_) => Ok(String::new()),
        None => bad(
            "no `claude` on PATH, so its version was not checked",
            "install Claude Code, or add its folder to PATH",
        ),
    }
}

/// Foreign agents that use our names; here ours are reached by another name.
pub(super) fn shadowed(scene: &Scene) -> Report {
    let receipt = Receipt::read(scene.env).unwrap_or_default();
    let taken = foreign_agents::clashes(scene.env, &scene.env.cwd, &|path| receipt.placed(path));
    let told = taken.iter().map(|(name, path)| {
        let what =
            format!("`{}` is another `{name}`: only `{FILE_PREFIX}{name}` counts here", path.display());
        (what, format!("rename that agent if you want ours to be `{name}`"))
    });
    report(told.collect(), "")
}

/// Programs that also read the client's settings: they call us, but we let their calls pass.
const OTHERS: [(&str, &str); 4] =
    [("copilot", "Copilot CLI"), ("cursor", "Cursor"), ("cursor-agent", "Cursor"), ("code", "VS Code")];

pub(super) fn others(scene: &Scene) -> Report {
    let there = OTHERS.iter().filter(|(program, _)| scene.env.on_path(program).is_some());
    let mut names: Vec<&str> = there.map(|(_, name)| *name).collect();
    names.dedup();
    if names.is_empty() || scene.ours().next().is_none() {
        return Ok(String::new());
    }
    let what = format!(
        "{} may read this registration too: their events pass without checks and are not recorded",
        names.join(", ")
    );
    bad(what, "nothing is wrong; only Claude Code is guarded")
}

/// Hooks of others that answer the client's permission prompts: their yes would count when we ask the person.
pub(super) fn answerers(scene: &Scene) -> Report {
    let found = brought::answers_prompts(&Reading::new(scene.env, &scene.env.cwd), &scene.env.cwd);
    let told = found.into_iter().map(|(file, what)| {
        let what = format!("`{file}` may answer permission prompts in your place, ours too: {what}");
        (what, "remove its `PermissionRequest` entry, unless you want that".to_owned())
    });
    report(told.collect(), "no other hook answers permission prompts")
}

/// The log over all sessions is signed; names the signer.
pub(super) fn key(scene: &Scene) -> Report {
    match life::standing(scene.env) {
        Ok(Some(Standing { key, size, leaves, .. })) if leaves < size => bad(
            format!("`{}` signed {}, but the log has {leaves} of them", key.name, count(size, "entry")),
            "run `aops-hook verify --all`, which says more",
        ),
        Ok(Some(Standing { key, unheld: true, .. })) => bad(
            format!(
                "commands were judged only by their text since `{}` was made, so one may have read it",
                key.name
            ),
            "run `aops-hook key rotate` once the row `jail` names a jail that works",
        ),
        Ok(Some(Standing { key, size, .. })) => {
            Ok(format!("`{}` signs the log: {} so far", key.name, count(size, "entry")))
        }
        Ok(None) => bad(
            "no key signs the log, so anyone who can write ledgers could rewrite them",
            "run `aops-hook key init` in a terminal of your own",
        ),
        Err(failure) => bad(first_line(&failure), "run `aops-hook verify --all`, which says more"),
    }
}

/// Whether a witness signs the log.
pub(super) fn witness(scene: &Scene) -> Report {
    let env = scene.env;
    let Ok(policy) = in_force::load(env, &env.cwd).map(|found| found.policy) else {
        return Ok(String::new());
    };
    if !policy.witness.is_asked() {
        return bad(
            "the log is signed only on this machine; anyone with its key could rewrite it",
            "run `aops-hook witness serve` elsewhere, and name it in `[witness]` of your configuration",
        );
    }
    if policy.witness.url.is_empty() {
        return Ok("the notes of this repository: `aops-hook verify --all --git` compares the log with them"
            .to_owned());
    }
    let fix = "run `aops-hook verify --all` after the next turn: it says how far witnesses have seen the log";
    match trust::of(&policy).map(|trust| check::examine(env, &trust)) {
        Ok(Some(Examined { witnessed: Some(seen), unwitnessed: None, .. })) => {
            Ok(format!("{} of the log seen by {}", count(seen.size, "entry"), seen.names.join(", ")))
        }
        Ok(Some(log)) => bad(log.unwitnessed.unwrap_or_else(|| log.faults.join("; ")), fix),
        Ok(None) => bad(
            "there is no log that a witness could see",
            "run `aops-hook key init` in a terminal of your own",
        ),
        Err(failure) => bad(first_line(&failure), fix),
    }
}

/// The configuration asks for a database or an engine, but this program was built without them.
#[cfg(not(feature = "fleet"))]
pub(super) fn fleet(scene: &Scene) -> Report {
    let env = scene.env;
    let Ok(fleet) = in_force::load(env, &env.cwd).map(|found| found.policy.fleet) else {
        return Ok(String::new());
    };
    if fleet.url.is_none() && fleet.engine.is_none() {
        return Ok(String::new());
    }
    bad(
        "the configuration has `[fleet]`, and this program was built without what machines share",
        "run `./install.sh --fleet` in a clone of aops-hook",
    )
}

fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The last call of a client, as proof that one calls us: which client, when, and its version.
pub(super) fn last_call(scene: &Scene) -> Report {
    let newest = sessions::all(scene.env).pop();
    let Some(newest) = newest else {
        return bad(
            "no client has called yet",
            "start `claude` in a project, send a prompt, then run `aops-hook doctor` again",
        );
    };
    let ago = time::age(scene.env.now_ms - changed_ms(&newest));
    let client = clients::agent_of(scene.env, &newest.session_id).unwrap_or_else(|| "a client".to_owned());
    Ok(format!("{client} called {ago} ago, in session `{}`", newest.session_id))
}
