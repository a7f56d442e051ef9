//! JSON in its canonical form, with every secret redacted.
//!
//! The form itself is defined in `aops_ledger::json`. Invariant: every string goes through [`redact_under`]
//! before it is written.

pub use aops_ledger::json::{Json, cut, member, quoted, read};

use crate::text::redact::redact_under;
use std::borrow::Cow;

/// The RFC 8785 form.
pub fn canonical(json: &Json) -> String {
    without_kubernetes(json).as_ref().unwrap_or(json).canonical(redact_under)
}

/// The same in at most `bound` bytes, with every long text replaced by its beginning, length and digest.
pub fn clipped(json: &Json, longest_text: usize, bound: usize) -> String {
    without_kubernetes(json).as_ref().unwrap_or(json).clipped(redact_under, longest_text, bound)
}

/// The same if the canonical form is known: there is nothing to clip in a short one.
pub fn clipped_form(json: &Json, whole: &str, longest_text: usize, bound: usize) -> String {
    // What is nested too deeply is clipped at a quarter.
    if whole.len() <= bound.min(longest_text / 4) {
        return whole.to_owned();
    }
    clipped(json, longest_text, bound)
}

/// A string of a clipped object; if it was clipped, its beginning.
pub fn text_in(object: &str, name: &str) -> Option<String> {
    match read(object).ok()?.get(name)? {
        clipped @ Json::Object(_) => Some(clipped.text_of("clipped")? + "…"),
        text => Some(text.text()?.into_owned()),
    }
}

/// The same without the values of a Kubernetes secret, if there is one: the names of its members do not show
/// that they are secret.
fn without_kubernetes<'a>(json: &Json<'a>) -> Option<Json<'a>> {
    match json {
        Json::List(items) => {
            let changed: Vec<_> = items.iter().map(without_kubernetes).collect();
            let joined =
                || items.iter().zip(&changed).map(|(old, new)| new.as_ref().unwrap_or(old).clone()).collect();
            changed.iter().any(Option::is_some).then(|| Json::List(joined()))
        }
        Json::Object(members) => {
            let is_secret = json.get("kind").and_then(Json::text).is_some_and(|kind| kind == "Secret");
            let held = |name: &str| is_secret && matches!(name, "data" | "stringData");
            let change =
                |name: &str, value| if held(name) { concealed(value) } else { without_kubernetes(value) };
            let changed: Vec<_> = members.iter().map(|(name, value)| change(name, value)).collect();
            let join = |((name, old), new): (&(Cow<'a, str>, Json<'a>), &Option<Json<'a>>)| {
                (name.clone(), new.as_ref().unwrap_or(old).clone())
            };
            let joined = || members.iter().zip(&changed).map(join).collect();
            changed.iter().any(Option::is_some).then(|| Json::Object(joined()))
        }
        _ => None,
    }
}

fn concealed<'a>(data: &Json<'a>) -> Option<Json<'a>> {
    let Json::Object(members) = data else { return None };
    let hide = |(name, _): &(Cow<'a, str>, _)| (name.clone(), Json::Text("[redacted:kubernetes-secret]"));
    Some(Json::Object(members.iter().map(hide).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted_wherever_they_are() {
        let key = format!("sk-ant-{}", "A1b2C3d4E5f6G7h8I9j0".repeat(2));
        let document = format!(r#"{{"a":["{key}"],"{key}":1,"password":"hunter2hunter2"}}"#);
        for text in [canonical(&read(&document).unwrap()), clipped(&read(&document).unwrap(), 2048, 12_000)] {
            assert!(!text.contains(&key) && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn the_members_of_a_kubernetes_secret_are_redacted_by_their_kind() {
        let document = r#"{"objects":[{"data":{"b":"c2Vj","a":"cmV0"},"kind":"Secret"},{"data":{"theme":"dark"},"kind":"ConfigMap"}]}"#;
        let wanted = r#"{"objects":[{"data":{"a":"[redacted:kubernetes-secret]","b":"[redacted:kubernetes-secret]"},"kind":"Secret"},{"data":{"theme":"dark"},"kind":"ConfigMap"}]}"#;
        assert_eq!(canonical(&read(document).unwrap()), wanted);
        assert_eq!(clipped(&read(document).unwrap(), 2048, 12_000), wanted);
    }

    /// A short form is taken as it is; it must be what clipping would have made, also of what nests deeply.
    #[test]
    fn a_known_form_is_clipped_like_its_value() {
        let deep = |n: usize| format!("{}\"{}\"{}", "[".repeat(70), "x".repeat(n), "]".repeat(70));
        let text = |n: usize| format!(r#"{{"text":"{}"}}"#, "x".repeat(n));
        for n in (0..600).step_by(7).chain([2040, 2048, 2049, 9000, 13_000]) {
            for document in [deep(n), text(n)] {
                let json = read(&document).unwrap();
                let form = clipped_form(&json, &canonical(&json), 2048, 12_000);
                assert_eq!(form, clipped(&json, 2048, 12_000), "{n}");
            }
        }
    }
}
