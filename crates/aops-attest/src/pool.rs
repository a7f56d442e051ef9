//! All statements in the notes, each checked once: who signed it, in which log it is, about which repository.
//! Also those that do not count, with the reason, for the commit that they name.

use crate::change::Change;
use crate::code::{Code, Trouble};
use crate::envelope::{ApprovalLine, Envelope, LARGEST_NOTE, Lines, ProofLine, Signed};
use crate::logged::{self, Fault, Trust, Witnessed};
use crate::signers::{Signer, seconds};
use crate::statement::{Annotations, Statement};
use crate::strict::Malformed;
use aops_ledger::sha256::sha256;
use aops_proof::key::PublicKey;
use std::collections::BTreeSet;

/// A statement that counts.
#[derive(Clone, Debug)]
pub struct Attested {
    pub statement: Statement,
    /// SHA-256 of the payload.
    pub digest: String,
    /// Index in the list of trusted signers.
    pub signer: usize,
    pub witnessed: Option<Witnessed>,
    /// The change that the statement lists; `None` if it lists no files.
    pub change: Option<Change>,
    /// The commits whose notes contain it.
    pub noted: Vec<String>,
}

impl Attested {
    /// Our own facts, which every successfully parsed statement has.
    pub fn facts(&self) -> Option<&Annotations> {
        self.statement.session().map(|(_, facts)| facts)
    }

    /// When a witness saw it, or otherwise when the session ended according to the statement.
    pub fn time(&self) -> Option<i64> {
        let told = self.statement.predicate.run_details.metadata.finished_on.as_deref();
        self.witnessed.as_ref().map(|seen| seen.time).or_else(|| seconds(told?))
    }
}

/// A statement that does not count, and what it is about.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The commit that it names; empty if that cannot be read.
    pub commit: String,
    pub change: String,
    pub noted: Vec<String>,
    pub trouble: Trouble,
}

#[derive(Debug, Default)]
pub struct Pool {
    pub attested: Vec<Attested>,
    pub rejected: Vec<Rejected>,
    pub approvals: Vec<ApprovalLine>,
    /// First commits that statements name but that are unknown here. A statement from a shallow clone names
    /// the commit at which that clone was cut.
    pub strange_roots: BTreeSet<String>,
}

/// A note from git.
#[derive(Clone, Debug)]
pub enum Note {
    Text(Vec<u8>),
    /// Larger than `LARGEST_NOTE`, so it was not read.
    TooLarge,
}

/// One envelope, with the commits whose notes contain it.
type Noted = (Envelope, Vec<String>);

/// The context in which statements are judged.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub trust: &'a Trust,
    /// The root commits of this repository, and others that are known to belong to its history.
    pub roots: &'a [String],
    /// Seconds since 1970.
    pub now: i64,
}

impl Pool {
    /// `notes`: commits with their notes; a file given by a person applies to every commit and has no commit
    /// here.
    pub fn read(notes: &[(Option<String>, Note)], around: Around) -> Self {
        let mut pool = Self::default();
        let mut envelopes = Vec::<Noted>::new();
        let mut proofs = Vec::<ProofLine>::new();
        for (commit, note) in notes {
            let of: Vec<String> = commit.iter().cloned().collect();
            let lines = match note {
                Note::Text(text) => Lines::parse(text),
                Note::TooLarge => Err(Malformed(format!("a note has at most {LARGEST_NOTE} bytes"))),
            };
            match lines {
                Ok(lines) => {
                    lines.envelopes.into_iter().for_each(|envelope| envelopes.push((envelope, of.clone())));
                    proofs.extend(lines.proofs);
                    pool.approvals.extend(lines.approvals);
                }
                Err(Malformed(why)) => pool.reject("", "", of, Trouble::new(Code::Form, why)),
            }
        }
        for (envelope, noted) in envelopes {
            pool.add(&envelope, noted, &proofs, around);
        }
        pool
    }

    fn reject(&mut self, commit: &str, change: &str, noted: Vec<String>, trouble: Trouble) {
        self.rejected.push(Rejected { commit: commit.to_owned(), change: change.to_owned(), noted, trouble });
    }

