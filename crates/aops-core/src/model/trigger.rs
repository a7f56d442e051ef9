//! Why a checkpoint was taken. Stored by name.

use crate::model::named::named;

named! {
    pub enum CheckpointTrigger {
        /// A task is about to make its first change.
        Start = "start",
        /// Git brought commits into the tree: from now on the task is compared with this checkpoint.
        Moved = "moved",
        /// A person is asked about a call: whatever they answer, the tree can be restored.
        Asked = "asked",
        Phase = "phase",
        Approval = "approval",
        Failure = "failure",
        /// A step of a run begins, or has passed.
        Run = "run",
        Pause = "pause",
        ByHand = "by hand",
        BeforeRollback = "before a rollback",
        /// Somebody changed the tree before an interrupted rollback was finished.
        Interrupted = "changed while a rollback was interrupted",
        Rollback = "rollback",
    }
}
