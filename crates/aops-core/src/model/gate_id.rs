//! Who speaks in an answer: the gates, and the parts of the program that only tell something. Stored by name.

use crate::model::named::named;

named! {
    /// In the order of `GATES` as far as there is a row; behind it what only has a level, and what only
    /// tells.
    #[derive(PartialOrd, Ord)]
    pub enum GateId {
        Block = "block",
        Guard = "guard",
        Repeat = "repeat",
        Rules = "rules",
        Jail = "jail",
        Danger = "danger",
        Lease = "lease",
        Sandbox = "sandbox",
        Audit = "audit",
        Checks = "checks",
        Report = "report",
        Owed = "owed",
        Unfinished = "unfinished",
        Critic = "critic",
        Qa = "qa",
        Reflect = "reflect",
        /// Commit and push together.
        Close = "close",
        Commit = "commit",
        Push = "push",
        /// Asked for by two gates, so it is counted as its own.
        Format = "format",
        /// The driver of a run settled the call.
        Run = "run",
        Hydrate = "hydrate",
        Checkpoint = "checkpoint",
        Rollback = "rollback",
        Insights = "insights",
        Mode = "mode",
        /// Answers in the person's place.
        Quiet = "quiet",
        Workflow = "workflow",
        Log = "log",
        /// The program itself broke.
        Failure = "failure",
    }
}

impl GateId {
    /// A person can waive it for a while; a prompt that begins with a dot waives all of these.
    pub const WAIVABLE: [Self; 9] = [
        Self::Sandbox,
        Self::Audit,
        Self::Checks,
        Self::Qa,
        Self::Reflect,
        Self::Close,
        Self::Commit,
        Self::Push,
        Self::Lease,
    ];
}
