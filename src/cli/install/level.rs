//! The settings files in which hooks can be registered.
//!
//! Reads the folders of `Env`. The project's file is below the working directory, not git's root: the client looks only
//! where it was started.

use crate::system::env::Env;
use clap::{Arg, ArgAction, ArgMatches};
use std::path::PathBuf;

/// Which settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    User,
    Project,
    Local,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::User, Level::Project, Level::Local];

    pub fn name(self) -> &'static str {
        match self {
            Level::User => "user",
            Level::Project => "project",
            Level::Local => "local",
        }
    }

    pub fn path(self, env: &Env) -> PathBuf {
        match self {
            Level::User => env.config.join("settings.json"),
            Level::Project => env.from_here(".claude/settings.json".as_ref()),
            Level::Local => env.from_here(".claude/settings.local.json".as_ref()),
        }
    }

    /// The level asked for; the user's if none.
    pub fn given(given: &ArgMatches) -> Self {
        Self::ALL.into_iter().find(|level| given.get_flag(level.name())).unwrap_or(Level::User)
    }

    /// The options `--user`, `--project`, `--local`, one at most.
    pub fn arguments(row: clap::Command) -> clap::Command {
        let help = [
            "Settings of this user (default)",
            "`.claude/settings.json` of this folder, shared with others",
            "`.claude/settings.local.json` of this folder, yours alone",
        ];
        let options = Self::ALL
            .into_iter()
            .zip(help)
            .map(|(level, help)| Arg::new(level.name()).long(level.name()).action(ArgAction::SetTrue).help(help));
        row.args(options).group(clap::ArgGroup::new("level").args(Self::ALL.map(Level::name)))
    }
}
