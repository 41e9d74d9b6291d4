//! Files of users: a name and a stored string in each line, as htpasswd writes them.
//!
//! ```
//! use saltern::users::Users;
//! let text = "# staff\nalice:$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5m\n";
//! let mut users = Users::parse(text)?;
//! assert!(users.find("alice").is_some_and(|stored| stored.starts_with("$y$")));
//! assert_eq!(users.find("bob"), None);
//! users.set("bob", "!")?;
//! assert!(users.text().ends_with("\nbob:!\n"));
//! # Ok::<(), saltern::policy::Invalid>(())
//! ```

use std::collections::HashMap;
use std::ops::Range;

#[cfg(feature = "file")]
use crate::error::Error;
use crate::invalid::{Invalid, line};
#[cfg(feature = "file")]
use crate::policy::content;

/// The most bytes in a file of users: some eighty thousand of them.
pub const MAX: usize = 8 << 20;

/// What a name may be, for errors.
const NAME: &str = "a name of 1 to 255 bytes without colons, control characters and outer spaces";

/// The users of a file.
///
/// A line is a name, a colon, and the stored string up to the next colon or the end; lines that are
/// empty or begin with `#` are comments, which stay where they are. Strings are of any scheme; the
/// policy decides which of them are verified.
#[derive(Clone)]
pub struct Users {
    text: String,
    /// Where the stored strings are.
    places: HashMap<Box<str>, Range<usize>>,
}

