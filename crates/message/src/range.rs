//! Byte ranges (RFC 9110 section 14): from a Range field and a length to what is sent, with the
//! rules of httpd's `ap_set_byterange`, merging of neighbours included.

use crate::limits;
use crate::scan;
use alloc::vec::Vec;

/// Digits of the longest number that is taken for a position. 18 always fit 64 bits, and no file is
/// longer; more digits are an attempt at overflow (CVE-2017-7529) and make the field malformed.
const DIGITS_MAX: usize = 18;

/// `first..=last`, both within the representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// Position of the first byte.
    pub first: u64,
    /// Position of the last byte; never before `first`.
    pub last: u64,
}

impl ByteRange {
    /// Number of bytes, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub const fn len(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// `MaxRanges`, `MaxRangeOverlaps`, `MaxRangeReversals`.
#[derive(Clone, Copy, Debug)]
pub struct RangeLimits {
    /// Ranges sent at most.
    pub max_ranges: usize,
    /// Ranges merged into their predecessor at most.
    pub max_overlaps: usize,
    /// Ranges that extend their predecessor downwards at most.
    pub max_reversals: usize,
}

impl Default for RangeLimits {
    fn default() -> Self {
        Self {
            max_ranges: limits::MAX_RANGES,
            max_overlaps: limits::MAX_RANGE_OVERLAPS,
            max_reversals: limits::MAX_RANGE_REVERSALS,
        }
    }
}

/// How to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangePlan {
    /// As if there were no Range field: 200 and all of it.
    Ignore,
    /// 206 with this range.
    One(ByteRange),
    /// 206 as `multipart/byteranges`, in this order; at least two.
    Many(Vec<ByteRange>),
    /// 416 with `Content-Range: bytes */length`.
    Unsatisfiable,
}

/// Plans the answer to a Range field value on a representation of `length` bytes.
pub fn plan(value: &[u8], length: u64, limits: &RangeLimits) -> RangePlan {
    let Some((unit, set)) = value.split_at_checked(6) else { return RangePlan::Ignore };
    // An empty representation has no part to send; httpd then answers 200 rather than 416.
    if length == 0 || !unit.eq_ignore_ascii_case(b"bytes=") {
        return RangePlan::Ignore;
    }
    let mut merger = Merger::default();
    let mut unsatisfiable = false;
    for spec in scan::list(set).filter(|spec| !spec.is_empty()) {
        match resolve(spec, length) {
            // One malformed member spoils the whole field.
            None => return RangePlan::Ignore,
            Some(None) => unsatisfiable = true,
            Some(Some(range)) => merger.add(range),
        }
        if merger.exceeds(limits) {
            return RangePlan::Ignore;
        }
    }
    match &merger.done[..] {
        [] if unsatisfiable => RangePlan::Unsatisfiable,
        [] => RangePlan::Ignore,
        // Ranges that add up to more than the file are cheaper sent as the file.
        many if total(many) > length => RangePlan::Ignore,
        [one] => RangePlan::One(*one),
        _ => RangePlan::Many(merger.done),
    }
}

/// Bytes of all ranges together; at the top it stays there rather than wrap.
fn total(ranges: &[ByteRange]) -> u64 {
    ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.len()))
}

