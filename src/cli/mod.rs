//! The commands for people: one row in `COMMANDS`, one file or folder each.
//!
//! Reads arguments, prints to the terminal. Invariant: `--help` of every command shows an example that works,
//! and every command speaks JSON when asked.

pub mod table;
mod http;
pub mod user_file;
pub mod mode;
pub mod key;
pub mod bundle;
pub mod past;
pub mod control;
pub mod range;
pub mod quiet;
pub mod tryout;
pub mod install;
pub mod log;
mod gc;
pub mod status;
pub mod task;
pub mod sessions;
mod world;
pub mod demo;
pub mod doctor;
pub mod policy;
pub mod replay;
pub mod simulate;
pub mod test;
pub mod verify;
pub mod verify_commit;
pub mod prove;
pub mod attest;
pub mod witness;
pub mod export;
pub mod report;
pub mod usage;
pub mod danger;
pub mod network;
#[cfg(feature = "fleet")]
pub mod fleet;
#[cfg(not(feature = "fleet"))]
pub mod without_fleet;
pub mod run;
pub mod runs;
pub mod checkpoint;
pub mod undo;
pub mod transcript;
pub mod insights;
pub mod why;
pub mod workflow;
pub mod watch;
pub mod complete;
pub mod man;

pub use crate::refusal::{Refused, refused};

use aops_core::config::in_force::{self, InForce};
use aops_core::ledger;
use aops_core::ledger::clients;
use aops_core::ledger::sessions::SessionOnDisk;
use aops_core::model::error::{Code, Failure};
use aops_core::system::env::Env;
use aops_core::text::plain::is_plain;
use aops_shell::verbs::{VERBS, Who};
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::Value;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// One command for people, or one verb of a command that has several.
pub struct Command {
    pub name: &'static str,
    pub about: &'static str,
    /// Shown under EXAMPLES in `--help`: command line, what it does.
    pub examples: &'static [(&'static str, &'static str)],
    pub arguments: fn(clap::Command) -> clap::Command,
    pub run: fn(&ArgMatches, &mut Io) -> anyhow::Result<u8>,
}

impl Command {
    /// Its entry in `--help`, without arguments yet.
    fn row(&self) -> clap::Command {
        let examples = self.examples.iter().flat_map(|(line, what)| ["  ", line, "\n      ", what, "\n"]);
        let examples: String = examples.collect();
        clap::Command::new(self.name).about(self.about).after_help(format!("Examples:\n{examples}"))
    }

    fn verbs(verbs: &'static [Command], row: clap::Command) -> clap::Command {
        let verbs = verbs.iter().map(|verb| (verb.arguments)(verb.row()));
        row.subcommand_required(true).arg_required_else_help(true).subcommands(verbs)
    }

    /// The requested command and its arguments.
    fn find<'a>(
        commands: &'static [Command],
        given: &'a ArgMatches,
    ) -> Option<(&'static Self, &'a ArgMatches)> {
        let (name, given) = given.subcommand()?;
        Some((commands.iter().find(|command| command.name == name)?, given))
    }

    /// Runs the requested verb of this command, if this person may; `None` if none was given.
    fn run_verb(
        command: &str,
        verbs: &'static [Command],
        given: &ArgMatches,
        io: &mut Io,
    ) -> anyhow::Result<Option<u8>> {
        let Some((verb, given)) = Self::find(verbs, given) else { return Ok(None) };
        let name = format!("{command} {}", verb.name);
        allowed(&name, who_may(&name), io)?;
        (verb.run)(given, io).map(Some)
    }
}

/// What a command works with: environment, output, and the format of the output.
pub struct Io<'a> {
    pub env: &'a Env,
    pub out: &'a mut dyn Write,
    pub json: bool,
    pub terminal: bool,
    /// The width of the terminal in columns; `None` if the output goes elsewhere.
    pub width: Option<usize>,
    pub color: bool,
    pub yes: bool,
    /// Nobody answered a question, so no other one is asked.
    pub gone: bool,
}

