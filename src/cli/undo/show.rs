//! `undo show`: one set of saved files, and how they differ from the present ones.

use super::{describe, named, shown, state};
use crate::cli::checkpoint::print_changes;
use crate::cli::table::{Tone, clean};
use crate::cli::{Command, Io, flag, operand};
use aops_core::checkpoint::store::Store;
use aops_core::checkpoint::tree::name;
use aops_core::text::plain::count;
use aops_core::undo::content::bytes_of;
use aops_core::undo::form::{Content, Keeping, KeptFile, KeptRepository, Piece};
use aops_core::undo::git::path_of;
use clap::ArgMatches;

pub(super) const SHOW: Command = Command {
    name: "show",
    about: "Show what was kept under one number",
    examples: &[
        ("aops-hook undo show 17", "when, for which command, and what"),
        ("aops-hook undo show 17 --files", "every file, with mode, size and digest"),
        ("aops-hook undo show 17 --diff", "from what lies there now to what was kept"),
    ],
    arguments: |row| {
        let number = operand("number", "N", "A number of `undo list`").required(true);
        row.args([
            number,
            flag("files", "Every file"),
            flag("diff", "How each file differs from the present"),
        ])
    },
    run: show,
};

/// Longer files are only named; their text is not shown.
const LONGEST: u64 = 256 << 10;

fn show(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (store, keeping) = named(given, io)?;
    if io.json {
        return io.print(serde_json::to_string_pretty(&keeping)?);
    }
    writeln!(io.out, "{}", Tone::Strong.paint(&format!("{}", keeping.number), io))?;
    let mut facts = vec![
        ("kept", keeping.at.clone()),
        ("command", keeping.line.clone()),
        ("in", keeping.cwd.clone()),
        ("session", keeping.session_id.clone()),
        ("rule", keeping.rule.clone().unwrap_or_default()),
        ("what", describe(&keeping)),
        ("state", state(&store, keeping.number).to_owned()),
    ];
    for kept in &keeping.repositories {
        facts.extend(of_git(kept));
    }
    for (label, words) in facts.into_iter().filter(|(_, words)| !words.is_empty()) {
        writeln!(io.out, "  {label:9} {}", clean(&words))?;
    }
    if given.get_flag("files") {
        print_files(io, &keeping)?;
    }
    if given.get_flag("diff") {
        for file in &keeping.files {
            print_diff(io, &store, &keeping, file)?;
        }
    }
    Ok(0)
}

fn of_git(kept: &KeptRepository) -> Vec<(&'static str, String)> {
    let mut facts = vec![("git", name::shown(&kept.root))];
    let branch = kept.head_ref.as_deref().map_or("no branch", |name| name.trim_start_matches("refs/heads/"));
    facts.extend(kept.head.as_ref().map(|head| ("HEAD", format!("{head} ({branch})"))));
    facts.extend(kept.index.map(|index| ("index", index.to_string())));
    facts.extend(kept.refs.iter().map(|(name, id)| ("ref", format!("{name} {id}"))));
    facts.extend(kept.config.iter().map(|(key, value)| ("setting", format!("{key} = {value}"))));
    facts.extend(kept.stashes.iter().flatten().map(|(id, words)| ("stash", format!("{id} {words}"))));
    if !kept.committed.is_empty() {
        facts.push(("commit", format!("{} of HEAD's commit", count(kept.committed.len(), "file"))));
    }
    facts
}

fn print_files(io: &mut Io, keeping: &Keeping) -> anyhow::Result<()> {
    for file in &keeping.files {
        let what = match &file.content {
            Content::Blob(sum) | Content::Packed(Piece { sum, .. }) => sum.to_string()[..12].to_owned(),
            Content::Link(_) => "linked".to_owned(),
            Content::Symlink(target) => format!("-> {}", name::shown(target)),
            Content::Absent => "not there".to_owned(),
        };
        writeln!(
            io.out,
            "{:04o} {:>12} {:12} {}",
            file.mode,
            file.size,
            clean(&what),
            shown(io, &file.path)
        )?;
    }
    for kept in &keeping.repositories {
        for path in &kept.committed {
            let whole = format!("{}/{path}", kept.root);
            writeln!(io.out, "{:4} {:>12} {:12} {}", "", "", "committed", shown(io, &whole))?;
        }
    }
    Ok(())
}

/// The text of a file; `None` if it is too long or not text.
fn text_of(bytes: Option<Vec<u8>>) -> Option<String> {
    String::from_utf8(bytes?).ok().filter(|text| !text.contains('\0'))
}

fn print_diff(io: &mut Io, store: &Store, keeping: &Keeping, file: &KeptFile) -> anyhow::Result<()> {
    let path = path_of(&file.path);
    let now = match path.symlink_metadata() {
        Err(_) => Some(Vec::new()),
        Ok(about) if about.is_symlink() => {
            std::fs::read_link(&path).ok().map(|target| target.as_os_str().as_encoded_bytes().to_vec())
        }
        Ok(about) if about.is_file() && about.len() <= LONGEST => aops_core::system::files::read(&path).ok(),
        Ok(_) => None,
    };
    let kept = bytes_of(store, keeping.number, file, LONGEST)?;
    if now.is_some() && now == kept {
        return Ok(());
    }
    writeln!(io.out, "{}", Tone::Strong.paint(&shown(io, &file.path), io))?;
    let (Some(now), Some(kept)) = (text_of(now), text_of(kept)) else {
        writeln!(io.out, "  differs; too long or not text")?;
        return Ok(());
    };
    print_changes(io, &now, &kept)
}
