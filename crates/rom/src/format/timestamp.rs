//! Timestamps in RFC 3339 format, in UTC and whole seconds: `2026-01-31T12:00:00Z`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time in whole seconds, so that it is the same after being written and read.
pub(crate) fn now() -> SystemTime {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(passed.as_secs())
}

/// Times before 1970 and after 9999 are written as the nearest time in that range.
pub(crate) fn text(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs());
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(253_402_300_799));
    humantime::format_rfc3339_seconds(time).to_string()
}

/// `None` for every text that [`text`] would not have written.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok().filter(|time| self::text(*time) == text)
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
