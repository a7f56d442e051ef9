//! Samples of a stored type, made from the type itself: with all that it can hold, with the least, and with
//! each variant of its enums. A new field is in them without being named anywhere.
//!
//! The type is read by a reader that has no text: it answers whatever it is asked for. That a field is
//! required shows when the type cannot be read without it; the others are left out by turns.

use super::infer::{DIGESTS, MOMENTS};
use aops_core::config::policy::Policy;
use aops_core::session::fact::FORMAT;
use aops_core::text::sha256::NO_DIGEST;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Under this name a text that stays as it is is asked for.
const RAW: &str = "$serde_json::private::RawValue";

/// The type with all that it holds, and with less and less, the fullest first.
pub(crate) fn forms<T: DeserializeOwned>(stored: impl FnMut(T) -> Value) -> Vec<Value> {
    made_without(&[Without::Below], stored)
}

/// The same, and with one half of the fields of each part.
pub(crate) fn samples<T: DeserializeOwned>(stored: impl FnMut(T) -> Value) -> Vec<Value> {
    made_without(&[Without::Below, Without::Half(0), Without::Half(1)], stored)
}

fn made_without<T: DeserializeOwned>(halves: &[Without], mut stored: impl FnMut(T) -> Value) -> Vec<Value> {
    let (mut all, mut texts) = (Vec::new(), BTreeSet::new());
    let known = RefCell::new(Known::default());
    let mut add = |without: Without, depth: usize| {
        known.borrow_mut().variants.clear();
        loop {
            let sample = stored(made(&known, without, depth));
            if texts.insert(sample.to_string()) {
                all.push(sample);
            }
            if known.borrow().variants.values().all(|(made, of)| made >= of) {
                break;
            }
        }
    };
    add(Without::Below, usize::MAX);
    let deepest = known.borrow().deepest;
    for depth in (0..=deepest).rev() {
        for half in halves {
            add(*half, depth);
        }
    }
    all
}

/// Which of the fields that may be missing are.
#[derive(Clone, Copy)]
enum Without {
    /// All from this depth on.
    Below,
    /// At this depth every second one, from the first or the second on.
    Half(usize),
}

fn made<T: DeserializeOwned>(known: &RefCell<Known>, without: Without, depth: usize) -> T {
    loop {
        let before = known.borrow().variants.clone();
        match T::deserialize(Maker { known, without, depth, path: Vec::new() }) {
            Ok(made) => return made,
            Err(Wrong::Missing(field, Some(at))) => {
                let mut known = known.borrow_mut();
                known.variants = before;
                assert!(
                    known.required.insert(format!("{at}.{field}")),
                    "`{at}.{field}` is asked for, and was given"
                );
            }
            Err(wrong) => panic!("{}: {wrong:?}", std::any::type_name::<T>()),
        }
    }
}

/// What is learned on the way, by place.
#[derive(Default)]
struct Known {
    required: BTreeSet<String>,
    /// How many variants were made, and of how many.
    variants: BTreeMap<String, (usize, usize)>,
    deepest: usize,
}

