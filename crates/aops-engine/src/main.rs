//! `aops-fleet`: the worker of a machine, and the holder of each step.

use aops_engine::hold;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match hold::run(&arguments) {
        Some(code) => ExitCode::from(code),
        None => ExitCode::from(2),
    }
}
