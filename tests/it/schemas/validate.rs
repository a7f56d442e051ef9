//! The part of JSON Schema that our schemas use; any other word in a schema is an error, so nothing goes
//! unchecked.

use super::infer::{DAY, DIGEST, MOMENT, object};
use serde_json::Value;

/// Why this value is not one of the schema's.
pub(crate) fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    check(schema, schema, value, "$")
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (word, given) in object(schema) {
        let wrong = || Err(format!("{at}: `{word}` wants {given}"));
        let holds = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "properties" | "additionalProperties" => true,
            "type" => given
                .as_array()
                .map_or_else(|| is(given, value), |many| many.iter().any(|one| is(one, value))),
            "const" => given == value,
            "enum" => given.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= given.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= given.as_f64().unwrap()),
            "pattern" => value.as_str().is_none_or(|text| matches(given.as_str().unwrap(), text)),
            "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= given.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= given.as_u64().unwrap()),
            "required" => {
                let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                !value.is_object() || given.as_array().unwrap().iter().all(has)
            }
            "$ref" => {
                let name =
                    given.as_str().unwrap().strip_prefix("#/$defs/").expect("a reference in the same file");
                check(root, &root["$defs"][name], value, at)?;
                true
            }
            "oneOf" => {
                let fits = given.as_array().unwrap().iter().filter(|one| check(root, one, value, at).is_ok());
                fits.count() == 1
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, given, item, &format!("{at}[{n}]"))?;
                }
                true
            }
            _ => panic!("`{word}` is not a word this check knows"),
        };
        if !holds {
            return wrong();
        }
    }
    members(root, schema, value, at)
}

fn members(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (name, held) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match (schema["properties"].get(name), schema.get("additionalProperties")) {
            (None, Some(Value::Bool(false))) => return Err(format!("{at}: no such key")),
            (Some(wanted), _) | (None, Some(wanted @ Value::Object(_))) => check(root, wanted, held, &at)?,
            _ => {}
        }
    }
    Ok(())
}

fn is(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("`{other}` is not a type this check knows"),
    }
}

/// The three patterns there are, without a regular-expression library.
fn matches(pattern: &str, text: &str) -> bool {
    let like = |form: &str| {
        let fits = |(f, c): (char, char)| if f == '0' { c.is_ascii_digit() } else { f == c };
        form.chars().count() == text.chars().count() && form.chars().zip(text.chars()).all(fits)
    };
    match pattern {
        DIGEST => text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
        MOMENT => like("0000-00-00T00:00:00.000Z"),
        DAY => like("0000-00-00"),
        other => panic!("`{other}` is not a pattern this check knows"),
    }
}
