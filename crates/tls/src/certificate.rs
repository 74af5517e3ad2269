//! What is read from a certificate here: the size of its key, and from when until when it is valid.
//! The bytes come from the network, and versions of X.509 that rustls rejects are read as well, as
//! nobody has to trust a certificate to be told about it.

/// Tags of DER (X.690).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// Kinds of keys whose size is that of the kind: the object identifier, bits as OpenSSL says.
const OF_KIND: &[(&[u8], u32)] = &[
    // prime256v1, secp384r1, secp521r1 (RFC 5480)
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], 256),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], 384),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], 521),
    // Ed25519, Ed448 (RFC 8410)
    (&[0x2b, 0x65, 0x70], 253),
    (&[0x2b, 0x65, 0x71], 456),
];

/// rsaEncryption (RFC 8017).
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// Bits of the public key of a certificate (RFC 5280 section 4.1), unless it is of no known kind.
pub(crate) fn key_bits(der: &[u8]) -> Option<u32> {
    // Serial number, signature, issuer, validity and subject come before the key.
    let (key_info, _) = inside(SEQUENCE, behind(5, der)?)?;
    let (algorithm, rest) = inside(SEQUENCE, key_info)?;
    let (kind, parameters) = inside(OBJECT_IDENTIFIER, algorithm)?;
    if kind == RSA {
        let (bits, _) = inside(BIT_STRING, rest)?;
        return rsa_bits(bits.get(1..)?);
    }
    let curve = inside(OBJECT_IDENTIFIER, parameters).map_or(kind, |(curve, _)| curve);
    OF_KIND.iter().find(|row| row.0 == curve).map(|row| row.1)
}

/// The first and the last second at which a certificate is valid, since 1970 (RFC 5280 section
/// 4.1.2.5).
pub(crate) fn validity(der: &[u8]) -> Option<(i64, i64)> {
    // Serial number, signature and issuer come before it.
    let (validity, _) = inside(SEQUENCE, behind(3, der)?)?;
    let (tag, from, rest) = element(validity)?;
    let from_s = moment_s(tag, from)?;
    let (tag, until, _) = element(rest)?;
    Some((from_s, moment_s(tag, until)?))
}

/// `YYMMDDHHMMSSZ` of the years 1950 to 2049, or `YYYYMMDDHHMMSSZ`.
fn moment_s(tag: u8, text: &[u8]) -> Option<i64> {
    let digits = text.strip_suffix(b"Z")?;
    let (year, rest) = digits.split_at_checked(digits.len().checked_sub(10)?)?;
    let [month, day, hour, minute, second] = [0, 2, 4, 6, 8].map(|at| number(&rest[at..at + 2]));
    let year = match (tag, year.len(), number(year)?) {
        (UTC_TIME, 2, year) if year < 50 => 2000 + year,
        (UTC_TIME, 2, year) => 1900 + year,
        (GENERALIZED_TIME, 4, year) => year,
        _ => return None,
    };
    let days = days(year, month?, day?)?;
    Some(((days * 24 + hour?) * 60 + minute?) * 60 + second?)
}

fn number(digits: &[u8]) -> Option<i64> {
    let add =
        |sum: i64, digit: &u8| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'));
    digits.iter().try_fold(0, add)
}

/// Days from 1970 to a date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let in_year = (153 * month + 2) / 5 + day - 1;
    Some(
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year
            - 719_468,
    )
}

/// What a certificate says behind its version and so many elements more.
fn behind(elements: u32, der: &[u8]) -> Option<&[u8]> {
    let (certificate, _) = inside(SEQUENCE, der)?;
    let (mut to_be_signed, _) = inside(SEQUENCE, certificate)?;
    if let Some((_, rest)) = inside(VERSION, to_be_signed) {
        to_be_signed = rest;
    }
    for _ in 0..elements {
        (_, _, to_be_signed) = element(to_be_signed)?;
    }
    Some(to_be_signed)
}

/// Bits of the modulus.
fn rsa_bits(key: &[u8]) -> Option<u32> {
    let (key, _) = inside(SEQUENCE, key)?;
    let (modulus, _) = inside(INTEGER, key)?;
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    let digits = &modulus[zeros..];
    let bits = u32::try_from(digits.len()).ok()?.checked_mul(8)?;
    Some(bits - digits.first()?.leading_zeros())
}

