//! Asks witnesses to sign the newest checkpoint, with the protocol C2SP `tlog-witness`. The caller brings the
//! connection.
//!
//! Reads the log, writes the cosigned checkpoint. Invariants: nothing but checkpoint and hashes leaves the
//! machine; if a witness has seen more than we have, the person is told, since our log was then rolled back.

use super::check::{TROUBLE, Trust, WITNESSED, count_witnesses};
use super::store::Store;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::replace_private;
use crate::text::sha256::sha256;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::key::Signature;
use aops_proof::note::Note;
use aops_proof::tree::{consistency, leaf_hash};
use aops_proof::whole::Whole;
use aops_proof::witness::Request;
use std::fs;

/// Sends a body to an address. Returns status and answer, or why there is none.
pub type Post<'a> = &'a mut dyn FnMut(&str, &str) -> Result<(u16, String), String>;

/// The newest checkpoint, and the answers that it gets.
struct Question<'a> {
    store: &'a Store,
    head: Checkpoint,
    note: Note,
    tree: Whole,
}

/// Asks each of these. `Ok(true)`: enough of them have signed the newest checkpoint.
pub fn ask(env: &Env, urls: &[String], trust: &Trust, post: Post) -> Result<bool, Failure> {
    let Some(store) = Store::look(env)? else { return Ok(false) };
    let Some((head, note)) = store.checkpoint()? else { return Ok(false) };
    let leaves = store.leaves(0, head.size)?;
    // Unlocked, so that a process that signs a turn need not wait.
    let store = store.unlocked();
    let known = store.text(WITNESSED)?.and_then(|text| Note::parse(&text).ok());
    let has = |note: &Note| note.signers(&trust.witnesses).map_or(0, |signers| count_witnesses(&signers));
    if known.as_ref().is_some_and(|known| known.text == note.text && has(known) >= trust.quorum.max(1)) {
        return Ok(true);
    }
    let tree = Whole::new(leaves.iter().map(|leaf| leaf_hash(&leaf.0)).collect());
    let question = Question { store: &store, head, note, tree };
    let mut cosigned = question.note.clone();
    let mut troubles = Vec::new();
    for url in urls {
        match question.ask_one(url, trust, post) {
            Ok(lines) => add(&mut cosigned, lines),
            Err(trouble) => troubles.push(format!("{url}: {trouble}")),
        }
    }
    let enough = has(&cosigned) >= trust.quorum.max(1);
    if enough {
        keep(&store, WITNESSED, &cosigned.to_string())?;
    }
    keep(&store, TROUBLE, &troubles.join("; "))?;
    Ok(enough)
}

/// One witness may answer at two addresses, but counts once.
fn add(note: &mut Note, lines: Vec<Signature>) {
    for line in lines {
        if !note.signatures.iter().any(|known| (&known.name, known.id) == (&line.name, line.id)) {
            note.signatures.push(line);
        }
    }
}

fn keep(store: &Store, name: &str, text: &str) -> Result<(), Failure> {
    let path = store.file(name);
    if text.is_empty() {
        let _ = fs::remove_file(path);
        return Ok(());
    }
    replace_private(&path, text.as_bytes()).map_err(|e| Failure::storage(path.display(), e))
}

impl Question<'_> {
    /// The signatures of one witness. If we do not know which checkpoint it saw last, it says so itself.
    fn ask_one(&self, url: &str, trust: &Trust, post: Post) -> Result<Vec<Signature>, String> {
        let seen = format!("{WITNESSED}-{}", &sha256(&[url.as_bytes()])[..16]);
        let known = self.store.text(&seen).ok().flatten().and_then(|text| text.parse().ok());
        let mut old: u64 = known.filter(|old| *old <= self.head.size).unwrap_or(0);
        let address = format!("{}/add-checkpoint", url.trim_end_matches('/'));
        for _ in 0..3 {
            let path = consistency(&self.tree, old, self.head.size)?.unwrap_or_default();
            let body = Request { old, path, note: self.note.clone() }.to_string();
            let (status, said) = post(&address, &body)?;
            match (status, said.trim().parse::<u64>()) {
                (200, _) => {
                    keep(self.store, &seen, &self.head.size.to_string())
                        .map_err(|failure| failure.to_string())?;
                    return self.accepted(&said, trust);
                }
                (409, Ok(size)) if size > self.head.size => {
                    return Err(format!(
                        "it has seen {size} leaves, the log has {}: the log was put back from a copy",
                        self.head.size
                    ));
                }
                (409, Ok(size)) => old = size,
                (422, _) => return Err("it has seen another history of this log".to_owned()),
                (404, _) => {
                    return Err(
                        "it does not know this log: give it the key that `aops-hook key show` prints"
                            .to_owned(),
                    );
                }
                (status, _) => return Err(format!("it answered {status}: {}", said.trim())),
            }
        }
        Err("it always knows another size".to_owned())
    }

    fn accepted(&self, said: &str, trust: &Trust) -> Result<Vec<Signature>, String> {
        let lines: Vec<Signature> = said.lines().filter_map(Signature::parse).collect();
        let note = Note { text: self.note.text.clone(), signatures: lines.clone() };
        match note.signers(&trust.witnesses) {
            Ok(signers) if !signers.is_empty() => Ok(lines),
            Ok(_) => Err("it signed with a key that `witness.key` does not have".to_owned()),
            Err(why) => Err(why),
        }
    }
}
