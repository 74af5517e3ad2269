//! The settings of negotiation: which language is preferred, and when that decides.

use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    priority: Option<Vec<String>>,
    force: Option<Force>,
    /// httpd has this once for each host, which comes to the same: it may only stand outside of
    /// sections.
    pub(super) caches: Option<bool>,
}

/// `ForceLanguagePriority`; neither is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Force {
    /// `LanguagePriority` decides between languages that suit equally well.
    pub(super) prefer: bool,
    /// It names what to send if no language suits.
    pub(super) fallback: bool,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self {
            priority: either(self.priority.as_ref(), outer.priority.as_ref()),
            force: self.force.or(outer.force),
            caches: self.caches.or(outer.caches),
        }
    }
}

impl Settings {
    /// Settings with these lists, for tests.
    #[cfg(test)]
    pub(super) fn of(priority: &[&str], force: &[&str]) -> Self {
        let mut settings = Self::default();
        settings.add_priority(priority.iter().map(|&word| word.to_owned()));
        for word in force {
            settings.add_force(word).unwrap();
        }
        settings
    }

    /// `CacheNegotiatedDocs`: whether caches of HTTP/1.0 may keep what was chosen.
    pub(crate) fn caches(&self) -> bool {
        self.caches.unwrap_or(false)
    }

    pub(super) fn force(&self) -> Force {
        self.force.unwrap_or(Force { prefer: true, fallback: false })
    }

    /// The place in `LanguagePriority` of a language. A word of the list is as good as all that
    /// begin with it: `en` has the place of `en-gb`, too (mod_negotiation.c `find_lang_index`).
    pub(super) fn priority_of(&self, language: &[u8]) -> Option<usize> {
        let begins = |word: &String| {
            let head = language.get(..word.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
        };
        self.priority.iter().flatten().position(begins)
    }

    pub(super) fn add_priority(&mut self, words: impl Iterator<Item = String>) {
        self.priority.get_or_insert_default().extend(words);
    }

    pub(super) fn add_force(&mut self, word: &str) -> Result<(), String> {
        let before = self.force;
        let mut force = before.unwrap_or_default();
        let is_none = before == Some(Force::default());
        if word.eq_ignore_ascii_case("None") {
            if force != Force::default() {
                return Err("Cannot combine ForceLanguagePriority options with None".to_owned());
            }
        } else if word.eq_ignore_ascii_case("Prefer") {
            force.prefer = true;
        } else if word.eq_ignore_ascii_case("Fallback") {
            force.fallback = true;
        } else {
            return Err(format!("Invalid ForceLanguagePriority option {word}"));
        }
        if is_none && force != Force::default() {
            let name = if force.prefer { "Prefer" } else { "Fallback" };
            return Err(format!("Cannot combine ForceLanguagePriority options None and {name}"));
        }
        self.force = Some(force);
        Ok(())
    }
}
