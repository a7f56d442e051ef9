//! Which linker a release is linked by.

use std::ffi::OsStr;
use std::path::Path;

/// Whether there is GNU's linker: where the C compiler says it is (a bare name means that it knows of none),
/// or on `PATH`.
pub(crate) fn has_gnu_linker(told: &str, path: Option<&OsStr>) -> bool {
    let told = Path::new(told.trim());
    let named = told.is_absolute() && told.is_file();
    named
        || path.is_some_and(|path| std::env::split_paths(path).any(|folder| folder.join("ld.bfd").is_file()))
}
