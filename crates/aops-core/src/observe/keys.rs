//! Whether a call shows our keys: those that sign the log, and the passwords stored with them.
//!
//! Resolves links on disk for tools that read files, and for lines that no jail confines. Invariants: a line
//! that runs in the jail is judged by its words alone, since the folder is hidden from it; if a program of
//! the line leaves the jail, every word is resolved.

use super::real_paths;
use crate::config::policy::glob;
use crate::gate::guard::Protected;
use crate::gate::guard::keys::{KeyFolder, Near};
use crate::model::call::ToolCall;
use crate::model::event::Event;
use crate::model::profile::JailState;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::text::json::{self, Json};
use crate::tool::danger::{Danger, rule};
use crate::tool::input;
use crate::tool::table::{self, ToolTouches};
use crate::tool::targets::Targets;
use aops_shell::syntax::{Bit, Ground, Simple, Word};
use serde_json::Value;
use std::path::Path;

/// Commands that show names, not content.
const LOOK: &[&str] = &[
    "[", "[[", "aops-hook", "basename", "cd", "chmod", "chown", "code", "declare", "df", "dirname", "echo",
    "export", "local", "ls", "mkdir", "popd", "printf", "pushd", "readlink", "realpath", "stat", "test",
];
/// The same, but only without these words: each of them makes the command read files, or does more than show
/// names.
const LOOK_WITHOUT: &[(&str, &[&str])] = &[
    ("du", &["--files0-from"]),
    ("file", &["-f", "--files-from"]),
    ("find", &["-exec", "-ok", "-files0-from", "-fprint"]),
    (
        "git",
        &[
            "grep", "diff", "interpret-trailers", "hash-object", "apply", "am", "mailinfo", "-F", "-f",
            "--file", "--contents",
        ],
    ),
    ("tree", &["--fromfile"]),
];
/// Commands that read the files they are given, but nothing of a folder.
const FLAT: &[&str] = &[
    "awk", "base64", "cat", "cut", "gawk", "head", "jq", "less", "md5sum", "more", "nl", "od", "sed",
    "sha256sum", "sort", "strings", "tac", "tail", "uniq", "wc", "xxd",
];
const SEARCH: &[&str] = &["egrep", "fgrep", "grep"];
/// Commands that read the files whose names they receive.
const NAMED: &[&str] = &["cpio", "parallel", "rsync", "tar", "xargs"];
/// File names in the folder of keys, to compare with the patterns of a search.
const FILES: [&str; 8] = [
    "note.key", "ml-dsa.key", "seal.json", ".seal.spare", "fleet.password", "fleet.key", "engine.token",
    "worker.token",
];

pub(super) struct KeyPlace<'a> {
    folder: KeyFolder,
    /// The end of its path, as people write it: `.claude/aops/keys`.
    spelled: String,
    home: &'a str,
    project: &'a str,
    /// The line runs where the folder is hidden.
    hidden: bool,
    /// A program of the line cannot run inside the jail.
    leaves: bool,
}

impl<'a> KeyPlace<'a> {
    /// `leaves`: a program of the line cannot run inside the jail.
    pub(super) fn of(env: &Env, session: &Session, protected: &'a Protected, leaves: bool) -> Self {
        let ours = env.config.join("aops").to_string_lossy().into_owned();
        let real = session.memory.watched.linked.get(&ours).map(String::as_str);
        let holds = session.memory.client.jail.as_ref().is_some_and(JailState::is_on);
        let client = env.config.file_name().unwrap_or_default().to_string_lossy();
        Self {
            folder: KeyFolder::below([ours.as_str()].into_iter().chain(real)),
            spelled: format!("{client}/aops/keys"),
            home: &protected.home,
            project: &protected.project,
            hidden: holds && !leaves,
            leaves,
        }
    }
}

