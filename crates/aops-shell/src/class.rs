//! The class of a shell line: the gravest class of its simple commands. Invariant: an unknown, guessed or
//! unreadable part makes the line a write, and so does a redirection into a file or a variable that changes
//! what other programs do.

use crate::commands::{self, Class, is_nowhere, only_prints};
use crate::effect::Effect;
use crate::syntax::{Bit, Ground, Line, Simple, Word};

/// The class of a call: its effect and, for a write, the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallClass {
    pub effect: Effect,
    pub why: String,
    /// The write goes into the working tree or its repository; merely running something, such as tests, does
    /// not.
    pub touches_tree: bool,
}

impl CallClass {
    pub fn of(class: Class, touches_tree: bool) -> Self {
        match class {
            Ok(effect) => Self { effect, why: String::new(), touches_tree: false },
            Err(why) => Self { effect: Effect::Write, why, touches_tree },
        }
    }
}

#[derive(Clone, Copy)]
pub struct LineSetting<'a> {
    pub ground: Ground<'a>,
    /// The root of the working tree; the line may run in another folder.
    pub project: Option<&'a str>,
    /// What the user's `[effects]` say about a program with these arguments.
    pub listed: &'a dyn Fn(&str, &[Word]) -> Option<Effect>,
}

impl<'a> LineSetting<'a> {
    /// Nothing is known of the project and of what the user says about programs.
    pub fn of(ground: Ground<'a>) -> Self {
        Self { ground, project: None, listed: &|_, _| None }
    }
}

pub fn class(line: &Line, around: &LineSetting) -> CallClass {
    let (effect, why) = match gravest(line, around) {
        Ok(effect) if effect.is_write() => (effect, "it changes the repository".to_owned()),
        Ok(effect) => return CallClass::of(Ok(effect), false),
        Err(why) => (Effect::Write, why),
    };
    CallClass { effect, why, touches_tree: touches_tree(line, around) }
}

fn gravest(line: &Line, around: &LineSetting) -> Class {
    if line.unclear {
        return Err("the line cannot be read".to_owned());
    }
    if let Some(what) = &line.guessed {
        return Err(format!("it runs {what}"));
    }
    commands::variables(line)?;
    let mut worst = Effect::Read;
    for simple in &line.commands {
        let effect = one(line, simple, around)?;
        if rank(effect) > rank(worst) {
            worst = effect;
        }
    }
    Ok(worst)
}

/// How grave an effect is: tracker and control calls need no plan, but rank above reading.
fn rank(effect: Effect) -> usize {
    match effect {
        Effect::Read => 0,
        Effect::Control => 1,
        Effect::Tracker => 2,
        Effect::Close => 3,
        Effect::Write | Effect::Spawn => 4,
    }
}

fn one(line: &Line, simple: &Simple, around: &LineSetting) -> Class {
    if let Some(word) = simple.writes.iter().find(|word| !is_nowhere(word)) {
        return Err(format!("it writes to `{}`", commands::shown(word)));
    }
    program(line, simple, around)
}

/// The class of a simple command without its redirections.
fn program(line: &Line, simple: &Simple, around: &LineSetting) -> Class {
    let Some(program) = simple.words.first() else { return assigned(simple, "") };
    let Some(name) = program.literal().filter(|_| program.is_firm()) else {
        return Err("it runs a program whose name is not in the line".to_owned());
    };
    assigned(simple, &name)?;
    if simple.function {
        let sure = line.functions.contains(&name);
        return if sure { Ok(Effect::Read) } else { Err(format!("`{name}` may or may not be a function")) };
    }
    let known = commands::program(&name, around.ground.home);
    match (around.listed)(known.unwrap_or(&name), &simple.words[1..]) {
        Some(Effect::Write) => Err(format!("your `[effects]` list `{name}` under `write`")),
        Some(Effect::Read) => Ok(Effect::Read),
        // The user's own tracker, whatever its name and path.
        Some(Effect::Tracker) => {
            commands::class(if name.ends_with("/mb") { "mb" } else { "bd" }, simple, line)
        }
        _ => known.map_or_else(|| Err(commands::unknown(&name)), |name| commands::class(name, simple, line)),
    }
}

/// Programs that change only the files they name.
const PLAIN: &[&str] = &["cp", "mkdir", "rm", "rmdir", "tee", "touch", "truncate", "unlink"];

