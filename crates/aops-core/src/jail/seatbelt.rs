//! Writes a plan as a profile of macOS' sandbox, in the language of `sandbox-exec`.
//!
//! Gives text; pure. Invariants: a later rule wins, so a deeper place comes later; there are no throwaway
//! layers.

use super::plan::Plan;
use super::wishes::{Place, Way};
use std::path::Path;

/// The profile for this plan; `None` if the plan needs a throwaway layer.
pub(super) fn profile(plan: &Plan) -> Option<String> {
    let mut lines = vec!["(version 1)".to_owned(), "(allow default)".to_owned()];
    if plan.read_only {
        lines.extend(["(deny file-write*)", "(allow file-write* (subpath \"/dev\"))"].map(str::to_owned));
    }
    if plan.own_network {
        lines.push("(deny network*)".to_owned());
    }
    for place in &plan.places {
        lines.push(rule(place)?);
    }
    Some(lines.join("\n"))
}

fn rule(place: &Place) -> Option<String> {
    let path = quoted(&place.path)?;
    Some(match place.way {
        // Forbids unlinking, which renaming a folder or replacing a link requires.
        Way::Held | Way::Pinned => format!("(deny file-write-unlink (literal {path}))"),
        // There are no layers here. An optional one is a temporary folder's, which stays writable.
        Way::Layer if place.needed => return None,
        Way::Writable | Way::Layer => format!("(allow file-write* (subpath {path}))"),
        Way::ReadOnly | Way::Apart => format!("(deny file-write* (subpath {path}))"),
        Way::Hidden => format!("(deny file-read* file-write* (subpath {path}))"),
    })
}

/// A path that is not UTF-8 cannot be written in a profile.
fn quoted(path: &Path) -> Option<String> {
    Some(format!("\"{}\"", path.to_str()?.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jail::plan::Ground;
    use crate::model::profile::Profile;
    use crate::system::env::Env;
    use std::fs;

    fn place(path: &str, way: Way) -> Place {
        Place { path: path.into(), way, needed: true }
    }

    #[test]
    fn each_way_has_its_rule_and_the_deeper_one_comes_later() {
        let places = vec![
            place("/Users/me", Way::Held),
            place("/Users/me/a \"b\" \\c", Way::Pinned),
            place("/Users/me/.claude/aops", Way::ReadOnly),
            place("/Users/me/.claude/aops/keys", Way::Hidden),
        ];
        let open = Plan { places, ..Plan::default() };
        assert_eq!(
            profile(&open).unwrap(),
            "(version 1)\n(allow default)\n\
             (deny file-write-unlink (literal \"/Users/me\"))\n\
             (deny file-write-unlink (literal \"/Users/me/a \\\"b\\\" \\\\c\"))\n\
             (deny file-write* (subpath \"/Users/me/.claude/aops\"))\n\
             (deny file-read* file-write* (subpath \"/Users/me/.claude/aops/keys\"))"
        );
        let places = vec![place("/private/tmp", Way::Writable), place("/private/tmp/home", Way::ReadOnly)];
        let shut = Plan { read_only: true, own_network: true, places, ..Plan::default() };
        assert_eq!(
            profile(&shut).unwrap(),
            "(version 1)\n(allow default)\n(deny file-write*)\n(allow file-write* (subpath \"/dev\"))\n(deny network*)\n\
             (allow file-write* (subpath \"/private/tmp\"))\n(deny file-write* (subpath \"/private/tmp/home\"))"
        );
        let layers = Plan { places: vec![place("/x", Way::Layer)], ..Plan::default() };
        assert_eq!(profile(&layers), None);
    }

    /// Made from a home with settings, like the profiles for the kernel.
    #[test]
    fn a_profile_is_made_of_the_same_table() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let env = Env {
            home: root.join("home"),
            config: root.join("home/.claude"),
            user_config: root.join("home/.config/aops"),
            ..Env::default()
        };
        let project = root.join("project");
        for folder in [&env.config.join("aops/keys"), &env.user_config, &project.join(".claude")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(env.config.join("settings.json"), "{}").unwrap();
        let ground = Ground::of(&env, &project, &|_| None);
        let said = |profile: Profile| super::profile(&ground.plan(profile).unwrap());
        let work = said(Profile::Work).unwrap();
        for rule in [
            format!("(deny file-write* (subpath \"{}\"))", env.config.join("settings.json").display()),
            format!("(deny file-write* (subpath \"{}\"))", env.user_config.display()),
            format!("(deny file-write-unlink (literal \"{}\"))", env.home.display()),
            format!("(deny file-read* file-write* (subpath \"{}\"))", env.config.join("aops/keys").display()),
        ] {
            assert!(work.contains(&rule), "{rule}\n{work}");
        }
        let read = said(Profile::Read).unwrap();
        assert!(
            read.contains("(deny file-write*)\n") && read.contains("(allow file-write* (subpath \"/tmp\"))"),
            "{read}"
        );
        assert_eq!(said(Profile::Trial), None);
    }
}
