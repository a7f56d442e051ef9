//! `[network]`: which hosts commands may reach, and what else of the machine's network they can use.
//!
//! Plain data. Stored type: fields in sorted order.

use super::value::{Field, Value};
use super::{is_default, words};
use aops_network::list::{List, Mode, Pattern, Publish as Published, Word};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    pub derive: bool,
    pub ech: bool,
    pub local: Vec<u16>,
    /// The entries of `allow` and `deny` that the administrator's bundle named.
    #[serde(default, skip_serializing_if = "is_default")]
    pub managed: Hosts,
    pub mode: NetworkMode,
    pub private: Vec<String>,
    /// The entries that only the project's own file named.
    #[serde(default, skip_serializing_if = "is_default")]
    pub project: Hosts,
    pub publish: Publish,
    pub servers: bool,
    pub sockets: Vec<String>,
}

/// Hosts that one file named before any other; those in none of these are the person's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hosts {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            derive: true,
            ech: false,
            local: Vec::new(),
            managed: Hosts::default(),
            mode: NetworkMode::Off,
            private: Vec::new(),
            project: Hosts::default(),
            publish: Publish::Auto,
            servers: false,
            sockets: Vec::new(),
        }
    }
}

words! {
    /// What happens to a host that is on no list, in rising order of strictness.
    NetworkMode {
        #[default]
        Off = "off",
        Observe = "observe",
        Ask = "ask",
        List = "list",
    }
}

/// Which servers of commands are accessible on this machine's loopback.
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
    /// The mode of a session's list; `None` if there is no list.
    pub fn of_list(self) -> Option<Mode> {
        match self {
            Self::Off => None,
            Self::Observe => Some(Mode::Observe),
            Self::Ask => Some(Mode::Ask),
            Self::List => Some(Mode::List),
        }
    }

    /// Sockets of outside programs are hidden, too, since no network confines them.
    pub fn closes_sockets(self) -> bool {
        self >= Self::Ask
    }
}

impl Network {
    /// The present lists.
    pub(super) fn hosts(&self) -> Hosts {
        Hosts { allow: self.allow.clone(), deny: self.deny.clone() }
    }

    /// The entries that were added since the lists were like this.
    pub(super) fn named_since(&self, before: &Hosts) -> Hosts {
        let new = |now: &[String], before: &[String]| -> Vec<String> {
            now.iter().filter(|host| !before.contains(host)).cloned().collect()
        };
        Hosts { allow: new(&self.allow, &before.allow), deny: new(&self.deny, &before.deny) }
    }

    /// The list of a session; `None` if the mode is off. Entries were validated as patterns when they were
    /// read.
    pub fn list(&self) -> Option<List> {
        let patterns =
            |texts: &[String]| texts.iter().filter_map(|text| Pattern::of(text)).collect::<Vec<_>>();
        let worded = |texts: &[String], of: fn(&Hosts) -> &[String]| {
            let word = |text: &String| match text {
                text if of(&self.managed).contains(text) => Word::Managed,
                text if of(&self.project).contains(text) => Word::Project,
                _ => Word::Person,
            };
            texts.iter().filter_map(|text| Some((Pattern::of(text)?, word(text)))).collect()
        };
        Some(List {
            allow: worded(&self.allow, |hosts| &hosts.allow),
            deny: worded(&self.deny, |hosts| &hosts.deny),
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
