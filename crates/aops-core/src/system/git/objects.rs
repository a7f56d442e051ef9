//! Git's objects for code that verifies them: as they are stored, whatever the repository or its
//! configuration would replace them with.
//!
//! Starts `git`. Invariants: no replaced object, graft, attribute of the tree, merge driver, external diff or
//! object from a network has any influence; git writes only to a temporary folder.

use super::{LONGEST, tried};
use crate::model::worktree::Asked;
use crate::system::env::Env;
use crate::system::files::Scratch;
use crate::system::process::variable;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Enough to walk a history of a million commits.
const PATIENCE: Duration = Duration::from_mins(5);

/// The hash function of the repository's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Sha1,
    Sha256,
}

impl Format {
    pub fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }
}

#[derive(Debug)]
pub struct Objects<'a> {
    pub env: &'a Env,
    pub format: Format,
    /// Part of the history is missing here.
    pub is_shallow: bool,
    /// For temporary objects.
    pub scratch: Scratch,
    cwd: PathBuf,
    variables: Vec<(String, OsString)>,
}

impl<'a> Objects<'a> {
    /// The objects of the repository that contains this folder, or why there is none.
    pub fn open(env: &'a Env) -> Result<Self, String> {
        let scratch = Scratch::new("objects").map_err(|error| error.to_string())?;
        let written = scratch.0.join("objects");
        std::fs::create_dir(&written).map_err(|error| error.to_string())?;
        let plain = |name: &str, value: &str| variable(name, value);
        let mut variables = vec![
            plain("GIT_NO_REPLACE_OBJECTS", "1"),
            plain("GIT_GRAFT_FILE", "/dev/null/none"),
            plain("GIT_NO_LAZY_FETCH", "1"),
            plain("GIT_TERMINAL_PROMPT", "0"),
        ];
        variables.extend(configured(&[
            ("core.attributesFile", "/dev/null"),
            ("merge.renames", "true"),
            ("merge.directoryRenames", "conflict"),
            ("merge.renormalize", "false"),
            ("diff.ignoreSubmodules", "none"),
        ]));
        let mut objects =
            Self { env, format: Format::Sha1, is_shallow: false, scratch, cwd: env.cwd.clone(), variables };
        let asked =
            ["rev-parse", "--is-shallow-repository", "--show-object-format", "--path-format=absolute"];
        let said = objects.ask(&[&asked[..], &["--git-path", "objects"]].concat(), b"")?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let [shallow, format, folder] = said.lines().collect::<Vec<_>>()[..] else {
            return Err("`git rev-parse` gave an unexpected answer".to_owned());
        };
        objects.is_shallow = shallow != "false";
        objects.format = if format == "sha256" { Format::Sha256 } else { Format::Sha1 };
        objects.variables.extend([
            variable("GIT_OBJECT_DIRECTORY", written),
            variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", folder),
            variable("GIT_ATTR_SOURCE", objects.format.empty_tree()),
        ]);
        Ok(objects)
    }

    /// The complete answer of git with this standard input.
    pub fn ask(&self, words: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        match tried(self.env, &self.cwd, words, (&self.variables, input), (PATIENCE, LONGEST)) {
            Ok(said) if said.cut => Err(format!("`git {}` printed too much", words[0])),
            Ok(said) => Ok(said.stdout),
            Err(Asked::Unasked(why)) => Err(why),
            Err(_) => Err("this is not a git repository".to_owned()),
        }
    }

    /// The lines of the answer.
    pub fn lines(&self, words: &[&str], input: &[u8]) -> Result<Vec<String>, String> {
        let said = self.ask(words, input)?;
        Ok(String::from_utf8_lossy(&said).lines().map(str::to_owned).collect())
    }
}

/// Settings that override all of git's configuration files.
fn configured(settings: &[(&str, &str)]) -> Vec<(String, OsString)> {
    let count = variable("GIT_CONFIG_COUNT", settings.len().to_string());
    let pairs = settings.iter().enumerate().flat_map(|(at, (key, value))| {
        [variable(&format!("GIT_CONFIG_KEY_{at}"), *key), variable(&format!("GIT_CONFIG_VALUE_{at}"), *value)]
    });
    [count].into_iter().chain(pairs).collect()
}