/// Apart from reading, this line only creates, changes and removes files that it names.
pub fn only_changes_named(line: &Line, around: &LineSetting) -> bool {
    let clear = !line.unclear && line.guessed.is_none() && commands::variables(line).is_ok();
    clear && line.commands.iter().all(|simple| is_plain(line, simple, around))
}

fn is_plain(line: &Line, simple: &Simple, around: &LineSetting) -> bool {
    if let Ok(effect) = program(line, simple, around) {
        return matches!(effect, Effect::Read | Effect::Control);
    }
    let name = simple.words.first().filter(|word| word.is_firm()).and_then(Word::literal);
    let known = name.as_deref().and_then(|name| commands::program(name, around.ground.home));
    let listed = known.and_then(|name| (around.listed)(name, &simple.words[1..]));
    let alone = listed.is_none() && !simple.function && simple.assigned.is_empty();
    alone && known.is_some_and(|name| PLAIN.contains(&name))
}

/// Apart from reading and closing the work, this line only syncs with the work of others, in the folder it
/// runs in: `git pull`, `bd sync`.
pub fn only_syncs(line: &Line, around: &LineSetting) -> bool {
    let plain = |simple: &Simple| {
        let stays = simple.writes.iter().all(is_nowhere) && !simple.function;
        stays && (program(line, simple, around).is_ok() || syncs(simple, around))
    };
    let clear = !line.unclear && line.guessed.is_none() && commands::variables(line).is_ok();
    clear && line.commands.iter().all(|simple| plain(simple))
}

/// Whether it changes nothing but what git knows of other repositories.
pub fn only_fetches(line: &Line, around: &LineSetting) -> bool {
    let fetches = |simple: &Simple| {
        let is_fetch =
            matches!(simple.words.as_slice(), [git, verb, ..] if git.is("git") && verb.is("fetch"));
        // `git fetch origin main:main` moves a branch.
        is_fetch && simple.words[2..].iter().all(|word| word.is_firm() && !word.lossy().contains(':'))
    };
    let stays = |simple: &Simple| simple.writes.iter().all(is_nowhere) && !simple.function;
    let is_clear = !line.unclear && line.guessed.is_none() && commands::variables(line).is_ok();
    is_clear
        && line.commands.iter().all(|simple| {
            stays(simple)
                && (fetches(simple) || program(line, simple, around).is_ok_and(|is| is == Effect::Read))
        })
}

fn syncs(simple: &Simple, around: &LineSetting) -> bool {
    let words: Vec<String> = simple.words.iter().map(Word::lossy).collect();
    let here = simple.folders.iter().all(|folder| folder.is(around.ground.cwd));
    let firm = simple.assigned.is_empty() && simple.words.iter().all(Word::is_firm);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    here && firm && matches!(words.as_slice(), ["git", "pull" | "merge" | "rebase", ..] | ["bd", "sync", ..])
}

/// The texts of words; `None` for a word whose value is not certain.
pub fn certain(words: &[Word]) -> Vec<Option<String>> {
    words.iter().map(|word| word.literal().filter(|_| word.is_firm() && !word.splits)).collect()
}

/// Variables set for this command alone.
fn assigned(simple: &Simple, name: &str) -> Class {
    // `IFS= read` sets `IFS` only for the shell itself.
    let free = |(set, value): &(&String, &Word)| only_prints(set, value) || *set == "IFS" && name == "read";
    match simple.assigned.iter().zip(&simple.values).find(|set| !free(set)) {
        Some((set, _)) => Err(format!("it sets `{set}`")),
        None => Ok(Effect::Read),
    }
}

/// Whether a write goes into the working tree or its repository. Merely running something, such as tests,
/// does not; an uncertain path or program does.
fn touches_tree(line: &Line, around: &LineSetting) -> bool {
    line.unclear || line.guessed.is_some() || line.commands.iter().any(|simple| touches(line, simple, around))
}

fn touches(line: &Line, simple: &Simple, around: &LineSetting) -> bool {
    let inside = |word: &Word| !is_nowhere(word) && is_inside(simple, word, around);
    if simple.writes.iter().any(inside) {
        return true;
    }
    let Some(program) = simple.words.first() else { return false };
    let Some(name) = program.literal().filter(|_| program.is_firm()) else { return true };
    let name = name.rsplit('/').next().unwrap_or_default();
    if name == "git" {
        return commands::class(name, simple, line) != Ok(Effect::Read);
    }
    let arguments = &simple.words[1..];
    let changed = commands::changed(name, simple, line);
    let changed = changed.or_else(|| edits_in_place(name, arguments).then(|| arguments.into()));
    if let Some(words) = changed {
        return words.iter().any(|word| paths(word).any(|path| inside(&path)));
    }
    fixes(name, arguments)
}

