//! A value of the configuration: how it is written and read, which of two is larger, and its conversion to a
//! typed field.
//!
//! Pure. Invariant: a value that `Form::read` accepts fits its field, so setting it cannot fail.

use super::address::Address;
use crate::config::problem::meant;
use crate::model::call::Effect;
use crate::text::template::one_line;
use crate::text::time;
use aops_network::list::Pattern;
use aops_shell::danger;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use toml::Spanned;
use toml::de::DeValue;

/// Limits on the entries of a list and the characters of a string: no sensible configuration needs more.
const LONGEST_LIST: usize = 256;
const LONGEST_TEXT: usize = 1000;

/// What a key or field may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Flag,
    /// One of these words, in rising order if they have one.
    OneOf(&'static [&'static str]),
    SomeOf(&'static [&'static str]),
    Whole(u64, u64),
    /// 0 to 1, stored in millionths.
    Share,
    /// `30s`, `10m`, `2h` or `1d`, up to a year.
    Period,
    Text,
    /// Letters, digits and dashes.
    Id,
    /// A URL without credentials.
    Server,
    /// A PostgreSQL URL without a password.
    Database,
    Names,
    Host,
    /// Names of hosts: `host` or `*.host`, optionally with `:port`.
    Hosts,
    /// A list of ports, or one of these words.
    Ports(&'static [&'static str]),
    /// A table of danger rules, each with one of these words; as a value `danger.git-discard=off`.
    Switches(&'static [&'static str]),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Nothing,
    Flag(bool),
    Whole(u64),
    Share(Share),
    Text(String),
    Names(Vec<String>),
    Ports(Vec<u16>),
}

/// A share between 0 and 1, stored in millionths, since stored forms contain no fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Share(u32);

impl Share {
    pub const ONE: u32 = 1_000_000;

    pub fn millionths(n: u32) -> Self {
        Self(n.min(Self::ONE))
    }

    pub fn in_millionths(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let whole = self.0 / Self::ONE;
        let rest = format!("{:06}", self.0 % Self::ONE);
        match rest.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            digits => write!(f, "{whole}.{digits}"),
        }
    }
}

/// A length of time, stored in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Period(u64);

impl Period {
    const LONGEST_MS: u64 = 365 * 86_400_000;

    pub const fn seconds(n: u64) -> Self {
        Self(n * 1_000)
    }

    pub fn of(text: &str) -> Option<Self> {
        time::period(text).map(i64::unsigned_abs).filter(|ms| *ms <= Self::LONGEST_MS).map(Self)
    }

    pub fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// In the largest unit that fits.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let units = [('d', 86_400_000), ('h', 3_600_000), ('m', 60_000)];
        let fits = units.into_iter().find(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit));
        let (letter, unit) = fits.unwrap_or(('s', 1_000));
        write!(f, "{}{letter}", self.0 / unit)
    }
}

impl Form {
    /// The value in this form, or what is wrong and where.
    pub fn read(self, given: &Spanned<DeValue>) -> Result<Value, (usize, String)> {
        let at = given.span().start;
        let text = |item: &Spanned<DeValue>| match self.one().read(item)? {
            Value::Text(text) => Ok(text),
            other => Ok(other.to_string()),
        };
        match (self, given.get_ref()) {
            (Form::Names | Form::SomeOf(_) | Form::Hosts | Form::Ports(_), DeValue::Array(items))
                if items.len() > LONGEST_LIST =>
            {
                Err((at, format!("at most {LONGEST_LIST} entries")))
            }
            (Form::Ports(_), DeValue::Array(items)) => {
                items.iter().map(port).collect::<Result<_, _>>().map(Value::Ports)
            }
            (Form::Names | Form::SomeOf(_) | Form::Hosts, DeValue::Array(items)) => {
                items.iter().map(text).collect::<Result<_, _>>().map(Value::Names)
            }
            (Form::Names | Form::SomeOf(_) | Form::Hosts, DeValue::String(_)) => {
                Ok(Value::Names(vec![text(given)?]))
            }
            (Form::Switches(words), DeValue::Table(table)) => table
                .iter()
                .map(|(key, level)| switch(key, level, words))
                .collect::<Result<_, _>>()
                .map(Value::Names),
            (_, value) => self.accept(value).map_err(|what| (at, what)),
        }
    }

    /// The form of one entry of a list.
    fn one(self) -> Self {
        match self {
            Form::SomeOf(words) => Form::OneOf(words),
            Form::Hosts => Form::Host,
            _ => Form::Text,
        }
    }

