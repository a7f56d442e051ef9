//! `aops-hook`: the guard and memory of Claude Code.
//!
//! The host runs us at every hook event. One event is one walk down this page: [`wire`] reads it, [`ledger`] locks the
//! session, [`gate`] judges it, the ledger records what was said, and [`wire`] answers. Everything a person asks later
//! ([`command`]) is derived from the ledger.
//!
//! Four floors, in reading order; **a module may name only modules declared above it** (a test reads this list):
//!
//! 1. *Vocabulary*: plain data.
//! 2. *Rules*: pure functions; deciding cannot fail.
//! 3. *Edges*: the only code that touches files, clock, environment, processes and the host's JSON.
//! 4. *Doors*: join the floors, decide nothing.
//!
//! # Glossary
//!
//! An **event** is what the host told us once; a **call** is the tool call in it. The **ledger** is the chained list of
//! **entries** of one session, each holding one **fact**; the **session** is those entries folded into what we know now.
//! A **gate** is one named rule; its **ruling** is `Pass < Allow < Ask < Deny`; a **verdict** is the joined ruling with
//! reason and context. A **head** is the newest digest of a ledger, kept apart from it. A **failure** is us being broken,
//! never a ruling. A **checkpoint** is a working tree kept where a phase began or ended, in the tree's **vault**; a
//! **rollback** puts one back. An **asset** is a shipped text. The **policy** is the effective configuration; with the digests of the
//! texts **in force** it has one hash. A **run** is a chain of steps that a **driver** walks without a person; it leaves
//! **packets** where it pauses and where it ends, and every deed of it is a line of the attempt ledger.

// -- vocabulary
pub mod failure;
pub mod call;
pub mod agent;
pub mod event;
pub mod phrase;
pub mod verdict;
// -- rules
pub mod policy;
pub mod digest;
pub mod redact;
pub mod json;
pub mod prompt;
pub mod finding;
pub mod moment;
pub mod usage;
pub mod price;
pub mod state;
pub mod tree;
pub mod fact;
pub mod entry;
pub mod session;
pub mod checkpoint;
pub mod insight;
pub mod report;
pub mod chain;
pub mod command_line;
pub mod reach;
pub mod effect;
pub mod gate;
pub mod record;
pub mod telling;
pub mod settings;
pub mod diff;
pub mod yaml;
pub mod workflow;
pub mod run;
// -- edges
pub mod env;
pub mod asset;
pub mod signal;
pub mod wire;
pub mod lock;
pub mod place;
pub mod heads;
pub mod ledger;
pub mod shelf;
pub mod disk;
pub mod transcript;
pub mod chronicle;
pub mod in_force;
pub mod vault;
pub mod process;
pub mod tracker;
pub mod notes;
pub mod learning;
pub mod refresh;
pub mod mcp;
pub mod resolve;
pub mod tripwire;
pub mod git;
pub mod check;
pub mod capture;
pub mod restore;
pub mod undo;
pub mod job;
pub mod artifacts;
pub mod client;
pub mod shadow;
pub mod scene;
pub mod sources;
pub mod brief;
pub mod offer;
pub mod welcome;
pub mod receipt;
// -- doors
pub mod hook;
pub mod command;
