//! What is read from a certificate besides its validity: the size of its key. The bytes come from
//! the network, and versions of X.509 that rustls rejects are read as well, as nobody has to trust
//! a certificate to be told about it.

/// Tags of DER (X.690).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
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
    let (certificate, _) = inside(SEQUENCE, der)?;
    let (mut to_be_signed, _) = inside(SEQUENCE, certificate)?;
    if let Some((_, rest)) = inside(VERSION, to_be_signed) {
        to_be_signed = rest;
    }
    // Serial number, signature, issuer, validity and subject come before the key.
    for _ in 0..5 {
        (_, _, to_be_signed) = element(to_be_signed)?;
    }
    let (key_info, _) = inside(SEQUENCE, to_be_signed)?;
    let (algorithm, rest) = inside(SEQUENCE, key_info)?;
    let (kind, parameters) = inside(OBJECT_IDENTIFIER, algorithm)?;
    if kind == RSA {
        let (bits, _) = inside(BIT_STRING, rest)?;
        return rsa_bits(bits.get(1..)?);
    }
    let curve = inside(OBJECT_IDENTIFIER, parameters).map_or(kind, |(curve, _)| curve);
    OF_KIND.iter().find(|row| row.0 == curve).map(|row| row.1)
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
    fn a_certificate_that_is_cut_short_has_no_size() {
        let modulus = [&[0, 0x80][..], &[7; 255]].concat();
        let rsa = der(SEQUENCE, &der(INTEGER, &modulus));
        let whole = certificate(true, &der(OBJECT_IDENTIFIER, RSA), &rsa);
        (0..whole.len()).for_each(|end| assert_eq!(key_bits(&whole[..end]), None, "{end}"));
        assert_eq!(key_bits(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
