//! Shell completions: what may come next on a command line, with the existing sessions, gates, workflows,
//! checkpoints and runs; and the scripts that ask for it.
//!
//! Reads the table of commands and the disk, writes nothing. Invariants: every command and option of the
//! table is completed without further work; whatever is broken on disk, there is an answer, if an empty one.

use super::{COMMANDS, Command, Io, SAME, operand, parser};
use crate::run::artifacts::RunArtifacts;
use crate::run::driver::project_root;
use aops_core::checkpoint::store::Store;
use aops_core::config::in_force;
use aops_core::config::texts::{self, Library};
use aops_core::ledger::sessions;
use aops_core::model::gate_id::GateId;
use aops_core::system::env::Env;
use aops_core::text::template::one_line;
use aops_shell::danger::RULES;
use clap::{Arg, ArgMatches, value_parser};
use clap_complete::Shell;
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "completions",
    about: "Print completions for a shell",
    examples: &[
        ("aops-hook completions bash > ~/.local/share/bash-completion/completions/aops-hook", "For bash"),
        (
            "aops-hook completions zsh > ~/.zfunc/_aops-hook",
            "For zsh, with `fpath+=~/.zfunc` before `compinit`",
        ),
        ("aops-hook completions fish > ~/.config/fish/completions/aops-hook.fish", "For fish"),
    ],
    arguments: |row| {
        row.arg(operand("shell", "shell", "The shell").required(true).value_parser(value_parser!(Shell)))
    },
    run: print_script,
};

/// The verb that the scripts call.
pub const VERB: &str = "__complete";

