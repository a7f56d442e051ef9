//! How enums made with `named!` are stored: by name.

pub use aops_ledger::named;
pub use aops_ledger::names::Named;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A name in a ledger. A name that only another version knows equals none of ours, and is written back
/// unchanged.
#[derive(Clone, PartialEq, Eq)]
pub enum Stored<T> {
    Known(T),
    Unknown(Box<str>),
}

impl<T: Named> Stored<T> {
    pub fn of(name: &str) -> Self {
        T::of(name).map_or_else(|| Self::Unknown(name.into()), Self::Known)
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Known(one) => one.name(),
            Self::Unknown(name) => name,
        }
    }

    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(one) => Some(*one),
            Self::Unknown(_) => None,
        }
    }
}

/// The empty name.
impl<T> Default for Stored<T> {
    fn default() -> Self {
        Self::Unknown(Box::default())
    }
}

impl<T: Named> From<T> for Stored<T> {
    fn from(one: T) -> Self {
        Self::Known(one)
    }
}

impl<T: Named> From<Option<T>> for Stored<T> {
    fn from(one: Option<T>) -> Self {
        one.map_or_else(Self::default, Self::Known)
    }
}

impl<T: Named> PartialEq<T> for Stored<T> {
    fn eq(&self, other: &T) -> bool {
        self.known() == Some(*other)
    }
}

impl<T: Named> fmt::Display for Stored<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<T: Named> fmt::Debug for Stored<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

impl<T: Named> Serialize for Stored<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de, T: Named> Deserialize<'de> for Stored<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(NameReader(PhantomData))
    }
}

/// `commit, push`
pub fn join_names<T: Named>(all: &[Stored<T>]) -> String {
    all.iter().map(Stored::name).collect::<Vec<_>>().join(", ")
}

struct NameReader<T>(PhantomData<T>);

impl<T: Named> Visitor<'_> for NameReader<T> {
    type Value = Stored<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Stored::of(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Stored;
    use crate::model::verdict::Ruling;

    #[test]
    fn a_name_of_another_version_is_kept_and_is_none_of_ours() {
        for (text, known) in [(r#""deny""#, Some(Ruling::Deny)), (r#""quarantine""#, None), (r#""""#, None)] {
            let read: Stored<Ruling> = serde_json::from_str(text).unwrap();
            assert_eq!((read.known(), serde_json::to_string(&read).unwrap()), (known, text.to_owned()));
            assert!(Ruling::ALL.iter().all(|one| (read == *one) == (known == Some(*one))));
        }
        assert!(serde_json::from_str::<Stored<Ruling>>("1").is_err());
    }
}
