//! Parses JSON from strangers so that no two readers see two documents: a name is never repeated in an
//! object, at any depth.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// Why a string is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One value with nothing after it. The JSON parser itself limits the nesting (128).
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Malformed> {
    let odd = |error: serde_json::Error| Malformed(error.to_string());
    serde_json::from_str::<Once>(text).map_err(odd)?;
    serde_json::from_str(text).map_err(odd)
}

/// Any value in which no name is repeated.
struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Once {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            members.next_value::<Self>()?;
            if let Some(twice) = names.replace(name) {
                return Err(A::Error::custom(format!("`{twice}` appears twice in one object")));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_name_stands_once() {
        for right in [r#"{"a":{"b":1},"b":[{"b":null},{"b":1.5}]}"#, "[]", "\"a\"", "-1"] {
            assert!(parse::<Value>(right).is_ok(), "{right}");
        }
        for wrong in [
            r#"{"a":1,"a":1}"#,
            r#"[{"x":{"a":1,"\u0061":2}}]"#,
            "{} {}",
            "{",
            "",
            "NaN",
            &"[".repeat(1 << 16),
        ] {
            assert!(parse::<Value>(wrong).is_err(), "{wrong:.40}");
        }
        let said = parse::<Value>(r#"{"level":1,"level":2}"#).unwrap_err().to_string();
        assert!(said.starts_with("`level` appears twice"), "{said}");
    }
}
