//! The user's log over all sessions: a Merkle tree of the digests of entries, with a signed and sealed head.
//!
//! Only this folder reads `<config>/aops/keys` and writes `<config>/aops/log`. The formats are defined in
//! `aops-proof`; `docs/proof.md` says what is proven against whom. Invariants: an entry is on the disk before
//! its leaf is, and the leaf before a signature covers it; leaves are never removed, so no two checkpoints
//! contradict each other; no tool call waits for any of this.

pub mod keys;
pub mod store;
pub mod record;
pub mod unheld;
pub mod append;
pub mod remembered;
pub mod life;
pub mod check;
pub mod tier;
pub mod judge;
pub mod health;
pub mod trust;
pub mod prove;
pub mod ask;
pub mod serve;
pub mod notes;
