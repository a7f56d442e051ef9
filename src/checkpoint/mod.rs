//! Checkpoints: a working tree kept at a phase change, and put back by a rollback.
//!
//! `form` and `tree` are what a checkpoint says, `store` is where it is kept, `capture` and `restore` are the two ways
//! between store and tree, `rollback` joins them with the ledgers.

pub mod tree;
pub mod form;
pub mod store;
pub mod capture;
pub mod restore;
pub mod rollback;