impl Users {
    /// Parses the text of a file.
    ///
    /// The last line must have its end: a text without it may be part of a file that is still being
    /// written.
    ///
    /// # Errors
    /// [`Invalid`] with the line: one without a colon, a name that is not allowed or that stands
    /// there twice, a last line without its end, or more than [`MAX`] bytes.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        if text.len() > MAX {
            let found = format!("{} bytes", text.len());
            return Err(Invalid::new("", found, format!("at most {MAX}")));
        }
        if !text.is_empty() && !text.ends_with('\n') {
            let allowed = "an end of the last line: the file may not be complete";
            return Err(Invalid::new("", "", allowed).at(&text, text.len()));
        }
        let (mut places, mut begin) = (HashMap::new(), 0);
        for whole in text.split_inclusive('\n') {
            let at = begin;
            begin += whole.len();
            let entry = whole.trim_end_matches(['\n', '\r']);
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            let (name, rest) = entry.split_once(':').ok_or_else(|| {
                Invalid::new("", "", "a name, a colon and a stored string").at(&text, at)
            })?;
            check_name(name).map_err(|invalid| invalid.at(&text, at))?;
            let stored = at + name.len() + 1;
            let place = stored..stored + rest.find(':').unwrap_or(rest.len());
            if let Some(first) = places.insert(name.into(), place) {
                let allowed = format!("each name once: it is in line {}", line(&text, first.start));
                return Err(Invalid::new("name", name, allowed).at(&text, at));
            }
        }
        Ok(Users { text, places })
    }

    /// Reads a regular file. It is read as a whole or not at all: if it changes meanwhile, that is
    /// an error, and so is a file that is not complete.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it cannot be read; [`Error::Policy`] with the file and the line.
    #[cfg(feature = "file")]
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    pub fn read(path: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let unavailable =
            |why: &dyn std::fmt::Display| Error::unavailable(path.display().to_string(), why);
        let (file, bytes) = content(path, MAX).map_err(|error| unavailable(&error))?;
        let after = file.metadata().map_err(|error| unavailable(&error))?;
        if after.len() != bytes.len() as u64 && bytes.len() <= MAX {
            return Err(unavailable(&"it changed while it was read"));
        }
        Self::of_file(path, &bytes)
    }

    /// Changes a file: what `change` makes of its users replaces it when it is complete, under a
    /// lock that everybody takes who changes it with this function, as
    /// [`update_file`](saltern_rom::update_file) does. If `change` returns `false`, the file stays
    /// as it is.
    ///
    /// ```
    /// use saltern::users::Users;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = &folder.path().join("site.users");
    /// # std::fs::write(path, "alice:!\n")?;
    /// Users::edit(path, |users| {
    ///     users.set("bob", "!")?;
    ///     Ok::<_, Box<dyn std::error::Error>>(true)
    /// })?;
    /// assert_eq!(Users::read(path)?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Users::read`], of `update_file`, and of `change`.
    #[cfg(all(feature = "file", feature = "rom"))]
    #[cfg_attr(docsrs, doc(cfg(all(feature = "file", feature = "rom"))))]
    pub fn edit<E: From<Error> + From<saltern_rom::Error>>(
        path: impl AsRef<std::path::Path>,
        change: impl FnOnce(&mut Users) -> Result<bool, E>,
    ) -> Result<(), E> {
        let path = path.as_ref();
        saltern_rom::update_file(path, MAX as u64, |bytes| {
            let mut users = Self::of_file(path, bytes)?;
            let changed = change(&mut users)?;
            Ok(changed.then(|| users.text.into_bytes()))
        })
    }

    /// The users that a file has with these contents.
    #[cfg(feature = "file")]
    fn of_file(path: &std::path::Path, bytes: &[u8]) -> Result<Self, Error> {
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|error| Error::unavailable(path.display(), error))?;
        let with_file = |invalid| Invalid { file: Some(path.to_owned()), ..invalid };
        Ok(Self::parse(text).map_err(with_file)?)
    }

    /// The stored string of a user; `None` if there is no such user. It is empty for one without a
    /// password, who cannot log in.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&str> {
        Some(&self.text[self.places.get(name)?.clone()])
    }

    /// All users and their stored strings, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut places: Vec<_> = self.places.iter().collect();
        places.sort_by_key(|(_, place)| place.start);
        places.into_iter().map(|(name, place)| (&**name, &self.text[place.clone()]))
    }

    /// How many users there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Sets the stored string of a user: in place, or in a new line at the end.
    ///
    /// # Errors
    /// [`Invalid`] for a name that is not allowed, a string with a colon or a control character, or
    /// a file that would become too long.
    pub fn set(&mut self, name: &str, stored: &str) -> Result<(), Invalid> {
        check_name(name)?;
        if stored.contains(|c: char| c == ':' || c.is_control()) {
            let allowed = "one without colons and control characters, which the file cannot hold";
            return Err(Invalid::new("stored string", "", allowed));
        }
        let mut text = self.text.clone();
        match self.places.get(name) {
            Some(place) => text.replace_range(place.clone(), stored),
            None => text.extend([name, ":", stored, "\n"]),
        }
        *self = Self::parse(text)?;
        Ok(())
    }

    /// Removes the line of a user. Whether there was one.
    ///
    /// # Errors
    /// None for a text that was parsed; [`Invalid`] otherwise.
    pub fn remove(&mut self, name: &str) -> Result<bool, Invalid> {
        let Some(place) = self.places.get(name) else { return Ok(false) };
        let begin = self.text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let end =
            self.text[place.end..].find('\n').map_or(self.text.len(), |at| place.end + at + 1);
        let mut text = self.text.clone();
        text.replace_range(begin..end, "");
        *self = Self::parse(text)?;
        Ok(true)
    }
}

/// Refuses names that a file cannot hold, and those that no HTTP header can.
fn check_name(name: &str) -> Result<(), Invalid> {
    let allowed = |c: char| c != ':' && !c.is_control();
    // HTTP removes outer spaces: an application would take such a user for another one. A byte
    // order mark is no part of a name, either.
    let outer = name.trim() != name || name.starts_with('\u{feff}');
    let is_long = !(1..=255).contains(&name.len());
    match !outer && !is_long && !name.starts_with('#') && name.chars().all(allowed) {
        true => Ok(()),
        false => Err(Invalid::new("name", format!("{name:?}"), NAME)),
    }
}

/// Omits names and strings, for logs.
impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Users {{ {} }}", self.count())
    }
}

#[cfg(test)]
mod tests;
