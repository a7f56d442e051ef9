//! Folders, variables and time, read once at the start.
//!
//! The only module that reads the environment and the clock. Invariant: an `Env` never changes, so every
//! decision of one process sees the same values; a value that is not known at the start can be set once.

#![expect(clippy::disallowed_methods, reason = "the one place that reads the environment and the clock")]

pub use super::held_network::HeldNetwork;
pub use super::leading::SHELL_PREFIX;
use super::leading::leads;
use super::moved::{MovedVariable, moved};
pub use super::started::{ClientEnv, RunEnv, ToldOnce, Trial, UserEnv, names_us, starts_through_us};
use crate::model::client::{Ability, CLIENTS, Client};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{ffi::OsString, io, sync::OnceLock};

/// Our folders in the client's folder, with the keys, records and checkpoints of sessions.
pub const OWN_FOLDERS: [&str; 3] = ["aops", "projects", "checkpoints"];

#[derive(Clone, Debug, Default)]
pub struct Env {
    pub home: PathBuf,
    /// The client whose events this process answers.
    pub host: Client,
    /// Each client's configuration folder.
    pub others: [PathBuf; CLIENTS.len()],
    /// `$CLAUDE_CONFIG_DIR`, otherwise `$HOME/.claude`: where Claude Code keeps settings and sessions.
    pub config: PathBuf,
    /// Our own user configuration folder: `$XDG_CONFIG_HOME/aops` or the platform's.
    pub user_config: PathBuf,
    /// The administrator's folder, with the bundle that applies to everybody: `/etc/aops-hook`.
    pub administered: PathBuf,
    /// `$ACA_DATA` or the platform's data folder.
    pub data: PathBuf,
    pub cwd: PathBuf,
    /// The variables that determine our folders: a later change is an attempt to move them.
    pub folders: Vec<(String, String)>,
    pub client: ClientEnv,
    pub user: UserEnv,
    pub run: RunEnv,
    pub told: ToldOnce,
    /// Milliseconds since 1970, UTC.
    pub now_ms: i64,
    /// A dry run judges everything and writes nothing.
    pub dry_run: bool,
}

/// The run for which a client was started, and the key that only its driver knows.
pub const RUN: &str = "AOPS_RUN";
pub const RUN_KEY: &str = "AOPS_RUN_KEY";

/// The variable that marks the program of a step and all its children; its value is the stem of the step's
/// files.
pub const JOB: &str = "AOPS_JOB";

pub const MODE: &str = "AOPS_MODE";

/// Tells a verb that an agent called it, with the project of the agent's session.
pub const CALLED_IN: &str = "AOPS_CALLED_IN";
const PROJECT: &str = "CLAUDE_PROJECT_DIR";
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const FOLDER_VARIABLES: [&str; 5] =
    ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "ACA_DATA"];

impl ClientEnv {
    fn read() -> Self {
        let agent = text("AI_AGENT").unwrap_or_default();
        Self {
            pid: text("CLAUDE_PID").unwrap_or_default(),
            session: text("CLAUDE_CODE_SESSION_ID"),
            is_around: CLIENTS.iter().flat_map(|row| row.sets).any(|name| var(name).is_some())
                || agent.starts_with("claude-code_"),
            is_claude: var("CLAUDECODE").or_else(|| var("CLAUDE_CODE_SESSION_ID")).is_some()
                || agent.starts_with("claude-code"),
            agent,
            attended: var("CLAUDE_CODE_SESSION_ATTENDED").is_some_and(|v| v == "1"),
            env_file: path("CLAUDE_ENV_FILE"),
            traceparent: text("TRACEPARENT").filter(|text| is_traceparent(text)),
            shell_prefix: text(SHELL_PREFIX),
            called_in: path(CALLED_IN),
            is_plugin: var("CLAUDE_PLUGIN_ROOT").is_some(),
            plugin_root: path("CLAUDE_PLUGIN_ROOT"),
            ..Self::default()
        }
    }
}

