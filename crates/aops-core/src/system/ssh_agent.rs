//! Signs with an Ed25519 key of an ssh-agent, which may keep it in hardware.
//!
//! Speaks the agent's protocol on a Unix socket. Invariants: every answer is awaited for a limited time; only
//! public keys and signatures are ever read.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An agent that asks a person, or waits for a touch, takes longer; the end of the next turn tries again.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_ANSWER: u32 = 256 << 10;
const LIST: u8 = 11;
const LISTED: u8 = 12;
const SIGN: u8 = 13;
const SIGNED: u8 = 14;
const ED25519: &[u8] = b"ssh-ed25519";

/// One Ed25519 key of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub key: [u8; 32],
    pub comment: String,
}

impl Identity {
    /// The key in the agent's own encoding.
    pub fn blob(key: &[u8]) -> Vec<u8> {
        [string(ED25519), string(key)].concat()
    }
}

/// The agent's socket according to the environment.
#[expect(clippy::disallowed_methods, reason = "asked for where an agent signs, never for a tool's call")]
pub fn socket() -> Option<PathBuf> {
    std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The Ed25519 keys that the agent offers.
pub fn list(socket: &Path) -> io::Result<Vec<Identity>> {
    let answer = ask(socket, &[LIST], LISTED)?;
    let mut rest = &answer[..];
    let mut found = Vec::new();
    for _ in 0..number(&mut rest).ok_or_else(odd)? {
        let (blob, comment) = take(&mut rest).zip(take(&mut rest)).ok_or_else(odd)?;
        if let Some(key) = unwrap(blob).and_then(|key| key.try_into().ok()) {
            found.push(Identity { key, comment: String::from_utf8_lossy(comment).into_owned() });
        }
    }
    Ok(found)
}

/// The plain Ed25519 signature of the text.
pub fn sign(socket: &Path, key: &[u8], text: &[u8]) -> io::Result<Vec<u8>> {
    let request = [&[SIGN], &string(&Identity::blob(key))[..], &string(text), &[0; 4]].concat();
    let answer = ask(socket, &request, SIGNED)?;
    let signature = take(&mut &answer[..]).and_then(unwrap).ok_or_else(odd)?;
    Ok(signature.to_vec())
}

fn ask(socket: &Path, request: &[u8], wanted: u8) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&string(request))?;
    let mut long = [0; 4];
    let mut kind = [0];
    stream.read_exact(&mut long)?;
    stream.read_exact(&mut kind)?;
    let long = u32::from_be_bytes(long);
    if kind[0] != wanted || long == 0 || long > LONGEST_ANSWER {
        return Err(io::Error::other("the ssh-agent refused"));
    }
    let mut answer = vec![0; long as usize - 1];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the ssh-agent's answer cannot be read")
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let long = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&long.to_be_bytes(), bytes].concat()
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_be_bytes(*number))
}

fn take<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let long = number(rest)? as usize;
    let (taken, after) = rest.split_at_checked(long)?;
    *rest = after;
    Some(taken)
}

/// The content after the name `ssh-ed25519`: a key or a signature.
fn unwrap(mut blob: &[u8]) -> Option<&[u8]> {
    take(&mut blob).filter(|kind| *kind == ED25519)?;
    take(&mut blob).filter(|_| blob.is_empty())
}