/// Turns one spec into a range. The outer option says whether it is well-formed, the inner one
/// whether it overlaps the representation, whose length is not 0.
fn resolve(spec: &[u8], length: u64) -> Option<Option<ByteRange>> {
    let dash = scan::find(spec, b'-')?;
    let (before, after) = (&spec[..dash], &spec[dash + 1..]);
    let end = length - 1;
    if before.is_empty() {
        let suffix = number(after)?;
        let first = length.saturating_sub(suffix);
        return Some((suffix > 0).then_some(ByteRange { first, last: end }));
    }
    let first = number(before)?;
    let last = if after.is_empty() { end.max(first) } else { number(after)? };
    if last < first {
        return None;
    }
    Some((first < length).then_some(ByteRange { first, last: last.min(end) }))
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// Joins each range with the one before it if they overlap or touch, and counts how often.
#[derive(Default)]
struct Merger {
    done: Vec<ByteRange>,
    overlaps: usize,
    reversals: usize,
}

impl Merger {
    fn add(&mut self, range: ByteRange) {
        let Some(open) = self.done.last_mut() else { return self.done.push(range) };
        // `first - 1` and `last + 1` below: both stay in range, as positions have 18 digits.
        let touches = range.first <= open.last + 1 && range.last + 1 >= open.first;
        if !touches {
            return self.done.push(range);
        }
        self.overlaps += 1;
        if range.first < open.first {
            self.reversals += 1;
            open.first = range.first;
        }
        open.last = open.last.max(range.last);
    }

    /// Whether going on is pointless. `MaxRanges` bounds the memory too.
    fn exceeds(&self, limits: &RangeLimits) -> bool {
        self.done.len() > limits.max_ranges
            || self.overlaps > limits.max_overlaps
            || self.reversals > limits.max_reversals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::String;

    fn plan_of(value: &str, length: u64) -> RangePlan {
        plan(value.as_bytes(), length, &RangeLimits::default())
    }

    fn one(first: u64, last: u64) -> RangePlan {
        RangePlan::One(ByteRange { first, last })
    }

    #[test]
    fn single_ranges() {
        let rows: &[(&str, &str, RangePlan)] = &[
            ("M4", "bytes=0-0", one(0, 0)),
            ("M4", "bytes=-1", one(9999, 9999)),
            ("M4", "bytes=5-", one(5, 9999)),
            ("M4", "bytes=0-10001", one(0, 9999)),
            ("M4", "BYTES=0-1", one(0, 1)),
            ("M4", "bytes=-20000", one(0, 9999)),
            ("M5", "bytes=5-2", RangePlan::Ignore),
            ("M5", "bytes=alpha", RangePlan::Ignore),
            ("M5", "lines=0-1", RangePlan::Ignore),
            ("M5", "bytes=", RangePlan::Ignore),
            ("M5", "bytes", RangePlan::Ignore),
            ("M5", "", RangePlan::Ignore),
            ("M5", "bytes=-", RangePlan::Ignore),
            ("M5", "bytes=,", RangePlan::Ignore),
            ("M5", "bytes=+1-2", RangePlan::Ignore),
            ("M5", "bytes=1-2-3", RangePlan::Ignore),
            ("M5", "bytes=0-1,x", RangePlan::Ignore),
            ("M5", "bytes=0 - 1", RangePlan::Ignore),
            ("M6", "bytes=100000-", RangePlan::Unsatisfiable),
            ("M6", "bytes=10000-10001", RangePlan::Unsatisfiable),
            ("M6", "bytes=-0", RangePlan::Unsatisfiable),
            ("M6", "bytes=-0,0-1", one(0, 1)),
            ("CVE 44", "bytes=-9223372036854775608", RangePlan::Ignore),
            ("CVE 44", "bytes=18446744073709551615-", RangePlan::Ignore),
            ("CVE 44", "bytes=999999999999999999-999999999999999999", RangePlan::Unsatisfiable),
        ];
        for (id, value, expect) in rows {
            assert_eq!(&plan_of(value, 10_000), expect, "{id} {value}");
        }
        assert_eq!(plan_of("bytes=0-", 0), RangePlan::Ignore);
        assert_eq!(plan_of("bytes=-5", 0), RangePlan::Ignore);
        assert_eq!(plan_of("bytes=0-", u64::MAX), one(0, u64::MAX - 1));
    }

    #[test]
    fn several_ranges() {
        let range = |first, last| ByteRange { first, last };
        // White space and empty members: RFC 9110 section 5.6.1 (httpd takes no white space).
        let many = plan_of("bytes=0-1, 5-6,\t,3-3", 100);
        assert_eq!(many, RangePlan::Many(std::vec![range(0, 1), range(5, 6), range(3, 3)]));
        // Neighbours are joined with the one before, in both directions.
        assert_eq!(plan_of("bytes=0-1,2-3", 100), one(0, 3));
        assert_eq!(plan_of("bytes=5-9,2-4", 100), one(2, 9));
        assert_eq!(plan_of("bytes=2-8,3-4", 100), one(2, 8));
        // Those out of reach are left out.
        assert_eq!(plan_of("bytes=0-1,200-300", 100), one(0, 1));
        // More bytes than the file has: the file itself.
        assert_eq!(plan_of("bytes=0-60,90-99,0-60", 100), RangePlan::Ignore);
    }

    #[test]
    fn cve_43_many_overlapping_ranges_are_the_whole_file() {
        let mut value = String::from("bytes=0-");
        (0..1300).for_each(|n| value += &std::format!(",5-{n}"));
        assert_eq!(plan_of(&value, 10_000), RangePlan::Ignore);
        let apart = |n: u64| {
            let specs: Vec<String> = (0..n).map(|i| std::format!("{}-{}", i * 3, i * 3)).collect();
            plan_of(&std::format!("bytes={}", specs.join(",")), 10_000)
        };
        assert!(matches!(apart(200), RangePlan::Many(ranges) if ranges.len() == 200));
        assert_eq!(apart(201), RangePlan::Ignore);
    }

    proptest! {
        #[test]
        fn plans_stay_within_the_length(value in "bytes=([0-9]{0,20}-?[0-9]{0,20},?){0,6}",
                                        length: u64) {
            let inside = |range: &ByteRange| range.first <= range.last && range.last < length;
            match plan_of(&value, length) {
                RangePlan::One(range) => prop_assert!(inside(&range)),
                RangePlan::Many(ranges) => {
                    prop_assert!(ranges.len() > 1 && ranges.iter().all(inside));
                    prop_assert!(total(&ranges) <= length);
                }
                RangePlan::Ignore | RangePlan::Unsatisfiable => {}
            }
        }

        #[test]
        fn no_input_panics(value: Vec<u8>, length: u64) {
            let _ = plan(&value, length, &RangeLimits::default());
        }
    }
}
