//! The commands for people: one row in `COMMANDS`, one file or folder each.
//!
//! Reads arguments, prints to the terminal. Invariant: `--help` of every command shows an example that works, and every
//! command speaks JSON when asked.

pub mod block;
pub mod clear_block;
pub mod completions;
pub mod install;
pub mod past;
pub mod standing;
pub mod table;
pub mod demo;
pub mod doctor;
pub mod log;
pub mod policy;
pub mod replay;
pub mod sessions;
pub mod simulate;
pub mod status;
pub mod statusline;
pub mod uninstall;
pub mod verify;
pub mod waive;
pub mod checkpoint;
pub mod range;
pub mod export;
pub mod report;
pub mod run;
pub mod resolve;
pub mod resume;
pub mod runs;
pub mod transcript;
pub mod insights;
pub mod why;
pub mod workflow;

pub use crate::model::refusal::{Refused, refused};

use crate::ledger;
use crate::ledger::sessions::SessionOnDisk;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
pub use aops_shell::verbs::Who;
use clap::{Arg, ArgAction, ArgMatches};
use std::io::{self, IsTerminal, Write};

/// One command for people, or one verb of a command that has several.
pub struct Command {
    pub name: &'static str,
    pub about: &'static str,
    /// Shown under EXAMPLES in `--help`: command line, what it does.
    pub examples: &'static [(&'static str, &'static str)],
    pub who: Who,
    pub arguments: fn(clap::Command) -> clap::Command,
    pub run: fn(&ArgMatches, &mut Io) -> anyhow::Result<u8>,
}

impl Command {
    /// Its row in `--help`, without arguments yet.
    fn row(&self) -> clap::Command {
        let examples = self.examples.iter().flat_map(|(line, what)| ["  ", line, "\n      ", what, "\n"]);
        let examples: String = examples.collect();
        clap::Command::new(self.name).about(self.about).after_help(format!("Examples:\n{examples}"))
    }

    /// The verbs of a command, each with its arguments.
    fn verbs(verbs: &'static [Command], row: clap::Command) -> clap::Command {
        let verbs = verbs.iter().map(|verb| (verb.arguments)(verb.row()));
        row.subcommand_required(true).arg_required_else_help(true).subcommands(verbs)
    }

    /// The verb that was asked for, and its arguments.
    fn asked<'a>(verbs: &'static [Command], given: &'a ArgMatches) -> anyhow::Result<(&'static Self, &'a ArgMatches)> {
        let asked = given.subcommand().and_then(|(name, given)| {
            let verb = verbs.iter().find(|verb| verb.name == name)?;
            Some((verb, given))
        });
        asked.map_or_else(|| refused("say what to do"), Ok)
    }
}

/// What a command works with: environment, output, and the form of the output.
pub struct Io<'a> {
    pub env: &'a Env,
    pub out: &'a mut dyn Write,
    pub json: bool,
    pub terminal: bool,
    /// Columns of the terminal; nothing when the output goes elsewhere.
    pub width: Option<usize>,
    pub color: bool,
    pub yes: bool,
}

/// Every command, in the order of `--help`.
pub static COMMANDS: &[Command] = &[
    status::COMMAND,
    sessions::COMMAND,
    log::COMMAND,
    verify::COMMAND,
    why::COMMAND,
    simulate::COMMAND,
    replay::COMMAND,
    block::COMMAND,
    clear_block::COMMAND,
    waive::COMMAND,
    insights::COMMAND,
    transcript::COMMAND,
    report::COMMAND,
    export::COMMAND,
    workflow::COMMAND,
    policy::COMMAND,
    checkpoint::COMMAND,
    run::COMMAND,
    resume::COMMAND,
    resolve::COMMAND,
    runs::COMMAND,
    install::COMMAND,
    uninstall::COMMAND,
    doctor::COMMAND,
    demo::COMMAND,
    statusline::COMMAND,
    completions::COMMAND,
];

