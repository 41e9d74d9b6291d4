//! Options that take a whole number.

use std::fmt::Display;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::{StringValueParser, TypedValueParser};

/// Counts of threads, and numbers of fields.
pub(crate) const FROM_ONE: RangeInclusive<NonZero<u16>> = NonZero::<u16>::MIN..=NonZero::<u16>::MAX;

/// The parser of an option that takes a decimal number in this range; what else is given is an
/// error that names the range.
pub(crate) fn number<T>(range: RangeInclusive<T>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    StringValueParser::new().try_map(move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (from, to) = (range.start(), range.end());
            format!("expected a whole number from {from} to {to}")
        })
    })
}
