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
