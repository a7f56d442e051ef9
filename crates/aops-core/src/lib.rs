//! What `aops-hook` runs at every event of a coding agent.
//!
//! The client runs this program at every hook event. [`hook`] is the path of one event:
//! [`host::claude::wire`] parses it, [`ledger`] locks the session, [`observe`] looks at the world, [`gate`]
//! judges, [`briefing`] adds what the model needs to know, the ledger records, and the wire answers.
//! Everything that a person asks later is derived from the ledger, by the commands in the package
//! `aops-hook`.
//!
//! One line per folder, in reading order. **A folder may use only folders declared above it, and inside a
//! folder a file may use only files declared above it.** A test checks every list. `docs/architecture.md`
//! shows the picture.
//!
//! # Glossary
//!
//! - **event**: one message from the client. A **call** is the tool call in it.
//! - **ledger**: the chained list of **entries** of one session, each with one **fact**. The **session** is
//!   the state that results from folding these entries. A **head** is the newest digest of a ledger, stored
//!   outside of it.
//! - **gate**: one named rule. Its **ruling** is `Pass < Allow < Ask < Defer < Deny`. A **verdict** is the
//!   joined ruling of all gates, with reason and context. An **error** means that aops-hook itself failed; it
//!   is never a ruling.
//! - **checkpoint**: a copy of a working tree from the beginning or end of a phase. A **rollback** restores
//!   it.
//! - **text**: a file that we ship and a project may override: agents, axioms, templates, workflows.
//! - **policy**: the effective configuration. With the digests of the texts **in force** it has one hash.
//! - **run**: a chain of steps that a **driver** executes without a person. It leaves a **packet** when it
//!   pauses and when it ends, and a line in the **attempt ledger** for everything it did.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test is a story, told in one go"))]

pub mod text; // json, sha256, redact, time, template, yaml: pure
pub mod model; // errors, events, calls, agents, verdicts: pure
pub mod tool; // what a tool call does and touches: pure
pub mod system; // environment, clock, processes, files, locks, git
pub mod config; // policy, workflows, texts, and which are in force
pub mod session; // facts folded into one state: pure
pub mod host; // the clients: what each sends, expects as an answer, and stores
pub mod ledger; // the chain of entries on disk
pub mod proof; // the log over all sessions, signed and sealed
pub mod gate; // the rules that judge an event: pure
pub mod checkpoint; // checkpoints of a working tree, and rollbacks
pub mod undo; // what a command would have lost: kept, and restored on request
pub mod insight; // the insights of a session
pub mod jail; // shell commands in namespaces of their own
pub mod observe; // what the gates need to know about the world
pub mod briefing; // what the model is told
pub mod hook; // one event in, one answer out
