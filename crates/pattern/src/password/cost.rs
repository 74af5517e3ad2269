//! What a hash of crypt(3) costs to check, and which are refused for it.
//!
//! Each method has its own way to write down how long it takes, up to hours and gigabytes; and
//! password files may be written by others than who runs the server. The limits stand for about a
//! second of one core and 64 MiB. What is not written as crypt_gensalt(3) writes it is refused,
//! so that libcrypt cannot read another number than was looked at here.

use super::Unusable::{self, TooCostly, Unknown};

/// How a hash begins, and what looks at the rest, given the length of the password.
type Method = (&'static [u8], fn(&[u8], usize) -> Result<(), Unusable>);

const METHODS: &[Method] = &[
    (b"$2a$", bcrypt),
    (b"$2b$", bcrypt),
    (b"$2x$", bcrypt),
    (b"$2y$", bcrypt),
    (b"$y$", yescrypt),
    (b"$gy$", yescrypt),
    (b"$7$", scrypt),
    (b"$6$", sha_crypt),
    (b"$5$", sha_crypt),
    (b"$sha1$", sha1_crypt),
    (b"$md5", sun_md5),
    (b"$1$", fixed),
    (b"$3$", fixed),
    (b"_", extended_des),
];

/// Measured: 1.1 s; each step doubles it.
const BCRYPT_COST_MAX: u32 = 14;
/// Measured with a short password: 0.7 s.
const SHA_ROUNDS_MAX: u32 = 1_000_000;
/// Rounds times blocks of the password: in each round all of it is hashed.
const SHA_WORK_MAX: u64 = 2_000_000;
const SHA_BLOCK_BYTES: usize = 64;
/// Measured: 0.6 s.
const SHA1_ROUNDS_MAX: u32 = 500_000;
/// Measured: 0.6 s.
const SUN_MD5_ROUNDS_MAX: u32 = 250_000;
/// Measured: 0.9 s.
const DES_ROUNDS_MAX: u32 = 4_000_000;
/// What a check may occupy; measured: 0.1 s. By default they take a quarter of it.
const MEMORY_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Refuses what would take too long, and what no method writes.
pub(super) fn check(hash: &[u8], password_bytes: usize) -> Result<(), Unusable> {
    let method = METHODS.iter().find(|(prefix, _)| hash.starts_with(prefix));
    match method {
        Some((prefix, look)) => look(&hash[prefix.len()..], password_bytes),
        None => traditional_des(hash),
    }
}

fn fixed(_: &[u8], _: usize) -> Result<(), Unusable> {
    Ok(())
}

/// Two letters of salt and eleven of hash: fast, and blind behind the eighth character.
fn traditional_des(hash: &[u8]) -> Result<(), Unusable> {
    let is_known = hash.len() >= 13 && hash.iter().all(|&byte| digit(byte).is_some());
    if is_known { Ok(()) } else { Err(Unknown) }
}

/// `10$salt`
fn bcrypt(rest: &[u8], _: usize) -> Result<(), Unusable> {
    let [tens @ b'0'..=b'9', ones @ b'0'..=b'9', b'$', ..] = rest else { return Err(Unknown) };
    let cost = u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    at_most(cost, BCRYPT_COST_MAX, "bcrypt has a cost of up to 14")
}

/// `j9T$salt`: flavour, logarithm of the size less 1, block size less 1. Numbers that take more
/// than one letter are larger than what is allowed.
fn yescrypt(rest: &[u8], _: usize) -> Result<(), Unusable> {
    let [b'j', size, block, b'$', ..] = rest else { return Err(Unknown) };
    let (Some(size), Some(block)) = (digit(*size), digit(*block)) else { return Err(Unknown) };
    memory(size + 1, block + 1)
}

/// `CU..../....salt$`: logarithm of the size, block size and lanes, the latter of five letters.
fn scrypt(rest: &[u8], _: usize) -> Result<(), Unusable> {
    let [size, block, b'.', b'.', b'.', b'.', b'/', b'.', b'.', b'.', b'.', ..] = rest else {
        return Err(Unknown);
    };
    let (Some(size), Some(block)) = (digit(*size), digit(*block)) else { return Err(Unknown) };
    memory(size, block)
}

fn memory(size_log2: u32, block: u32) -> Result<(), Unusable> {
    const LIMIT: &str = "yescrypt and scrypt take up to 64 MiB";
    let bytes = 1_u64.checked_shl(size_log2).and_then(|size| size.checked_mul(128));
    let bytes = bytes.and_then(|bytes| bytes.checked_mul(u64::from(block)));
    if bytes.is_some_and(|bytes| bytes <= MEMORY_MAX_BYTES) {
        Ok(())
    } else {
        Err(TooCostly(LIMIT))
    }
}

/// `salt$`, or `rounds=1000$salt$`; 5000 if not given.
fn sha_crypt(rest: &[u8], password_bytes: usize) -> Result<(), Unusable> {
    let rounds = rest.strip_prefix(b"rounds=").map_or(Ok(5000), number)?;
    at_most(rounds, SHA_ROUNDS_MAX, "SHA-crypt has up to 1000000 rounds")?;
    let blocks = 1 + (password_bytes / SHA_BLOCK_BYTES) as u64;
    if u64::from(rounds) * blocks > SHA_WORK_MAX {
        return Err(TooCostly("SHA-crypt of a long password has fewer rounds"));
    }
    Ok(())
}

/// `24680$salt$`
fn sha1_crypt(rest: &[u8], _: usize) -> Result<(), Unusable> {
    at_most(number(rest)?, SHA1_ROUNDS_MAX, "SHA1-crypt has up to 500000 rounds")
}

/// `$salt$`, or `,rounds=1000$salt$`, added to 4096.
fn sun_md5(rest: &[u8], _: usize) -> Result<(), Unusable> {
    let rounds = match rest {
        [b'$', ..] => 0,
        _ => number(rest.strip_prefix(b",rounds=").ok_or(Unknown)?)?,
    };
    at_most(rounds, SUN_MD5_ROUNDS_MAX, "Sun's MD5 has up to 250000 rounds")
}

/// `J9..salt`: four letters are the rounds, the lowest first.
fn extended_des(rest: &[u8], _: usize) -> Result<(), Unusable> {
    let letters = rest.get(..4).ok_or(Unknown)?;
    let add = |rounds: u32, &letter: &u8| Some(rounds << 6 | digit(letter)?);
    let rounds = letters.iter().rev().try_fold(0, add).ok_or(Unknown)?;
    at_most(rounds, DES_ROUNDS_MAX, "extended DES has up to 4000000 rounds")
}

/// The decimal number before a `$`.
fn number(text: &[u8]) -> Result<u32, Unusable> {
    let end = text.iter().position(|&byte| byte == b'$').ok_or(Unknown)?;
    let digits = &text[..end];
    // Ten digits may not fit, and are too many in any case.
    if digits.is_empty() || digits.len() > 10 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Unknown);
    }
    let add =
        |number: u32, digit: &u8| number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
    Ok(digits.iter().fold(0, add))
}

