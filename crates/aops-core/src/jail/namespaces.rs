//! Enters a plan with user and mount namespaces.
//!
//! Changes this process alone: its namespaces, mounts, capabilities and working directory. Invariants: an
//! ordinary user keeps its IDs and gets no capability; a superuser continues in a second user namespace,
//! where the mounts are locked; after an error the process must not run the command.

use super::kernel::{
    UNSEEN, by_number, close_together, copy_of, mount_copy, open_at, raise_loopback, set_writable,
};
use super::layer::Layers;
use super::mounts;
use super::plan::{Plan, is_for_telling};
use super::user::{self, tried};
use super::wishes::{Place, Way, depth, lies_in};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, fstat, statx};
use rustix::mount::{MountFlags, MountPropagationFlags, OpenTreeFlags, mount, mount_bind, mount_change};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set, set_no_new_privs};
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Capabilities that a superuser keeps: those for using files. Those that change mounts, devices or the
/// kernel are dropped.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);
const LAST_CAPABILITY: u32 = 40;
/// Where the kernel shows terminals.
const TERMINALS: &str = "/dev/pts";

/// Makes the jail around this process. A superuser must still call `lock`.
pub(super) fn make(plan: &Plan) -> Result<(), String> {
    separate(plan)?;
    mount_all(plan, &[]).map(drop)
}

/// Enters namespaces of our own. The PID namespace applies only to processes that this one starts.
pub(super) fn separate(plan: &Plan) -> Result<(), String> {
    let network = if plan.own_network { libc::CLONE_NEWNET } else { 0 };
    // Shared memory and message queues of other programs are written to without any file.
    let messages = if plan.own_network || plan.read_only { libc::CLONE_NEWIPC } else { 0 };
    let processes = if plan.own_processes { libc::CLONE_NEWPID } else { 0 };
    user::unshare_as_allowed(libc::CLONE_NEWNS | network | messages | processes)?;
    if plan.own_network {
        tried("loopback device", raise_loopback())?;
    }
    Ok(())
}

/// Returns the throwaway layers, if there are any, which also keep the originals of these folders.
pub(super) fn mount_all(plan: &Plan, originals: &[PathBuf]) -> Result<Option<Layers>, String> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    tried("private mounts", mount_change("/", private))?;
    if plan.own_processes {
        mount_proc();
    }
    let places = all_places(plan);
    let kept: Vec<Option<OwnedFd>> = originals.iter().map(|folder| original(folder)).collect();
    let mut opened: Vec<Opened> = Vec::with_capacity(places.len());
    for place in &places {
        let is_told = plan.told.as_ref() == Some(&place.path);
        opened.extend(found(place)?.filter(|found| !is_told || is_for_telling(&found.at)));
    }
    if plan.read_only {
        let top = tried("`/`", open_at(Path::new("/")))?;
        tried("read-only mounts", set_writable(top.as_fd(), false, true))?;
        // The ID maps are written there later. Whatever a superuser could change in it gets a read-only place
        // of its own.
        let proc = tried("`/proc`", open_at(Path::new("/proc")))?;
        let _ = set_writable(proc.as_fd(), true, false);
        own_terminals()?;
    }
    hold_in_place(&plan.places)?;
    if plan.places.iter().all(|place| place.way != Way::Layer) {
        let unseen = tried(UNSEEN, open_at(Path::new(UNSEEN)))?;
        apply_all(opened, None, &nothing()?)?;
        tried(UNSEEN, mount_bind(by_number(&unseen), UNSEEN))?;
        return Ok(None);
    }
    let mut layers = Layers::new(plan)?;
    for (number, original) in kept.iter().enumerate() {
        original.as_ref().map_or(Ok(()), |original| layers.keep_original(number, original))?;
    }
    let nothing = layers.nothing()?;
    apply_all(opened, Some(&mut layers), &nothing)?;
    layers.put_out_of_sight()?;
    Ok(Some(layers))
}

