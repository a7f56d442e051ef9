//! Derives the hosts that a session's list contains from the start, once, when it begins.
//!
//! Asks git and reads the person's settings. Invariants: of the project's files only what is committed
//! counts, since an agent may have written anything else; what cannot be read adds nothing.

use crate::system::env::Env;
use crate::system::{files, git};
use aops_network::derive::{PERSONAL_FILES, PROJECT_FILES, of_project_line, of_remote, of_setting};
use aops_network::known;
use aops_network::list::{Pattern, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// At most this many hosts are added; further ones need approval.
const MOST_DERIVED: usize = 256;
const PATIENCE: Duration = Duration::from_secs(3);
/// Settings of the whole machine.
const OF_MACHINE: [&str; 3] = ["/etc/apt/sources.list", "/etc/npmrc", "/etc/pip.conf"];
const APT: &str = "/etc/apt/sources.list.d";

/// Each host once, with its most specific word.
pub(super) fn derived(env: &Env, project: &Path) -> Vec<(Pattern, Word)> {
    let mut all: BTreeMap<Pattern, Word> = BTreeMap::new();
    let mut add = |pattern: Pattern, word: Word| {
        if all.len() < MOST_DERIVED {
            all.entry(pattern).or_insert(word);
        }
    };
    let ask = |words: &[&str]| {
        let said = git::run(env, project, words, b"", PATIENCE).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    };
    // `origin<tab>URL (fetch)`
    let remotes = ask(&["remote", "-v"]);
    let urls = remotes.lines().filter_map(|line| line.split(['\t', ' ']).nth(1));
    urls.filter_map(of_remote).for_each(|one| add(one, Word::Remote));
    let (locked, mut ecosystems) = committed(&ask);
    for host in locked {
        add(host, Word::Derived);
    }
    for file in settings(env) {
        let text = files::read_text(&file).unwrap_or_default();
        text.lines().filter_map(of_setting).for_each(|one| add(one, Word::Derived));
    }
    ecosystems.extend(ask(&["ls-tree", "--name-only", "HEAD"]).lines().filter_map(known::ecosystem));
    let fetched = ecosystems.into_iter().flat_map(known::fetched_from);
    fetched.filter_map(Pattern::of).for_each(|one| add(one, Word::BuiltIn));
    all.into_iter().collect()
}

/// The hosts that committed lock files and settings name, and the package ecosystems they belong to.
fn committed(ask: &dyn Fn(&[&str]) -> String) -> (BTreeSet<Pattern>, BTreeSet<&'static str>) {
    let paths: Vec<String> = PROJECT_FILES.iter().map(|(file, _)| format!(":(glob)**/{file}")).collect();
    let words =
        ["grep", "-I", "-z", "--no-color", "--full-name", "-F", "-e", "://", "-e", "url = ", "HEAD", "--"];
    let words: Vec<&str> = words.into_iter().chain(paths.iter().map(String::as_str)).collect();
    let mut hosts = BTreeSet::new();
    let mut ecosystems = BTreeSet::new();
    // `HEAD:path<zero>line`
    for row in ask(&words).lines() {
        let Some((path, line)) = row.split_once('\0') else { continue };
        let path = path.strip_prefix("HEAD:").unwrap_or(path);
        ecosystems.extend(known::ecosystem(path));
        hosts.extend(of_project_line(path, line));
    }
    (hosts, ecosystems)
}

/// The settings files of the person and of the machine.
fn settings(env: &Env) -> Vec<PathBuf> {
    let personal = PERSONAL_FILES.iter().map(|file| env.home.join(file));
    let apt = std::fs::read_dir(APT).into_iter().flatten().flatten().map(|entry| entry.path());
    personal.chain(OF_MACHINE.iter().map(PathBuf::from)).chain(apt).collect()
}
