//! The record of one page while it is loaded.

use crate::failure::FailureKind;
use crate::page::har::{HarEntry, Waterfall};
use crate::page::{Resource, ResourceKind};
use crate::recorder::Window;
use runtime::clock;
use upstream::AnswerSummary;

/// The record of one page: its times, what it took, what is missing.
#[derive(Default)]
pub(super) struct PageRecord {
    pub(super) url: String,
    intended_ns: u64,
    begun_unix_us: i64,
    /// When the page's own first byte and its last came.
    page_ns: Option<(u64, u64)>,
    /// A cache had the page itself.
    is_cached: bool,
    /// When the last of everything came, or failed.
    end_ns: u64,
    requests: u64,
    bytes: u64,
    cached: u64,
    pub(super) renewed: u64,
    pub(super) elsewhere: u64,
    /// Things that are missing.
    missing: u64,
    has_failed: bool,
    /// There was no connection for the page.
    pub(super) is_unconnected: bool,
    /// All exchanges, if somebody wants to see them.
    pub(super) steps: Option<Vec<HarEntry>>,
}

impl PageRecord {
    pub(super) fn new(intended_ns: u64, keeps_steps: bool) -> Self {
        Self {
            intended_ns,
            begun_unix_us: if keeps_steps { clock::unix_us() } else { 0 },
            steps: keeps_steps.then(Vec::new),
            ..Self::default()
        }
    }

    pub(super) fn answered(&mut self, resource: &Resource, answer: &AnswerSummary, is_fault: bool) {
        self.requests += 1;
        self.bytes += answer.received_bytes;
        self.moved(resource, answer.end_ns);
        if resource.is_page {
            // After a redirect this is said again.
            self.page_ns = Some((answer.first_byte_ns, answer.end_ns));
            self.is_cached = false;
            self.has_failed |= is_fault;
        } else {
            self.missing += u64::from(is_fault);
        }
    }

    /// Something has come; a page is whole without its icon, which is no part of it.
    fn moved(&mut self, resource: &Resource, now_ns: u64) {
        if resource.kind != ResourceKind::Icon {
            self.end_ns = self.end_ns.max(now_ns);
        }
    }

    pub(super) fn found_in_cache(&mut self, resource: &Resource, now_ns: u64) {
        self.cached += 1;
        self.moved(resource, now_ns);
        if resource.is_page {
            self.page_ns = Some((now_ns, now_ns));
            self.is_cached = true;
        }
    }

    pub(super) fn failed(&mut self, resource: &Resource, failure: FailureKind, now_ns: u64) {
        self.moved(resource, now_ns);
        if resource.is_page {
            self.has_failed = true;
            self.is_unconnected = failure.is_of_connect();
        } else {
            self.missing += 1;
        }
    }

    /// Adds the page to those of a second.
    pub(super) fn enter(&self, window: &mut Window) {
        let pages = window.pages.get_or_insert_default();
        pages.requests += self.requests;
        pages.bytes += self.bytes;
        pages.cached += self.cached;
        pages.renewed += self.renewed;
        pages.elsewhere += self.elsewhere;
        match self.page_ns.filter(|_| !self.has_failed) {
            // The server had nothing to do: such pages would be as many as this program can count.
            Some(_) if self.is_unasked() => pages.unasked += 1,
            Some((first_byte_ns, _)) => {
                pages.loaded += 1;
                pages.incomplete += u64::from(self.missing > 0);
                pages.time.record(self.end_ns.saturating_sub(self.intended_ns));
                if !self.is_cached {
                    pages.first_byte.record(first_byte_ns.saturating_sub(self.intended_ns));
                }
            }
            None => pages.failed += 1,
        }
    }

    /// Nothing was asked for it.
    pub(super) const fn is_unasked(&self) -> bool {
        self.requests == 0 && self.missing == 0 && !self.has_failed
    }

    /// The waterfall of a page that lacks nothing, if one is kept.
    pub(super) fn waterfall(self) -> Option<Waterfall> {
        if self.is_unasked() {
            return None;
        }
        let (_, content_ns) = self.page_ns.filter(|_| !self.has_failed && self.missing == 0)?;
        let begun_ns = self.intended_ns;
        Some(Waterfall {
            steps: self.steps?,
            url: self.url,
            begun_unix_us: self.begun_unix_us,
            begun_ns,
            content_ns,
            end_ns: self.end_ns,
        })
    }
}
