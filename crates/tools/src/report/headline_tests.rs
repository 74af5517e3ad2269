//! The sentence in every situation.

use super::*;
use crate::report::{
    CapacityRun, CapacitySearch, LoadLevel, PageSummary, RunSettings, Summary, TimeDistribution,
};

/// A run that nothing is wrong with.
fn run() -> RunRecord {
    let latency_us =
        TimeDistribution { count: 37_020, p99: 12_000.0, ..TimeDistribution::default() };
    let server = ServerRecord { cpu_percent: 141.0, cores: Some(2), ..ServerRecord::default() };
    let summary = Summary {
        requests: 37_020,
        answers: 37_020,
        elapsed_s: 30.0,
        rate: 1234.0,
        latency_us,
        aborted: 64,
        statuses: [(200, 37_020)].into(),
        server: Some(server),
        ..Summary::default()
    };
    let figures = RunSettings {
        pace: "64 users".to_owned(),
        unit: "users".to_owned(),
        constant_users: Some(64),
        ..RunSettings::default()
    };
    RunRecord { figures, summary, ..RunRecord::default() }
}

/// Nothing good came: all that ended are failures of these kinds.
fn fail(record: &mut RunRecord, answers: u64, kinds: &[(&str, u64)]) {
    let summary = &mut record.summary;
    summary.errors_by_kind =
        kinds.iter().map(|(kind, times)| ((*kind).to_owned(), *times)).collect();
    summary.errors = summary.errors_by_kind.values().sum();
    (summary.requests, summary.answers, summary.rate) = (summary.errors, answers, 0.0);
    summary.latency_us = TimeDistribution::default();
    summary.statuses.clear();
}

fn open(record: &mut RunRecord, wanted: f64, rate: f64) {
    record.figures = RunSettings {
        pace: format!("{wanted} requests/s"),
        unit: "requests/s".to_owned(),
        constant_rate: Some(wanted),
        open_loop: true,
        ..RunSettings::default()
    };
    record.summary.rate = rate;
}

fn levels(record: &mut RunRecord, unit: &str, rows: &[(f64, f64)]) {
    record.figures.pace = "steps".to_owned();
    record.figures.unit = unit.to_owned();
    record.figures.constant_users = None;
    let row = |(level, rate): &(f64, f64)| HeldLevel {
        figures: LoadLevel {
            level: *level,
            rate: *rate,
            p99_us: 1000.0 * level,
            ..LoadLevel::default()
        },
        ..HeldLevel::default()
    };
    record.levels = rows.iter().map(row).collect();
}

fn search(record: &mut RunRecord, holds_at: Option<f64>, fails_at: Option<f64>) {
    record.capacity = Some(CapacitySearch {
        unit: "requests/s".to_owned(),
        condition: "p99<200ms".to_owned(),
        holds_at,
        fails_at,
        confirmed: holds_at.is_some(),
        tries: vec![CapacityRun::default()],
        ..CapacitySearch::default()
    });
}

