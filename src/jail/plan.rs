//! The table of profiles: what each does to which part of the file system.
//!
//! Looks which folders exist; writes nothing. Invariants: a place that lies deeper is applied later, so it wins; of two
//! wishes about one place the stricter wins; what guards the session is writable in no profile but `none`.

use crate::gate::guard::{Protected, ProtectedPlace};
use crate::model::profile::Profile;
use crate::system::env::Env;
use rustix::fs::{Access, CWD};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What becomes of a place, in rising order of strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// As it is, and on the same mount as the folder above it; it cannot be renamed or removed.
    Held,
    /// The same, but on a mount of its own, which goes along into every namespace that is made of this one. The only way
    /// of a symlink, which stays what it is.
    Pinned,
    /// Changes go into a throwaway layer.
    Layer,
    Writable,
    ReadOnly,
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub way: Way,
    /// Without it the jail does not hold.
    pub needed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Everything that is not named below is read-only.
    pub read_only: bool,
    /// An empty network with a loopback device of its own.
    pub own_network: bool,
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
    /// The client's own temporary files.
    pub clients: Vec<PathBuf>,
    /// The one among them that this command tells its working directory in.
    pub told: Option<PathBuf>,
    /// Sockets of programs that would do something outside of a throwaway layer, or folders of such.
    pub services: Vec<PathBuf>,
    pub protected: Protected,
    /// Folders in which a settings file may be missing that could be made.
    pub settings: Vec<(PathBuf, Vec<&'static str>)>,
    /// Folders of configuration and texts, in which files may be symlinks that lead elsewhere.
    pub texts: Vec<PathBuf>,
    /// The administrator's folder: a superuser could write there.
    pub administered: PathBuf,
    pub keys: PathBuf,
    pub root: bool,
    pub layer_mb: u64,
    pub network: bool,
    /// The session's folder, in which a jail may wait for the command.
    pub session: Option<PathBuf>,
}

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
        let protected = Protected {
            home: text(&env.home),
            config: text(&env.config),
            user_config: text(&env.user_config),
            project: text(project),
            ..Protected::default()
        };
        let absolute = |path: &PathBuf| path.is_absolute() && path.parent().is_some();
        let uid = rustix::process::getuid().as_raw();
        let own = variable("TMPDIR").into_iter().filter(absolute);
        let temporary: Vec<PathBuf> = own.chain(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from)).collect();
        let clients = variable("CLAUDE_CODE_TMPDIR").into_iter().filter(absolute);
        let clients = clients.chain(temporary.iter().map(|folder| folder.join(format!("claude-{uid}")))).collect();
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
            clients,
            protected,
            settings: vec![
                (env.config.clone(), vec!["settings.json"]),
                (project.join(".claude"), vec!["settings.json", "settings.local.json"]),
            ],
            texts: vec![env.user_config.clone(), project.join(".aops")],
            administered: env.administered.clone(),
            keys: env.config.join("aops/keys"),
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
    pub fn plan(&self, profile: Profile) -> Plan {
        let mut wishes = Wishes::default();
        match profile {
            Profile::None => {}
            Profile::Work => self.work(&mut wishes),
            Profile::Read => {
                wishes.add_all(&self.temporary, Way::Writable);
                wishes.add(&self.project, Way::ReadOnly, true);
                self.shut(&mut wishes);
            }
            Profile::Trial => {
                wishes.add(&self.project, Way::Layer, true);
                wishes.add_all(self.temporary.iter().chain(&self.caches), Way::Layer);
                wishes.add_all(&self.services, Way::Hidden);
                wishes.add_all(DATABASES.iter().filter(|_| !self.network), Way::Hidden);
                self.shut(&mut wishes);
            }
        }
        if profile != Profile::None {
            wishes.add(&self.keys, Way::Hidden, false);
            // Nothing can be renamed above them, so they come after what is pinned.
            let open = |path: &&&str| profile == Profile::Work || path.starts_with("/proc");
            wishes.add_all(SYSTEM.iter().filter(|_| self.root).filter(open).map(Path::new), Way::ReadOnly);
        }
        let project = wishes.look_up(&self.project).unwrap_or_else(|| self.project.clone());
        let told = self.told.as_ref().and_then(|file| wishes.look_up(file));
        Plan {
            told,
            read_only: profile >= Profile::Read,
            own_network: profile == Profile::Trial && !self.network,
            places: wishes.by_depth(),
            layer_mb: self.layer_mb,
            project,
        }
    }

    /// What is read-only inside of temporary folders too, and the client's files, which are not.
    fn shut(&self, wishes: &mut Wishes) {
        wishes.add_all(&self.clients, Way::Writable);
        let project = wishes.look_up(&self.project).unwrap_or_default();
        for folder in &self.kept {
            let Some(folder) = wishes.look_up(folder) else { continue };
            // A home that holds the project is not thrown away with it.
            if wishes.is_inside(&folder) && folder != project {
                wishes.add(&folder, Way::ReadOnly, true);
            }
        }
    }

    fn work(&self, wishes: &mut Wishes) {
        let program = std::env::current_exe().unwrap_or_default().to_string_lossy().into_owned();
        let protected = Protected { binaries: vec![program], ..self.protected.clone() }.places();
        for (folder, names) in &self.settings {
            if names.iter().any(|name| !folder.join(name).exists()) {
                lock_folder(folder, &protected, wishes);
            }
        }
        for place in &protected {
            wishes.add(Path::new(&place.path), Way::ReadOnly, true);
        }
        if self.root {
            wishes.add(&self.administered, Way::ReadOnly, true);
        }
        let (home, project) = (wishes.look_up(&self.home), wishes.look_up(&self.project));
        let is_above = |path: &Path| [&home, &project].into_iter().flatten().any(|known| known.starts_with(path));
        for link in self.texts.iter().flat_map(|folder| links_below(folder, DEEPEST)) {
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

    /// All that a throwaway layer depends on, and which folders of the client are there: where these bytes are the same, so is
    /// the jail.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 << 13);
        let uid = rustix::process::geteuid().as_raw();
        bytes.extend(self.layer_mb.to_ne_bytes());
        bytes.extend(uid.to_ne_bytes());
        let lists = [&self.kept, &self.temporary, &self.caches, &self.clients, &self.services];
        for path in [&self.project, &self.home, &self.keys].into_iter().chain(lists.into_iter().flatten()) {
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes.extend(self.clients.iter().map(|folder| u8::from(folder.exists())));
        bytes.push(self.network.into());
        bytes
    }
}

/// No new file can be made in this folder; what it holds already stays as it is.
fn lock_folder(folder: &Path, protected: &[ProtectedPlace], wishes: &mut Wishes) {
    let Ok(items) = fs::read_dir(folder) else { return };
    wishes.add(folder, Way::ReadOnly, true);
    let guarded = |path: &Path| protected.iter().any(|place| Path::new(&place.path).starts_with(path));
    for item in items.flatten().map(|item| item.path()).filter(|path| !guarded(path)) {
        if item.symlink_metadata().is_ok_and(|meta| meta.is_dir() || meta.is_file()) {
            wishes.add(&item, Way::Writable, false);
        }
    }
}

/// The path in the value of a variable that names a socket.
fn socket(value: &Path) -> PathBuf {
    let value = value.to_string_lossy();
    let value = value.strip_prefix("unix:").unwrap_or(&value);
    let value = value.strip_prefix("path=").unwrap_or(value).split([',', ';']).next().unwrap_or_default();
    // As many slashes as a tool likes: `unix:///run/x`.
    if value.starts_with('/') { Path::new("/").join(value.trim_start_matches('/')) } else { value.into() }
}

/// What is wanted, by real path. The keys are compared as bytes: comparing paths part by part took a tenth of the jail's time.
#[derive(Default)]
struct Wishes {
    all: BTreeMap<OsString, (Way, bool)>,
    /// What was looked up: most places share the folders above them.
    known: BTreeMap<OsString, Option<PathBuf>>,
    /// The symlinks on the way to them: each in a real folder.
    links: BTreeSet<OsString>,
}

impl Wishes {
    fn add(&mut self, path: &Path, way: Way, needed: bool) {
        let Some(path) = self.look_up(path).filter(|path| path.parent().is_some()) else { return };
        let held = self.all.entry(path.into()).or_insert((way, needed));
        *held = (held.0.max(way), held.1 || needed);
    }

    /// The path as the disk names it; nothing where nothing is there. Each folder on the way is looked at once.
    fn look_up(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.get(path.as_os_str()) {
            return known.clone();
        }
        // A link that leads back to itself leads nowhere.
        self.known.insert(path.into(), None);
        let found = match (path.parent(), path.components().next_back()) {
            (Some(folder), Some(Component::Normal(name))) => {
                self.look_up(folder).and_then(|folder| self.real(folder.join(name)))
            }
            (Some(folder), Some(Component::ParentDir)) => {
                self.look_up(folder).map(|folder| folder.parent().unwrap_or(&folder).to_owned())
            }
            _ => Some(path.to_owned()).filter(|path| path.is_absolute()),
        };
        self.known.insert(path.into(), found.clone());
        found
    }

    /// What this name in a real folder is; nothing where nothing is there.
    fn real(&mut self, place: PathBuf) -> Option<PathBuf> {
        if !place.symlink_metadata().ok()?.is_symlink() {
            return Some(place);
        }
        let to = place.parent()?.join(place.read_link().ok()?);
        self.links.insert(place.into());
        self.look_up(&to)
    }

    fn add_all<P: AsRef<Path>>(&mut self, paths: impl IntoIterator<Item = P>, way: Way) {
        for path in paths {
            self.add(path.as_ref(), way, false);
        }
    }

    fn is_inside(&self, folder: &Path) -> bool {
        let loose = |way: Way| matches!(way, Way::Writable | Way::Layer);
        folder.ancestors().any(|above| self.all.get(above.as_os_str()).is_some_and(|(way, _)| loose(*way)))
    }

    /// The folders above each place can be renamed by a command that may write in the folder above them, and a symlink on the way
    /// can be replaced: then another file could take the place's name. `linked`: no mount may lie between this folder and
    /// others.
    fn pin(&mut self, linked: &dyn Fn(&Path) -> bool) {
        let links = std::mem::take(&mut self.links);
        let places: Vec<OsString> = self.all.keys().chain(&links).cloned().collect();
        // Most places share the folders above them.
        let mut shut: BTreeSet<OsString> = BTreeSet::new();
        for place in places {
            for path in Path::new(&place).ancestors().skip(usize::from(!links.contains(&place))) {
                let (Some(above), name) = (path.parent(), path.as_os_str()) else { break };
                if self.all.contains_key(name) || shut.contains(name) {
                    continue;
                }
                if may_write(above) {
                    let way = if linked(path) && !links.contains(name) { Way::Held } else { Way::Pinned };
                    self.all.insert(name.to_owned(), (way, true));
                } else {
                    shut.insert(name.to_owned());
                }
            }
        }
    }

    fn by_depth(self) -> Vec<Place> {
        let place = |(path, (way, needed)): (OsString, _)| Place { path: path.into(), way, needed };
        let mut places: Vec<Place> = self.all.into_iter().map(place).collect();
        places.sort_by_cached_key(|place| place.path.components().count());
        places
    }
}

/// How deep texts lie in a folder of ours: `templates/owed/push.md`.
const DEEPEST: usize = 2;
/// Records of runs lie beside a project's texts; there may be many.
const RUNS: &str = "runs";

/// The symlinks in this folder and below it.
fn links_below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut links = Vec::new();
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        match item.file_type() {
            Ok(kind) if kind.is_symlink() => links.push(item.path()),
            Ok(kind) if kind.is_dir() && depth > 0 && item.file_name() != RUNS => {
                links.extend(links_below(&item.path(), depth - 1));
            }
            _ => {}
        }
    }
    links
}

/// Of real paths.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

fn may_write(folder: &Path) -> bool {
    rustix::fs::accessat(CWD, folder, Access::WRITE_OK, rustix::fs::AtFlags::EACCESS).is_ok()
}

/// The file that the client's line writes its working directory to, if it may be one.
pub fn is_folder_file(path: &Path, temporary: &[PathBuf]) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let named = name.starts_with("claude-") && name.ends_with("-cwd");
    named && path.parent().is_some_and(|folder| temporary.iter().any(|known| known == folder))
}
