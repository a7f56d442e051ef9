//! What a line would destroy, read from its text: files removed or overwritten, work and refs that git drops.
//!
//! Invariants: a command is reported as *told whole* only if the list covers everything it can destroy; what
//! the line leaves open (a name known only at run time, an unknown option) is never guessed. Whether
//! something is the only copy is decided by looking at the disk.

mod git;
mod outputs;
mod reach;

pub use git::{GitLoss, Target};

use crate::danger::value_of;
use crate::flags::is_option;
use crate::syntax::{Bit, Line, SOURCED, Simple, Word};
use std::rc::Rc;

/// One thing that is lost. Paths are absolute, and may be patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The path and everything below it.
    Removed(Word),
    /// Files with one of these names below `root`; all files if there are no names.
    Found { root: Word, names: Vec<Word> },
    /// The content of the file.
    Overwritten(Word),
    /// Files of the target that these sources replace. `moves`: the sources are gone then.
    Replaced { sources: Vec<Word>, target: Word, moves: bool },
    /// The user's crontab.
    Crontab,
    /// Something in the repository that contains this folder.
    Git { folder: Word, what: GitLoss },
}

impl Loss {
    /// Whether git may drop it although no rule asks about it.
    fn is_free(&self) -> bool {
        matches!(self, Self::Git { what, .. } if what.is_free())
    }
}

#[derive(Clone, Debug, Default)]
pub struct Losses {
    pub all: Vec<Loss>,
    /// The line without the fully listed commands: a danger that a rule finds here is not in the list above.
    pub rest: Line,
    /// Nothing in the line reaches a file after its removal, so another name of the file keeps its content.
    pub out_of_reach: bool,
}

/// Whether no part of this line was guessed, except for the effect of a file that it sources.
pub fn is_read(line: &Line) -> bool {
    let is_sourced = line.guessed.as_ref().is_none_or(|what| what == SOURCED);
    is_sourced && !line.unclear && !line.beyond && line.unread.is_empty()
}

/// Everything that this line destroys, judging by its words; `None` if that is nothing. If a part was
/// guessed, the line may destroy more, or less.
pub fn losses(line: &Line) -> Option<Losses> {
    let mut all = Vec::new();
    let mut commands = Vec::new();
    let mut moves: Vec<Move> = Vec::new();
    for (at, simple) in line.commands.iter().enumerate() {
        // We look at what git drops before the line runs, so work that the line itself creates is not seen.
        let is_made = |loss: &Loss| git::is_made(&line.commands[..at], loss);
        match told(simple, &line.commands[..at]) {
            Some(told) if told.losses.iter().any(is_made) => {
                all.extend(told.losses.into_iter().filter(Loss::is_free));
                commands.push(Rc::clone(simple));
            }
            Some(told) => {
                let taken = moves.iter().filter(|moved| told.losses.iter().any(|loss| moved.is_met_by(loss)));
                all.extend(taken.flat_map(|one| one.sources.iter().cloned().map(Loss::Removed)));
                moves.extend(told.losses.iter().filter_map(Move::of));
                all.extend(told.losses);
                commands.extend(told.rest.map(Rc::new));
            }
            None => commands.push(Rc::clone(simple)),
        }
    }
    all.dedup();
    let out_of_reach = reach::is_out_of_reach(line);
    (!all.is_empty()).then(|| Losses { all, out_of_reach, rest: Line { commands, ..line.clone() } })
}

/// Files that the line moves: a loss at the new place is a loss of these files.
struct Move {
    sources: Vec<Word>,
    target: String,
}

impl Move {
    fn of(loss: &Loss) -> Option<Self> {
        match loss {
            Loss::Replaced { sources, target, moves: true } => {
                Some(Self { sources: sources.clone(), target: firm_part(target) })
            }
            _ => None,
        }
    }

