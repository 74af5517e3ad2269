//! Dates of the Gregorian calendar: of fields, of logs, and as HAR has them. No clock lives here.

/// Seconds since 1970, not below 0, of a date whose words may stand in any order, as browsers take
/// those of cookies (RFC 6265 section 5.1.1).
pub(crate) fn seconds(text: &[u8]) -> Option<u64> {
    let is_delimiter = |byte: &u8| !(byte.is_ascii_alphanumeric() || *byte == b':');
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for word in text.split(is_delimiter).filter(|word| !word.is_empty()) {
        let number = || std::str::from_utf8(word).ok()?.parse::<i64>().ok();
        if time.is_none() && word.contains(&b':') {
            time = time_s(word);
        } else if day.is_none() && word.len() <= 2 && number().is_some() {
            day = number();
        } else if month.is_none() && month_number(word).is_some() {
            month = month_number(word);
        } else if year.is_none() && matches!(word.len(), 2 | 4) {
            // Two digits: from 70 on it was the last century.
            year = number().map(|year| match year {
                70..=99 => year + 1900,
                0..=69 => year + 2000,
                year => year,
            });
        }
    }
    let (year, day) = (year?, day?);
    if !(1601..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = days_since_1970(year, month?, day) * 86_400 + time?;
    Some(u64::try_from(seconds).unwrap_or(0))
}

/// `hh:mm:ss`.
fn time_s(word: &[u8]) -> Option<i64> {
    let mut numbers = std::str::from_utf8(word).ok()?.splitn(3, ':').map(|n| n.parse::<i64>().ok());
    let (hours, minutes, seconds) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let is_good = hours < 24 && minutes < 60 && seconds < 60;
    is_good.then_some(hours * 3600 + minutes * 60 + seconds)
}

/// The number of a month, from 1, by its first three letters.
pub(crate) fn month_number(word: &[u8]) -> Option<i64> {
    const NAMES: &[u8; 36] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let start = word.get(..3)?;
    let at = NAMES.chunks(3).position(|name| name.eq_ignore_ascii_case(start))?;
    i64::try_from(at + 1).ok()
}

/// Days from 1970-01-01 to a day of the Gregorian calendar. The year begins in March here, so that
/// the day that only some years have comes last.
pub(crate) const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// `2026-01-31T12:00:00.123456Z` (ISO 8601).
pub(crate) fn iso(unix_us: i64) -> String {
    let (seconds, us) = (unix_us.div_euclid(1_000_000), unix_us.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z")
}

/// The date of a day since 1970. Years are counted from March, so that the leap day is the last of
/// its year, in eras of 400 years.
const fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let rows = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399_999_999, "2000-02-28T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_769_860_800_123_456, "2026-01-31T12:00:00.123456Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
        ];
        rows.into_iter().for_each(|(us, wanted)| assert_eq!(iso(us), wanted));
    }
}
