//! Which second counts for which load.

use super::*;
use crate::report::ServerSecond;
use load::FailureKind;
use load::Window;

const S: u64 = 1_000_000_000;

/// A second with so many answers, each after so many milliseconds.
fn second(until_ns: u64, length_ns: u64, answers: u64, ms: u64) -> RunSecond {
    let mut window = Window { answers, ..Window::default() };
    (0..answers).for_each(|_| window.latency.record(ms * 1_000_000));
    RunSecond { until_ns: until_ns.cast_signed(), length_ns, window }
}

/// What a run comes to whose second number n, from 0, has 10 (n + 1) answers after n + 1 ms.
fn by_load(pattern: &str, lengths_ns: &[u64]) -> ByLoad {
    sums(LoadLevels::of(LoadPattern::parse(pattern).unwrap(), None, false), lengths_ns)
}

fn sums(mut levels: LoadLevels, lengths_ns: &[u64]) -> ByLoad {
    let mut until_ns = 0;
    for (length_ns, n) in lengths_ns.iter().zip(1..) {
        until_ns += length_ns;
        let second = second(until_ns, *length_ns, n * 10, n);
        levels.count(&second, &PerSecond::new(&second));
    }
    levels.end()
}

/// Load, span, seconds that count, requests.
fn rows(levels: &[HeldLevel]) -> Vec<(f64, f64, f64, f64, u64)> {
    let row = |it: &HeldLevel| {
        let figures = &it.figures;
        (figures.level, it.from_s, it.to_s, figures.counted_s, figures.requests)
    };
    levels.iter().map(row).collect()
}

#[test]
fn seconds_within_a_level_are_summed_up_with_their_histograms() {
    let steps = LoadPattern::parse_steps("1,10,25", 2 * S).unwrap();
    let found = sums(LoadLevels::of(steps, None, false), &[S; 6]);
    let shall = [(1.0, 0.0, 2.0, 2.0, 30), (10.0, 2.0, 4.0, 2.0, 70), (25.0, 4.0, 6.0, 2.0, 110)];
    assert_eq!(rows(&found.levels), shall);
    assert!(found.ramp.is_empty());
    let last = &found.levels[2].figures;
    assert!((last.rate - 55.0).abs() < 1e-9, "{last:?}");
    // Of 50 after 5 ms and 60 after 6: no mean of two percentiles.
    let ms = |us: f64| (us / 1000.0).round();
    assert_eq!([last.p50_us, last.p95_us, last.p99_us].map(ms), [6.0; 3], "{last:?}");
    let first = &found.levels[0].figures;
    assert_eq!([first.p50_us, first.p99_us].map(ms), [2.0; 2], "{first:?}");
}

#[test]
fn a_second_that_lies_in_two_levels_is_in_neither() {
    let steps = LoadPattern::parse_steps("1,2,3", S * 3 / 2).unwrap();
    let found = sums(LoadLevels::of(steps, None, false), &[S, S, S, S, S / 2]);
    // The second from 1 to 2 is that; the one from 4 to 4.5 is not.
    let shall = [(1.0, 0.0, 1.5, 1.0, 10), (2.0, 1.5, 3.0, 1.0, 30), (3.0, 3.0, 4.5, 1.5, 90)];
    assert_eq!(rows(&found.levels), shall);
    let steps = LoadPattern::parse_steps("1,2,3,4", S / 3).unwrap();
    let found = sums(LoadLevels::of(steps, None, false), &[S, S / 3]);
    let counted: Vec<f64> = found.levels.iter().map(|row| row.figures.counted_s).collect();
    assert_eq!(found.levels.len(), 4);
    assert_eq!(counted[..3], [0.0; 3], "none is as long as a second");
    assert_eq!((found.levels[0].figures.rate, found.levels[0].figures.p99_us), (0.0, 0.0));
}

#[test]
fn a_run_that_ends_early_has_the_levels_that_it_began() {
    let steps = || LoadPattern::parse_steps("1,2,3", 2 * S).unwrap();
    let found = sums(LoadLevels::of(steps(), None, false), &[S, S, S / 2]);
    assert_eq!(rows(&found.levels), [(1.0, 0.0, 2.0, 2.0, 30), (2.0, 2.0, 2.5, 0.5, 30)]);
    let found = sums(LoadLevels::of(steps(), None, false), &[S, S]);
    assert_eq!(found.levels.len(), 1, "the second level has not begun");
    assert!(sums(LoadLevels::of(steps(), None, false), &[]).levels.is_empty());
}

#[test]
fn answers_after_the_end_are_those_of_the_last_level() {
    // The last request is due before 4 s, its answer comes at 6.3 s.
    let lengths = [S, S, S, S, S, S, S * 3 / 10];
    let steps = LoadPattern::parse_steps("10r,20r", 2 * S).unwrap();
    let found = sums(LoadLevels::of(steps, None, false), &lengths);
    assert_eq!(rows(&found.levels)[1], (20.0, 2.0, 6.3, 4.3, 250));
    // Said by -d or -n, the end is earlier than that of the pattern.
    let steps = LoadPattern::parse_steps("10r,20r,30r", 2 * S).unwrap();
    let found = sums(LoadLevels::of(steps, Some(3 * S), false), &lengths);
    assert_eq!(rows(&found.levels).len(), 2);
    assert_eq!(rows(&found.levels)[1], (20.0, 2.0, 6.3, 4.3, 250));
}

