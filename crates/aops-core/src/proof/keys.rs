//! The secrets of the log in `<config>/aops/keys`: the keys that sign checkpoints, and the state of the seal.
//!
//! Reads and writes only that folder. The jail hides it from commands, the gates refuse it to tools.
//! Invariants: folder 0700, files 0600; a replaced state is overwritten, so that no past seal can be made
//! again.

mod next;

use crate::model::error::{Code, Failure};
use crate::system::env::{Env, boot_id};
use crate::system::files::{self, make_all, replace_private, replace_private_in};
use crate::system::{folder, limits, random, ssh_agent};
use crate::text::sha256::sha256;
use aops_proof::frontier::Frontier;
use aops_proof::key::{PublicKey, SecretKey, Signature, Use};
use aops_proof::seal::SealKey;
use aops_proof::text::{base64, from_base64};
use aops_proof::tree::Hash;
use next::{NEXT, Rotation};
use rustix::fs::{AtFlags, CWD, OFlags};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const NOTE: &str = "note.key";
const ML_DSA: &str = "ml-dsa.key";
/// Beginning of `note.key` if an ssh-agent has the secret.
const AGENT: &str = "AGENT+KEY+";
const SEAL: &str = "seal.json";
const SPARE: &str = ".seal.spare";
/// Public keys that signed before the last rotation, one per line.
const OLD: &str = "old.pub";

pub fn path(env: &Env) -> PathBuf {
    env.config.join("aops/keys")
}

#[derive(Debug)]
pub struct Keys {
    dir: OwnedFd,
    note: NoteKey,
    /// A second signing key. Older keys do not have one.
    ml_dsa: Option<SecretKey>,
    old: Vec<PublicKey>,
    rotation: Rotation,
}

/// The key that signs checkpoints with Ed25519.
#[derive(Debug)]
pub enum NoteKey {
    Here(SecretKey),
    /// A key of an ssh-agent. Without a socket it is the agent that `SSH_AUTH_SOCK` names.
    Agent {
        public: PublicKey,
        socket: Option<PathBuf>,
    },
}

impl NoteKey {
    fn parse(text: &str) -> Option<Self> {
        let Some(rest) = text.strip_prefix(AGENT) else { return SecretKey::parse(text).ok().map(Self::Here) };
        let (public, socket) = rest.split_once('\n')?;
        let socket = Some(PathBuf::from(socket.trim_end_matches('\n'))).filter(|path| path.is_absolute());
        Some(Self::Agent { public: PublicKey::parse(public).ok()?, socket })
    }

    fn stored(&self) -> String {
        match self {
            Self::Here(key) => key.stored() + "\n",
            Self::Agent { public, socket } => {
                format!("{AGENT}{public}\n{}\n", socket.as_deref().unwrap_or(Path::new("")).display())
            }
        }
    }

    fn public(&self) -> &PublicKey {
        match self {
            Self::Here(key) => key.public(),
            Self::Agent { public, .. } => public,
        }
    }

    fn sign(&self, text: &str) -> Result<Option<Signature>, Failure> {
        let (public, socket) = match self {
            Self::Here(key) => return Ok(key.sign(text, 0)),
            Self::Agent { public, socket } => (public, socket.clone().or_else(ssh_agent::socket)),
        };
        let failed = |what: String| Failure::new(Code::StorageFailed, format!("the ssh-agent: {what}"));
        let socket = socket.ok_or_else(|| failed("`SSH_AUTH_SOCK` names none".to_owned()))?;
        let bytes = ssh_agent::sign(&socket, public.bytes(), text.as_bytes());
        let bytes = bytes.map_err(|error| failed(format!("`{}`: {error}", socket.display())))?;
        Ok(Some(public.accept(text, &bytes).ok_or_else(|| failed("its signature is wrong".to_owned()))?))
    }
}

/// A key of an ssh-agent, and its socket unless that is `SSH_AUTH_SOCK`'s.
#[derive(Clone, Debug)]
pub struct AgentKey {
    pub key: [u8; 32],
    pub socket: Option<PathBuf>,
}

/// How far the log is signed, and the key of the next seal.
#[derive(Clone, Debug)]
pub struct Sealed {
    pub key: SealKey,
    pub frontier: Frontier,
    /// The last lines of the list of seals, which a crash can have kept out of the file.
    pub rows: Vec<String>,
    /// The keys that signed at that time, and the boot during which they did. An earlier version stored
    /// neither.
    pub signers: Option<Signers>,
    pub boot: Option<String>,
}

