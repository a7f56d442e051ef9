//! Real paths: symlinks and `..` are followed as far as the path exists; the rest stays as written.
//!
//! Reads the file system, creates nothing. Invariant: at most four system calls for a file that exists; a few
//! more for one that does not; none for a call that writes nothing.

use super::hard_links::HardLinks;
use super::other_clients::OtherClients;
use crate::gate::guard::{self, Protected, ProtectedPlace};
use crate::host::table::host;
use crate::model::verdict::Ruling;
use crate::system::files;
use crate::tool::targets::{Act, Targets};
use aops_shell::syntax::{Bit, Word};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

const LINKS: usize = 16;

/// The variables of a call whose values we know.
pub fn variables(protected: &Protected) -> Vec<(String, String)> {
    let xdg = Path::new(&protected.user_config).parent().map(|path| path.to_string_lossy().into_owned());
    let known = [
        ("CLAUDE_CONFIG_DIR", Some(protected.config.clone())),
        ("CLAUDE_PROJECT_DIR", Some(protected.project.clone())),
        ("XDG_CONFIG_HOME", xdg),
    ];
    let others =
        protected.clients.iter().filter_map(|(client, base)| Some((*host(*client).variables.first()?, base)));
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.chain(others.map(|(name, base)| (name.to_owned(), base.clone()))).collect()
}

/// Fills in the real path of each target, and which protected places exist if that matters. If the call may
/// touch other clients' files, those clients in which we are registered are protected from here on.
pub fn settle(reach: &mut Targets, protected: &mut Protected, others: &mut OtherClients) {
    if reach.over {
        return others.add(protected);
    }
    // The same path touched in several ways is looked up once.
    let mut seen: BTreeMap<Vec<Bit>, Option<Word>> = BTreeMap::new();
    let mut links = HardLinks::default();
    for target in &mut reach.paths {
        let known = seen.entry(target.path.bits.clone()).or_insert_with(|| {
            let path = target.path.literal();
            let other = path.and_then(|path| links.other_name(Path::new(&path), protected, others));
            other.and_then(Path::to_str).map(Word::of).or_else(|| real_word(&target.path))
        });
        // Removing a link removes only the link, but its target may be meant, so both are judged.
        target.real.clone_from(known);
        if target.act == Act::Become {
            let path = target.path.literal();
            target.stands = path.map(|path| std::fs::metadata(path).is_ok());
        }
    }
    if others.may_be_touched(protected, reach) {
        others.add(protected);
    }
    // Whether a place exists matters only where its absence would make the call harmless.
    let sweeps = |bits: &[Bit]| bits.windows(2).any(|pair| pair == [Bit::Star, Bit::Star]);
    let sweeping = reach.paths.iter().any(|target| target.act.goes_below() || sweeps(&target.path.bits));
    if sweeping && guard::judge(protected, reach).ruling == Ruling::Deny {
        let places = protected.places().into_iter().map(|place| place.path);
        protected.on_disk.standing =
            Some(places.filter(|path| std::fs::symlink_metadata(path).is_ok()).collect());
    }
}

/// The protected places that have another real path, with that path. Looked up once per session.
pub fn links(protected: &Protected) -> BTreeMap<String, String> {
    let mut folders = BTreeMap::new();
    let elsewhere = |place: ProtectedPlace| {
        let real = real_among(Path::new(&place.path), &mut folders)?.into_os_string().into_string().ok()?;
        (real != place.path).then_some((place.path, real))
    };
    protected.places().into_iter().filter_map(elsewhere).collect()
}

/// The real path, whether or not its last part exists.
pub fn real(path: &Path) -> Option<PathBuf> {
    real_among(path, &mut BTreeMap::new())
}

/// `folders`: real paths of folders that were already looked up.
fn real_among(path: &Path, folders: &mut BTreeMap<PathBuf, PathBuf>) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Some(whole) = existing(&path) {
            return Some(whole);
        }
        // It does not exist; perhaps it is a dangling link.
        let folder = path.parent()?.to_path_buf();
        match (std::fs::read_link(&path), path.file_name()) {
            (Ok(next), _) => path = folder.join(next),
            (Err(_), Some(name)) => return Some(real_folder(&folder, folders).join(name)),
            // The path ends in `..` below something that does not exist.
            (Err(_), None) => return Some(lexical(&path)),
        }
    }
    None
}

