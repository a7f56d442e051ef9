//! `[[project]]`: the mode, the danger rules and the hosts that a user chose for a folder and those below it.
//!
//! Reads nothing, writes nothing.

use super::key::EntryField;
use super::value::Form;
use super::{DangerLevel, ModeLevel, glob};

pub static PARTS: &[EntryField] = &[
    EntryField {
        name: "path",
        form: Form::Text,
        needed: true,
        about: "a folder: `/…`, or `~/…` below your home",
    },
    EntryField::optional("mode", Form::OneOf(ModeLevel::WORDS), "the mode there"),
    EntryField::optional(
        "danger",
        Form::Switches(DangerLevel::WORDS),
        "danger rules there, as `git-discard = \"off\"`",
    ),
    EntryField::optional(
        "allow",
        Form::Hosts,
        "hosts that commands may reach there, in addition to `[network] allow`",
    ),
    EntryField::optional(
        "deny",
        Form::Hosts,
        "hosts that they never reach there, even if something else allows them",
    ),
];

/// The folder for which a policy is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folder<'a> {
    pub path: &'a str,
    pub home: &'a str,
}

impl Folder<'_> {
    pub(super) fn is_in(&self, path: &str) -> bool {
        glob::covers(path, self.path, "", self.home)
    }
}