/// Formatters and linters that fix what they find.
fn fixes(name: &str, arguments: &[Word]) -> bool {
    let fixes = ["--fix", "--write", "--in-place", "--inplace"];
    let formats = name == "cargo" && arguments.first().is_some_and(|word| word.is("fmt") || word.is("fix"));
    arguments.iter().any(|word| fixes.iter().any(|option| word.is(option)))
        || formats && !arguments.iter().any(|word| word.is("--check"))
}

/// Whether this is a write only because something in it is unknown: no part of the line is known to change a
/// file, to stop or set something on this machine, or to use the repository.
pub fn is_only_unknown(line: &Line, around: &LineSetting) -> bool {
    is_only_unknown_beside(line, around, &|_, _| false)
}

/// Like [`is_only_unknown`], but output may go into files that `is_free` accepts.
pub fn is_only_unknown_beside(
    line: &Line,
    around: &LineSetting,
    is_free: &dyn Fn(&Simple, &Word) -> bool,
) -> bool {
    !line.commands.iter().any(|simple| is_known_change(line, simple, around, is_free))
}

fn is_known_change(
    line: &Line,
    simple: &Simple,
    around: &LineSetting,
    is_free: &dyn Fn(&Simple, &Word) -> bool,
) -> bool {
    if simple.writes.iter().any(|word| !is_nowhere(word) && !is_free(simple, word)) {
        return true;
    }
    let known = simple.words.first().filter(|word| word.is_firm()).and_then(Word::literal);
    let Some(name) = known.filter(|_| !simple.function) else { return false };
    let name = name.rsplit('/').next().unwrap_or_default();
    let arguments = &simple.words[1..];
    if matches!((around.listed)(name, arguments), Some(Effect::Write)) {
        return true;
    }
    let changes = commands::changed(name, simple, line).is_some() || edits_in_place(name, arguments);
    changes || commands::acts(name, simple, line) || fixes(name, arguments)
}

/// `perl` and `ruby` run code; with `-i` they change their files.
fn edits_in_place(name: &str, arguments: &[Word]) -> bool {
    let in_place = |word: &Word| word.is_option() && !word.starts_with("--") && word.lossy().contains('i');
    matches!(name, "perl" | "ruby") && arguments.iter().any(in_place)
}

/// The paths that a word may name: the word itself, the part after `=`, and a value glued to an option.
fn paths(word: &Word) -> impl Iterator<Item = Word> {
    let whole = (!word.is_option()).then(|| word.clone());
    let takes = ["-o", "-t", "-d", "-C", "-P"].iter().any(|option| word.starts_with(option));
    let glued = (takes && word.bits.len() > 2).then(|| word.after(2));
    [whole, word.past('='), glued].into_iter().flatten()
}

/// Whether the path is inside the folder that the line runs in, or inside the project.
fn is_inside(simple: &Simple, word: &Word, around: &LineSetting) -> bool {
    let roots = [Some(around.ground.cwd), around.project];
    let below = |path: &str, root: &str| {
        let rest = path.strip_prefix(root).filter(|_| !root.is_empty());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let inside = |path: &str| roots.iter().flatten().any(|root| below(path, root));
    simple.folders.iter().any(|folder| normal(&word.from_folder(folder)).is_none_or(|path| inside(&path)))
}

/// The path without `.` and `..`; `None` if its folder is not certain.
fn normal(path: &Word) -> Option<String> {
    let firm = path.bits.iter().take(path.shifts.unwrap_or(usize::MAX));
    let known: Vec<Bit> = firm.take_while(|bit| matches!(bit, Bit::Char(_))).copied().collect();
    let whole = known.len() == path.bits.len();
    // The file name is unknown but its folder is known; with a `..` after the unknown part, it could be
    // anywhere.
    if !whole && (path.shifts.is_some() || path.lossy().contains("..")) {
        return None;
    }
    Word { bits: known, ..Word::default() }.tidied().literal()
}
