//! What a call does to issues in the tracker: claims them, closes them or hands them back, changes or syncs
//! them.
//!
//! Reads only the call. Stored types: fields in sorted order. Invariant: an ID that is not plainly written
//! does not count, so a line like `bd close "$ID"` changes nothing here.

use crate::text::json;
use crate::tool::targets::Targets;
use aops_shell::syntax::Word;
use serde::{Deserialize, Serialize};

/// What one command does to issues in the tracker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracks {
    /// The tracker's program as it was typed, or its MCP server.
    pub by: String,
    pub how: How,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Work on them begins.
    Claims,
    /// They are closed or handed back.
    Leaves,
    #[default]
    Changes,
    /// They get a comment, and stay as they are. Older versions counted that as a change.
    Comments,
    Syncs,
}

/// At most this many are kept for one call, and for one command.
const MOST: usize = 8;
const LONGEST: usize = 200;

/// The trackers; only the second has a verb for syncing.
const PROGRAMS: [&str; 2] = ["bd", SYNCING];
const SYNCING: &str = "mb";

/// Options without a value; any other takes the next word, unless it contains a `=`.
const FLAGS: [&str; 14] = [
    "--claim", "--continue", "--force", "--json", "--mb-no-cmd-logging", "--no-auto-flush",
    "--no-auto-import", "--quiet", "--release", "--replace-all", "--suggest-next", "--unassign", "-f", "-q",
];

/// Verbs that change issues in another way.
const CHANGING: [&str; 10] =
    ["assign", "create", "defer", "dep", "label", "new", "note", "q", "reopen", "undefer"];

impl Tracks {
    /// Its program has a verb for syncing.
    pub fn has_sync(&self) -> bool {
        base(&self.by) == SYNCING
    }
}

/// An issue's ID: a short word of letters, digits, `-`, `_` and `.`.
pub fn is_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    text.len() <= 64 && text.bytes().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Everything that this call does to issues. `command` is the user's tracker; `none` means that there is
/// none.
pub fn of(command: &str, tool: &str, input: &str, reach: &Targets) -> Vec<Tracks> {
    if command == "none" {
        return Vec::new();
    }
    if let Some(rest) = tool.strip_prefix("mcp__") {
        return of_tool(rest, input).into_iter().collect();
    }
    let words = |words: &[Word]| words.iter().map(Word::lossy).collect::<Vec<_>>();
    let found = reach.runs.iter().filter_map(|run| of_words(command, &words(&run.command.words)));
    found.take(MOST).collect()
}

/// Verbs that only show issues.
const SHOWING: [&str; 9] = ["blocked", "count", "info", "list", "ready", "search", "show", "stats", "status"];

/// Whether the line runs the tracker, and only to show something.
pub fn only_looks(command: &str, reach: &Targets) -> bool {
    let mut runs = reach.runs.iter().filter_map(|run| {
        let (program, rest) = run.command.words.split_first()?;
        let program = program.lossy();
        let is_tracker = program == command || PROGRAMS.contains(&base(&program));
        is_tracker
            .then(|| rest.iter().map(Word::lossy).find(|word| !word.starts_with('-')).unwrap_or_default())
    });
    let shows = |verb: String| SHOWING.contains(&verb.as_str());
    runs.next().is_some_and(shows) && runs.all(shows)
}

/// For example `mcp__beads__close` with its `issue_id`.
fn of_tool(name: &str, input: &str) -> Option<Tracks> {
    let (server, tool) = name.split_once("__").filter(|(server, _)| matches!(*server, "bd" | "beads"))?;
    let input = json::read(input).ok()?;
    let id = ["issue_id", "id"].into_iter().find_map(|name| input.text_of(name)).filter(|id| is_id(id));
    let status = input.text_of("status");
    let how = how(tool.split('_').next()?, tool.contains("claim"), false, status.as_deref())?;
    Some(Tracks { by: server.to_owned(), how, ids: id.into_iter().collect() })
}

/// What one simple command does; its words begin with the program.
fn of_words(command: &str, words: &[String]) -> Option<Tracks> {
    let is_tracker = |program: &String| program == command || PROGRAMS.contains(&base(program));
    let (program, rest) = words.split_first().filter(|(program, _)| is_tracker(program))?;
    let mut claims = false;
    let mut releases = false;
    let mut status = None;
    let mut plain = Vec::new();
    let mut rest = rest.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        match name {
            "--claim" => claims = true,
            "--release" => releases = true,
            "-s" | "--status" => status = value.or_else(|| rest.next()),
            name if FLAGS.contains(&name) || name.starts_with('-') && value.is_some() => {}
            name if name.starts_with('-') => drop(rest.next()),
            _ => plain.push(word),
        }
    }
    let (verb, ids) = plain.split_first()?;
    let how = how(verb, claims, releases, status)?;
    let ids = ids
        .iter()
        .filter(|id| is_id(id) && !matches!(how, How::Changes | How::Comments))
        .take(MOST)
        .map(|id| (*id).to_owned());
    Some(Tracks { by: json::cut(program, LONGEST).to_owned(), how, ids: ids.collect() })
}

