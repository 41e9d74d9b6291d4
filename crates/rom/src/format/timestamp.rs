//! Timestamps in RFC 3339 format, in UTC and whole seconds: `2026-01-31T12:00:00Z`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Days in 400 years, after which the Gregorian calendar repeats.
const ERA: u64 = 146_097;

/// The time in whole seconds, so that it is the same after being written and read.
pub(crate) fn now() -> SystemTime {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(passed.as_secs())
}

/// Times before 1970 and after 9999 are written as the nearest time in that range.
pub(crate) fn text(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    let seconds = seconds.min(253_402_300_799);
    let (year, month, day) = date(seconds / 86400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let digits = text.as_bytes();
    if digits.len() != 20 {
        return None;
    }
    let number = |from: usize, to: usize| {
        digits[from..to].iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| 10 * number + u64::from(digit - b'0'))
        })
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days(year, month, day);
    let time = UNIX_EPOCH + Duration::from_secs(((days * 24 + hour) * 60 + minute) * 60 + second);
    // Text that does not survive the round trip was not a date, or had other separators.
    (self::text(time) == text).then_some(time)
}

/// Days from 1970-01-01 to a date. Years are counted from March, so that a leap day is the last of
/// its year.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The inverse of [`days`].
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = 400 * era + year;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        // From date(1).
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(text(time), expected);
            assert_eq!(parse(expected), Some(time));
        }
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in 0..ERA {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2023-02-29T00:00:00Z",
            "2023-04-31T00:00:00Z",
            "2023-00-10T00:00:00Z",
            "2023-01-01T24:00:00Z",
            "2023-01-01T23:60:00Z",
            "2023-01-01 23:00:00Z",
            "2023-01-01T23:00:00z",
            "1969-12-31T23:59:59Z",
            "+023-01-01T23:00:00Z",
            "2023-01-01T23:00:00+00:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
