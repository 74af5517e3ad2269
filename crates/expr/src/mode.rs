//! Where an expression stands, as far as that decides what may be written in it.

use pattern::PatternFlags;

/// How a text is read. The default is a line of the server's own configuration, without the names
/// that only modules know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "which modules add names, and one old syntax")]
pub struct Mode {
    /// What may not be asked here.
    pub restrict: Restrict,
    /// Whether mod_ssl is loaded: `%{SSL_...}`, `SSL()` and `PeerExtList()` exist.
    pub ssl: bool,
    /// Whether mod_proxy_hcheck is loaded: `%{HC_BODY}` and `hc()` exist.
    pub health_check: bool,
    /// Whether mod_include asks: `v()` exists, and `env()` and `reqenv()` mean the same.
    pub include: bool,
    /// Whether a comparison compares lengths first, as SSLRequire does
    /// (`AP_EXPR_FLAG_SSL_EXPR_COMPAT`).
    pub ssl_compat: bool,
    /// How regular expressions are read (RegexDefaultOptions).
    pub regex: PatternFlags,
}

impl Mode {
    /// For a line of a `.htaccess` file.
    #[must_use]
    pub fn htaccess() -> Self {
        Self { restrict: Restrict::FileFunctions, ..Self::default() }
    }

    /// For an expression in a page that mod_include reads.
    #[must_use]
    pub fn page() -> Self {
        Self { restrict: Restrict::Files, include: true, ..Self::default() }
    }
}

/// What may not be asked, because whoever wrote the text may see less than the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restrict {
    /// Everything may be asked.
    #[default]
    Nothing,
    /// Not `file()` and `filesize()` (`AP_EXPR_FLAG_RESTRICTED_FILE_FUNC`).
    FileFunctions,
    /// Nor the tests of files, `-d` to `-x` (`AP_EXPR_FLAG_RESTRICTED`).
    Files,
}
