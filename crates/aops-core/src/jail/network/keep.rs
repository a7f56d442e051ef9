//! `aops-hook __network SESSION CLIENT PERSON`: makes the network of a session, and decides what may leave
//! it.
//!
//! Two processes: one inside, which makes sockets, and the broker outside. Invariants: they end together, and
//! with the session and the client; the servers in this network end with them; no command can inspect the
//! process inside.

use super::super::kernel::{fork, leave, raise_loopback};
use super::super::user::{self, tried};
use super::enter::{NETWORK, READY, USERS};
use super::{COUNTS, LIST, NEWS, folder, make_mark, servers};
use crate::system::env::now_ms;
use crate::system::process::detached;
use crate::system::{files, limits};
use aops_network::broker::{self, Outside};
use aops_network::counts::Counts;
use aops_network::inner;
use aops_network::list::{List, Mode};
use aops_network::proxy::Proxies;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Signal, getpid, getrlimit, pidfd_open, pidfd_send_signal,
    set_dumpable_behavior,
};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A message for the person: a list that could not be read.
const TOLD: &str = "told";
/// File descriptors per connection: two sockets, two pipes.
const FILES: u64 = 6;
const SPARE_FILES: u64 = 96;
/// Connections at a time, however many file descriptors are available.
const MOST_CONNECTIONS: u64 = 4096;
/// Of the file with what is new.
const LONGEST_NEWS: u64 = 1 << 16;

/// Runs the broker.
pub fn run(arguments: &[String]) -> u8 {
    detached::own_session();
    limits::raise();
    let [session, client, person] = arguments else { return 2 };
    let session = Path::new(session);
    // Signals are set up first: whoever finds the lock may send one.
    let (Ok(signals), Ok(mut mark)) = (signals(), make_mark(session)) else { return 1 };
    // Another broker started first.
    if fcntl_lock(&mark, FlockOperation::NonBlockingLockExclusive).is_err() {
        return 0;
    }
    match keep(session, client.parse().ok(), person.parse().ok(), (signals, &mark)) {
        Ok(()) => 0,
        Err(why) => {
            let _ = mark.set_len(0).and_then(|()| writeln!(mark, "{why}"));
            1
        }
    }
}

fn keep(
    session: &Path,
    client: Option<i32>,
    person: Option<i32>,
    held: (OwnedFd, &File),
) -> Result<(), String> {
    let (signals, mark) = held;
    let client =
        client.and_then(Pid::from_raw).map(|client| pidfd_open(client, PidfdFlags::empty())).transpose();
    let proxies = Proxies::of(variables_of(person));
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let (own, others) = tried("channel", pair)?;
    let client = tried("client", client)?;
    let broker = tried("broker", pidfd_open(getpid(), PidfdFlags::empty()))?;
    let Some(inside) = tried("fork", fork())? else {
        drop(own);
        serve_inside(&others, client.as_ref(), &broker)
    };
    drop(others);
    let _spaces = hold_spaces(inside, &own)?;
    let folder = folder(session);
    let tell = |what: &str| drop(files::add_line(&folder.join(TOLD), what));
    // Ports of the previous broker in the same session no longer exist.
    let mut before = super::counts(session).unwrap_or_default();
    before.served.clear();
    let mut saved = before.clone();
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    let outside = Outside {
        inner: own,
        counts: before,
        signals,
        ends: client.into_iter().collect(),
        list: &mut || {
            match files::read_text(folder.join(LIST)) {
                Ok(text) => List::parse(&text).map_err(|bad| bad.to_string()),
                Err(error) if is_of_the_file(&error) => Err(error.to_string()),
                // A command of the user can make it impossible to open any file here. The old list may allow
                // what a person has denied since, so nothing is reached until the next signal.
                Err(_) => Ok(List::new(Mode::List)),
            }
        },
        save: &mut |counts| {
            note_news(&folder, &saved, counts);
            saved = counts.clone();
            let text = counts.to_string();
            drop(files::write_beside(&folder.join(COUNTS), 0o600, |file| file.write_all(text.as_bytes())));
        },
        tell: &mut |what| tell(what),
        proxies: proxies.map_err(|bad| bad.to_string()),
        clock: &|| u64::try_from(now_ms() / 1000).unwrap_or_default(),
        most: usize::try_from((limit.saturating_sub(SPARE_FILES) / FILES).clamp(8, MOST_CONNECTIONS))
            .unwrap_or(8),
    };
    let mut said = mark;
    tried("broker", broker::run(outside, || drop(said.write_all(READY))))
}

/// The environment in which a person started this process. It lacks what the client added since: that may
/// come from a project's settings, and a proxy named there would see every host name.
fn variables_of(person: Option<i32>) -> impl Fn(&str) -> Option<String> {
    let read = |person: i32| std::fs::read(format!("/proc/{person}/environ")).ok();
    let text = person.and_then(read).unwrap_or_default();
    move |wanted| {
        let mut all = text.split(|byte| *byte == 0).filter_map(|row| row.strip_prefix(wanted.as_bytes()));
        let value = all.find_map(|rest| rest.strip_prefix(b"="))?;
        String::from_utf8(value.to_vec()).ok()
    }
}

