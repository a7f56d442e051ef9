//! Where git reads the user's configuration.
//!
//! Reads the environment and looks at files.

use crate::system::env::path;
use std::path::PathBuf;

#[derive(Debug)]
pub(super) struct UserGit {
    pub(super) home: Option<PathBuf>,
    /// The files of configuration, whether or not they are there. What an earlier one sets counts.
    pub(super) files: Vec<PathBuf>,
    /// The list of ignored files if no configuration names another.
    pub(super) ignore_list: Option<PathBuf>,
}

impl UserGit {
    pub(super) fn find() -> Self {
        let home = path("HOME");
        let settings = path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let below = |folder: &Option<PathBuf>, name: &str| folder.as_ref().map(|folder| folder.join(name));
        let own = [below(&home, ".gitconfig"), below(&settings, "git/config")].into_iter().flatten();
        let machine = path("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
        let files = path("GIT_CONFIG_GLOBAL").into_iter().chain(own).chain([machine]).collect();
        Self { ignore_list: below(&settings, "git/ignore"), files, home }
    }

    /// Something else than a file lies where git reads: it would be waited for.
    pub(super) fn is_odd(&self) -> bool {
        let mut places = self.files.iter().chain(&self.ignore_list);
        places.any(|place| place.metadata().is_ok_and(|about| !about.is_file()))
    }
}
