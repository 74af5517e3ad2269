//! Calendar text: a point in time broken down in some time zone, and `strftime` of it.
//! The time zone comes from the caller as a function, so nothing here asks the system.

use crate::number::{padded, signed};

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Breaks seconds since 1970 down in the local time zone; `localtime_r` in a server.
pub type LocalTimeFn = fn(i64) -> CalendarSecond;

/// A second on the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarSecond {
    /// Year of the common era, 2026 and the like.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub min: u8,
    /// 0 to 60; 60 is a leap second.
    pub sec: u8,
    /// 0 (Sunday) to 6.
    pub weekday: u8,
    /// 0 (1 January) to 365.
    pub(crate) yday: u16,
    /// Seconds east of Greenwich.
    pub(crate) offset_s: i32,
    /// What `%Z` prints.
    pub(crate) zone: ZoneName,
}

/// The abbreviation of a time zone; POSIX allows more than these 15 bytes but nobody uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneName {
    bytes: [u8; 15],
    len: u8,
}

impl ZoneName {
    /// The first 15 bytes of `name`.
    pub(crate) fn new(name: &[u8]) -> Self {
        let mut bytes = [0; 15];
        let len = name.len().min(bytes.len());
        bytes[..len].copy_from_slice(&name[..len]);
        Self { bytes, len: len as u8 }
    }

    /// The name.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl CalendarSecond {
    /// The time `unix_s` seconds after 1970 in Greenwich.
    pub fn utc(unix_s: i64) -> Self {
        Self::at_offset(unix_s, 0, ZoneName::new(b"UTC"))
    }

    /// The calendar at `offset_s` seconds east of Greenwich, `unix_s` seconds after 1970.
    pub(crate) fn at_offset(unix_s: i64, offset_s: i32, zone: ZoneName) -> Self {
        let shifted = unix_s + i64::from(offset_s);
        let (days, second) = (shifted.div_euclid(86_400), shifted.rem_euclid(86_400) as u32);
        let (year, month, day) = civil_from_days(days);
        let yday = days - days_from_civil(year, 1, 1);
        Self {
            year: year as i32,
            month,
            day,
            hour: (second / 3600) as u8,
            min: (second / 60 % 60) as u8,
            sec: (second % 60) as u8,
            weekday: (days + 4).rem_euclid(7) as u8, // 1970 began on a Thursday
            yday: yday as u16,
            offset_s,
            zone,
        }
    }

    /// Seconds since 1970.
    pub(crate) fn unix_s(&self) -> i64 {
        let days = days_from_civil(i64::from(self.year), self.month, self.day);
        let second = i64::from(self.hour) * 3600 + i64::from(self.min) * 60 + i64::from(self.sec);
        days * 86_400 + second - i64::from(self.offset_s)
    }

    /// `Jan` to `Dec`.
    pub(crate) fn month_abbreviation(&self) -> &'static str {
        &MONTHS[usize::from(self.month.clamp(1, 12)) - 1][..3]
    }

    /// `Sun` to `Sat`.
    pub(crate) fn day_abbreviation(&self) -> &'static str {
        &DAYS[usize::from(self.weekday) % 7][..3]
    }

    /// Appends the distance from Greenwich as `+hhmm`.
    pub(crate) fn write_offset(&self, out: &mut Vec<u8>) {
        out.push(if self.offset_s < 0 { b'-' } else { b'+' });
        let minutes = u64::from(self.offset_s.unsigned_abs() / 60);
        padded(minutes / 60 * 100 + minutes % 60, 4, b'0', out);
    }

    /// Week of the year, 0 to 53, where week 1 starts at the first day `first` (0 is Sunday).
    fn week(&self, first: u8) -> u64 {
        let since_first = u64::from((self.weekday + 7 - first) % 7);
        (u64::from(self.yday) + 7 - since_first) / 7
    }

    /// Year and week of ISO 8601: week 1 holds the first Thursday.
    fn iso_week(&self) -> (i64, u64) {
        let thursday_yday = i64::from(self.yday) + 3 - i64::from((self.weekday + 6) % 7);
        let year = i64::from(self.year);
        if thursday_yday < 0 {
            let yday = thursday_yday + days_in_year(year - 1);
            (year - 1, yday as u64 / 7 + 1)
        } else if thursday_yday >= days_in_year(year) {
            (year + 1, 1)
        } else {
            (year, thursday_yday as u64 / 7 + 1)
        }
    }
}