    fn add(&mut self, envelope: &Envelope, noted: Vec<String>, proofs: &[ProofLine], around: Around) {
        let parsed = envelope.text().and_then(|text| Ok((Statement::parse(&text)?, text)));
        let (statement, text) = match parsed {
            Ok(parsed) => parsed,
            Err(Malformed(why)) => return self.reject("", "", noted, Trouble::new(Code::Form, why)),
        };
        let digest = sha256(&[text.as_bytes()]);
        if let Some(known) = self.attested.iter_mut().find(|known| known.digest == digest) {
            known.noted.extend(noted);
            return;
        }
        let found = accept(envelope, &text, around.trust).and_then(|signer| {
            let witnessed = check_log(&statement, &digest, signer, proofs, around.trust)?;
            Ok(Attested {
                change: None,
                statement: statement.clone(),
                digest,
                signer,
                witnessed,
                noted: noted.clone(),
            })
        });
        match found.and_then(|attested| check(attested, around)) {
            Ok(attested) => self.attested.push(attested),
            Err(trouble) => {
                let root = statement.session().map(|(_, facts)| facts.repository.root_commit.clone());
                self.strange_roots.extend(root.filter(|root| !around.roots.contains(root)));
                self.reject(statement.commit(), statement.change(), noted, trouble);
            }
        }
    }
}

/// The signer who vouches for the statement.
fn accept(envelope: &Envelope, text: &str, trust: &Trust) -> Result<usize, Trouble> {
    let keys: Vec<PublicKey> = trust.signers.iter().filter_map(Signer::log_key).cloned().collect();
    match envelope.signer(text, &keys) {
        Signed::By(key) => {
            let place = trust.signers.iter().position(|signer| signer.log_key() == Some(key));
            place.ok_or_else(|| Trouble::new(Code::KeyUnknown, "the key that signed it is not in the list"))
        }
        Signed::Wrong(key) => Err(Trouble::alarm(
            Code::Signature,
            format!("the signature in the name of `{}` is wrong", key.name),
        )),
        Signed::Unknown => Err(Trouble::new(Code::KeyUnknown, "the key that signed it is not in the list")),
    }
}

fn check_log(
    statement: &Statement,
    digest: &str,
    signer: usize,
    proofs: &[ProofLine],
    trust: &Trust,
) -> Result<Option<Witnessed>, Trouble> {
    let Some(key) = trust.signers.get(signer).and_then(Signer::log_key) else { return Ok(None) };
    logged::find(statement, digest, key, proofs.iter(), trust).map_err(|fault| match fault {
        Fault::Missing => Trouble::new(Code::Log, "no proof shows that it is in the log"),
        Fault::Log(why) => Trouble::alarm(Code::Log, why),
        Fault::Witness(why) => Trouble::alarm(Code::Witness, why),
    })
}

/// Checks the key's validity at that time, the repository, and the list of files.
fn check(mut attested: Attested, around: Around) -> Result<Attested, Trouble> {
    let signer = &around.trust.signers[attested.signer];
    let is_over = signer.until.is_some_and(|until| until <= around.now);
    let time = if is_over { attested.witnessed.as_ref().map(|seen| seen.time) } else { attested.time() };
    let is_in_time = match time {
        Some(time) => signer.is_valid_at(time),
        None => !is_over && signer.from.is_none(),
    };
    if !is_in_time {
        let why = format!(
            "the key of `{}` was not valid at that time, or no witness confirms the time",
            signer.owner
        );
        return Err(Trouble::new(Code::KeyUnknown, why));
    }
    let other = || Trouble::new(Code::Subject, "the statement is about another repository");
    let facts = attested.facts().ok_or_else(other)?;
    if !around.roots.contains(&facts.repository.root_commit) {
        return Err(other());
    }
    if let Some(files) = &facts.files {
        let change = Change::of(files, attested.statement.change());
        let odd = || Trouble::new(Code::Form, "the list of files does not match the change");
        attested.change = Some(change.ok_or_else(odd)?);
    }
    Ok(attested)
}
