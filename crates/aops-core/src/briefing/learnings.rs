//! Stores what a reflection teaches: in the memory server if one accepts it, otherwise as a note in the data
//! folder.
//!
//! Asks the server that prompts ask, writes `<data>/learnings/`. Invariants: an empty learning is not stored;
//! a text is redacted and bounded; if no server took it, it becomes a note, and the same one only once per
//! day.

use crate::briefing::{memory, sources};
use crate::config::policy::Policy;
use crate::insight::tally::says_something;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::{open_own, replace_private_in};
use crate::text::json::{cut, quoted};
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use crate::text::time::timestamp;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest field and title, in bytes.
const FIELD: usize = 600;
const TITLE: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learning {
    pub title: String,
    pub text: String,
    /// `learning`, or the kind of work that led to it.
    pub tag: String,
}

/// What the seven fields teach: the change that they propose, and for kinds of work that we remember, also
/// what was done.
pub fn learning(
    project: &Path,
    kind: Option<&str>,
    reflection: &BTreeMap<String, String>,
) -> Option<Learning> {
    let said =
        |name: &str| reflection.get(name).map(|text| one_line(&redact(text), FIELD)).unwrap_or_default();
    let done = said("accomplishment");
    let change = said("proposed_change");
    let cause = said("root_cause");
    let remembers = kind.is_some() && says_something(&done);
    let learns = says_something(&change);
    if !remembers && !learns {
        return None;
    }
    let name = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (tag, about) = if remembers { (kind.unwrap_or_default(), &done) } else { ("learning", &change) };
    let mut lines =
        vec![format!("In `{name}`: {}", if says_something(&done) { done.clone() } else { said("request") })];
    lines.extend(learns.then(|| format!("Learnt: {change}")));
    lines.extend((learns && says_something(&cause)).then(|| format!("Cause: {cause}")));
    Some(Learning {
        title: one_line(&format!("{tag}: {about}"), TITLE),
        text: lines.join("\n"),
        tag: tag.to_owned(),
    })
}

/// Waits for the server no longer than a prompt does.
pub fn keep(env: &Env, policy: &Policy, project: &Path, learning: &Learning) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_millis(policy.hydration.deadline_ms);
    let tags = ["aops", learning.tag.as_str()];
    match sources::server(env, policy, project) {
        Some(Ok(server)) if memory::store(env, &server, &learning.text, &tags, deadline).is_ok() => Ok(()),
        _ => note(env, learning),
    }
}

fn note(env: &Env, learning: &Learning) -> Result<(), Failure> {
    let day = timestamp(env.now_ms);
    let day = cut(&day, 10);
    let name = format!("{day}-{}.md", &sha256(&[learning.text.as_bytes()])[..12]);
    let title = quoted(&learning.title);
    let tag = &learning.tag;
    let text = format!("---\ntitle: {title}\ndate: {day}\ntags: [aops, {tag}]\n---\n\n{}\n", learning.text);
    replace_private_in(&open_own(&env.data, &["learnings"])?, &name, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_teaches_something_is_kept() {
        let fields = |done: &str, change: &str| {
            let all = [
                ("request", "feed it"),
                ("accomplishment", done),
                ("proposed_change", change),
                ("root_cause", "c"),
            ];
            BTreeMap::from(all.map(|(name, text)| (name.to_owned(), text.to_owned())))
        };
        let of = |kind, done, change| learning(Path::new("/p/zoo"), kind, &fields(done, change));
        assert_eq!(of(None, "it is fed", "none"), None);
        assert_eq!(of(Some("domain"), "none", "None."), None);
        let learnt = of(None, "it is fed", "say when").unwrap();
        assert_eq!((learnt.title.as_str(), learnt.tag.as_str()), ("learning: say when", "learning"));
        assert_eq!(learnt.text, "In `zoo`: it is fed\nLearnt: say when\nCause: c");
        let domain = of(Some("domain"), "wombats eat at dusk", "none").unwrap();
        assert_eq!((domain.title.as_str(), domain.tag.as_str()), ("domain: wombats eat at dusk", "domain"));
        assert_eq!(domain.text, "In `zoo`: wombats eat at dusk");
        assert_eq!(
            of(None, "n/a", "say when").unwrap().text,
            "In `zoo`: feed it\nLearnt: say when\nCause: c"
        );
    }
}
