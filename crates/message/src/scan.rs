//! Byte scanning, eight bytes at a time without `unsafe` (SWAR: SIMD within a register).
//!
//! Each mask below marks a wanted byte by its top bit. Borrows may falsely mark a byte *above* a
//! true hit, never below one, so the lowest marked byte is always exact; only that one is used.

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Marks bytes equal to zero.
const fn zero(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & TOPS
}

/// Marks bytes equal to `byte`.
const fn equal(word: u64, byte: u8) -> u64 {
    zero(word ^ (ONES * byte as u64))
}

/// Marks bytes below `bound`, which is at most 0x80.
const fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * bound as u64) & !word & TOPS
}

/// Position of the first byte for which `mask` (on words) and `hit` (on bytes) agree.
#[inline(always)]
fn position(bytes: &[u8], mask: impl Fn(u64) -> u64, hit: impl Fn(u8) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let marks = mask(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return Some(at + (marks.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    bytes[at..].iter().position(|&byte| hit(byte)).map(|found| at + found)
}

/// Position of the first `byte`.
#[inline]
pub fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    position(bytes, |word| equal(word, byte), |b| b == byte)
}

/// Position of the first byte that is `one` or `other`.
#[inline]
pub fn find_either(bytes: &[u8], one: u8, other: u8) -> Option<usize> {
    position(bytes, |word| equal(word, one) | equal(word, other), |b| b == one || b == other)
}

/// Position of the first control byte: below 0x20 or 0x7f. A tab counts as one; callers that allow
/// it step over it and go on.
#[inline]
pub fn find_control(bytes: &[u8]) -> Option<usize> {
    position(bytes, |word| below(word, 0x20) | equal(word, 0x7f), |b| b < 0x20 || b == 0x7f)
}

/// Position of the first byte that is a control or a space.
#[inline]
pub fn find_control_or_space(bytes: &[u8]) -> Option<usize> {
    position(bytes, |word| below(word, 0x21) | equal(word, 0x7f), |b| b < 0x21 || b == 0x7f)
}

/// Bytes of an RFC 9110 token (`tchar`, section 5.6.2).
static TOKEN: [bool; 256] = token_table();

const fn token_table() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric()
            || matches!(
                b,
                b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_'
            )
            || matches!(b, b'`' | b'|' | b'~');
        byte += 1;
    }
    table
}

/// Whether `byte` may stand in a token.
#[inline]
pub fn is_token_byte(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// Whether `bytes` is a token: at least one byte, and only token bytes.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_token_byte(byte))
}

/// `bytes` without optional white space (RFC 9110 OWS: space and tab only) at either end. Other
/// bytes that some languages call white space, 0x85 or 0xa0, are kept.
pub fn trim_ows(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The elements of a comma-separated list without white space around them. Empty elements are
/// yielded too, because some lists must refuse them.
pub fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim_ows)
}

/// Whether a value or a reason phrase has no control character but tabs: `field-content` of
/// RFC 9110 section 5.5, with spaces anywhere.
pub fn is_field_content(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn word_scans_agree_with_byte_scans(bytes: std::vec::Vec<u8>, one: u8, other: u8) {
            let slow = |hit: &dyn Fn(u8) -> bool| bytes.iter().position(|&b| hit(b));
            prop_assert_eq!(find(&bytes, one), slow(&|b| b == one));
            prop_assert_eq!(find_either(&bytes, one, other), slow(&|b| b == one || b == other));
            prop_assert_eq!(find_control(&bytes), slow(&|b| b.is_ascii_control()));
            prop_assert_eq!(
                find_control_or_space(&bytes),
                slow(&|b| b.is_ascii_control() || b == b' ')
            );
        }

        // Random bytes nearly always hit in the first word; mostly plain ones reach the rest.
        #[test]
        fn rare_hits_are_found(before in 0usize..40, byte in any::<u8>(), after in 0usize..40) {
            let mut bytes = std::vec![b'x'; before];
            bytes.push(byte);
            bytes.extend(std::vec![b'x'; after]);
            let expect = byte.is_ascii_control().then_some(before);
            prop_assert_eq!(find_control(&bytes), expect);
        }
    }

    #[test]
    fn the_token_table_is_tchar() {
        let marks = b"!#$%&'*+-.^_`|~";
        for byte in 0..=255u8 {
            let expect = byte.is_ascii_alphanumeric() || marks.contains(&byte);
            assert_eq!(is_token_byte(byte), expect, "{byte:#x}");
        }
        assert!(!is_token(b""));
    }

    #[test]
    fn only_space_and_tab_are_trimmed() {
        assert_eq!(trim_ows(b" \ta b\t "), b"a b");
        assert_eq!(trim_ows(b"\x85a\xa0"), b"\x85a\xa0");
        assert_eq!(trim_ows(b" "), b"");
    }
}