    fn accept(self, given: &DeValue) -> Result<Value, String> {
        match (self, given) {
            (Form::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
            (Form::OneOf(words), DeValue::String(word)) => one_of(words, word),
            (Form::Whole(least, most), DeValue::Integer(n)) => whole(n.as_str(), n.radix(), least, most),
            (Form::Share, DeValue::Float(n)) => share(n.as_str()),
            (Form::Share, DeValue::Integer(n)) if n.radix() == 10 => share(n.as_str()),
            (Form::Text, DeValue::String(text)) => plain(text),
            (Form::Period, DeValue::String(text)) => period(text),
            (Form::Host, DeValue::String(text)) => host(text),
            (Form::Ports(words), DeValue::String(word)) if !words.is_empty() => one_of(words, word),
            (Form::Id, DeValue::String(text)) => id(text),
            (Form::Server, DeValue::String(text)) => server(text),
            (Form::Database, DeValue::String(text)) => database(text),
            (_, other) => Err(format!("{}, not {}", self.wanted(), kind(other))),
        }
    }

    pub fn wanted(self) -> String {
        match self {
            Form::Flag => "`true` or `false`".to_owned(),
            Form::OneOf(words) => listed(words),
            Form::SomeOf(words) => format!("{}, or a list of them", listed(words)),
            Form::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Form::Share => "a number from 0 to 1".to_owned(),
            Form::Period => "a duration as `30s`, `10m`, `2h` or `1d`".to_owned(),
            Form::Text | Form::Id => "a text".to_owned(),
            Form::Server | Form::Database => "a URL".to_owned(),
            Form::Names => "a text or a list of texts".to_owned(),
            Form::Host => "a host".to_owned(),
            Form::Hosts => "a host or a list of hosts".to_owned(),
            Form::Ports([]) => "a list of ports".to_owned(),
            Form::Ports(words) => format!("{} or a list of ports", listed(words)),
            Form::Switches(_) => "a table such as `{ git-discard = \"off\" }`".to_owned(),
        }
    }
}

/// The level of one danger rule.
fn switch(
    key: &Spanned<Cow<str>>,
    level: &Spanned<DeValue>,
    words: &'static [&'static str],
) -> Result<String, (usize, String)> {
    let id = key.get_ref().as_ref();
    let Some(rule) = danger::rule(id) else {
        return Err((key.span().start, format!("no danger rule `{}`", id.escape_default())));
    };
    match Form::OneOf(words).read(level)? {
        Value::Text(level) => Ok(format!("{}={level}", rule.key)),
        other => Err((key.span().start, other.to_string())),
    }
}

impl Value {
    /// Its rank among the values of its form; `None` if they have no order.
    pub fn rank(&self, form: Form) -> Option<u64> {
        match (self, form) {
            (Value::Flag(flag), _) => Some(u64::from(*flag)),
            (Value::Whole(n), _) => Some(*n),
            (Value::Share(share), _) => Some(share.in_millionths().into()),
            (Value::Text(word), Form::OneOf(words)) => {
                words.iter().position(|w| w == word).and_then(|n| n.try_into().ok())
            }
            _ => None,
        }
    }

    /// The value for programs. A share is a number, as in the file.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::Nothing => serde_json::Value::Null,
            Value::Flag(flag) => (*flag).into(),
            Value::Whole(n) => (*n).into(),
            Value::Share(share) => (f64::from(share.in_millionths()) / f64::from(Share::ONE)).into(),
            Value::Text(text) => text.clone().into(),
            Value::Names(names) => names.clone().into(),
            Value::Ports(ports) => ports.clone().into(),
        }
    }
}

/// As it would be written in the file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Nothing => f.write_str("not set"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Whole(n) => write!(f, "{n}"),
            Value::Share(share) => write!(f, "{share}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Names(names) => write!(f, "{names:?}"),
            Value::Ports(ports) => write!(f, "{ports:?}"),
        }
    }
}

fn one_of(words: &[&str], given: &str) -> Result<Value, String> {
    if words.contains(&given) {
        return Ok(Value::Text(given.to_owned()));
    }
    Err(format!("{}, not {given:?}{}", listed(words), meant(given, words.iter().copied())))
}

fn whole(digits: &str, radix: u32, least: u64, most: u64) -> Result<Value, String> {
    let number = u64::from_str_radix(digits.trim_start_matches('+'), radix).ok();
    let within = number.filter(|n| (least..=most).contains(n));
    within.map(Value::Whole).ok_or_else(|| format!("a whole number from {least} to {most}, not {digits}"))
}

