//! Where a path leads: the system, the home folder, the project, a folder of generated files, a temporary
//! one.

use crate::generated::{is_made_everywhere, may_be_made};
use crate::syntax::{Bit, Simple, Word};

/// The content of a file that a command receives as input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fed {
    Text(String),
    /// The file exists, but is too long to read.
    TooLong,
}

/// What may be asked about the files here.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Reads the file at this path that a command receives as input, if it exists.
    pub read: fn(&str) -> Option<Fed>,
    /// The existing files that an absolute pattern matches; with hidden ones if `true`. `None` if there are
    /// too many to look at.
    pub find: fn(&Word, bool) -> Option<Vec<String>>,
}

/// Where the line runs. Paths are absolute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    pub cwd: &'a str,
    pub home: &'a str,
    /// The root of the working tree.
    pub project: Option<&'a str>,
    /// The files on the disk, if they may be looked at.
    pub disk: Option<Disk>,
}

/// In rising order of the loss if it is removed with everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    /// A temporary or generated folder.
    Scratch,
    Inside,
    /// A folder of sources inside the project.
    Source,
    /// Not known statically.
    Unknown,
    /// Neither the project nor temporary.
    Outside,
    /// A file or folder of the system.
    System,
    /// The project, its repository, or a folder that holds it.
    Project,
    /// The root, a system folder, or a home folder.
    Root,
}

/// System folders, and folders that contain home folders.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin",
    "/srv", "/sys", "/usr", "/var", "/System", "/Library", "/Applications", "/private", "/nix", "/snap",
    "/usr/local", "/usr/bin", "/usr/lib", "/usr/share", "/usr/sbin", "/var/lib", "/var/log", "/var/www",
];
const HOLDS_HOMES: &[&str] = &["/home", "/Users", "/mnt", "/media", "/Volumes", "/export/home"];
const TEMPORARY: &[&str] = &[
    "/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders",
    "/dev/shm",
];
/// Variables that name a temporary or generated folder.
const SCRATCH_VARIABLES: &[&str] = &[
    "TMPDIR", "TMP", "TEMP", "TEMPDIR", "RUNNER_TEMP", "BATS_TMPDIR", "BATS_TEST_TMPDIR", "XDG_RUNTIME_DIR",
    "CARGO_TARGET_DIR",
];
/// Folders in a home that tools fill again.
const CACHES: &[&str] = &[
    ".cache", ".cargo/registry", ".gradle/caches", ".m2/repository", ".npm/_cacache", ".npm/_npx",
    ".nuget/packages", ".pnpm-store", ".yarn/cache", "Library/Caches", "go/pkg/mod",
];
/// Folders whose loss is lost work.
const SOURCES: &[&str] = &[
    ".circleci", ".claude", ".github", "api", "app", "apps", "assets", "backend", "client", "cmd",
    "components", "config", "content", "crates", "data", "database", "db", "doc", "docs", "frontend",
    "include", "infra", "internal", "lib", "libs", "migrations", "modules", "packages", "pages", "pkg",
    "public", "scripts", "server", "services", "source", "sources", "spec", "specs", "src", "test", "tests",
    "uploads", "web",
];

fn is_source_folder(last: &str) -> bool {
    SOURCES.iter().any(|name| is_like(last, name))
}

/// Whether the path ends in a folder of sources, whatever comes before it.
fn is_sources(path: &Word) -> bool {
    path.last_part().literal().is_some_and(|last| is_source_folder(&last))
}

