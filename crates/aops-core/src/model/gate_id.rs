//! Who speaks in an answer: the gates, and the parts of the program that only report something. Stored by
//! name.

use crate::model::named::named;

named! {
    /// In the order of `GATES` for those with a row there; then those that only have a level, and those that
    /// only report.
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
        /// Two gates require it, so it is counted separately.
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
        /// The program itself failed.
        Failure = "failure",
    }
}

impl GateId {
    /// A person can waive each of these for a while; a prompt that begins with a dot waives all of them.
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
