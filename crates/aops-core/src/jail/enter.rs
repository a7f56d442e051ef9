//! Finds out which kind of jail the kernel offers here, and enters it.
//!
//! Tries in a child process, so that this process is not changed; `enter` changes it for good.

use super::filter::{self, Sockets};
pub(super) use super::follow::watch;
pub use super::kernel::close_on_exec;
use super::kernel::{in_child, leave};
use super::plan::Ground;
pub use super::prepared::{Trial, end_all, prepare};
use super::{landlock, namespaces, prepared};
use crate::model::profile::{Hold, JailState, Profile};
use std::io::{self, Read, Write};
use std::path::Path;

/// Puts this process into the profile. After an error, run nothing in it.
pub fn enter(hold: Hold, profile: Profile, ground: &Ground, cwd: &Path) -> Result<Option<Trial>, String> {
    match hold {
        Hold::Namespaces => prepared::enter(profile, ground, cwd),
        Hold::Landlock if profile.is_quiet() => {
            Err(format!("Landlock cannot take away the network for `{}`", profile.name()))
        }
        Hold::Landlock => landlock::enter(profile, ground).map(|()| None),
        Hold::Seatbelt => Err("the macOS sandbox is not available here".to_owned()),
        Hold::Words => Ok(None),
    }
}

/// The last step before the command.
pub fn lock(hold: Hold, profile: Profile, ground: &Ground, cwd: &Path) -> Result<(), String> {
    if hold == Hold::Namespaces {
        namespaces::lock(cwd)?;
    }
    if matches!(hold, Hold::Namespaces | Hold::Landlock) {
        // With namespaces, an ordinary user already has "no new privileges"; a superuser has the right to
        // start programs with more.
        landlock::lock(profile > Profile::Work, hold == Hold::Landlock)?;
        filter::forbid(sockets(profile, ground)).map_err(|error| format!("filter: {error}"))?;
    }
    Ok(())
}

/// A network namespace takes the kernel half a millisecond, so a command that only reads is kept from making
/// sockets instead. A command that nobody was asked about reaches no daemon, wherever its socket lies; builds
/// must talk to the servers they start themselves.
fn sockets(profile: Profile, ground: &Ground) -> Sockets {
    #[cfg(test_switches)]
    if crate::system::switched_off::is_switched_off("filter") {
        return Sockets::All;
    }
    match profile {
        Profile::Read if !ground.network.open => Sockets::Local,
        Profile::QuietRead => Sockets::Network,
        Profile::QuietWork => Sockets::Common,
        _ if ground.network.shut.is_some() => Sockets::Common,
        _ => Sockets::All,
    }
}

/// Tries in a child whether this profile can be entered here. An error means that the trial itself was
/// disturbed.
pub fn holds(hold: Hold, profile: Profile, ground: &Ground) -> Result<bool, String> {
    try_out(hold, profile, ground).map(|tried| tried.is_ok())
}

/// The result of the trial, or why there is none: another process of the user may kill the child, or use up
/// all file descriptors. The command must not then run as if the kernel offered no jail.
type Tried = Result<Result<(), String>, String>;

fn try_out(hold: Hold, profile: Profile, ground: &Ground) -> Tried {
    if profile == Profile::Trial
        && let Some(why) = foreign_owner(ground)
    {
        return Ok(Err(why));
    }
    answer_of_child(|| {
        if let Some(trial) = enter(hold, profile, ground, &ground.project)? {
            trial.begin(None, &[])?;
        }
        lock(hold, profile, ground, &ground.project)
    })
}

/// Each kind of jail by name, and whether it can be used for this project.
pub fn what_each(ground: &Ground) -> Vec<(&'static str, Result<(), String>)> {
    let held = |hold, profile| try_out(hold, profile, ground).flatten();
    vec![
        ("namespaces", held(Hold::Namespaces, Profile::Work)),
        ("throwaway layers", held(Hold::Namespaces, Profile::Trial)),
        ("Landlock", held(Hold::Landlock, Profile::Work)),
    ]
}