    fn is_met_by(&self, loss: &Loss) -> bool {
        let path = match loss {
            Loss::Removed(path) | Loss::Overwritten(path) => path,
            Loss::Found { root, .. } => root,
            Loss::Replaced { target, .. } => target,
            Loss::Crontab | Loss::Git { .. } => return false,
        };
        let path = firm_part(path);
        let lies_in = |path: &str, folder: &str| {
            let folder = folder.trim_end_matches("/.").trim_end_matches('/');
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        lies_in(&path, &self.target) || lies_in(&self.target, &path)
    }
}

/// The leading folders of a path, up to its first pattern.
fn firm_part(path: &Word) -> String {
    let firm: String =
        path.bits.iter().map_while(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None }).collect();
    if firm.len() == path.bits.len() {
        firm
    } else {
        firm.rsplit_once('/').map_or_else(String::new, |(above, _)| above.to_owned())
    }
}

/// What one command destroys, and what else it does.
struct Told {
    losses: Vec<Loss>,
    rest: Option<Simple>,
}

/// How many earlier commands are searched for the folders that the line was in.
const NEAR: usize = 64;

/// `None` if it destroys nothing that can be listed, or more than it says. If its folder is unknown, it may
/// be any folder the line was in before; beyond that nothing is assumed.
fn told(simple: &Simple, before: &[Rc<Simple>]) -> Option<Told> {
    if simple.function {
        return None;
    }
    let is_known = |folder: &&Word| !folder.bits.contains(&Bit::Any) || is_place(folder);
    if simple.folders.iter().all(|folder| is_known(&folder)) {
        return told_here(simple);
    }
    let was = |folder: &Word| before.iter().take(NEAR).any(|simple| simple.folders.contains(folder));
    let perhaps = |folder: &Word| left_out(folder).filter(|(from, _)| was(from)).map(|(_, path)| path);
    let known = simple.folders.iter().filter(is_known).cloned();
    let folders: Vec<Word> = known.chain(simple.folders.iter().filter_map(perhaps)).collect();
    let mut here = simple.clone();
    here.folders = Rc::new(folders);
    let told = told_here(&here)?;
    (!told.losses.is_empty()).then(|| Told { rest: Some(simple.clone()), ..told })
}

/// Splits `/p/$X/sub` into the known beginning, and the path without the unknown part.
fn left_out(folder: &Word) -> Option<(Word, Word)> {
    let at = folder.bits.iter().position(|bit| *bit == Bit::Any)?;
    let before = &folder.bits[..at.checked_sub(1)?];
    let behind = &folder.bits[at + 1..];
    let is_part =
        folder.bits[at - 1] == Bit::Char('/') && matches!(behind.first(), None | Some(Bit::Char('/')));
    let word = |bits: Vec<Bit>| Word { bits, ..Word::default() };
    (is_part && !behind.contains(&Bit::Any)).then(|| (word(before.to_vec()), word([before, behind].concat())))
}

/// What `told` returns for a command whose folders are known.
fn told_here(simple: &Simple) -> Option<Told> {
    // Which place an unknown part means depends on its substitution, so the folder and a word cannot be
    // combined.
    let is_placed = |word: &Word| word.bits.contains(&Bit::Any);
    if simple.folders.iter().any(is_placed) && simple.words.iter().chain(&simple.writes).any(is_placed) {
        return None;
    }
    let searched = searched(simple);
    if !searched.is_empty() {
        let all: Option<Vec<Told>> = searched.iter().map(told_here).collect();
        return all?.into_iter().reduce(|mut all, more| {
            all.losses.extend(more.losses);
            all
        });
    }
    let handed = simple.handed();
    let simple = handed.as_ref().unwrap_or(simple);
    let mut losses = Vec::new();
    let is_redirected = simple.empties && simple.writes.iter().all(is_said);
    if is_redirected {
        for folder in simple.folders.iter() {
            losses.extend(simple.writes.iter().map(|word| Loss::Overwritten(placed(word, folder))));
        }
    }
    let mut rest = match by_name(simple) {
        Some((more, rest)) => {
            losses.extend(more);
            rest
        }
        None if is_redirected => Some(simple.clone()),
        None => return None,
    };
    if let Some(rest) = rest.as_mut().filter(|_| is_redirected) {
        rest.writes = Vec::new();
        rest.empties = false;
    }
    Some(Told { losses, rest })
}