impl Env {
    pub fn read() -> Self {
        let moved = moved_by_projects();
        let value = |name: &str| match moved.iter().find(|one| one.name == name) {
            Some(one) if one.value.is_some() || name != "HOME" => one.value.clone(),
            _ => var(name),
        };
        let path = |name: &str| value(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let text = |name: &str| Some(value(name)?.to_string_lossy().into_owned());
        Self {
            administered: system_folder(&system_root(), "aops-hook", "aops-hook"),
            client: ClientEnv::read(),
            user: UserEnv {
                person: text("LOGNAME").or_else(|| text("USER")).filter(|name| !name.is_empty()),
                mode: text(MODE),
                no_color: var("NO_COLOR").is_some(),
                is_dumb: var("TERM").is_none_or(|term| term == "dumb"),
                moved: moved.iter().map(|one| (one.name.clone(), one.by.clone())).collect(),
            },
            run: RunEnv {
                claimed: value(RUN).is_some(),
                proof: text(RUN).zip(text(RUN_KEY)),
                is_driving: false,
            },
            folders: FOLDER_VARIABLES
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), text(name)?)))
                .collect(),
            now_ms: now_ms(),
            ..Self::default()
        }
        .with_folders(&path)
    }

    /// The same with the folders in these variables.
    #[must_use]
    pub fn with_folders(self, path: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let home = path("HOME").unwrap_or_default();
        let mac = cfg!(target_os = "macos");
        let platform = |xdg: &str, unix: &str| {
            let base = path(xdg).unwrap_or_else(|| {
                if mac { home.join("Library/Application Support") } else { home.join(unix) }
            });
            base.join("aops")
        };
        Self {
            config: folder_of(Client::default(), &home, path),
            others: Client::ALL.map(|client| folder_of(client, &home, path)),
            user_config: platform("XDG_CONFIG_HOME", ".config"),
            data: path("ACA_DATA").unwrap_or_else(|| platform("XDG_DATA_HOME", ".local/share")),
            client: ClientEnv { project: path(PROJECT).unwrap_or_default(), ..self.client },
            home,
            ..self
        }
    }

    /// The variables that determine which folders a program started by us must not change, whatever variables
    /// it gets itself; an empty value means that the variable is not set here.
    pub fn guarded_folders(&self) -> Vec<(String, String)> {
        let client = &self.client;
        let project = Some(&client.project).filter(|project| !project.as_os_str().is_empty());
        let project = project.or(client.called_in.as_ref());
        let project = project.map(|project| (PROJECT, project.to_string_lossy().into_owned()));
        let value =
            |name: &str| self.folders.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let folders =
            FOLDER_VARIABLES.iter().map(|name| (*name, value(name).unwrap_or_default())).chain(project);
        // A path that is not UTF-8 is read from the variable itself.
        let is_whole = |value: &String| !value.contains(char::REPLACEMENT_CHARACTER);
        folders.filter(|(_, value)| is_whole(value)).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The same for an event of another client, whose process ID this is: what Claude Code says about itself
    /// is not about that client.
    #[must_use]
    pub fn of_host(self, host: Client, process: Option<i32>) -> Self {
        let ClientEnv { is_around, is_claude, traceparent, called_in, .. } = self.client;
        let pid = process.map(|pid| pid.to_string()).unwrap_or_default();
        let agent = host.name().to_owned();
        let client =
            ClientEnv { pid, agent, is_around, is_claude, traceparent, called_in, ..ClientEnv::default() };
        Self { host, client, ..self }
    }

    /// The same for a session that began in this folder.
    #[must_use]
    pub fn for_project(&self, project: &Path) -> Self {
        Self { client: ClientEnv { project: project.to_owned(), ..self.client.clone() }, ..self.clone() }
    }

    /// The same as if we were called inside a session of the client, and as a dry run.
    #[must_use]
    pub fn trying(&self, attended: bool) -> Self {
        let client = ClientEnv { is_around: true, attended, ..self.client.clone() };
        Self { client, dry_run: true, ..self.clone() }
    }

    /// A variable that makes the client's own shell run a project's code before ours, and the settings that
    /// set it. One that the person set before they started the client is theirs.
    pub fn led_past(&self) -> Option<(String, PathBuf)> {
        let leading = |(name, value): (String, OsString)| {
            (!value.is_empty() && leads(&name, &value.to_string_lossy())).then_some(name)
        };
        let set: Vec<String> = self.variables(|_| true).into_iter().filter_map(leading).collect();
        let client = text("CLAUDE_PID").filter(|_| !set.is_empty()).and_then(|pid| pid.parse().ok())?;
        let names: Vec<&str> = set.iter().map(String::as_str).collect();
        moved(client, &names, var, &folders_of_projects()).into_iter().next().map(|one| (one.name, one.by))
    }

    /// The client starts shell commands through us.
    pub fn is_jailing(&self) -> bool {
        self.client.shell_prefix.as_deref().is_some_and(starts_through_us)
    }

    /// Adds the working directory, for commands. A hook gets it from its event.
    #[must_use]
    pub fn standing_here(self) -> Self {
        Self { cwd: std::env::current_dir().unwrap_or_default(), ..self }
    }

    /// For processes that drive a run or look at its results.
    #[must_use]
    pub fn driving(&self) -> Self {
        let later = self.later();
        Self { run: RunEnv { is_driving: true, ..later.run }, ..later }
    }

    #[must_use]
    pub fn later(&self) -> Self {
        Self { now_ms: now_ms(), ..self.clone() }
    }

    /// `$AOPS_CLAUDE`, `$AOPS_CODEX`: the client program that runs start.
    pub fn client_program(&self, client: Client) -> Option<OsString> {
        var(&Self::variable_of(client))
    }

    pub fn variable_of(client: Client) -> String {
        format!("AOPS_{}", client.name().to_uppercase())
    }

    /// The configuration folder of this client: `~/.claude`, `~/.codex`.
    pub fn folder_of(&self, client: Client) -> &Path {
        if client.is_registered_by_name() { &self.others[client as usize] } else { &self.config }
    }

    /// The folder with this client's sessions, by project: Claude's are next to its transcripts, others' in
    /// our data folder.
    pub fn projects(&self) -> PathBuf {
        self.projects_of(self.host)
    }

    fn projects_of(&self, host: Client) -> PathBuf {
        if host.can(Ability::HoldsRecords) {
            return self.folder_of(host).join("projects");
        }
        self.data.join("sessions").join(host.name())
    }

    /// Every project folder of this client.
    pub fn own_projects(&self) -> Vec<PathBuf> {
        below(&self.projects())
    }

    /// Every project folder of every client.
    pub fn all_projects(&self) -> Vec<PathBuf> {
        Client::ALL.into_iter().flat_map(|host| below(&self.projects_of(host))).collect()
    }

    /// The folder of the project with this name, for each client.
    pub fn projects_named(&self, name: &str) -> Vec<PathBuf> {
        Client::ALL.into_iter().map(|host| self.projects_of(host).join(name)).collect()
    }

    pub fn managed(&self) -> PathBuf {
        #[cfg(test_switches)]
        if let Some(folder) = std::env::var_os("AOPS_TEST_MANAGED") {
            return folder.into();
        }
        system_folder(&system_root(), "claude-code", "ClaudeCode")
    }

    /// Where commands find their programs.
    pub fn path_of_commands(&self) -> OsString {
        var("PATH").unwrap_or_default()
    }

    /// Where we look for programs ourselves. A path that a project's settings set applies only to commands,
    /// not to our own lookups.
    pub fn search_path(&self) -> OsString {
        let client = text("CLAUDE_PID").and_then(|pid| pid.parse().ok());
        let moved = client.and_then(|client| moved(client, &["PATH"], var, &folders_of_projects()).pop());
        match moved {
            Some(one) => one.value.unwrap_or_else(|| SYSTEM_PATH.into()),
            None => self.path_of_commands(),
        }
    }

    /// The variables with these names, for a child process.
    pub fn variables(&self, wanted: impl Fn(&str) -> bool) -> Vec<(String, OsString)> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| wanted(name))
            .collect()
    }

    /// How long one refresh of the tracker's snapshot may take.
    pub fn refresh_budget(&self) -> Duration {
        unless_tested("AOPS_TEST_REFRESH_MS", Duration::from_secs(15))
    }

    /// How long a jail that was made in advance waits for its command. Meanwhile it keeps file systems busy
    /// that a person may want to unmount.
    pub fn jail_patience(&self) -> Duration {
        unless_tested("AOPS_TEST_JAIL_MS", Duration::from_secs(10))
    }

    /// How long `tryout` may read the past.
    pub fn tryout_budget(&self) -> Duration {
        unless_tested("AOPS_TEST_TRYOUT_MS", Duration::from_mins(1))
    }

    /// How long a piece of work may take. Tests share the cores with many others and need more.
    pub fn at_most(&self, limit: Duration) -> Duration {
        #[cfg(test_switches)]
        if let Some(times) = std::env::var("AOPS_TEST_PATIENCE").ok().and_then(|v| v.parse::<u32>().ok()) {
            return limit * times;
        }
        limit
    }

    pub fn on_path(&self, name: &str) -> Option<PathBuf> {
        let found = |path: &PathBuf| path.is_absolute() && path.is_file();
        std::env::split_paths(&self.search_path()).map(|folder| folder.join(name)).find(found)
    }

    /// The path of this program. A symlink on `PATH` is not resolved, since package managers point it at the
    /// newest version.
    pub fn program(&self) -> io::Result<PathBuf> {
        let real = std::env::current_exe()?.canonicalize()?;
        let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let same = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == real);
        Ok(self.on_path(&name).filter(same).unwrap_or(real))
    }

    pub fn from_here(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }
}

