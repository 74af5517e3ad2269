//! What a client asks for, as a person writes it, and what is wrong with that.

use std::fmt;
use std::path::PathBuf;

/// A version of TLS. The older ones are broken and nobody here speaks them (RFC 8996).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// How connections are secured.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// Whether the certificate of the server has to be valid, for its name and now.
    pub verifies: bool,
    /// Certificates (PEM) that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// A certificate and its key (PEM, one file) to show to servers that ask for one.
    pub identity: Option<PathBuf>,
    /// The lowest and the highest version.
    pub versions: (TlsVersion, TlsVersion),
    /// Cipher suites by name, with `:` or `,` between them; all if empty.
    pub ciphers: String,
    /// Whether the name of the server is sent, so that it can choose a certificate.
    pub sends_name: bool,
    /// Protocols to offer, the best first (ALPN, RFC 7301).
    pub protocols: Vec<Vec<u8>>,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            verifies: true,
            ca_file: None,
            identity: None,
            versions: (TlsVersion::Tls12, TlsVersion::Tls13),
            ciphers: String::new(),
            sends_name: true,
            protocols: Vec::new(),
        }
    }
}

/// What cannot be done as the options say.
#[derive(Debug)]
pub enum TlsProblem {
    /// A file is not what it should be.
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The options do not fit together, or name what nobody knows.
    Options(String),
}

impl fmt::Display for TlsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, why } => write!(f, "{}: {why}", path.display()),
            Self::Options(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for TlsProblem {}