fn print_script(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Some(shell) = given.get_one::<Shell>("shell") else { return Ok(2) };
    let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let script = match shell {
        Shell::Bash => BASH.replace("{commands}", &names.join(" ")),
        Shell::Zsh => ZSH.replace("{commands}", &names.join(" ")),
        Shell::Fish => FISH.replace("{commands}", &names.join(" ")),
        _ => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut parser(), "aops-hook", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    io.answer(&json!({"shell": shell.to_string(), "script": script}), script.trim_end())
}

// Each script asks the program, and knows only the commands if there is none. The shell completes files
// itself.

const BASH: &str = include_str!("complete/bash.bash");
const ZSH: &str = include_str!("complete/zsh.zsh");
const FISH: &str = include_str!("complete/fish.fish");

/// Prints the candidates for the last of these words, a line each: the value, a tab, a description.
pub fn answer(words: &[String], env: &Env, out: &mut dyn std::io::Write) {
    let (done, last) = words.split_last().map_or((&[][..], ""), |(last, done)| (done, last.as_str()));
    let mut at = Place { command: parser(), operands: 0, path: Vec::new(), wants: None };
    at.command.build();
    for word in done {
        at.step(word);
    }
    for (value, about) in at.values(last, env).into_iter().filter(|(value, _)| value.starts_with(last)) {
        let _ = writeln!(out, "{value}\t{}", one_line(&about, 80));
    }
}

/// The state of a command line after some words.
struct Place {
    command: clap::Command,
    operands: usize,
    path: Vec<String>,
    /// The option whose value comes next.
    wants: Option<Arg>,
}

impl Place {
    fn step(&mut self, word: &str) {
        // Bash splits `--name=value` into three words.
        if word == "=" || self.wants.take().is_some() {
            return;
        }
        let valued = |is_it: &dyn Fn(&Arg) -> bool| {
            let found = self.command.get_arguments().find(|arg| is_it(arg));
            found.filter(|arg| arg.get_action().takes_values()).cloned()
        };
        if let Some(name) = word.strip_prefix("--") {
            self.wants = valued(&|arg| arg.get_long() == Some(name));
        } else if let Some(letter) = word.strip_prefix('-').filter(|rest| rest.chars().count() == 1) {
            self.wants = valued(&|arg| arg.get_short() == letter.chars().next());
        } else if let Some(verb) = self.command.find_subcommand(word).filter(|_| self.operands == 0).cloned()
        {
            self.path.push(word.to_owned());
            self.command = verb;
        } else {
            self.operands += 1;
        }
    }

    fn values(&self, last: &str, env: &Env) -> Vec<(String, String)> {
        if let Some(arg) = &self.wants {
            return self.of(arg, env);
        }
        let help = |arg: &Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
        if last.starts_with('-') {
            let named = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
            return named.filter_map(|arg| Some((format!("--{}", arg.get_long()?), help(arg)))).collect();
        }
        let verbs = self.command.get_subcommands().filter(|verb| self.operands == 0 && !verb.is_hide_set());
        let about = |verb: &clap::Command| verb.get_about().map(ToString::to_string).unwrap_or_default();
        let mut found: Vec<_> = verbs.map(|verb| (verb.get_name().to_owned(), about(verb))).collect();
        let operand = self.command.get_positionals().nth(self.operands);
        found.extend(operand.map(|arg| self.of(arg, env)).unwrap_or_default());
        found
    }

    /// The possible values of this option or operand.
    fn of(&self, arg: &Arg, env: &Env) -> Vec<(String, String)> {
        let listed: Vec<_> =
            arg.get_possible_values().iter().map(|one| (one.get_name().to_owned(), String::new())).collect();
        if !listed.is_empty() {
            return listed;
        }
        match (self.path.first().map(String::as_str), arg.get_id().as_str()) {
            (_, "session" | SAME) => sessions_now(env),
            (Some("waive"), "gate") => {
                GateId::WAIVABLE.iter().map(|gate| (gate.to_string(), String::new())).collect()
            }
            (Some("workflow"), "id") | (_, "workflow") => workflows(env),
            (Some("checkpoint"), "id" | "other") => checkpoints(env),
            (Some("danger"), "rule") => {
                RULES.iter().map(|rule| (rule.id().to_owned(), rule.reason.to_owned())).collect()
            }
            (Some("resume" | "resolve"), "name") => runs(env),
            _ => Vec::new(),
        }
    }
}

fn sessions_now(env: &Env) -> Vec<(String, String)> {
    let all = sessions::all(env).into_iter().rev().take(200);
    let told = |session: &sessions::SessionOnDisk| {
        let prompt =
            sessions::state(session).and_then(|state| state.hydration.original_prompt).unwrap_or_default();
        (session.session_id.clone(), prompt)
    };
    all.map(|session| told(&session)).collect()
}

fn workflows(env: &Env) -> Vec<(String, String)> {
    let Ok(found) = in_force::look(env, &env.cwd) else { return Vec::new() };
    let library = Library::of(env, &found.texts);
    library.catalogue.all().map(|one| (one.workflow.id.clone(), one.workflow.title.clone())).collect()
}

fn checkpoints(env: &Env) -> Vec<(String, String)> {
    let store = Store::look(&texts::project(env, &env.cwd)).ok().flatten();
    let rows = store.and_then(|store| store.rows().ok()).unwrap_or_default();
    let names = rows.iter().rev().filter_map(|row| Some((row.name.clone()?, row.id.clone())));
    let latest = (!rows.is_empty()).then(|| ("latest".to_owned(), "the newest".to_owned()));
    let ids = rows.iter().rev().map(|row| (row.id.clone(), format!("{} {}", row.trigger, row.created_at)));
    latest.into_iter().chain(names).chain(ids).collect()
}

/// Packets that wait for a decision, and runs.
fn runs(env: &Env) -> Vec<(String, String)> {
    let runs = RunArtifacts::of(&project_root(env)).runs().unwrap_or_default();
    let paused = runs
        .iter()
        .rev()
        .filter_map(|run| Some((run.paused.as_ref()?.checkpoint_id.clone(), run.init.task.clone())));
    let ids = runs.iter().rev().map(|run| (run.run_id.clone(), run.init.task.clone()));
    paused.chain(ids).collect()
}
