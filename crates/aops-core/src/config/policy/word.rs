//! Values that a configuration writes as one of a few words: levels of gates, modes, and the like.

use crate::model::gate_id::GateId;
use aops_shell::danger::{Rule, Usual};
use serde::{Deserialize, Serialize};

/// Defines an enum that a configuration writes as one of a few words, the laxest first if they are ordered.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$mark:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $crate::model::named::named! {
            $(#[$about])*
            #[derive(Default, PartialOrd, Ord, Serialize, Deserialize)]
            pub enum $name {
                $($(#[$mark])* #[serde(rename = $word)] $variant = $word,)+
            }
        }

        impl $name {
            pub const WORDS: &[&str] = &[$($word),+];
        }

        impl $crate::config::policy::value::Field for $name {
            fn to_value(&self) -> $crate::config::policy::value::Value {
                $crate::config::policy::value::Value::Text(self.name().to_owned())
            }

            fn from_value(value: $crate::config::policy::value::Value) -> Option<Self> {
                match value {
                    $crate::config::policy::value::Value::Text(word) => Self::of(&word),
                    _ => None,
                }
            }
        }

        /// Older policies lack it, which means the default.
        impl $crate::config::policy::value::Field for Option<$name> {
            fn to_value(&self) -> $crate::config::policy::value::Value {
                self.unwrap_or_default().to_value()
            }

            fn from_value(value: $crate::config::policy::value::Value) -> Option<Self> {
                $name::from_value(value).map(Some)
            }
        }
    };
}
pub(crate) use words;

words! {
    /// How strictly a gate is enforced.
    Level {
        Off = "off",
        Warn = "warn",
        #[default]
        Enforce = "enforce",
    }
}

words! {
    /// What happens to a call in which a danger rule finds something.
    DangerLevel {
        Off = "off",
        /// What it would lose is kept first; if that is impossible, the same as `ask`.
        Keep = "keep",
        #[default]
        Ask = "ask",
        Deny = "deny",
    }
}

impl DangerLevel {
    /// The level of a rule that no file sets.
    pub fn shipped(rule: &Rule) -> Self {
        match rule.usual {
            Usual::Keep => Self::Keep,
            Usual::Ask => Self::Ask,
            Usual::Deny => Self::Deny,
        }
    }
}

words! {
    /// How much of the loop is enforced, in rising order.
    ModeLevel {
        Observe = "observe",
        Guard = "guard",
        Loop = "loop",
        #[default]
        Strict = "strict",
    }
}

impl ModeLevel {
    /// The level of a gate that no file sets. Shipped rules and the user's own have the level of `checks`.
    pub fn default_for(self, gate: GateId) -> Level {
        let from = match gate {
            GateId::Checks | GateId::Rules | GateId::Danger => ModeLevel::Guard,
            GateId::Commit | GateId::Push | GateId::Close => ModeLevel::Strict,
            _ => ModeLevel::Loop,
        };
        if self >= from { Level::Enforce } else { Level::Off }
    }
}

words! {
    /// The mode whose refusals mode `observe` records.
    Rehearse {
        #[default]
        Loop = "loop",
        Strict = "strict",
    }
}

impl Rehearse {
    pub fn level(self) -> ModeLevel {
        match self {
            Self::Loop => ModeLevel::Loop,
            Self::Strict => ModeLevel::Strict,
        }
    }
}

words! {
    /// When an interactive session takes a checkpoint.
    Interactive {
        Off = "off",
        #[default]
        Execute = "execute",
        All = "all",
    }
}

words! {
    /// What happens to work in which the verifier found issues.
    Intervene {
        #[default]
        Keep = "keep",
        Rollback = "rollback",
    }
}

words! {
    /// What a queue of runs does if one of them pauses or is blocked.
    OnPause {
        Continue = "continue",
        #[default]
        Stop = "stop",
    }
}