/// The contents of the element at the beginning, if it has this tag, and what follows it.
fn inside(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, contents, rest) = element(bytes)?;
    (found == tag).then_some((contents, rest))
}

/// The element at the beginning: tag, contents, what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, length, rest @ ..] = bytes else { return None };
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        // So many bytes of length; certificates of 16 MB and more do not come.
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, contents: &[u8]) -> Vec<u8> {
        let length = contents.len();
        let mut out = vec![tag, 0x82, (length >> 8) as u8, length as u8];
        out.extend_from_slice(contents);
        out
    }

    /// A certificate of nothing but what comes before its key, and the key.
    fn certificate(version: bool, algorithm: &[u8], key: &[u8]) -> Vec<u8> {
        let mut body = if version { der(VERSION, &der(INTEGER, &[2])) } else { Vec::new() };
        body.extend(der(INTEGER, &[1]));
        (0..4).for_each(|_| body.extend(der(SEQUENCE, b"")));
        let bits = der(BIT_STRING, &[&[0], key].concat());
        body.extend(der(SEQUENCE, &[der(SEQUENCE, algorithm), bits].concat()));
        der(SEQUENCE, &der(SEQUENCE, &body))
    }

    #[test]
    fn keys_of_known_kinds_have_a_size() {
        let modulus = [&[0, 0x80][..], &[7; 255]].concat();
        let rsa = der(SEQUENCE, &der(INTEGER, &modulus));
        let algorithm = der(OBJECT_IDENTIFIER, RSA);
        assert_eq!(key_bits(&certificate(true, &algorithm, &rsa)), Some(2048));
        assert_eq!(key_bits(&certificate(false, &algorithm, &rsa)), Some(2048));
        let ec = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
        let curve = [der(OBJECT_IDENTIFIER, &ec), der(OBJECT_IDENTIFIER, OF_KIND[1].0)].concat();
        assert_eq!(key_bits(&certificate(true, &curve, b"point")), Some(384));
        let edwards = der(OBJECT_IDENTIFIER, OF_KIND[3].0);
        assert_eq!(key_bits(&certificate(true, &edwards, b"point")), Some(253));
        let unknown = der(OBJECT_IDENTIFIER, b"\x01");
        assert_eq!(key_bits(&certificate(true, &unknown, b"point")), None);
    }

    #[test]
    fn validity_is_read_in_both_forms() {
        let utc = |text: &str| moment_s(UTC_TIME, text.as_bytes());
        let full = |text: &str| moment_s(GENERALIZED_TIME, text.as_bytes());
        assert_eq!(utc("700101000000Z"), Some(0));
        assert_eq!(utc("491231235959Z"), Some(2_524_607_999));
        assert_eq!(utc("500101000000Z"), Some(-631_152_000));
        assert_eq!(full("20240229123456Z"), Some(1_709_210_096));
        assert_eq!(full("99991231235959Z"), Some(253_402_300_799));
        for wrong in ["", "Z", "7001010000Z", "70010100000xZ", "701301000000Z", "700101000000"] {
            assert_eq!((utc(wrong), full(wrong)), (None, None), "{wrong}");
        }
        let both = [der(UTC_TIME, b"700101000001Z"), der(UTC_TIME, b"700101000002Z")].concat();
        let mut body = der(INTEGER, &[1]);
        (0..2).for_each(|_| body.extend(der(SEQUENCE, b"")));
        body.extend(der(SEQUENCE, &both));
        let whole = der(SEQUENCE, &der(SEQUENCE, &body));
        assert_eq!(validity(&whole), Some((1, 2)));
        (0..whole.len()).for_each(|end| assert_eq!(validity(&whole[..end]), None, "{end}"));
    }

    #[test]
    fn a_certificate_that_is_cut_short_has_no_size() {
        let modulus = [&[0, 0x80][..], &[7; 255]].concat();
        let rsa = der(SEQUENCE, &der(INTEGER, &modulus));
        let whole = certificate(true, &der(OBJECT_IDENTIFIER, RSA), &rsa);
        (0..whole.len()).for_each(|end| assert_eq!(key_bits(&whole[..end]), None, "{end}"));
        assert_eq!(key_bits(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