impl Place<'_> {
    /// The gravest place that this word may name, over all folders that the command may run in.
    pub(super) fn spot(&self, simple: &Simple, word: &Word) -> Spot {
        let here = Word::of(self.cwd);
        let folders: &[Word] =
            if simple.folders.is_empty() { std::slice::from_ref(&here) } else { &simple.folders };
        let spot = folders.iter().map(|folder| self.from(folder, word)).max().unwrap_or(Spot::Inside);
        // `TMPDIR=/x rm -rf $TMPDIR/y`: the shell expands `$TMPDIR` before the assignment; the writer expects
        // it after.
        let elsewhere = |value: &Word| self.text(&value.tidied().lossy()) != Spot::Scratch;
        let set = |name: &String| {
            let value =
                simple.assigned.iter().position(|set| set == name).and_then(|at| simple.values.get(at));
            SCRATCH_VARIABLES.contains(&name.as_str()) && value.is_some_and(elsewhere)
        };
        if word.unknown.iter().chain(&word.filled).any(set) { spot.max(Spot::Unknown) } else { spot }
    }

    fn from(&self, folder: &Word, word: &Word) -> Spot {
        if word.starts_with("~") {
            // The home of another user.
            let deep = word.bits.iter().filter(|bit| **bit == Bit::Char('/')).count();
            return if deep > 1 { Spot::Outside } else { Spot::Root };
        }
        if word.places == 1 && word.bits.first() == Some(&Bit::Any) {
            // `$(pwd)/dist`: below this folder, or below the root of its project.
            let inside = |root: &&str| below(&folder.lossy(), root).is_some();
            let roots = [Some(folder.clone()), self.project.filter(inside).map(Word::of)];
            let under =
                |root: &Word| Word { bits: [&root.bits, &word.bits[1..]].concat(), ..Word::default() };
            return roots
                .iter()
                .flatten()
                .map(|root| self.from(folder, &under(root)))
                .max()
                .unwrap_or(Spot::Unknown);
        }
        // What a search finds is below the folder it searches: `find /tmp/x -exec rm -rf {} +`.
        let all = |name: &Word| name.lossy().strip_suffix("/**").is_some_and(is_temporary);
        let deep =
            |name: &Word| name.bits.windows(2).any(|pair| pair == [Bit::Star, Bit::Star]) && !all(name);
        if !word.named.is_empty()
            && word.named.iter().all(|name| deep(name) && self.from(folder, name) == Spot::Scratch)
        {
            return Spot::Scratch;
        }
        let made =
            folder.printed.iter().any(|name| &**name == "mktemp") && folder.bits.last() == Some(&Bit::Any);
        if made
            && !word.starts_with("/")
            && word.bits.first() != Some(&Bit::Any)
            && !word.lossy().contains("..")
        {
            return Spot::Scratch;
        }
        let path = word.from_folder(folder);
        match path.bits.iter().position(|bit| *bit == Bit::Any) {
            Some(at) => self.partly(word, &path, at),
            None if word.starts_with("/") => self.text(&path.tidied().lossy()),
            None => self.beside(&path.tidied().lossy()),
        }
    }

    /// If the project is itself below a temporary folder, `../other` is another project and not temporary.
    fn beside(&self, path: &str) -> Spot {
        let spot = self.text(path);
        let folder = path.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside = spot == Spot::Scratch
            && self.holds_project(folder)
            && !self.projects().any(|root| below(path, root).is_some());
        if beside && !TEMPORARY.contains(&folder) { Spot::Outside } else { spot }
    }

    /// A path whose beginning only is known.
    fn partly(&self, word: &Word, path: &Word, at: usize) -> Spot {
        let made = word.printed.iter().any(|name| &**name == "mktemp");
        let first = word.unknown.iter().find(|name| !name.is_empty());
        let scratch = first.is_some_and(|name| SCRATCH_VARIABLES.contains(&name.as_str()));
        let begins = word.bits.first() == Some(&Bit::Any);
        let climbs = path.lossy().contains("..");
        if begins && (made || scratch) && !climbs {
            return Spot::Scratch;
        }
        if !word.named.is_empty() && word.named.iter().all(|name| is_made_everywhere(&name.lossy())) {
            return Spot::Scratch;
        }
        let known = Word { bits: path.bits[..at].to_vec(), ..Word::default() };
        let before = known.lossy();
        let folder = before.rsplit_once('/').map_or("", |(folder, _)| folder);
        let glued = !before.ends_with('/');
        match self.text(&Word::of(folder).tidied().lossy()) {
            _ if begins || climbs => Spot::Unknown,
            Spot::Scratch => Spot::Scratch,
            // `module$n/src`
            Spot::Inside | Spot::Source | Spot::Project if is_sources(path) => Spot::Source,
            // `prefix-$n` is one of several files in a known folder; `./$x` may be the folder itself.
            Spot::Inside | Spot::Source => Spot::Inside,
            Spot::Project if glued => Spot::Inside,
            Spot::Root | Spot::System => Spot::System,
            _ => Spot::Unknown,
        }
    }

    /// A known path, normalised, perhaps with a pattern.
    pub(super) fn text(&self, path: &str) -> Spot {
        let whole = path.trim_end_matches('/');
        let all = ["/*", "/.*", "/**", "/?*", "/.[!.]*"].iter().find_map(|end| whole.strip_suffix(end));
        let whole = all.unwrap_or(whole);
        let temporary = |root: &&str| below(whole, root).is_some();
        if let Some(rest) = self.projects().find_map(|root| below(whole, root)) {
            return self.inside(rest, whole);
        }
        if self.holds_project(whole) && !(all.is_some() && TEMPORARY.contains(&whole)) {
            return if is_top(whole) || whole == self.home { Spot::Root } else { Spot::Project };
        }
        if whole == self.home || is_top(whole) {
            return Spot::Root;
        }
        if let Some(rest) = below(whole, self.home).filter(|_| !self.home.is_empty()) {
            let cached = CACHES.iter().any(|cache| below(rest, cache).is_some()) && rest != ".cache";
            let cached = cached || is_made_everywhere(rest);
            return if cached { Spot::Scratch } else { Spot::Outside };
        }
        if TEMPORARY.iter().any(temporary) || whole.starts_with("/run/user/") {
            return Spot::Scratch;
        }
        if SYSTEM.iter().any(|root| below(whole, root).is_some()) {
            return Spot::System;
        }
        if is_made_everywhere(whole) { Spot::Scratch } else { Spot::Outside }
    }

    fn projects(&self) -> impl Iterator<Item = &str> {
        // If the line runs in the home folder, that folder is not a project.
        [Some(self.cwd), self.project]
            .into_iter()
            .flatten()
            .filter(|root| !root.is_empty() && *root != self.home)
    }

    fn holds_project(&self, path: &str) -> bool {
        self.projects().any(|root| below(root, path).is_some())
    }

    /// A path inside the project, or the project itself.
    fn inside(&self, rest: &str, whole: &str) -> Spot {
        let last = rest.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        if rest.is_empty() || is_like(rest, ".git") || self.holds_project(whole) {
            return Spot::Project;
        }
        match last.as_str() {
            "*" | ".*" | "**" | "*.*" if !rest.contains('/') => Spot::Project,
            _ if may_be_made(rest) => Spot::Scratch,
            _ if is_source_folder(&last) => Spot::Source,
            _ => Spot::Inside,
        }
    }

    /// Whether it names a temporary folder itself (`/tmp`), not its content (`/tmp/*`).
    pub(super) fn is_temporary(&self, simple: &Simple, word: &Word) -> bool {
        let here = Word::of(self.cwd);
        let folder = simple.folders.first().unwrap_or(&here);
        is_temporary(word.from_folder(folder).tidied().lossy().trim_end_matches('/'))
    }

    /// Whether people put it there themselves, next to the system: `/opt/app`, `/srv/site`,
    /// `/Applications/X.app`.
    pub(super) fn is_added(&self, simple: &Simple, word: &Word) -> bool {
        const ADDED: &[(&str, usize)] = &[
            ("/opt", 1),
            ("/srv", 1),
            ("/var/www", 1),
            ("/var/log", 1),
            ("/var/cache", 1),
            ("/Applications", 1),
            ("/usr/local", 2),
        ];
        let here = Word::of(self.cwd);
        let path = word.from_folder(simple.folders.first().unwrap_or(&here)).tidied();
        let text = path.literal().unwrap_or_default();
        let deep = |rest: &str| rest.split('/').filter(|part| !part.is_empty()).count();
        ADDED.iter().any(|(root, least)| below(&text, root).is_some_and(|rest| deep(rest) >= *least))
    }

    /// Whether it is below a temporary folder, and not in a home or project.
    pub(super) fn is_scratch(&self, simple: &Simple, word: &Word) -> bool {
        self.spot(simple, word) == Spot::Scratch
    }
}

