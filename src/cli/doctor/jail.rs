//! Tries what the kernel offers to confine shell commands, and checks that the client starts them through us.
//!
//! Reads settings; each trial runs in a child process that ends immediately.

use super::registration::{HookFileKind, Scene};
use super::{Report, bad};
use crate::cli::install::Level;
use crate::cli::install::steps::read_settings;
use aops_core::config::in_force;
use aops_core::config::policy::jail::JailLevel;
use aops_core::host::claude::settings::prefix;
use aops_core::jail::enter::what_each;
use aops_core::jail::plan::Ground;
use aops_core::system::env::starts_through_us;
use aops_shell::verbs::starter;

pub(super) fn held(scene: &Scene) -> Report {
    let env = scene.env;
    let Ok(jail) = in_force::load(env, &env.cwd).map(|found| found.policy.jail) else {
        return Ok(String::new());
    };
    if jail.level == JailLevel::Off {
        return Ok("off: your configuration says `[jail] level = \"off\"`".to_owned());
    }
    let own = |level: Level| level != Level::Project;
    let mine: Vec<_> = scene
        .ours()
        .filter(|(place, _)| matches!(place.kind, HookFileKind::Settings(level) if own(level)))
        .collect();
    let Some((place, _)) = mine.first().filter(|_| cfg!(target_os = "linux")) else {
        return Ok(String::new());
    };
    let set = read_settings(&place.path).ok().and_then(|(_, text)| prefix::found(&text));
    let set = set.filter(|value| starts_through_us(value));
    let is_old = |value: &&String| value.strip_suffix(" --shell").is_some_and(|us| starter(us) != **value);
    if let Some(value) = set.as_ref().filter(is_old) {
        let what = format!("with `{value}` the client cannot start MCP servers");
        return bad(what, "run `aops-hook install`");
    }
    if set.is_none() {
        let what =
            format!("`{}` does not make the client start shell commands through us", place.path.display());
        return bad(what, "run `aops-hook install`");
    }
    let each = what_each(&ground(scene));
    let words: Vec<String> = each
        .iter()
        .map(|(name, held)| match held {
            Ok(()) => format!("{name}: holds"),
            Err(why) => format!("{name}: does not work ({why})"),
        })
        .collect();
    let words = words.join("; ");
    if each.iter().all(|(_, held)| held.is_err()) {
        let fix =
            "allow user namespaces on this system; until then shell commands are judged only by their text";
        return if jail.level == JailLevel::Require { Ok(String::new()) } else { bad(words, fix) };
    }
    Ok(format!("level {}: {words}", jail.level.name()))
}

/// If the configuration requires a jail, one must work.
pub(super) fn required(scene: &Scene) -> Report {
    let env = scene.env;
    let level = in_force::load(env, &env.cwd).map(|found| found.policy.jail.level);
    if !level.is_ok_and(|level| level == JailLevel::Require) {
        return Ok(String::new());
    }
    let each = what_each(&ground(scene));
    if each.iter().any(|(_, held)| held.is_ok()) {
        return Ok(String::new());
    }
    let words: Vec<String> =
        each.iter().filter_map(|(name, held)| Some(format!("{name}: {}", held.as_ref().err()?))).collect();
    let what = format!("the configuration requires a jail, and none works ({})", words.join("; "));
    bad(what, "allow user namespaces on this system, or set `[jail] level = \"auto\"`")
}

fn ground(scene: &Scene) -> Ground {
    let mut ground = Ground::here(scene.env, &scene.env.cwd);
    if let Ok(found) = in_force::load(scene.env, &scene.env.cwd) {
        ground.layer_mb = found.policy.jail.layer_mb;
    }
    ground
}
