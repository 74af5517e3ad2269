//! Passwords against the hashes of htpasswd and crypt(3): httpd's `apr_password_validate`.
//!
//! apr1 and SHA-1 are computed here, as they are httpd's own; everything else is libcrypt's. Where
//! hashes come from, and what a wrong password leads to, is not known here. A check takes up to
//! about a second when the hash asks for it: it does not belong on a thread that serves others.

mod apr1;
mod cost;

use crate::sys;
use sha1::{Digest, Sha1};
use std::ffi::CString;
use std::fmt;

/// The longest password that can match, in bytes. htpasswd takes 255; libcrypt refuses 512, and
/// the limit bounds the time that each round of a hash takes.
pub const PASSWORD_MAX_BYTES: usize = 511;

/// The longest hash, in bytes: libxcrypt's `CRYPT_OUTPUT_SIZE` less the NUL.
pub const HASH_MAX_BYTES: usize = 383;

/// The digits of crypt(3), from 0 to 63.
const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether the password is the one that was hashed.
///
/// Passwords that are longer than [`PASSWORD_MAX_BYTES`], or have a NUL byte in them, never are.
///
/// # Errors
/// When nothing can be said, because of the hash.
pub fn verify(hash: &[u8], password: &[u8]) -> Result<bool, Unusable> {
    if hash.len() > HASH_MAX_BYTES {
        return Err(Unusable::Unknown);
    }
    let computed = if let Some(settings) = hash.strip_prefix(apr1::PREFIX) {
        acceptable(password).map(|password| apr1::hash(password, settings))
    } else if hash.starts_with(SHA1_PREFIX) {
        acceptable(password).map(sha1)
    } else {
        cost::check(hash, password.len().min(PASSWORD_MAX_BYTES))?;
        acceptable(password).map(|password| crypt(hash, password)).transpose()?
    };
    Ok(computed.is_some_and(|computed| is_equal(&computed, hash)))
}

/// The MD5 sum of `text` in hexadecimal digits, which is what `htdigest` writes of
/// `user:realm:password`.
pub fn md5_hex(text: &[u8]) -> Vec<u8> {
    apr1::md5(&[text]).iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

fn acceptable(password: &[u8]) -> Option<&[u8]> {
    (password.len() <= PASSWORD_MAX_BYTES && !password.contains(&0)).then_some(password)
}

fn crypt(hash: &[u8], password: &[u8]) -> Result<Vec<u8>, Unusable> {
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Unusable::Unknown);
    sys::crypt(&text(password)?, &text(hash)?).ok_or(Unusable::Unknown)
}

const SHA1_PREFIX: &[u8] = b"{SHA}";

/// `apr_sha1_base64`: no salt and no rounds, kept for old files.
fn sha1(password: &[u8]) -> Vec<u8> {
    let mut hash = SHA1_PREFIX.to_vec();
    for three in Sha1::digest(password).chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let letters = [18, 12, 6, 0].map(|shift| BASE64[(bits >> shift & 63) as usize]);
        hash.extend_from_slice(&letters[..=three.len()]);
    }
    // Twenty bytes leave one place of the last four letters empty.
    hash.push(b'=');
    hash
}

/// RFC 4648, section 4.
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Compares in a time that depends on the lengths alone, so that a client cannot measure how much
/// of a hash it has met.
fn is_equal(computed: &[u8], hash: &[u8]) -> bool {
    let differences = computed.iter().zip(hash).fold(0, |all, (a, b)| all | (a ^ b));
    computed.len() == hash.len() && std::hint::black_box(differences) == 0
}

/// A hash that no password can be checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No method begins like this, or what follows is not as the method writes it.
    Unknown,
    /// A check would take too much time or memory; what the method allows here.
    TooCostly(&'static str),
}

impl fmt::Display for Unusable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => out.write_str("the password hash is of no known format"),
            Self::TooCostly(limit) => {
                write!(out, "the password hash is too costly to check: {limit}")
            }
        }
    }
}

impl std::error::Error for Unusable {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "secret";
    const LONG: &str = "pä ss:$wörd&\"long enough, more than 16";

