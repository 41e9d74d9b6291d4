//! Requests as types: reading them, and their schemas.

use saltern::json::{Malformed, Read, decode};
use saltern_wipe::Zeroizing;
use serde_json::{Value, json};

use super::problem::Problem;
use super::schema::Schema;

/// A request: an object with fields, its parser, and its schema.
macro_rules! request {
    ($(#[doc = $about:literal])* struct $name:ident {
        $($(#[doc = $said:literal])* $field:ident: $kind:ty,)*
    }) => {
        $(#[doc = $about])*
        pub(crate) struct $name {
            $($(#[doc = $said])* pub(crate) $field: $kind,)*
        }

        impl $name {
            /// Reads a request. Errors never contain its values.
            pub(crate) fn parse(body: &[u8]) -> Result<Self, saltern::json::Malformed> {
                Self::take(saltern::json::Fields::parse(body)?)
            }

            /// Takes the remaining fields of an object; refuses unknown ones.
            pub(crate) fn take(
                mut fields: saltern::json::Fields<'_>,
            ) -> Result<Self, saltern::json::Malformed> {
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

impl From<Malformed> for Problem {
    fn from(error: Malformed) -> Self {
        Problem::malformed(error.to_string())
    }
}

impl Schema for Zeroizing<String> {
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl Schema for Zeroizing<Vec<u8>> {
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^([0-9A-Fa-f]{2})*$" })
    }
}

impl Schema for bool {
    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

/// A stored string, or null for none; the field must be present.
pub(crate) struct MaybeStored(pub(crate) Option<Zeroizing<String>>);

impl Read for MaybeStored {
    const EXPECTED: &str = "the stored string, or null if there is no such account";

    fn read(raw: &str) -> Option<Self> {
        if raw == "null" { Some(MaybeStored(None)) } else { Some(MaybeStored(Some(decode(raw)?))) }
    }
}

impl Schema for MaybeStored {
    fn schema() -> Value {
        json!({ "type": ["string", "null"] })
    }
}
