//! Pages in figures, where whole pages are loaded.

use super::times::{TimeDistribution, buckets_us};
use load::Pages;
use serde::{Deserialize, Serialize};

/// Pages with all that they need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageSummary {
    /// Those that came.
    pub loaded: u64,
    /// Others for which nothing was asked, as a cache had all of it: they are in no other figure.
    pub unasked: u64,
    /// Pages that came and lack something; `loaded` counts them, too.
    pub incomplete: u64,
    /// Pages of which not even the page itself came.
    pub failed: u64,
    /// Pages under way when the run ended; counted nowhere else.
    pub aborted: u64,
    /// Pages that came per second.
    pub rate: f64,
    /// From when a page should have been asked for to the end of the last thing it needs.
    pub time_us: TimeDistribution,
    /// From when it should have been asked for to its own first byte, redirects included; of those
    /// whose own content a cache had there is none.
    pub first_byte_us: TimeDistribution,
    /// The times of pages: each bucket by its longest time in microseconds, and how many it has.
    pub histogram_us: Vec<(f64, u64)>,
    /// How long pages under way when the run ended had been so: each bucket by its longest time in
    /// microseconds, and how many it has.
    pub waiting_us: Vec<(f64, u64)>,
    /// Requests for each page, its own included.
    pub requests_per_page: f64,
    /// Bytes that came for each page, heads and framing included.
    pub bytes_per_page: f64,
    /// Things that the cache had, for all pages.
    pub cached: u64,
    /// Things that the cache had and asked about, for all pages.
    pub renewed: u64,
    /// Things on hosts that were not asked, for all pages.
    pub elsewhere: u64,
}

impl PageSummary {
    /// The summary of pages that were counted in `elapsed_s` seconds.
    pub(super) fn new(pages: &Pages, elapsed_s: f64) -> Self {
        let each = |sum: u64| sum as f64 / (pages.loaded + pages.failed).max(1) as f64;
        Self {
            loaded: pages.loaded,
            unasked: pages.unasked,
            incomplete: pages.incomplete,
            failed: pages.failed,
            aborted: pages.waiting.count(),
            rate: if elapsed_s > 0.0 { pages.loaded as f64 / elapsed_s } else { 0.0 },
            time_us: TimeDistribution::from(&pages.time),
            first_byte_us: TimeDistribution::from(&pages.first_byte),
            histogram_us: buckets_us(&pages.time),
            waiting_us: buckets_us(&pages.waiting),
            requests_per_page: each(pages.requests),
            bytes_per_page: each(pages.bytes),
            cached: pages.cached,
            renewed: pages.renewed,
            elsewhere: pages.elsewhere,
        }
    }
}

/// Pages of one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageSecond {
    /// Those that came.
    pub loaded: u64,
    /// Pages that did not come, or lack something.
    pub faulty: u64,
    /// What half of the pages that came took at most, in microseconds.
    #[serde(with = "super::times::measured")]
    pub p50_us: f64,
    /// What 99 % of the pages that came took at most, in microseconds.
    #[serde(with = "super::times::measured")]
    pub p99_us: f64,
}

impl From<&PageSummary> for PageSecond {
    fn from(pages: &PageSummary) -> Self {
        Self {
            loaded: pages.loaded,
            faulty: pages.failed + pages.incomplete,
            p50_us: pages.time_us.p50,
            p99_us: pages.time_us.p99,
        }
    }
}