fn how(verb: &str, claims: bool, releases: bool, status: Option<&str>) -> Option<How> {
    match (verb, status) {
        ("claim" | "update", _) if releases => Some(How::Leaves),
        ("claim", _) | ("update", Some("in_progress")) => Some(How::Claims),
        ("update", _) if claims => Some(How::Claims),
        ("close" | "done", _) | ("update", Some(_)) => Some(How::Leaves),
        ("update", None) => Some(How::Changes),
        ("sync", _) => Some(How::Syncs),
        ("comment" | "comments", _) => Some(How::Comments),
        (verb, _) => CHANGING.contains(&verb).then_some(How::Changes),
    }
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::targets;
    use aops_shell::syntax::Ground;

    fn of_line(line: &str) -> Vec<(How, String)> {
        let input = serde_json::json!({ "command": line }).to_string();
        let ground = Ground { cwd: "/p", home: "/home/u", variables: &[] };
        let cut = targets::line("Bash", &input, &ground);
        let reach = targets::of("Bash", &input, cut.as_ref(), &ground);
        of("/opt/track", "Bash", &input, &reach)
            .into_iter()
            .map(|tracks| (tracks.how, tracks.ids.join(" ")))
            .collect()
    }

    #[test]
    fn a_line_takes_issues_and_leaves_them() {
        use How::{Changes, Claims, Comments, Leaves, Syncs};
        for (line, want) in [
            ("bd update demo-1 --claim", Some((Claims, "demo-1"))),
            ("bd update --claim demo-1 --json", Some((Claims, "demo-1"))),
            ("bd update demo-1 --status in_progress", Some((Claims, "demo-1"))),
            ("bd update demo-1 -s in_progress --notes 're-done'", Some((Claims, "demo-1"))),
            ("bd --db /x/y.db update demo-1 --status=in_progress", Some((Claims, "demo-1"))),
            ("/opt/bin/mb --mb-no-cmd-logging claim demo-1 demo-2", Some((Claims, "demo-1 demo-2"))),
            ("mb claim --release demo-1", Some((Leaves, "demo-1"))),
            ("bd close demo-1 --reason all-done", Some((Leaves, "demo-1"))),
            ("bd close --reason='all done' demo-1 a.2", Some((Leaves, "demo-1 a.2"))),
            ("bd update demo-1 --status open", Some((Leaves, "demo-1"))),
            ("bd update demo-1 --title x", Some((Changes, ""))),
            ("bd create 'a title' -t task", Some((Changes, ""))),
            ("bd comments add demo-1 'it waits for the feeder'", Some((Comments, ""))),
            ("bd comment demo-1 'it waits'", Some((Comments, ""))),
            ("mb sync", Some((Syncs, ""))),
            ("bd close \"$ID\"", Some((Leaves, ""))),
            ("/opt/track close demo-1", Some((Leaves, "demo-1"))),
            ("/opt/other close demo-1", None),
            ("bd show demo-1", None),
            ("bd ready --json", None),
            ("echo bd close demo-1", None),
            ("git commit -m 'bd close demo-1'", None),
        ] {
            let want: Vec<_> = want.into_iter().map(|(how, ids)| (how, ids.to_owned())).collect();
            assert_eq!(of_line(line), want, "{line}");
        }
        let both = [(Leaves, "a-1".to_owned()), (Claims, "a-2".to_owned())];
        assert_eq!(of_line("cd x && bd close a-1 && bd update a-2 --claim"), both);
    }

    #[test]
    fn a_tool_of_a_server_does_it_too() {
        let of = |tool: &str, input: &str| of("bd", tool, input, &Targets::default());
        let one = |how| vec![Tracks { by: "beads".to_owned(), how, ids: vec!["a-1".to_owned()] }];
        assert_eq!(of("mcp__beads__claim", "{\"issue_id\":\"a-1\"}"), one(How::Claims));
        assert_eq!(
            of("mcp__beads__update", "{\"issue_id\":\"a-1\",\"status\":\"in_progress\"}"),
            one(How::Claims)
        );
        assert_eq!(of("mcp__beads__close_issue", "{\"id\":\"a-1\"}"), one(How::Leaves));
        assert_eq!(of("mcp__beads__show", "{\"issue_id\":\"a-1\"}"), []);
        assert_eq!(of("mcp__other__close", "{\"issue_id\":\"a-1\"}"), []);
    }

    #[test]
    fn without_a_tracker_nothing_is_done_to_it() {
        assert_eq!(of("none", "mcp__beads__claim", "{\"issue_id\":\"a-1\"}", &Targets::default()), []);
    }

    #[test]
    fn only_one_of_them_syncs() {
        let by = |by: &str| Tracks { by: by.to_owned(), ..Tracks::default() }.has_sync();
        assert!(by("mb") && by("/opt/bin/mb") && !by("bd") && !by("beads"));
    }
}