    /// Written by `htpasswd -n` (Apache 2.4.71), `openssl passwd` and libxcrypt's crypt(3).
    const HASHES: &[(&str, &str)] = &[
        (SECRET, "$apr1$i7yJFFER$UdgKt75yA9q1Oh.gZve3U/"),
        (LONG, "$apr1$7Syd6vDi$Eb6K1Rf3ijrUiV8u9HCtY/"),
        ("", "$apr1$ayTs/PIl$pcI6hRXvgJ4/HG60tkjgf."),
        (SECRET, "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/"),
        (SECRET, "$apr1$a$PtM1vJaZieHDFk40mKMu6/"),
        (SECRET, "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="),
        (LONG, "{SHA}YXM1CPkpPrTZY2VNUFLKZmBH4/E="),
        ("", "{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
        (SECRET, "HYdjvkCcpQ9es"),
        (LONG, "9WF6.I97skOek"),
        ("", "ydEJ1Rp6a7MgM"),
        (SECRET, "$5$FLdhSmChWXWUaJ0h$e7xa6MLPszU.qBubPYBpKr6l1KQ6NsMsVxPAVRFkir5"),
        (LONG, "$5$PGQWS.y6ANI2g5n/$qy03wXVdzaj.65mpd9k1C7vfr/8y9bNQuSoLLEBPT55"),
        (SECRET, "$5$rounds=1000$abc$Mz4DiYKTnNKbZLo/mIp3d8Y4aQBhv3uhSwxLDy55/Y8"),
        (
            SECRET,
            "$6$h2M9DBpAJXMSGsj/$WbL0nz7LQNGlFpWoPlw.rWw.Vps9gW4BnBdJqFC/\
             UpUhQvcHGsd4OXUTNLnpUKDlpTlV1UEt2ha8YtHTRR7IA1",
        ),
        (
            SECRET,
            "$6$rounds=1000$abc$MqEcPZUYRGGcOeq7PhMpfjfu/F0HrVEI0OlZBijWvO8mSG77iNUDP5MqFceKpJTBc8\
             iITVtNyLiNTRNCxv6oh0",
        ),
        (SECRET, "$2y$04$AYet0khuDwotjPb5N2By/uHFtQ6E9Uy.iQ21v80I7dzNODqpp2Uve"),
        ("pä ss:$wörd", "$2y$05$/RMVnXOn2CwELrlqSMBZwe2qtJZhOKeczcQ3B70aD0PaeELccLEcG"),
        (SECRET, "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"),
        (SECRET, "$2a$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"),
        (SECRET, "$1$salt$ez2vlPGdaLYkJam5pWs/Y1"),
        (SECRET, "$y$j75$abcdefgh$uMUXG79B2cFpoAYyDccUnsaH/aGTyBYMlnQidzyag01"),
        (SECRET, "$gy$j75$abcdefgh$lRD8hCfuUnaykqHEd24aR4OED0E.hiL5k0lM9Kg0qT5"),
        (SECRET, "$sha1$1000$saltsalt$Afd9xS7u8w4h.ywETK2u0ha2i2TG"),
        (SECRET, "$md5,rounds=10$saltsalt$$1rkdxD32fVaPr5LM8K90f1"),
        (SECRET, "$md5$saltsalt$$htFYkfcXgVn6XJq7JYvMH/"),
        (SECRET, "_J9..saltLXKE4peqNCg"),
        (SECRET, "$3$$878d8014606cda29677a44efa1353fc7"),
    ];

    #[test]
    fn the_right_password_matches_and_no_other() {
        for (password, hash) in HASHES {
            let verify = |password: &str| verify(hash.as_bytes(), password.as_bytes());
            assert_eq!(verify(password), Ok(true), "{hash}");
            assert_eq!(verify("Secret"), Ok(false), "{hash}");
            assert_eq!(verify(&format!("x{password}")), Ok(false), "{hash}");
        }
    }

    #[test]
    fn a_damaged_hash_matches_nothing() {
        for (password, hash) in HASHES {
            let (head, last) = hash.split_at(hash.len() - 1);
            let other = if last == "a" { "b" } else { "a" };
            for damaged in [head.to_owned(), format!("{head}{other}"), format!("{hash}a")] {
                let verified = verify(damaged.as_bytes(), password.as_bytes());
                assert_ne!(verified, Ok(true), "{damaged}");
            }
        }
    }

    #[test]
    fn long_passwords_and_those_with_nul_never_match() {
        let long = "p".repeat(200);
        assert_eq!(verify(b"$apr1$abcdefgh$JF8jwo87OVv4y9UNWzXaa.", long.as_bytes()), Ok(true));
        let hash = apr1::hash(&[b'p'; PASSWORD_MAX_BYTES + 1], b"salt");
        assert_eq!(verify(&hash, &[b'p'; PASSWORD_MAX_BYTES + 1]), Ok(false));
        let hash = apr1::hash(b"p\0q", b"salt");
        assert_eq!(verify(&hash, b"p\0q"), Ok(false));
        // What libcrypt alone would see of it is the right one.
        assert_eq!(verify(b"HYdjvkCcpQ9es", b"secret\0more"), Ok(false));
        for (_, hash) in HASHES {
            assert_eq!(verify(hash.as_bytes(), &[b'p'; PASSWORD_MAX_BYTES]), Ok(false), "{hash}");
        }
    }

    #[test]
    fn what_is_no_hash_is_called_so() {
        for hash in ["", "secret", "*0", "*1", "!!", "$", "$9$x$y", "$2y$", "$5$rounds=$x$y"] {
            assert_eq!(verify(hash.as_bytes(), b"secret"), Err(Unusable::Unknown), "{hash}");
        }
        assert_eq!(verify(b"$1$a\0b$c", b"secret"), Err(Unusable::Unknown));
        let long = [b"$6$".as_slice(), &[b'a'; HASH_MAX_BYTES]].concat();
        assert_eq!(verify(&long, b"secret"), Err(Unusable::Unknown));
    }

    #[test]
    fn the_reason_can_be_read() {
        let unusable = verify(b"$2y$31$abcdefghijklmnopqrstuu", b"secret").unwrap_err();
        assert_eq!(
            unusable.to_string(),
            "the password hash is too costly to check: bcrypt has a cost of up to 14"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_may_claim_to_be_a_hash(
            method in 0..HASHES.len() + 1,
            keep in 0_usize..13,
            rest in proptest::collection::vec(any::<u8>(), 0..40),
            password in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            // The beginning of a real one, shorter than the shortest, whose password could be
            // met; and without numbers that would make it slow to check.
            let start = HASHES.get(method).map_or("", |(_, hash)| hash);
            let start = &start[..start.len().min(keep)];
            let hash = [start.as_bytes(), &rest].concat();
            prop_assert_ne!(verify(&hash, &password), Ok(true));
        }
    }
}
