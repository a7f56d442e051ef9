//! `[[project]]`: the mode that a user chose for a folder and those below it.
//!
//! Reads nothing, writes nothing.

use super::key::EntryField;
use super::value::Form;
use super::{ModeLevel, glob};

pub static PARTS: &[EntryField] = &[
    EntryField { name: "path", form: Form::Text, needed: true, about: "a folder: `/…`, or `~/…` below your home" },
    EntryField { name: "mode", form: Form::OneOf(ModeLevel::WORDS), needed: true, about: "the mode there" },
];

/// The folder that a policy is read for.
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
