//! What the server calls itself, and when it was built. WordPress, version tests and scanners
//! look for httpd's name.

use logging::time::{CalendarSecond, TimeFormat};

/// The full identity, as in `Server` and in log lines. The version is that of the httpd whose
/// behaviour is promised.
pub const IDENTITY: &str = "Apache/2.4.71 (Trivet/0.1)";

/// The version of httpd whose configuration and behaviour this is, for `<IfVersion>`.
pub const VERSION: [u32; 3] = [2, 4, 71];

/// The numbers of httpd's module interface (`MODULE_MAGIC_NUMBER`), for `%{API_VERSION}`.
pub const API_VERSION: &str = "20120211:142";

/// When this crate was compiled, as httpd writes it: `2026-11-12T08:58:41`, in Greenwich.
pub fn built() -> String {
    let unix_s = env!("TRIVET_BUILT_UNIX_S").parse().unwrap_or(0);
    let mut text = Vec::new();
    TimeFormat::new(b"%Y-%m-%dT%H:%M:%S").write(&CalendarSecond::utc(unix_s), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// How much of it `ServerTokens` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    /// `Apache`
    Product,
    /// `Apache/2`
    Major,
    /// `Apache/2.4`
    Minor,
    /// `Apache/2.4.71`
    Minimal,
    /// The same, and the system.
    System,
    /// All of it.
    #[default]
    Full,
}

/// The words of `ServerTokens` (core.c).
pub const TOKEN_WORDS: &[(&str, Tokens)] = &[
    ("Full", Tokens::Full),
    ("OS", Tokens::System),
    ("Min", Tokens::Minimal),
    ("Minimal", Tokens::Minimal),
    ("Minor", Tokens::Minor),
    ("Major", Tokens::Major),
    ("Prod", Tokens::Product),
    ("ProductOnly", Tokens::Product),
];

impl Tokens {
    /// The value of the `Server` field.
    pub(crate) fn server_field(self) -> &'static str {
        match self {
            Self::Product => "Apache",
            Self::Major => "Apache/2",
            Self::Minor => "Apache/2.4",
            Self::Minimal => "Apache/2.4.71",
            Self::System | Self::Full => IDENTITY,
        }
    }
}

/// How the server names itself below pages: the same as the `Server` field.
pub fn banner(tokens: Tokens) -> &'static str {
    tokens.server_field()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_begin_alike_and_name_one_version() {
        for (_, tokens) in TOKEN_WORDS {
            assert!(IDENTITY.starts_with(tokens.server_field()));
        }
    }
}
