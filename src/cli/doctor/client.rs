//! Checks that the client blocks a call when a hook breaks, which older versions do not.
//!
//! Asks `claude --version`, in a throwaway home.

use super::Finding;
use super::scene::Scene;

/// The first client that knows `onFailure`.
const FIRST: [u32; 3] = [2, 1, 295];

fn version_of(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split('-').next()?.split('.').map(str::parse);
    Some([parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?])
}

fn judge(path: &str, said: &Result<String, String>) -> Finding {
    let first = FIRST.map(|n| n.to_string()).join(".");
    match said.as_deref().map(|text| (text, version_of(text))) {
        Ok((text, Some(version))) if version >= FIRST => Finding::well("client", format!("{text}, `{path}`")),
        Ok((text, Some(_))) => {
            let finding = format!("`{path}` is {text}: before {first} a broken guard lets everything pass");
            Finding::bad("client", finding, "run `claude update`")
        }
        Ok((text, None)) => Finding::bad("client", format!("`{path}` says version `{text}`"), "run `claude update`"),
        Err(words) => {
            let finding = format!("`{path}` does not print its version: {words}");
            Finding::bad("client", finding, "reinstall Claude Code, so that `claude --version` works")
        }
    }
}

pub(super) fn version(scene: &Scene) -> Vec<Finding> {
    let Some(path) = scene.env.on_path("claude") else {
        return vec![Finding::well("client", "no `claude` on PATH, so its version was not looked at")];
    };
    vec![judge(&path.display().to_string(), &super::program::version(scene, &path, ""))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_clients_are_told_from_new_ones() {
        for (said, ok) in [
            ("2.1.295", true),
            ("2.1.325", true),
            ("2.2.0-beta.1", true),
            ("3.0.0", true),
            ("2.1.294", false),
            ("1.9.999", false),
            ("new", false),
        ] {
            assert_eq!(judge("claude", &Ok(said.to_owned())).ok, ok, "{said}");
        }
        assert!(!judge("claude", &Err("it exits with 1".to_owned())).ok);
    }
}
