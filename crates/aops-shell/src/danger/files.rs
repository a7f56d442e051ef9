//! Files lost or overwritten: `rm`, `find -delete`, `mv`, `truncate`, `shred`, `dd`, `rsync --delete`,
//! redirections.

use super::Search;
use super::call::{Call, value_of};
use super::place::{Spot, below};
use super::swept::{arrives_unknown, is_found, is_made_again, sweeps_sources};
use super::{content, secret, typed};
use crate::commands::{given, lines_of_sed};
use crate::flags::is_option;
use crate::syntax::{Bit, Simple, Word};

/// The recursive removal of the paths that these words name.
pub(super) fn removed<'w>(search: &mut Search, simple: &Simple, words: impl IntoIterator<Item = &'w Word>) {
    for word in words {
        let holder = word.lossy().contains("{}");
        let spot = if holder { Spot::Unknown } else { behind_link(search, simple, word) };
        guarded_name(search, simple, word, true);
        if matches!(spot, Spot::Inside | Spot::Source) && names_backups(word) {
            search.add("backup-delete", simple);
        }
        let rule = match spot {
            _ if sweeps_sources(search, simple, word) => "rm-source",
            Spot::Scratch if search.place.is_temporary(simple, word) => "rm-system",
            Spot::Scratch | Spot::Inside => continue,
            Spot::Source => "rm-source",
            Spot::Unknown => "rm-unknown",
            Spot::Outside => "rm-outside",
            Spot::Project => "rm-project",
            Spot::System if search.place.is_added(simple, word) => "rm-outside",
            Spot::System | Spot::Root => "rm-system",
        };
        search.add(rule, simple);
    }
}

/// `backups`, `db-backup`: a folder of backups.
fn names_backups(word: &Word) -> bool {
    let last = word.last_part().lossy().to_lowercase();
    last.split(['-', '_', '.']).any(|part| matches!(part, "backup" | "backups"))
}

/// Where a path leads; if the line made a link there, where the link leads.
fn behind_link(search: &Search, simple: &Simple, word: &Word) -> Spot {
    let spot = search.place.spot(simple, word);
    let Some(folder) = simple.folders.first().filter(|_| !search.links.is_empty()) else { return spot };
    let path = word.from_folder(folder).tidied();
    let to = search.links.iter().filter(|(link, _)| path.bits.starts_with(&link.bits)).map(|(_, to)| to);
    to.map(|to| search.place.spot(simple, to)).fold(spot, Spot::max)
}

/// The removal of single files: it is known which, but not what they are worth.
pub(super) fn unlinked<'w>(search: &mut Search, simple: &Simple, words: impl IntoIterator<Item = &'w Word>) {
    for word in words {
        let last = word.last_part().lossy();
        let all = matches!(last.as_str(), "*" | ".*" | "*.*");
        match search.place.spot(simple, word) {
            Spot::System => search.add("system-write", simple),
            Spot::Root => search.add("rm-system", simple),
            Spot::Project if all => search.add("rm-project", simple),
            Spot::Outside if word.bits.contains(&Bit::Star) => search.add("rm-outside", simple),
            _ => {}
        }
        if is_found(search, simple, word) {
            search.add("find-delete", simple);
        } else if arrives_unknown(search, simple, word) {
            search.add("rm-unknown", simple);
        } else if sweeps_sources(search, simple, word) {
            search.add("rm-source", simple);
        }
        guarded_name(search, simple, word, true);
    }
}

pub(super) fn rm(search: &mut Search, call: &Call) {
    if call.has(&["--no-preserve-root"]) {
        search.add("rm-system", call.simple);
    }
    let operands = call.operands();
    let words = operands.iter().map(|(_, word)| *word);
    if call.has(&["-r", "-R", "--recursive"]) || call.name == "rimraf" || call.name == "del-cli" {
        removed(search, call.simple, words.clone());
    } else {
        unlinked(search, call.simple, words.clone());
    }
    secret::named(search, call.simple, words, "secret-file");
}

/// A program whose name is not known, called with options that only `rm` takes: `"$TOOL" -rf /`. Also an
/// invalid assignment in the place of the name: `1A=2 rm -rf /`.
pub(super) fn unnamed(search: &mut Search, simple: &Simple) {
    let words = &simple.words[1..];
    let sweeps = |word: &Word| matches!(word.lossy().as_str(), "-rf" | "-fr" | "-Rf" | "-fR");
    if words.iter().any(sweeps) {
        removed(search, simple, words.iter().filter(|word| !word.is_option()));
    }
}

