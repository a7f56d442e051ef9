//! Prints the completions of a shell, made from the same table as `--help`.

use super::{Command, Io, operand, parser};
use clap::{ArgMatches, value_parser};
use clap_complete::Shell;
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "completions",
    about: "Print completions for a shell",
    examples: &[
        ("aops-hook completions bash > ~/.local/share/bash-completion/completions/aops-hook", "For bash"),
        ("aops-hook completions fish > ~/.config/fish/completions/aops-hook.fish", "For fish"),
    ],
    arguments: |row| row.arg(operand("shell", "shell", "The shell").required(true).value_parser(value_parser!(Shell))),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Some(shell) = given.get_one::<Shell>("shell") else { return Ok(2) };
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut parser(), "aops-hook", &mut script);
    // The generator spells a hyphen in the program's name in two ways for bash, and then finds no command.
    let script = String::from_utf8_lossy(&script).replace("aops__subcmd__hook", "aops__hook");
    io.answer(&json!({"shell": shell.to_string(), "script": script}), script.trim_end())
}
