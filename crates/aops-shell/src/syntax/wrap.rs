//! Looks inside commands that run other commands: `sudo`, `env`, `xargs`, `sh -c`, `eval`, `find -exec` and
//! similar. What they run is walked immediately, in the scope it would see.

use super::each::{arriving, filled, is_command_flag, placeholder, replaced, rows, runs_mark};
use super::scope::Scope;
use super::tree::is_name_byte;
use super::walk::Walk;
use super::{Bit, SOURCED, SYSTEM_FOLDERS, Simple, Word};
use crate::flags::is_option;
use std::rc::Rc;

const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "yash"];

/// The reason recorded for text that becomes a program only at run time.
pub(super) const MADE_UP: &str = "a program put together when it runs";

/// Commands whose arguments are another command.
struct Wrapper {
    names: &'static [&'static str],
    /// Their options: `-ab` take no value, `-c=` and `--long=` take one, `-d?` may have one glued to it.
    options: &'static str,
    /// How many operands come before the command.
    operands: usize,
    /// They only run the command and have no effect of their own.
    is_plain: bool,
}

const fn plain(names: &'static [&'static str], options: &'static str, operands: usize) -> Wrapper {
    Wrapper { names, options, operands, is_plain: true }
}

const fn acting(names: &'static [&'static str], options: &'static str, operands: usize) -> Wrapper {
    Wrapper { names, options, operands, is_plain: false }
}

#[rustfmt::skip]
static WRAPPERS: &[Wrapper] = &[
    plain(&["nohup", "builtin"], "", 0),
    plain(&["sudo"], "-AbEHknPS -u= -g= -h= -p= -C= -r= -t= -T= -U= -D= -R= --user= --group= --chdir= --non-interactive --preserve-env", 0),
    plain(&["doas"], "-n -u=", 0),
    plain(&["env"], "-i0v -u= -C= --ignore-environment --null --debug --unset= --chdir=", 0),
    plain(&["nice"], "-n= -0? -1? -2? -3? -4? -5? -6? -7? -8? -9? --adjustment=", 0),
    plain(&["ionice"], "-t -c= -n= --class= --classdata= --ignore", 0),
    plain(&["time"], "-pvqla -f= -o= --format= --output= --append --portability --verbose --quiet", 0),
    plain(&["timeout", "gtimeout"], "-vf -s= -k= --signal= --kill-after= --foreground --preserve-status --verbose", 1),
    plain(&["setsid"], "-cfw --ctty --fork --wait", 0),
    plain(&["stdbuf"], "-i= -o= -e= --input= --output= --error=", 0),
    plain(&["command"], "-p", 0),
    plain(&["exec"], "-cl -a=", 0),
    plain(&["caffeinate"], "-disum -t= -w=", 0),
    plain(&["xargs"], "-0rtpxo -I= -n= -P= -L= -d= -s= -E= -J= -R= -a= -i? -e? -l? --null --no-run-if-empty --verbose --interactive --exit --open-tty --max-args= --max-procs= --delimiter= --max-chars= --max-lines --arg-file= --replace", 0),
    acting(&["busybox", "toybox", "unbuffer", "chronic", "unshare", "xcrun", "fakeroot", "pkexec"], "", 0),
    acting(&["arch"], "-e= -d=", 0),
    acting(&["sandbox-exec"], "-f= -p= -n= -D=", 0),
    acting(&["taskset", "chrt", "chroot", "setarch"], "", 1),
    acting(&["strace", "ltrace"], "-e= -p= -s= -u= -o= --output=", 0),
    acting(&["flock"], "-w= -E=", 1),
    acting(&["parallel"], "-j= --jobs= -n= -N= -a= -S= --results= --joblog= --tmpdir= --colsep= --delimiter= --sshlogin=", 0),
];

