//! The time of day as a log line shows it, formatted once a second.

use crate::number::{padded, signed};
use crate::time::{CalendarSecond, LocalTimeFn};

/// Seconds that were formatted lately. One belongs to each thread that writes log lines.
///
/// Requests end out of order and are logged with their start, so several seconds are current
/// at a time: second `s` is kept in slot `s % 4` (mod_log_config keeps four as well).
#[derive(Clone, Debug)]
pub struct TimeCache {
    local_time: LocalTimeFn,
    slots: [CachedTime; 4],
}

#[derive(Clone, Copy, Debug)]
struct CachedTime {
    second: i64,
    text: [u8; 32],
    len: usize,
}

impl TimeCache {
    /// An empty cache over the local time zone.
    pub fn new(local_time: LocalTimeFn) -> Self {
        Self { local_time, slots: [CachedTime { second: i64::MIN, text: [0; 32], len: 0 }; 4] }
    }

    /// Breaks `second` down in the local time zone.
    pub(crate) fn local_time(&self, second: i64) -> CalendarSecond {
        (self.local_time)(second)
    }

    /// `[18/Sep/2011:19:18:28 -0400]`.
    pub(super) fn clf(&mut self, second: i64) -> &[u8] {
        let slot = &mut self.slots[(second & 3) as usize];
        if slot.second != second {
            let mut text = Vec::with_capacity(32);
            write_clf(&(self.local_time)(second), &mut text);
            slot.len = text.len().min(slot.text.len());
            slot.text[..slot.len].copy_from_slice(&text[..slot.len]);
            slot.second = second;
        }
        &slot.text[..slot.len]
    }
}

fn write_clf(time: &CalendarSecond, out: &mut Vec<u8>) {
    out.push(b'[');
    padded(u64::from(time.day), 2, b'0', out);
    out.push(b'/');
    out.extend_from_slice(time.month_abbreviation().as_bytes());
    out.push(b'/');
    signed(i64::from(time.year), out);
    for part in [time.hour, time.min, time.sec] {
        out.push(b':');
        padded(u64::from(part), 2, b'0', out);
    }
    out.push(b' ');
    time.write_offset(out);
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_changes_no_text() {
        let mut cache = TimeCache::new(CalendarSecond::utc);
        for step in [0, 1, 4, 0, 4, 1, 9, 0, -1] {
            let second = 1_316_387_908 + step;
            let mut fresh = Vec::new();
            write_clf(&CalendarSecond::utc(second), &mut fresh);
            assert_eq!(cache.clf(second), fresh);
        }
    }

    #[test]
    fn years_of_any_length_fit() {
        for second in [i64::from(i32::MIN) * 100_000, 0, 250_000_000_000_000] {
            let mut fresh = Vec::new();
            write_clf(&CalendarSecond::utc(second), &mut fresh);
            assert_eq!(TimeCache::new(CalendarSecond::utc).clf(second), fresh);
        }
    }
}