/// The part of the call that shows them.
pub(super) fn shown(event: &Event, call: &ToolCall, reach: &Targets, place: &KeyPlace) -> Option<Danger> {
    let tool = call.key.tool.as_str();
    let what = match tool {
        "Read" | "NotebookRead" => reads(event, call, place),
        _ if is_search(tool) => searches(event, call, place),
        // An edit shows nothing of its file, and its text is not a path.
        _ if matches!(table::tool(tool).touches, ToolTouches::File | ToolTouches::Patch) => None,
        _ if reach.runs.is_empty() => strings(event, call, place),
        _ => None,
    };
    let named = || {
        let mut paths = reach.paths.iter().map(|target| target.real.as_ref().unwrap_or(&target.path));
        let found = paths.find(|word| place.folder.near(word) == Some(Near::In))?;
        Some(format!("{tool} {}", found.lossy()))
    };
    let what = what.or_else(named).or_else(|| runs(reach, place))?;
    Some(Danger { rule: rule("secret-file")?, what })
}

/// The command of a line that shows them.
fn runs(reach: &Targets, place: &KeyPlace) -> Option<String> {
    let all = || reach.runs.iter().map(|run| &*run.command);
    let listed = |run: &Simple| all().any(|other| lists(other, place) && feeds(other, run));
    let takes = |run: &Simple| {
        !looks(run) && run.words.iter().any(|word| word.bits.contains(&Bit::Any)) && listed(run)
    };
    let run = all().find(|run| prints(run, place) || takes(run))?;
    Some(run.words.iter().map(Word::lossy).collect::<Vec<_>>().join(" "))
}

/// The output of one command is the input of the other.
fn feeds(one: &Simple, other: &Simple) -> bool {
    one.name().is_some_and(|name| other.fed.iter().any(|fed| &**fed == name))
}

/// A string as an absolute path, before and after links are followed.
fn resolve(event: &Event, text: &str, home: &str) -> [Word; 2] {
    let ground = Ground { cwd: &event.cwd, home, variables: &[] };
    let path = input::path_of(text, &ground).from_folder(&Word::of(&event.cwd));
    // A file that does not exist cannot be read.
    let real = path.literal().and_then(|path| real_paths::existing(Path::new(&path)));
    let real = real.map_or_else(|| path.clone(), |real| Word::of(&real.to_string_lossy()));
    [path, real]
}

fn fields<'n>(call: &ToolCall, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let Ok(input) = json::read(&call.input) else { return Vec::new() };
    let text = |value: &Json| value.text().map(std::borrow::Cow::into_owned);
    let of = |name: &str| match input.get(name) {
        Some(Json::List(all)) => all.iter().filter_map(text).collect(),
        Some(one) => text(one).into_iter().collect::<Vec<_>>(),
        None => Vec::new(),
    };
    names.into_iter().flat_map(of).filter(|text| !text.is_empty()).collect()
}

fn reads(event: &Event, call: &ToolCall, place: &KeyPlace) -> Option<String> {
    let paths = fields(call, ["file_path", "notebook_path", "path"]);
    let mut paths = paths.iter().flat_map(|path| resolve(event, path, place.home));
    let found = paths.find(|path| matches!(place.folder.near(path), Some(Near::In | Near::Is)))?;
    Some(format!("{} {}", call.key.tool, found.lossy()))
}

