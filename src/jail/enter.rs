//! What the kernel offers here, and the way into it.
//!
//! Tries in a child process, so this one stays as it is; `enter` changes this process for good.

pub use super::kernel::close_on_exec;
use super::kernel::{in_child, join_empty_keyring, leave};
use super::plan::Ground;
pub use super::prepared::{Reporter, prepare};
use super::{landlock, namespaces, prepared};
use crate::model::profile::{Hold, JailState, Profile};
use std::io::{self, Read, Write};
use std::path::Path;

/// Puts this process into the profile. After an error nothing may be run in it.
pub fn enter(hold: Hold, profile: Profile, ground: &Ground, cwd: &Path) -> Result<Option<Reporter>, String> {
    match hold {
        Hold::Namespaces => prepared::enter(profile, ground, cwd),
        Hold::Landlock => landlock::enter(profile, ground).map(|()| None),
        Hold::Seatbelt => Err("there is no sandbox of macOS here".to_owned()),
        Hold::Words => Ok(None),
    }
}

/// Where no namespace holds a program of ours: it reads everything but the keys, if the kernel can hold that.
pub fn keep_keys(ground: &Ground) -> Result<(), String> {
    landlock::keep_keys(ground)
}

/// The last step before the command.
pub fn lock(hold: Hold, profile: Profile, cwd: &Path) -> Result<(), String> {
    let changes_nothing = profile >= Profile::Read;
    match hold {
        Hold::Namespaces => {
            namespaces::lock(cwd)?;
            if changes_nothing {
                // A superuser has the right to it, and may start programs with more.
                landlock::scope(!rustix::process::geteuid().is_root())?;
            }
        }
        Hold::Landlock if changes_nothing => landlock::scope(true)?,
        _ => {}
    }
    join_empty_keyring().map_err(|error| format!("keyring: {error}"))
}

/// Whether this profile can be entered here, found out by a child; an error where it was disturbed.
pub fn holds(hold: Hold, profile: Profile, ground: &Ground) -> Result<bool, String> {
    try_out(hold, profile, ground).map(|tried| tried.is_ok())
}

/// An answer, or why there is none: another process of the user may kill the child, or take it every file number. Such a
/// command must not run as if nothing could hold it.
type Tried = Result<Result<(), String>, String>;

fn try_out(hold: Hold, profile: Profile, ground: &Ground) -> Tried {
    if profile == Profile::Trial
        && let Some(why) = foreign_owner(ground)
    {
        return Ok(Err(why));
    }
    answer_of_child(|| {
        enter(hold, profile, ground, &ground.project)?;
        lock(hold, profile, &ground.project)
    })
}

/// Each means by name, and whether it holds for this project.
pub fn what_each(ground: &Ground) -> Vec<(&'static str, Result<(), String>)> {
    let held = |hold, profile| try_out(hold, profile, ground).flatten();
    vec![
        ("namespaces", held(Hold::Namespaces, Profile::Work)),
        ("throwaway layers", held(Hold::Namespaces, Profile::Trial)),
        ("Landlock", held(Hold::Landlock, Profile::Work)),
    ]
}

/// What holds for this project up to this profile, found out by trying.
pub fn what_holds(ground: &Ground, wanted: Profile) -> Result<JailState, String> {
    let project = ground.project.to_string_lossy().into_owned();
    let mut whys: Vec<String> = Vec::new();
    let tries = [(Hold::Namespaces, wanted), (Hold::Namespaces, Profile::Work), (Hold::Landlock, Profile::Work)];
    for (n, (hold, profile)) in tries.into_iter().enumerate() {
        if n == 1 && wanted == Profile::Work {
            continue;
        }
        match try_out(hold, profile, ground)? {
            Ok(()) => {
                let why = whys.into_iter().next().unwrap_or_default();
                return Ok(JailState { hold, project, trial: profile == Profile::Trial, why });
            }
            Err(why) => whys.push(why),
        }
    }
    whys.dedup();
    Ok(JailState { hold: Hold::Words, project, trial: false, why: whys.join("; ") })
}

/// A layer of an ordinary user cannot hold files of a user or group that has no number in it.
fn foreign_owner(ground: &Ground) -> Option<String> {
    let stat = rustix::fs::stat(&ground.project).ok().filter(|_| !ground.root)?;
    let own = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_gid == rustix::process::getegid().as_raw();
    (!own).then(|| "the project belongs to another user or group, which a throwaway layer cannot hold".to_owned())
}

/// Errors that say nothing about the kernel.
const MOMENTARY: [i32; 4] = [libc::EAGAIN, libc::ENOMEM, libc::ENFILE, libc::EMFILE];

/// Runs this in a child; an error comes back in words.
fn answer_of_child(work: impl FnOnce() -> Result<(), String>) -> Tried {
    let pipe = |error: io::Error| format!("pipe: {error}");
    let (mut answer, mut words) = io::pipe().map_err(pipe)?;
    let code = in_child(|| match work() {
        Ok(()) => leave(0),
        Err(why) => {
            let _ = words.write_all(why.as_bytes());
            1
        }
    });
    drop(words);
    let mut why = String::new();
    let _ = answer.read_to_string(&mut why);
    match code {
        Ok(0) => Ok(Ok(())),
        Ok(_) if why.is_empty() => Err("the process that tries it out was killed".to_owned()),
        Ok(_) if MOMENTARY.iter().any(|code| why.ends_with(&format!("(os error {code})"))) => Err(why),
        Ok(_) => Ok(Err(why)),
        Err(error) => Err(format!("fork: {error}")),
    }
}
