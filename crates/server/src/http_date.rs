//! HTTP-dates (RFC 9110 section 5.6.7).

use std::time::{Duration, UNIX_EPOCH};

/// IMF-fixdate of `unix_s`.
pub fn http_date(unix_s: i64) -> String {
    let since = Duration::from_secs(u64::try_from(unix_s).unwrap_or(0));
    httpdate::fmt_http_date(UNIX_EPOCH + since)
}

/// Seconds since 1970 of an HTTP-date in any of its three forms; `None` for anything else.
pub fn parse_http_date(value: &[u8]) -> Option<i64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    let since = date.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}
