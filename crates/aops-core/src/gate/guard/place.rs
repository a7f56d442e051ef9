//! A place that is protected, and what the disk says of such places.

/// What the disk says of those places.
#[derive(Clone, Debug, Default)]
pub struct PlacesOnDisk {
    /// Those that it has another name for, under that.
    pub real: Vec<ProtectedPlace>,
    /// Those that exist; `None` if that was not looked up, and then all may.
    pub standing: Option<Vec<String>>,
}

/// One protected file or folder with a fixed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPlace {
    pub path: String,
    pub what: &'static str,
    /// Everything below it is protected too.
    pub tree: bool,
    /// It lies in the project's own folder.
    pub in_project: bool,
}