/// A compiled `strftime` format: the C locale's, without glibc's flags and widths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeFormat {
    pieces: Vec<TimePiece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TimePiece {
    Text(Vec<u8>),
    Conversion(u8),
}

impl TimeFormat {
    /// Compiles `format`. A conversion that is not known is copied, as glibc does.
    pub fn new(format: &[u8]) -> Self {
        let mut pieces = Vec::new();
        let mut text = Vec::new();
        let mut rest = format;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if byte != b'%' {
                text.push(byte);
                continue;
            }
            // %E and %O ask for alternative forms, of which the C locale has none.
            let skip = usize::from(matches!(rest.first(), Some(b'E' | b'O')));
            match rest.get(skip) {
                Some(&letter) if is_conversion(letter) => {
                    if !text.is_empty() {
                        pieces.push(TimePiece::Text(std::mem::take(&mut text)));
                    }
                    pieces.push(TimePiece::Conversion(letter));
                    rest = &rest[skip + 1..];
                }
                _ => text.push(b'%'),
            }
        }
        if !text.is_empty() {
            pieces.push(TimePiece::Text(text));
        }
        Self { pieces }
    }

    /// Appends `time` in this format.
    pub fn write(&self, time: &CalendarSecond, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                TimePiece::Text(text) => out.extend_from_slice(text),
                TimePiece::Conversion(letter) => convert(*letter, time, out),
            }
        }
    }
}

fn is_conversion(letter: u8) -> bool {
    b"aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%".contains(&letter)
}

/// Appends what `%letter` stands for.
fn convert(letter: u8, time: &CalendarSecond, out: &mut Vec<u8>) {
    let composed: &[u8] = match letter {
        b'c' => b"abeTY",
        b'D' | b'x' => b"mdy",
        b'F' => b"Ymd",
        b'R' => b"HM",
        b'r' => b"IMSp",
        b'T' | b'X' => b"HMS",
        _ => return convert_one(letter, time, out),
    };
    let separator = match letter {
        b'c' => b' ',
        b'D' | b'x' => b'/',
        b'F' => b'-',
        _ => b':',
    };
    for (at, &part) in composed.iter().enumerate() {
        if at > 0 {
            out.push(if part == b'p' { b' ' } else { separator });
        }
        convert(part, time, out);
    }
}

/// Appends a conversion that is one value.
fn convert_one(letter: u8, time: &CalendarSecond, out: &mut Vec<u8>) {
    let year = i64::from(time.year);
    let hour12 = match time.hour % 12 {
        0 => 12,
        hour => hour,
    };
    let (value, width, fill) = match letter {
        b'C' => (year.div_euclid(100) as u64, 2, b'0'),
        b'd' => (u64::from(time.day), 2, b'0'),
        b'e' => (u64::from(time.day), 2, b' '),
        b'g' => (time.iso_week().0.rem_euclid(100) as u64, 2, b'0'),
        b'H' => (u64::from(time.hour), 2, b'0'),
        b'I' => (u64::from(hour12), 2, b'0'),
        b'j' => (u64::from(time.yday) + 1, 3, b'0'),
        b'k' => (u64::from(time.hour), 2, b' '),
        b'l' => (u64::from(hour12), 2, b' '),
        b'm' => (u64::from(time.month), 2, b'0'),
        b'M' => (u64::from(time.min), 2, b'0'),
        b'S' => (u64::from(time.sec), 2, b'0'),
        b'u' => (u64::from((time.weekday + 6) % 7) + 1, 1, b'0'),
        b'U' => (time.week(0), 2, b'0'),
        b'V' => (time.iso_week().1, 2, b'0'),
        b'w' => (u64::from(time.weekday), 1, b'0'),
        b'W' => (time.week(1), 2, b'0'),
        b'y' => (year.rem_euclid(100) as u64, 2, b'0'),
        _ => return convert_text(letter, time, out),
    };
    padded(value, width, fill, out);
}

/// Appends a conversion that is not an unsigned number.
fn convert_text(letter: u8, time: &CalendarSecond, out: &mut Vec<u8>) {
    match letter {
        b'a' => out.extend_from_slice(time.day_abbreviation().as_bytes()),
        b'A' => out.extend_from_slice(DAYS[usize::from(time.weekday) % 7].as_bytes()),
        b'b' | b'h' => out.extend_from_slice(time.month_abbreviation().as_bytes()),
        b'B' => {
            let month = usize::from(time.month.clamp(1, 12)) - 1;
            out.extend_from_slice(MONTHS[month].as_bytes());
        }
        b'G' => signed(time.iso_week().0, out),
        b'n' => out.push(b'\n'),
        b'p' => out.extend_from_slice(if time.hour < 12 { b"AM" } else { b"PM" }),
        b'P' => out.extend_from_slice(if time.hour < 12 { b"am" } else { b"pm" }),
        b's' => signed(time.unix_s(), out),
        b't' => out.push(b'\t'),
        b'Y' => signed(i64::from(time.year), out),
        b'z' => time.write_offset(out),
        b'Z' => out.extend_from_slice(time.zone.as_bytes()),
        _ => out.push(letter), // "%%"
    }
}