/// An empty folder in a temporary file system. It is only usable while that is mounted.
fn nothing() -> Result<OwnedFd, String> {
    let size = CString::new("size=4k,mode=0755").unwrap_or_default();
    tried("temporary file system", mount("none", UNSEEN, "tmpfs", MountFlags::RDONLY, &*size))?;
    tried(UNSEEN, open_at(Path::new(UNSEEN)))
}

/// From now on `/dev/ptmx` makes terminals of this jail, and no terminal of the person can be opened.
fn own_terminals() -> Result<(), String> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    match mount("devpts", TERMINALS, "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620") {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        // Where the kernel refuses it, a command has no terminals at all.
        Err(_) => {
            let none = mount("none", TERMINALS, "tmpfs", flags | MountFlags::RDONLY, c"size=4k,mode=0755");
            tried(TERMINALS, none)
        }
    }
}

/// Mounts a `/proc` of this PID namespace alone. If a mount covers any part of `/proc`, all of it stays
/// as it is.
fn mount_proc() -> bool {
    let covered = mounts::list().split(|byte| *byte == b'\n').filter_map(mount_point).any(|path| {
        path.starts_with("/proc")
            && path != Path::new("/proc")
            && path != Path::new("/proc/sys/fs/binfmt_misc")
    });
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // Some kernels and containers refuse it. `/proc` then shows outside process IDs.
    !covered && mount("proc", "/proc", "proc", flags, None).is_ok()
}

/// The same for a process that has already unshared its mounts.
pub(super) fn own_proc() -> bool {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).is_ok() && mount_proc()
}

fn mount_point(line: &[u8]) -> Option<PathBuf> {
    line.split(|byte| *byte == b' ').nth(4).map(mounts::unescaped)
}

fn original(folder: &Path) -> Option<OwnedFd> {
    let folder = open_at(&folder.canonicalize().ok()?).ok()?;
    copy_of(&folder, OpenTreeFlags::empty()).ok()
}