#[derive(Debug)]
enum Wrong {
    /// A field, and the place of its struct.
    Missing(&'static str, Option<String>),
    #[expect(dead_code, reason = "it is printed")]
    Other(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Wrong {}

impl Error for Wrong {
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self::Other(what.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field, None)
    }
}

#[derive(Clone)]
struct Maker<'a> {
    known: &'a RefCell<Known>,
    without: Without,
    depth: usize,
    /// The names of the fields that lead here.
    path: Vec<&'static str>,
}

impl<'a> Maker<'a> {
    fn below(&self, name: &'static str) -> Maker<'a> {
        let path = [&self.path[..], &[name]].concat();
        Maker { path, ..*self }
    }

    fn place(&self) -> String {
        self.path.join(".")
    }

    /// A text that such a field can hold.
    fn text(&self) -> String {
        match self.path.last().copied().unwrap_or_default() {
            name if DIGESTS.contains(&name) => NO_DIGEST.to_owned(),
            name if MOMENTS.contains(&name) => "2026-01-13T10:00:00.123Z".to_owned(),
            "date" => "2026-01-13".to_owned(),
            _ => "text".to_owned(),
        }
    }

    fn is_made(&self, field: &str, at: usize) -> bool {
        let required = || self.known.borrow().required.contains(&format!("{}.{field}", self.place()));
        let is_left_out = match self.without {
            Without::Below => self.path.len() >= self.depth,
            Without::Half(first) => self.path.len() == self.depth && at % 2 == first,
        };
        !is_left_out || required()
    }
}

/// Numbers of each kind are asked for alike.
macro_rules! ones {
    ($($ask:ident $answer:ident,)*) => {
        $(fn $ask<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            visitor.$answer(1)
        })*
    };
}

impl<'de> Deserializer<'de> for Maker<'_> {
    type Error = Wrong;

    ones! {
        deserialize_i8 visit_i8, deserialize_i16 visit_i16, deserialize_i32 visit_i32, deserialize_i64 visit_i64,
        deserialize_u8 visit_u8, deserialize_u16 visit_u16, deserialize_u64 visit_u64,
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_u32(if self.path.last() == Some(&"format") { FORMAT } else { 1 })
    }

    forward_to_deserialize_any! { i128 u128 f32 f64 char bytes byte_buf unit unit_struct identifier ignored_any }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Wrong> {
        Err(Wrong::Other(format!("nothing is known of the type at `{}`", self.place())))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_bool(true)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_string(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_string(self.text())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match name {
            RAW => visitor.visit_map(Fields { maker: self, left: &[RAW], now: RAW }),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_seq(Items { maker: self, left: 1 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_seq(Items { maker: self, left: len })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_map(Fields { maker: self, left: &["a"], now: "a" })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        // It has a schema of its own.
        if self.path.last() == Some(&"policy") {
            let policy = serde_json::to_value(Policy::default()).map_err(Wrong::custom)?;
            return policy.deserialize_struct("", fields, visitor).map_err(Wrong::custom);
        }
        let place = self.place();
        let deepest = self.known.borrow().deepest.max(self.path.len());
        self.known.borrow_mut().deepest = deepest;
        visitor.visit_map(Fields { maker: self, left: fields, now: "" }).map_err(|wrong| match wrong {
            Wrong::Missing(field, None) => Wrong::Missing(field, Some(place)),
            wrong => wrong,
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let at = {
            let mut known = self.known.borrow_mut();
            let (made, _) = known.variants.entry(self.place()).or_insert((0, variants.len()));
            *made += 1;
            (*made - 1) % variants.len()
        };
        visitor.visit_enum(Variant { maker: self, name: variants[at] })
    }
}

/// The members of a struct or a map.
struct Fields<'a> {
    maker: Maker<'a>,
    left: &'static [&'static str],
    now: &'static str,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        while let Some((name, left)) = self.left.split_first() {
            (self.now, self.left) = (name, left);
            if ["a", RAW].contains(name) || self.maker.is_made(name, left.len()) {
                let key: StrDeserializer<Wrong> = (*name).into_deserializer();
                return seed.deserialize(key).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wrong> {
        match self.now {
            RAW => seed.deserialize("{}".to_owned().into_deserializer()),
            // What a map holds has no name of its own.
            "a" => seed.deserialize(self.maker.below("")),
            name => seed.deserialize(self.maker.below(name)),
        }
    }
}

struct Items<'a> {
    maker: Maker<'a>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Wrong;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Wrong> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.maker.below("")).map(Some)
    }
}

struct Variant<'a> {
    maker: Maker<'a>,
    name: &'static str,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Wrong> {
        let name: StrDeserializer<Wrong> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Wrong> {
        seed.deserialize(self.maker.below(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.maker.below(self.name).deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.maker.below(self.name).deserialize_struct("", fields, visitor)
    }
}
