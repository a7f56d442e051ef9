//! Who wrote what in a commit: each path is followed from the parent's content to the commit's.
//!
//! Pure. Invariants: a state that no call of the session left is somebody else's; if a step is unknown, the
//! statement names the path and never counts it for the session.

use super::objects::Record;
use aops_attest::path::spell;
use aops_attest::statement::{Author, File, Lines, Side};
use aops_core::checkpoint::tree::name;
use aops_core::session::observed::{Content, FileSeen};
use aops_core::text::diff::carry_owners;
use aops_core::text::sha256::sha256;
use std::collections::{BTreeMap, BTreeSet};

/// A file that changed at this entry.
#[derive(Clone, Debug)]
pub struct Changed {
    pub seq: u64,
    pub by: Writer,
    pub file: FileSeen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    Session,
    Outside,
}

/// Access to the contents of files.
pub trait Contents {
    /// Reads by git's name or, if the repository lacks the object, by the name under which it is saved next
    /// to the checkpoints.
    fn read(&self, state: &State) -> Option<Vec<u8>>;
}

/// A file at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Mode and name of the content; zeros if there is no file.
    pub side: Side,
    /// The name of the saved content, if there is one.
    pub sha256: Option<String>,
}

/// The parts of a commit, and their authors.
#[derive(Debug, Default)]
pub struct Authorship {
    pub files: Vec<File>,
    /// Paths that changed while no call of the session ran.
    pub outside: BTreeSet<String>,
    /// The first entry that counts for the commit.
    pub first: Option<u64>,
}

/// Attributes the records of a commit. `changes`: all changes of the session so far in this working tree, in
/// order.
pub fn attribute(records: &[Record], changes: &[Changed], contents: &dyn Contents) -> Authorship {
    let mut by_path: BTreeMap<Vec<u8>, Vec<&Changed>> = BTreeMap::new();
    for change in changes {
        by_path.entry(name::bytes(&change.file.path).into_owned()).or_default().push(change);
    }
    let mut found = Authorship::default();
    for record in records {
        let own = by_path.get(&record.path).map(Vec::as_slice).unwrap_or_default();
        let steps = steps(record, own);
        let path = spell(&record.path);
        if steps.iter().any(|step| step.by == Writer::Outside) {
            found.outside.insert(path.clone());
        }
        found.first = found.first.into_iter().chain(steps.iter().filter_map(|step| step.seq)).min();
        let (lines, content) = count_lines(record, &steps, contents);
        found.files.push(File {
            path,
            before: record.before.clone(),
            after: record.after.clone(),
            sha256: content.map(|content| sha256(&[&content])),
            by: author(&steps),
            lines,
        });
    }
    found
}

/// One change of a file on its way from the parent to the commit.
struct Step {
    to: State,
    by: Writer,
    seq: Option<u64>,
}

fn steps(record: &Record, changes: &[&Changed]) -> Vec<Step> {
    let base = State { side: record.before.clone(), sha256: None };
    let blank = Side("0".repeat(6), "0".repeat(base.side.1.len()));
    let side = |content: Option<&Content>| match content {
        Some(content) => Side(content.mode.name().to_owned(), content.blob.clone()),
        None => blank.clone(),
    };
    let state = |content: Option<&Content>| State {
        side: side(content),
        sha256: content.map(|content| content.sha256.clone()),
    };
    // Changes before the file last had the parent's content belong to earlier commits.
    let is_base = |change: &&Changed| side(change.file.is.as_ref()) == base.side;
    let from = changes.iter().rposition(is_base).map_or(0, |at| at + 1);
    let mut now = base.side.clone();
    let mut steps = Vec::new();
    for change in &changes[from..] {
        let was = state(change.file.was.as_ref());
        let is = state(change.file.is.as_ref());
        if was.side != now {
            steps.push(Step { to: was, by: Writer::Outside, seq: None });
        }
        now.clone_from(&is.side);
        steps.push(Step { to: is, by: change.by, seq: Some(change.seq) });
    }
    // The commit may contain an earlier state than the working tree.
    match steps.iter().rposition(|step| step.to.side == record.after) {
        Some(last) => steps.truncate(last + 1),
        None if now == record.after => {}
        None => {
            let to = State { side: record.after.clone(), sha256: None };
            steps.push(Step { to, by: Writer::Outside, seq: None });
        }
    }
    steps
}

fn author(steps: &[Step]) -> Author {
    let by = |writer| steps.iter().any(|step| step.by == writer);
    match (by(Writer::Session), by(Writer::Outside)) {
        (true, false) => Author::Session,
        (true, true) => Author::Mixed,
        _ => Author::Outside,
    }
}

