//! Tries what the kernel offers to hold shell commands, and checks that the client starts them through us.
//!
//! Reads settings; what it tries, it tries in child processes that end at once.

use super::registration::{HookFileKind, Scene};
use super::{Report, bad};
use crate::claude::settings::prefix;
use crate::cli::install::Level;
use crate::cli::install::plan::read_settings;
use crate::config::in_force;
use crate::config::policy::jail::JailLevel;
use crate::jail::enter::what_each;
use crate::jail::plan::Ground;
use crate::system::env::names_us;

pub(super) fn held(scene: &Scene) -> Report {
    let env = scene.env;
    let Ok(jail) = in_force::load(env, &env.cwd).map(|found| found.policy.jail) else { return Ok(String::new()) };
    if jail.level == JailLevel::Off {
        return Ok("off: your configuration says `[jail] level = \"off\"`".to_owned());
    }
    let own = |level: Level| level != Level::Project;
    let mine: Vec<_> =
        scene.ours().filter(|(place, _)| matches!(place.kind, HookFileKind::Settings(level) if own(level))).collect();
    let Some((place, _)) = mine.first().filter(|_| cfg!(target_os = "linux")) else { return Ok(String::new()) };
    let named = |text: &str| prefix::found(text).is_some_and(|value| names_us(&value));
    if !read_settings(&place.path).is_ok_and(|(_, text)| named(&text)) {
        let what = format!("`{}` does not make the client start shell commands through us", place.path.display());
        return bad(what, "run `aops-hook install`");
    }
    let variables = env.variables(|_| true);
    let variable = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.into());
    let mut ground = Ground::of(env, &env.cwd, &variable);
    ground.layer_mb = jail.layer_mb;
    let each = what_each(&ground);
    let words: Vec<String> = each
        .iter()
        .map(|(name, held)| match held {
            Ok(()) => format!("{name}: holds"),
            Err(why) => format!("{name}: does not hold ({why})"),
        })
        .collect();
    if jail.level == JailLevel::Require && each.iter().all(|(_, held)| held.is_err()) {
        return bad(words.join("; "), "allow user namespaces on this system, or set `[jail] level = \"auto\"`");
    }
    Ok(words.join("; "))
}