/// The real path of the longest existing part of a folder's path, and the rest as written.
fn real_folder(folder: &Path, known: &mut BTreeMap<PathBuf, PathBuf>) -> PathBuf {
    if let Some(real) = known.get(folder) {
        return real.clone();
    }
    let real = existing(folder).unwrap_or_else(|| match (folder.components().next_back(), folder.parent()) {
        (Some(last), Some(above)) => lexical(&real_folder(above, known).join(last)),
        _ => lexical(folder),
    });
    known.insert(folder.to_owned(), real.clone());
    real
}

/// A path or pattern whose known part is resolved; `None` if that changes nothing.
fn real_word(word: &Word) -> Option<Word> {
    let certain = word.bits.iter().position(|bit| !matches!(bit, Bit::Char(_))).unwrap_or(word.bits.len());
    if certain == word.bits.len() {
        let found = real(Path::new(&word.literal()?))?;
        return found.to_str().map(Word::of).filter(|found| found != word);
    }
    let cut = word.bits[..certain].iter().rposition(|bit| *bit == Bit::Char('/'))?;
    let folder = Word { bits: word.bits[..cut].to_vec(), ..Word::default() }.literal()?;
    let found = existing(Path::new(&folder))?;
    let found = Word::of(found.to_str().filter(|found| *found != folder)?);
    Some(word.after(cut + 1).from_folder(&found))
}

/// The real path of something that exists.
pub(super) fn existing(path: &Path) -> Option<PathBuf> {
    files::real(path).ok()
}