fn digit(letter: u8) -> Option<u32> {
    (0_u32..).zip(super::LETTERS).find(|&(_, &known)| known == letter).map(|(value, _)| value)
}

fn at_most(value: u32, max: u32, limit: &'static str) -> Result<(), Unusable> {
    if value <= max { Ok(()) } else { Err(TooCostly(limit)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_refused() {
        let table = [
            ("$2y$14$salt", true),
            ("$2b$15$salt", false),
            ("$2a$31$salt", false),
            ("$6$salt$", true),
            ("$6$rounds=1000000$salt$", true),
            ("$6$rounds=1000001$salt$", false),
            ("$5$rounds=999999999$salt$", false),
            ("$5$rounds=9999999999$salt$", false),
            ("$sha1$500000$salt$", true),
            ("$sha1$500001$salt$", false),
            ("$md5,rounds=250000$salt$", true),
            ("$md5,rounds=250001$salt$", false),
            ("$md5$salt$", true),
            ("_..1Dsalt", true),
            ("_...Fsalt", false),
            ("_zzzzsalt", false),
            ("$y$j9T$salt", true),
            ("$y$jBT$salt", true),
            ("$y$jCT$salt", false),
            ("$y$jzz$salt", false),
            ("$gy$jzz$salt", false),
            ("$7$CU..../....salt$", true),
            ("$7$DU..../....salt$", false),
            ("$7$zz..../....salt$", false),
        ];
        for (hash, is_allowed) in table {
            let result = check(hash.as_bytes(), 8);
            let is_costly = matches!(result, Err(TooCostly(_)));
            assert_eq!((result.is_ok(), is_costly), (is_allowed, !is_allowed), "{hash}");
        }
    }

    #[test]
    fn rounds_and_length_of_the_password_count_together() {
        let hash = b"$6$rounds=1000000$salt$";
        assert_eq!(check(hash, 127), Ok(()));
        assert!(matches!(check(hash, 128), Err(TooCostly(_))));
        assert_eq!(check(b"$6$rounds=200000$salt$", 511), Ok(()));
    }

    #[test]
    fn numbers_that_libcrypt_might_read_otherwise_are_refused() {
        let table = [
            "$6$rounds=$salt$",
            "$6$rounds= 5000$salt$",
            "$6$rounds=+5000$salt$",
            "$6$rounds=0x10000$salt$",
            "$6$rounds=99999999999999999999$salt$",
            "$6$rounds=5000",
            "$sha1$-1$salt$",
            "$md5rounds=1$salt$",
            "$2y$4$salt",
            "$2y$+4$salt",
            "$y$jk9T$salt",
            "$y$k9T$salt",
            "$y$j9T.$salt",
            "$7$CU.../....salt$",
            "$7$CU../.z....salt$",
            "_9.",
            "_9.é.salt",
            "ab",
            "hello, world!!",
        ];
        for hash in table {
            assert_eq!(check(hash.as_bytes(), 8), Err(Unknown), "{hash}");
        }
    }
}