pub(super) fn unlink(search: &mut Search, call: &Call) {
    unlinked(search, call.simple, call.words.iter().filter(|word| !word.is_option()));
}

pub(super) fn find(search: &mut Search, call: &Call) {
    let named =
        |at: usize| at > 0 && matches!(call.texts[at - 1].as_str(), "-name" | "-iname" | "-path" | "echo");
    let deletes = (0..call.texts.len()).any(|at| call.texts[at] == "-delete" && !named(at));
    let fd_removes = ["-x", "-X", "--exec", "--exec-batch"];
    let executes = |at: usize| {
        let flags = ["-exec", "-execdir", "-ok", "-okdir"];
        flags.contains(&call.texts[at].as_str())
            || call.name != "find" && fd_removes.contains(&call.texts[at].as_str())
    };
    let removes = |at: usize| {
        let program = call.texts.get(at + 1).map(String::as_str).unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or_default();
        let behind = call.texts.get(at + 2..).unwrap_or_default().iter().take(2).any(|text| text == "rm");
        matches!(name, "rm" | "shred" | "unlink" | "srm") || matches!(name, "sudo" | "env" | "nice") && behind
    };
    let removes = (0..call.texts.len()).any(|at| executes(at) && removes(at));
    if !deletes && !removes {
        return;
    }
    let tests =
        call.texts.iter().position(|text| text.starts_with(['-', '(', '!'])).unwrap_or(call.texts.len());
    let here = [Word::of(".")];
    let roots = if tests == 0 || call.name != "find" { &here[..] } else { &call.words[..tests] };
    let mut gravest = Spot::Scratch;
    let mut scratch = true;
    for root in roots {
        let spot = search.place.spot(call.simple, root);
        gravest = gravest.max(spot);
        scratch &= spot == Spot::Scratch;
    }
    if scratch || only_made_again(call, gravest) {
        return;
    }
    search.add(if gravest == Spot::Root { "rm-system" } else { "find-delete" }, call.simple);
}

/// Whether every alternative of the search matches only names of files that a tool can recreate, or only
/// empty files.
fn only_made_again(call: &Call, spot: Spot) -> bool {
    let is_name = |pair: &[String]| matches!(pair[0].as_str(), "-name" | "-iname");
    let plain = !call.texts.iter().any(|text| matches!(text.as_str(), "!" | "-not"));
    let mut ways = call.texts.split(|text| matches!(text.as_str(), "-o" | "-or" | ","));
    plain
        && ways.all(|way| {
            let mut names = way.windows(2).filter(|pair| is_name(pair)).peekable();
            let empty = way.iter().any(|text| text == "-empty");
            empty || names.peek().is_some() && names.all(|pair| is_made_again(&pair[1], spot))
        })
}

pub(super) fn mv(search: &mut Search, call: &Call) {
    let operands: Vec<&Word> = call.operands().into_iter().map(|(_, word)| word).collect();
    let into = value_of(call.words, 't', "--target-directory");
    let Some((last, sources)) = operands.split_last() else { return };
    let (target, sources) = into.as_ref().map_or((*last, sources), |into| (into, &operands[..]));
    if target.is("/dev/null") {
        search.add("file-wipe", call.simple);
    }
    let leaves = matches!(search.place.spot(call.simple, target), Spot::Scratch | Spot::Outside | Spot::Root);
    for source in sources {
        match search.place.spot(call.simple, source) {
            Spot::Project | Spot::Root | Spot::System => search.add("mv-away", call.simple),
            Spot::Source if leaves => search.add("mv-away", call.simple),
            _ => {}
        }
        guarded_name(search, call.simple, source, true);
    }
    secret::named(search, call.simple, sources.iter().copied(), "secret-file");
    content::put_in_place(search, call.simple, sources, target);
    written(search, call.simple, target);
}

/// `cp`, `install`, `ln`: the last operand is overwritten; secrets among the others are copied.
pub(super) fn copy(search: &mut Search, call: &Call) {
    let operands: Vec<&Word> = call.operands().into_iter().map(|(_, word)| word).collect();
    let into = value_of(call.words, 't', "--target-directory");
    let Some((last, sources)) = operands.split_last() else { return };
    let (target, sources) = into.as_ref().map_or((*last, sources), |into| (into, &operands[..]));
    let forced = !matches!(call.name, "ln" | "link") || call.has(&["-f", "--force"]);
    if forced && sources.iter().any(|word| word.is("/dev/null") || word.is("/dev/zero")) {
        wiped(search, call, target);
    } else if forced {
        content::put_in_place(search, call.simple, sources, target);
    }
    if call.name == "install"
        && call.values(&["-m", "--mode"]).any(|mode| super::rights::gives_away(&mode.lossy()))
    {
        search.add("permission-change", call.simple);
    }
    secret::named(search, call.simple, sources.iter().copied(), "secret-file");
    written(search, call.simple, target);
    for source in sources.iter().filter(|_| into.is_some()) {
        written(search, call.simple, &source.last_part().from_folder(target));
    }
}

