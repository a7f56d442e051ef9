use super::*;
use crate::sha256::sha256;
use proptest::prelude::*;

fn check(document: &str, want: &str) {
    assert_eq!(read(document).map(|j| j.canonical(unchanged)), Ok(want.to_owned()), "{document}");
}

#[test]
fn canonical_form() {
    check(" { \"b\" : [ 1 , 2.50, true ,null ] , \"a\" : { } } ", r#"{"a":{},"b":[1,2.5,true,null]}"#);
    check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
    check(r#""\u20ac\u000f\u000aA'\u0042\u0022\u005c\\\"\/""#, "\"€\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    check(r#"{"\ufb33":1,"\ud83d\ude02":2,"1":3,"\r":4}"#, "{\"\\r\":4,\"1\":3,\"😂\":2,\"\u{fb33}\":1}");
    check(r#"["\ud800","x\udc00y","\ud800\u0041"]"#, "[\"\u{fffd}\",\"x\u{fffd}y\",\"\u{fffd}A\"]");
    check(
        "[1e21,1E2,-0,-0.0,0.000001,1e-7,9007199254740993,-9007199254740993,1e999]",
        r#"[1e+21,100,0,0,0.000001,1e-7,"9007199254740993","-9007199254740993","1e999"]"#,
    );
}

#[test]
fn what_is_not_json_is_said() {
    for bad in ["", "{", "{\"a\":}", "nul", "[1,]", "{} {}", "\"\\x\"", "01", "\u{1}"] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn deep_nesting_is_read() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let json = read(&deep).unwrap();
    assert!(json.canonical(unchanged).len() > 100_000);
    let clipped = json.clipped(unchanged, 2048, 12_000);
    assert!(clipped.len() < 12_000 && clipped.contains("\"sha256\""), "{}", clipped.len());
}

#[test]
fn long_texts_are_clipped_with_length_and_digest() {
    let big = "z".repeat(1_000_000);
    let document = format!("{{\"content\":\"{big}\",\"n\":1}}");
    let clipped = read(&document).unwrap().clipped(unchanged, 2048, 12_000);
    assert!(clipped.len() < 1_000, "{}", clipped.len());
    assert!(clipped.contains(&sha256(&[big.as_bytes()])) && clipped.contains("\"length\":1000000"));
    let many = format!("[{}]", vec!["\"abcdefgh\""; 10_000].join(","));
    assert!(read(&many).unwrap().clipped(unchanged, 2048, 12_000).len() < 12_000);
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (-(1_i64 << 53)..(1_i64 << 53)).prop_map(Into::into),
        // between 2^53 and 1e21 a double is spelt as an integer too large to be read as one: written once,
        // never re-read
        any::<f64>()
            .prop_filter("plain", |f| f.is_finite() && !(9e15..1e21).contains(&f.abs()))
            .prop_map(Into::into),
        "\\PC*".prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_crate_agrees(value in any_json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let want = serde_json_canonicalizer::to_string(&value).unwrap();
        prop_assert_eq!(read(&text).unwrap().canonical(unchanged), want);
    }

    #[test]
    fn clipped_is_canonical_json(value in any_json(), longest in 0_usize..200) {
        let text = value.to_string();
        let clipped = read(&text).unwrap().clipped(unchanged, longest, 4_000);
        prop_assert_eq!(read(&clipped).unwrap().canonical(unchanged), clipped);
    }
}

fn shout<'a>(name: &str, text: &'a str) -> Cow<'a, str> {
    if name == "SECRET" { "***".into() } else { text.to_uppercase().into() }
}

#[test]
fn every_string_is_cleaned() {
    let document = r#"{"b":["x",1],"a":{"secret":"y"},"z":"\u00e4"}"#;
    let want = r#"{"A":{"SECRET":"***"},"B":["X",1],"Z":"Ä"}"#;
    assert_eq!(read(document).unwrap().canonical(shout), want);
}
