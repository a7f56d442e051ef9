//! Milliseconds since 1970 in the form that people and files use: UTC, RFC 3339.
//!
//! Reads nothing, writes nothing. Invariant: total; a time that no calendar can represent becomes the epoch.

use chrono::{DateTime, FixedOffset, Offset, Utc};

fn calendar(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or_default()
}

/// `2026-01-13T10:00:00.123Z`
pub fn timestamp(ms: i64) -> String {
    calendar(ms).format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// `20260113`, as at the beginning of session folders' names.
pub fn day(ms: i64) -> String {
    calendar(ms).format("%Y%m%d").to_string()
}

/// The same moment on a clock this many seconds east of UTC.
fn local(ms: i64, east: i32) -> DateTime<FixedOffset> {
    calendar(ms).with_timezone(&FixedOffset::east_opt(east).unwrap_or_else(|| Utc.fix()))
}

/// `2026-01-13 11:00:00 +01:00`
pub fn local_stamp(ms: i64, east: i32) -> String {
    local(ms, east).format("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// `2026-01-13`
pub fn local_day(ms: i64, east: i32) -> String {
    local(ms, east).format("%Y-%m-%d").to_string()
}

/// `11:00:00`
pub fn local_clock(ms: i64, east: i32) -> String {
    local(ms, east).format("%H:%M:%S").to_string()
}

/// `+01:00`
pub fn zone(east: i32) -> String {
    local(0, east).format("%:z").to_string()
}

pub fn parse(timestamp: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(timestamp).ok().map(|t| t.timestamp_millis())
}

/// How long ago, in one unit: `3 s`, `12 min`, `5 h`, `9 d`.
pub fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// `30s`, `10m`, `2h`, `1d` in milliseconds; a time that is too long for a number becomes the longest one.
pub fn period(text: &str) -> Option<i64> {
    let units = [('s', 1_000), ('m', 60_000), ('h', 3_600_000), ('d', 86_400_000)];
    let (digits, unit) = units.iter().find_map(|(letter, unit)| Some((text.strip_suffix(*letter)?, unit)))?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let long = digits.parse::<i64>().ok().and_then(|n| n.checked_mul(*unit)).unwrap_or(i64::MAX);
    (long > 0).then_some(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        assert_eq!(timestamp(1_768_298_400_123), "2026-01-13T10:00:00.123Z");
        assert_eq!(parse("2026-01-13T10:00:00.123Z"), Some(1_768_298_400_123));
        assert_eq!(day(1_768_298_400_123), "20260113");
        assert_eq!(timestamp(i64::MAX), "1970-01-01T00:00:00.000Z");
        assert_eq!(age(125_000), "2 min");
        assert_eq!(local_stamp(1_768_298_400_123, 3600), "2026-01-13 11:00:00 +01:00");
        assert_eq!(
            (local_day(1_768_298_400_123, -43_200), zone(19_800)),
            ("2026-01-12".into(), "+05:30".into())
        );
    }
}
