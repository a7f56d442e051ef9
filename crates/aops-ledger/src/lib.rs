//! A tamper-evident ledger in one text file.
//!
//! Each line is canonical JSON ([RFC 8785](https://www.rfc-editor.org/rfc/rfc8785)), contains the SHA-256 of
//! the line before it, and is itself sealed by a SHA-256. A reader needs no JSON parser to check a chain, and
//! `jq` still works. The caller decides what the entries mean: a [`chain::Walk`] is generic over the
//! [`chain::Fold`] to which they are applied.
//!
//! ```
//! use aops_ledger::chain::{Fold, Walk};
//! use aops_ledger::entry::{Frame, Line, Mark};
//! use aops_ledger::failure::Kind;
//! use aops_ledger::page::Page;
//! use aops_ledger::sha256::{NO_DIGEST, sha256};
//! use aops_ledger::stored::write_canonical;
//!
//! /// Counts entries.
//! struct Count(u64, String);
//!
//! impl Fold for Count {
//!     type Fact = ();
//!     fn read(kind: &str, _with: &str) -> Option<()> {
//!         (kind == "tick").then_some(())
//!     }
//!     fn tip(&self) -> (u64, &str) {
//!         (self.0, &self.1)
//!     }
//!     fn apply(&mut self, _trace: &str, line: &Line, _fact: &()) -> Result<(), Kind> {
//!         *self = Count(self.0 + 1, line.digest.to_owned());
//!         Ok(())
//!     }
//!     fn write_state(&self, to: &mut Page) {
//!         write_canonical(&self.0, to);
//!     }
//! }
//!
//! // One entry. Its mark commits it, and says what the state is afterwards.
//! let state = sha256(&[b"1"]);
//! let memory = sha256(&[]); // this fold remembers nothing else
//! let mark = Some(Mark { state: &state, memory: &memory });
//! let ts = "2026-01-13T10:00:00Z";
//! let frame = Frame { prev: NO_DIGEST, seq: 1, mark, trace_id: "job-7", ts, kind: "tick", with: "{}" };
//! let (line, _digest) = frame.write();
//!
//! let mut walk = Walk::new(Count(0, NO_DIGEST.to_owned()), "job-7", 0);
//! assert_eq!(walk.feed(line.as_bytes()), Ok(line.len()));
//! assert_eq!(walk.folded.0, 1);
//!
//! // Any change is seen.
//! let mut walk = Walk::new(Count(0, NO_DIGEST.to_owned()), "job-7", 0);
//! let changed = line.replace("tick", "tock");
//! assert_eq!(walk.feed(changed.as_bytes()).unwrap_err().kind, Kind::ChecksumMismatch);
//! ```
//!
//! In reading order; a module uses only modules declared above it.

pub mod names; // enums with the names of their variants
pub mod failure; // what can go wrong
pub mod sha256; // digests as hex
pub mod page; // a buffer that is rewritten again and again
pub mod json; // JSON from outside: borrowed values, canonical form
pub mod stored; // canonical form of serde types
pub mod spelling; // whether a text is its own canonical form
pub mod entry; // one line
pub mod chain; // many lines, checked and folded
pub mod folder; // files below an open folder
pub mod lock; // flock with a timeout
pub mod index; // the newest line of each key
pub mod heads; // the newest digest of every ledger