/// What makes a situation of a sound run, and what is said then.
type Situation = (fn(&mut RunRecord), &'static str);

#[track_caller]
fn check(situations: &[Situation]) {
    for (change, shall) in situations {
        let mut record = run();
        change(&mut record);
        assert_eq!(headline(&record), *shall);
    }
}

#[test]
fn what_went_well_is_said_with_its_circumstances() {
    check(&[
        (
            |_| {},
            "1,234 requests/s for 30.0 s with 64 users; p99 12.0 ms; no failures; the server \
                  used 1.4 of 2 cores.",
        ),
        (
            |it| it.summary.server = None,
            "1,234 requests/s for 30.0 s with 64 users; p99 12.0 ms; \
                                         no failures.",
        ),
        (
            |it| {
                it.figures.constant_users = Some(1);
                it.summary.elapsed_s = 0.25;
                let server = it.summary.server.as_mut().unwrap();
                (server.cores, server.cpu_percent) = (Some(1), 7.0);
            },
            "1,234 requests/s for 250 ms with 1 user; p99 12.0 ms; no failures; the server used \
            0.07 of 1 core.",
        ),
        // Too short for the kernel to note any.
        (
            |it| it.summary.server.as_mut().unwrap().cpu_percent = f64::NAN,
            "1,234 requests/s for 30.0 s with 64 users; p99 12.0 ms; no failures.",
        ),
        // A run that was saved before cores were.
        (
            |it| it.summary.server.as_mut().unwrap().cores = None,
            "1,234 requests/s for 30.0 s with \
            64 users; p99 12.0 ms; no failures; the server used 1.4 cores.",
        ),
        (
            |it| {
                it.summary.server = None;
                it.figures.constant_users = None;
                it.figures.pace = "replay of access.log at 2 x its speed".to_owned();
            },
            "1,234 requests/s for 30.0 s (replay of access.log at 2 x its speed); p99 12.0 ms; no \
            failures.",
        ),
        (
            |it| {
                it.summary.server = None;
                let time_us = TimeDistribution {
                    count: 300,
                    p99: 1_200_000.0,
                    ..TimeDistribution::default()
                };
                let pages = PageSummary { rate: 10.0, time_us, ..PageSummary::default() };
                it.summary.pages = Some(pages);
            },
            "10.0 pages/s for 30.0 s with 64 users; p99 of pages 1.20 s; no failures.",
        ),
    ]);
}

#[test]
fn what_went_wrong_in_part_is_said_beside_what_went_well() {
    check(&[
        (
            |it| (it.summary.errors, it.summary.server) = (370, None),
            "1,234 good answers/s for \
            30.0 s with 64 users; p99 12.0 ms; 370 of 37,020 requests failed (1.00 %).",
        ),
        (
            |it| (it.summary.errors, it.summary.server) = (1, None),
            "1,234 good answers/s for \
            30.0 s with 64 users; p99 12.0 ms; 1 of 37,020 requests failed (less than 0.01 %).",
        ),
        (
            |it| (it.interrupted, it.summary.server) = (true, None),
            "1,234 requests/s for 30.0 s \
            with 64 users; p99 12.0 ms; no failures; the run was interrupted.",
        ),
        (
            |it| {
                it.summary.server = None;
                (it.summary.aborted_slow, it.summary.aborted_oldest_us) = (32, 6_000_000.0);
            },
            "1,234 requests/s for 30.0 s with 64 users; p99 12.0 ms; no failures; 32 requests \
            were still waiting, the oldest for 6.00 s.",
        ),
        (
            |it| (it.warnings, it.summary.server) = (vec!["busy".to_owned()], None),
            "1,234 requests/s \
            for 30.0 s with 64 users; p99 12.0 ms; no failures; there is a reason to doubt these \
            figures.",
        ),
        (
            |it| (it.warnings, it.summary.server) = (vec!["busy".to_owned(); 3], None),
            "1,234 \
            requests/s for 30.0 s with 64 users; p99 12.0 ms; no failures; there are 3 reasons to \
            doubt these figures.",
        ),
        (
            |it| {
                it.summary.server = None;
                let time_us = TimeDistribution {
                    count: 300,
                    p99: 1_200_000.0,
                    ..TimeDistribution::default()
                };
                let (failed, incomplete) = (2, 3);
                let pages =
                    PageSummary { rate: 10.0, time_us, failed, incomplete, ..<_>::default() };
                (it.summary.pages, it.summary.errors) = (Some(pages), 5);
            },
            "10.0 pages/s for 30.0 s with 64 users; p99 of pages 1.20 s; 5 of 37,020 requests \
            failed (0.01 %), 2 pages failed to load and 3 are incomplete.",
        ),
    ]);
}

#[test]
fn a_run_without_a_good_answer_claims_no_rate() {
    check(&[
        (|it| *it = RunRecord::default(), "No request was completed in 0.00 us."),
        (
            |it| {
                fail(it, 0, &[]);
                (it.summary.aborted_oldest_us, it.summary.server) = (29_900_000.0, None);
            },
            "No request was completed in 30.0 s with 64 users: 64 were under way, the oldest for \
            29.9 s.",
        ),
        (
            |it| {
                fail(it, 0, &[]);
                (it.summary.aborted, it.interrupted, it.summary.elapsed_s) = (0, true, 0.25);
            },
            "No request was completed in 250 ms with 64 users; the run was interrupted.",
        ),
        (
            |it| {
                fail(it, 0, &[("timeout", 34), ("refused", 1200)]);
                it.summary.server = None;
            },
            "None of 1,234 requests was answered in 30.0 s with 64 users: refused 1,200, timeout \
            34.",
        ),
        (
            |it| {
                fail(it, 0, &[("timeout", 1)]);
                // What had failed is what was waited for: that is no latency of answers.
                it.summary.latency_us =
                    TimeDistribution { count: 1, p99: 3e7, ..TimeDistribution::default() };
            },
            "None of 1 request was answered in 30.0 s with 64 users: timeout 1; the server used \
            1.4 of 2 cores.",
        ),
        (
            |it| {
                fail(it, 1230, &[("status", 1230), ("closed", 4)]);
                (it.summary.statuses, it.summary.server) = ([(500, 1000), (503, 230)].into(), None);
            },
            "No good answer to 1,234 requests in 30.0 s with 64 users: status (most often 500) \
            1,230, closed 4.",
        ),
        (
            |it| {
                fail(it, 42, &[("redirects", 2)]);
                // Each redirect is good for itself.
                (it.summary.rate, it.summary.requests, it.summary.redirected) = (1.4, 42, 42);
                it.summary.server = None;
            },
            "No good answer to 42 requests in 30.0 s with 64 users: redirects 2.",
        ),
        (
            |it| {
                it.summary.redirected = it.summary.answers;
                it.summary.server = None;
            },
            "All 37,020 answers were redirects in 30.0 s with 64 users.",
        ),
    ]);
}

#[test]
fn a_rate_that_was_asked_for_was_reached_or_not() {
    check(&[
        (
            |it| (open(it, 500.0, 499.0), it.summary.server = None).1,
            "499 requests/s for 30.0 s, \
            as asked for; p99 12.0 ms; no failures.",
        ),
        (
            |it| (open(it, 500.0, 312.0), it.summary.server = None).1,
            "Only 312 requests/s for \
            30.0 s where 500 were asked for; p99 12.0 ms; no failures.",
        ),
        (
            |it| {
                open(it, 500.0, 12.0);
                (it.summary.errors, it.summary.server) = (14_640, None);
                (it.summary.requests, it.interrupted) = (15_000, true);
            },
            "Only 12.0 good answers/s for 30.0 s where 500 were asked \
            for; p99 12.0 ms; 14,640 of 15,000 requests failed (97.6 %); the run was \
            interrupted.",
        ),
        (
            |it| {
                open(it, 500.0, 0.0);
                fail(it, 0, &[("timeout", 15_000)]);
                it.summary.server = None;
            },
            "None of 15,000 requests was answered in 30.0 s (500 requests/s): timeout 15,000.",
        ),
    ]);
}

#[test]
fn a_load_that_changes_has_its_best_level() {
    check(&[
        (
            |it| {
                levels(it, "users", &[(1.0, 100.0), (50.0, 1300.0), (100.0, 1200.0)]);
                it.summary.server = None;
            },
            "At most 1,300 requests/s, with 50 of 1 to 100 users in 30.0 s; p99 50.0 ms there; no \
            failures.",
        ),
        (
            |it| {
                levels(it, "requests/s", &[(500.0, 499.0), (1000.0, 730.5)]);
                (it.summary.server, it.summary.errors) = (None, 370);
            },
            "At most 731 good answers/s, where 1,000 were asked for, of 500 to 1,000 requests/s in \
            30.0 s; p99 1.00 s there; 370 of 37,020 requests failed (1.00 %).",
        ),
        (
            |it| {
                levels(it, "users", &[(4.0, 170.0), (8.0, 355.0), (16.0, 350.0), (32.0, 360.0)]);
                it.summary.server = None;
            },
            "At most 360 requests/s, with 32 of 4 to 32 users in 30.0 s; p99 32.0 ms there; \
             355/s, p99 8.00 ms, with 8 already; no failures.",
        ),
        // Levels that no second lies within say nothing.
        (
            |it| {
                levels(it, "users", &[(1.0, 0.0), (2.0, 0.0)]);
                it.summary.server = None;
            },
            "1,234 requests/s for 30.0 s (steps); p99 12.0 ms; no failures.",
        ),
        (
            |it| {
                levels(it, "users", &[(8.0, 900.0)]);
                it.ramp = vec![LoadLevel::default(); 3];
                it.figures.pace = "pattern 1-8:20,10".to_owned();
                it.summary.server = None;
            },
            "1,234 requests/s on average for 30.0 s (pattern 1-8:20,10); p99 12.0 ms; no \
            failures.",
        ),
    ]);
}

#[test]
fn a_search_says_what_it_found_or_that_it_found_nothing() {
    check(&[
        (
            |it| search(it, Some(40.0), Some(42.0)),
            "p99<200ms holds up to 40.0 requests/s and \
            fails at 42.0; confirmed by a longer run.",
        ),
        (
            |it| search(it, Some(100.0), None),
            "p99<200ms holds at 100 requests/s, the highest that \
            was tried; confirmed by a longer run.",
        ),
        (|it| search(it, None, Some(0.1)), "p99<200ms already fails at 0.10 requests/s."),
        (|it| search(it, None, None), "nothing is known about p99<200ms."),
        (
            |it| {
                search(it, Some(40.0), Some(42.0));
                it.warnings = vec!["much".to_owned()];
                let capacity = it.capacity.as_mut().unwrap();
                (capacity.confirmed, capacity.stopped) = (false, Some("interrupted".to_owned()));
            },
            "p99<200ms holds up to 40.0 requests/s and fails at 42.0; not confirmed; the search \
            stopped there: interrupted; there is a reason to doubt these figures.",
        ),
    ]);
}
