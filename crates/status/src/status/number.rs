//! Numbers as httpd prints them, so that what reads Apache's status page reads ours.

/// A quotient; 0 for a division by nothing.
#[expect(clippy::cast_precision_loss, reason = "a rate is read by people")]
pub(super) fn ratio(value: u64, by: u64) -> f64 {
    if by == 0 { 0.0 } else { value as f64 / by as f64 }
}

/// `%g` of six digits.
pub(super) fn general(value: f64) -> String {
    significant(value, 6)
}

/// `%.Ng` of the Apache Portable Runtime, which differs from C's: no 0 before the point, a point
/// in every mantissa, exponents as short as they are, and these only where more than four zeros
/// would stand before or three behind the point (apr_snprintf.c). `value` is finite and not below
/// zero.
pub(super) fn significant(value: f64, digits: usize) -> String {
    if value <= 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let kept = mantissa.replace('.', "");
    let kept = kept.trim_end_matches('0');
    let length = i32::try_from(kept.len()).unwrap_or(i32::MAX);
    let point = exponent + 1; // digits before the point, or minus the zeros behind it
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if point < -3 || point - length > 4 {
        let (first, rest) = kept.split_at(1);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{first}.{rest}e{sign}{}", exponent.abs());
    }
    match usize::try_from(point) {
        Ok(point) if point < kept.len() => format!("{}.{}", &kept[..point], &kept[point..]),
        Ok(_) => format!("{kept}{}", zeros(point - length)),
        Err(_) => format!(".{}{kept}", zeros(-point)),
    }
}

/// `409 B`, `5.8 kB` (format_byte_out of mod_status.c).
pub(super) fn bytes(count: u64) -> String {
    const KIB: u64 = 1 << 10;
    match count {
        0..5120 => format!("{count} B"),
        5120..524_288 => format!("{:.1} kB", ratio(count, KIB)),
        524_288..536_870_912 => format!("{:.1} MB", ratio(count, KIB << 10)),
        _ => format!("{:.1} GB", ratio(count, KIB << 20)),
    }
}

/// `22 kB`, `1.5 MB` (format_kbyte_out of mod_status.c).
pub(super) fn kilobytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} kB"),
        1024..1_048_576 => format!("{:.1} MB", ratio(count, 1 << 10)),
        _ => format!("{:.1} GB", ratio(count, 1 << 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What apr_snprintf of libapr 1.7 prints for these.
    #[test]
    fn numbers_have_the_shape_that_httpd_gives_them() {
        let rows = [
            (0.0, "0"),
            (1.0, "1"),
            (1_112.833_333_3, "1112.83"),
            (0.058_558_6, ".0585586"),
            (1.0 / 13.0, ".0769231"),
            (1.5e7, "1.5e+7"),
            (123_456.0, "123456"),
            (1_234_567.0, "1234570"),
            (999_999.5, "1.e+6"),
            (0.0001, ".0001"),
            (0.000_123_456_78, ".000123457"),
            (0.00001, "1.e-5"),
            (0.5, ".5"),
            (100.0, "100"),
            (1e10, "1.e+10"),
            (99_999.95, "99999.9"),
            (0.999_999_999, "1"),
        ];
        for (value, text) in rows {
            assert_eq!(general(value), text, "{value}");
        }
        for (value, text) in
            [(1_112.8, "1110"), (0.062_8, ".0628"), (99_999.95, "1.e+5"), (96.8649, "96.9")]
        {
            assert_eq!(significant(value, 3), text, "{value}");
        }
    }

    #[test]
    fn sizes_change_their_unit_where_httpd_changes_it() {
        let rows = [(409, "409 B"), (5119, "5119 B"), (5120, "5.0 kB"), (1 << 20, "1.0 MB")];
        for (count, text) in rows {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(bytes(1 << 30), "1.0 GB");
        let rows = [(22, "22 kB"), (1023, "1023 kB"), (1536, "1.5 MB"), (3 << 20, "3.0 GB")];
        for (count, text) in rows {
            assert_eq!(kilobytes(count), text);
        }
    }
}
