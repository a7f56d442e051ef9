//! The paths that a jail deals with: folders of a session, of its user and of the system.
//!
//! Reads variables and finds worktrees; writes nothing.

use crate::config::texts;
use crate::gate::guard::{Beside, Protected, system_folders};
use crate::system::env::Env;
use crate::system::git;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default)]
pub struct Ground {
    pub project: PathBuf,
    pub home: PathBuf,
    /// Folders that stay read-only inside of a writable folder or a throwaway layer.
    pub kept: Vec<PathBuf>,
    pub temporary: Vec<PathBuf>,
    pub caches: Vec<PathBuf>,
    /// The client's temporary file in which this command reports its working directory.
    pub told: Option<PathBuf>,
    /// Sockets, or folders of sockets, of programs that would act outside of a throwaway layer.
    pub services: Vec<PathBuf>,
    pub guards: Guards,
    /// Folders that contain our lock files.
    pub locks: Vec<PathBuf>,
    pub root: bool,
    pub layer_mb: u64,
    pub network: GroundNetwork,
    /// Paths that the user's rules forbid to read. A command that may have been answered in a person's place
    /// does not see them.
    pub hidden: Vec<PathBuf>,
    /// The session's folder, in which a jail may wait for the command.
    pub session: Option<PathBuf>,
    /// The folder of the session whose end ends the command.
    pub watched: Option<PathBuf>,
}

/// Files that guard the session; they are read-only for every command.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    pub protected: Protected,
    /// Folders in which a settings file may be missing, so that a command could create it.
    pub settings: Vec<(PathBuf, Vec<&'static str>)>,
    /// Folders of configuration and texts, in which a file may be a symlink that leads elsewhere.
    pub texts: Vec<PathBuf>,
    /// The administrator's folders, including those of the clients' settings: a superuser could write there.
    pub administered: Vec<PathBuf>,
    pub keys: PathBuf,
}

impl Guards {
    /// Where checkpoints of the home folder lie if the home itself is a repository.
    pub(super) fn kept_at_home(&self) -> Option<PathBuf> {
        self.keys.ancestors().nth(2).map(|config| config.join("checkpoints"))
    }
}

/// Which network a command has.
#[derive(Clone, Debug, Default)]
pub struct GroundNetwork {
    /// Commands use the machine's network, even in profiles that otherwise have no network or an empty one.
    pub open: bool,
    /// Sockets, or folders of sockets, of outside programs that are hidden because the session's network is
    /// confined.
    pub shut: Option<Vec<PathBuf>>,
    /// No network at all: the session's network is gone, or the session is unknown.
    pub offline: bool,
}

/// The system's temporary folders. Some systems make them symlinks.
pub(super) const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Those of them that read-only programs do not write to on their own.
const SELDOM: [&str; 2] = ["/var/tmp", "/dev/shm"];
/// Folders in the home where tools keep files that they can fetch or make again.
const CACHES: [&str; 17] = [
    ".bun", ".cache", ".cargo", ".composer", ".deno", ".gem", ".gradle", ".ivy2", ".local/share/pnpm", ".m2",
    ".npm", ".nuget", ".pnpm-store", ".rustup", ".sbt", ".yarn", "go",
];
/// Variables that name such a folder.
const CACHE_VARIABLES: [&str; 10] = [
    "CARGO_HOME", "CARGO_TARGET_DIR", "GOCACHE", "GOMODCACHE", "GOPATH", "GRADLE_USER_HOME", "PIP_CACHE_DIR",
    "UV_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache",
];
/// Sockets, or folders of sockets, of programs that would act outside of a throwaway layer.
const SERVICES: [&str; 9] = [
    "/run/containerd", "/run/crio", "/run/dbus", "/run/docker.sock", "/run/podman", "/run/screen",
    "/run/snapd.socket", "/run/systemd/private", "/run/user",
];
/// Sockets in the home, and variables that name such a socket: `unix:///path`, `unix:path=/path,guid=…`,
/// `/path,123,0`.
const SERVICES_AT_HOME: [&str; 8] = [
    ".colima", ".docker/desktop", ".docker/run", ".gnupg/S.gpg-agent", ".gnupg/S.gpg-agent.ssh", ".lima",
    ".orbstack/run", ".rd",
];
#[rustfmt::skip]
const SERVICE_VARIABLES: [&str; 9] = [
    "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "KITTY_LISTEN_ON", "NVIM", "SSH_AUTH_SOCK",
    "TMUX", "VSCODE_IPC_HOOK_CLI", "WEZTERM_UNIX_SOCKET",
];
/// Databases of this machine: unreachable for a command that cannot reach the machine's network.
pub(super) const DATABASES: [&str; 3] = ["/run/mysqld", "/run/postgresql", "/run/redis"];

