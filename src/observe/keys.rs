//! Whether a call shows our keys: those that sign the log, and the passwords beside them.
//!
//! Looks links up on disk for tools that read files, and for lines that no jail holds. Invariant: a line that the jail holds
//! is judged by its words alone, since the folder is hidden from it.

use super::real_paths;
use crate::gate::guard::keys::{KeyFolder, Near};
use crate::model::call::ToolCall;
use crate::model::event::Event;
use crate::model::profile::JailState;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::text::json;
use crate::tool::danger::{Danger, rule};
use crate::tool::targets::Targets;
use aops_shell::syntax::{Bit, Simple, Word};
use std::path::{Path, PathBuf};

/// As every refusal and document spells it.
const SPELLED: &str = "aops/keys";
/// Commands that show names, not content.
#[rustfmt::skip]
const LOOK: &[&str] = &[
    "[", "[[", "aops-hook", "basename", "cd", "chmod", "chown", "df", "dirname", "du", "echo", "file", "find", "git", "ls",
    "mkdir", "popd", "printf", "pushd", "readlink", "realpath", "stat", "test", "tree",
];
/// Commands that read the files whose names arrive.
const NAMED: &[&str] = &["cpio", "parallel", "rsync", "tar", "xargs"];
/// Files in the folder of keys, for the patterns of a search.
const FILES: [&str; 6] = ["note.key", "ml-dsa.key", "seal.json", ".seal.spare", "fleet.password", "fleet.token"];

/// Where the keys are.
pub(super) struct KeyPlace<'a> {
    pub(super) folder: KeyFolder,
    pub(super) home: &'a str,
    /// The line runs where the folder is hidden.
    pub(super) hidden: bool,
}

impl<'a> KeyPlace<'a> {
    /// `unjailed`: a program of the line cannot run inside the jail.
    pub(super) fn of(env: &Env, session: &Session, home: &'a str, unjailed: bool) -> Self {
        let ours = env.config.join("aops").to_string_lossy().into_owned();
        let real = session.memory.linked.get(&ours).map(String::as_str);
        let holds = session.memory.jail.as_ref().is_some_and(JailState::is_on);
        Self { folder: KeyFolder::below([ours.as_str()].into_iter().chain(real)), home, hidden: holds && !unjailed }
    }
}

/// What in the call shows them. `known`: what the rules found by names.
pub(super) fn shown(
    event: &Event,
    call: &ToolCall,
    reach: &Targets,
    known: &[Danger],
    place: &KeyPlace,
) -> Option<Danger> {
    let spelled = known.iter().find(|found| found.rule.id().starts_with("secret-") && call.input.contains(SPELLED));
    let tool = call.key.tool.as_str();
    let what = || match tool {
        "Read" | "NotebookRead" => reads(event, call, place),
        "Grep" => searches(event, call, place),
        _ => {
            let named = reach.paths.iter().map(|target| target.real.as_ref().unwrap_or(&target.path));
            let mut named = named.filter(|word| place.folder.near(word) == Some(Near::In));
            let listed = reach.runs.iter().any(|run| lists(&run.command, place));
            let takes =
                |run: &Simple| listed && !looks(run) && run.words.iter().any(|word| word.bits.contains(&Bit::Any));
            let run = || reach.runs.iter().map(|run| &*run.command).find(|run| prints(run, place) || takes(run));
            let line = || run().map(|run| run.words.iter().map(Word::lossy).collect::<Vec<_>>().join(" "));
            named.next().map(|word| format!("{tool} {}", word.lossy())).or_else(line)
        }
    };
    spelled.cloned().or_else(|| Some(Danger { rule: rule("secret-file")?, what: what()? }))
}

/// The field as an absolute path, before and after links are followed.
fn field(event: &Event, call: &ToolCall, name: &str, home: &str) -> Option<[Word; 2]> {
    let text = json::read(&call.input).ok()?.text_of(name)?;
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => PathBuf::from(format!("{home}{rest}")),
        _ => Path::new(&event.cwd).join(&text),
    };
    // What is not there cannot be read.
    let real = real_paths::existing(&path).unwrap_or_else(|| path.clone());
    Some([path, real].map(|path| Word::of(&path.to_string_lossy())))
}

fn reads(event: &Event, call: &ToolCall, place: &KeyPlace) -> Option<String> {
    let fields = ["file_path", "notebook_path", "path"];
    let mut paths = fields.iter().filter_map(|name| field(event, call, name, place.home)).flatten();
    let found = paths.find(|path| matches!(place.folder.near(path), Some(Near::In | Near::Is)))?;
    Some(format!("{} {}", call.key.tool, found.lossy()))
}

