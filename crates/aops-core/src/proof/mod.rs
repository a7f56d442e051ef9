//! The log of this user over all sessions: a Merkle tree of the digests of entries, its head signed and
//! sealed.
//!
//! Only this folder reads `<config>/aops/keys` and writes `<config>/aops/log`. The forms are `aops-proof`'s;
//! what is proven against whom is in `docs/proof.md`. Invariants: an entry is on the disk before its leaf is,
//! and the leaf before a signature covers it; leaves are never removed, so no two checkpoints contradict each
//! other; no call for a tool waits for any of this.

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
