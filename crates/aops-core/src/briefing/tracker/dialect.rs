//! How to ask each tracker, and how to read its answers: issues, IDs of new items, error texts.
//!
//! Pure. Reads the plain shapes of `bd` 1.x, the envelope of 2.0, and two look-alikes. Invariants: a list is
//! requested without the tracker's own silent limit; outside text follows a `=`, so that it is never read as
//! an option; every returned text is redacted, short and on one line; an answer that is not understood is an
//! error, never an empty list.

use crate::text::json::{self, Json};
use crate::text::plain::on_a_line;
use crate::text::redact::redact;
use serde::{Deserialize, Serialize};

const UNTOLD: &str = "bd, version unknown";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Bd,
    Minibeads,
}

/// Switches off what even a mere read would do: rewrite an export and `git add` it, send usage figures, run a
/// repository's hooks, start a database server that keeps running.
pub const QUIET: [(&str, &str); 6] = [
    ("BD_EXPORT_AUTO", "false"),
    ("BD_DISABLE_METRICS", "1"),
    ("BD_NO_HOOKS", "1"),
    ("BEADS_DOLT_AUTO_START", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("NO_COLOR", "1"),
];

/// Which tool answered to `--version`, by name and number; or why we do not use it. A wrapper may answer
/// nothing, or with a list: in that case the shape of its later answers decides.
pub fn recognise(said: &str) -> Result<(Dialect, String), String> {
    let line = said.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbered = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    match words[..] {
        [] => Ok((Dialect::Bd, UNTOLD.to_owned())),
        [first, ..] if first.starts_with(['[', '{']) => Ok((Dialect::Bd, UNTOLD.to_owned())),
        ["bd", "version", number, ..] if numbered(&number) => match number.split('.').next() {
            Some("0") => Err(format!("`bd` {} is too old; 1.0 or later is understood", clean(number, 20))),
            _ => Ok((Dialect::Bd, format!("bd {}", clean(number, 20)))),
        },
        ["mb", number, ..] if numbered(&number) => {
            Ok((Dialect::Minibeads, format!("mb {}", clean(number, 20))))
        }
        _ => Err(format!("another program of that name: it calls itself `{}`", clean(line, 60))),
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

impl Dialect {
    /// Ready work; with `limit` 0 all of it.
    pub fn ready(self, limit: usize) -> Vec<String> {
        words(["ready", "--json", "--limit", &limit.to_string()])
    }

    pub fn in_progress(self, limit: usize) -> Vec<String> {
        words(["list", "--status", "in_progress", "--json", "--limit", &limit.to_string()])
    }

    pub fn blocked(self) -> Vec<String> {
        words(["blocked", "--json"])
    }

    /// Changes since this day, including closed issues.
    pub fn recent(self, since: &str) -> Vec<String> {
        match self {
            Dialect::Bd => {
                words(["list", "--all", "--json", "--limit", "0", &format!("--updated-after={since}")])
            }
            Dialect::Minibeads => words(["list", "--json"]),
        }
    }

    /// Every issue that may contain this text, including closed ones.
    pub fn find(self, text: &str) -> Vec<String> {
        match self {
            Dialect::Bd => {
                words(["list", "--all", "--json", "--limit", "0", &format!("--desc-contains={text}")])
            }
            Dialect::Minibeads => words(["list", "--json"]),
        }
    }

    pub fn create(self, title: &str, body: &str, kind: &str, priority: u8, labels: &[String]) -> Vec<String> {
        let mut list = words(["create", "--json"]);
        list.push(format!("--title={title}"));
        list.push(format!("--description={body}"));
        list.push(format!("--type={kind}"));
        list.push(format!("--priority={priority}"));
        if !labels.is_empty() {
            list.push(format!("--labels={}", labels.join(",")));
        }
        list
    }

    /// Arguments at the beginning of every call.
    pub fn always(self) -> Vec<String> {
        match self {
            Dialect::Bd => Vec::new(),
            // Otherwise it records every command, even those that only read.
            Dialect::Minibeads => words(["--mb-no-cmd-logging"]),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub id: String,
    pub title: String,
    /// `open`, `in_progress` or the tracker's own word.
    pub status: String,
    /// 0 is the most urgent.
    pub priority: Option<u8>,
    /// `task`, `bug`, `epic` or the tracker's own word.
    pub kind: String,
    /// IDs of the issues it waits for, if the answer contains them.
    pub blocked_by: Vec<String>,
    /// To whom it belongs, if the answer says so.
    #[serde(default)]
    pub assignee: String,
    /// When it was last changed, if the answer says so.
    #[serde(default)]
    pub updated_at: String,
    /// aops-hook filed it: a report about work. Nobody works on it unless a person asks for that.
    #[serde(default)]
    pub ours: bool,
}

/// The label of every issue that we file. Older versions filed issues without this one.
pub const OUR_LABEL: &str = "aops";
const OUR_LABELS: [&str; 5] =
    [OUR_LABEL, "aops-reflection", "aops-learning", "aops-improvement", "aops-halt"];
/// Beginnings of titles of such issues; older issues may have lost their label.
const OUR_TITLES: [&str; 4] = ["Reflection: ", "Learning: ", "Improvement: ", "Halt: "];
/// Precedes an item's key in the description of every issue that we file.
pub const KEY_MARK: &str = "aops-key: ";

const LONGEST_TITLE: usize = 160;
const LONGEST_WORD: usize = 100;
const MOST_BLOCKERS: usize = 10;

/// The command with which an agent comments on an issue, for the tool with this name and version.
pub fn comment(tool: &str, id: &str) -> String {
    if tool.starts_with("mb ") {
        format!("comments add {id} --body 'TEXT'")
    } else {
        format!("comments add {id} 'TEXT'")
    }
}

/// All issues in an answer; a single issue counts as a list of one.
pub fn issues(answer: &[u8]) -> Result<Vec<Issue>, String> {
    let text = String::from_utf8_lossy(answer);
    let json = json::read(&text)?;
    each(&json)?.into_iter().map(issue).collect()
}

/// The ID of the new issue, comment or audit record in an answer.
pub fn id(answer: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(answer);
    let json = json::read(&text)?;
    let first = each(&json)?.into_iter().next().ok_or("an empty answer")?;
    required(first, "id")
}

/// The ID of the first issue or comment whose text contains this mark.
pub fn holding(answer: &[u8], mark: &str) -> Result<Option<String>, String> {
    let text = String::from_utf8_lossy(answer);
    let json = json::read(&text)?;
    let holds = |item: &&Json| {
        ["description", "text", "body"]
            .iter()
            .any(|name| item.text_of(name).is_some_and(|text| text.contains(mark)))
    };
    each(&json)?.into_iter().find(holds).map(|item| required(item, "id")).transpose()
}

/// The top-level text of this name in an answer.
pub fn field(answer: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    body(&json::read(&text).ok()?).text_of(name)
}

/// Outside text as one short line without secrets.
pub fn clean(text: &str, longest: usize) -> String {
    let mut line: String = redact(text).chars().map(on_a_line).take(longest + 1).collect();
    if line.chars().count() > longest {
        line = line.chars().take(longest - 1).chain(['…']).collect();
    }
    line.trim().to_owned()
}

/// `bd` 2.0 puts every answer in `data` next to `schema_version`, beads-rs in `data` next to `result`.
fn body<'a, 'b>(json: &'b Json<'a>) -> &'b Json<'a> {
    let wrapped = json.get("schema_version").is_some() || json.get("result").is_some();
    let body = json.get("data").filter(|_| wrapped).unwrap_or(json);
    body.get("issues").unwrap_or(body)
}

fn each<'a, 'b>(json: &'b Json<'a>) -> Result<Vec<&'b Json<'a>>, String> {
    match body(json) {
        Json::List(items) => Ok(items.iter().collect()),
        one if one.get("id").is_some() => Ok(vec![one]),
        other => Err(match other.text_of("error") {
            Some(words) => clean(&words, LONGEST_TITLE),
            None => "an answer without issues".to_owned(),
        }),
    }
}

fn issue(json: &Json) -> Result<Issue, String> {
    let word = |name: &str| json.text_of(name).map(|text| clean(&text, LONGEST_WORD));
    Ok(Issue {
        id: required(json, "id")?,
        title: json
            .text_of("title")
            .map(|text| clean(&text, LONGEST_TITLE))
            .ok_or("an issue without `title`")?,
        status: word("status").unwrap_or_default(),
        priority: json.number_of("priority").and_then(|n| u8::try_from(n).ok()),
        kind: word("issue_type").or_else(|| word("type")).unwrap_or_default(),
        blocked_by: blockers(json),
        assignee: word("assignee").unwrap_or_default(),
        updated_at: word("updated_at").unwrap_or_default(),
        ours: is_ours(json),
    })
}

/// Recognised by its label; without one by its title, unless the answer has a description without our mark.
fn is_ours(json: &Json) -> bool {
    let labels = if let Some(Json::List(labels)) = json.get("labels") { &labels[..] } else { &[] };
    let titled =
        json.text_of("title").is_some_and(|title| OUR_TITLES.iter().any(|own| title.starts_with(own)));
    labels.iter().filter_map(Json::text).any(|label| OUR_LABELS.contains(&&*label))
        || titled && json.text_of("description").is_none_or(|text| text.is_empty() || text.contains(KEY_MARK))
}

fn required(json: &Json, name: &str) -> Result<String, String> {
    let found = json.text_of(name).map(|text| clean(&text, LONGEST_WORD)).filter(|text| !text.is_empty());
    found.ok_or_else(|| format!("an issue without `{name}`"))
}

/// `blocked_by` contains IDs or whole issues; otherwise the dependencies say it, in one of three forms.
fn blockers(json: &Json) -> Vec<String> {
    let ids: Vec<String> = match (json.get("blocked_by"), json.get("dependencies")) {
        (Some(Json::List(items)), _) => items
            .iter()
            .filter_map(|item| item.text().map(Into::into).or_else(|| item.text_of("id")))
            .collect(),
        (_, Some(Json::List(edges))) => edges.iter().filter_map(blocking_edge).collect(),
        _ => Vec::new(),
    };
    ids.iter().take(MOST_BLOCKERS).map(|id| clean(id, LONGEST_WORD)).collect()
}

fn blocking_edge(edge: &Json) -> Option<String> {
    let kind = edge.text_of("dependency_type").or_else(|| edge.text_of("type"))?;
    let over = edge.text_of("status").is_some_and(|status| status == "closed");
    (kind == "blocks" && !over).then(|| edge.text_of("depends_on_id").or_else(|| edge.text_of("id")))?
}
