//! Which variable a field of the request becomes (RFC 3875 section 4.1.18; util_script.c,
//! `ap_add_common_vars` and `http2env`). Values, and all other variables, are for the caller.

use alloc::vec::Vec;

/// What goes in front of the name of a field.
const PREFIX: &[u8] = b"HTTP_";

/// Whether programs may see passwords, `CGIPassAuth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassAuth {
    /// They do not get the fields that hold them.
    Off,
    /// They do.
    On,
}

/// The name of the variable of a field, written into `buffer`; `None` if the field has none.
///
/// Letters and digits count only, and the hyphen, which becomes an underscore. If others became
/// one, too, a client could choose which of two fields a program sees. `Proxy` has none in any
/// case: many programs take `HTTP_PROXY` for the proxy they are to use (CVE-2016-5385).
pub fn variable<'v>(field: &[u8], auth: PassAuth, buffer: &'v mut Vec<u8>) -> Option<&'v [u8]> {
    let is = |name: &[u8]| field.eq_ignore_ascii_case(name);
    buffer.clear();
    if is(b"Content-Type") || is(b"Content-Length") {
        // Their names have no prefix.
    } else if is(b"Proxy") || (auth == PassAuth::Off && is_password(field)) {
        return None;
    } else {
        buffer.extend_from_slice(PREFIX);
    }
    for &byte in field {
        match byte {
            b'-' => buffer.push(b'_'),
            _ if byte.is_ascii_alphanumeric() => buffer.push(byte.to_ascii_uppercase()),
            _ => return None,
        }
    }
    Some(buffer)
}

fn is_password(field: &[u8]) -> bool {
    let names: [&[u8]; 2] = [b"Authorization", b"Proxy-Authorization"];
    names.iter().any(|name| field.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn of(field: &str, auth: PassAuth) -> Option<std::string::String> {
        let mut buffer = b"left over".to_vec();
        let name = variable(field.as_bytes(), auth, &mut buffer)?;
        Some(std::str::from_utf8(name).unwrap().into())
    }

    #[test]
    fn fields_become_variables_by_the_rules_of_httpd() {
        let rows = [
            ("Host", Some("HTTP_HOST")),
            ("User-Agent", Some("HTTP_USER_AGENT")),
            ("x-1a--b", Some("HTTP_X_1A__B")),
            ("content-type", Some("CONTENT_TYPE")),
            ("Content-Length", Some("CONTENT_LENGTH")),
            ("Content-Typ", Some("HTTP_CONTENT_TYP")),
            ("Content_Type", None),
            ("Content_Length", None),
            ("X_Forwarded_For", None),
            ("X.Y", None),
            ("X~Y", None),
            ("X\u{e9}", None),
            ("Proxy", None),
            ("pRoXy", None),
            ("Proxy-Connection", Some("HTTP_PROXY_CONNECTION")),
            ("Authorization", None),
            ("proxy-AUTHORIZATION", None),
        ];
        for (field, wanted) in rows {
            assert_eq!(of(field, PassAuth::Off).as_deref(), wanted, "{field}");
        }
    }

    #[test]
    fn passwords_are_passed_when_asked_for() {
        let name = of("authorization", PassAuth::On);
        assert_eq!(name.as_deref(), Some("HTTP_AUTHORIZATION"));
        let name = of("Proxy-Authorization", PassAuth::On);
        assert_eq!(name.as_deref(), Some("HTTP_PROXY_AUTHORIZATION"));
        assert_eq!(of("Proxy", PassAuth::On), None);
    }

    proptest! {
        #[test]
        fn names_of_variables_are_plain(field: Vec<u8>) {
            let mut buffer = Vec::new();
            if let Some(name) = variable(&field, PassAuth::On, &mut buffer) {
                let plain = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
                prop_assert!(name.iter().all(plain));
                prop_assert!(name != b"HTTP_PROXY");
            }
        }
    }
}