/// Tries out what can hold commands of this project in profiles up to this one.
pub fn what_holds(ground: &Ground, wanted: Profile) -> Result<JailState, String> {
    let project = ground.project.to_string_lossy().into_owned();
    let mut whys: Vec<String> = Vec::new();
    let tries =
        [(Hold::Namespaces, wanted), (Hold::Namespaces, Profile::Work), (Hold::Landlock, Profile::Work)];
    for (n, (hold, profile)) in tries.into_iter().enumerate() {
        if n == 1 && wanted == Profile::Work {
            continue;
        }
        match try_out(hold, profile, ground)? {
            Ok(()) => {
                let why = whys.into_iter().next().unwrap_or_default();
                let trial = profile == Profile::Trial || profile.is_quiet();
                return Ok(JailState { hold, project, trial, why, ..JailState::default() });
            }
            Err(why) => whys.push(why),
        }
    }
    whys.dedup();
    Ok(JailState { hold: Hold::Words, project, why: whys.join("; "), ..JailState::default() })
}

/// With an ordinary user's ID mapping, a layer cannot hold files whose user or group is not mapped.
fn foreign_owner(ground: &Ground) -> Option<String> {
    let stat = rustix::fs::stat(&ground.project).ok().filter(|_| !ground.root)?;
    let own = stat.st_uid == rustix::process::geteuid().as_raw()
        && stat.st_gid == rustix::process::getegid().as_raw();
    (!own).then(|| {
        "the project belongs to another user or group, which throwaway layers do not support".to_owned()
    })
}

/// Errors by which a kernel says that it does not offer something. An agent can provoke many other errors,
/// such as a used-up quota, and must not get a weaker jail for it.
const NOT_OFFERED: [i32; 6] =
    [libc::EPERM, libc::EACCES, libc::EINVAL, libc::ENODEV, libc::ENOSYS, libc::EOPNOTSUPP];

/// The administrator allows no namespaces. (If all allowed ones are in use, the kernel reports the same
/// error.)
fn allows_no_namespaces() -> bool {
    std::fs::read_to_string("/proc/sys/user/max_user_namespaces").is_ok_and(|most| most.trim() == "0")
}

/// The error says that the kernel lacks this, not that it failed for the moment.
fn is_not_offered(why: &str) -> bool {
    let ends = |code: i32| why.ends_with(&format!("(os error {code})"));
    !why.contains("(os error ")
        || NOT_OFFERED.into_iter().any(ends)
        || ends(libc::ENOSPC) && allows_no_namespaces()
}

/// Runs this in a child; an error comes back as text.
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
        Ok(_) if is_not_offered(&why) => Ok(Err(why)),
        Ok(_) => Err(why),
        Err(error) => Err(format!("fork: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::Env;
    use std::fs;

    /// `hidden`: folders and files that the user's rules forbid to read.
    #[test]
    fn a_quiet_profile_shows_nothing_of_what_it_is_to_hide() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        let project = root.join("project");
        fs::create_dir_all(project.join("private")).unwrap();
        fs::create_dir_all(root.join("home/.claude")).unwrap();
        for file in ["private/x", ".env", "shown"] {
            fs::write(project.join(file), "text").unwrap();
        }
        let env = Env { home: root.join("home"), config: root.join("home/.claude"), ..Env::default() };
        let hidden = ["private", ".env", "gone"].map(|name| project.join(name)).to_vec();
        let ground = Ground { hidden, layer_mb: 16, ..Ground::of(&env, &project, &|_| None) };
        for profile in [Profile::QuietRead, Profile::QuietWork] {
            let tried = answer_of_child(|| {
                enter(Hold::Namespaces, profile, &ground, &project)?;
                lock(Hold::Namespaces, profile, &ground, &project)?;
                let text = |name: &str| fs::read_to_string(project.join(name)).unwrap_or_default();
                let all = ["private/x", ".env", "shown"].map(text);
                if all == ["", "", "text"] { Ok(()) } else { Err(format!("{all:?}")) }
            });
            assert_eq!(tried, Ok(Ok(())), "{profile}");
            assert!(enter(Hold::Landlock, profile, &ground, &project).is_err());
        }
    }

    #[test]
    fn only_what_a_kernel_does_not_offer_lowers_what_holds() {
        let error = |code: i32| format!("unshare: {}", io::Error::from_raw_os_error(code));
        for code in NOT_OFFERED {
            assert!(is_not_offered(&error(code)), "{code}");
        }
        assert!(is_not_offered("Landlock is not there or too old"));
        for code in
            [libc::EDQUOT, libc::EUSERS, libc::EAGAIN, libc::ENOMEM, libc::ENFILE, libc::EMFILE, libc::EIO]
        {
            assert!(!is_not_offered(&error(code)), "{code}");
        }
        assert_eq!(is_not_offered(&error(libc::ENOSPC)), allows_no_namespaces());
    }
}
