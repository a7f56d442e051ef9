//! A schema from samples of a type: keys that all have are required, keys that none has are not allowed.

use aops_core::session::fact::FORMAT;
use serde_json::{Map, Value, json};

pub(crate) const DIGEST: &str = "^[0-9a-f]{64}$";
pub(crate) const MOMENT: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$";
pub(crate) const DAY: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";

/// Objects whose keys the host chooses.
const MAPS: [&str; 9] =
    ["files", "folders", "held", "invocations", "linked", "marks", "metadata", "reflection", "subagents"];
/// Content of the host; the configuration has a schema of its own.
const ANYTHING: [&str; 4] = ["about", "input", "insights", "policy"];
const PAIRS: [&str; 3] = ["before", "snapshot", "todos"];
pub(crate) const DIGESTS: [&str; 8] =
    ["_digest", "digest", "head", "policy_hash", "input_sha256", "sha256", "ledger_head", "working_digest"];
pub(crate) const MOMENTS: [&str; 5] = ["ts", "started_at", "ended_at", "last_invoked", "created_at"];
const CALL_STATES: [&str; 6] = ["PENDING", "AUTHORIZED", "DENIED", "EXECUTING", "COMPLETED", "FAILED"];
const EFFECTS: [&str; 6] = ["read", "write", "close", "spawn", "tracker", "control"];
const PHASES: [&str; 10] =
    ["idle", "hydrate", "review", "execute", "verify", "intervene", "reflect", "close", "done", "halted"];

pub(crate) struct Shape;

impl Shape {
    /// What all of these have in common.
    pub(crate) fn of(samples: &[Value]) -> Value {
        shape("", &samples.iter().collect::<Vec<_>>())
    }
}

pub(crate) fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("not an object: {value}"))
}

fn shape(name: &str, samples: &[&Value]) -> Value {
    if ANYTHING.contains(&name) {
        return json!({"description": "as it was given"});
    }
    let mut types: Vec<&str> = samples.iter().map(|sample| kind(sample)).collect();
    types.sort_unstable();
    types.dedup();
    let mut schema = json!({"type": if types.len() == 1 { json!(types[0]) } else { json!(types) }});
    for one in &types {
        let those: Vec<&Value> = samples.iter().copied().filter(|sample| kind(sample) == *one).collect();
        match *one {
            "object" if MAPS.contains(&name) => schema["additionalProperties"] = values(&those),
            "object" => {
                members(&mut schema, &those);
                if name == "result" {
                    // Of a call's result `head` is its first lines.
                    schema["properties"]["head"] = json!({"type": "string"});
                }
            }
            "array" => items(name, &mut schema, &those),
            "string" => text(name, &mut schema, types.contains(&"null")),
            "integer" if name == "schema" => schema["const"] = json!(1),
            "integer" if name == "format" => schema["const"] = json!(FORMAT),
            "integer" => schema["minimum"] = json!(0),
            _ => {}
        }
    }
    schema
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn values(maps: &[&Value]) -> Value {
    let held: Vec<&Value> = maps.iter().flat_map(|map| object(map).values()).collect();
    assert!(!held.is_empty(), "a sample of a map holds something");
    shape("", &held)
}

fn members(schema: &mut Value, objects: &[&Value]) {
    let mut names: Vec<&String> = objects.iter().flat_map(|o| object(o).keys()).collect();
    names.sort_unstable();
    names.dedup();
    let in_all = |name: &&String| objects.iter().all(|o| object(o).contains_key(*name));
    schema["required"] = json!(names.iter().copied().filter(in_all).collect::<Vec<_>>());
    schema["additionalProperties"] = json!(false);
    schema["properties"] = json!({});
    for name in names {
        let held: Vec<&Value> = objects.iter().filter_map(|o| object(o).get(name)).collect();
        schema["properties"][name] = shape(name, &held);
    }
}

fn items(name: &str, schema: &mut Value, lists: &[&Value]) {
    let held: Vec<&Value> = lists.iter().flat_map(|list| list.as_array().into_iter().flatten()).collect();
    assert!(!held.is_empty(), "a sample of the list `{name}` holds something");
    schema["items"] = shape("", &held);
    if PAIRS.contains(&name) {
        (schema["minItems"], schema["maxItems"]) = (json!(2), json!(2));
    }
}

fn text(name: &str, schema: &mut Value, or_null: bool) {
    let mut one_of = |names: &[&str]| {
        let mut all: Vec<Value> = names.iter().map(|name| json!(name)).collect();
        all.extend(or_null.then_some(Value::Null));
        schema["enum"] = all.into();
    };
    match name {
        "phase" => return one_of(&PHASES),
        "sandbox" => return one_of(&["shut", "open"]),
        "from" | "to" | "state" => return one_of(&CALL_STATES),
        "effect" => return one_of(&EFFECTS),
        "type" => return one_of(&["PRE", "POST"]),
        "status" => return one_of(&["pending", "running", "complete", "failed"]),
        _ => {}
    }
    let pattern = match name {
        name if DIGESTS.contains(&name) => DIGEST,
        name if MOMENTS.contains(&name) => MOMENT,
        "date" => DAY,
        _ => return,
    };
    schema["pattern"] = json!(pattern);
}

/// The lists above are those of the program.
#[test]
fn names_are_those_of_the_program() {
    use aops_core::model::call::CallState;
    assert_eq!(CallState::ALL.map(CallState::name), CALL_STATES);
    for effect in EFFECTS {
        serde_json::from_value::<aops_core::model::call::Effect>(json!(effect)).unwrap();
    }
    for phase in PHASES {
        serde_json::from_value::<aops_core::model::phase::Phase>(json!(phase)).unwrap();
    }
}
