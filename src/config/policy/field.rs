//! Values on their way into the policy: typed fields, and the named fields of one entry.
//!
//! Reads nothing, writes nothing.

use super::value::{Share, Value, effect_of, effect_word};
use super::{Interactive, Intervene, Level, ModeLevel, OnPause, Rehearse};
use crate::model::call::Effect;
use std::collections::BTreeMap;

/// A field of the policy, as a value and back.
pub(super) trait Field: Sized {
    fn value(&self) -> Value;
    fn of(value: Value) -> Option<Self>;
}

macro_rules! field {
    ($type:ty, $field:ident => $to:expr, $pattern:pat => $from:expr) => {
        impl Field for $type {
            fn value(&self) -> Value {
                let $field = self;
                $to
            }

            fn of(value: Value) -> Option<Self> {
                if let $pattern = value { $from } else { None }
            }
        }
    };
}

field!(bool, flag => Value::Flag(*flag), Value::Flag(flag) => Some(flag));
field!(u64, n => Value::Whole(*n), Value::Whole(n) => Some(n));
field!(Share, share => Value::Share(*share), Value::Share(share) => Some(share));
field!(String, text => Value::Text(text.clone()), Value::Text(text) => Some(text));
field!(Option<String>, text => text.clone().map_or(Value::Nothing, Value::Text), Value::Text(text) => Some(Some(text)));
field!(Vec<String>, names => Value::Names(names.clone()), Value::Names(names) => Some(names));
field!(Level, level => Value::Text(level.word().to_owned()), Value::Text(word) => Level::of(&word));
field!(
    Option<Level>,
    level => Value::Text(level.unwrap_or_default().word().to_owned()),
    Value::Text(word) => Level::of(&word).map(Some)
);
field!(
    Option<ModeLevel>,
    level => Value::Text(level.unwrap_or_default().word().to_owned()),
    Value::Text(word) => ModeLevel::of(&word).map(Some)
);
field!(Rehearse, mode => Value::Text(mode.word().to_owned()), Value::Text(word) => Rehearse::of(&word));
field!(Interactive, when => Value::Text(when.word().to_owned()), Value::Text(word) => Interactive::of(&word));
field!(OnPause, what => Value::Text(what.word().to_owned()), Value::Text(word) => OnPause::of(&word));
field!(Intervene, what => Value::Text(what.word().to_owned()), Value::Text(word) => Intervene::of(&word));
field!(
    Vec<Effect>,
    effects => Value::Names(effects.iter().map(|effect| effect_word(*effect).to_owned()).collect()),
    Value::Names(names) => names.iter().map(|name| effect_of(name)).collect()
);

/// The fields of one entry, each with its place in the text.
#[derive(Default)]
pub(super) struct Parts(pub(super) BTreeMap<&'static str, (usize, Value)>);

impl Parts {
    pub(super) fn take<T: Field>(&mut self, name: &str) -> Option<T> {
        T::of(std::mem::replace(&mut self.0.get_mut(name)?.1, Value::Nothing))
    }

    pub(super) fn word<T>(&mut self, name: &str, of: fn(&str) -> Option<T>) -> Option<T> {
        of(&self.take::<String>(name)?)
    }

    pub(super) fn at(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |(at, _)| *at)
    }
}
