//! The second verifier, `tests/verify_ledger.py`: another language, another author's library, the same rules.

use aops_ledger::json::{read, unchanged};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What it says about each of these session folders.
pub(crate) fn verify(folders: &[PathBuf]) -> Vec<Value> {
    let out = run(folders, String::new());
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn run(arguments: &[PathBuf], input: String) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify_ledger.py");
    let mut command = assert_cmd::Command::new("/usr/bin/env");
    let output = command.args(["python3", "-I"]).arg(script).args(arguments).write_stdin(input).output();
    let output = output.expect("`env` is on every system");
    let err = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8(output.stdout).unwrap();
    let wanted = if out.contains("\"ok\": false") { 4 } else { 0 };
    assert_eq!(output.status.code(), Some(wanted), "`python3` 3.8 or later is needed: {err}");
    out
}

/// Every form a number can have, 60,000 in all; and names whose order differs between UTF-8 and UTF-16.
#[test]
fn both_write_the_same_numbers_and_names() {
    let mut texts = vec![
        r#"{"\ufb33":1,"\ud83d\ude02":[0.000024,-0.0,null,true],"1":3,"\r":"\u000f€\u007f"}"#.to_owned(),
    ];
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    for n in 0..20_000_u64 {
        bits = bits.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let any = f64::from_bits(bits);
        texts.push(if any.is_finite() { format!("{any:e}") } else { n.to_string() });
        texts.push(format!(
            "{}{}e{}",
            if bits.is_multiple_of(2) { "-" } else { "" },
            bits >> 40,
            i64::try_from(n % 60).unwrap() - 35
        ));
        texts.push((bits >> 11).to_string());
    }
    let ours: Vec<String> = texts.iter().map(|text| read(text).unwrap().canonical(unchanged)).collect();
    let theirs = run(&[PathBuf::from("--canonical")], ours.join("\n"));
    for (text, (ours, theirs)) in texts.iter().zip(ours.iter().zip(theirs.lines())) {
        assert_eq!(ours, theirs, "{text}");
    }
    assert_eq!(theirs.lines().count(), ours.len());
    let raw = run(&[PathBuf::from("--canonical")], texts.join("\n"));
    let differ = |(ours, raw): &(&String, &str)| ours != raw && !ours.starts_with('"');
    assert_eq!(ours.iter().zip(raw.lines()).find(differ), None);
}
