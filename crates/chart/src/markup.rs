//! Text for the page: escaping, numbers for people, dates.

use std::fmt::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

/// A text in HTML, XML or a quoted attribute. What XML cannot hold at all becomes U+FFFD.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                _ => f.write_char(printable(character))?,
            }
        }
        Ok(())
    }
}

/// The character, or U+FFFD for one that XML cannot hold or that changes the direction of the text
/// around it.
#[must_use]
pub fn printable(character: char) -> char {
    match character {
        '\t' | '\n' | '\r' => character,
        '\0'..' ' | '\u{7F}'..'\u{A0}' | '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => '\u{FFFD}',
        _ => character,
    }
}

/// A sentence in which no line ends between a number and its unit.
pub fn unbroken(sentence: &str) -> String {
    let units = [" B", " KiB", " MiB", " GiB", " TiB", " GB/s", " ms", " s", " %"];
    let mut text = String::with_capacity(sentence.len());
    for (i, c) in sentence.char_indices() {
        let after = &sentence[i..];
        let is_unit = |unit: &&str| {
            after.strip_prefix(*unit).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        let follows_digit = text.ends_with(|c: char| c.is_ascii_digit());
        let stays = c == ' ' && follows_digit && units.iter().any(is_unit);
        text.push(if stays { '\u{A0}' } else { c });
    }
    text
}

/// A part of an identifier: letters, digits and dashes.
pub fn slug(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars().take(40).map(allowed).collect()
}

/// A number with three or four significant digits, as `1,346`, `58.3`, `0.0471` or `2.1e12`; a dash
/// for anything that is not a number.
pub fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        ..1e-3 => format!("{value:.2e}"),
        ..0.1 => format!("{value:.4}"),
        ..1.0 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        ..1e9 => grouped(value),
        _ => format!("{value:.2e}"),
    }
}

fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A tick's label: a number as short as it can be, as `1.5k`, `20M`, `0.25`.
pub fn tick(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        ..1e3 => (value, ""),
        ..1e6 => (value / 1e3, "k"),
        ..1e9 => (value / 1e6, "M"),
        ..1e12 => (value / 1e9, "G"),
        _ => return format!("{value:.0e}"),
    };
    if scaled != 0.0 && scaled.abs() < 1e-3 {
        return format!("{value:.0e}");
    }
    let text = format!("{scaled:.4}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A size, given in KiB, as `448 KiB` or `1.75 MiB`.
pub fn kib(size: f64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if size > 0.0 && size < 1.0 {
        return format!("{} B", tick(size * 1024.0));
    }
    scaled(size, &units)
}

/// A size, given in bytes.
pub fn bytes(size: f64) -> String {
    scaled(size, &["B", "KiB", "MiB", "GiB", "TiB"])
}

fn scaled(size: f64, units: &[&str]) -> String {
    let (mut size, mut unit) = (size, 0);
    while size >= 1024.0 && unit + 1 < units.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    let text = format!("{size:.2}");
    format!("{} {}", text.trim_end_matches('0').trim_end_matches('.'), units[unit])
}

/// A ratio to hundredths, or with other precision if it is small or large.
pub fn factor(ratio: f64) -> String {
    if (0.1..100.0).contains(&ratio) { format!("{ratio:.2}") } else { number(ratio) }
}

/// A part as percent: `98 %`, `0.5 %`.
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    match percent.abs() {
        10.0..1e6 => format!("{percent:.0} %"),
        0.05..10.0 => format!("{percent:.1} %"),
        _ => format!("{} %", number(percent)),
    }
}

/// `1 thread`, `2 threads`.
pub fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The last second that a year of four digits has.
const LAST_SECOND: u64 = 253_402_300_799;

/// Seconds since 1970 as `2026-01-01 00:00 UTC`.
pub fn date(unix_time: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(unix_time.min(LAST_SECOND));
    let text = humantime::format_rfc3339_seconds(time).to_string();
    format!("{} UTC", text[..16].replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        let texts =
            [0.0, 1346.4, 58.26, 1.0, 0.0471, 1_234_567.0, -1000.0, 2.1e12, 1e-9].map(number);
        let expected =
            ["0", "1,346", "58.3", "1.00", "0.0471", "1,234,567", "-1,000", "2.10e12", "1.00e-9"];
        assert_eq!(texts, expected);
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(
            [0.0, 0.25, 1500.0, 2e7, 1e-5, 1e300].map(tick),
            ["0", "0.25", "1.5k", "20M", "1e-5", "1e300"]
        );
        assert_eq!(
            [448.0, 1792.0, 14336.0, 0.25, 1e20].map(kib),
            ["448 KiB", "1.75 MiB", "14 MiB", "256 B", "93132257461.55 TiB"]
        );
        assert_eq!(
            [0.0, 100.0, 1023.0, 1024.0, 458_752.0, 1.5 * 1_073_741_824.0].map(bytes),
            ["0 B", "100 B", "1023 B", "1 KiB", "448 KiB", "1.5 GiB"]
        );
        assert_eq!([0.983, 0.0051, 12.0].map(percent), ["98 %", "0.5 %", "1200 %"]);
    }

    #[test]
    fn numbers_stay_with_their_units() {
        let text = "1 MiB at 2.90 ms, 98 % of 3 GB/s; 4 sizes, a B";
        let expected = "1\u{A0}MiB at 2.90\u{A0}ms, 98\u{A0}% of 3\u{A0}GB/s; 4 sizes, a B";
        assert_eq!(unbroken(text), expected);
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59 UTC");
        assert_eq!(date(u64::MAX), "9999-12-31 23:59 UTC");
    }

    #[test]
    fn hostile_text_stays_text() {
        let text = Escaped("<script>&\"'\0\u{1b}\u{202e}\n").to_string();
        assert_eq!(text, "&lt;script&gt;&amp;&quot;&#39;\u{FFFD}\u{FFFD}\u{FFFD} ");
        assert_eq!(slug("Seed000/\"<x>"), "seed000---x-");
    }
}
