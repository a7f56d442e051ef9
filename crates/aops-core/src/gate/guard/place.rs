//! A protected place, and what the disk says about protected places.

/// What the disk says about the places.
#[derive(Clone, Debug, Default)]
pub struct PlacesOnDisk {
    /// Those with another real path, under that path.
    pub real: Vec<ProtectedPlace>,
    /// Those that exist; `None` if that was not looked up, so that any of them may exist.
    pub standing: Option<Vec<String>>,
}

/// One protected file or folder with a fixed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPlace {
    pub path: String,
    pub what: &'static str,
    /// Everything below it is protected, too.
    pub tree: bool,
    /// It lies in the project's own folder.
    pub in_project: bool,
}