/// Lexically normalised.
fn lexical(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                all.pop();
            }
            Component::CurDir => {}
            other => all.push(other),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::other_clients;
    use crate::system::env::Env;
    use crate::tool::targets;
    use aops_shell::syntax::Ground;
    use std::fs;
    use std::os::unix::fs::symlink;

    struct World {
        dir: tempfile::TempDir,
        root: String,
    }

    impl World {
        /// A home that is itself reached through a link, with settings kept in another folder and linked.
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap().to_string_lossy().into_owned();
            for folder in [
                "data/u/.claude", "data/u/.config/aops", "data/u/proj/src", "data/u/dotfiles", "data/u/other",
            ] {
                fs::create_dir_all(format!("{root}/{folder}")).unwrap();
            }
            symlink(format!("{root}/data"), format!("{root}/home")).unwrap();
            fs::write(format!("{root}/data/u/dotfiles/claude.json"), "{}").unwrap();
            symlink("../dotfiles/claude.json", format!("{root}/data/u/.claude/settings.json")).unwrap();
            Self { dir, root }
        }

        fn protected(&self) -> Protected {
            let home = format!("{}/home/u", self.root);
            let mut protected = Protected {
                config: format!("{home}/.claude"),
                user_config: format!("{home}/.config/aops"),
                project: format!("{home}/proj"),
                home,
                ..Protected::default()
            };
            protected.on_disk.real = other_clients::behind(&protected, &links(&protected));
            protected
        }

        fn bash(&self, line: &str) -> Ruling {
            let input = serde_json::json!({ "command": line }).to_string();
            self.ruling("Bash", &input)
        }

        fn ruling(&self, tool: &str, input: &str) -> Ruling {
            let mut protected = self.protected();
            let cwd = protected.project.clone();
            let variables = variables(&protected);
            let home = protected.home.clone();
            let ground = Ground { cwd: &cwd, home: &home, variables: &variables };
            let line = targets::line(tool, input, &ground);
            let mut reach = targets::of(tool, input, line.as_ref(), &ground);
            settle(&mut reach, &mut protected, &mut OtherClients::none(&Env::default()));
            guard::judge(&protected, &reach).ruling
        }
    }

    #[test]
    fn links_do_not_hide_what_they_lead_to() {
        let world = World::new();
        let root = &world.root;
        symlink("../.claude", format!("{root}/data/u/proj/innocent")).unwrap();
        symlink("../.claude/settings.json", format!("{root}/data/u/proj/file")).unwrap();
        symlink("innocent/settings.local.json", format!("{root}/data/u/proj/nowhere-yet")).unwrap();
        symlink("file", format!("{root}/data/u/proj/twice")).unwrap();
        symlink("loop", format!("{root}/data/u/proj/loop")).unwrap();
        let rows = [
            ("deny", "echo > innocent/settings.json".to_owned()),
            ("deny", "echo > innocent/settings.local.json".to_owned()),
            ("deny", "echo > file".to_owned()),
            ("deny", "echo > twice".to_owned()),
            ("deny", "echo > nowhere-yet".to_owned()),
            ("deny", "rm -rf innocent/".to_owned()),
            ("deny", "rm innocent/set*".to_owned()),
            ("deny", "cd innocent && rm settings.json".to_owned()),
            ("deny", format!("echo > {root}/data/u/.config/aops/config.toml")),
            ("deny", format!("echo > {root}/data/u/dotfiles/claude.json")),
            ("deny", format!("rm -rf {root}/data/u/.config")),
            ("deny", format!("rm -rf {root}/data")),
            ("deny", format!("echo > {root}/home/../data/u/.config/aops/new/file")),
            ("deny", format!("echo > {root}/data/u/proj/innocent/../.claude.json")),
            ("pass", "echo > src/file".to_owned()),
            ("pass", "echo > loop".to_owned()),
            ("pass", "echo > new/folder/file".to_owned()),
            ("pass", "cat file innocent/settings.json".to_owned()),
            ("pass", "echo > innocent/CLAUDE.md".to_owned()),
            ("pass", format!("rm -rf {root}/data/u/other")),
            ("pass", format!("echo > {root}/data/u/dotfiles/vimrc")),
        ];
        let wrong: Vec<_> = rows.iter().filter(|(wanted, line)| world.bash(line).name() != *wanted).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let written = format!(r#"{{"file_path":"{root}/data/u/proj/file","content":""}}"#);
        assert_eq!(world.ruling("Write", &written), Ruling::Deny);
    }

    #[test]
    fn what_is_not_there_cannot_be_swept_away() {
        let world = World::new();
        let project = format!("{}/data/u/proj", world.root);
        for line in ["git clean -fdx", "find . -type f -delete", "rm -rf ./", "chmod -R 000 ."] {
            assert_eq!(world.bash(line), Ruling::Pass, "{line}");
        }
        fs::create_dir(format!("{project}/.aops")).unwrap();
        for line in ["git clean -fdx", "find . -type f -delete", "rm -rf ./", "chmod -R 000 ."] {
            assert_eq!(world.bash(line), Ruling::Deny, "{line}");
        }
        assert_eq!(world.bash("find . -name '*.o' -delete"), Ruling::Pass);
        // Ignored files stay, unless git is told to remove them too.
        fs::remove_dir(format!("{project}/.aops")).unwrap();
        fs::create_dir_all(format!("{project}/.claude/checkpoints")).unwrap();
        for line in ["git clean -fd", "git clean -fdq -e x", "git clean -f ."] {
            assert_eq!(world.bash(line), Ruling::Pass, "{line}");
        }
        for line in ["git clean -fdx", "git clean -fX", "git clean -fd .claude", "rm -rf ."] {
            assert_eq!(world.bash(line), Ruling::Deny, "{line}");
        }
    }

    #[test]
    fn a_path_is_followed_as_far_as_it_exists() {
        let world = World::new();
        let root = &world.root;
        let real = |path: &str| {
            real(Path::new(&format!("{root}/{path}"))).map(|path| path.to_string_lossy().replace(root, ""))
        };
        assert_eq!(real("home/u"), Some("/data/u".to_owned()));
        assert_eq!(real("home/u/.claude/settings.json"), Some("/data/u/dotfiles/claude.json".to_owned()));
        assert_eq!(real("home/u/new/file"), Some("/data/u/new/file".to_owned()));
        assert_eq!(real("home/u/new/../file"), Some("/data/u/file".to_owned()));
        assert_eq!(real("home/../x"), Some("/x".to_owned()));
        let before = fs::read_dir(format!("{root}/data/u")).unwrap().count();
        let _ = real("home/u/never/made");
        assert_eq!(fs::read_dir(format!("{root}/data/u")).unwrap().count(), before);
        drop(world.dir);
    }
}