impl Io<'_> {
    /// Prints this line and ends the command successfully.
    pub fn print(&mut self, line: impl Display) -> anyhow::Result<u8> {
        if !self.json {
            writeln!(self.out, "{line}")?;
            return Ok(0);
        }
        // A terminal would obey some characters that JSON may contain.
        let line = line.to_string();
        for part in line.split_inclusive(|c| !is_plain(c)) {
            match part.chars().next_back().filter(|c| !is_plain(*c)) {
                Some(c) => write!(self.out, "{}\\u{:04x}", &part[..part.len() - c.len_utf8()], u32::from(c))?,
                None => write!(self.out, "{part}")?,
            }
        }
        writeln!(self.out)?;
        Ok(0)
    }

    /// Prints the value for a program or the text for a person, and ends the command successfully.
    pub fn answer(&mut self, value: &Value, words: impl Display) -> anyhow::Result<u8> {
        if self.json { self.print(value) } else { self.print(words) }
    }

    /// Asks the person at the terminal. Returns what they typed, or `None` if nobody is there any more.
    pub fn ask(&mut self, question: impl Display) -> io::Result<Option<String>> {
        if self.gone {
            return Ok(None);
        }
        write!(self.out, "{question}")?;
        self.out.flush()?;
        let mut answer = String::new();
        self.gone = io::stdin().read_line(&mut answer)? == 0;
        Ok((!self.gone).then(|| answer.trim().to_owned()))
    }
}

/// Every command, in the order of `--help`.
pub static COMMANDS: &[Command] = &[
    status::STATUS,
    sessions::COMMAND,
    watch::COMMAND,
    log::COMMAND,
    verify::COMMAND,
    verify_commit::COMMAND,
    prove::COMMAND,
    attest::COMMAND,
    why::COMMAND,
    simulate::COMMAND,
    tryout::COMMAND,
    test::COMMAND,
    replay::COMMAND,
    control::BLOCK,
    control::CLEAR_BLOCK,
    control::WAIVE,
    task::COMMAND,
    insights::COMMAND,
    transcript::COMMAND,
    report::COMMAND,
    usage::COMMAND,
    export::COMMAND,
    workflow::COMMAND,
    policy::COMMAND,
    mode::COMMAND,
    danger::COMMAND,
    quiet::COMMAND,
    network::COMMAND,
    checkpoint::COMMAND,
    undo::COMMAND,
    run::RUN,
    run::RESUME,
    runs::RESOLVE,
    runs::RUNS,
    #[cfg(feature = "fleet")]
    fleet::COMMAND,
    #[cfg(not(feature = "fleet"))]
    without_fleet::FLEET,
    key::COMMAND,
    witness::COMMAND,
    bundle::COMMAND,
    install::INSTALL,
    install::UNINSTALL,
    doctor::COMMAND,
    demo::COMMAND,
    status::STATUS_LINE,
    complete::COMMAND,
    man::COMMAND,
];

/// Parses, runs, prints errors, and returns the exit code: 0 done, 1 failed, 2 refused or wrong usage, 3
/// cannot be checked, 4 integrity failure.
pub fn run(arguments: Vec<String>, env: &Env) -> u8 {
    let matches = match parser().color(clap_color(&arguments)).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let Some((command, given)) = Command::find(COMMANDS, &matches) else { return 2 };
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut io = Io {
        env,
        out: &mut out,
        json: given.get_flag("json"),
        terminal,
        width: terminal.then(|| width(io::stdout())).flatten(),
        color: match text(given, "color") {
            Some("always") => true,
            Some("never") => false,
            _ => terminal && !env.user.no_color && !env.user.is_dumb,
        },
        yes: given.try_get_one::<bool>("yes").ok().flatten().copied().unwrap_or(false),
        gone: false,
    };
    // A dry run needs no person at a terminal.
    let tries = given.try_get_one::<bool>("dry-run").ok().flatten() == Some(&true);
    let who = if tries { who_may(command.name).without_terminal() } else { who_may(command.name) };
    let name = given.subcommand_name().map(|verb| format!("{} {verb}", command.name));
    let said = allowed(name.as_deref().unwrap_or(command.name), who, &io)
        .and_then(|()| (command.run)(given, &mut io));
    let flushed = out.flush();
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    match (said, flushed) {
        // The reader of a pipe is gone.
        (Err(error), _) if error.downcast_ref().is_some_and(is_gone) => 0,
        (Err(error), _) => complain(&format!("{error:#}"), exit_code(&error)),
        (Ok(_), Err(error)) if !is_gone(&error) => complain(&error.to_string(), 1),
        (Ok(code), _) => code,
    }
}

