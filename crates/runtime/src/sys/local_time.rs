//! Moments in the local time zone, from the C library: it knows the zone, and std does not.

use std::ffi::CStr;
use std::mem::MaybeUninit;

/// A moment in the local time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalTime {
    /// Year, such as 2026.
    pub year: i32,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second, 0 to 60.
    pub second: u8,
    /// Day of the week, 0 is Sunday.
    pub weekday: u8,
    /// Day of the year, 0 to 365.
    pub year_day: u16,
    /// Seconds east of UTC.
    pub offset_s: i32,
    /// Name of the zone, such as `CEST`, padded with NUL bytes.
    pub zone: [u8; 8],
}

/// `unix_s` in the local time zone.
pub fn local_time(unix_s: i64) -> LocalTime {
    let mut broken = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid; all-zero is a valid `tm` if the call refuses the year.
    let tm = unsafe {
        libc::localtime_r(&raw const unix_s, broken.as_mut_ptr());
        broken.assume_init()
    };
    let small = |value: i32| u8::try_from(value).unwrap_or(0);
    LocalTime {
        year: tm.tm_year + 1900,
        month: small(tm.tm_mon + 1),
        day: small(tm.tm_mday),
        hour: small(tm.tm_hour),
        minute: small(tm.tm_min),
        second: small(tm.tm_sec),
        weekday: small(tm.tm_wday),
        year_day: u16::try_from(tm.tm_yday).unwrap_or(0),
        offset_s: i32::try_from(tm.tm_gmtoff).unwrap_or(0),
        zone: zone_name(tm.tm_zone),
    }
}

fn zone_name(zone: *const libc::c_char) -> [u8; 8] {
    let mut name = [0; 8];
    if !zone.is_null() {
        // SAFETY: localtime_r sets tm_zone to a string of the C library that stays valid.
        let bytes = unsafe { CStr::from_ptr(zone) }.to_bytes();
        let used = bytes.len().min(name.len());
        name[..used].copy_from_slice(&bytes[..used]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_time_of_a_known_moment_agrees_with_its_own_offset() {
        let time = local_time(1_316_369_908); // 2011-09-18 18:18:28 UTC
        let seconds_of_day =
            i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second)
                - i64::from(time.offset_s);
        assert_eq!(seconds_of_day.rem_euclid(86_400), 1_316_369_908 % 86_400);
        assert_eq!(time.year, 2011);
    }
}
