//! How a string is written in its line, and how another one takes its place.

use std::borrow::Cow;
use std::ops::Range;

use base64ct::{Base64, Encoding};

/// Where the string is in a line, and whose it is.
#[derive(Default)]
pub(super) struct Place {
    /// In JSON, without the quotes.
    pub(super) range: Range<usize>,
    /// As the account is called, without quotes and escapes.
    pub(super) account: Option<Vec<u8>>,
    pub(super) written: Written,
    /// The string, if it was put together from several places.
    pub(super) composed: Option<String>,
    /// What else is replaced, and with which text.
    pub(super) also: Vec<(Range<usize>, &'static str)>,
}

/// How a text is written.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Written {
    #[default]
    Plain,
    /// With the escapes of JSON, as often as texts are within texts.
    #[cfg(feature = "json")]
    Json(u32),
    /// As a value of LDIF, perhaps folded, and perhaps in base 64.
    Ldif { base64: bool },
}

impl Place {
    /// The string itself; `None` if it is not text.
    pub(super) fn stored<'l>(&self, line: &'l [u8]) -> Option<Cow<'l, str>> {
        if let Some(composed) = &self.composed {
            return Some(composed.clone().into());
        }
        self.written.read(line.get(self.range.clone())?)
    }

    /// Puts another string in its place.
    pub(super) fn replace(self, line: &mut Vec<u8>, new: &str) {
        let Place { range, written, also, .. } = self;
        let mut edits: Vec<(Range<usize>, &str)> = vec![(range, new)];
        edits.extend(also);
        // From the last to the first, so that places stay what they are.
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, new) in edits {
            line.splice(range, written.write(new).into_bytes());
        }
    }
}

impl Written {
    pub(super) fn read(self, text: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Written::Plain => str::from_utf8(text).ok().map(Cow::Borrowed),
            #[cfg(feature = "json")]
            Written::Json(times) => {
                let mut text = Cow::Borrowed(str::from_utf8(text).ok()?);
                for _ in 0..times {
                    text = serde_json::from_str::<String>(&format!("\"{text}\"")).ok()?.into();
                }
                Some(text)
            }
            Written::Ldif { base64 } => {
                // A fold is the end of a line and a space.
                let text = String::from_utf8(text.to_vec()).ok()?;
                let text = text.replace("\r\n ", "").replace("\n ", "");
                if !base64 {
                    return Some(text.into());
                }
                Some(String::from_utf8(Base64::decode_vec(text.trim()).ok()?).ok()?.into())
            }
        }
    }

    /// Salts of some schemes may have characters that have to be escaped.
    fn write(self, text: &str) -> String {
        match self {
            Written::Plain | Written::Ldif { base64: false } => text.to_owned(),
            #[cfg(feature = "json")]
            Written::Json(times) => (0..times).fold(text.to_owned(), |text, _| {
                let quoted = serde_json::Value::from(text).to_string();
                quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
            }),
            Written::Ldif { base64: true } => Base64::encode_string(text.as_bytes()),
        }
    }
}
