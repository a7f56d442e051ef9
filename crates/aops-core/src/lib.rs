//! What `aops-hook` runs at every event of a coding agent.
//!
//! The client runs this program at every hook event. [`hook`] is the way of one event: [`host::claude::wire`]
//! reads it, [`ledger`] locks the session, [`observe`] looks at the world, [`gate`] judges, [`briefing`] adds
//! what the model needs to know, the ledger records, and the wire answers. Everything a person asks later is
//! derived from the ledger, by the commands in the package `aops-hook`.
//!
//! One line per folder, in reading order. **A folder may use only folders declared above it, and inside a
//! folder a file may use only files declared above it.** A test reads every list. `docs/architecture.md` has
//! the picture.
//!
//! # Glossary
//!
//! - **event**: what the client sent once. A **call** is the tool call in it.
//! - **ledger**: the chained list of **entries** of one session, each holding one **fact**. The **session**
//!   is those entries folded into a state. A **head** is the newest digest of a ledger, kept outside of it.
//! - **gate**: one named rule. Its **ruling** is `Pass < Allow < Ask < Defer < Deny`. A **verdict** is the
//!   joined ruling of all gates, with reason and context. An **error** means that aops-hook itself is broken;
//!   it is never a ruling.
//! - **checkpoint**: a working tree kept where a phase began or ended. A **rollback** puts it back.
//! - **text**: a file that we ship and a project may override: agents, axioms, templates, workflows.
//! - **policy**: the effective configuration. With the digests of the texts **in force** it has one hash.
//! - **run**: a chain of steps that a **driver** walks without a person. It leaves a **packet** where it
//!   pauses and where it ends, and a line in the **attempt ledger** for everything it did.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test is a story, told in one go"))]

pub mod text; // json, sha256, redact, time, template, yaml: pure
pub mod model; // errors, events, calls, agents, verdicts: pure
pub mod tool; // what a tool call does and touches: pure
pub mod system; // environment, clock, processes, files, locks, git
pub mod config; // policy, workflows, texts, and which are in force
pub mod session; // facts folded into one state: pure
pub mod host; // the clients: what each sends, wants to hear, and stores
pub mod ledger; // the chain of entries on disk
pub mod proof; // the log over all sessions, signed and sealed
pub mod gate; // the rules that judge an event: pure
pub mod checkpoint; // a working tree kept, and put back
pub mod undo; // what a command would have lost, kept and brought back
pub mod insight; // what a session came to
pub mod jail; // shell commands in namespaces of their own
pub mod observe; // what the gates need to know of the world
pub mod briefing; // what the model is told
pub mod hook; // one event in, one answer out