fn share(digits: &str) -> Result<Value, String> {
    let number: f64 = digits.parse().unwrap_or(f64::NAN);
    if !(0.0..=1.0).contains(&number) {
        return Err(format!("a number from 0 to 1, not {digits}"));
    }
    let scaled = number * f64::from(Share::ONE);
    if (scaled - scaled.round()).abs() > 1e-6 {
        return Err(format!("at most six decimals, not {digits}"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a million")]
    Ok(Value::Share(Share::millionths(scaled.round() as u32)))
}

fn plain(text: &str) -> Result<Value, String> {
    match text.chars().count() {
        0 => Err("a text that is not empty".to_owned()),
        long if long > LONGEST_TEXT => Err(format!("at most {LONGEST_TEXT} characters, not {long}")),
        // The text is shown to people and models, so escape sequences are not allowed.
        _ if text.chars().any(char::is_control) => {
            Err("a text on one line, without control characters".to_owned())
        }
        _ => Ok(Value::Text(text.to_owned())),
    }
}

fn period(text: &str) -> Result<Value, String> {
    let read = Period::of(text);
    let wanted = Form::Period.wanted();
    read.map(|period| Value::Text(period.to_string()))
        .ok_or_else(|| format!("{wanted}, not {:?}", one_line(text, 80)))
}

/// A host name, never an IP address: the network judges names.
fn host(text: &str) -> Result<Value, String> {
    let known = Pattern::of(text).is_some();
    let wanted = "a host as `host`, `*.host` or `host:port`, by its name";
    if known {
        plain(&text.to_ascii_lowercase())
    } else {
        Err(format!("{wanted}, not {:?}", one_line(text, 80)))
    }
}

fn port(given: &Spanned<DeValue>) -> Result<u16, (usize, String)> {
    let read = Form::Whole(1, u16::MAX.into()).read(given)?;
    let number = if let Value::Whole(n) = read { u16::try_from(n).ok() } else { None };
    number.ok_or_else(|| (given.span().start, "a port".to_owned()))
}

fn id(text: &str) -> Result<Value, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(plain) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err("up to 64 lower-case letters, digits and dashes".to_owned())
}

fn server(text: &str) -> Result<Value, String> {
    Address::read(text).and_then(|_| plain(text))
}

/// The policy is recorded, so it must not contain a password.
fn database(text: &str) -> Result<Value, String> {
    let Some(rest) = text.strip_prefix("postgresql://").or_else(|| text.strip_prefix("postgres://")) else {
        return Err("a URL that begins with `postgresql://`".to_owned());
    };
    let user =
        rest.split(['/', '?']).next().and_then(|host| host.rsplit_once('@')).map_or("", |(user, _)| user);
    if user.contains(':') || rest.contains("password=") {
        return Err("a URL without a password, which belongs in the file `fleet.password` next to the keys"
            .to_owned());
    }
    plain(text)
}

fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "a yes or no",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Effects by their words in a configuration. Closing the work counts as `write` there.
pub static EFFECTS: &[&str] = &["read", "write", "spawn", "tracker", "control"];

pub fn effect_of(word: &str) -> Option<Effect> {
    let all = [Effect::Read, Effect::Write, Effect::Spawn, Effect::Tracker, Effect::Control];
    all.into_iter().find(|effect| effect_word(*effect) == word)
}

pub fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write | Effect::Close => "write",
        Effect::Spawn => "spawn",
        Effect::Tracker => "tracker",
        Effect::Control => "control",
    }
}

/// A field of the policy: conversion to a value and back.
pub(super) trait Field: Sized {
    fn to_value(&self) -> Value;
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! field {
    ($type:ty, $field:ident => $to:expr, $pattern:pat => $from:expr) => {
        impl Field for $type {
            fn to_value(&self) -> Value {
                let $field = self;
                $to
            }

            fn from_value(value: Value) -> Option<Self> {
                if let $pattern = value { $from } else { None }
            }
        }
    };
}

field!(bool, flag => Value::Flag(*flag), Value::Flag(flag) => Some(flag));
field!(u64, n => Value::Whole(*n), Value::Whole(n) => Some(n));
field!(Share, share => Value::Share(*share), Value::Share(share) => Some(share));
field!(Period, period => Value::Text(period.to_string()), Value::Text(text) => Period::of(&text));
field!(String, text => Value::Text(text.clone()), Value::Text(text) => Some(text));
field!(Option<String>, text => text.clone().map_or(Value::Nothing, Value::Text), Value::Text(text) => Some(Some(text)));
field!(Vec<u16>, ports => Value::Ports(ports.clone()), Value::Ports(ports) => Some(ports));
field!(Vec<String>, names => Value::Names(names.clone()), Value::Names(names) => Some(names));
field!(
    Vec<Effect>,
    effects => Value::Names(effects.iter().map(|effect| effect_word(*effect).to_owned()).collect()),
    Value::Names(names) => names.iter().map(|name| effect_of(name)).collect()
);

/// The fields of one entry, each with its position in the text.
#[derive(Default)]
pub(super) struct Parts(pub(super) BTreeMap<&'static str, (usize, Value)>);

impl Parts {
    pub(super) fn take<T: Field>(&mut self, name: &str) -> Option<T> {
        T::from_value(std::mem::replace(&mut self.0.get_mut(name)?.1, Value::Nothing))
    }

    pub(super) fn at(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |(at, _)| *at)
    }
}
