//! The second verifier, in Python and without any of our code, says the same of every case.

use super::shop::Shop;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// What both say of a commit.
const SAID: [&str; 9] =
    ["commit", "binding", "level", "properties", "sessions", "seen", "person", "testedElsewhere", "code"];

fn said(told: &Value) -> Vec<Value> {
    let one = |commit: &Value| SAID.iter().map(|name| commit[*name].clone()).collect();
    told["commits"].as_array().unwrap().iter().map(one).collect()
}

fn run(shop: &Shop, words: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify_commit.py");
    let mut command = shop.sandbox.command("/usr/bin/env");
    command.args(["python3", "-I"]).arg(script).args(words).current_dir(&shop.folder).output().unwrap()
}

/// Where nothing can be said of any commit: both end with this code.
#[track_caller]
pub(crate) fn ends_alike(shop: &Shop, words: &[&str], code: i32) {
    let output = run(shop, words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
}

#[track_caller]
pub(crate) fn agrees(shop: &Shop, words: &[&str], code: i32, told: &Value) {
    let output = run(shop, words);
    let err = String::from_utf8_lossy(&output.stderr);
    let need =
        "`python3` 3.9 or later with the package `cryptography` is needed (`pip install cryptography`)";
    let second: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{need}: {err}"));
    assert_eq!(json!([code, said(told)]), json!([output.status.code(), said(&second)]), "{words:?}");
}