/// A file whose content is lost.
fn wiped(search: &mut Search, call: &Call, word: &Word) {
    let device = word.starts_with("/dev/");
    if !device && !search.place.is_scratch(call.simple, word) && !word.starts_with("-") {
        search.add("file-wipe", call.simple);
    }
    written(search, call.simple, word);
}

pub(super) fn truncate(search: &mut Search, call: &Call) {
    let size = call.values(&["-s", "--size"]).map(Word::lossy).next();
    let glued =
        call.texts.iter().find_map(|text| text.strip_prefix("--size=").or_else(|| text.strip_prefix("-s")));
    let size = size.or_else(|| glued.map(str::to_owned)).unwrap_or_default();
    // Growing a file loses nothing, and a size like `10M` is for creating an image.
    if size.starts_with(['+', '>', '%'])
        || size.starts_with(|c: char| c.is_ascii_digit()) && size.ends_with(char::is_alphabetic)
    {
        return;
    }
    for (at, word) in call.operands() {
        let is_size = at > 0 && matches!(call.texts[at - 1].as_str(), "-s" | "--size" | "-r" | "--reference");
        let log = word.lossy().rsplit_once('.').is_some_and(|(_, end)| end == "log");
        if !is_size && log && search.place.spot(call.simple, word) == Spot::Inside {
            written(search, call.simple, word);
        } else if !is_size {
            wiped(search, call, word);
        }
    }
}

pub(super) fn shred(search: &mut Search, call: &Call) {
    for (at, word) in call.operands() {
        let is_value =
            at > 0 && matches!(call.texts[at - 1].as_str(), "-n" | "--iterations" | "-s" | "--size");
        if !is_value {
            wiped(search, call, word);
        }
    }
}

pub(super) fn dd(search: &mut Search, call: &Call) {
    for word in call.words {
        if word.starts_with("of=") {
            wiped(search, call, &word.after(3));
        } else if word.starts_with("if=") {
            secret::named(search, call.simple, [&word.after(3)], "secret-file");
        }
    }
}

pub(super) fn tee(search: &mut Search, call: &Call) {
    for (_, word) in call.operands() {
        written(search, call.simple, word);
        if content::gets_nothing(call.simple) && !call.has(&["-a", "--append"]) {
            content::emptied(search, call.simple, word);
        }
    }
}

/// `sed -i`, `perl -i` write their files; without `-i` they read them.
pub(super) fn edited_in_place(search: &mut Search, call: &Call) {
    let in_place =
        |text: &String| is_option(text, "--in-place") || text.starts_with("-i") || text.starts_with("-pi");
    if call.options().any(in_place) {
        let operands = call.operands();
        // `sed -i d file` deletes every line.
        let all = ["d", "1,$d", "D", "/.*/d", "/^/d", "/./d", "/$/d"];
        if operands.iter().any(|(_, word)| all.contains(&word.lossy().as_str())) {
            operands.iter().skip(1).for_each(|(_, word)| wiped(search, call, word));
        }
        for (_, word) in operands {
            written(search, call.simple, word);
        }
    }
    let scripts = given(call.words, &["-e", "--expression"]);
    let scripts = if scripts.is_empty() {
        call.operands().first().map(|(_, word)| (*word).clone()).into_iter().collect()
    } else {
        scripts
    };
    for line in scripts.iter().flat_map(|script| lines_of_sed(&script.code())) {
        typed::line(search, &line, call.simple);
    }
    secret::reads(search, call);
}

pub(super) fn rsync(search: &mut Search, call: &Call) {
    let deletes = |text: &String| text.starts_with("--del");
    let target = call.operands().last().map(|(_, word)| *word);
    let scratch = |word: &Word| !word.lossy().contains(':') && search.place.is_scratch(call.simple, word);
    let lost = call.options().any(deletes) && !target.is_some_and(scratch);
    if (lost || call.has(&["--remove-source-files"])) && !call.spares(&["-n", "--dry-run", "--list-only"]) {
        search.add("sync-delete", call.simple);
    }
    let operands: Vec<&Word> = call.operands().into_iter().map(|(_, word)| word).collect();
    if let Some((target, sources)) = operands.split_last().filter(|(target, _)| !target.lossy().contains(':'))
    {
        if sources.iter().any(|word| word.is("/dev/null")) {
            wiped(search, call, target);
        }
        content::put_in_place(search, call.simple, sources, target);
    }
    secret::sends(search, call);
}

