//! A TOML file as flat keys, each with its line. Known keys are taken out; those left at the end
//! are unknown.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::invalid::{Invalid, line};

/// Bytes of the longest policy.
pub(super) const MAX: usize = 1 << 20;

pub(super) struct Document {
    entries: BTreeMap<String, Value>,
    /// All keys ever asked for.
    known: BTreeSet<String>,
    /// For messages, including those about keys that were taken out.
    places: BTreeMap<String, (u32, String)>,
}

/// The value of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value {
    Text(String),
    Number(Option<u64>),
    Flag(bool),
    /// A table, whose entries have their own keys.
    Table,
    /// A list of this many parts, which have their own keys.
    List(usize),
    Other,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX {
            return Err(Invalid::new("", format!("{} bytes", text.len()), "at most 1 MiB"));
        }
        let table = DeTable::parse(text).map_err(|error| {
            let invalid = Invalid::new("", error.message(), "TOML");
            match error.span() {
                Some(span) => invalid.at(text, span.start),
                None => invalid,
            }
        })?;
        let (entries, known, places) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let mut document = Document { entries, known, places };
        let place = |span: std::ops::Range<usize>| {
            let raw = text.get(span.clone()).unwrap_or_default();
            (line(text, span.start), raw.lines().next().unwrap_or_default().to_owned())
        };
        document.add_table("", table.get_ref(), &place);
        Ok(document)
    }

    fn add_table(
        &mut self,
        path: &str,
        table: &DeTable<'_>,
        place: &impl Fn(std::ops::Range<usize>) -> (u32, String),
    ) {
        for (key, value) in table {
            // A quoted key with a dot is not the same as a dotted key.
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            let key = match key.get_ref().chars().all(plain) {
                true => key.get_ref().to_string(),
                false => format!("{:?}", key.get_ref()),
            };
            let name = if path.is_empty() { key } else { format!("{path}.{key}") };
            self.add(name, value, place);
        }
    }

    fn add(
        &mut self,
        path: String,
        value: &Spanned<DeValue<'_>>,
        place: &impl Fn(std::ops::Range<usize>) -> (u32, String),
    ) {
        let (line, raw) = place(value.span());
        let kind = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                Value::Number(u64::from_str_radix(number.as_str(), number.radix()).ok())
            }
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Table(_) => Value::Table,
            DeValue::Array(array) => Value::List(array.len()),
            _ => Value::Other,
        };
        let simple = !matches!(kind, Value::Table | Value::List(_));
        let raw = if simple { raw } else { String::new() };
        self.places.insert(path.clone(), (line, raw));
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(&path, table, place),
            DeValue::Array(array) => {
                for (at, value) in array.iter().enumerate() {
                    self.add(format!("{path}[{at}]"), value, place);
                }
            }
            _ => {}
        }
        self.entries.insert(path, kind);
    }

    /// Adds the line and the value from the document.
    pub(super) fn placed(&self, mut invalid: Invalid) -> Invalid {
        let mut path = &*invalid.key;
        loop {
            if let Some((line, raw)) = self.places.get(path) {
                invalid.line = Some(*line);
                if path == invalid.key && !raw.is_empty() {
                    invalid.value.clone_from(raw);
                }
                return invalid;
            }
            // A missing key is reported at its table.
            let Some(at) = path.rfind(['.', '[']) else { return invalid };
            path = &path[..at];
        }
    }

    /// Whether a key is present and has not been taken out.
    pub(super) fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    fn take(&mut self, path: &str) -> Option<Value> {
        self.known.insert(path.to_owned());
        self.entries.remove(path)
    }

    pub(super) fn wrong(&self, path: &str, allowed: &str) -> Invalid {
        self.placed(Invalid::new(path, "", allowed))
    }

    /// How many parts a list has; 0 if it is missing.
    pub(super) fn list(&mut self, path: &str) -> Result<usize, Invalid> {
        Ok(self.list_if_any(path)?.unwrap_or(0))
    }

    /// How many parts a list has; `None` if it is missing.
    pub(super) fn list_if_any(&mut self, path: &str) -> Result<Option<usize>, Invalid> {
        match self.take(path) {
            None => Ok(None),
            Some(Value::List(count)) => Ok(Some(count)),
            Some(_) => Err(self.wrong(path, "a list")),
        }
    }

    /// Whether a table is present.
    pub(super) fn table(&mut self, path: &str) -> Result<bool, Invalid> {
        match self.take(path) {
            None => Ok(false),
            Some(Value::Table) => Ok(true),
            Some(_) => Err(self.wrong(path, "a table")),
        }
    }

    pub(super) fn text(&mut self, path: &str, allowed: &str) -> Result<Option<String>, Invalid> {
        match self.take(path) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(path, allowed)),
        }
    }

    pub(super) fn flag(&mut self, path: &str) -> Result<Option<bool>, Invalid> {
        match self.take(path) {
            None => Ok(None),
            Some(Value::Flag(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.wrong(path, "true or false")),
        }
    }

    /// A number that fits into the type.
    pub(super) fn number<N: TryFrom<u64>>(
        &mut self,
        path: &str,
        allowed: &str,
    ) -> Result<Option<N>, Invalid> {
        match self.take(path) {
            None => Ok(None),
            Some(Value::Number(Some(number))) => match N::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(self.wrong(path, allowed)),
            },
            Some(_) => Err(self.wrong(path, allowed)),
        }
    }

    /// Text that parses as a value, or a number whose digits do.
    pub(super) fn parsed<T>(
        &mut self,
        path: &str,
        allowed: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Invalid> {
        let text = match self.take(path) {
            None => return Ok(None),
            Some(Value::Text(text)) => text,
            Some(Value::Number(Some(number))) => number.to_string(),
            Some(_) => return Err(self.wrong(path, allowed)),
        };
        parse(&text).map(Some).ok_or_else(|| self.wrong(path, allowed))
    }

    /// Refuses keys that were never asked for.
    pub(super) fn finish(&self) -> Result<(), Invalid> {
        let line = |key: &&String| self.places.get(*key).map_or(0, |(line, _)| *line);
        let Some(first) = self.entries.keys().min_by_key(line) else { return Ok(()) };
        let parent = first.rfind('.').map_or("", |at| &first[..at + 1]);
        let sibling = |key: &&String| {
            key.strip_prefix(parent)
                .is_some_and(|rest| !rest.is_empty() && !rest.contains(['.', '[']))
        };
        let known: Vec<&str> =
            self.known.iter().filter(sibling).map(|key| &key[parent.len()..]).collect();
        let allowed = format!("a known key: one of {}", known.join(", "));
        Err(self.wrong(first, &allowed))
    }
}
