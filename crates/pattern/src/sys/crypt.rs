//! crypt(3), the system's own password hashes.

use std::ffi::{CStr, c_char, c_void};

/// Room for `struct crypt_data` of any libcrypt: libxcrypt's has 32 KiB, glibc's 131232 bytes.
const CRYPT_DATA_WORDS: usize = 256 * 1024 / size_of::<u64>();

// SAFETY: the signature of crypt(3), the same in glibc's libcrypt and in libxcrypt.
#[link(name = "crypt")]
unsafe extern "C" {
    fn crypt_r(phrase: *const c_char, setting: *const c_char, data: *mut c_void) -> *mut c_char;
}

/// crypt(3): the hash of a password with the method, cost and salt that `setting` begins with.
/// `None` when libcrypt does not know them.
pub(crate) fn crypt(password: &CStr, setting: &CStr) -> Option<Vec<u8>> {
    // Zeroed, as crypt_r demands; pages that it does not touch are never made.
    let mut data = vec![0_u64; CRYPT_DATA_WORDS];
    // SAFETY: both strings end with NUL, and `data` is zeroed, aligned and large enough. The
    // result is null or a string within `data`, read before `data` goes.
    let hash = unsafe {
        let hash = crypt_r(password.as_ptr(), setting.as_ptr(), data.as_mut_ptr().cast());
        if hash.is_null() { None } else { Some(CStr::from_ptr(hash).to_bytes().to_vec()) }
    };
    // Hashes never begin with `*`: that is how libxcrypt says what null says elsewhere.
    hash.filter(|hash| !hash.starts_with(b"*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crypt_says_when_it_does_not_know_a_setting() {
        assert_eq!(crypt(c"secret", c"HY").as_deref(), Some(&b"HYdjvkCcpQ9es"[..]));
        assert_eq!(crypt(c"secret", c"$unknown$x"), None);
        assert_eq!(crypt(c"secret", c"*0"), None);
    }
}
