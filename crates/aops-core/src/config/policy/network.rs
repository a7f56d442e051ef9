//! `[network]`: which hosts commands reach, and what else of the machine's network they see.
//!
//! Plain data. Stored type: fields in sorted order.

use super::value::{Field, Value};
use super::words;
use aops_network::list::{List, Mode, Pattern, Publish as Published, Word};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    pub derive: bool,
    pub ech: bool,
    pub local: Vec<u16>,
    pub mode: NetworkMode,
    pub private: Vec<String>,
    pub publish: Publish,
    pub servers: bool,
    pub sockets: Vec<String>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            derive: true,
            ech: false,
            local: Vec::new(),
            mode: NetworkMode::Off,
            private: Vec::new(),
            publish: Publish::Auto,
            servers: false,
            sockets: Vec::new(),
        }
    }
}

words! {
    /// What becomes of a host that is on no list, in rising order of strictness.
    NetworkMode {
        #[default]
        Off = "off",
        Observe = "observe",
        Ask = "ask",
        List = "list",
    }
}

/// Which servers of commands are opened on this machine's loopback.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Publish {
    #[default]
    Auto,
    None,
    Ports(Vec<u16>),
}

impl Publish {
    pub const WORDS: &[&str] = &["auto", "none"];
}

impl Field for Publish {
    fn to_value(&self) -> Value {
        match self {
            Self::Auto => Value::Text("auto".to_owned()),
            Self::None => Value::Text("none".to_owned()),
            Self::Ports(ports) => Value::Ports(ports.clone()),
        }
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Text(word) if word == "auto" => Some(Self::Auto),
            Value::Text(word) if word == "none" => Some(Self::None),
            Value::Ports(ports) => Some(Self::Ports(ports)),
            _ => None,
        }
    }
}

impl NetworkMode {
    /// The mode of a list; nothing where there is none.
    pub fn of_list(self) -> Option<Mode> {
        match self {
            Self::Off => None,
            Self::Observe => Some(Mode::Observe),
            Self::Ask => Some(Mode::Ask),
            Self::List => Some(Mode::List),
        }
    }

    /// What no network holds is closed beside it.
    pub fn closes_sockets(self) -> bool {
        self >= Self::Ask
    }
}

impl Network {
    /// The list of a session; nothing with the mode off. What was read as a pattern is one.
    pub fn list(&self) -> Option<List> {
        let patterns =
            |texts: &[String]| texts.iter().filter_map(|text| Pattern::of(text)).collect::<Vec<_>>();
        let worded = |texts: &[String]| patterns(texts).into_iter().map(|one| (one, Word::Person)).collect();
        Some(List {
            allow: worded(&self.allow),
            deny: worded(&self.deny),
            private: patterns(&self.private),
            local: self.local.iter().copied().collect(),
            publish: match &self.publish {
                Publish::Auto => Published::Auto,
                Publish::None => Published::None,
                Publish::Ports(ports) => Published::Only(ports.iter().copied().collect()),
            },
            ech: self.ech,
            ..List::new(self.mode.of_list()?)
        })
    }
}