/// A search of the client: below our folder whatever it looks for; above it where a pattern names a key, or where nothing
/// keeps its lines to other files.
fn searches(event: &Event, call: &ToolCall, place: &KeyPlace) -> Option<String> {
    let input = json::read(&call.input).ok()?;
    let text = |name: &str| input.text_of(name).filter(|text| !text.is_empty());
    let here = || [Word::of(&event.cwd), Word::of(&event.cwd)];
    let path = field(event, call, "path", place.home).unwrap_or_else(here);
    let near = path.iter().find_map(|path| place.folder.near(path))?;
    let glob = text("glob");
    let shows = match (near, &glob) {
        (Near::In | Near::Is | Near::Holds, _) => true,
        (Near::Above, Some(glob)) => names_key(glob),
        (Near::Above, None) => text("type").is_none() && text("output_mode").as_deref() == Some("content"),
    };
    let of = glob.map(|glob| format!(" {glob}")).unwrap_or_default();
    shows.then(|| format!("Grep {}{of}", path[0].lossy()))
}

/// A pattern of file names may match one of our keys.
fn names_key(glob: &str) -> bool {
    let parts = |glob: &str| glob.split(['{', '}', ',', '/']).map(str::to_owned).collect::<Vec<_>>();
    let wild = |part: &String| part.chars().all(|c| matches!(c, '*' | '?'));
    let firm: Vec<String> = parts(glob).into_iter().filter(|part| !part.is_empty() && !wild(part)).collect();
    let fits = |part: &String| {
        let pieces: Vec<&str> = part.split(['*', '?', '[', ']', '!']).filter(|piece| !piece.is_empty()).collect();
        let holds = |name: &&str| pieces.iter().all(|piece| name.contains(piece));
        FILES.iter().any(holds) || ["keys", "aops", ".claude"].iter().any(holds)
    };
    firm.is_empty() || firm.iter().any(fits)
}

/// A command that shows names alone.
fn looks(command: &Simple) -> bool {
    let runs = |word: &Word| word.starts_with("-exec") || word.starts_with("-ok");
    match command.name() {
        Some("find") => !command.words.iter().any(runs),
        name => name.is_none_or(|name| LOOK.contains(&name)),
    }
}

/// A command that prints the names in the folder, for another one to read.
fn lists(command: &Simple, place: &KeyPlace) -> bool {
    let near = |word: &Word| matches!(nearest(command, word, place), Some(Near::Is | Near::Holds));
    let lists = command.name().is_some_and(|name| matches!(name, "find" | "fd" | "ls" | "rg" | "grep" | "git"));
    !place.hidden && lists && command.words.iter().skip(1).any(near)
}

/// A search without a place to look at takes the folder that it runs in; some do where nothing is piped to them.
fn searches_here(command: &Simple, name: &str) -> bool {
    let recursive = |word: &Word| {
        let text = word.lossy();
        text == "--recursive" || text.starts_with('-') && !text.starts_with("--") && text.contains(['r', 'R'])
    };
    let places = command.words.iter().skip(1).filter(|word| !word.is_option()).count();
    let looks = match name {
        "ack" | "ag" | "rg" => command.fed.is_empty(),
        "egrep" | "fgrep" | "grep" => command.words.iter().any(recursive),
        _ => false,
    };
    looks && places < 2
}

/// A command that prints, copies or links what is in the folder.
fn prints(command: &Simple, place: &KeyPlace) -> bool {
    let Some(name) = command.name().filter(|_| !looks(command)) else { return false };
    let takes = NAMED.contains(&name);
    let arrives = |word: &Word| match nearest(command, word, place) {
        Some(Near::In) => true,
        Some(Near::Is | Near::Holds) => takes && !place.hidden,
        _ => false,
    };
    let named = |word: &Word| match nearest(command, word, place) {
        Some(Near::In | Near::Is) => true,
        Some(Near::Holds) => !place.hidden,
        _ => false,
    };
    let stands = command.folders.iter().any(|folder| match place.folder.near(folder) {
        Some(Near::In | Near::Is) => true,
        Some(Near::Holds) => !place.hidden && searches_here(command, name),
        _ => false,
    });
    stands || command.words.iter().skip(1).any(named) || command.arriving.iter().any(arrives)
}

/// How near a word of the command is: itself, and what is glued to `=`, `:` or `@`.
fn nearest(command: &Simple, word: &Word, place: &KeyPlace) -> Option<Near> {
    let before = word.bits.split(|bit| *bit == Bit::Char(':')).next().unwrap_or_default();
    let before = Word { bits: before.to_vec(), ..Word::default() };
    let glued = ['=', ':', '@'].into_iter().filter_map(|sign| word.past(sign));
    let all = [word.clone(), before].into_iter().chain(glued).filter(|word| !word.is_option() && !word.bits.is_empty());
    let mut seen = all.flat_map(|word| command.folders.iter().map(move |folder| word.from_folder(folder)));
    seen.find_map(|path| {
        // Words without a folder are too many to look up.
        let linked = || path.literal().filter(|_| !place.hidden && word.bits.contains(&Bit::Char('/')));
        let real = || Some(Word::of(real_paths::real(Path::new(&linked()?))?.to_str()?));
        let counts = |near: &Near| *near != Near::Above;
        place.folder.near(&path).filter(counts).or_else(|| place.folder.near(&real()?).filter(counts))
    })
}
