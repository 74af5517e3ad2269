//! What `.htaccess` files of a folder may say.

use config::Scope;

/// What `AllowOverride` and `AllowOverrideList` permit in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Overrides {
    /// The places of `AllowOverride`.
    pub classes: Scope,
    /// Bits of `Options` that may be changed (`AllowOverride Options=...`); all by default.
    pub options: u8,
    /// Directives that are permitted one by one.
    pub list: Vec<String>,
    /// `Nonfatal=`: what is not permitted is passed over.
    pub passes_over: Scope,
    /// `Nonfatal=`: a directive that nobody knows is passed over.
    pub passes_unknown: bool,
}

impl Overrides {
    /// Whether a directive is permitted by its name.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.list.iter().any(|listed| listed.eq_ignore_ascii_case(name))
    }

    /// Whether a `.htaccess` file is read at all.
    pub(crate) fn is_none(&self) -> bool {
        !self.classes.meets(Scope::HTACCESS) && self.list.is_empty()
    }
}