impl Wrapper {
    /// The value of the option that begins these words, and how many words both take; `None` if the option is
    /// unknown.
    fn value(&self, rest: &[Word]) -> Option<(Option<Word>, usize)> {
        let word = &rest[0];
        let text = rest[0].lossy();
        let next = || Some((rest.get(1).cloned(), 2));
        let glued = |at: usize| Some((Some(word.after(at)), 1));
        if let Some(long) = text.strip_prefix("--") {
            let (name, is_glued) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            let written = &text[..name.len() + 2];
            let known = |row: &&str| row.starts_with("--") && is_option(written, row.trim_end_matches('='));
            return match self.options.split(' ').find(known)? {
                _ if is_glued => glued(name.chars().count() + 3),
                row if row.ends_with('=') => next(),
                _ => Some((None, 1)),
            };
        }
        for (at, letter) in text.chars().enumerate().skip(1) {
            let known =
                |row: &&str| row.starts_with('-') && !row.starts_with("--") && row[1..].contains(letter);
            match self.options.split(' ').find(known)? {
                row if row.ends_with('=') && at + 1 == word.bits.len() => return next(),
                row if row.ends_with(['=', '?']) => return glued(at + 1),
                _ => {}
            }
        }
        Some((None, 1))
    }
}

/// A wrapper whose arguments are being read up to its command.
struct Wrapped<'a> {
    name: &'a str,
    wrapper: &'a Wrapper,
    /// The words that have not been read yet.
    rest: &'a [Word],
    /// The command, without its words so far.
    inner: Simple,
    /// The scope that most wrappers give their command.
    apart: Scope,
    /// The text that input replaces: `{}`.
    mark: Option<String>,
}

/// Whether the program is what its name says: written literally, and found on `PATH` or among the system's
/// programs.
fn is_certain(program: &Word) -> bool {
    let text = program.lossy();
    program.is_firm() && text.rsplit_once('/').is_none_or(|(folder, _)| SYSTEM_FOLDERS.contains(&folder))
}

impl Walk {
    /// Walks what this command runs. Returns whether it does nothing else. `own` is the scope with the
    /// assignments before it.
    pub(super) fn look_inside(&mut self, simple: &Simple, scope: &mut Scope, own: &Scope) -> bool {
        let Some(name) = simple.name() else {
            self.substituted_name(simple, scope);
            return false;
        };
        let is_all = self.look(simple, scope, own, name);
        self.guess_if(is_all && !is_certain(&simple.words[0]), name);
        is_all
    }