/// Parse, run, print the error: the exit code. 0 done, 1 failed, 2 refused or wrong usage, 4 integrity failure.
pub fn run(arguments: Vec<String>, env: &Env) -> u8 {
    let matches = match parser().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let Some((name, given)) = matches.subcommand() else { return 2 };
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else { return 2 };
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut io = Io {
        env,
        out: &mut out,
        json: given.get_flag("json"),
        terminal,
        width: terminal.then(|| width(io::stdout())).flatten(),
        color: terminal && !env.no_color,
        yes: given.try_get_one::<bool>("yes").ok().flatten().copied().unwrap_or(false),
    };
    let said = allowed(command.name, command.who, &io).and_then(|()| (command.run)(given, &mut io));
    let flushed = out.flush();
    match (said, flushed) {
        (Err(error), _) if is_broken_pipe(&error) => 0,
        (Err(error), _) => complain(&format!("{error:#}"), exit_code(&error)),
        (Ok(_), Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => complain(&error.to_string(), 1),
        (Ok(code), _) => code,
    }
}

/// The reader of a pipe has gone away.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Failure>() {
        Some(failure) if failure.code.is_integrity() => 4,
        Some(failure) if failure.code == Code::ConfigInvalid => 2,
        _ => error.downcast_ref::<Refused>().map_or(1, |refused| refused.code),
    }
}

/// Checks who may run this. Also called for a single flag that only a person may use.
pub fn allowed(name: &str, who: Who, io: &Io) -> anyhow::Result<()> {
    if who == Who::Anyone {
        return Ok(());
    }
    if io.env.inside_client {
        return refused(format!(
            "`{name}` needs a person at a terminal, and this is inside a tool call\nhint: ask the user to run `aops-hook {name}` in their own terminal"
        ));
    }
    if who == Who::AtTerminal && !io.yes && !io::stdin().is_terminal() {
        return refused(format!("`{name}` needs a person at a terminal\nhint: in your own script, add `--yes`"));
    }
    Ok(())
}

/// The argument of every command about one session.
pub fn session_argument(command: clap::Command) -> clap::Command {
    let help = "A session's id, the beginning of one, or nothing for the newest in this project";
    command.arg(Arg::new("session").value_name("SESSION").help(help))
}

/// The session that argument means.
pub fn session(given: &ArgMatches, io: &Io) -> anyhow::Result<SessionOnDisk> {
    let name = given.get_one::<String>("session").map(String::as_str);
    ledger::sessions::pick(io.env, name).or_else(refused)
}

fn width(terminal: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The whole command line as clap sees it; also what completions are made from.
pub fn parser() -> clap::Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).global(true).help("Print JSON, for programs");
    let yes =
        Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("Run without a terminal, from your own script");
    let rows = COMMANDS.iter().map(|command| {
        let mut row = command.row().arg(json.clone());
        if command.who == Who::AtTerminal {
            row = row.arg(yes.clone());
        }
        (command.arguments)(row)
    });
    clap::Command::new("aops-hook")
        .version(env!("CARGO_PKG_VERSION"))
        .about("The guard and memory of Claude Code: every event a fact in a tamper-evident ledger")
        .after_help("Called with the name of an event (`aops-hook PreToolUse`) it runs as the hook and reads the event from stdin.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(rows)
}

#[expect(clippy::print_stderr, reason = "the one place where a command complains")]
fn complain(words: &str, code: u8) -> u8 {
    eprintln!("aops-hook: {words}");
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_shell::verbs::VERBS;

    /// The guard and the sandbox judge our verbs by `model::verbs`: it says the same as the table of commands.
    #[test]
    fn verbs_and_commands_agree() {
        let rows = COMMANDS.iter().map(|command| (command.name.to_owned(), command.who));
        let below = checkpoint::VERBS.iter().map(|verb| (format!("checkpoint {}", verb.name), verb.who));
        let mut commands: Vec<_> = rows.chain(below).collect();
        // A flag, what clap adds, and what our own child processes are started with.
        commands.push(("verify --quarantine".to_owned(), Who::AtTerminal));
        commands.push(("help".to_owned(), Who::Anyone));
        let inner = ["__refresh", "__refresh-work", "__refresh-start", "__step"];
        commands.extend(inner.map(|name| (name.to_owned(), Who::OutsideClient)));
        let mut verbs: Vec<_> = VERBS.iter().map(|verb| (verb.name.to_owned(), verb.who)).collect();
        commands.sort_by(|a, b| a.0.cmp(&b.0));
        verbs.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(commands, verbs);
    }
}
