//! What is in force here and now: the policy of the configuration files, the texts, and one hash over both.
//!
//! Reads the user's configuration folder and the project's `.aops`; `keep` writes below `<config>/aops/policies`.
//! Invariants: the same texts give the same hash on every machine; a file that cannot be read or understood is a problem,
//! never a fallback to less.

mod project;
mod stamp;
mod text;

pub use project::root;
pub use stamp::stamp;
pub use text::Text;

use crate::disk;
use crate::env::Env;
use crate::failure::{Code, Failure};
use crate::place::make_all;
use crate::policy::problem::position;
use crate::policy::{self, Origins, Policy, Problem, Source};
use crate::state::{canonical, digest_of};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// No configuration is longer.
const LONGEST_CONFIG: u64 = 256 << 10;
pub const CONFIG_FILE: &str = "config.toml";

/// Everything that decides what we do.
#[derive(Clone, Debug)]
pub struct InForce {
    pub policy: Policy,
    /// 64 hex digits over `Form`.
    pub hash: String,
    /// What `stamp` said just before the files were read.
    pub stamp: String,
    pub origins: Origins,
    pub texts: Vec<Text>,
    /// The folder whose `.aops` counts.
    pub project: Option<PathBuf>,
}

/// What the hash is over. Stored type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    pub policy: Policy,
    /// Name and digest of every agent, workflow, axiom and template, sorted.
    pub texts: Vec<(String, String)>,
}

/// The policy in force for work in this folder.
pub fn load(env: &Env, cwd: &Path) -> Result<InForce, Failure> {
    look(env, cwd).map_err(|problems| {
        let mut words: Vec<String> = problems.iter().take(3).map(ToString::to_string).collect();
        if problems.len() > words.len() {
            words.push(format!("and {} more", problems.len() - words.len()));
        }
        Failure::new(Code::ConfigInvalid, words.join("\n"))
    })
}

/// The same, with every problem.
pub fn look(env: &Env, cwd: &Path) -> Result<InForce, Vec<Problem>> {
    let project = root(env, cwd);
    let stamp = stamp::of(env, project.as_deref());
    let ours = project.as_ref().map(|root| root.join(".aops"));
    let user = config(&env.user_config)?;
    let of_project = ours.as_deref().map_or(Ok(None), config)?;
    let (policy, origins) = policy::read(
        user.as_ref().map(|(file, text)| Source { file, text }),
        of_project.as_ref().map(|(file, text)| Source { file, text }),
    )?;
    let texts = text::all(&env.user_config, ours.as_deref()).map_err(|problem| vec![problem])?;
    let hash = digest_of(&form(&policy, &texts));
    Ok(InForce { policy, hash, stamp, origins, texts, project })
}

fn form(policy: &Policy, texts: &[Text]) -> Form {
    let mut texts: Vec<_> = texts.iter().map(|text| (text.name.clone(), text.sha256.clone())).collect();
    texts.sort();
    Form { policy: policy.clone(), texts }
}

impl InForce {
    pub fn form(&self) -> Form {
        form(&self.policy, &self.texts)
    }

    /// Remember what this hash stands for, so that a later one can be compared with it.
    pub fn keep(&self, env: &Env) -> Result<(), Failure> {
        let is_kept = || kept(env, &self.hash).is_some();
        if is_kept() {
            return Ok(());
        }
        let path = kept_at(env, &self.hash);
        path.parent().map_or(Ok(()), make_all)?;
        let form = canonical(&self.form());
        match disk::find(&path).and_then(|file| file.replace(form.as_bytes(), 0o600)) {
            // Sessions that begin at once write the same file; whoever was first wrote what we would have.
            Err(error) if !is_kept() => Err(Failure::storage(path.display(), error)),
            _ => Ok(()),
        }
    }
}

/// What a hash stood for when it was kept; nothing where nobody kept it or the file is not what it says.
pub fn kept(env: &Env, hash: &str) -> Option<Form> {
    let bytes = disk::find(&kept_at(env, hash)).ok()?.bytes?;
    let form: Form = serde_json::from_slice(&bytes).ok()?;
    (digest_of(&form) == hash).then_some(form)
}

fn kept_at(env: &Env, hash: &str) -> PathBuf {
    env.config.join("aops/policies").join(format!("{hash}.json"))
}

/// Name and text of a folder's configuration file, where there is one.
fn config(folder: &Path) -> Result<Option<(String, String)>, Vec<Problem>> {
    let path = folder.join(CONFIG_FILE);
    let file = path.display().to_string();
    match bytes(&path, LONGEST_CONFIG) {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some((file, text))),
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let (line, column) = position(&String::from_utf8_lossy(good), good.len());
                let what = "not UTF-8".to_owned();
                Err(vec![Problem { file, line, column, key: String::new(), what }])
            }
        },
        Err(error) => Err(vec![Problem::whole(file, format!("cannot be read: {error}"))]),
    }
}

/// A whole regular file of bounded length; nothing where there is none.
fn bytes(path: &Path, longest: u64) -> io::Result<Option<Vec<u8>>> {
    // A pipe in this place must not hold us up.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(longest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {} KB", longest >> 10)));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