impl Ground {
    /// `project`: where the session began. `variable`: looks up the command's environment.
    pub fn of(env: &Env, project: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let worktree = git::worktree_at(project, &env.cwd);
        // Its `.aops` is in force if the session began in a subfolder.
        let root = Some(texts::root_from(env, project)).filter(|root| root != project);
        let protected = Protected {
            home: text(&env.home),
            config: text(&env.config),
            sessions: text(&env.data.join("sessions")),
            user_config: text(&env.user_config),
            project: text(project),
            beside: Beside {
                root: root.as_deref().map(text).unwrap_or_default(),
                worktree: worktree.as_deref().map(text).unwrap_or_default(),
            },
            ..Protected::default()
        };
        let absolute = |path: &PathBuf| path.is_absolute() && path.parent().is_some();
        let own = ["TMPDIR", "CLAUDE_CODE_TMPDIR"].into_iter().filter_map(variable).filter(absolute);
        let temporary: Vec<PathBuf> = own.chain(TEMPORARY.map(PathBuf::from)).collect();
        let in_home = CACHES.iter().map(|name| env.home.join(name));
        let named = CACHE_VARIABLES.iter().filter_map(|name| variable(name)).filter(absolute);
        let tmux = variable("TMUX_TMPDIR").unwrap_or_else(|| PathBuf::from(TEMPORARY[0]));
        let tmux = tmux.join(format!("tmux-{}/default", rustix::process::geteuid().as_raw()));
        let sockets = SERVICE_VARIABLES.iter().filter_map(|name| variable(name)).map(|value| socket(&value));
        let sockets = sockets.chain([tmux]);
        let services =
            SERVICES.iter().map(PathBuf::from).chain(SERVICES_AT_HOME.iter().map(|name| env.home.join(name)));
        Self {
            services: services.chain(sockets.filter(absolute)).collect(),
            project: project.to_owned(),
            home: env.home.clone(),
            kept: vec![env.home.clone(), env.config.clone(), env.user_config.clone(), env.data.clone()],
            temporary,
            caches: in_home.chain(named).collect(),
            guards: Guards {
                protected,
                settings: settings_of(env, project, worktree.as_deref()),
                texts: [project]
                    .into_iter()
                    .chain(root.as_deref())
                    .map(|folder| folder.join(".aops"))
                    .chain([env.user_config.clone()])
                    .collect(),
                administered: administered(env),
                keys: env.config.join("aops/keys"),
            },
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

    /// The temporary folders that programs write to on their own, without nested ones.
    pub(super) fn private(&self) -> Vec<PathBuf> {
        let often =
            || self.temporary.iter().filter(|folder| SELDOM.iter().all(|known| *folder != Path::new(known)));
        let is_inside = |folder: &PathBuf| often().any(|above| folder != above && folder.starts_with(above));
        let mut folders: Vec<PathBuf> = often().filter(|folder| !is_inside(folder)).cloned().collect();
        folders.dedup();
        folders
    }
}

/// Our own administrator's folder and those of the clients next to it. Claude Code's has another name on
/// macOS.
fn administered(env: &Env) -> Vec<PathBuf> {
    let names = system_folders().filter(|name| *name != "claudecode");
    let mut folders = vec![env.managed()];
    if let Some(all) = env.administered.parent() {
        folders.extend(names.map(|name| all.join(name)));
    }
    folders
}

/// The folders of the client, of the project and of the command's worktree, each with the settings files that
/// guard.
fn settings_of(env: &Env, project: &Path, worktree: Option<&Path>) -> Vec<(PathBuf, Vec<&'static str>)> {
    let trees = std::iter::once(project).chain(worktree);
    let in_trees = trees.map(|tree| (tree.join(".claude"), vec!["settings.json", "settings.local.json"]));
    std::iter::once((env.config.clone(), vec!["settings.json"])).chain(in_trees).collect()
}

/// The path in the value of a variable that names a socket.
fn socket(value: &Path) -> PathBuf {
    let value = value.to_string_lossy();
    let value = value.strip_prefix("unix:").unwrap_or(&value);
    let value = value.strip_prefix("path=").unwrap_or(value).split([',', ';']).next().unwrap_or_default();
    // Tools write any number of slashes: `unix:///run/x`.
    if value.starts_with('/') { Path::new("/").join(value.trim_start_matches('/')) } else { value.into() }
}
