//! `find` and `fd`: searching reads; what they run for each file was read on its own.

use super::line::Said;
use super::options::{self, Shape, shape};
use super::table::Command;
use crate::model::call::Effect;
use crate::shell::syntax::Word;

/// Words of an expression that stand alone.
#[rustfmt::skip]
static ALONE: &[&str] = &[
    "!", "(", ")", ",", "-E", "-H", "-L", "-P", "-X", "-a", "-and", "-d", "-daystart", "-depth", "-empty",
    "-executable", "-false", "-follow", "-ignore_readdir_race", "-ls", "-mount", "-nogroup", "-noleaf", "-not",
    "-nouser", "-nowarn", "-o", "-or", "-print", "-print0", "-prune", "-quit", "-readable", "-s", "-true", "-warn",
    "-writable", "-x", "-xdev",
];

/// Tests that take one value.
#[rustfmt::skip]
static VALUED: &[&str] = &[
    "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-context", "-ctime", "-fstype", "-gid", "-group", "-ilname",
    "-iname", "-inum", "-ipath", "-iregex", "-iwholename", "-links", "-lname", "-maxdepth", "-mindepth", "-mmin",
    "-mtime", "-name", "-newer", "-newerat", "-newerct", "-newermm", "-newermt", "-path", "-perm", "-printf",
    "-regex", "-regextype", "-samefile", "-size", "-type", "-uid", "-used", "-user", "-wholename", "-xtype",
];

const EXECUTING: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

pub(super) fn find(command: &Command) -> Said {
    let words = command.arguments;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.lossy();
        let sign = matches!(text.as_str(), "(" | ")" | "!" | ",");
        match shape(word, command.line) {
            Shape::Operand if !sign || word.is_firm() => at += 1,
            Shape::Option if !word.is_firm() => return Err(command.refused(&text)),
            Shape::Option if ALONE.contains(&text.as_str()) => at += 1,
            Shape::Option if VALUED.contains(&text.as_str()) => {
                if words.get(at + 1).is_none_or(|value| value.splits) {
                    return Err(command.refused(&text));
                }
                at += 2;
            }
            Shape::Option if EXECUTING.contains(&text.as_str()) => {
                let ends = |n: &usize| words[*n].is(";") || words[*n].is("+") && words[*n - 1].is("{}");
                let Some(end) = (at + 1..words.len()).find(ends) else { return Err(command.refused(&text)) };
                if words[at..end].iter().any(|word| word.splits) {
                    return Err(command.refused(&text));
                }
                at = end + 1;
            }
            _ => return Err(command.refused(&text)),
        }
    }
    Ok(Effect::Read)
}

const FD: &str = "-HIusigFalLp01q -d= -t= -e= -E= -S= -o= -c= -j= -C= --hidden --no-ignore --no-ignore-vcs --unrestricted \
    --case-sensitive --ignore-case --glob --fixed-strings --absolute-path --list-details --follow --full-path --print0 \
    --max-depth= --min-depth= --exact-depth= --type= --extension= --exclude= --size= --owner= --color= --threads= \
    --base-directory= --max-results= --changed-within= --changed-before= --strip-cwd-prefix --quiet --and= --format= \
    --prune --one-file-system --version --help";

pub(super) fn fd(command: &Command) -> Said {
    let executes = |word: &Word| ["-x", "-X", "--exec", "--exec-batch"].iter().any(|option| word.is(option));
    // Whatever follows is the command, which was read on its own; `;` would end it, and few know.
    let end = command.arguments.iter().position(executes);
    let (own, run) = command.arguments.split_at(end.unwrap_or(command.arguments.len()));
    if run.iter().any(|word| word.splits || word.is(";")) {
        return Err(command.refused("-x"));
    }
    options::sort(own, &[FD], command.line).map_err(|option| command.refused(&option))?;
    Ok(Effect::Read)
}
