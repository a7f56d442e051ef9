//! `aops-fleet`: the worker of a machine, and the holder of each step.

use aops_worker::gateway::Gateway;
use aops_worker::{hold, worker};
use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "usage: aops-fleet worker --name NAME --listen ADDRESS --ingress URL --admin URL
  [--address URL] [--folder DIR] [--hook PROGRAM] [--label NAME]… [--identity KEY] [--reattach SECONDS] [--grace SECONDS]
  [--lost-after SECONDS] [--gateway-key KEY]…
       aops-fleet serve --listen ADDRESS --ingress URL --admin URL --tokens FILE --audit FILE [--key FILE] [--oidc FILE] [--four-eyes on]
  [--runs ADDRESS] [--address URL] [--identity KEY] [--per-repository NUMBER] [--lost-after SECONDS]
hint: `docs/fleet.md` says how a server and its workers are set up";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = hold::run(&arguments) {
        return ExitCode::from(code);
    }
    let done = match arguments.split_first() {
        Some((verb, rest)) if verb == "worker" => {
            worker::Options::read(rest).and_then(|options| worker::work(&options))
        }
        Some((verb, rest)) if verb == "serve" => Gateway::read(rest).and_then(Gateway::serve),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            let _ = writeln!(std::io::stderr(), "aops-fleet: {words}");
            ExitCode::from(2)
        }
    }
}
