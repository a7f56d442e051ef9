//! Content that is lost although its file stays: emptied or overwritten. What git tracks comes back; a
//! database, the state of a machine or a system file does not.

use super::Search;
use super::call::{Call, is_trial};
use super::place::{Spot, below};
use super::swept::{is_found, is_source};
use crate::syntax::{Simple, Word};

/// Extensions of files whose content cannot be recreated: databases, states, disks.
const DATA: &[&str] = &[
    "accdb", "aof", "db", "db3", "duckdb", "fdb", "mdb", "qcow2", "rdb", "realm", "sqlite", "sqlite3",
    "tfstate", "vdi", "vhdx", "vmdk",
];
/// Parts of names that mark a copy.
const COPIES: &[&str] =
    &["archive", "backup", "backups", "bak", "copy", "dump", "old", "orig", "previous", "snapshot", "cache"];

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '.', '-', '_'])
}

fn is_copy(path: &str) -> bool {
    let dated = |part: &str| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    parts(path).any(|part| COPIES.contains(&part) || dated(part))
}

fn is_data(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| DATA.contains(&end)) && !is_copy(path) && !is_trial(path)
}

/// This file gets new content: reports it if the old content exists nowhere else.
pub(super) fn replaced(search: &mut Search, simple: &Simple, word: &Word) {
    let path = word.lossy().to_lowercase();
    let spot = search.place.spot(simple, word);
    if is_data(&path) && matches!(spot, Spot::Inside | Spot::Source | Spot::Outside | Spot::Unknown) {
        search.add("file-wipe", simple);
    }
}

/// Like `replaced`, for a file that other files replace. Nothing is reported if all of them have the target's
/// name, and no name that marks a copy.
pub(super) fn put_in_place(search: &mut Search, simple: &Simple, sources: &[&Word], target: &Word) {
    let moved = |source: &&&Word| {
        source.last_bits() == target.last_bits() && !is_copy(&source.lossy().to_lowercase())
    };
    if !sources.iter().all(|source| moved(&source)) {
        replaced(search, simple, target);
    }
}

/// Whether it is a source or data file inside the project, or any file that a loop names.
pub(super) fn is_kept(search: &Search, simple: &Simple, word: &Word) -> bool {
    let spot = search.place.spot(simple, word);
    let folder = search.place.spot(simple, &word.folder());
    let last = word.last_part().lossy();
    let named = is_source(&last) || is_data(&last.to_lowercase());
    word.several || matches!(spot, Spot::Inside | Spot::Source) && (named || folder == Spot::Source)
}

/// This file is empty afterwards.
pub(super) fn emptied(search: &mut Search, simple: &Simple, word: &Word) {
    if is_kept(search, simple, word) || is_found(search, simple, word) {
        search.add("file-wipe", simple);
    }
}

/// What a redirection does to its files apart from writing them.
pub(super) fn redirected(search: &mut Search, simple: &Simple) {
    let says_nothing = super::swept::redirected(search, simple);
    for word in simple.writes.iter().filter(|word| simple.empties && !word.starts_with("/dev/")) {
        replaced(search, simple, word);
        if says_nothing {
            emptied(search, simple, word);
        }
    }
}

/// Whether nothing arrives on standard input.
pub(super) fn gets_nothing(simple: &Simple) -> bool {
    let silent = |name: &std::rc::Rc<str>| matches!(&**name, ":" | "true" | "false");
    simple.arriving.iter().any(|word| word.is("/dev/null"))
        || !simple.fed.is_empty() && simple.fed.iter().all(silent)
        || simple.script.as_ref().is_some_and(|text| text.trim().is_empty())
}

/// `xzf`
fn letters(text: &str) -> bool {
    !text.contains('/') && text.contains('x') && !text.contains('.') && text.len() < 8
}

/// Whether it unpacks, and whether it is told to overwrite existing files.
fn mode(call: &Call) -> (bool, bool) {
    let first = call.texts.first().map(String::as_str).unwrap_or_default();
    match call.name {
        "unzip" => (!call.has(&["-l", "-t", "-p", "-v", "-Z"]), call.has(&["-o"])),
        "7z" | "7za" | "unrar" | "rar" => {
            let over = ["-y", "-aoa", "-o+", "-or"];
            (matches!(first, "x" | "e"), call.texts.iter().any(|text| over.contains(&text.as_str())))
        }
        "cpio" | "pax" => {
            let reads = call.has(&["-i", "-r", "--extract"]);
            (reads, call.has(&["-u", "--unconditional"]) && call.name == "cpio")
        }
        _ => {
            let unpacks = letters(first) || call.has(&["-x", "--extract", "--get"]);
            (unpacks, call.has(&["--overwrite", "-U", "--unlink-first", "--recursive-unlink"]))
        }
    }
}

/// An archive unpacked over a system folder, or over sources if it is told to overwrite.
pub(super) fn unpacked(search: &mut Search, call: &Call) {
    const FREE: &[&str] =
        &["/opt", "/usr/local", "/srv", "/var/tmp", "/var/www", "/var/lib", "/root", "/run", "/mnt"];
    let (unpacks, over) = mode(call);
    let first = call.texts.first().map(String::as_str).unwrap_or_default();
    if !unpacks {
        return;
    }
    let glued = |word: &Word| {
        let cut = [("--directory=", 12), ("-C", 2), ("-d", 2), ("-o", 2)].into_iter();
        let cut = cut.filter(|(option, _)| {
            word.starts_with(option) && (*option != "-o" || call.name.starts_with('7'))
        });
        cut.filter(|(_, at)| word.bits.len() > *at).map(|(_, at)| word.after(at)).next()
    };
    let named = call.values(&["-C", "--directory", "-d"]).cloned();
    let mut folders: Vec<Word> = named.chain(call.words.iter().filter_map(glued)).collect();
    if folders.is_empty() {
        folders.push(Word::of("."));
    }
    let absolute = (call.has(&["-P", "--absolute-names"]) || letters(first) && first.contains('P'))
        && call.name.ends_with("tar");
    for folder in &folders {
        let path = folder.tidied().lossy();
        let spot = search.place.spot(call.simple, folder);
        let system = matches!(spot, Spot::Root | Spot::System) && path != search.place.home;
        if system && !FREE.iter().any(|root| below(&path, root).is_some()) || absolute {
            search.add("system-write", call.simple);
        } else if over && (spot == Spot::Source || call.name == "cpio") {
            search.add("file-wipe", call.simple);
        }
    }
}