/// The lines that each side added, and the content after the change. If a content is no longer known, its
/// lines do not count for the session.
fn count_lines(record: &Record, steps: &[Step], contents: &dyn Contents) -> (Lines, Option<Vec<u8>>) {
    let has_file = |side: &Side| !side.0.starts_with("000000") && side.0 != "160000";
    let text = |state: &State| if has_file(&state.side) { contents.read(state) } else { Some(Vec::new()) };
    let after =
        State { side: record.after.clone(), sha256: steps.last().and_then(|step| step.to.sha256.clone()) };
    let last = text(&after);
    let content = last.clone().filter(|_| has_file(&record.after));
    let (Some(mut now), Some(last)) = (text(&State { side: record.before.clone(), sha256: None }), last)
    else {
        return (Lines::default(), content);
    };
    if now.contains(&0) || last.contains(&0) {
        return (Lines::default(), content);
    }
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut owners: Vec<Option<Writer>> = vec![None; lossy(&now).split_inclusive('\n').count()];
    let mut unknown = false;
    for (at, step) in steps.iter().enumerate() {
        let to = if at + 1 == steps.len() { Some(last.clone()) } else { text(&step.to) };
        let Some(to) = to else {
            unknown = true;
            continue;
        };
        let by = if unknown { Writer::Outside } else { step.by };
        owners = carry_owners(&lossy(&now), &lossy(&to), &owners, Some(by));
        now = to;
        unknown = false;
    }
    let count = |writer| owners.iter().filter(|owner| **owner == Some(writer)).count() as u64;
    (Lines { session: count(Writer::Session), outside: count(Writer::Outside) }, content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_core::session::observed::FileMode;
    use aops_core::text::git_object::ObjectFormat;

    struct Texts(Vec<&'static str>);

    impl Contents for Texts {
        fn read(&self, state: &State) -> Option<Vec<u8>> {
            self.0.iter().find(|text| id(text) == state.side.1).map(|text| text.as_bytes().to_vec())
        }
    }

    fn id(text: &str) -> String {
        ObjectFormat::Sha1.blob(text.as_bytes())
    }

    fn side(text: &str) -> Side {
        if text.is_empty() {
            Side("000000".to_owned(), "0".repeat(40))
        } else {
            Side("100644".to_owned(), id(text))
        }
    }

    fn content(text: &str) -> Option<Content> {
        let content = Content { blob: id(text), mode: FileMode::Plain, sha256: sha256(&[text.as_bytes()]) };
        Some(content).filter(|_| !text.is_empty())
    }

    /// Follows a path from the parent's text to the commit's, by these steps; an empty text means no file.
    fn follow(
        before: &str,
        after: &str,
        steps: &[(Writer, &'static str, &'static str)],
    ) -> (Author, u64, u64, bool) {
        let record = Record { path: b"a".to_vec(), before: side(before), after: side(after) };
        let change = |(by, was, is): &(Writer, &str, &str)| Changed {
            seq: 1,
            by: *by,
            file: FileSeen { is: content(is), path: "a".to_owned(), was: content(was) },
        };
        let changes: Vec<Changed> = steps.iter().map(change).collect();
        let texts = Texts(vec!["1\n", "1\n2\n", "1\n2\n3\n", "1\nx\n3\n", "9\n"]);
        let found = attribute(&[record], &changes, &texts);
        let file = &found.files[0];
        (file.by, file.lines.session, file.lines.outside, found.outside.contains("a"))
    }

    use Writer::{Outside, Session};

    #[test]
    fn what_the_session_left_is_the_sessions() {
        assert_eq!(follow("1\n", "1\n2\n", &[(Session, "1\n", "1\n2\n")]), (Author::Session, 1, 0, false));
        assert_eq!(follow("", "1\n", &[(Session, "", "1\n")]), (Author::Session, 1, 0, false));
        assert_eq!(follow("1\n", "", &[(Session, "1\n", "")]), (Author::Session, 0, 0, false));
        // An earlier commit contains the first step.
        let both = [(Session, "1\n", "1\n2\n"), (Session, "1\n2\n", "1\n2\n3\n")];
        assert_eq!(follow("1\n2\n", "1\n2\n3\n", &both), (Author::Session, 1, 0, false));
        // Staged before the second step.
        assert_eq!(follow("1\n", "1\n2\n", &both), (Author::Session, 1, 0, false));
    }

    #[test]
    fn an_edit_between_two_calls_is_named() {
        let seen = [
            (Session, "1\n", "1\n2\n"),
            (Outside, "1\n2\n", "1\n2\n3\n"),
            (Session, "1\n2\n3\n", "1\nx\n3\n"),
        ];
        assert_eq!(follow("1\n", "1\nx\n3\n", &seen), (Author::Mixed, 1, 1, true));
        // No snapshot in between, but the second call found another text than the first had left.
        let unseen = [(Session, "1\n", "1\n2\n"), (Session, "1\n2\n3\n", "1\nx\n3\n")];
        assert_eq!(follow("1\n", "1\nx\n3\n", &unseen), (Author::Mixed, 1, 1, true));
    }

    #[test]
    fn an_edit_before_the_first_or_after_the_last_call_is_named() {
        assert_eq!(follow("1\n", "9\n", &[]), (Author::Outside, 0, 1, true));
        assert_eq!(follow("1\n", "1\n2\n3\n", &[(Session, "1\n", "1\n2\n")]), (Author::Mixed, 1, 1, true));
        assert_eq!(
            follow("1\n", "1\n2\n3\n", &[(Session, "1\n2\n", "1\n2\n3\n")]),
            (Author::Mixed, 1, 1, true)
        );
    }

    #[test]
    fn lines_of_a_text_that_is_gone_are_not_counted_for_the_session() {
        let lost = [(Outside, "1\n", "lost\n"), (Session, "lost\n", "1\n2\n")];
        assert_eq!(follow("1\n", "1\n2\n", &lost), (Author::Mixed, 0, 1, true));
    }
}