/// For other tools, any string may be a path, relative to the folder of the call or to the one where the
/// client began.
fn strings(event: &Event, call: &ToolCall, place: &KeyPlace) -> Option<String> {
    let root: Value = serde_json::from_str(&call.input).ok()?;
    let name = call.key.tool.rsplit("__").next().unwrap_or_default().to_ascii_lowercase();
    let reads_below = READING_BELOW.iter().any(|word| name.contains(word));
    let mut waiting = vec![&root];
    let mut looked = 0;
    let mut shows = |text: &str| {
        let is_address = text.starts_with("http://") || text.starts_with("https://");
        let is_path = text.len() <= LONGEST_PATH && !text.contains('\n') && !is_address;
        looked += usize::from(text.contains('/') && is_path);
        if looked > MOST {
            return Some(format!("{} with more than {MOST} paths", call.key.tool));
        }
        let found = text.len() <= LONGEST_PATH && leads_to_keys(event, text, place, reads_below);
        found.then(|| format!("{} {text}", call.key.tool))
    };
    while let Some(value) = waiting.pop() {
        let found = match value {
            Value::Array(all) => {
                waiting.extend(all);
                shows(&all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("/"))
            }
            Value::Object(all) => {
                waiting.extend(all.values());
                in_parts(all).find_map(|path| shows(&path))
            }
            Value::String(text) => shows(text),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Paths that fields of one object may make together: a folder and a name, or a folder, one below it, and a
/// name.
fn in_parts(fields: &serde_json::Map<String, Value>) -> impl Iterator<Item = String> {
    let texts = || fields.values().filter_map(Value::as_str).filter(|text| !text.contains('\n'));
    let folders = texts().filter(|text| text.starts_with(['/', '~', '.']));
    let names = move || texts().filter(|text| !text.starts_with(['/', '~']) && !text.contains(' '));
    folders.flat_map(move |folder| {
        let below = move |name| {
            let between = names().filter(move |between| *between != name);
            let deeper = between.map(move |between| format!("{folder}/{between}/{name}"));
            std::iter::once(format!("{folder}/{name}")).chain(deeper)
        };
        names().filter(move |name| *name != folder).flat_map(below)
    })
}

/// In the names of foreign tools that read every file of a folder.
const READING_BELOW: [&str; 8] = ["search", "grep", "contents", "index", "pack", "archive", "zip", "sync"];
/// A reading call with more paths is not examined further, and counts as one that shows keys.
const MOST: usize = 1024;
/// The kernel accepts no longer path.
const LONGEST_PATH: usize = 4096;

/// `reads_below`: of a folder the tool reads the files in it.
fn leads_to_keys(event: &Event, text: &str, place: &KeyPlace, reads_below: bool) -> bool {
    let is_near = |path: &Word| match place.folder.near(path) {
        Some(Near::In | Near::Is) => true,
        Some(Near::Holds | Near::Above) => reads_below,
        None => false,
    };
    let mut folders = [event.cwd.as_str(), place.project].into_iter();
    let as_written = |folder: &str| {
        let real = real_paths::existing(&Path::new(folder).join(text));
        real.is_some_and(|real| is_near(&Word::of(&real.to_string_lossy())))
    };
    let is_name = !text.contains(['/', '~', '$', ':']);
    folders.any(as_written) || !is_name && resolve(event, text, place.home).iter().any(is_near)
}

/// The client's search tool; other clients have similar names for it.
fn is_search(tool: &str) -> bool {
    tool.to_ascii_lowercase().contains("grep") || tool == "search_file_content"
}

/// File types of ripgrep that no key has. With any other type, a search is as wide as with none.
const TYPES: [&str; 27] = [
    "c", "cpp", "cs", "csharp", "css", "dart", "go", "h", "haskell", "html", "java", "js", "kotlin", "lua",
    "markdown", "md", "php", "py", "python", "ruby", "rust", "scala", "sh", "swift", "toml", "ts",
    "typescript",
];

/// A search by the client's tool: anything in our folder counts. Above it, a search counts if its pattern
/// names a key or nothing limits it to other files. Whether a file matches says as much as its text: a key
/// can be guessed letter by letter.
fn searches(event: &Event, call: &ToolCall, place: &KeyPlace) -> Option<String> {
    let mut paths = fields(call, ["path", "file_path", "dir_path", "paths"]);
    if paths.is_empty() {
        paths.push(event.cwd.clone());
    }
    let near =
        |path: &String| resolve(event, path, place.home).iter().find_map(|path| place.folder.near(path));
    let (path, near) = paths.iter().find_map(|path| Some((path, near(path)?)))?;
    let globs = fields(call, ["glob", "include"]);
    let types = fields(call, ["type"]);
    let kept_off = !types.is_empty() && types.iter().all(|kind| TYPES.contains(&kind.as_str()));
    let shows = match near {
        Near::In | Near::Is => true,
        _ if !globs.is_empty() => globs.iter().any(|glob| names_key(glob)),
        Near::Holds | Near::Above => !kept_off,
    };
    shows.then(|| format!("{} {path} {}", call.key.tool, globs.join(" ")).trim_end().to_owned())
}

/// A pattern of file names may match one of our keys. One that excludes names, or has character classes, is
/// assumed to.
fn names_key(glob: &str) -> bool {
    if glob.starts_with('!') || glob.contains(['[', '\\', ' ']) {
        return true;
    }
    let folders = [".claude", "aops", "keys"];
    spread(glob).iter().any(|glob| {
        let (before, last) = glob.rsplit_once('/').unwrap_or(("", glob));
        let is_on_the_way =
            |part: &str| part.is_empty() || folders.iter().any(|folder| glob::name(part, folder));
        let wild = last.is_empty() || last == "**";
        before.split('/').all(is_on_the_way) && (wild || FILES.iter().any(|file| glob::name(last, file)))
    })
}

/// Splits alternatives: `*.{key,token}` is two patterns.
fn spread(glob: &str) -> Vec<String> {
    let parts = glob.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (choices, after))) = parts else { return vec![glob.to_owned()] };
    choices.split(',').flat_map(|choice| spread(&format!("{before}{choice}{after}"))).collect()
}

/// A command that shows only names.
fn looks(command: &Simple) -> bool {
    let Some(name) = command.name() else { return true };
    let without = LOOK_WITHOUT.iter().find(|(known, _)| *known == name);
    let has = |begin: &&str| {
        command.words.iter().any(|word| word.is(begin) || begin.len() > 2 && word.starts_with(begin))
    };
    LOOK.contains(&name) || without.is_some_and(|(_, words)| !words.iter().any(has))
}

/// A command that lists the names in the folder, for another command to read.
fn lists(command: &Simple, place: &KeyPlace) -> bool {
    let near = |word: &Word| matches!(nearest(command, word, place), Some(Near::Is | Near::Holds));
    let lists = command.name().is_some_and(|name| matches!(name, "find" | "fd" | "ls" | "rg" | "grep"));
    !place.hidden && lists && is_wide(command) && command.words.iter().skip(1).any(near)
}

/// Nothing in the line limits it to files that are no keys: `--include=*.md`, `-name '*.md'`.
fn is_wide(command: &Simple) -> bool {
    let texts: Vec<String> = command.words.iter().map(Word::lossy).collect();
    let glued = texts.iter().find_map(|text| text.strip_prefix("--include="));
    let named = texts
        .windows(2)
        .find(|pair| matches!(pair[0].as_str(), "-name" | "-iname"))
        .map(|pair| pair[1].as_str());
    glued.or(named).is_none_or(names_key)
}

fn is_recursive(command: &Simple) -> bool {
    let flag = |word: &Word| {
        let text = word.lossy();
        text == "--recursive"
            || text == "--archive"
            || text.starts_with('-') && !text.starts_with("--") && text.contains(['r', 'R', 'a'])
    };
    command.words.iter().any(flag)
}

/// A search without a path takes its current folder; some searches only do so if nothing is piped to them.
fn searches_here(command: &Simple, name: &str) -> bool {
    let places = command.words.iter().skip(1).filter(|word| !word.is_option()).count();
    let looks = match name {
        "ack" | "ag" | "rg" => command.fed.is_empty(),
        _ => SEARCH.contains(&name) && is_recursive(command),
    };
    looks && places < 2 && is_wide(command)
}

/// A command that prints, copies or links the content of the folder.
fn prints(command: &Simple, place: &KeyPlace) -> bool {
    let Some(name) = command.name().filter(|_| !looks(command)) else { return false };
    let searches = SEARCH.contains(&name);
    // These show nothing of a folder.
    let flat = FLAT.contains(&name) || searches && !is_recursive(command);
    let deep = !place.hidden && !flat && is_wide(command);
    let takes = NAMED.contains(&name);
    let arrives = |word: &Word| match nearest(command, word, place) {
        Some(Near::In) => true,
        Some(Near::Is | Near::Holds) => takes && deep,
        _ => false,
    };
    let named = |word: &Word| match nearest(command, word, place) {
        Some(Near::In) => true,
        Some(Near::Is) => !flat,
        Some(Near::Holds) => deep,
        _ => false,
    };
    let stands = command.folders.iter().any(|folder| match place.folder.near(folder) {
        Some(Near::In | Near::Is) => true,
        Some(Near::Holds) => !place.hidden && searches_here(command, name),
        _ => false,
    });
    stands
        || command.words.iter().skip(1).any(named)
        || command.arriving.iter().any(arrives)
        || !place.hidden && (sweeps(command, name, place) || spells(command, searches, place))
}

/// The folder is named inside of a word or of a script: `sed 'r …'`, `python3 -c "open('…')"`.
fn spells(command: &Simple, searches: bool, place: &KeyPlace) -> bool {
    let has = |text: &str| {
        text.contains("keys") && {
            let mut text = text.to_owned();
            while text.contains("/./") || text.contains("//") {
                text = text.replace("/./", "/").replace("//", "/");
            }
            text.contains(&place.spelled)
        }
    };
    // The pattern of a search is not a file.
    let operands = command.words.iter().skip(1).filter(|word| !word.is_option()).skip(usize::from(searches));
    operands.map(Word::lossy).any(|text| has(&text)) || command.script.as_deref().is_some_and(has)
}

/// A command that covers the whole home or disk: `cp -r ~ /tmp/x`, `tar c ~`, `grep -r . ~`.
fn sweeps(command: &Simple, name: &str, place: &KeyPlace) -> bool {
    let operands: Vec<&Word> = command.words.iter().skip(1).filter(|word| !word.is_option()).collect();
    let is_above = |word: &&Word| {
        let seen = |folder: &Word| place.folder.near(&word.from_folder(folder)) == Some(Near::Above);
        !word.bits.is_empty() && command.folders.iter().any(seen)
    };
    let has =
        |options: &[&str]| command.words.iter().any(|word| options.iter().any(|option| word.is(option)));
    let all_but_last = || operands.split_last().is_some_and(|(_, from)| from.iter().any(is_above));
    match name {
        "cp" | "rsync" | "scp" => is_recursive(command) && all_but_last(),
        "zip" | "7z" => operands.iter().skip(1).any(is_above),
        "tar" => {
            let makes = command.words.get(1).is_some_and(|word| word.lossy().contains('c'));
            makes && !has(&["-C", "--directory"]) && operands.iter().any(is_above)
        }
        "rg" | "ag" => {
            let hidden = has(&["--hidden", "-.", "-u", "-uu", "-uuu", "--unrestricted"]);
            hidden && is_wide(command) && operands.iter().skip(1).any(is_above)
        }
        _ => {
            let finds = SEARCH.contains(&name) && is_recursive(command) && is_wide(command);
            finds && operands.iter().skip(1).any(is_above)
        }
    }
}

/// How close a word of the command is to the folder: the word itself, and what is attached to `=`, `:` or
/// `@`.
fn nearest(command: &Simple, word: &Word, place: &KeyPlace) -> Option<Near> {
    let before = word.bits.split(|bit| *bit == Bit::Char(':')).next().unwrap_or_default();
    let before = Word { bits: before.to_vec(), ..Word::default() };
    let glued = ['=', ':', '@'].into_iter().filter_map(|sign| word.past(sign));
    let all = [word.clone(), before]
        .into_iter()
        .chain(glued)
        .filter(|word| !word.is_option() && !word.bits.is_empty());
    let mut seen = all.flat_map(|word| command.folders.iter().map(move |folder| word.from_folder(folder)));
    seen.find_map(|path| {
        // Without a jail, words without a slash are too many to resolve.
        let is_looked_up = place.leaves || !place.hidden && word.bits.contains(&Bit::Char('/'));
        let linked = || path.literal().filter(|_| is_looked_up);
        let real = || Some(Word::of(real_paths::real(Path::new(&linked()?))?.to_str()?));
        let counts = |near: &Near| *near != Near::Above;
        place.folder.near(&path).filter(counts).or_else(|| place.folder.near(&real()?).filter(counts))
    })
}
