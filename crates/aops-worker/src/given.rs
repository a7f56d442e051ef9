//! The options of a verb: `--name value`, each known by its name.
//!
//! Pure.

use std::net::SocketAddr;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given(Vec<(String, String)>);

impl Given {
    pub fn read(words: &[String], known: &[&str]) -> Result<Self, String> {
        let mut given = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let name = word.strip_prefix("--").filter(|name| known.contains(name));
            let name = name
                .ok_or_else(|| format!("`{word}` is not known here\nhint: `aops-fleet` lists the options"))?;
            let value = rest.next().ok_or_else(|| format!("`--{name}` wants a value"))?;
            given.push((name.to_owned(), value.clone()));
        }
        Ok(Self(given))
    }

    /// The last value given for this option.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn must(&self, name: &str) -> Result<&str, String> {
        self.last(name).ok_or_else(|| format!("`--{name}` is missing\nhint: `aops-fleet` lists the options"))
    }

    /// The value as whole seconds.
    pub fn seconds(&self, name: &str, usual: u64) -> Result<Duration, String> {
        let Some(text) = self.last(name) else { return Ok(Duration::from_secs(usual)) };
        text.parse().map(Duration::from_secs).map_err(|_| format!("`--{name} {text}`: write whole seconds"))
    }

    /// `ADDRESS:PORT`
    pub fn address(&self, name: &str, text: &str) -> Result<SocketAddr, String> {
        text.parse().map_err(|_| format!("`--{name} {text}`: write ADDRESS:PORT"))
    }

    pub fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_name_and_have_a_value() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = Given::read(&words("--a 1 --b x --a 2"), &["a", "b"]).unwrap();
        assert_eq!((given.last("a"), given.all("a").len(), given.last("c")), (Some("2"), 2, None));
        assert!(given.must("c").unwrap_err().contains("hint:"));
        assert!(Given::read(&words("--a"), &["a"]).is_err());
        assert!(Given::read(&words("--z 1"), &["a"]).unwrap_err().contains("`--z`"));
    }
}
