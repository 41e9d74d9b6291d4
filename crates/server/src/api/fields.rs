//! The fields of a JSON object that may hold a password: nothing is copied but into memory that is
//! wiped, and nothing of what is wrong is quoted.

use std::fmt;

use saltern::json;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json as value};
use zeroize::Zeroizing;

use super::problem::Problem;
use super::schema::Schema;

/// More fields than any request has.
const MOST: usize = 16;

/// The fields of an object, as they are written there.
pub(crate) struct Fields<'a> {
    found: Vec<(&'a RawValue, &'a RawValue)>,
}

/// A request: an object with fields, how it is read, and its schema.
macro_rules! request {
    ($(#[doc = $about:literal])* struct $name:ident {
        $($(#[doc = $said:literal])* $field:ident: $kind:ty,)*
    }) => {
        $(#[doc = $about])*
        pub(crate) struct $name {
            $($(#[doc = $said])* pub(crate) $field: $kind,)*
        }

        impl $name {
            /// Reads a request. What is wrong is told without anything of its values.
            pub(crate) fn parse(body: &[u8]) -> Result<Self, $crate::api::problem::Problem> {
                Self::take($crate::api::fields::Fields::parse(body)?)
            }

            /// Takes what is left of an object, of which nothing may be left over.
            pub(crate) fn take(
                mut fields: $crate::api::fields::Fields<'_>,
            ) -> Result<Self, $crate::api::problem::Problem> {
                fields.only(&[$(stringify!($field)),*])?;
                Ok($name { $($field: fields.take(stringify!($field))?,)* })
            }
        }

        impl $crate::api::schema::Schema for $name {
            fn schema() -> serde_json::Value {
                use $crate::api::schema::{Schema, object, or_null, prose};
                object(&prose(&[$($about),*]), vec![$((
                    stringify!($field),
                    prose(&[$($said),*]),
                    or_null(<$kind as Schema>::schema(), <$kind as Schema>::OPTIONAL),
                    <$kind as Schema>::OPTIONAL,
                )),*])
            }
        }
    };
}

pub(crate) use request;

/// A value that a field of a request can have.
pub(crate) trait Read: Sized {
    /// What is expected, in words.
    const EXPECTED: &str;

    /// The value, if the text is one.
    fn read(raw: &str) -> Option<Self>;

    /// What stands for a field that is not there.
    fn absent() -> Option<Self> {
        None
    }
}

impl<'a> Fields<'a> {
    /// Reads an object that has each field at most once.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, Problem> {
        let syntax = |error: serde_json::Error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            match error.classify() {
                serde_json::error::Category::Data => Problem::malformed(format!(
                    "the request must be a JSON object with few fields, each at most once \
                     ({place})"
                )),
                _ => Problem::malformed(format!("the request is not JSON ({place})")),
            }
        };
        let Object(found) = serde_json::from_slice(body).map_err(syntax)?;
        for (at, (name, _)) in found.iter().enumerate() {
            if found[..at].iter().any(|(other, _)| other.get() == name.get()) {
                let detail = "the request must be a JSON object with each field at most once";
                return Err(Problem::malformed(detail));
            }
        }
        Ok(Fields { found })
    }

    /// Refuses an object with other fields than these.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        // One spelling each: no field's name needs an escape.
        let is_known = |name: &RawValue| known.contains(&name.get().trim_matches('"'));
        if self.found.iter().all(|(name, _)| is_known(name)) {
            return Ok(());
        }
        let known = known.join(", ");
        Err(Problem::malformed(format!("the request must be a JSON object with {known}")))
    }

    /// Takes the value of a field out.
    pub(crate) fn take<T: Read>(&mut self, name: &'static str) -> Result<T, Problem> {
        let at = self.found.iter().position(|(key, _)| key.get().trim_matches('"') == name);
        let found = at.map(|at| self.found.swap_remove(at));
        let value = found.map_or_else(T::absent, |(_, raw)| T::read(raw.get()));
        value.ok_or_else(|| {
            let what = if found.is_some() { "must be" } else { "is missing:" };
            Problem::malformed(format!("`{name}` {what} {}", T::EXPECTED))
        })
    }
}

/// Keys and values, as they are written.
struct Object<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut object = Vec::with_capacity(MOST);
                while let Some(name) = map.next_key::<&'de RawValue>()? {
                    if object.len() == MOST {
                        map.next_value::<IgnoredAny>()?;
                        return Err(A::Error::custom("too many fields"));
                    }
                    object.push((name, map.next_value::<&'de RawValue>()?));
                }
                Ok(Object(object))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// Text that is wiped when it is dropped.
pub(crate) struct Secret(pub(crate) Zeroizing<String>);

impl Read for Secret {
    const EXPECTED: &str = "a string";

    fn read(raw: &str) -> Option<Self> {
        json::decode(raw).map(Secret)
    }
}

impl Schema for Secret {
    fn schema() -> Value {
        value!({ "type": "string" })
    }
}

/// Bytes in hexadecimal digits, wiped when they are dropped.
pub(crate) struct Hex(pub(crate) Zeroizing<Vec<u8>>);

impl Read for Hex {
    const EXPECTED: &str = "a string with an even number of hexadecimal digits";

    fn read(raw: &str) -> Option<Self> {
        let digits = json::decode(raw)?;
        let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
        base16ct::mixed::decode(digits.as_bytes(), &mut bytes).ok()?;
        Some(Hex(bytes))
    }
}

impl Schema for Hex {
    fn schema() -> Value {
        value!({ "type": "string", "pattern": "^([0-9A-Fa-f]{2})*$" })
    }
}

/// A stored string, or that there is none. It has to be said which.
pub(crate) struct Stored(pub(crate) Option<Zeroizing<String>>);

impl Read for Stored {
    const EXPECTED: &str = "the stored string, or null if there is no such account";

    fn read(raw: &str) -> Option<Self> {
        if raw == "null" { Some(Stored(None)) } else { Some(Stored(Some(json::decode(raw)?))) }
    }
}

impl Schema for Stored {
    fn schema() -> Value {
        value!({ "type": ["string", "null"] })
    }
}

/// Whatever JSON it is.
pub(crate) struct Any(pub(crate) Box<RawValue>);

impl Read for Any {
    const EXPECTED: &str = "JSON";

    fn read(raw: &str) -> Option<Self> {
        RawValue::from_string(raw.to_owned()).ok().map(Any)
    }
}

impl Schema for Any {
    fn schema() -> Value {
        value!({})
    }
}

impl Read for u64 {
    const EXPECTED: &str = "a whole number, at least 0";

    /// Also in the form of a fraction without one, as some languages write all numbers: `1000.0`.
    fn read(raw: &str) -> Option<Self> {
        let whole = || raw.parse::<f64>().ok().filter(|number| number.fract() == 0.0);
        let exact = |number: &f64| (0.0..=9_007_199_254_740_992.0).contains(number);
        raw.parse().ok().or_else(|| whole().filter(exact).map(|number| number as u64))
    }
}

impl Read for bool {
    const EXPECTED: &str = "true or false";

    fn read(raw: &str) -> Option<Self> {
        raw.parse().ok()
    }
}

impl Schema for bool {
    fn schema() -> Value {
        value!({ "type": "boolean" })
    }
}

/// A field that may be left out, or null.
impl<T: Read> Read for Option<T> {
    const EXPECTED: &str = T::EXPECTED;

    fn read(raw: &str) -> Option<Self> {
        if raw == "null" { Some(None) } else { T::read(raw).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}
