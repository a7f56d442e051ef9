//! Every agent, workflow, template and axiom in force: the shipped one, or the file that stands in its place.
//!
//! Reads our two folders. Invariants: agents and templates are never the project's, since a repository must not bring its
//! own critic; workflows are the project's before the user's; axioms are all that there are.

use super::bytes;
use crate::asset::ASSETS;
use crate::digest::sha256;
use crate::policy::{Layer, Problem};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const LONGEST_TEXT: u64 = 1 << 20;
const MOST_FILES: usize = 1024;
pub(super) const AXIOMS: &str = "AXIOMS.md";

/// One text in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// `workflows/feature-dev.md`; axioms of the user and the project carry whose they are.
    pub name: String,
    /// Whose file; nothing is the shipped one.
    pub layer: Option<Layer>,
    pub path: Option<PathBuf>,
    pub sha256: String,
}

impl Text {
    /// Whose it is, in a word.
    pub fn from(&self) -> &'static str {
        self.layer.map_or("embedded", Layer::name)
    }
}

/// Which folders of texts a layer may bring.
pub(super) fn folders(layer: Layer) -> &'static [&'static str] {
    match layer {
        Layer::User => &["agents", "templates", "workflows"],
        Layer::Project => &["workflows"],
    }
}

/// Sorted by name.
pub(super) fn all(user: &Path, project: Option<&Path>) -> Result<Vec<Text>, Problem> {
    let mut texts = BTreeMap::new();
    for asset in ASSETS.iter().filter(|asset| is_policy(asset.path)) {
        let sha256 = sha256(&[asset.text.as_bytes()]);
        let name = asset.path.to_owned();
        texts.insert(name.clone(), Text { name, layer: None, path: None, sha256 });
    }
    for (layer, folder) in [(Layer::User, Some(user)), (Layer::Project, project)] {
        let Some(folder) = folder else { continue };
        let axioms = (format!("{}/{AXIOMS}", layer.name()), folder.join(AXIOMS));
        for (name, path) in files(folder, layer)?.into_iter().chain([axioms]) {
            let unread =
                |error| Problem::whole(path.display().to_string(), format!("cannot be read: {error}"));
            let Some(bytes) = bytes(&path, LONGEST_TEXT).map_err(unread)? else { continue };
            let sha256 = sha256(&[&bytes]);
            texts.insert(name.clone(), Text { name, layer: Some(layer), path: Some(path), sha256 });
        }
    }
    Ok(texts.into_values().collect())
}

/// Everything shipped but the slash commands: those only ask for what a person could type.
fn is_policy(path: &str) -> bool {
    !path.starts_with("commands/")
}

/// Names and paths of the texts in a layer's folders.
pub(super) fn files(folder: &Path, layer: Layer) -> Result<Vec<(String, PathBuf)>, Problem> {
    let mut found = Vec::new();
    for name in folders(layer) {
        list(&folder.join(name), name, &mut found)?;
    }
    Ok(found)
}

/// Markdown files here and in folders one below, as templates have them.
fn list(folder: &Path, name: &str, found: &mut Vec<(String, PathBuf)>) -> Result<(), Problem> {
    let problem = |what: String| Problem::whole(folder.display().to_string(), what);
    let items = match std::fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        items => items.map_err(|error| problem(format!("cannot be read: {error}")))?,
    };
    for item in items {
        let item = item.map_err(|error| problem(format!("cannot be read: {error}")))?;
        let Ok(own) = item.file_name().into_string() else {
            return Err(problem("holds a name that is not UTF-8".to_owned()));
        };
        // Editors leave hidden files beside the one they edit.
        if own.starts_with('.') {
            continue;
        }
        let full = format!("{name}/{own}");
        if Path::new(&own).extension().is_some_and(|end| end == "md") {
            found.push((full, item.path()));
        } else if !name.contains('/') && item.path().is_dir() {
            list(&item.path(), &full, found)?;
        }
        if found.len() > MOST_FILES {
            return Err(problem(format!("holds more than {MOST_FILES} texts")));
        }
    }
    Ok(())
}
