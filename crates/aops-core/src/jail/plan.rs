//! The table of profiles: what each does to which part of the file system.
//!
//! Looks which folders exist; writes nothing. Invariants: a place that lies deeper is applied later, so it wins; of two
//! wishes about one place the stricter wins; what guards the session is writable in no profile but `none`.

use super::wishes::{Place, Way, Wishes, lies_in};
use crate::gate::guard::{Protected, ProtectedPlace, SYSTEM_FOLDERS};
use crate::model::profile::Profile;
use crate::system::env::Env;
use crate::system::git;
use rustix::fs::{FileType, fstat};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Everything that is not named below is read-only.
    pub read_only: bool,
    /// An empty network with a loopback device of its own.
    pub own_network: bool,
    /// Numbers of processes of its own; all of them end with the first.
    pub own_processes: bool,
    /// By depth.
    pub places: Vec<Place>,
    pub layer_mb: u64,
    pub project: PathBuf,
    /// The file in a temporary folder that stays writable: the command tells the client its working directory in it.
    pub told: Option<PathBuf>,
}

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    pub project: PathBuf,
    pub home: PathBuf,
    /// Folders that stay read-only inside of a writable or thrown-away one.
    pub kept: Vec<PathBuf>,
    pub temporary: Vec<PathBuf>,
    pub caches: Vec<PathBuf>,
    /// The client's temporary file that this command tells its working directory in.
    pub told: Option<PathBuf>,
    /// Sockets of programs that would do something outside of a throwaway layer, or folders of such.
    pub services: Vec<PathBuf>,
    pub protected: Protected,
    /// Folders in which a settings file may be missing that could be made.
    pub settings: Vec<(PathBuf, Vec<&'static str>)>,
    /// Folders of configuration and texts, in which files may be symlinks that lead elsewhere.
    pub texts: Vec<PathBuf>,
    /// The administrator's folders, those of the clients' settings too: a superuser could write there.
    pub administered: Vec<PathBuf>,
    pub keys: PathBuf,
    /// Folders that our locks lie in.
    pub locks: Vec<PathBuf>,
    pub root: bool,
    pub layer_mb: u64,
    pub network: bool,
    /// The session's folder, in which a jail may wait for the command.
    pub session: Option<PathBuf>,
    /// The folder of the session whose end ends the command.
    pub watched: Option<PathBuf>,
}