/// Help and usage errors are printed before the arguments are parsed.
fn clap_color(arguments: &[String]) -> clap::ColorChoice {
    let says = |word: &str| {
        let apart = arguments.windows(2).any(|pair| pair[0] == "--color" && pair[1] == word);
        apart || arguments.iter().any(|given| given.strip_prefix("--color=") == Some(word))
    };
    match (says("never"), says("always")) {
        (true, _) => clap::ColorChoice::Never,
        (false, true) => clap::ColorChoice::Always,
        _ => clap::ColorChoice::Auto,
    }
}

/// Handles an event name typed by hand: no event will arrive on stdin, and waiting for one would look like
/// hanging.
pub fn typed_by_hand(event: &str) -> u8 {
    let word = event.to_lowercase();
    let hint = match COMMANDS.iter().find(|command| command.name == word) {
        Some(command) => format!("commands are in lower case: `aops-hook {}`", command.name),
        None => {
            "`aops-hook simulate FILE` judges an event from a file; `aops-hook --help` lists the commands"
                .to_owned()
        }
    };
    complain(&format!("`{event}` is the name of an event, which Claude Code sends on stdin\nhint: {hint}"), 2)
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Failure>() {
        Some(failure) if failure.code.is_integrity() => 4,
        Some(failure) if failure.code == Code::ConfigInvalid => 2,
        _ => error.downcast_ref::<Refused>().map_or(1, |refused| refused.code),
    }
}

/// Who may run a command or a verb; the guard reads the same list.
pub fn who_may(name: &str) -> Who {
    VERBS.iter().find(|verb| verb.name == name).map_or(Who::AtTerminal, |verb| verb.who)
}

/// Checks who may run this. Also called for single options that only a person may use.
pub fn allowed(name: &str, who: Who, io: &Io) -> anyhow::Result<()> {
    if who == Who::Anyone {
        return Ok(());
    }
    // Nothing shows who typed a `!` line, but a slash command reaches us as the person's prompt.
    let typed = if name == "task drop" { "type `/aops-task drop` here, or " } else { "" };
    let hint = format!("hint: ask the user to {typed}run `aops-hook {name}` in their own terminal");
    if let Some(outer) = clients::session_around(io.env, std::process::id().try_into().unwrap_or_default()) {
        return refused(format!(
            "`{name}` needs a person at a terminal, and this was started inside session `{outer}`\n{hint}"
        ));
    }
    if io.env.client.is_around {
        return refused(format!(
            "`{name}` needs a person at a terminal, and this is inside a tool call\n{hint}"
        ));
    }
    if who == Who::AtTerminal && !io.yes && !io::stdin().is_terminal() {
        return refused(format!(
            "`{name}` needs a person at a terminal\nhint: in your own script, add `--yes`"
        ));
    }
    Ok(())
}

/// `--name`
pub fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// `claude, codex or qwen`
pub fn one_of(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        names => names.concat(),
    }
}

/// `--name VALUE`
pub fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    operand(name, value, help).long(name)
}

/// `VALUE`
pub fn operand(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).help(help)
}

/// The value given for an option or an operand.
pub fn text<'a>(given: &'a ArgMatches, name: &str) -> Option<&'a str> {
    given.get_one::<String>(name).map(String::as_str)
}

/// An object extended with the members of another one.
fn merge(mut value: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (value.as_object_mut(), more) {
        members.extend(more);
    }
    value
}

/// The option `--yes`, for every command that needs a terminal.
pub fn yes() -> Arg {
    flag("yes", "Run without a terminal, from your own script")
}

/// For every command about one session: its operand, and the equivalent option.
pub fn session_arguments() -> [Arg; 2] {
    let help = "A session's id, the beginning of one, or nothing for the newest in this project, a running \
        one before the others";
    let same = Arg::new(SAME).long("session").value_name("ID").help("The same as SESSION");
    [operand("session", "SESSION", help), same.conflicts_with("session")]
}

/// For a command whose operand is something else.
pub fn session_option() -> Arg {
    option("session", "ID", "A session's id or the beginning of one; else the newest in this project")
}

/// The option `--session` of a command that has the operand too.
const SAME: &str = "same-session";

/// The session that was named, in either way.
pub fn named_session(given: &ArgMatches) -> Option<&str> {
    let same = given.try_get_one::<String>(SAME).ok().flatten().map(String::as_str);
    text(given, "session").or(same)
}