/// `find . -name x -exec cp a {} \;`: the command with each pattern of what the search finds. A removal is
/// the rules' matter.
fn searched(simple: &Simple) -> Vec<Simple> {
    let is_gap = |bit: &Bit| *bit == Bit::Any;
    let has_gap = |word: &&Word| word.bits.iter().any(is_gap);
    let is_removal = simple.name().is_none_or(|name| matches!(name, "rm" | "unlink" | "grm" | "git"));
    let mut gaps = simple.words.iter().filter(has_gap);
    let named = gaps.next().filter(|_| !is_removal).map(|word| &word.named).filter(|named| !named.is_empty());
    let Some(named) = named.filter(|named| gaps.all(|word| word.named == **named)) else { return Vec::new() };
    let depth = [Bit::Star, Bit::Star];
    let is_found = |name: &Word| !has_gap(&name) && name.bits.windows(2).any(|pair| pair == depth);
    if !named.iter().all(is_found) {
        return Vec::new();
    }
    let put = |word: &Word, name: &Word| {
        // `{} +` becomes several names, one gap after the other.
        let mut bits = Vec::new();
        for (at, bit) in word.bits.iter().enumerate() {
            match bit {
                Bit::Any if at > 0 && is_gap(&word.bits[at - 1]) => {}
                Bit::Any => bits.extend_from_slice(&name.bits),
                _ => bits.push(*bit),
            }
        }
        if bits == word.bits { word.clone() } else { Word { bits, ..Word::default() } }
    };
    let with = |name: &Word| {
        let mut told = simple.clone();
        told.words = simple.words.iter().map(|word| put(word, name)).collect();
        told
    };
    named.iter().map(with).collect()
}

/// Whether the path is exactly what the line says; it may contain a pattern, or begin with the folder that
/// the command runs in.
fn is_said(word: &Word) -> bool {
    !word.bits.is_empty()
        && (!word.bits.contains(&Bit::Any) || word.bits.first() == Some(&Bit::Any) && is_place(word))
}

/// Whether the only unknown parts of this path are `$(pwd)` or `$(git rev-parse --show-toplevel)`.
fn is_place(word: &Word) -> bool {
    let is_slash = |at: usize| matches!(word.bits.get(at), None | Some(Bit::Char('/')));
    let is_apart = |at: usize| (at == 0 || is_slash(at - 1)) && is_slash(at + 1);
    let mut gaps = (0..word.bits.len()).filter(|at| word.bits[*at] == Bit::Any);
    let is_one = gaps.next().is_some_and(is_apart) && gaps.next().is_none() && word.places == 1;
    is_one && matches!(&*word.printed, [only] if matches!(&**only, "pwd" | "git"))
}

fn placed(word: &Word, folder: &Word) -> Word {
    let mut path = word.from_folder(folder);
    if !path.bits.contains(&Bit::Any) {
        let mut tidy = path.tidied();
        let ending = [&[Bit::Char('/'), Bit::Char('.')][..], &[Bit::Char('/')]];
        let ending = ending.into_iter().find(|ending| path.bits.ends_with(ending));
        // A link is followed then, and of `folder/.` the contents are meant.
        tidy.bits.extend(ending.filter(|_| tidy.bits.len() > 1).into_iter().flatten());
        return tidy;
    }
    if folder.bits.contains(&Bit::Any) && !word.starts_with("/") {
        path.places = folder.places;
        path.printed.clone_from(&folder.printed);
    }
    path
}

