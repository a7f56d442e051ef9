//! The findings in formats that other tools read: SARIF, `JUnit`, and the verification summary of SLSA.

use super::told::{Told, moment, short};
use aops_attest::code::Code;
use aops_attest::pool::Attested;
use aops_attest::statement::STATEMENT_TYPE;
use aops_attest::verify::Finding;
use aops_core::text::template::one_line;
use serde_json::{Value, json};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A path as part of a URL.
fn address(path: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.iter()
        .map(|byte| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A rule for each code, and a result for each commit that does not pass, at its first file.
pub(super) fn sarif(told: &Told) -> Value {
    let rules = Code::ALL.map(|code| json!({"id": code.name(), "shortDescription": {"text": code.about()}}));
    let result = |finding: &Finding| {
        let trouble = finding.trouble.as_ref()?;
        let text = format!("{} {}: {}", short(&finding.commit), trouble.why, one_line(&finding.subject, 100));
        // A commit without changes has no location.
        let place = |path| json!({"physicalLocation": {"artifactLocation": {"uri": address(path)}}});
        let places: Vec<Value> = finding.path.as_deref().map(place).into_iter().collect();
        Some(json!({
            "ruleId": trouble.code.name(),
            "level": "error",
            "message": {"text": text},
            "locations": places,
            "partialFingerprints": {"commit/v1": finding.commit},
        }))
    };
    let results: Vec<Value> = told.findings.iter().filter_map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "aops-hook", "version": VERSION, "rules": rules}},
        "results": results}],
    })
}

/// Text escaped for XML. Characters that XML cannot contain are left out.
fn escaped(text: &str) -> String {
    let one = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => String::new(),
        c => c.to_string(),
    };
    text.chars().map(one).collect()
}

/// A test case for each commit.
pub(super) fn junit(told: &Told) -> String {
    let case = |finding: &Finding| {
        let name = format!("{} {}", short(&finding.commit), one_line(&finding.subject, 100));
        let inside = match &finding.trouble {
            Some(trouble) => {
                let code = trouble.code;
                let why = escaped(&trouble.why);
                format!("<failure type=\"{code}\" message=\"{why}\"/>")
            }
            None => format!("<system-out>{}</system-out>", escaped(&told.praise(finding))),
        };
        format!("  <testcase classname=\"verify-commit\" name=\"{}\">{inside}</testcase>\n", escaped(&name))
    };
    let cases: String = told.findings.iter().map(case).collect();
    let all = told.findings.len();
    let failed = told.findings.iter().filter(|finding| !finding.passes()).count();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <testsuite name=\"verify-commit\" tests=\"{all}\" failures=\"{failed}\">\n{cases}</testsuite>"
    )
}

/// The repository: its address or, if no statement has one, its first commit, or the last commit that was
/// checked.
fn resource(told: &Told) -> String {
    let all = || told.findings.iter().flat_map(|finding| told.statements(finding));
    let target = |one: &Attested| {
        one.statement.predicate.build_definition.external_parameters.target.repository.clone()
    };
    let root = |one: &Attested| one.facts().map(|facts| format!("git:{}", facts.repository.root_commit));
    let last = || told.findings.last().map(|finding| format!("git:{}", finding.commit));
    all()
        .filter_map(target)
        .last()
        .or_else(|| all().filter_map(root).last())
        .or_else(last)
        .unwrap_or_default()
}

/// A SLSA verification summary over all commits: it outlives a squash, when the commits themselves are gone.
/// Invariant: a level is stated only if each of its subjects has it.
pub(super) fn vsa(told: &Told, now_ms: i64) -> Value {
    let subject: Vec<Value> = told
        .findings
        .iter()
        .map(|finding| json!({"name": "commit", "digest": {"gitCommit": finding.commit}}))
        .collect();
    let inputs = told.findings.iter().flat_map(|finding| told.statements(finding));
    let inputs: Vec<Value> = inputs.map(|one| json!({"digest": {"sha256": one.digest}})).collect();
    let passes = told.passes();
    let levels: Vec<String> =
        told.reached_by_all().filter(|_| passes).map(|level| format!("AOPS_{level}")).into_iter().collect();
    json!({
        "_type": STATEMENT_TYPE,
        "subject": subject,
        "predicateType": "https://slsa.dev/verification_summary/v1",
        "predicate": {
            "verifier": {"id": "https://forge.example/aops-hook/verify-commit/v1"},
            "timeVerified": moment(now_ms / 1000),
            "resourceUri": resource(told),
            "policy": {"uri": format!("https://forge.example/aops-hook/require/v1#{}",
            told.wanted.names().join(","))},
            "inputAttestations": inputs,
            "verificationResult": if passes { "PASSED" } else { "FAILED" },
            "verifiedLevels": levels,
        },
    })
}