pub fn session(given: &ArgMatches, io: &Io) -> anyhow::Result<SessionOnDisk> {
    ledger::sessions::pick(io.env, named_session(given)).or_else(refused)
}

/// The policy in force in the working directory, or every problem with it.
pub fn policy_here(io: &Io) -> anyhow::Result<InForce> {
    in_force::look(io.env, &io.env.cwd).or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n{problem}")).collect();
        let files = if problems.len() == 1 { "is a problem" } else { "are problems" };
        refused(format!(
            "there {files} in the configuration:{}\n\
            hint: until it is fixed, every guarded event is blocked; `docs/configuration.md` has each key",
            lines.concat()
        ))
    })
}

fn width(terminal: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The whole command line as clap sees it; completions are made from it too.
pub fn parser() -> clap::Command {
    let rows = COMMANDS.iter().map(|command| {
        // A run asks nothing, so `--yes` has no effect there; it is accepted so that scripts can pass it to
        // every verb.
        let says_yes = who_may(command.name) == Who::AtTerminal || matches!(command.name, "run" | "resume");
        let yes = says_yes.then(yes);
        let color = option("color", "WHEN", "Colours: auto (the default: on a terminal), always or never");
        let color = color.value_parser(["auto", "always", "never"]).hide_possible_values(true).global(true);
        (command.arguments)(
            command.row().args([flag("json", "Print JSON, for programs").global(true), color]).args(yes),
        )
    });
    clap::Command::new("aops-hook")
        .version(env!("CARGO_PKG_VERSION"))
        .about("The guard and memory of Claude Code: every event a fact in a tamper-evident ledger")
        .after_help(
            "Called with the name of an event (`aops-hook PreToolUse`) it runs as the hook and reads \
            the event from stdin.\n\n\
            In Claude Code, start a prompt with `.` to skip the loop for that task; change the default \
            with `aops-hook mode`.",
        )
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
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// The names under which our own child processes are started, wherever the source mentions them.
    fn internal_verbs() -> BTreeSet<String> {
        fn texts(folder: &Path, found: &mut String) {
            for item in fs::read_dir(folder).unwrap().flatten() {
                match item.path() {
                    path if path.is_dir() => texts(&path, found),
                    path => found.push_str(&fs::read_to_string(path).unwrap_or_default()),
                }
            }
        }
        let mut text = String::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for at in ["src", "crates/aops-core/src"] {
            texts(&root.join(at), &mut text);
        }
        let is_verb = |word: &&str| {
            let own = word.strip_prefix("__").unwrap_or_default();
            own.starts_with(|c: char| c.is_ascii_lowercase())
                && own.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
        };
        let found: BTreeSet<String> = text.split('"').filter(is_verb).map(str::to_owned).collect();
        assert!(found.contains("__leg") && found.len() > 8, "{found:?}");
        found
    }

    /// The guard, the plan gate and `who_may` judge our verbs by one list: it names every command, and
    /// nothing else.
    #[test]
    fn verbs_and_commands_agree() {
        let below = |name, verbs: &[Command]| {
            verbs.iter().map(|verb| format!("{name} {}", verb.name)).collect::<Vec<_>>()
        };
        let mut commands: Vec<_> = COMMANDS.iter().map(|command| command.name.to_owned()).collect();
        commands.extend(below("checkpoint", checkpoint::VERBS));
        commands.extend(below("undo", undo::VERBS));
        commands.extend(below("danger", danger::VERBS));
        commands.extend(below("quiet", quiet::VERBS));
        commands.extend(below("network", network::VERBS));
        commands.extend(below("key", key::VERBS));
        commands.extend(below("witness", witness::VERBS));
        #[cfg(feature = "fleet")]
        commands.extend(below("fleet", fleet::VERBS));
        commands.extend(below("bundle", bundle::VERBS));
        commands.extend(below("runs", runs::VERBS));
        commands.extend(below("sessions", sessions::VERBS));
        commands.extend(below("task", task::VERBS));
        // Options, what clap adds, and what the client starts.
        let more = "verify --quarantine,insights --analyse,insights --fill,export --endpoint,help,shell";
        commands.extend(more.split(',').map(str::to_owned));
        commands.extend(internal_verbs());
        let mut verbs: Vec<_> = VERBS.iter().map(|verb| verb.name.to_owned()).collect();
        commands.sort();
        verbs.sort();
        assert_eq!(commands, verbs);
    }
}
