use super::*;

/// The example of the documentation.
pub(crate) const EXAMPLE: &str = include_str!("example.json");

pub(crate) fn example() -> Statement {
    Statement::parse(EXAMPLE).unwrap()
}

/// Nothing is lost or renamed by parsing and writing it.
#[test]
fn the_example_is_read_and_written_whole() {
    let document: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
    let written: serde_json::Value = serde_json::from_str(&example().to_json()).unwrap();
    assert_eq!(written, document);
    let session = example().session().unwrap().0.clone();
    let facts = example();
    assert_eq!(session.name, SESSION);
    assert_eq!(facts.commit(), "2b05d7d6f2ac67e3a54b1d90ac90d0681ee994f0");
    assert!(facts.change().starts_with("cd43d295"));
    assert_eq!(Builder::of(BuilderKind::Session(Mode::Strict), "0.2.0"), facts.predicate.run_details.builder);
    assert_eq!(Builder::of(BuilderKind::Run, "1").id, format!("{BUILDER}run/v1"));
}

#[test]
fn more_than_the_most_files_are_null() {
    let mut many = example();
    many.predicate.run_details.byproducts[0].annotations.as_mut().unwrap().files = None;
    let text = many.to_json();
    assert!(text.contains("\"files\":null"), "{text}");
    assert_eq!(Statement::parse(&text).unwrap(), many);
    assert!(Statement::parse(&text.replace("\"files\":null,", "")).is_err(), "it is told, not left out");
}

#[test]
fn what_is_no_statement_of_ours() {
    for (right, wrong) in [
        ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"),
        ("https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"),
        ("agent-commit/v0.3", "agent-commit/v0.4"),
        ("2b05d7d6f2ac67e3a54b1d90ac90d0681ee994f0", "2b05d7d"),
        ("2b05d7d6f2ac67e3a54b1d90ac90d0681ee994f0", "2B05D7D6F2AC67E3A54B1D90AC90D0681EE994F0"),
        ("\"name\": \"aops-session\"", "\"name\": \"session\""),
        ("\"version\": 1,", "\"version\": 2,"),
        ("\"mode\": \"strict\"", "\"mode\": \"laxer\""),
        ("\"mode\": \"strict\"", "\"mode\": \"strict\", \"mode\": \"strict\""),
        ("\"by\": \"critic\"", "\"by\": \"someone\""),
        ("\"seen\": \"jail\"", "\"seen\": \"nobody\""),
        ("\"least\": \"namespaces\"", "\"least\": \"hope\""),
        ("\"verdict\": \"VERIFIED\"", "\"verdict\": \"verified\""),
        ("[\"100644\", \"717f", "[\"0100644\", \"717f"),
        ("\"outside\": [],", ""),
        ("\"tree\": \"be96acdf49f0d3e755d7b662ff23cf8c733f1c78\",\n", "\"tree\": \"be96\",\n"),
        ("\"from\": 4", "\"from\": 40"),
    ] {
        let changed = EXAMPLE.replacen(right, wrong, 1);
        assert_ne!(changed, EXAMPLE, "{right}");
        assert!(Statement::parse(&changed).is_err(), "{wrong}");
    }
    // Unknown fields are ignored, as in-toto requires.
    let more = EXAMPLE.replacen("\"attended\"", "\"later\": {\"a\": 1}, \"attended\"", 1);
    assert_eq!(Statement::parse(&more), Ok(example()));
}
