//! Which output filters there are, and where each stands.

/// The output filters by name.
const FILTERS: &[(&str, FilterKind)] = &[
    ("INFLATE", FilterKind::Inflate),
    ("DEFLATE", FilterKind::Deflate),
    ("BROTLI_COMPRESS", FilterKind::Brotli),
    ("INCLUDES", FilterKind::Include),
    ("SUBSTITUTE", FilterKind::Substitute),
    ("RATE_LIMIT", FilterKind::RateLimit),
];

/// A filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterKind {
    Inflate,
    Deflate,
    Brotli,
    Include,
    Substitute,
    RateLimit,
}

impl FilterKind {
    /// By its name in any case.
    pub(crate) fn find(name: &str) -> Option<Self> {
        FILTERS.iter().find(|row| name.eq_ignore_ascii_case(row.0)).map(|row| row.1)
    }

    /// The same, if its module is there. The names of coders are always known.
    pub(crate) fn loaded(name: &str, has_module: &dyn Fn(&str) -> bool) -> Option<Self> {
        Self::find(name).filter(|kind| match kind {
            Self::Inflate | Self::Deflate | Self::Brotli => true,
            Self::Include => has_module("include_module"),
            Self::Substitute => has_module("substitute_module"),
            Self::RateLimit => has_module("ratelimit_module"),
        })
    }

    /// Where it stands: data passes from low to high. What unpacks comes before all that looks at
    /// the content, and what packs after it.
    pub(crate) const fn place(self) -> u32 {
        match self {
            Self::Inflate => 9,
            Self::Include | Self::Substitute => 10,
            Self::Deflate | Self::Brotli => 20,
            // After all that changes content, and after the head has joined it.
            Self::RateLimit => 49,
        }
    }
}
