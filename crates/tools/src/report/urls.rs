//! What the URLs of a run came to, one by one: those that were asked most where there are many, and
//! all others together.

use super::times::TimeDistribution;
use load::{PerEntry, Window};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// URLs that a record holds; a replay may have a million.
const KEPT_MAX: usize = 1000;

/// URLs that have a line of their own in a terminal.
pub(super) const LINES_MAX: usize = 20;

/// What one URL of the plan came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PerUrl {
    /// The method and the URL.
    pub name: String,
    /// Requests that were answered.
    pub answers: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Bytes of content.
    pub body_bytes: u64,
    /// As in [`super::Summary`], within 1 %; mean, shortest and longest are exact.
    pub latency_us: TimeDistribution,
}

/// What the URLs came to that have no row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OtherUrls {
    /// How many URLs have no row.
    pub urls: usize,
    /// All other URLs together.
    pub together: PerUrl,
}

impl PerUrl {
    fn new(entry: &PerEntry, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            answers: entry.answers,
            errors: entry.failures,
            body_bytes: entry.body_bytes,
            latency_us: TimeDistribution::from(&entry.latency),
        }
    }
}

/// The rows of a record.
pub(super) fn of(total: &Window, names: &[String]) -> (Vec<PerUrl>, Option<OtherUrls>) {
    let none = PerEntry::default();
    let mut all: Vec<(&PerEntry, &String)> =
        names.iter().enumerate().map(|(row, name)| (at(total, row, &none), name)).collect();
    if all.len() > LINES_MAX {
        // Of an answer that counts as failed as well, only one of the two.
        all.sort_by_key(|row| Reverse(row.0.answers.max(row.0.failures)));
    }
    let others = all.split_off(all.len().min(KEPT_MAX));
    let urls = all.into_iter().map(|(entry, name)| PerUrl::new(entry, name)).collect();
    if others.is_empty() {
        return (urls, None);
    }
    let mut together = PerEntry::default();
    others.iter().for_each(|row| together.add(row.0));
    let together = PerUrl::new(&together, "others");
    (urls, Some(OtherUrls { urls: others.len(), together }))
}

fn at<'a>(total: &'a Window, row: usize, none: &'a PerEntry) -> &'a PerEntry {
    total.entries.get(&row).unwrap_or(none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RunRecord;
    use crate::report::rows::unshown_urls as unshown;
    use crate::report::units::count;

    fn run(urls: usize) -> RunRecord {
        let mut total = Window::default();
        for row in (0..urls).filter(|row| *row != 1) {
            let entry = total.entries.entry(row).or_default();
            (0..=row % 7).for_each(|_| entry.latency.record(1_000_000 * row as u64));
            entry.answers = entry.latency.count();
            entry.failures = u64::from(row % 10 == 0);
        }
        let names: Vec<String> = (0..urls).map(|row| format!("GET http://a/{row}")).collect();
        let (urls, other_urls) = of(&total, &names);
        RunRecord { urls, other_urls, ..RunRecord::default() }
    }

    #[test]
    fn few_urls_stand_in_the_order_of_the_plan() {
        let record = run(5);
        let names: Vec<&str> = record.urls.iter().map(|url| url.name.as_str()).collect();
        assert_eq!(names, [0, 1, 2, 3, 4].map(|row| format!("GET http://a/{row}")));
        assert_eq!((record.urls[1].answers, record.urls[4].answers), (0, 5));
        assert!(record.other_urls.is_none() && unshown(&record, LINES_MAX).is_none());
    }

    #[test]
    fn of_many_urls_those_asked_most_come_first_and_nothing_is_lost() {
        let record = run(2500);
        let others = record.other_urls.as_ref().unwrap();
        assert_eq!((record.urls.len(), others.urls), (KEPT_MAX, 1500));
        assert!(record.urls.is_sorted_by_key(|url| Reverse(url.answers)));
        assert_eq!(record.urls[0].name, "GET http://a/6");
        let kept: u64 = record.urls.iter().map(|url| url.answers).sum();
        let whole: u64 = (0..2500).filter(|row| *row != 1).map(|row| row % 7 + 1).sum();
        assert_eq!(kept + others.together.answers, whole);
        assert_eq!(others.together.latency_us.count, others.together.answers);
        let shown: u64 = record.urls[..LINES_MAX].iter().map(|url| url.answers).sum();
        let text = unshown(&record, LINES_MAX).unwrap();
        let begin = format!("and 2,480 more: {} requests, 2", count(whole - shown));
        assert!(text.starts_with(&begin) && text.ends_with("the slowest 2.50 s"), "{text}");
    }
}
