//! Sizes as people read them, four bytes wide.

use logging::number::{decimal, padded};

/// A size in four bytes (`apr_strfsize`): ` 12 `, `1.5K`, `972M`.
pub fn size(bytes: Option<u64>, out: &mut Vec<u8>) {
    let Some(bytes) = bytes else {
        out.extend_from_slice(b"  - ");
        return;
    };
    if bytes < 973 {
        padded(bytes, 3, b' ', out);
        out.push(b' ');
        return;
    }
    // Divide until three digits do; what was cut off last decides how to round.
    let (mut whole, mut cut_off, mut unit) = (bytes >> 10, bytes & 1023, 0);
    while whole >= 973 {
        (whole, cut_off, unit) = (whole >> 10, whole & 1023, unit + 1);
    }
    if whole < 9 || (whole == 9 && cut_off < 973) {
        let tenths = whole * 10 + (cut_off * 5 + 256) / 512;
        decimal(tenths / 10, out);
        out.push(b'.');
        decimal(tenths % 10, out);
    } else {
        padded(whole + u64::from(cut_off >= 512), 3, b' ', out);
    }
    out.push(b"KMGTPE"[unit]); // u64::MAX is 16E
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_for_any_size() {
        for (bytes, expected) in [
            (None, "  - "),
            (Some(0), "  0 "),
            (Some(972), "972 "),
            (Some(973), "1.0K"),
            (Some(1500), "1.5K"),
            (Some(9215), "9.0K"),
            (Some(10_188), "9.9K"),
            (Some(10_189), " 10K"),
            (Some(99_999), " 98K"),
            (Some(996_146), "973K"),
            (Some(996_352), "1.0M"),
            (Some(972 << 20), "972M"),
            (Some(3 << 30), "3.0G"),
            (Some(u64::MAX), " 16E"),
        ] {
            let mut out = Vec::new();
            size(bytes, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{bytes:?}");
        }
    }
}