/// This time, unless a test sets another one.
#[cfg_attr(not(test_switches), expect(unused_variables, reason = "tests alone name it"))]
fn unless_tested(name: &str, usual: Duration) -> Duration {
    #[cfg(test_switches)]
    if let Some(ms) = std::env::var(name).ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    usual
}

/// Without a client of ours, as in a person's terminal, nothing but the person sets variables.
fn moved_by_projects() -> Vec<MovedVariable> {
    let client = text("CLAUDE_PID").filter(|_| !is_at_home()).and_then(|pid| pid.parse().ok());
    let Some(client) = client else { return Vec::new() };
    let names = [&FOLDER_VARIABLES[..], &[RUN]].concat();
    moved(client, &names, var, &folders_of_projects())
}

fn folders_of_projects() -> Vec<PathBuf> {
    path(PROJECT).into_iter().chain(std::env::current_dir().ok()).collect()
}

/// We were started by the path below this home at which `install` registers us, and no other variable is set:
/// nothing was moved.
fn is_at_home() -> bool {
    let mut moving = FOLDER_VARIABLES.iter().chain([&RUN]).filter(|name| **name != "HOME");
    let called = std::env::args_os().next().map(PathBuf::from);
    moving.all(|name| var(name).is_none())
        && path("HOME").is_some_and(|home| called == Some(home.join(".local/bin/aops-hook")))
}

