//! What a leg checks in an order and in a record before it trusts them: whoever reaches the engine or the
//! run's remote may have written them.
//!
//! Pure. Invariant: an order that passes names no place outside its own tree, no option of git and no
//! transport that is a program. What its workflow does is not checked: running workflows is the purpose.

use super::Order;
use crate::remote::carried::Record;
use crate::run::artifacts::is_file_of;
use crate::run::attempt::{AttemptEntry, AttemptFact, Attempts};
use std::path::{Component, Path};

const LONGEST_NAME: usize = 200;
const LONGEST_ADDRESS: usize = 4096;

/// Why this run must not be driven, if there is a reason.
pub(super) fn check(run: &str, order: &Order, known: &Record) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what} that no `run --on fleet` writes"));
    if !is_name(run) || order.run.run_id.as_deref() != Some(run) {
        return wrong("it has an id");
    }
    if !is_object(&order.commit) {
        return wrong("it names a commit in a way");
    }
    if !is_repository(&order.repository) {
        return wrong("it has the address of a repository");
    }
    if !is_below(&order.folder) || !order.run.context.iter().all(|path| is_below(path)) {
        return wrong("it names a place in the repository");
    }
    if !known.files.iter().all(|(path, _)| is_file_of(run, path)) {
        return wrong("it has a file");
    }
    let lines = known.lines.iter().fold(String::new(), |text, line| text + line + "\n");
    match Attempts::read(lines.as_bytes()) {
        Ok((read, 0))
            if read.told.len() == known.lines.len() && read.told.iter().all(|told| is_of(run, told)) =>
        {
            Ok(())
        }
        _ => wrong("it has an attempt ledger"),
    }
}

/// Whether it is one word that can also be a file name.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=LONGEST_NAME).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(plain)
}

/// Whether it is the full name of a git object.
fn is_object(text: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    [40, 64].contains(&text.len()) && text.bytes().all(hex)
}

/// Whether it is a local folder, a URL, or `host:path`: not an option, and not a git transport that is a
/// program (`ext::`, `fd::`).
fn is_repository(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or_default();
    let is_odd =
        text.starts_with('-') || text.chars().any(char::is_control) || text[scheme.len()..].starts_with("::");
    let is_away = text.len() > scheme.len() && !scheme.is_empty() && !scheme.contains('/');
    !is_odd && text.len() <= LONGEST_ADDRESS && (is_away || Path::new(text).is_absolute())
}

/// Whether it is a relative path that stays inside its folder, or empty.
fn is_below(path: &str) -> bool {
    let plain =
        |part: Component| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    path.len() <= LONGEST_ADDRESS && !path.contains('\0') && Path::new(path).components().all(plain)
}

/// Whether the entry belongs to this run, and nothing in it could be used as another path.
fn is_of(run: &str, told: &AttemptEntry) -> bool {
    let packet = |id: &str| id.starts_with("CP_") && is_name(id);
    let names = |names: &[String]| names.iter().all(|name| is_name(name));
    told.run_id == run
        && match &told.deed {
            AttemptFact::Init(init) => is_name(&init.session_id) && names(&init.steps),
            AttemptFact::Step(begun) => is_name(&begun.step),
            AttemptFact::Done(done) => is_name(&done.step),
            AttemptFact::Checkpoint(paused) => packet(&paused.checkpoint_id) && is_name(&paused.step),
            AttemptFact::Resolved(resolved) => packet(&resolved.checkpoint_id),
            AttemptFact::Resumed(resumed) => packet(&resumed.checkpoint_id),
            AttemptFact::Rollback(back) => names(&back.completed) && names(&back.incomplete),
            AttemptFact::Revised(revised) => names(&revised.again) && is_name(&revised.by),
            AttemptFact::Delivered(_) | AttemptFact::Terminal(_) | AttemptFact::Removed(_) => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_would_type_is_a_repository() {
        for good in [
            "/srv/git/x.git", "https://host/x.git", "ssh://git@host:22/x", "git@host:team/x.git",
            "file:///srv/x", "host:x",
        ] {
            assert!(is_repository(good), "{good}");
        }
        for bad in
            ["", "-u", "--upload-pack=touch x", "ext::sh -c x", "fd::7", "../x", "x", "a\nb", "::x", "./a:b"]
        {
            assert!(!is_repository(bad), "{bad}");
        }
    }

    #[test]
    fn a_place_in_a_repository_has_no_way_out() {
        for good in ["", "a/b/", "a b/c.md", ".aops/x"] {
            assert!(is_below(good), "{good}");
        }
        for bad in ["/", "/etc", "..", "a/../..", ".git", "a/.GIT/hooks", "./a"] {
            assert!(!is_below(bad), "{bad}");
        }
        assert!(
            is_name("20260113-1f3a9c02")
                && is_name("key-0123")
                && !is_name("a/b")
                && !is_name("")
                && !is_name("-a")
        );
        assert!(is_object(&"a".repeat(40)) && !is_object("HEAD") && !is_object(&"A".repeat(40)));
    }
}