/// Temporary folders of the system, which may be links of its own.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Folders in the home that tools keep what they can fetch or make again in.
const CACHES: [&str; 17] = [
    ".bun", ".cache", ".cargo", ".composer", ".deno", ".gem", ".gradle", ".ivy2", ".local/share/pnpm", ".m2", ".npm",
    ".nuget", ".pnpm-store", ".rustup", ".sbt", ".yarn", "go",
];
/// Variables that name such a folder.
const CACHE_VARIABLES: [&str; 10] = [
    "CARGO_HOME", "CARGO_TARGET_DIR", "GOCACHE", "GOMODCACHE", "GOPATH", "GRADLE_USER_HOME", "PIP_CACHE_DIR",
    "UV_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache",
];
/// Sockets of programs that would do something outside of a throwaway layer, or folders of such.
const SERVICES: [&str; 9] = [
    "/run/containerd", "/run/crio", "/run/dbus", "/run/docker.sock", "/run/podman", "/run/screen", "/run/snapd.socket",
    "/run/systemd/private", "/run/user",
];
/// The same in the home, and variables that name one: `unix:///path`, `unix:path=/path,guid=…`, `/path,123,0`.
const SERVICES_AT_HOME: [&str; 8] = [
    ".colima", ".docker/desktop", ".docker/run", ".gnupg/S.gpg-agent", ".gnupg/S.gpg-agent.ssh", ".lima",
    ".orbstack/run", ".rd",
];
#[rustfmt::skip]
const SERVICE_VARIABLES: [&str; 9] = [
    "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "KITTY_LISTEN_ON", "NVIM", "SSH_AUTH_SOCK",
    "TMUX", "VSCODE_IPC_HOOK_CLI", "WEZTERM_UNIX_SOCKET",
];
/// Databases of this machine: out of reach where its network is.
const DATABASES: [&str; 3] = ["/run/mysqld", "/run/postgresql", "/run/redis"];
/// What lets the superuser leave any namespace. Where everything is read-only, `/proc` alone is not.
const SYSTEM: [&str; 5] = ["/proc/bus", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/sys"];

impl Ground {
    /// `project`: where the session began. `variable`: the environment of the command.
    pub fn of(env: &Env, project: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let worktree = git::worktree_at(project, &env.cwd);
        let protected = Protected {
            home: text(&env.home),
            config: text(&env.config),
            sessions: text(&env.data.join("sessions")),
            user_config: text(&env.user_config),
            project: text(project),
            worktree: worktree.as_deref().map(text).unwrap_or_default(),
            ..Protected::default()
        };
        let absolute = |path: &PathBuf| path.is_absolute() && path.parent().is_some();
        let own = ["TMPDIR", "CLAUDE_CODE_TMPDIR"].into_iter().filter_map(variable).filter(absolute);
        let temporary: Vec<PathBuf> = own.chain(TEMPORARY.map(PathBuf::from)).collect();
        let in_home = CACHES.iter().map(|name| env.home.join(name));
        let named = CACHE_VARIABLES.iter().filter_map(|name| variable(name)).filter(absolute);
        let sockets = SERVICE_VARIABLES.iter().filter_map(|name| variable(name)).map(|value| socket(&value));
        let services =
            SERVICES.iter().map(PathBuf::from).chain(SERVICES_AT_HOME.iter().map(|name| env.home.join(name)));
        Self {
            services: services.chain(sockets.filter(absolute)).collect(),
            project: project.to_owned(),
            home: env.home.clone(),
            kept: vec![env.home.clone(), env.config.clone(), env.user_config.clone(), env.data.clone()],
            temporary,
            caches: in_home.chain(named).collect(),
            protected,
            settings: settings_of(env, project, worktree.as_deref()),
            texts: vec![env.user_config.clone(), project.join(".aops")],
            administered: administered(env),
            keys: env.config.join("aops/keys"),
            locks: vec![env.config.join("aops"), env.projects()],
            root: rustix::process::geteuid().is_root(),
            ..Self::default()
        }
    }

    /// The same with our own environment.
    pub fn here(env: &Env, project: &Path) -> Self {
        let variables = env.variables(|_| true);
        let named = |name: &str| variables.iter().find(|(known, _)| known == name);
        Self::of(env, project, &|name| named(name).map(|(_, value)| value.into()))
    }

    /// What this profile does here.
    pub fn plan(&self, profile: Profile) -> Result<Plan, String> {
        let mut wishes = Wishes::default();
        match profile {
            Profile::None => {}
            Profile::Work => self.work(&mut wishes),
            Profile::Read => {
                wishes.add(&self.project, Way::ReadOnly, true);
                self.shut(&mut wishes, &self.temporary);
            }
            Profile::Trial => {
                wishes.add(&self.project, Way::Layer, true);
                wishes.add_all(self.temporary.iter().chain(&self.caches), Way::Layer);
                wishes.add_all(&self.services, Way::Hidden);
                wishes.add_all(DATABASES.iter().filter(|_| !self.network), Way::Hidden);
                self.shut(&mut wishes, &[]);
            }
        }
        if profile != Profile::None {
            wishes.add(&self.keys, Way::Hidden, false);
            wishes.add_all(&self.locks, Way::Apart);
            // Nothing can be renamed above them, so they come after what is pinned.
            let open = |path: &&&str| profile == Profile::Work || path.starts_with("/proc");
            wishes.add_all(SYSTEM.iter().filter(|_| self.root).filter(open).map(Path::new), Way::ReadOnly);
        }
        let project = wishes.look_up(&self.project).unwrap_or_else(|| self.project.clone());
        let told = self.told.as_ref().and_then(|file| wishes.look_at(file)).map(|(file, _)| file);
        Ok(Plan {
            told,
            read_only: profile >= Profile::Read,
            own_network: profile == Profile::Trial && !self.network,
            own_processes: profile == Profile::Trial,
            places: wishes.by_depth()?,
            layer_mb: self.layer_mb,
            project,
        })
    }

    /// These are written for real, and inside of them and of layers what guards is read-only all the same.
    fn shut(&self, wishes: &mut Wishes, temporary: &[PathBuf]) {
        let free = self.free(wishes, temporary);
        wishes.add_all(&free, Way::Writable);
        let project = wishes.look_up(&self.project).unwrap_or_default();
        for folder in &self.kept {
            let Some(folder) = wishes.look_up(folder) else { continue };
            // A home that holds the project is not thrown away with it.
            if wishes.is_inside(&folder) && folder != project {
                wishes.add(&folder, Way::ReadOnly, true);
            }
        }
        // What lies in a folder that is written for real cannot be moved away with a folder above it.
        let held: Vec<PathBuf> = self.kept.iter().chain([&self.project]).filter_map(|at| wishes.look_up(at)).collect();
        for above in held.iter().flat_map(|at| at.ancestors().skip(1)) {
            if free.iter().any(|folder| above != folder && lies_in(above, folder)) {
                wishes.add(above, Way::Pinned, true);
            }
        }
    }

    /// Those of these folders which a command writes for real, by real path. Any command of the user may have put a link in
    /// the place of one, or of a folder above it, so one that leads to what guards is left out, and so is a link in a folder
    /// where every user may make one.
    pub(super) fn free(&self, wishes: &mut Wishes, folders: &[PathBuf]) -> Vec<PathBuf> {
        let mut free = Vec::new();
        for folder in folders {
            if TEMPORARY.iter().any(|known| folder == Path::new(known)) {
                free.extend(wishes.look_up(folder));
                continue;
            }
            let Some((named, is)) = wishes.look_at(folder) else { continue };
            if is.is_symlink() && self.is_open_to_all(wishes, &named) {
                continue;
            }
            let Some((real, is)) = wishes.look_up(folder).and_then(|real| wishes.look_at(&real)) else { continue };
            if is.is_dir() && self.is_free(wishes, folder, &real) {
                free.push(real);
            }
        }
        free
    }

    /// It lies in a temporary folder or in the project.
    fn is_open_to_all(&self, wishes: &mut Wishes, named: &Path) -> bool {
        let open = self.temporary.iter().chain([&self.project]);
        open.filter_map(|folder| wishes.look_up(folder)).any(|folder| named.starts_with(&folder) && named != folder)
    }

    fn is_free(&self, wishes: &mut Wishes, named: &Path, real: &Path) -> bool {
        let Some(project) = wishes.look_up(&self.project) else { return false };
        let inside = named.starts_with(&self.project) || named.starts_with(&project);
        if real == project || real.starts_with(&project) && !inside {
            return false;
        }
        let kept: Vec<PathBuf> = self.kept.iter().filter_map(|folder| wishes.look_up(folder)).collect();
        let meets = |known: &PathBuf| lies_in(known, real) || lies_in(real, known);
        if !kept.iter().chain([&project, &own_program(wishes)]).any(meets) {
            return true;
        }
        let guarded = self.guarded(wishes).into_iter().map(|place| PathBuf::from(place.path));
        let guarded = guarded.chain(self.kept.iter().skip(1).cloned());
        let guarded: Vec<PathBuf> = guarded.filter_map(|place| wishes.look_up(&place)).collect();
        // A project may lie in the client's folder; it is held by itself.
        let covers = |place: &PathBuf| place.starts_with(real) && !place.starts_with(&project);
        !guarded.iter().any(|place| real.starts_with(place) || covers(place))
    }

    /// What guards the session, our program included.
    fn guarded(&self, wishes: &mut Wishes) -> Vec<ProtectedPlace> {
        let binaries = vec![own_program(wishes).to_string_lossy().into_owned()];
        Protected { binaries, ..self.protected.clone() }.places()
    }

    fn work(&self, wishes: &mut Wishes) {
        let protected = self.guarded(wishes);
        for (folder, names) in &self.settings {
            if names.iter().any(|name| !folder.join(name).exists()) {
                lock_folder(folder, &protected, Path::new(&self.protected.worktree), wishes);
            }
        }
        for place in &protected {
            wishes.add(Path::new(&place.path), Way::ReadOnly, true);
        }
        // One that is not there is not looked at again: this is on the way of every command.
        let administered = self.administered.iter().filter(|folder| self.root && wishes.look_up(folder).is_some());
        let administered: Vec<&PathBuf> = administered.collect();
        for folder in &administered {
            wishes.add(folder, Way::ReadOnly, true);
        }
        let (home, project) = (wishes.look_up(&self.home), wishes.look_up(&self.project));
        let is_above = |path: &Path| [&home, &project].into_iter().flatten().any(|known| known.starts_with(path));
        let texts = self.texts.iter().chain(administered);
        let links: Vec<PathBuf> = texts.flat_map(|folder| wishes.links_below(folder, DEEPEST)).collect();
        for link in links {
            if wishes.look_up(&link).is_some_and(|path| !is_above(&path)) {
                wishes.add(&link, Way::ReadOnly, true);
            }
        }
        let linked = self.linked(wishes);
        wishes.pin(&|folder| linked.iter().any(|known| lies_in(known, folder)));
    }

    /// Folders between which tools link and move files, by real path: caches into the project, a home into itself.
    fn linked(&self, wishes: &mut Wishes) -> Vec<PathBuf> {
        let (home, project) = (wishes.look_up(&self.home).unwrap_or_default(), wishes.look_up(&self.project));
        let inside = |folder: &PathBuf| folder.strip_prefix(&self.home).map(|rest| home.join(rest));
        let named = self.caches.iter().chain(&self.temporary).map(|folder| inside(folder).unwrap_or(folder.clone()));
        named.chain(project).chain([home.clone()]).collect()
    }

    /// All that a throwaway layer depends on, and what of it is there: where these bytes are the same, so is
    /// the jail.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 << 13);
        let uid = rustix::process::geteuid().as_raw();
        bytes.extend(self.layer_mb.to_ne_bytes());
        bytes.extend(uid.to_ne_bytes());
        let lists = [&self.kept, &self.temporary, &self.caches, &self.services, &self.locks];
        for path in [&self.project, &self.home, &self.keys].into_iter().chain(lists.into_iter().flatten()) {
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        let databases = DATABASES.iter().map(Path::new);
        let there = self.services.iter().chain(&self.locks).chain([&self.keys]).map(PathBuf::as_path);
        bytes.extend(there.chain(databases).map(|path| u8::from(path.exists())));
        bytes.push(self.network.into());
        bytes
    }
}

/// Ours, and those of the clients beside it. Claude Code's has another name on macOS.
fn administered(env: &Env) -> Vec<PathBuf> {
    let names = SYSTEM_FOLDERS.into_iter().filter(|name| *name != "claudecode");
    let mut folders = vec![env.managed()];
    if let Some(all) = env.administered.parent() {
        folders.extend(names.map(|name| all.join(name)));
    }
    folders
}

/// The client's folder, the project's and that of the worktree that the command is in, with the files that guard.
fn settings_of(env: &Env, project: &Path, worktree: Option<&Path>) -> Vec<(PathBuf, Vec<&'static str>)> {
    let trees = std::iter::once(project).chain(worktree);
    let in_trees = trees.map(|tree| (tree.join(".claude"), vec!["settings.json", "settings.local.json"]));
    std::iter::once((env.config.clone(), vec!["settings.json"])).chain(in_trees).collect()
}

/// Without its path it cannot be guarded.
fn own_program(wishes: &mut Wishes) -> PathBuf {
    std::env::current_exe().unwrap_or_else(|error| {
        wishes.fail(format!("our own program: {error}"));
        PathBuf::new()
    })
}

/// No new file can be made in this folder; what it holds already stays as it is. A worktree may lie in it, which is worked in:
/// what guards there is held by itself.
fn lock_folder(folder: &Path, protected: &[ProtectedPlace], worktree: &Path, wishes: &mut Wishes) {
    let Some(items) = wishes.items(folder) else { return };
    wishes.add(folder, Way::ReadOnly, true);
    let holds = |path: &Path| protected.iter().any(|place| Path::new(&place.path).starts_with(path));
    let guarded = |path: &Path| holds(path) && !worktree.starts_with(path);
    for item in items.iter().map(fs::DirEntry::path).filter(|path| !guarded(path)) {
        if item.symlink_metadata().is_ok_and(|meta| meta.is_dir() || meta.is_file()) {
            wishes.add(&item, Way::Writable, false);
        }
    }
}

/// How deep texts lie in a folder of ours: `templates/owed/push.md`.
const DEEPEST: usize = 2;

/// The path in the value of a variable that names a socket.
fn socket(value: &Path) -> PathBuf {
    let value = value.to_string_lossy();
    let value = value.strip_prefix("unix:").unwrap_or(&value);
    let value = value.strip_prefix("path=").unwrap_or(value).split([',', ';']).next().unwrap_or_default();
    // As many slashes as a tool likes: `unix:///run/x`.
    if value.starts_with('/') { Path::new("/").join(value.trim_start_matches('/')) } else { value.into() }
}

/// The file that the client's line writes its working directory to, if it may be one.
pub fn is_folder_file(path: &Path, temporary: &[PathBuf]) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let named = name.starts_with("claude-") && name.ends_with("-cwd");
    named && path.parent().is_some_and(|folder| temporary.iter().any(|known| known == folder))
}

