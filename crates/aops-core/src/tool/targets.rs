//! What one tool call would touch, according to its input and its line.
//!
//! Reads only the call; nothing is looked up on disk. Invariant: an unknown tool may write anything that its
//! input names; a tool that only reads touches nothing.

pub use aops_shell::targets::{Act, CommandRun, Hidden, Target, Targets};

use super::input::{self, InputFields};
use super::statement::changing;
use super::table::{ToolTouches, tool as known};
use aops_shell::commands::powershell_class;
use aops_shell::syntax::{self, Ground, Line, Word};

/// The shell line of this call, parsed; `None` if its tool runs none, or the input does not contain it.
pub fn line(tool: &str, input: &str, ground: &Ground) -> Option<Line> {
    let runs = known(tool).touches == ToolTouches::Line;
    Some(syntax::cut(&input::command(input).filter(|_| runs)?, ground))
}

pub fn of(tool: &str, input: &str, line: Option<&Line>, ground: &Ground) -> Targets {
    let mut all = Targets::default();
    match known(tool).touches {
        ToolTouches::Nothing if tool.starts_with("mcp__") => {
            all.hidden.extend(changing(input).map(Hidden::Program));
        }
        ToolTouches::Nothing => {}
        ToolTouches::File => file(&mut all, input, ground),
        ToolTouches::Patch => patch(&mut all, tool, input, ground),
        ToolTouches::Line => match line {
            Some(line) => all.cut(line, ground),
            None => all.hidden.extend(input::literals(input).into_iter().map(Hidden::Line)),
        },
        ToolTouches::PowerShell => {
            let lines = input::command(input).map_or_else(|| input::literals(input), |line| vec![line]);
            let writes = |line: &String| powershell_class(line).is_err();
            all.hidden.extend(lines.into_iter().filter(writes).map(Hidden::Line));
        }
        ToolTouches::Strings(act) => input::every_string(&mut all, tool, act, input, ground),
    }
    all
}

/// The files that a patch names, or every string if it names none.
fn patch(all: &mut Targets, tool: &str, input: &str, ground: &Ground) {
    let named = input::patched_files(input);
    if named.is_empty() {
        return input::every_string(all, tool, Act::Write, input, ground);
    }
    write(all, &named, ground);
}

/// The one file that the input names, or every string that may be its path.
fn file(all: &mut Targets, input: &str, ground: &Ground) {
    let named: Vec<String> = InputFields::read(input).into_iter().flat_map(InputFields::paths).collect();
    let named = if named.is_empty() { input::literals(input) } else { named };
    write(all, &named, ground);
}

fn write(all: &mut Targets, named: &[String], ground: &Ground) {
    let cwd = Word::of(ground.cwd);
    for text in named {
        let path = input::path_of(text, ground);
        all.over |= path.bits.len() > input::LONGEST_PATH;
        all.target(&path, &cwd, Act::Write);
    }
}
