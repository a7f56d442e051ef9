//! Which texts and settings are in force, as one digest.
//!
//! Reads our configuration folders and the project's `.aops`. Invariant: the same texts give the same hash on every
//! machine; any text that can change what we do moves it.

use crate::digest::sha256;
use crate::env::Env;
use crate::state::canonical;
use std::collections::BTreeMap;
use std::path::Path;

/// SHA-256 over the RFC 8785 form of names and digests of everything in force.
pub fn hash(env: &Env, cwd: &str) -> String {
    let mut texts = BTreeMap::new();
    collect(&env.user_config, "user", &mut texts);
    collect(&Path::new(cwd).join(".aops"), "project", &mut texts);
    texts.insert("binary".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    sha256(&[canonical(&texts).as_bytes()])
}

/// Every configuration and markdown file below a folder, two levels deep.
fn collect(folder: &Path, name: &str, texts: &mut BTreeMap<String, String>) {
    let Ok(items) = std::fs::read_dir(folder) else { return };
    for item in items.flatten() {
        let path = item.path();
        let name = format!("{name}/{}", item.file_name().to_string_lossy());
        let text = path.extension().is_some_and(|e| e == "md" || e == "toml");
        if text && path.is_file() {
            texts.insert(
                name,
                std::fs::read(&path).map_or("unreadable".to_owned(), |bytes| sha256(&[&bytes])),
            );
        } else if !text && path.is_dir() && name.matches('/').count() < 2 {
            collect(&path, &name, texts);
        }
    }
}
