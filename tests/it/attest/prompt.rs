//! How a statement names the prompt: by its entry, and by a digest that nobody can guess.

use super::{bash, head, statements, world};
use aops_core::text::sha256::sha256;

#[test]
fn a_prompt_is_named_by_a_salted_digest() {
    let sandbox = world();
    let text = "add a greeting";
    let mut digests = Vec::new();
    for n in 0..2 {
        let session = sandbox.begun(text);
        bash(&sandbox, &session, &format!("echo {n} >> a.txt && git add -A && git commit -q -m {n}"));
        let found = statements(&sandbox, &head(&sandbox), 1);
        let task = found[0].predicate.build_definition.external_parameters.task.clone().unwrap();
        let (of, entry) = task.uri.split_once('#').unwrap();
        assert_eq!(of, format!("urn:uuid:{}", session.id));
        let entry = &session.entries()[entry.parse::<usize>().unwrap() - 1];
        let salt = entry["with"]["observed"]["prompt"]["salt"].as_str().unwrap();
        assert_eq!(salt.len(), 32, "{entry}");
        let named = sha256(&[format!("{{\"salt\":\"{salt}\",\"text\":\"{text}\"}}").as_bytes()]);
        assert_eq!(task.content.digest.sha256.as_deref(), Some(named.as_str()));
        assert!(!found[0].to_json().contains(salt));
        digests.push(named);
    }
    assert_ne!(digests[0], digests[1], "the same words");
}