pub(super) fn tar(search: &mut Search, call: &Call) {
    content::unpacked(search, call);
    let moves = match call.name {
        "zip" => call.has(&["-m", "--move"]),
        "7z" => call.texts.iter().any(|text| text == "-sdel"),
        _ => call.has(&["--remove-files"]),
    };
    if moves {
        let kept = |(_, word): &(usize, &Word)| search.place.is_scratch(call.simple, word);
        let operands = call.operands();
        // The first operands are the letters and the archive.
        if !operands.iter().skip(1).all(kept) {
            search.add("file-wipe", call.simple);
        }
    }
    secret::named(search, call.simple, call.operands().into_iter().map(|(_, word)| word), "secret-file");
}

/// A file that a redirection, `tee`, `cp` or an editor writes.
pub(super) fn written(search: &mut Search, simple: &Simple, word: &Word) {
    let path = word.lossy();
    if is_device(&path) {
        return search.add("disk-write", simple);
    }
    if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
        return search.add("reverse-shell", simple);
    }
    let free = path.starts_with("/dev/") || path.starts_with("/proc/self/");
    if word.bits.is_empty() || free || path == "-" || path.contains("://") {
        return;
    }
    let spot = search.place.spot(simple, word);
    if spot == Spot::System {
        search.add("system-write", simple);
    }
    guarded_name(search, simple, word, false);
}

/// `ssh-keygen -f ~/.ssh/id_rsa` replaces the old key. Its other verbs look, or change `known_hosts`.
pub(super) fn ssh_keygen(search: &mut Search, call: &Call) {
    if call.values(&["-Y"]).any(|word| word.is("sign")) {
        search.add("sign-as-user", call.simple);
    }
    if call.has(&["-l", "-F", "-R", "-H", "-y", "-e", "-i", "-Y", "-B", "-L", "-Q"]) {
        return;
    }
    let usual = Word::of(&format!("{}/.ssh/id", search.place.home));
    let file = call.values(&["-f"]).next().unwrap_or(&usual);
    if file.last_part().starts_with("id") {
        written(search, call.simple, file);
    }
}

/// Whether this is a disk rather than a harmless device.
pub(super) fn is_device(path: &str) -> bool {
    const DISKS: &[&str] = &[
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "dm-", "md", "loop", "nbd",
        "mem", "kmem", "sr", "zd", "block/", "port",
    ];
    path.strip_prefix("/dev/").is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
}

/// Startup files of the shell, credentials and git's own files, wherever they are.
fn guarded_name(search: &mut Search, simple: &Simple, word: &Word, removed: bool) {
    const GUARDED: &[&str] =
        &["HEAD", "config", "hooks", "index", "logs", "objects", "packed-refs", "refs", "worktrees"];
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
        ".config/fish/config.fish",
    ];
    const TRUSTED: &[&str] = &[
        ".aws/", ".azure/", ".config/gcloud/", ".config/gh/hosts.yml", ".docker/config.json",
        ".git-credentials", ".gnupg/", ".kube/config", ".netrc", ".npmrc", ".pypirc", ".ssh/",
    ];
    let home = Word::of(search.place.home);
    let at_home = |path: &str, name: &str| match name.strip_suffix('/') {
        Some(folder) => below(path, folder).is_some(),
        None => path == name,
    };
    for folder in simple.folders.iter() {
        let path = word.from_folder(folder).tidied().lossy();
        let in_home = below(&path, &home.lossy()).filter(|_| !search.place.home.is_empty());
        if in_home.is_some_and(|path| STARTS.iter().any(|name| at_home(path, name))) {
            return search.add("startup-write", simple);
        }
        let known_hosts = path.ends_with("/.ssh/known_hosts") && !removed;
        if in_home.is_some_and(|path| TRUSTED.iter().any(|name| at_home(path, name))) && !known_hosts {
            return search.add("credential-write", simple);
        }
        let inside = path.split_once(".git/").map(|(_, inside)| inside);
        if inside.is_some_and(|rest| GUARDED.iter().any(|name| below(rest, name).is_some())) {
            return search.add("git-internals", simple);
        }
    }
}
