//! Signed answers: the gateway signs who answered what, and a machine checks it before it acts.
//!
//! Invariant: an answer without a right signature by a key that was given to us counts for nothing, whatever
//! the engine says.

use aops_proof::key::{PublicKey, Use};
use aops_proof::text::from_base64;
use serde::Serialize;
use serde_json::{Value, json};

/// What is signed: every field of an answer, in a fixed order, so that it has one text.
const FIELDS: [&str; 7] = ["about", "approve", "who", "issuer", "at", "from", "note"];

/// The text that the signature of an answer covers.
pub fn text_of(run: &str, answer: &impl Serialize) -> String {
    let answer = json!(answer);
    let mut fields = vec![json!(run)];
    fields.extend(FIELDS.iter().map(|name| answer[*name].clone()));
    format!("aops answer 1\n{}\n", Value::Array(fields))
}

/// The keys of the gateways whose answers count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted(Vec<PublicKey>);

impl Trusted {
    /// Each key as the gateway writes it into `gateway.key.pub`.
    pub fn read(keys: &[String]) -> Result<Self, String> {
        let keys = keys.iter().map(|key| PublicKey::parse(key));
        let keys: Vec<PublicKey> = keys.collect::<Result<_, _>>()?;
        match keys.iter().find(|key| key.used != Use::Note) {
            Some(odd) => Err(format!("`{odd}` is not the key of a gateway")),
            None => Ok(Self(keys)),
        }
    }

    pub fn only(key: PublicKey) -> Self {
        Self(vec![key])
    }

    /// Why this answer does not count for this run.
    pub fn check(&self, run: &str, answer: &impl Serialize) -> Result<(), String> {
        let said = json!(answer);
        let bytes = from_base64(said["signature"].as_str().unwrap_or_default()).unwrap_or_default();
        let text = text_of(run, &said);
        if self.0.iter().any(|key| key.accept(&text, &bytes).is_some()) {
            return Ok(());
        }
        Err(if self.0.is_empty() {
            "no answer is acted on here: this worker knows no gateway\nhint: set `fleet.gateway_keys`, or \
             start it with `--gateway-key`"
                .to_owned()
        } else {
            format!(
                "the answer of `{}` is not signed by a gateway that is trusted here, so nothing was done",
                said["who"].as_str().unwrap_or_default()
            )
        })
    }
}
