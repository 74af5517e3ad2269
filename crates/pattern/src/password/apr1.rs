//! httpd's own hash: the one of FreeBSD's crypt(3) with another name in it (`apr_md5_encode`).

use md5::{Digest, Md5};

/// How such a hash begins.
pub(super) const PREFIX: &[u8] = b"$apr1$";

const SALT_MAX_BYTES: usize = 8;
const ROUNDS: u32 = 1000;

/// The hash of a password with the salt that `settings` begins with, up to a `$`.
pub(super) fn hash(password: &[u8], settings: &[u8]) -> Vec<u8> {
    let salt = settings.split(|&byte| byte == b'$').next().unwrap_or_default();
    let salt = &salt[..salt.len().min(SALT_MAX_BYTES)];
    let mut sum = first_sum(password, salt);
    for round in 0..ROUNDS {
        sum = next_sum(password, salt, &sum, round);
    }
    let mut hash = [PREFIX, salt, b"$"].concat();
    encode(&sum, &mut hash);
    hash
}

type Sum = [u8; 16];

fn first_sum(password: &[u8], salt: &[u8]) -> Sum {
    let inner = md5(&[password, salt, password]);
    let mut md5 = Md5::new();
    for part in [password, PREFIX, salt] {
        md5.update(part);
    }
    // As many bytes of the inner sum as the password has, from its start again where it ends.
    for part in password.chunks(inner.len()) {
        md5.update(&inner[..part.len()]);
    }
    // One byte for each bit of the length, lowest first: NUL for a 1.
    let mut length = password.len();
    while length > 0 {
        md5.update(if length & 1 == 1 { &[0] } else { &password[..1] });
        length >>= 1;
    }
    md5.finalize().into()
}

fn next_sum(password: &[u8], salt: &[u8], sum: &Sum, round: u32) -> Sum {
    let is_odd = round % 2 == 1;
    md5(&[
        if is_odd { password } else { sum },
        if round.is_multiple_of(3) { b"" } else { salt },
        if round.is_multiple_of(7) { b"" } else { password },
        if is_odd { sum } else { password },
    ])
}

pub(super) fn md5(parts: &[&[u8]]) -> Sum {
    let mut md5 = Md5::new();
    for part in parts {
        md5.update(part);
    }
    md5.finalize().into()
}

/// Writes a sum as 22 letters: three bytes from all over it, first the lowest bits.
fn encode(sum: &Sum, out: &mut Vec<u8>) {
    const THREES: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
    for [high, middle, low] in THREES {
        let [high, middle, low] = [sum[high], sum[middle], sum[low]].map(u32::from);
        letters(high << 16 | middle << 8 | low, 4, out);
    }
    letters(u32::from(sum[11]), 2, out);
}

fn letters(mut bits: u32, count: usize, out: &mut Vec<u8>) {
    for _ in 0..count {
        out.push(super::LETTERS[(bits & 63) as usize]);
        bits >>= 6;
    }
}
