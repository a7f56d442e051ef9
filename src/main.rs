//! An event name is hot, anything else is cold.

use aops_hook::{command, env::Env};

fn main() -> std::process::ExitCode {
    let env = Env::read();
    command::run(std::env::args().collect(), &env).into()
}