/// Notes what is new. It is reported when the command that caused it ends; the counts have what is too much
/// for that.
fn note_news(folder: &Path, before: &Counts, now: &Counts) {
    let mut news = String::new();
    let mut add = |line: String| {
        news.push_str(&line);
        news.push('\n');
    };
    for (host, port, row) in now.rows() {
        let (refused, connections) =
            before.row_of(host, port).map_or((0, 0), |row| (row.refused, row.connections));
        if row.refused > refused {
            add(format!("refused\t{host}\t{port}\t{}", row.why));
        }
        if row.connections > 0 && connections == 0 {
            let word = row.word.map_or_else(|| "-".to_owned(), |word| word.to_string());
            add(format!("new\t{host}\t{port}\t{word}"));
        }
    }
    for served in now.served.iter().filter(|served| !before.served.contains(served)) {
        add(format!("served\t{}\t{}", served.inside, served.outside));
    }
    if news.is_empty() {
        return;
    }
    let options = &mut OpenOptions::new();
    let file = files::open_itself(folder.join(NEWS), options.append(true).create(true).mode(0o600));
    if let Ok(mut file) = file
        && file.metadata().is_ok_and(|about| about.len() < LONGEST_NEWS)
    {
        let _ = file.write_all(news.as_bytes());
    }
}

/// Runs in a process of its own: makes the network, reports how that went, and then waits for requests.
fn serve_inside(channel: &OwnedFd, client: Option<&OwnedFd>, broker: &OwnedFd) -> ! {
    let made = user::unshare_as_allowed(libc::CLONE_NEWNET)
        .and_then(|()| tried("loopback device", raise_loopback()))
        .and_then(|()| tried("route", inner::take_every_address()));
    let words = made.err().unwrap_or_default();
    let said = send(channel, [b"=", words.as_bytes()].concat().as_slice(), SendFlags::NOSIGNAL);
    // The broker has opened our namespaces; from here on no process can inspect us.
    let mut go = [0];
    if said.is_ok()
        && words.is_empty()
        && matches!(recv(channel, &mut go[..], RecvFlags::empty()), Ok((_, 1)))
    {
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        // A command may have stopped the broker, which then does not see that the client has ended.
        if let (Some(Ok(client)), Ok(broker)) = (client.map(OwnedFd::try_clone), broker.try_clone()) {
            std::thread::spawn(move || {
                while poll(&mut [PollFd::new(&client, PollFlags::IN)], None) == Err(Errno::INTR) {}
                let _ = pidfd_send_signal(&broker, Signal::CONT);
            });
        }
        inner::serve(channel);
        servers::end_all();
    }
    leave(0)
}

/// Opens the namespaces that commands enter, at fixed descriptor numbers that they know.
fn hold_spaces(inside: Pid, channel: &OwnedFd) -> Result<[OwnedFd; 2], String> {
    let mut said = [0; 512];
    let (_, length) = tried("namespaces", recv(channel, &mut said[..], RecvFlags::empty()))?;
    match said.get(1..length) {
        Some([]) => {}
        Some(why) => return Err(String::from_utf8_lossy(why).into_owned()),
        None => return Err("the process inside was killed".to_owned()),
    }
    let hold = |space: &str, number: i32| {
        let file = File::open(format!("/proc/{}/ns/{space}", inside.as_raw_nonzero()));
        let held = file.and_then(|file| Ok(fcntl_dupfd_cloexec(file, number)?));
        tried(space, held)
    };
    let both = [hold("user", USERS)?, hold("net", NETWORK)?];
    tried("namespaces", send(channel, &[1], SendFlags::NOSIGNAL)).map(|_| both)
}

/// The file is missing, or is not text.
fn is_of_the_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

/// A descriptor that delivers hangup and termination signals. Writing to a closed socket must not raise a
/// signal either.
fn signals() -> io::Result<OwnedFd> {
    let mut wanted = MaybeUninit::uninit();
    #[expect(unsafe_code, reason = "no safe crate here has them as a file")]
    // SAFETY: the calls write the whole set before it is read, and the new file is nobody else's.
    unsafe {
        libc::sigemptyset(wanted.as_mut_ptr());
        libc::sigaddset(wanted.as_mut_ptr(), libc::SIGHUP);
        libc::sigaddset(wanted.as_mut_ptr(), libc::SIGTERM);
        let file = libc::signalfd(-1, wanted.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::sigaddset(wanted.as_mut_ptr(), libc::SIGPIPE);
        libc::sigprocmask(libc::SIG_BLOCK, wanted.as_ptr(), std::ptr::null_mut());
        Ok(OwnedFd::from_raw_fd(file))
    }
}
