//! `aops-fleet`: the worker of a machine, and the holder of each step.

use aops_core::config::in_force;
use aops_core::config::policy::Fleet;
use aops_core::system::env::Env;
use aops_worker::gateway::Gateway;
use aops_worker::{hold, identity, worker};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: aops-fleet worker --ingress URL --admin URL [--name NAME] [--listen ADDRESS]
  [--address URL] [--folder DIR] [--hook PROGRAM] [--label NAME]… [--identity KEY] [--certificate FILE]
  [--plain on] [--reattach TIME] [--grace TIME] [--lost-after TIME] [--gateway-key KEY]…
       aops-fleet serve --listen ADDRESS --ingress URL --admin URL --tokens FILE --audit FILE [--key FILE] [--oidc FILE] [--four-eyes on]
  [--runs ADDRESS] [--address URL] [--identity KEY] [--certificate FILE] [--plain on]
  [--bundles DIR] [--per-repository NUMBER] [--lost-after TIME]
       aops-fleet identity FILE      the server's public key; the key in FILE is made if it is missing
what no option says is read from `[fleet]` in your configuration
hint: `docs/fleet.md` says how a server and its workers are set up";

/// `[fleet]` of the user's configuration.
fn configured() -> Result<(Env, Fleet), String> {
    let env = Env::read();
    let policy = in_force::policy(&env, &env.home).map_err(|failure| failure.to_string())?;
    Ok((env, policy.fleet))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = hold::run(&arguments) {
        return ExitCode::from(code);
    }
    if arguments.iter().eq(["--version"]) {
        let _ = writeln!(std::io::stdout(), "aops-fleet {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let done = match arguments.split_first() {
        Some((verb, rest)) if verb == "worker" => configured()
            .and_then(|(env, fleet)| worker::Options::read(rest, &env, &fleet))
            .and_then(|options| worker::work(&options)),
        Some((verb, rest)) if verb == "serve" => {
            configured().and_then(|(_, fleet)| Gateway::read(rest, &fleet)).and_then(Gateway::serve)
        }
        Some((verb, [file])) if verb == "identity" => identity::open(Path::new(file)).map(|key| {
            let _ = writeln!(std::io::stdout(), "{key}");
        }),
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