/// The losses of a program that is known to remove or overwrite, and the rest of the command.
fn by_name(simple: &Simple) -> Option<(Vec<Loss>, Option<Simple>)> {
    let name = simple.name()?;
    let arguments = &simple.words[1..];
    if name == "git" {
        let moves = arguments.first().is_some_and(|verb| verb.is("mv")) && has(arguments, &["-f", "--force"]);
        if moves && arguments.iter().all(is_said) {
            return replaced(simple, "mv", &arguments[1..]);
        }
        if let Some(losses) = git::losses(simple) {
            return Some((losses, None));
        }
    }
    if !arguments.iter().all(is_said) {
        return replaced_by_unknown(simple, name, arguments);
    }
    let each = |words: &[&Word], loss: fn(Word) -> Loss| {
        let from = |folder: &Word| words.iter().map(|word| loss(placed(word, folder))).collect::<Vec<_>>();
        Some((simple.folders.iter().flat_map(from).collect(), None))
    };
    match name {
        "rm" | "unlink" | "grm" => each(&operands(arguments, &[]), Loss::Removed),
        "shred" => each(&operands(arguments, &["-n", "--iterations", "-s", "--size"]), Loss::Overwritten),
        "truncate" => each(&operands(arguments, &["-s", "--size", "-r", "--reference"]), Loss::Overwritten),
        "tee" if !has(arguments, &["-a", "--append"]) => each(&operands(arguments, &[]), Loss::Overwritten),
        "dd" => {
            let target = arguments.iter().find(|word| word.starts_with("of="))?.after(3);
            each(&[&target], Loss::Overwritten)
        }
        "sed" | "gsed" | "perl" if is_in_place(arguments) => {
            // The first operand may be the program text, not a file.
            let files = operands(arguments, &["-e", "-f", "--expression", "--file"]);
            let (losses, _): (Vec<Loss>, _) = each(&files, Loss::Overwritten)?;
            Some((losses, (name == "perl" || writes_elsewhere(arguments)).then(|| simple.clone())))
        }
        "cp" | "mv" | "gcp" | "gmv" | "install" | "ln" | "gln" => replaced(simple, name, arguments),
        "find" if arguments.iter().any(|word| word.is("-delete")) => found(simple, arguments),
        // A new crontab still needs approval, since it starts commands.
        "crontab" => replaces_table(arguments).then(|| (vec![Loss::Crontab], Some(simple.clone()))),
        _ => {
            let files = outputs::files(name, arguments);
            let (losses, _): (Vec<Loss>, _) = each(&files.iter().collect::<Vec<_>>(), Loss::Overwritten)?;
            (!losses.is_empty()).then(|| (losses, Some(simple.clone())))
        }
    }
}

/// `crontab -r`, `crontab jobs.txt`, `… | crontab -`: whether it replaces the crontab of the user who runs
/// it.
fn replaces_table(arguments: &[Word]) -> bool {
    let texts = || arguments.iter().map(Word::lossy);
    !texts().any(|text| text.starts_with('-') && !matches!(text.as_str(), "-" | "-r" | "-i" | "-ri" | "-ir"))
}

fn has(arguments: &[Word], wanted: &[&str]) -> bool {
    let texts = arguments.iter().map(Word::lossy).take_while(|text| text != "--");
    texts.into_iter().any(|text| wanted.iter().any(|option| is_option(&text, option)))
}

/// All operands; the options in `valued` take the next word as their value.
fn operands<'w>(arguments: &'w [Word], valued: &[&str]) -> Vec<&'w Word> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut ended = false;
    while let Some(word) = arguments.get(at) {
        at += 1;
        match word.lossy().as_str() {
            "--" if !ended => ended = true,
            text if !ended && text.len() > 1 && text.starts_with('-') => {
                let takes = |option: &&str| option.starts_with("--") && is_option(text, option);
                let is_valued = valued.contains(&text) || !text.contains('=') && valued.iter().any(takes);
                at += usize::from(is_valued);
            }
            _ => found.push(word),
        }
    }
    found
}

fn is_in_place(arguments: &[Word]) -> bool {
    // `-i`, `-Ei`, `-ni.bak`, `-pi`: letters without a value may stand before it.
    let edits = |text: String| match text.strip_prefix('-') {
        Some(long) if long.starts_with('-') => is_option(&text, "--in-place"),
        Some(letters) => letters
            .trim_start_matches(['0', 'E', 'a', 'l', 'n', 'p', 'r', 's', 'u', 'w', 'z'])
            .starts_with('i'),
        None => false,
    };
    arguments.iter().map(Word::lossy).take_while(|text| text != "--").any(edits)
}

/// `s/a/b/w copy`, `w copy`, `r file`, `e line`: whether a script does more than edit.
fn writes_elsewhere(arguments: &[Word]) -> bool {
    let is_more = |c: char| matches!(c, 'w' | 'W' | 'r' | 'R' | 'e');
    let in_part = |part: &str| {
        part.trim_start().starts_with(is_more)
            || part.rsplit('/').next().is_some_and(|end| end.starts_with(is_more))
    };
    let is_script = |word: &&Word| word.bits.contains(&Bit::Char('/')) || word.bits.len() < 3;
    let scripts = arguments.iter().filter(|word| !word.is_option()).take(1).filter(is_script);
    scripts.map(Word::lossy).any(|text| text.split([';', '\n', '}']).any(in_part))
        || has(arguments, &["-f", "--file"])
}