/// The last step: from here on no mount can be undone.
pub(super) fn lock(cwd: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        // A set-user-ID program would get capabilities in the user namespace that owns the mounts.
        return tried("no new privileges", set_no_new_privs(true));
    }
    user::enter(libc::CLONE_NEWNS)?;
    for number in 0..=LAST_CAPABILITY {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if !KEPT.contains(one) {
            // Fails only for a capability that the kernel does not know, and so never grants.
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    tried("working directory", rustix::process::chdir(cwd))
}

/// The kernel neither renames nor removes a folder on which something is mounted, not even in another mount
/// namespace. So we make a view of its surroundings in a hidden folder and mount on these folders there. The
/// command itself sees one mount, so hard links between the folders work.
fn hold_in_place(places: &[Place]) -> Result<(), String> {
    // The deepest first, since a mount covers the folders below it.
    let held = places.iter().rev().filter(|place| place.way == Way::Held);
    let folders: Vec<&Path> = held.map(|place| place.path.as_path()).collect();
    let Some(around) = folders.last().and_then(|top| {
        let mut above = top.ancestors().skip(1);
        above.find(|above| folders.iter().all(|folder| folder.starts_with(above)))
    }) else {
        return Ok(());
    };
    let nothing = tried(UNSEEN, open_at(Path::new(UNSEEN)))?;
    let view = tried("view", view_of(around, &folders))?;
    tried("view", set_writable(view.as_fd(), false, true))?;
    tried("view", mount_copy(&view, &nothing))?;
    let mut used = vec![view];
    for folder in folders {
        let named = || folder.display().to_string();
        let seen = open_at(&Path::new(UNSEEN).join(folder.strip_prefix(around).unwrap_or(folder)));
        let seen = seen.map_err(|error| format!("{}: {error}", named()))?;
        mount_bind(by_number(&nothing), by_number(&seen)).map_err(|error| format!("{}: {error}", named()))?;
        used.push(seen);
    }
    tried("view", mount_bind(by_number(&nothing), UNSEEN))?;
    used.push(nothing);
    close_together(used);
    Ok(())
}

/// A copy of the mount around these folders; with all mounts below it only if one of the folders lies in such
/// a mount.
fn view_of(around: &Path, folders: &[&Path]) -> rustix::io::Result<OwnedFd> {
    let mount = |path: &Path| {
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
    };
    let here = mount(around);
    let alone = here.is_some() && folders.iter().all(|folder| mount(folder) == here);
    let around = open_at(around)?;
    let view = if alone { copy_of(&around, OpenTreeFlags::empty()) } else { Err(rustix::io::Errno::INVAL) };
    // The kernel refuses this if one of the mounts below must not be uncovered; then copy those, too.
    view.or_else(|_| copy_of(&around, OpenTreeFlags::AT_RECURSIVE))
}

/// Adds places that are known only now: the file in which the command reports its folder, and other file
/// systems below a layer. The layer would hide those, so each gets a layer of its own.
fn all_places(plan: &Plan) -> Vec<Place> {
    let mut places = plan.places.clone();
    let told = plan.told.clone().map(|path| Place { path, way: Way::Writable, needed: false });
    places.extend(told);
    let layers: Vec<PathBuf> =
        places.iter().filter(|place| place.way == Way::Layer).map(|place| place.path.clone()).collect();
    if layers.is_empty() {
        return places;
    }
    for path in mounts::list().split(|byte| *byte == b'\n').filter_map(mount_point) {
        let below = layers.iter().any(|layer| path.starts_with(layer) && path != *layer);
        if below && places.iter().all(|place| place.path != path) {
            places.push(Place { path, way: Way::Layer, needed: false });
        }
    }
    places.sort_by_key(|place| depth(&place.path));
    places
}

/// A place as it was before anything was mounted.
struct Opened<'a> {
    place: &'a Place,
    at: OwnedFd,
    /// A copy of the place with all mounts below it, if one will be mounted over it.
    copy: Option<OwnedFd>,
}

fn found(place: &Place) -> Result<Option<Opened<'_>>, String> {
    if place.way == Way::Held {
        return Ok(None);
    }
    let stays = matches!(place.way, Way::Layer | Way::Apart | Way::Hidden) || is_kernels(place);
    let opened = open_at(&place.path).and_then(|at| {
        let copy = (!stays).then(|| copy_of(&at, OpenTreeFlags::AT_RECURSIVE)).transpose()?;
        Ok(Opened { place, at, copy })
    });
    match opened {
        Ok(opened) => Ok(Some(opened)),
        // It was removed meanwhile.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(_) if is_optional(place) => Ok(None),
        Err(error) => Err(format!("`{}`: {error}", place.path.display())),
    }
}

/// If it fails, the place merely stays stricter than wanted.
fn is_optional(place: &Place) -> bool {
    !place.needed && matches!(place.way, Way::Layer | Way::Writable)
}

/// `/sys` is a mount with many mounts below it: we make it read-only without copying it.
fn is_kernels(place: &Place) -> bool {
    place.path == Path::new("/sys")
}

/// Mounts over the very file that was looked up; if something was mounted above it meanwhile, over what its
/// path shows now.
fn apply_all(opened: Vec<Opened>, mut layers: Option<&mut Layers>, nothing: &OwnedFd) -> Result<(), String> {
    let mut mounted: Vec<&Path> = Vec::with_capacity(opened.len());
    let mut used: Vec<OwnedFd> = Vec::with_capacity(3 * opened.len());
    for first in opened {
        let place = first.place;
        let is_covered = mounted.iter().any(|above| lies_in(&place.path, above));
        match apply_lasting(first, is_covered, layers.as_deref_mut(), nothing, &mut used) {
            Ok(()) => mounted.push(&place.path),
            Err(_) if is_optional(place) => {}
            Err(why) => return Err(format!("`{}`: {why}", place.path.display())),
        }
    }
    close_together(used);
    Ok(())
}

