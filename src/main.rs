//! An event name takes the hot path, anything else the cold one.
//!
//! The program begins at the C library's `main`: the standard runtime would look up the end of the stack,
//! create a second stack and set four signals, which is a quarter of all system calls of an event. `signal`
//! does the part of that which we need.

#![no_main]

use aops_core::hook;
#[cfg(target_os = "linux")]
use aops_core::jail::network;
use aops_core::jail::{confined, shell};
use aops_core::model::client::Client;
use aops_core::model::event::EventKind;
use aops_core::system::env::Env;
use aops_core::system::signal;
use aops_hook::attest;
use aops_hook::cli::{self, complete};
use aops_hook::refresh;
#[cfg(feature = "fleet")]
use aops_hook::run::fleet::{leg, retain};
use aops_hook::run::job;
use std::ffi::{CStr, c_char, c_int};
use std::io::IsTerminal;
use std::path::Path;

#[expect(unsafe_code, reason = "the C library calls this name")]
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    let word = |at: usize| {
        // SAFETY: the C library hands over `count` pointers to texts that live as long as the process.
        unsafe { CStr::from_ptr(*words.add(at)) }.to_string_lossy().into_owned()
    };
    let arguments: Vec<String> = (0..usize::try_from(count).unwrap_or(0)).map(word).collect();
    if shell::is_call(&arguments) {
        // A command inherits the signals unchanged.
        // SAFETY: as above; there are at least two arguments.
        let line = unsafe { CStr::from_ptr(*words.add(arguments.len() - 1)) };
        return shell::run(line, &arguments, &Env::read().standing_here()).into();
    }
    if confined::is_call(&arguments) {
        return confined::run(&arguments, &Env::read().standing_here()).into();
    }
    signal::settle();
    run(arguments).into()
}

fn run(arguments: Vec<String>) -> u8 {
    let env = Env::read();
    let called = arguments.first().map(String::as_str).unwrap_or_default();
    let first = arguments.get(1).map(String::as_str);
    match first.filter(|word| EventKind::is_event_name(word)).or_else(|| by_name(called)) {
        Some(event) if arguments.get(2).is_some_and(|word| word == Client::OPTION) => {
            hook::run_for(arguments.get(3).map_or("", String::as_str), event, env)
        }
        // The client is not a terminal, so no system call is spent on checking.
        Some(event) if !env.client.is_claude && std::io::stdin().is_terminal() => cli::typed_by_hand(event),
        Some(event) => hook::run(Some(event), &env),
        None if first.is_none() && !std::io::stdin().is_terminal() => hook::run(None, &env),
        None if first.is_some_and(refresh::is_verb) => refresh::run(&arguments[1..], &env),
        #[cfg(target_os = "linux")]
        None if first == Some(network::VERB) => network::run(&arguments[2..]),
        None if first.is_some_and(attest::is_verb) => attest::run(&arguments[1..], &env),
        None if first.is_some_and(job::is_verb) => job::run(&arguments[1..], &env),
        #[cfg(feature = "fleet")]
        None if first.is_some_and(leg::is_verb) => leg::run(&arguments[1..], &env.standing_here()),
        #[cfg(feature = "fleet")]
        None if first.is_some_and(retain::is_verb) => retain::run(&env.standing_here()),
        None if first == Some(complete::VERB) => {
            complete::answer(&arguments[2..], &env.standing_here(), &mut std::io::stdout());
            0
        }
        None => cli::run(arguments, &env.standing_here()),
    }
}

/// A symlink named `PreToolUse` or `aops-hook-PreToolUse` names the event.
fn by_name(called: &str) -> Option<&str> {
    let name = Path::new(called).file_name()?.to_str()?;
    let name = name.strip_prefix("aops-hook-").unwrap_or(name);
    EventKind::is_event_name(name).then_some(name)
}