#[test]
fn pieces_that_hold_are_levels_wherever_they_stand() {
    let found = by_load("2-4:2,3,4-8:2:step=2,0:1", &[S; 8]);
    let shall = [
        (4.0, 2.0, 5.0, 3.0, 120),
        (4.0, 5.0, 6.0, 1.0, 60),
        (8.0, 6.0, 7.0, 1.0, 70),
        (0.0, 7.0, 8.0, 1.0, 80),
    ];
    assert_eq!(rows(&found.levels), shall);
    let all: u64 = found.ramp.iter().map(|row| row.requests).sum();
    assert_eq!(all, 360, "a ramp has all seconds");
}

#[test]
fn a_ramp_has_seconds_of_about_the_same_load_together() {
    let found = by_load("1-5:4,5-1:4", &[S; 8]);
    assert!(found.levels.is_empty());
    let loads: Vec<(f64, f64, u64)> =
        found.ramp.iter().map(|row| (row.level, row.counted_s, row.requests)).collect();
    let shall = [(1.5, 2.0, 90), (2.5, 2.0, 90), (3.5, 2.0, 90), (4.5, 2.0, 90)];
    for (is, shall) in loads.iter().zip(shall) {
        assert!((is.0 - shall.0).abs() < 1e-6 && (is.1, is.2) == (shall.1, shall.2), "{loads:?}");
    }
    assert_eq!(loads.len(), 4);
    let long = by_load("10r-500r:100", &[S; 100]);
    assert_eq!(long.ramp.len(), BINS_MAX);
    assert!(long.ramp.is_sorted_by(|one, other| one.level < other.level));
    assert_eq!(long.ramp.iter().map(|row| row.requests).sum::<u64>(), 50_500);
}

#[test]
fn the_server_and_pages_are_those_of_the_seconds() {
    let mut levels = LoadLevels::of(LoadPattern::parse_steps("3,4", 2 * S).unwrap(), None, true);
    for (n, [percent, us]) in (1..).zip([[100.0, 10.0], [50.0, 20.0]]) {
        let mut second = second(n * S, S, 10, 1);
        second.window.failures[FailureKind::Refused as usize] = 2;
        let pages = second.window.pages.get_or_insert_default();
        pages.loaded = n;
        pages.time.record(n * 70_000_000);
        let mut figures = PerSecond::new(&second);
        let server = ServerSecond { cpu_percent: percent, cpu_us_per_request: us, ..seen() };
        figures.server = Some(server);
        levels.count(&second, &figures);
    }
    let found = levels.end().levels;
    let row = &found[0].figures;
    assert_eq!((row.requests, row.errors, row.rate), (24, 4, 1.5), "pages per second");
    assert_eq!(((row.p50_us / 1e3).round(), (row.p99_us / 1e3).round()), (70.0, 140.0));
    let server = row.server.as_ref().unwrap();
    assert_eq!((server.cpu_percent, server.cpu_us_per_request), (Some(75.0), Some(15.0)));
    assert_eq!(server.pss_bytes_max, 9_000_000);
}

#[test]
fn a_server_that_nobody_has_measured_takes_no_part_of_a_processor() {
    let level = |percents: &[f64], answers: u64| {
        let mut levels = LoadLevels::of(LoadPattern::parse_steps("3", 2 * S).unwrap(), None, false);
        for (n, percent) in (1..).zip(percents) {
            let second = second(n * S, S, answers, 1);
            let mut figures = PerSecond::new(&second);
            let (cpu_percent, cpu_us_per_request) = (*percent, *percent);
            figures.server = Some(ServerSecond { cpu_percent, cpu_us_per_request, ..seen() });
            levels.count(&second, &figures);
        }
        let figures = levels.end().levels.remove(0).figures;
        let server = figures.server.unwrap();
        (server.cpu_percent, server.cpu_us_per_request)
    };
    assert_eq!(level(&[f64::NAN; 2], 10), (None, None));
    assert_eq!(level(&[f64::NAN, 5.0], 10), (Some(2.5), Some(2.5)));
    assert_eq!(level(&[0.0; 2], 10), (None, None));
    assert_eq!(level(&[0.0; 2], 0), (Some(0.0), Some(0.0)), "nothing was asked for");
}

fn seen() -> ServerSecond {
    ServerSecond { pss_bytes: 9_000_000, ..ServerSecond::default() }
}

#[test]
fn the_warm_up_is_in_no_level() {
    let mut levels = LoadLevels::of(LoadPattern::parse_steps("3,4", S).unwrap(), None, false);
    for until_s in -2..=2 {
        let second = RunSecond { until_ns: until_s * S.cast_signed(), ..second(0, S, 10, 1) };
        levels.count(&second, &PerSecond::new(&second));
    }
    assert_eq!(rows(&levels.end().levels), [(3.0, 0.0, 1.0, 1.0, 10), (4.0, 1.0, 2.0, 1.0, 10)]);
}