/// A file of the user's own without another name. It lies where any command of the user may put something else: a link, a
/// pipe, a second name of another file.
pub(super) fn is_for_telling(file: impl AsFd) -> bool {
    let own = |uid| uid == rustix::process::geteuid().as_raw();
    let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
    fstat(file).is_ok_and(|found| is_file(found.st_mode) && found.st_nlink == 1 && own(found.st_uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Folders in which each of these is made, and where everything is in them.
    fn ground(folders: &[&str]) -> (tempfile::TempDir, PathBuf, Ground) {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        for folder in [&["project", "home/.claude/aops", "home/.aops", "home/data"], folders].concat() {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let env = Env {
            home: root.join("home"),
            config: root.join("home/.claude"),
            user_config: root.join("home/.aops"),
            data: root.join("home/data"),
            ..Env::default()
        };
        let ground = Ground::of(&env, &root.join("project"), &|_| None);
        (held, root, ground)
    }

    #[test]
    fn a_folder_that_leads_elsewhere_is_not_written_for_real() {
        let (_held, root, ground) = ground(&["tmp", "home/tmp", "project/tmp", "project/src", "home/.claude/aops/x"]);
        for (link, to) in [("away", "tmp"), ("guarded", "home/.claude"), ("inside", "project")] {
            symlink(root.join(to), root.join(link)).unwrap();
        }
        let free = ["tmp", "home/tmp", "project/tmp"].map(|name| root.join(name));
        let held = ["guarded/aops/x", "guarded/aops", "inside/src", "project", "home/data", "home", "gone"];
        let folders: Vec<PathBuf> = free.iter().cloned().chain(held.iter().map(|name| root.join(name))).collect();
        assert_eq!(ground.free(&mut Wishes::default(), &folders), free);
    }

    #[test]
    fn the_file_for_the_working_directory_is_no_link() {
        let (_held, root, mut ground) = ground(&["tmp"]);
        let file = root.join("tmp/claude-1-cwd");
        fs::write(root.join("home/x"), "").unwrap();
        symlink(root.join("home/x"), &file).unwrap();
        ground.told = Some(file.clone());
        assert_eq!(ground.plan(Profile::Trial).unwrap().told, Some(file));
    }
}
