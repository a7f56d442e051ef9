//! Checkpoints: a working tree captured at a phase change, and restored by a rollback.
//!
//! `tree` and `form` are the content of a checkpoint, `store` is its place on disk, `capture` reads a tree
//! into the store, `restore` writes it back, `rollback` joins them with the ledgers.

pub mod tree;
pub mod form;
pub mod store;
pub mod capture;
pub mod restore;
pub mod rollback;