fn days_in_year(year: i64) -> i64 {
    days_from_civil(year + 1, 1, 1) - days_from_civil(year, 1, 1)
}

/// Days since 1970-01-01 of a Gregorian date. Years are counted from March, so that the leap
/// day is the last of a year and a month's offset is one linear formula.
fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    let march_year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let march_month = i64::from((month + 9) % 12);
    let day_of_year = (153 * march_month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of `days_from_civil`.
fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468; // days since 0000-03-01
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let leap_corrected =
        day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096;
    let year_of_era = leap_corrected / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * march_month + 2) / 5 + 1) as u8;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month as u8, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: &str, time: &CalendarSecond) -> String {
        let mut out = Vec::new();
        TimeFormat::new(format.as_bytes()).write(time, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// 18 September 2011 19:18:28 in New York.
    fn new_york() -> CalendarSecond {
        CalendarSecond::at_offset(1_316_387_908, -4 * 3600, ZoneName::new(b"EDT"))
    }

    #[test]
    fn every_conversion_prints_what_date_prints() {
        // Expected values are those of `date -d @1316387908` in America/New_York, C locale.
        for (format, expected) in [
            ("%a %A", "Sun Sunday"),
            ("%b %B %h", "Sep September Sep"),
            ("%c", "Sun Sep 18 19:18:28 2011"),
            ("%C %y %Y", "20 11 2011"),
            ("%d %e %j", "18 18 261"),
            ("%D %x %F", "09/18/11 09/18/11 2011-09-18"),
            ("%G %g %V", "2011 11 37"),
            ("%H %I %k %l", "19 07 19  7"),
            ("%m %M %S", "09 18 28"),
            ("%p %P", "PM pm"),
            ("%r", "07:18:28 PM"),
            ("%R %T %X", "19:18 19:18:28 19:18:28"),
            ("%s", "1316387908"),
            ("%u %w", "7 0"),
            ("%U %W", "38 37"),
            ("%z %Z", "-0400 EDT"),
            ("a%nb%tc%%", "a\nb\tc%"),
            ("%Ey %Od %Q %", "11 18 %Q %"),
            ("", ""),
        ] {
            assert_eq!(text(format, &new_york()), expected, "{format}");
        }
    }

    #[test]
    fn half_hour_zones_and_names_of_any_length() {
        let time = CalendarSecond::at_offset(0, 5 * 3600 + 1800, ZoneName::new(b"+0530"));
        assert_eq!(text("%z %Z %H:%M", &time), "+0530 +0530 05:30");
        assert_eq!(ZoneName::new(b"0123456789abcdefgh").as_bytes(), b"0123456789abcde");
    }

    #[test]
    fn iso_weeks_at_the_turn_of_the_year() {
        for (unix_s, expected) in [
            (1_104_537_600, "2004-W53"), // 2005-01-01
            (1_230_595_200, "2009-W01"), // 2008-12-30
            (1_262_476_800, "2009-W53"), // 2010-01-03
            (1_262_563_200, "2010-W01"), // 2010-01-04
        ] {
            assert_eq!(text("%G-W%V", &CalendarSecond::utc(unix_s)), expected);
        }
    }

    #[test]
    fn breaking_down_and_building_up_are_inverse() {
        for day in (-1_000_000..1_000_000).step_by(97) {
            let unix_s = day * 86_400 + 4321;
            let time = CalendarSecond::utc(unix_s);
            assert_eq!(time.unix_s(), unix_s);
            assert!(time.yday < 366 && (1..=31).contains(&time.day));
        }
    }

    #[test]
    fn weekdays_follow_each_other() {
        let first = CalendarSecond::utc(-86_400 * 400);
        for day in 0..800u32 {
            let time = CalendarSecond::utc(86_400 * (i64::from(day) - 400));
            assert_eq!(u32::from(time.weekday), (u32::from(first.weekday) + day) % 7);
        }
    }
}
