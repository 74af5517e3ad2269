//! `int:`: functions that have a name.

/// A function of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    ToUpper,
    ToLower,
    Escape,
    Unescape,
}

impl Function {
    /// The function of a name; its case counts.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "toupper" => Self::ToUpper,
            "tolower" => Self::ToLower,
            "escape" => Self::Escape,
            "unescape" => Self::Unescape,
            _ => return None,
        })
    }

    pub(crate) fn apply(self, mut key: Vec<u8>) -> Vec<u8> {
        match self {
            Self::ToUpper => key.make_ascii_uppercase(),
            Self::ToLower => key.make_ascii_lowercase(),
            Self::Escape => {
                let mut escaped = Vec::with_capacity(key.len() + 16);
                message::path::encode(&key, &mut escaped);
                return escaped;
            }
            Self::Unescape => return unescape(&key),
        }
        key
    }
}

/// Escapes that are none stay as they are; a NUL would end the text (`ap_unescape_url`).
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        match (byte, message::path::hex_pair(behind)) {
            (b'%', Some(0)) => break,
            (b'%', Some(decoded)) => {
                out.push(decoded);
                rest = &behind[2..];
            }
            _ => {
                out.push(byte);
                rest = behind;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_does_what_its_name_says() {
        let table = [
            ("toupper", "aB/", "AB/"),
            ("tolower", "aB/", "ab/"),
            ("escape", "a b?c", "a%20b%3fc"),
            ("unescape", "a%20b%zz%3", "a b%zz%3"),
        ];
        for (name, key, value) in table {
            let function = Function::named(name).unwrap();
            assert_eq!(function.apply(key.into()), value.as_bytes(), "{name}");
        }
        assert_eq!(Function::named("ToUpper"), None);
    }
}
