//! What the last regular expression with groups has found, for `$0` to `$9`.

use alloc::vec::Vec;
use core::ops::Range;
use pattern::Captures;

/// Groups that are remembered, the whole match included (`AP_MAX_REG_MATCH`).
pub const MATCH_GROUPS: usize = 10;

/// Where `$0` to `$9` come from. Some directives keep it for what follows: mod_rewrite, `<!--#if`
/// of mod_include, SetEnvIfExpr. For the others a new one is right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    source: Vec<u8>,
    groups: [Option<Range<usize>>; MATCH_GROUPS],
}

impl Matches {
    /// Without any.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What group `number` matched; empty when it matched nothing or does not exist.
    #[must_use]
    pub fn get(&self, number: usize) -> &[u8] {
        let range = self.groups.get(number).cloned().flatten();
        range.and_then(|range| self.source.get(range)).unwrap_or_default()
    }

    /// Whether there has been a match with groups.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(Option::is_none)
    }

    /// Takes over a match that was made elsewhere, or forgets the last one.
    pub fn set(&mut self, source: &[u8], captures: Option<&Captures>) {
        self.source.clear();
        self.groups = Default::default();
        let Some(captures) = captures else { return };
        self.source.extend_from_slice(source);
        for (number, group) in self.groups.iter_mut().enumerate() {
            *group = captures.get(number);
        }
    }
}
