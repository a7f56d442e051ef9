//! Moves a command into its session's network.
//!
//! Changes this process alone. Invariants: both namespaces are found before the first is entered, since the
//! broker is unreachable from inside; if the broker is gone, that is an error, never a reason to use the
//! machine's network.

use super::{broker, open_mark};
use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::process::{Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// File descriptors of the broker that refer to the user namespace and to the network namespace.
pub(super) const USERS: i32 = 100;
pub(super) const NETWORK: i32 = 101;
/// How long a command waits for a network that is being made.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);
/// Content of a mark whose network is ready.
pub(super) const READY: &[u8] = b"ready\n";

/// The two namespaces of a session's network.
pub(super) struct Spaces {
    users: File,
    network: File,
}

/// If this fails, nothing has been entered.
pub(super) fn find(session: &Path) -> Result<Spaces, String> {
    let gone = "its session's network has ended";
    let mut mark = open_mark(session).map_err(|error| format!("{gone}: {error}"))?;
    let keeper = wait(&mut mark)?;
    let open = |number: i32| {
        File::open(format!("/proc/{keeper}/fd/{number}")).map_err(|error| format!("{gone}: {error}"))
    };
    let users = open(USERS)?;
    let network = open(NETWORK)?;
    // The broker still holds the lock, so its process ID was not reused meanwhile.
    let Some(known) = broker(&mark).filter(|pid| pid.as_raw_nonzero().get() == keeper) else {
        return Err(gone.to_owned());
    };
    // An earlier command may have stopped it.
    let _ = kill_process(known, Signal::CONT);
    Ok(Spaces { users, network })
}

impl Spaces {
    /// From here on this process is in the session's network. After an error, run nothing in it.
    pub(super) fn enter(self) -> Result<(), String> {
        let Self { users, network } = self;
        match move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User)) {
            Ok(()) => {}
            // A superuser's network belongs to our own user namespace, which cannot be entered again.
            Err(Errno::INVAL) if is_own(&users) => {}
            Err(error) => return Err(format!("its session's users: {error}")),
        }
        let entered = move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network));
        entered.map_err(|error| format!("its session's network: {error}"))
    }
}

fn is_own(users: &File) -> bool {
    let own = File::open("/proc/self/ns/user").ok().and_then(|own| fstat(own).ok());
    let other = fstat(users).ok();
    own.zip(other).is_some_and(|(own, other)| (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino))
}

/// The broker's process ID, as soon as commands can enter.
fn wait(mark: &mut File) -> Result<i32, String> {
    let begun = Instant::now();
    loop {
        let mut said = Vec::new();
        let keeper = broker(mark);
        if mark.rewind().is_ok() && mark.take(512).read_to_end(&mut said).is_ok() {
            match keeper {
                Some(keeper) if said == READY => return Ok(keeper.as_raw_nonzero().get()),
                None if said == READY => return Err("its session's network has ended".to_owned()),
                None if !said.is_empty() => {
                    return Err(format!(
                        "its session has no network: {}",
                        String::from_utf8_lossy(&said).trim_end()
                    ));
                }
                _ => {}
            }
        }
        if begun.elapsed() > PATIENCE {
            return Err("its session's network does not exist".to_owned());
        }
        std::thread::sleep(PAUSE);
    }
}
