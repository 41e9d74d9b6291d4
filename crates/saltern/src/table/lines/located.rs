//! One string in its place, for programs that have lines or documents of their own.

use std::borrow::Cow;

use super::written::Place;
use super::{Format, read};
use crate::error::Error;

/// A stored string in a text, as [`locate`] finds it.
pub struct Located<'l> {
    text: &'l str,
    place: Place,
    stored: Cow<'l, str>,
}

/// Finds the stored string in one text, such as a document from a column of a database, as
/// [`each_line`](super::each_line) finds it in a line. `None` if there is none, or an empty one.
///
/// ```
/// use saltern::table::{Format, locate};
/// # #[cfg(feature = "json")] {
/// let format = Format::Json { stored: "/config/hash".to_owned(), account: None };
/// let document = r#"{"id": 1.0, "config": "{\"hash\":\"old\"}"}"#;
/// let found = locate(document, &format)?.unwrap();
/// assert_eq!(found.stored(), "old");
/// assert_eq!(found.replaced("new"), document.replace("old", "new"));
/// # }
/// # Ok::<(), saltern::Error>(())
/// ```
///
/// # Errors
/// *Bad input* for a text that is not of this form, or has a string elsewhere.
pub fn locate<'l>(text: &'l str, format: &Format) -> Result<Option<Located<'l>>, Error> {
    let found = read(text.as_bytes(), format)?.filter(|(_, stored)| !stored.is_empty());
    Ok(found.map(|(place, stored)| Located { text, place, stored }))
}

impl Located<'_> {
    /// The string.
    #[must_use]
    pub fn stored(&self) -> &str {
        &self.stored
    }

    /// The text with another string in its place; nothing else changes.
    #[must_use]
    pub fn replaced(self, new: &str) -> String {
        let mut text = self.text.as_bytes().to_vec();
        self.place.replace(&mut text, new);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Omits the text, for logs.
impl std::fmt::Debug for Located<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Located").finish_non_exhaustive()
    }
}