/// The log's keys that sign together, each by the digest of its public form.
pub type Signers = Vec<String>;

/// The same for keys in their public form.
pub fn signers<'k>(keys: impl IntoIterator<Item = &'k str>) -> Signers {
    keys.into_iter().map(|key| sha256(&[key.as_bytes()])).collect()
}

/// A file that does not contain the expected signing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stray {
    Gone(&'static str),
    Another(&'static str),
}

impl Stray {
    /// The name of the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gone(name) | Self::Another(name) => name,
        }
    }
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Gone(name) => write!(f, "`{name}`, a key that signs it, is missing"),
            Self::Another(name) => {
                write!(f, "`{name}` is not the key that signs it: another one is in its place")
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StoredSeal {
    epoch: u64,
    key: String,
    size: u64,
    frontier: Vec<String>,
    row: String,
    /// The previous rows.
    #[serde(default)]
    rows: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signers: Option<Signers>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
}

/// What we can see of the keys.
#[derive(Debug, Default)]
pub struct Sight {
    pub keys: Option<Keys>,
    /// How far they have signed, even if the keys themselves are gone.
    pub sealed: Option<Sealed>,
    /// They are hidden from us, so nothing can be said about them.
    pub is_hidden: bool,
    /// Why they cannot be read.
    pub broken: Option<String>,
}

/// Looks at the keys in any state.
pub fn look(env: &Env) -> Sight {
    let path = path(env);
    let denied =
        |path: &Path| files::open(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    if denied(&path) || denied(&path.join(NOTE)) || is_covered(&path) {
        return Sight { is_hidden: true, ..Sight::default() };
    }
    let keys = Keys::open(env);
    let sealed = folder::enter(CWD, &path, false).map_err(Failure::from);
    let sealed = sealed.and_then(|dir| dir.map_or(Ok(None), |dir| sealed_in(&dir)));
    let broken = [keys.as_ref().err(), sealed.as_ref().err()].into_iter().flatten().next();
    let broken = broken.map(|failure| {
        format!("{failure}; move it out of `aops/keys`, then `aops-hook verify --all` shows the next step")
    });
    Sight { keys: keys.ok().flatten(), sealed: sealed.ok().flatten(), is_hidden: false, broken }
}

/// An empty folder is mounted over it, as in the jail.
fn is_covered(path: &Path) -> bool {
    let of = |path: &Path| rustix::fs::stat(path).map(|stat| stat.st_dev).ok();
    let empty = std::fs::read_dir(path).is_ok_and(|mut items| items.next().is_none());
    empty && of(path) != path.parent().and_then(of)
}

fn hash(text: &str) -> Option<Hash> {
    from_base64(text)?.try_into().ok()
}

/// A random secret from the operating system.
pub fn draw() -> Result<Hash, Failure> {
    let mut drawn = [0; 32];
    random::fill(&mut drawn).map_err(|e| Failure::storage("random bytes", e))?;
    Ok(drawn)
}

fn broken(name: &str) -> Failure {
    Failure::new(Code::StorageFailed, format!("`{name}` in `aops/keys` is not a key of ours"))
}

impl Keys {
    /// `None`: there is no key, and nothing is signed.
    pub fn open(env: &Env) -> Result<Option<Self>, Failure> {
        let path = path(env);
        let Some(dir) = folder::enter(CWD, &path, false)? else { return Ok(None) };
        let Some(text) = read(&dir, NOTE)? else { return Ok(None) };
        let note = NoteKey::parse(&text).ok_or_else(|| broken(NOTE))?;
        let ml_dsa = read(&dir, ML_DSA)?.map(|text| SecretKey::parse(&text)).transpose();
        let ml_dsa = ml_dsa.map_err(|_| broken(ML_DSA))?;
        let old = retired_in(&dir)?;
        Self { dir, note, ml_dsa, old, rotation: Rotation::No }.or_next().map(Some)
    }

    /// A private key has a second name, which no jail hides from commands.
    pub fn have_second_name(&self) -> bool {
        let has = |name| {
            let about = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
            about.is_ok_and(|about| about.st_nlink > 1)
        };
        [NOTE, ML_DSA].into_iter().any(has)
    }

    /// Makes new keys of this name, which replace the present ones.
    pub fn make(
        env: &Env,
        origin: &str,
        agent: Option<&AgentKey>,
        old: &[PublicKey],
    ) -> Result<Self, Failure> {
        let keys = Self::draw(env, origin, agent, old)?;
        keys.put().map(|()| keys)
    }

    /// New keys of this name, not stored anywhere yet. `agent`: a key of an ssh-agent to sign with. `old`:
    /// keys that signed before.
    pub fn draw(
        env: &Env,
        origin: &str,
        agent: Option<&AgentKey>,
        old: &[PublicKey],
    ) -> Result<Self, Failure> {
        let invalid = |what| Failure::new(Code::InputInvalid, what);
        let drawn = |used| SecretKey::new(origin, used, &draw()?).map_err(invalid);
        let ml_dsa = drawn(Use::MlDsa)?;
        let note = match agent {
            None => NoteKey::Here(drawn(Use::Note)?),
            Some(AgentKey { key, socket }) => {
                let public = PublicKey::new(origin, Use::Note, key);
                let public =
                    public.ok_or_else(|| invalid("the key of the ssh-agent is not usable".to_owned()))?;
                NoteKey::Agent { public, socket: socket.clone() }
            }
        };
        let path = path(env);
        make_all(&path)?;
        let dir = folder::enter(CWD, &path, false)?
            .ok_or_else(|| Failure::storage(path.display(), "no longer exists"))?;
        Ok(Self { dir, note, ml_dsa: Some(ml_dsa), old: old.to_vec(), rotation: Rotation::No })
    }

    /// Writes them to their files.
    fn put(&self) -> Result<(), Failure> {
        if !self.old.is_empty() {
            replace_private_in(&self.dir, OLD, lines(&self.old).as_bytes())?;
        }
        // The file whose absence would be noticed comes last.
        if let Some(key) = &self.ml_dsa {
            replace_private_in(&self.dir, ML_DSA, format!("{}\n", key.stored()).as_bytes())?;
        }
        replace_private_in(&self.dir, NOTE, self.note.stored().as_bytes())
    }

    pub fn origin(&self) -> String {
        self.note.public().name.clone()
    }

    pub fn note(&self) -> &PublicKey {
        self.note.public()
    }

    pub fn ml_dsa(&self) -> Option<&PublicKey> {
        self.ml_dsa.as_ref().map(SecretKey::public)
    }

    /// The keys that sign now.
    pub fn current(&self) -> Vec<PublicKey> {
        std::iter::once(self.note()).chain(self.ml_dsa()).cloned().collect()
    }

    /// The keys that signed before the last rotation.
    pub fn old(&self) -> &[PublicKey] {
        &self.old
    }

    pub fn signers(&self) -> Signers {
        let current: Vec<String> = self.current().iter().map(ToString::to_string).collect();
        signers(current.iter().map(String::as_str))
    }

    /// Which of the present keys are not the expected ones.
    pub fn strays(&self, expected: &[String]) -> Vec<Stray> {
        let is_expected =
            |key: &PublicKey| signers([key.to_string().as_str()]).iter().all(|one| expected.contains(one));
        let note = (!is_expected(self.note())).then_some(Stray::Another(NOTE));
        let ml_dsa = match self.ml_dsa() {
            Some(key) => (!is_expected(key)).then_some(Stray::Another(ML_DSA)),
            None => (expected.len() > 1).then_some(Stray::Gone(ML_DSA)),
        };
        note.into_iter().chain(ml_dsa).collect()
    }

    /// The keys without the unexpected ones: only expected keys may vouch for others.
    pub fn without(self, strays: &[Stray]) -> Option<Self> {
        let is_stray = |name| strays.contains(&Stray::Another(name));
        let ml_dsa = self.ml_dsa.filter(|_| !is_stray(ML_DSA));
        (!is_stray(NOTE)).then_some(Self { ml_dsa, ..self })
    }

    pub fn known(&self) -> Vec<PublicKey> {
        [self.current(), self.old.clone()].concat()
    }

    /// Signs with all present keys.
    pub fn sign(&self, text: &str) -> Result<Vec<Signature>, Failure> {
        let ml_dsa = self.ml_dsa.as_ref().and_then(|key| key.sign(text, 0));
        Ok(self.note.sign(text)?.into_iter().chain(ml_dsa).collect())
    }

    /// `None`: it was lost, or the key has just been made.
    pub fn sealed(&self) -> Result<Option<Sealed>, Failure> {
        sealed_in(&self.dir)
    }

    /// Writes the next state. It takes effect with `turn_over`, which must wait until this file is on the
    /// disk.
    pub fn prepare(&self, sealed: &Sealed) -> Result<File, Failure> {
        let (row, rows) =
            sealed.rows.split_last().map_or((String::new(), &[][..]), |(row, rows)| (row.clone(), rows));
        let stored = StoredSeal {
            epoch: sealed.key.epoch,
            key: base64(sealed.key.bytes()),
            size: sealed.frontier.size(),
            frontier: sealed.frontier.hashes().iter().map(|hash| base64(hash)).collect(),
            row,
            rows: rows.to_vec(),
            signers: Some(self.signers()),
            boot: Some(boot_id()),
        };
        let text = serde_json::to_string(&stored).unwrap_or_default() + "\n";
        let (mut file, _) = folder::open_or_make(&self.dir, SPARE, OFlags::WRONLY)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.set_len(text.len() as u64));
        written.map(|()| file).map_err(|e| Failure::storage(SEAL, e))
    }

    /// Puts the prepared state in force; the previous key is overwritten.
    pub fn turn_over(&self) -> Result<(), Failure> {
        let storage = |e: std::io::Error| Failure::storage(SEAL, e);
        folder::exchange(&self.dir, SPARE, SEAL).map_err(|e| storage(e.into()))?;
        let Some((mut old, long)) = folder::open(&self.dir, SPARE, OFlags::WRONLY)? else { return Ok(()) };
        old.write_all(&vec![b' '; usize::try_from(long).unwrap_or(0)]).map_err(storage)
    }
}

/// Moves the keys to the folder of the log that they signed, without their secrets. Files that cannot be read
/// are moved unchanged.
pub fn give_up(env: &Env, log: &Path) -> Result<(), Failure> {
    let path = path(env);
    let storage = |e| Failure::storage(path.display(), e);
    if let Ok(Some(keys)) = Keys::open(env) {
        replace_private(&log.join(OLD), lines(&keys.known()).as_bytes()).map_err(storage)?;
    }
    for name in [NOTE, ML_DSA, SEAL, SPARE, OLD, NEXT] {
        let at = path.join(name);
        let done = match at.symlink_metadata() {
            Ok(meta) if meta.is_file() => std::fs::remove_file(at),
            Ok(_) => std::fs::rename(at, log.join(format!("odd-{}", name.trim_start_matches('.')))),
            Err(error) => Err(error),
        };
        done.or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(storage(e)) })?;
    }
    Ok(())
}