    fn look(&mut self, simple: &Simple, scope: &mut Scope, own: &Scope, name: &str) -> bool {
        let arguments = &simple.words[1..];
        match name {
            "eval" => {
                let words: Vec<&Word> = arguments.iter().filter(|word| !word.is("--")).collect();
                self.texts(&words, scope) && !words.iter().any(|word| word.is_filtered())
            }
            "source" | "." => {
                self.guess(SOURCED);
                let said = arguments.first().and_then(|word| word.said.as_ref());
                let text = said.or(simple.script.as_ref());
                text.inspect(|text| self.program(text, scope)).is_some()
            }
            "watch" | "trap" | "script" | "alias" => {
                for word in programs(name, arguments) {
                    self.texts(&[&word], &mut scope.clone());
                }
                false
            }
            "find" | "fd" | "fdfind" => {
                self.executed(simple, scope, own);
                false
            }
            _ if SHELLS.contains(&name) || name == "su" => self.shell(simple, own, name),
            _ => {
                let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name));
                wrapper.is_some_and(|wrapper| self.unwrap(simple, scope, own, (name, wrapper)))
            }
        }
    }

    /// A program given as words; joined by blanks, as `eval` does. Returns whether there is one.
    fn texts(&mut self, words: &[&Word], scope: &mut Scope) -> bool {
        // The same words are parsed again, one program deeper.
        if !self.spend(4 * words.len()) {
            return true;
        }
        let texts: Option<Vec<String>> = words.iter().map(|word| code(word)).collect();
        self.guess_if(!words.iter().all(|word| word.is_firm()), MADE_UP);
        let text = texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join(" "));
        text.inspect(|text| self.program(text, scope)).is_some()
    }

    /// The program's name is the output of a substitution: `$(echo rm) file`.
    fn substituted_name(&mut self, simple: &Simple, scope: &mut Scope) {
        let Some(text) = simple.words.first().and_then(|word| word.said.clone()) else { return };
        self.guess(MADE_UP);
        let rest = simple.words[1..].iter().map(Word::lossy);
        let line = std::iter::once(text).chain(rest).collect::<Vec<_>>().join(" ");
        self.program(&line, scope);
    }

    /// `sh -c 'program' name arguments`, `sh < program`, `sh file`.
    fn shell(&mut self, simple: &Simple, own: &Scope, name: &str) -> bool {
        let arguments = &simple.words[1..];
        // A new shell does not inherit functions.
        let mut scope = Scope { functions: Rc::default(), given: Rc::default(), ..own.clone() };
        let starts = |pair: &[Word]| pair[0].is("--rcfile") || pair[0].is("--init-file");
        for pair in arguments.windows(2).filter(|pair| starts(pair)) {
            pair[1].said.iter().for_each(|text| self.program(text, &mut scope.clone()));
        }
        if let Some(at) = arguments.iter().position(is_command_flag) {
            let usual = arguments[..at].iter().all(is_usual);
            self.guess_if(name == "su" || name == "fish" || !usual, name);
            let mut rest = arguments[at + 1..].iter().skip_while(|word| word.is_option());
            let Some(text) = rest.next() else { return false };
            self.guess_if(!text.is_firm(), MADE_UP);
            let Some(program) = code(text) else { return false };
            scope.zero = rest.next().map(|word| Rc::new(word.clone()));
            self.give(&mut scope, rest.cloned().collect());
            self.program(&program, &mut scope);
            return !text.is_filtered();
        }
        let file = arguments.iter().find(|word| !word.is_option());
        if let Some(text) = file.and_then(|word| word.said.as_ref()) {
            self.guess(MADE_UP);
            self.program(text, &mut scope);
            return !file.is_some_and(Word::is_filtered);
        }
        let reads_input = arguments.iter().all(|word| word.is_option() || word.is("-"));
        let Some(script) = &simple.script else { return false };
        if name == "su" || !reads_input && !arguments.iter().any(|word| word.is("-s")) {
            return false;
        }
        self.guess_if(!own.sure || name == "fish" || !arguments.iter().all(is_usual), MADE_UP);
        self.program(script, &mut scope);
        true
    }

    fn unwrap(
        &mut self,
        simple: &Simple,
        scope: &mut Scope,
        own: &Scope,
        (name, wrapper): (&str, &Wrapper),
    ) -> bool {
        self.guess_if(!wrapper.is_plain && simple.words.len() > 1, name);
        let inner = Simple { words: Vec::new(), writes: Vec::new(), ..simple.clone() };
        let mark = (name == "parallel").then(|| "{}".to_owned());
        let mut opened =
            Wrapped { name, wrapper, rest: &simple.words[1..], inner, apart: scope.clone(), mark };
        if let Err(looked) = self.skip_to_command(&mut opened, scope) {
            return looked;
        }
        let Wrapped { rest, mut inner, apart, mark, .. } = opened;
        if let Some(at) = rest.iter().position(|word| name == "parallel" && word.is(":::")) {
            for value in &rest[at + 1..] {
                let each = Simple { words: filled(&rest[..at], value), ..inner.clone() };
                self.unwrapped(each, scope, own, (name, apart.clone(), false));
            }
            return true;
        }
        self.line.runs_arriving |= runs_code(rest) && mark.as_ref().is_some_and(|mark| runs_mark(rest, mark));
        inner.words = match &mark {
            // The input replaces the mark wherever it occurs.
            Some(mark) => {
                rest.iter().map(|word| arriving(placeholder(word, mark, &inner.arriving))).collect()
            }
            None => rest.to_vec(),
        };
        let appends = mark
            .as_ref()
            .is_none_or(|mark| name == "parallel" && !rest.iter().any(|word| word.lossy().contains(mark)));
        // The same with each row of the text that arrives, as far as the line says it.
        for row in mark.iter().flat_map(|mark| rows(rest, mark, inner.script.as_deref())) {
            if !self.spend(1 + row.len()) {
                return true;
            }
            let each = Simple { words: row, ..inner.clone() };
            self.unwrapped(each, scope, own, (name, apart.clone(), false));
        }
        // `xargs -a file` reads the file instead of its input.
        let takes_file = |word: &Word| word.is_option() && word.lossy().contains('a');
        let reads_file = simple.words[1..].iter().take_while(|word| word.is_option()).any(takes_file);
        let own = &Scope { lists_files: own.lists_files && !reads_file, ..own.clone() };
        self.unwrapped(inner, scope, own, (name, apart, appends));
        true
    }

    /// Reads what comes before the command: options, assignments, operands. `Err` if no command is left to
    /// run: whether the value of an option was walked instead.
    fn skip_to_command(&mut self, wrapped: &mut Wrapped, scope: &Scope) -> Result<(), bool> {
        let name = wrapped.name;
        let mut operands = wrapped.wrapper.operands;
        loop {
            let rest = wrapped.rest;
            let word = rest.first().ok_or(false)?;
            let text = word.lossy();
            let mut count = 1;
            if text == "--" || text == "-" && name == "env" {
            } else if word.is_option() {
                if name == "command" && text.contains(['v', 'V']) {
                    return Err(false);
                }
                if let Some(looked) = self.inner_program(rest, &wrapped.inner, name, &mut wrapped.apart) {
                    return Err(looked);
                }
                wrapped.mark = wrapped.mark.take().or_else(|| replaced(rest, name));
                count = self.option(rest, (name, wrapped.wrapper), &mut wrapped.apart);
            } else if let Some(assigned) = assigned(name, &text) {
                let value = word.past('=').unwrap_or_default();
                self.programmed(assigned, std::slice::from_ref(&value), scope);
                wrapped.inner.assigned.push(assigned.to_owned());
                wrapped.inner.values.push(value);
            } else if operands > 0 {
                operands -= 1;
                self.guess_if(word.splits, MADE_UP);
                if name == "flock" {
                    // It creates the file, and whoever else wants its lock has to wait.
                    let writes = vec![word.clone()];
                    let folders = Rc::clone(&scope.folders);
                    self.found.push(Simple { writes, folders, ..Simple::default() });
                }
            } else {
                return Ok(());
            }
            wrapped.rest = &rest[count.min(rest.len())..];
        }
    }

    /// Runs the command behind a wrapper of this name, in most cases in a scope of its own.
    fn unwrapped(
        &mut self,
        mut inner: Simple,
        scope: &mut Scope,
        own: &Scope,
        (name, mut apart, appends): (&str, Scope, bool),
    ) {
        match name {
            "time" => self.run(inner, scope, own),
            "command" | "builtin" | "exec" => {
                // It does not look up functions.
                let functions = std::mem::take(&mut scope.functions);
                self.run(inner, scope, own);
                scope.functions = functions;
            }
            _ => {
                if matches!(name, "xargs" | "parallel") && appends {
                    // The input may contain options, and any number of words.
                    let named = inner.arriving.clone();
                    let lists_files = own.lists_files;
                    let said = inner.script.clone();
                    inner.words.push(Word {
                        named,
                        said,
                        shifts: Some(0),
                        splits: true,
                        lists_files,
                        ..Word::any()
                    });
                }
                apart.functions = Rc::default();
                self.run(inner, &mut apart, own);
            }
        }
    }

    /// An option whose value is the program: whether it was examined. `None` for other options.
    fn inner_program(
        &mut self,
        rest: &[Word],
        inner: &Simple,
        name: &str,
        scope: &mut Scope,
    ) -> Option<bool> {
        let text = rest[0].lossy();
        if name == "flock" && (text == "-c" || is_option(&text, "--command")) {
            return Some(self.texts(&rest[1..].iter().collect::<Vec<_>>(), scope));
        }
        let is_long = is_option(&text, "--split-string");
        let split =
            if is_long { text.split_once('=').map(|(_, line)| line) } else { text.strip_prefix("-S") };
        let split = split.filter(|_| name == "env")?;
        let words = std::iter::once(split.to_owned()).chain(rest[1..].iter().filter_map(code));
        self.guess_if(!rest.iter().all(Word::is_firm) || !inner.assigned.is_empty(), MADE_UP);
        self.program(&words.collect::<Vec<_>>().join(" "), scope);
        Some(true)
    }

    /// An option of a wrapper: how many words it takes.
    fn option(&mut self, rest: &[Word], (name, wrapper): (&str, &Wrapper), scope: &mut Scope) -> usize {
        let word = &rest[0];
        let text = word.lossy();
        let known = wrapper.value(rest);
        let is_known = known.is_some();
        // `env -P path`: programs are looked up elsewhere.
        let (value, count) = known.unwrap_or((None, 1 + usize::from(name == "env" && text == "-P")));
        let replaces = name == "xargs" && (text.contains(['I', 'J', 'i']) || text.starts_with("--replace"));
        let bends = word.splits || value.as_ref().is_some_and(|value| value.splits);
        self.guess_if(!is_known || bends || replaces && runs_code(rest), name);
        folder_option(&text, value.as_ref(), name, scope);
        if matches!(name, "time" | "strace" | "ltrace") && text.trim_start_matches('-').starts_with('o') {
            let writes = value.into_iter().collect();
            let folders = Rc::clone(&scope.folders);
            self.found.push(Simple { writes, folders, ..Simple::default() });
        }
        count
    }
}