/// `cp a b`, `mv a b folder`, `ln -sf a b`. The rest of the command reads the sources.
fn replaced(simple: &Simple, name: &str, arguments: &[Word]) -> Option<(Vec<Loss>, Option<Simple>)> {
    let keeps_none = |word: &Word| word.is("--backup=none") || word.is("--backup=off");
    let is_set = simple.assigned.iter().any(|name| name == "VERSION_CONTROL");
    let spares = has(arguments, &["-n", "--no-clobber"])
        || has(arguments, &["--update=none", "--backup", "-b"])
            && !is_set
            && !arguments.iter().any(keeps_none);
    let is_link = matches!(name, "ln" | "gln");
    if spares || is_link && !has(arguments, &["-f", "--force"]) {
        return None;
    }
    let valued =
        ["-t", "--target-directory", "-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group"];
    let mut sources: Vec<Word> = operands(arguments, &valued).into_iter().cloned().collect();
    let named = value_of(arguments, 't', "--target-directory");
    sources.retain(|word| named.as_ref() != Some(word));
    let target = named.or_else(|| sources.pop())?;
    if sources.is_empty() {
        return None;
    }
    let from = |folder: &Word| Loss::Replaced {
        moves: matches!(name, "mv" | "gmv"),
        sources: sources.iter().map(|word| placed(word, folder)).collect(),
        target: placed(&target, folder),
    };
    let losses = simple.folders.iter().map(from).collect();
    let mut rest = simple.clone();
    rest.words.truncate(1);
    rest.words.append(&mut sources);
    // What is left is a move or copy of the sources to a harmless place.
    rest.words.push(Word::of("_"));
    Some((losses, Some(rest)))
}

/// `mv $made notes.txt`: whatever it is, it replaces the file.
fn replaced_by_unknown(
    simple: &Simple,
    name: &str,
    arguments: &[Word],
) -> Option<(Vec<Loss>, Option<Simple>)> {
    let (target, sources) = arguments.split_last()?;
    let is_plain = matches!(name, "cp" | "mv" | "gcp" | "gmv" | "install") && !sources.is_empty();
    let spares = has(sources, &["-n", "--no-clobber", "-t", "--target-directory", "-b", "--backup"]);
    if !is_plain || spares || target.is_option() || !is_said(target) {
        return None;
    }
    let losses = simple.folders.iter().map(|folder| Loss::Overwritten(placed(target, folder))).collect();
    Some((losses, Some(simple.clone())))
}

/// `find a b -name '*.x' -delete`. Any other test only narrows the search.
fn found(simple: &Simple, arguments: &[Word]) -> Option<(Vec<Loss>, Option<Simple>)> {
    const RUNS: &[&str] =
        &["-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls", "-L", "-H", "-follow"];
    let runs = |word: &Word| RUNS.iter().any(|option| word.is(option));
    if arguments.iter().any(runs) {
        return None;
    }
    let is_test = |word: &Word| word.starts_with("-") || word.is("!") || word.is("(");
    let mut roots: Vec<Word> = arguments.iter().take_while(|word| !is_test(word)).cloned().collect();
    if roots.is_empty() {
        roots.push(Word::of("."));
    }
    // With `!`, `-o` or `-not`, a name may mean the files that stay.
    let is_plain =
        !arguments.iter().any(|word| word.is("!") || word.is("-not") || word.is("-o") || word.is("-or"));
    let name_of = |pair: &[Word]| (pair[0].is("-name")).then(|| crate::syntax::globbed(&pair[1]));
    let names: Vec<Word> = arguments.windows(2).filter_map(name_of).filter(|_| is_plain).collect();
    let from = |folder: &Word| {
        let losses =
            roots.iter().map(|root| Loss::Found { root: placed(root, folder), names: names.clone() });
        losses.collect::<Vec<_>>()
    };
    Some((simple.folders.iter().flat_map(from).collect(), None))
}

#[cfg(test)]
mod tests;