/// The keys that signed before the last rotation, even if the present ones are gone.
pub fn retired(env: &Env) -> Result<Vec<PublicKey>, Failure> {
    folder::enter(CWD, path(env), false)?.map_or(Ok(Vec::new()), |dir| retired_in(&dir))
}

fn retired_in(dir: &OwnedFd) -> Result<Vec<PublicKey>, Failure> {
    let old = read(dir, OLD)?.unwrap_or_default();
    old.lines().map(PublicKey::parse).collect::<Result<_, _>>().map_err(|_| broken(OLD))
}

fn sealed_in(dir: &OwnedFd) -> Result<Option<Sealed>, Failure> {
    let Some(text) = read(dir, SEAL)? else { return Ok(None) };
    let stored: StoredSeal = serde_json::from_str(&text).map_err(|_| broken(SEAL))?;
    let frontier: Option<Vec<Hash>> = stored.frontier.iter().map(|text| hash(text)).collect();
    let frontier =
        frontier.and_then(|hashes| Frontier::of(stored.size, hashes)).ok_or_else(|| broken(SEAL))?;
    let key = SealKey::new(stored.epoch, hash(&stored.key).ok_or_else(|| broken(SEAL))?);
    let row = Some(stored.row).filter(|row| !row.is_empty());
    let rows = stored.rows.into_iter().chain(row).collect();
    Ok(Some(Sealed { key, frontier, rows, signers: stored.signers, boot: stored.boot }))
}

/// One key per line.
fn lines(keys: &[PublicKey]) -> String {
    let lines: Vec<String> = keys.iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n"
}

fn read(dir: &OwnedFd, name: &str) -> Result<Option<String>, Failure> {
    let Some((file, long)) = folder::open(dir, name, OFlags::RDONLY)? else { return Ok(None) };
    limits::keep_secrets();
    let bytes = folder::read_at(&file, name, 0, long.min(1 << 20))?;
    String::from_utf8(bytes).map(Some).map_err(|_| broken(name))
}
