//! Whose statements count: the list that a repository keeps in its base (`.aops/signers`), one JSON object
//! per line.
//!
//! `{"key": "aops-log.local/…+…+…", "owner": "ada", "may": "A3", "from": "2026-01-01"}`. A person's key is an
//! ssh key (`ssh-ed25519 …`). Lines that begin with `#` are comments. Invariant: if one line of a list cannot
//! be parsed, the whole list is rejected.

use crate::level::Level;
use crate::strict::{self, Malformed};
use aops_proof::key::{PublicKey, Use};
use chrono::{DateTime, NaiveDate};
use serde::Deserialize;

const MOST_SIGNERS: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerKey {
    /// A log's key: it signs statements and checkpoints.
    Log(PublicKey),
    /// A person's key in the format of ssh: kind and base64.
    Person(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    pub key: SignerKey,
    pub owner: String,
    /// The highest level for which it may vouch.
    pub may: Level,
    /// Seconds since 1970; valid from the first until before the second.
    pub from: Option<i64>,
    pub until: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    key: String,
    owner: String,
    #[serde(default)]
    may: Option<String>,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    until: Option<String>,
}

impl Signer {
    /// A key given on the command line, without restrictions.
    pub fn of(key: PublicKey) -> Self {
        Self {
            owner: key.name.clone(),
            key: SignerKey::Log(key),
            may: Level::Approved,
            from: None,
            until: None,
        }
    }

    pub fn log_key(&self) -> Option<&PublicKey> {
        if let SignerKey::Log(key) = &self.key { Some(key) } else { None }
    }

    /// Whether it counts at this time.
    pub fn is_valid_at(&self, time: i64) -> bool {
        self.from.is_none_or(|from| from <= time) && self.until.is_none_or(|until| time < until)
    }

    fn read(row: Row) -> Result<Self, Malformed> {
        let odd = |what: String| Malformed(what);
        let is_ssh =
            |key: &str| key.starts_with("ssh-") || key.starts_with("ecdsa-") || key.starts_with("sk-");
        let key = if is_ssh(&row.key) {
            let words: Vec<&str> = row.key.split(' ').collect();
            let [kind, blob, ..] = words[..] else {
                return Err(odd(format!("`{}` is not an ssh key", row.key)));
            };
            let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "+/=-@.".contains(c));
            if !plain(kind) || !plain(blob) {
                return Err(odd(format!("`{}` is not an ssh key", row.key)));
            }
            SignerKey::Person(format!("{kind} {blob}"))
        } else {
            SignerKey::Log(PublicKey::parse(&row.key).map_err(Malformed)?)
        };
        if matches!(&key, SignerKey::Log(key) if key.used == Use::Cosignature) {
            return Err(odd("the key of a witness is in no list: name it with `--witness`".to_owned()));
        }
        let level = |word: String| Level::of(&word).ok_or_else(|| odd(format!("`{word}` is not a level")));
        let time =
            |text: String| seconds(&text).ok_or_else(|| odd(format!("`{text}` is neither a day nor a time")));
        Ok(Self {
            key,
            owner: row.owner,
            may: row.may.map(level).transpose()?.unwrap_or(Level::Approved),
            from: row.from.map(time).transpose()?,
            until: row.until.map(time).transpose()?,
        })
    }
}

/// `2026-01-13` or `2026-01-13T10:00:00Z`, in seconds since 1970.
pub fn seconds(text: &str) -> Option<i64> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(0, 0, 0));
    day.map(|day| day.and_utc().timestamp())
        .or_else(|| Some(DateTime::parse_from_rfc3339(text).ok()?.timestamp()))
}

/// Reads a list.
pub fn parse(list: &str) -> Result<Vec<Signer>, Malformed> {
    let rows =
        list.lines().map(str::trim).enumerate().filter(|(_, row)| !row.is_empty() && !row.starts_with('#'));
    let signer = |(at, row): (usize, &str)| {
        let read = strict::parse(row).and_then(Signer::read);
        read.map_err(|Malformed(why)| Malformed(format!("line {}: {why}", at + 1)))
    };
    let signers: Vec<Signer> = rows.take(MOST_SIGNERS + 1).map(signer).collect::<Result<_, _>>()?;
    if signers.len() > MOST_SIGNERS {
        return Err(Malformed(format!("a list has at most {MOST_SIGNERS} keys")));
    }
    Ok(signers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_proof::key::SecretKey;

    #[test]
    fn a_list_is_read_whole_or_not_at_all() {
        let key = SecretKey::new("log.example/ada", Use::Note, &[1; 32]).unwrap().public().clone();
        let ssh = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHq5";
        let list = format!(
            "# who signs\n\n{{\"key\":\"{key}\",\"owner\":\"ada\",\"may\":\"A3\",\"from\":\"2026-01-01\",\
             \"until\":\"2026-02-01T00:00:00Z\"}}\n{{\"key\":\"{ssh} ada@laptop\",\"owner\":\"ada\"}}\n"
        );
        let signers = parse(&list).unwrap();
        assert_eq!((signers.len(), signers[0].may, signers[0].owner.as_str()), (2, Level::Witnessed, "ada"));
        assert_eq!(signers[0].log_key(), Some(&key));
        let times = [1_767_225_599, 1_767_225_600, 1_769_903_999, 1_769_904_000];
        assert_eq!(times.map(|time| signers[0].is_valid_at(time)), [false, true, true, false]);
        assert_eq!(signers[1].key, SignerKey::Person(ssh.to_owned()));
        assert!(signers[1].is_valid_at(0) && signers[1].may == Level::Approved);
        let witness = SecretKey::new("w", Use::Cosignature, &[1; 32]).unwrap().public().to_string();
        for wrong in [
            "words".to_owned(),
            "{\"key\":\"x\",\"owner\":\"ada\"}".to_owned(),
            format!("{{\"key\":\"{key}\"}}"),
            format!("{{\"key\":\"{key}\",\"owner\":\"a\",\"owner\":\"b\"}}"),
            format!("{{\"key\":\"{key}\",\"owner\":\"a\",\"may\":\"A5\"}}"),
            format!("{{\"key\":\"{key}\",\"owner\":\"a\",\"until\":\"soon\"}}"),
            format!("{{\"key\":\"{key}\",\"owner\":\"a\",\"mya\":\"A1\"}}"),
            format!("{{\"key\":\"{witness}\",\"owner\":\"a\"}}"),
            "{\"key\":\"ssh-ed25519\",\"owner\":\"a\"}".to_owned(),
            "{\"key\":\"ssh-ed25519 a\\nb\",\"owner\":\"a\"}".to_owned(),
            "#\n".repeat(3) + &format!("{{\"key\":\"{ssh}\",\"owner\":\"a\"}}\n").repeat(MOST_SIGNERS + 1),
        ] {
            assert!(parse(&format!("{list}{wrong}\n")).is_err(), "{wrong:.80}");
        }
    }
}