/// A temporary folder itself: removing it removes what everybody keeps there.
fn is_temporary(path: &str) -> bool {
    let of_user = |rest: &str| rest.is_empty() || rest.bytes().all(|byte| byte.is_ascii_digit());
    TEMPORARY.contains(&path) || below(path, "/run/user").is_some_and(of_user)
}

/// Below a temporary folder, wherever the project is.
pub fn is_below_temporary(path: &str) -> bool {
    TEMPORARY.iter().any(|root| below(path, root).is_some())
}

/// The root, or a folder whose loss breaks the system or removes everybody's home.
fn is_top(path: &str) -> bool {
    let homes = |root: &&str| below(path, root).is_some_and(|rest| !rest.contains('/'));
    path.is_empty() || SYSTEM.contains(&path) || HOLDS_HOMES.iter().any(homes)
}

/// Whether a name matches a pattern such as `.git*`. Linear in both for one star, never worse than their
/// product.
fn is_like(pattern: &str, name: &str) -> bool {
    let pattern = pattern.as_bytes();
    let name = name.as_bytes();
    let mut at = 0;
    let mut read = 0;
    let mut star = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((back, from)) = star else { return false };
                at = back + 1;
                read = from + 1;
                star = Some((back, from + 1));
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Whether it is a folder that a tool recreates, or is inside one.
pub fn is_generated(path: &str) -> bool {
    may_be_made(path) && !path.starts_with(['/', '~']) && !path.contains("..")
}

/// The part of this path after `root`; empty for the root itself.
pub(super) fn below<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