/// How often a place may be replaced while we look: a client replaces its own files while commands start, so
/// we retry with the file that lies there now.
const MOST_REPLACED: usize = 64;

fn apply_lasting(
    first: Opened,
    is_covered: bool,
    mut layers: Option<&mut Layers>,
    nothing: &OwnedFd,
    used: &mut Vec<OwnedFd>,
) -> Result<(), String> {
    let mut opened = first;
    for _ in 0..MOST_REPLACED {
        let Opened { place, at, copy } = opened;
        let now = is_covered.then(|| tried("place", open_at(&place.path))).transpose()?;
        let over = now.as_ref().unwrap_or(&at);
        let applied =
            apply(&Found { place, at: &at, copy: copy.as_ref(), over }, layers.as_deref_mut(), nothing);
        let is_gone = applied.is_err() && fstat(over).is_ok_and(|is| is.st_nlink == 0);
        used.extend([at].into_iter().chain(copy).chain(now));
        if !is_gone {
            return applied;
        }
        let Some(again) = found(place)? else { return Ok(()) };
        opened = again;
    }
    Err("it is replaced again and again".to_owned())
}

/// `at`: the place before any mount; `over`: the same place now.
struct Found<'a> {
    place: &'a Place,
    at: &'a OwnedFd,
    copy: Option<&'a OwnedFd>,
    over: &'a OwnedFd,
}

fn apply(found: &Found, layers: Option<&mut Layers>, nothing: &OwnedFd) -> Result<(), String> {
    let &Found { place, at, copy, over } = found;
    let bind = || copy.map_or(Ok(()), |copy| tried("bind", mount_copy(copy, over)));
    match place.way {
        Way::Held => Ok(()),
        // What was read-only before stays so.
        Way::Pinned | Way::Writable => bind(),
        // If the file system supports no overlay, the place is at least read-only.
        Way::Apart => set_apart(at, over, nothing).or_else(|_| {
            let copy = tried("bind", copy_of(at, OpenTreeFlags::AT_RECURSIVE))?;
            tried("read-only", set_writable(copy.as_fd(), false, true))?;
            tried("bind", mount_copy(&copy, over))
        }),
        Way::ReadOnly => match set_writable(copy.unwrap_or(at).as_fd(), false, true) {
            // In some containers `/sys` is not a mount but an empty folder.
            Err(error) if is_kernels(place) && error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            done => tried("read-only", done).and_then(|()| bind()),
        },
        Way::Hidden => hide(over, nothing),
        Way::Layer => layers.ok_or("there is no layer")?.cover(&place.path, at, over),
    }
}

/// An overlay shows the same files, but the kernel keeps locks on the overlay's own inodes. Without it, any
/// command that can read a lock file could hold its lock.
fn set_apart(at: &OwnedFd, over: &OwnedFd, nothing: &OwnedFd) -> rustix::io::Result<()> {
    // An overlay without an upper folder needs two lower ones.
    let options = format!("lowerdir={}:{},userxattr", by_number(at), by_number(nothing));
    let options = CString::new(options).unwrap_or_default();
    mount("overlay", by_number(over), "overlay", MountFlags::RDONLY, &*options)
}

/// From now on this place is empty, and nothing can be created in it.
fn hide(over: &OwnedFd, nothing: &OwnedFd) -> Result<(), String> {
    let is_folder = tried("hide", fstat(over)).map(|is| FileType::from_raw_mode(is.st_mode).is_dir())?;
    if !is_folder {
        return tried("hide", mount_bind("/dev/null", by_number(over)));
    }
    let empty = tried("hide", copy_of(nothing, OpenTreeFlags::empty()))?;
    tried("hide", set_writable(empty.as_fd(), false, false))?;
    tried("hide", mount_copy(&empty, over))
}
