//! `usage`: tokens and cost of many sessions in one table.

use crate::insights::{fixture, lay_transcript};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;

#[test]
fn tokens_and_cost_are_told_by_day_project_model_and_client() {
    let sandbox = Sandbox::new();
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    lay_transcript(&sandbox, &session.id);
    let _ = session.stop("done");
    let insights = sandbox.person(&["insights", "--json"]).json();
    let models = insights["tokens"]["by_model"].as_object().unwrap();
    let input: u64 = models.values().map(|sum| sum["input"].as_u64().unwrap()).sum();
    let of = |by: &str| sandbox.person(&["usage", "--by", by, "--json"]).json();
    let names = |said: &Value| -> Vec<String> {
        said["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&of("day")), [insights["date"].as_str().unwrap()]);
    assert_eq!(names(&of("project")), [insights["project"].as_str().unwrap()]);
    assert_eq!(names(&of("client")), ["claude"]);
    let by_model: std::collections::BTreeSet<String> = names(&of("model")).into_iter().collect();
    assert_eq!(by_model, models.keys().cloned().collect());
    for by in ["day", "project", "model", "client"] {
        let total = &of(by)["total"];
        assert_eq!((&total["input"], &total["sessions"]), (&json!(input), &json!(1)), "{by}: {total}");
    }
    let table = sandbox.person(&["usage"]).out;
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.lines().last().unwrap().starts_with("total\t1\t"), "{table}");
    let none = sandbox.person(&["usage", "--since", "2100-01-01", "--json"]).json();
    assert_eq!((&none["rows"], &none["total"]["sessions"]), (&json!([]), &json!(0)));
    sandbox.person(&["usage", "--by", "moon"]).failed(2, &["day, project, model, client"]);
}

#[test]
fn a_model_without_a_price_costs_an_unknown_sum() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let path = lay_transcript(&sandbox, &session.id);
    let text = fixture("main.jsonl");
    fs::write(&path, text.replace("claude-opus-5-5", "someones-model")).unwrap();
    fs::remove_dir_all(path.with_extension("")).unwrap();
    let said = sandbox.person(&["usage", "--by", "model", "--json"]).json();
    assert_eq!(
        (&said["rows"][0]["cost_usd"], &said["rows"][0]["unpriced"]),
        (&Value::Null, &json!(true)),
        "{said}"
    );
    let table = sandbox.person(&["usage", "--by", "model"]).out;
    assert!(
        table.starts_with("someones-model\t1\t") && table.lines().all(|line| line.ends_with("\tunknown")),
        "{table}"
    );
}
