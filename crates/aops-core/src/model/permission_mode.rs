//! What the client does with a call that needs a person's word.

use crate::model::named::named;

named! {
    pub enum PermissionMode {
        Default = "default",
        AcceptEdits = "acceptEdits",
        Plan = "plan",
        Auto = "auto",
        DontAsk = "dontAsk",
        BypassPermissions = "bypassPermissions",
    }
}

impl PermissionMode {
    /// The client draws a dialog for a call that no rule of the person allows.
    pub fn draws_dialogs(self) -> bool {
        matches!(self, Self::Default | Self::AcceptEdits)
    }

    /// A person who is there can be asked: the client does not decide in their place.
    pub fn leaves_questions(self) -> bool {
        self.draws_dialogs() || self == Self::Plan
    }
}
