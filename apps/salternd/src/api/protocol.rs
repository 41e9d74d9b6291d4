//! Types of the protocol: each is defined once, for both sides and for the document.

/// The header with the milliseconds that a client, or a proxy, waits for an answer: the service
/// decides by it before it looks at the body.
pub(crate) const TIMEOUT_HEADER: &str = "x-envoy-expected-rq-timeout-ms";

/// An answer: an object with fields, its serialisation, and its schema. A missing field is an
/// error, unless it has a default (`field(default): Vec<_>`; `Option` needs none).
macro_rules! answer {
    ($(#[doc = $about:literal])* struct $name:ident {
        $($(#[doc = $said:literal])* $field:ident $(($default:ident))?: $kind:ty,)*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $said])*
            #[serde($($default,)? skip_serializing_if = "crate::api::protocol::SkipField::is_left_out")]
            pub $field: $kind,)*
        }

        #[cfg(feature = "server")]
        impl $crate::api::schema::Schema for $name {
            fn schema() -> serde_json::Value {
                use $crate::api::schema::{object, prose};
                object(&prose(&[$($about),*]), vec![$((
                    stringify!($field),
                    prose(&[$($said),*]),
                    <$kind as $crate::api::schema::Schema>::schema(),
                    <$kind as $crate::api::schema::Schema>::OPTIONAL,
                )),*])
            }
        }
    };
}

/// An enumeration of words.
macro_rules! protocol_enum {
    ($(#[doc = $about:literal])* enum $name:ident {
        $($(#[doc = $said:literal])* $variant:ident = $word:literal,)*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[doc = $said])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word for the value.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }

        #[cfg(feature = "server")]
        impl $name {
            /// All words.
            pub(crate) const WORDS: &[&str] = &[$($word),*];
        }

        #[cfg(feature = "server")]
        impl $crate::api::schema::Schema for $name {
            fn schema() -> serde_json::Value {
                serde_json::json!({ "type": "string", "enum": Self::WORDS })
            }
        }
    };
}

pub(crate) use {answer, protocol_enum};

/// Whether a field of an answer is left out.
pub(crate) trait SkipField {
    fn is_left_out(&self) -> bool {
        false
    }
}

impl<T> SkipField for Option<T> {
    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

impl SkipField for u64 {}
impl SkipField for String {}
impl<T> SkipField for Vec<T> {
    fn is_left_out(&self) -> bool {
        self.is_empty()
    }
}
impl<K, V> SkipField for std::collections::BTreeMap<K, V> {}
