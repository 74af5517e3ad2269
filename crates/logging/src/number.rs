//! Numbers as text without the formatting machinery, for lines that are written per request.
//! Every function appends to a buffer; none allocates on its own and none fails.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends `value` in decimal.
pub fn decimal(value: u64, out: &mut Vec<u8>) {
    padded(value, 1, b'0', out);
}

/// Appends `value` in decimal with a minus sign where it needs one.
pub(crate) fn signed(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    decimal(value.unsigned_abs(), out);
}

/// Appends `value` in decimal, at least `width` (up to 20) bytes wide, filled with `fill`.
pub fn padded(value: u64, width: usize, fill: u8, out: &mut Vec<u8>) {
    let mut digits = [fill; 20]; // 20 digits hold u64::MAX
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let start = at.min(digits.len() - width.min(digits.len()));
    out.extend_from_slice(&digits[start..]);
}

/// Appends `value` in hexadecimal, lower case, without leading zeros.
pub(crate) fn hexadecimal(value: u64, out: &mut Vec<u8>) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for at in (0..digits).rev() {
        out.push(HEX[(value >> (4 * at)) as usize & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn numbers_have_the_width_asked_for() {
        for value in [0, 1, 9, 10, 99, 1_000_000, u64::MAX] {
            assert_eq!(with(|out| decimal(value, out)), value.to_string());
            assert_eq!(with(|out| hexadecimal(value, out)), format!("{value:x}"));
            assert_eq!(with(|out| padded(value, 3, b' ', out)), format!("{value:3}"));
        }
        assert_eq!(with(|out| signed(i64::MIN, out)), i64::MIN.to_string());
    }
}