/// A variable, if it is set and not empty.
fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Option<String> {
    var(name).map(|value| value.to_string_lossy().into_owned())
}

pub(super) fn path(name: &str) -> Option<PathBuf> {
    var(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Where this client keeps its configuration.
fn folder_of(client: Client, home: &Path, path: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
    let [variable, usual, below] = client.row().folder;
    let base =
        path(variable).unwrap_or_else(|| if usual.is_empty() { home.to_owned() } else { home.join(usual) });
    if below.is_empty() { base } else { base.join(below) }
}

/// The root of the administrator's folders. No variable moves it, except in tests.
pub fn system_root() -> PathBuf {
    #[cfg(test_switches)]
    if let Some(root) = std::env::var_os("AOPS_TEST_ROOT") {
        return root.into();
    }
    PathBuf::from("/")
}

/// An administrator's folder.
pub fn system_folder(root: &Path, name: &str, on_mac: &str) -> PathBuf {
    let mac = cfg!(target_os = "macos");
    let folder = if mac { format!("/Library/Application Support/{on_mac}") } else { format!("/etc/{name}") };
    below_root(root, Path::new(&folder))
}

/// An absolute path, moved below another root.
pub fn below_root(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn below(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path()).collect()
}

/// Milliseconds since 1970, for processes that live longer than one event.
pub fn now_ms() -> i64 {
    #[cfg(test_switches)]
    if let Some(fixed) = std::env::var("AOPS_TEST_NOW_MS").ok().and_then(|v| v.parse().ok()) {
        return fixed;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Lets tests make the hook panic, to see what it answers.
#[cfg(test_switches)]
#[expect(clippy::missing_panics_doc, reason = "it is there to panic")]
pub fn panic_if_wanted() {
    assert!(std::env::var_os("AOPS_TEST_PANIC").is_none(), "a test asked for it");
}

/// Lets tests fix the random number, so that no audit is drawn by chance.
#[cfg(test_switches)]
pub fn fixed_lot() -> Option<u32> {
    std::env::var("AOPS_TEST_LOT").ok()?.parse().ok()
}

/// `00-<32 hex>-<16 hex>-<2 hex>`, the format of W3C Trace Context.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &&str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    parts.iter().map(|part| part.len()).eq([2, 32, 16, 2]) && parts.iter().all(hex)
}

/// How many seconds east of UTC the local clock is at this moment, according to `TZ` or the system's zone.
pub fn east_of_utc(ms: i64) -> i32 {
    let seconds = ms.div_euclid(1000);
    #[expect(unsafe_code, reason = "the C library knows the zone; a crate that does brings twenty others")]
    // SAFETY: both point to values that outlive the call, and all zeros is a valid `tm`.
    let east = unsafe {
        let mut parts = std::mem::zeroed::<libc::tm>();
        let known = !libc::localtime_r(&raw const seconds, &raw mut parts).is_null();
        known.then_some(parts.tm_gmtoff)
    };
    east.and_then(|east| i32::try_from(east).ok()).unwrap_or(0)
}

/// The name of the user who runs this process; the user ID if there is no name.
pub fn user_name() -> String {
    let uid = rustix::process::getuid().as_raw();
    let mut room = vec![0_u8; 16 << 10];
    #[expect(unsafe_code, reason = "the C library knows all users; the file alone does not")]
    // SAFETY: all point to values that outlive the call, the buffer has the given length, all zeros is a
    // valid `passwd`, and a found one has a name in the buffer that ends with a zero byte.
    let name = unsafe {
        let mut user = std::mem::zeroed::<libc::passwd>();
        let mut found = std::ptr::null_mut();
        let into = room.as_mut_ptr().cast();
        let long = room.len();
        let failed = libc::getpwuid_r(uid, &raw mut user, into, long, &raw mut found);
        (failed == 0 && !found.is_null())
            .then(|| std::ffi::CStr::from_ptr(user.pw_name).to_string_lossy().into_owned())
    };
    name.unwrap_or_else(|| format!("uid {uid}"))
}

/// An ID of this boot of the machine; empty if the system has none. Read only once, since no process outlives
/// a boot.
pub fn boot_id() -> String {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(read_boot_id).clone()
}

fn read_boot_id() -> String {
    #[cfg(target_os = "macos")]
    return boot_session().unwrap_or_default();
    #[cfg(not(target_os = "macos"))]
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// `sysctl kern.bootsessionuuid`.
#[cfg(target_os = "macos")]
fn boot_session() -> Option<String> {
    let mut id = [0_u8; 64];
    let mut long = 64_usize;
    #[expect(unsafe_code, reason = "no safe crate here reads a sysctl")]
    // SAFETY: the name ends with a zero byte, the buffer is as long as `long` says, and nothing is set.
    let failed = unsafe {
        let name = c"kern.bootsessionuuid".as_ptr();
        libc::sysctlbyname(name, id.as_mut_ptr().cast(), &raw mut long, std::ptr::null_mut(), 0)
    };
    let id = std::ffi::CStr::from_bytes_until_nul(&id).ok().filter(|_| failed == 0)?;
    id.to_str().ok().map(str::to_owned)
}
