//! The user's own rules in the client that refuse or ask: no line is answered in spite of them.
//!
//! Reads the client's settings files. Invariant: a rule that cannot be read or understood is an error, and
//! then no line is answered.

use super::pattern::{Sign, signs};
use crate::config::texts::Reading;
use crate::system::git::git_common_folder;
use crate::text::json::{self, Json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// At most this many rules are checked; with more, no line is answered.
const MOST_RULES: usize = 2000;
/// At most this many characters of a rule are compared.
const LONGEST_RULE: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct ClientRules {
    /// Patterns of commands.
    pub(super) commands: Vec<Vec<Sign>>,
    /// Paths that must not be read, or only after a question.
    pub(super) paths: Vec<PathRule>,
    /// There are rules about edits, or about pages.
    pub(super) edits: bool,
    pub(super) fetches: bool,
    pub(super) count: u64,
    /// Folders that the user added to the client's.
    pub(super) folders: Vec<PathBuf>,
}

/// A pattern of paths, split into components, relative to each of these folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathRule {
    pub(super) bases: Vec<PathBuf>,
    pub(super) parts: Vec<String>,
}

/// All rules in force for a line in this folder.
pub(super) fn read(env: &Reading, cwd: &Path, project: &Path) -> Result<ClientRules, String> {
    let mut rules = ClientRules::default();
    for (file, base) in files(env, cwd, project)? {
        let Some(text) = env.short(&file) else {
            if file.symlink_metadata().is_ok() {
                return Err(format!("`{}` cannot be read", file.display()));
            }
            continue;
        };
        let unclear = || format!("`{}` is no JSON", file.display());
        let text = text.trim_start_matches('\u{feff}');
        let json = json::read(text).map_err(|_| unclear())?;
        let Some(permissions) = json.get("permissions") else { continue };
        let place = Base { file: &base, cwd, project, home: &env.home };
        rules.add(permissions, &place).map_err(|what| format!("`{}`: {what}", file.display()))?;
    }
    Ok(rules)
}

/// Each settings file, with the folder to which its paths are relative.
fn files(env: &Reading, cwd: &Path, project: &Path) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let managed = env.managed();
    let parts = managed.join("managed-settings.d");
    let mut found = vec![managed.join("managed-settings.json")];
    match std::fs::read_dir(&parts) {
        Ok(items) => found.extend(
            items
                .flatten()
                .map(|item| item.path())
                .filter(|path| path.extension().is_some_and(|e| e == "json")),
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(format!("`{}`: {error}", parts.display())),
    }
    found.extend(
        ["settings.json", "settings.local.json", "remote-settings.json"].map(|name| env.config.join(name)),
    );
    let mut found: Vec<(PathBuf, PathBuf)> =
        found.into_iter().map(|file| (file, env.config.clone())).collect();
    // The client stores a worktree's rules with those of the repository.
    let main = git_common_folder(project).and_then(|folder| folder.parent().map(Path::to_owned));
    let above = cwd.ancestors().take_while(|folder| folder.starts_with(env.root()));
    for folder in above.map(Path::to_owned).chain([project.to_owned()]).chain(main) {
        let both = ["settings.json", "settings.local.json"]
            .map(|name| (folder.join(".claude").join(name), folder.clone()));
        found.extend(both);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

struct Base<'a> {
    file: &'a Path,
    cwd: &'a Path,
    project: &'a Path,
    home: &'a Path,
}

impl ClientRules {
    fn add(&mut self, permissions: &Json, base: &Base) -> Result<(), String> {
        for list in ["deny", "ask"] {
            for rule in texts(permissions, list)? {
                self.count += 1;
                if self.count > MOST_RULES as u64 || rule.len() > LONGEST_RULE {
                    return Err("too many rules to check".to_owned());
                }
                self.add_rule(&rule, base).ok_or_else(|| format!("the rule `{rule}` is not understood"))?;
            }
        }
        let folders = texts(permissions, "additionalDirectories")?;
        self.folders.extend(folders.iter().map(|folder| base.placed(folder)));
        Ok(())
    }

    /// `None` if we do not know what the rule covers.
    fn add_rule(&mut self, rule: &str, base: &Base) -> Option<()> {
        let (tool, within) = match rule.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
            None => (rule, None),
        };
        let tool = tool.trim();
        if tool.starts_with("mcp__") {
            return Some(());
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if tool.is_empty() || !tool.chars().all(is_name) {
            return None;
        }
        match (tool, within) {
            ("Bash", Some(text)) if text.contains('\\') => return None,
            ("Bash", text) => self.commands.push(signs(text.unwrap_or("*"))),
            ("Read", text) => self.paths.push(PathRule::of(text.unwrap_or("//**"), base)?),
            ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", _) => self.edits = true,
            ("WebFetch", _) => self.fetches = true,
            _ => {}
        }
        Some(())
    }
}

impl Base<'_> {
    fn placed(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.cwd.join(text),
        }
    }
}

impl PathRule {
    /// Patterns in the syntax of `.gitignore`; `//` is the root of the disk, `/` the folder of the settings,
    /// `~/` the home.
    fn of(text: &str, base: &Base) -> Option<Self> {
        // Characters with other meanings than a star.
        if text.is_empty()
            || text.contains(['[', ']', '{', '}', '!', '\\'])
            || text.split('/').any(|part| part == "..")
        {
            return None;
        }
        let own = || vec![base.cwd.to_owned(), base.project.to_owned()];
        let (mut bases, rest) = match text {
            _ if text.starts_with("//") => (vec![PathBuf::from("/")], &text[2..]),
            _ if text.starts_with("~/") => (vec![base.home.to_owned()], &text[2..]),
            _ if text.starts_with('/') => ([own(), vec![base.file.to_owned()]].concat(), &text[1..]),
            _ => (own(), text.strip_prefix("./").unwrap_or(text)),
        };
        let is_placed = ["/", "./", "~/"].iter().any(|sign| text.starts_with(sign));
        let is_name = !is_placed && !rest.trim_end_matches('/').contains('/');
        let mut parts: Vec<String> =
            rest.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
        // A folder that it covers is covered completely.
        while parts.len() > 1 && parts.last().is_some_and(|part| part == "**" || part == "*") {
            parts.pop();
        }
        // A single name matches at any depth.
        if is_name && parts[0] != "**" {
            parts.insert(0, "**".to_owned());
        }
        bases.sort();
        bases.dedup();
        Some(Self { bases, parts })
    }
}

fn texts(object: &Json, name: &str) -> Result<Vec<String>, String> {
    match object.get(name) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::List(items)) => {
            let all: Option<Vec<String>> =
                items.iter().map(|item| item.text().map(Cow::into_owned)).collect();
            all.ok_or_else(|| format!("`{name}` contains something other than text"))
        }
        Some(_) => Err(format!("`{name}` is not a list")),
    }
}
