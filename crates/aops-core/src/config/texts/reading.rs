//! One view of the settings of administrator, user and project, for the duration of one event.
//!
//! Reads the bundle and files through `open`, each when it is first needed. Invariant: no file is read twice,
//! so that the same bytes decide the whole event, however long it takes and whoever asks.

use super::open::{Bounds, project, read_text};
use super::{Library, Texts};
use crate::config::bundle::{self, Bundle};
use crate::config::policy::{Origins, Policy};
use crate::config::problem::Problem;
use crate::system::env::Env;
use crate::system::files;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A file's text, `None` if it does not exist, or why it cannot be read.
type FileText = Result<Option<String>, String>;

/// The policy of the configuration files and the bundle, or what is wrong with them.
pub(in crate::config) type FilesPolicy = Result<(Policy, Origins), Vec<Problem>>;

/// It also dereferences to the environment: functions that need no more take `&Env`.
#[derive(Debug)]
pub struct Reading<'a> {
    env: &'a Env,
    cwd: &'a Path,
    root: OnceCell<PathBuf>,
    bundle: OnceCell<Result<Option<Bundle>, Problem>>,
    files: RefCell<BTreeMap<PathBuf, FileText>>,
    /// Files of a repository that are inspected but are not part of the configuration.
    brought: RefCell<BTreeMap<PathBuf, Option<String>>>,
    pub(super) texts: OnceCell<Texts>,
    pub(super) library: OnceCell<Library>,
    pub(in crate::config) digests: OnceCell<BTreeMap<String, String>>,
    /// Boxed, since most events do not need it and a policy is large.
    pub(in crate::config) policy: OnceCell<Box<FilesPolicy>>,
}

impl<'a> Reading<'a> {
    /// For events in this folder.
    pub fn new(env: &'a Env, cwd: &'a Path) -> Self {
        Self {
            env,
            cwd,
            root: OnceCell::new(),
            bundle: OnceCell::new(),
            files: RefCell::default(),
            brought: RefCell::default(),
            texts: OnceCell::new(),
            library: OnceCell::new(),
            digests: OnceCell::new(),
            policy: OnceCell::new(),
        }
    }

    /// For a project whose root is known.
    pub fn of_project(env: &'a Env, root: &'a Path) -> Self {
        Self { root: root.to_owned().into(), ..Self::new(env, root) }
    }

    pub fn root(&self) -> &Path {
        self.root.get_or_init(|| project(self.env, self.cwd))
    }

    /// The administrator's bundle, if there is one.
    pub fn bundle(&self) -> Result<Option<&Bundle>, Problem> {
        let read = || bundle::installed(self.env).map(|found| found.map(|(bundle, _)| bundle));
        self.bundle.get_or_init(read).as_ref().map(Option::as_ref).map_err(Problem::clone)
    }

    /// See [`read_text`].
    pub(in crate::config) fn text(&self, path: &Path, within: Option<&Path>) -> FileText {
        if let Some(known) = self.files.borrow().get(path) {
            return known.clone();
        }
        let read = read_text(path, within.map(|project| Bounds::of(self.env, project)));
        self.files.borrow_mut().insert(path.to_owned(), read.clone());
        read
    }

    /// See [`files::read_short`].
    pub fn short(&self, path: &Path) -> Option<String> {
        if let Some(known) = self.brought.borrow().get(path) {
            return known.clone();
        }
        let read = files::read_short(path);
        self.brought.borrow_mut().insert(path.to_owned(), read.clone());
        read
    }
}

impl Deref for Reading<'_> {
    type Target = Env;

    fn deref(&self) -> &Env {
        self.env
    }
}