/// The variable that a wrapper sets for its command: `env A=b program`.
fn assigned<'a>(wrapper: &str, text: &'a str) -> Option<&'a str> {
    let (name, _) = text.split_once('=').filter(|_| matches!(wrapper, "env" | "sudo" | "doas"))?;
    (!name.is_empty() && name.bytes().all(is_name_byte)).then_some(name)
}

fn programs(name: &str, arguments: &[Word]) -> Vec<Word> {
    match name {
        "watch" => arguments.iter().filter(|word| !word.is_option()).cloned().collect(),
        "trap" => arguments.iter().filter(|word| !word.is_option()).take(1).cloned().collect(),
        "alias" => arguments.iter().filter_map(|word| word.past('=')).collect(),
        _ => {
            let code = |pair: &&[Word]| pair[0].is_option() && pair[0].lossy().ends_with(['c', 'd']);
            arguments.windows(2).filter(code).map(|pair| pair[1].clone()).collect()
        }
    }
}

/// A word as program text. Wildcards stay wildcards; an unknown part becomes a variable that is never set.
pub(super) fn code(word: &Word) -> Option<String> {
    if word.bits.iter().all(|bit| *bit == Bit::Any) {
        return word.said.clone();
    }
    Some(word.code())
}

/// Whether an option of a shell has no effect on what its program does.
fn is_usual(word: &Word) -> bool {
    let plain = |text: String| {
        matches!(
            text.as_str(),
            "--norc" | "--noprofile" | "--login" | "--posix" | "-" | "-o" | "pipefail" | "errexit"
        ) || text.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| "celsuxv".contains(c)))
    };
    word.is_firm() && word.literal().is_some_and(plain)
}

/// `xargs -I{} sh -c 'ls {}'`: the input becomes program text.
fn runs_code(words: &[Word]) -> bool {
    words.iter().any(|word| SHELLS.iter().any(|shell| word.last_part().is(shell)) || word.is("eval"))
}

/// `env -C dir`, `sudo -D dir`.
fn folder_option(text: &str, value: Option<&Word>, name: &str, scope: &mut Scope) {
    let moves = matches!((name, text), ("env", "-C" | "--chdir") | ("sudo", "-D" | "--chdir"));
    let glued = || text.strip_prefix("--chdir=").map(Word::of);
    let Some(folder) = value.filter(|_| moves).cloned().or_else(glued) else { return };
    scope.folders = Rc::new(scope.folders.iter().map(|from| folder.from_folder(from)).collect());
}
