//! `find` and `fd`: searching is a read; the commands they run for each file were read on their own.

use super::command::{Act, Class, Invocation, Touched, every};
use super::options::{WordShape, shape};
use super::programs;
use crate::effect::Effect;
use crate::syntax::{Word, found};

/// Words of an expression that take no value.
static ALONE: &[&str] = &[
    "!", "(", ")", ",", "-E", "-H", "-L", "-P", "-X", "-a", "-and", "-d", "-daystart", "-depth", "-empty",
    "-executable", "-false", "-follow", "-ignore_readdir_race", "-ls", "-mount", "-nogroup", "-noleaf",
    "-not", "-nouser", "-nowarn", "-o", "-or", "-print", "-print0", "-prune", "-quit", "-readable", "-s",
    "-true", "-warn", "-writable", "-x", "-xdev",
];

/// Tests that take one value.
static VALUED: &[&str] = &[
    "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-context", "-ctime", "-fstype", "-gid", "-group",
    "-ilname", "-iname", "-inum", "-ipath", "-iregex", "-iwholename", "-links", "-lname", "-maxdepth",
    "-mindepth", "-mmin", "-mtime", "-name", "-newer", "-newerat", "-newerct", "-newermm", "-newermt",
    "-path", "-perm", "-printf", "-regex", "-regextype", "-samefile", "-size", "-type", "-uid", "-used",
    "-user", "-wholename", "-xtype",
];

const EXECUTING: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

pub(super) fn class(command: &Invocation) -> Class {
    let words = command.arguments;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.lossy();
        let sign = matches!(text.as_str(), "(" | ")" | "!" | ",");
        let ends = |n: &usize| words[*n].is(";") || words[*n].is("+") && words[*n - 1].is("{}");
        let next = match shape(word, command.line) {
            WordShape::Operand if !sign || word.is_firm() => Some(at + 1),
            WordShape::Option if !word.is_firm() => None,
            WordShape::Option if ALONE.contains(&text.as_str()) => Some(at + 1),
            WordShape::Option if VALUED.contains(&text.as_str()) => {
                words.get(at + 1).filter(|value| !value.splits).map(|_| at + 2)
            }
            WordShape::Option if EXECUTING.contains(&text.as_str()) => {
                let end = (at + 1..words.len()).find(ends);
                end.filter(|end| !words[at..*end].iter().any(|word| word.splits)).map(|end| end + 1)
            }
            _ => None,
        };
        at = next.ok_or_else(|| command.refusal(&text))?;
    }
    Ok(Effect::Read)
}

pub(super) const FD: &str = "-HIusigFalLp01q -d= -t= -e= -E= -S= -o= -c= -j= -C= --hidden --no-ignore --no-ignore-vcs --unrestricted \
    --case-sensitive --ignore-case --glob --fixed-strings --absolute-path --list-details --follow --full-path --print0 \
    --max-depth= --min-depth= --exact-depth= --type= --extension= --exclude= --size= --owner= --color= --threads= \
    --base-directory= --max-results= --changed-within= --changed-before= --strip-cwd-prefix --quiet --and= --format= \
    --prune --one-file-system --version --help";

/// `rg` on the files of a listing: `git ls-files | xargs rg x`.
pub(super) fn rg(command: &Invocation) -> Class {
    let own: Vec<Word> = command.arguments.iter().filter(|word| !word.lists_files).cloned().collect();
    let sorted = Invocation { arguments: &own, ..*command }.sort_by(&[command.options]);
    sorted.odd.map_or(Ok(Effect::Read), |odd| Err(command.refusal(&odd)))
}

/// Where `fd`'s own arguments end and the command it runs for each find begins.
fn executes(command: &Invocation) -> Option<usize> {
    let executing = ["-x", "-X", "--exec", "--exec-batch"];
    command.arguments.iter().position(|word| executing.iter().any(|option| word.is(option)))
}

pub(super) fn fd(command: &Invocation) -> Class {
    // The command was read on its own. A `;` would end it, but is rare.
    let end = executes(command).unwrap_or(command.arguments.len());
    let (own, run) = command.arguments.split_at(end);
    if run.iter().any(|word| word.splits || word.is(";")) {
        return Err(command.refusal("-x"));
    }
    Invocation { arguments: own, ..*command }.sorted()?;
    Ok(Effect::Read)
}

/// With a command, every argument may be written: we do not follow which files the command gets.
pub(super) fn fd_touched(command: &Invocation) -> Touched {
    let runs = |word: &Word| {
        word.starts_with("--ex")
            || word.is_option() && !word.starts_with("--") && word.lossy().contains(['x', 'X'])
    };
    if !command.arguments.iter().any(runs) {
        return Touched::nothing();
    }
    let lines = programs::lines(&command.simple.words);
    Touched { files: every(command.arguments), lines, ..Touched::default() }
}

/// What `-delete` removes and `-fprint` writes. The command of `-exec` is judged on its own.
pub(super) fn touched(command: &Invocation) -> Touched {
    let mut files = Vec::new();
    if command.arguments.iter().any(|word| word.is("-delete")) {
        files.extend(found(command.simple).unwrap_or_default().into_iter().map(|path| (path, Act::Whole)));
    }
    for pair in command.arguments.windows(2) {
        if ["-fprint", "-fprint0", "-fprintf", "-fls"].iter().any(|option| pair[0].is(option)) {
            files.push((pair[1].clone(), Act::Write));
        }
    }
    let reads = files.is_empty();
    Touched { files, reads, ..Touched::default() }
}
