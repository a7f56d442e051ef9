//! The options of a verb: `--name value`, each known by its name.
//!
//! Pure.

use aops_core::config::policy::Period;
use std::net::SocketAddr;

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

    /// A length of time: `30s`, `2m`, or whole seconds.
    pub fn period(&self, name: &str, usual: Period) -> Result<Period, String> {
        let Some(text) = self.last(name) else { return Ok(usual) };
        let read = text.parse().ok().map(Period::seconds).or_else(|| Period::of(text));
        read.ok_or_else(|| {
            format!("`--{name} {text}` is not a duration\nhint: write 30s, 2m or whole seconds")
        })
    }

    /// `ADDRESS:PORT`
    pub fn address(&self, name: &str, text: &str) -> Result<SocketAddr, String> {
        text.parse().map_err(|_| format!("`--{name} {text}`: write ADDRESS:PORT"))
    }

    /// `on` or `off`.
    pub fn is_on(&self, name: &str) -> Result<bool, String> {
        match self.last(name) {
            None | Some("off") => Ok(false),
            Some("on") => Ok(true),
            Some(odd) => Err(format!("`--{name} {odd}`: write `on` or `off`")),
        }
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
        let given_for = |text: &str| {
            Given::read(&words(&format!("--a {text}")), &["a"]).unwrap().period("a", Period::seconds(1))
        };
        assert_eq!((given_for("90"), given_for("2m")), (Ok(Period::seconds(90)), Ok(Period::seconds(120))));
        assert!(
            given_for("soon").is_err() && given.period("c", Period::seconds(7)) == Ok(Period::seconds(7))
        );
        assert!(given.must("c").unwrap_err().contains("hint:"));
        assert!(Given::read(&words("--a"), &["a"]).is_err());
        assert!(Given::read(&words("--z 1"), &["a"]).unwrap_err().contains("`--z`"));
    }
}
