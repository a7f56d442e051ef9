//! `verify --proof`: one entry in one file, checked with public keys alone.
//!
//! Reads that file; writes nothing.

use crate::cli::Io;
use crate::cli::table::Tone;
use anyhow::Context;
use aops_core::proof::check::Trust;
use aops_core::proof::prove::{Proven, read};
use aops_core::text::time::timestamp;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

pub(super) fn verify(trust: &Trust, path: &str, io: &mut Io) -> anyhow::Result<u8> {
    let bytes = fs::read(io.env.from_here(Path::new(path))).with_context(|| format!("`{path}`"))?;
    let text = String::from_utf8(bytes).map_err(|_| "no proof: it is not text".to_owned());
    match text.and_then(|text| read(io.env, trust, &text)) {
        Ok(proven) if io.json => io.print(to_json(&proven)),
        Ok(proven) => print(io, &proven),
        Err(why) => {
            let words = format!("{} {why}", Tone::Bad.paint("damaged:", io));
            io.answer(&json!({"ok": false, "tier": null, "why": why}), words)?;
            Ok(4)
        }
    }
}

fn to_json(proven: &Proven) -> Value {
    let times = proven.times.iter().map(|(key, time)| json!({"name": key.name, "time": time}));
    json!({
        "ok": true, "tier": proven.level.name(), "entry": proven.entry,
        "index": proven.place.map(|(index, _)| index), "size": proven.place.map(|(_, size)| size),
        "times": times.collect::<Vec<_>>(),
    })
}

fn print(io: &mut Io, proven: &Proven) -> anyhow::Result<u8> {
    let place =
        proven.place.map(|(index, size)| format!(", leaf {index} of a log of {size}")).unwrap_or_default();
    writeln!(io.out, "{} {}{place}", Tone::Good.paint("proven:", io), proven.level.name())?;
    for (key, time) in &proven.times {
        let at = timestamp(i64::try_from(*time).unwrap_or(0).saturating_mul(1000));
        writeln!(io.out, "seen by {} at {at}", key.name)?;
    }
    io.print(&proven.entry)
}
