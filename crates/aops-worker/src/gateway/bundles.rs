//! Signed policies, for the machines that pull them: `/bundles/RING/NAME.bundle`, and what was revoked.
//!
//! Reads the folder that the gateway was started with. Invariant: nothing else is readable, whatever the path
//! says.

use super::reply::{Reply, problem};
use crate::request::is_name;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// A bundle is no secret: every machine that runs it has it readable for everybody.
pub(super) fn file(folder: Option<&Path>, path: &str) -> Option<Reply> {
    let (ring, file) = path.strip_prefix("/bundles/")?.split_once('/')?;
    let is_file = file == "revoked" || file.strip_suffix(".bundle").is_some_and(is_name);
    let folder = folder.filter(|_| is_name(ring) && is_file)?;
    Some(match fs::read_to_string(folder.join(ring).join(file)) {
        Ok(text) => Reply::file("text/plain; charset=utf-8", &text),
        Err(error) if error.kind() == ErrorKind::NotFound => problem(404, "nothing is there").into(),
        Err(_) => problem(500, "it cannot be read").into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bundles_of_a_ring_are_served() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [("canary/policy.bundle", "new"), ("canary/revoked", "old"), ("key", "secret")] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let said = |path: &str| file(Some(folder.path()), path).map(|reply| (reply.status, reply.body));
        assert_eq!(said("/bundles/canary/policy.bundle"), Some((200, "new".to_owned())));
        assert_eq!(said("/bundles/canary/revoked"), Some((200, "old".to_owned())));
        assert_eq!(said("/bundles/all/policy.bundle").unwrap().0, 404);
        for odd in [
            "/bundles/key",
            "/bundles/../key",
            "/bundles/canary/../../key",
            "/bundles/canary/key",
            "/bundles/canary/.bundle",
            "/bundles//policy.bundle",
            "/bundles/canary/%2e.bundle",
        ] {
            assert_eq!(said(odd), None, "{odd}");
        }
        assert!(file(None, "/bundles/canary/policy.bundle").is_none(), "without a folder");
    }
}
