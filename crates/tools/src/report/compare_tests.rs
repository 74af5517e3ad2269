//! What is called a difference, and what is not.

use super::*;
use crate::report::{PerUrl, RunSettings, ServerRecord, ServerSecond, Summary};
use crate::threshold::ThresholdCondition;

/// Runs of 20 seconds around `rate` and `p50_us`, each second off by up to `noise` of it.
fn run(rate: f64, p50_us: f64, noise: f64) -> RunRecord {
    let wave = |n: u32| (f64::from(n * 7 % 11) / 5.0 - 1.0) * noise;
    let second = |n: u32| PerSecond {
        until_s: f64::from(n),
        length_s: 1.0,
        rate: rate * (1.0 + wave(n)),
        p50_us: p50_us * (1.0 + wave(n)),
        server: Some(ServerSecond { cpu_us_per_request: 50.0, ..ServerSecond::default() }),
        ..PerSecond::default()
    };
    let latency_us = TimeDistribution {
        count: 10_000,
        p50: p50_us,
        p99: 2.0 * p50_us,
        ..TimeDistribution::default()
    };
    let server = ServerRecord { cpu_us_per_request: 50.0, ..ServerRecord::default() };
    let summary = Summary {
        requests: 10_000,
        answers: 10_000,
        rate,
        latency_us,
        received_bytes: 10_000_000,
        server: Some(server),
        ..Summary::default()
    };
    let figures = RunSettings { pace: "64 users".into(), ..RunSettings::default() };
    RunRecord { figures, summary, seconds: (1..=20).map(second).collect(), ..RunRecord::default() }
}

fn verdict_on(name: &str, a: &RunRecord, b: &RunRecord) -> DifferenceVerdict {
    let comparison = RunComparison::of(("a", a), ("b", b));
    comparison.rows().iter().find(|row| row.name == name).unwrap().verdict
}

#[test]
fn a_difference_beyond_the_noise_is_better_or_worse_and_both_ways_round() {
    let (slow, fast) = (run(1000.0, 800.0, 0.02), run(1100.0, 700.0, 0.02));
    assert!(matches!(verdict_on("rate", &slow, &fast), DifferenceVerdict::Better(_)));
    assert!(matches!(verdict_on("rate", &fast, &slow), DifferenceVerdict::Worse(_)));
    assert!(matches!(verdict_on("p50", &slow, &fast), DifferenceVerdict::Better(_)));
    assert!(matches!(verdict_on("p50", &fast, &slow), DifferenceVerdict::Worse(_)));
}

#[test]
fn within_the_noise_there_is_no_difference() {
    let (one, other) = (run(1000.0, 800.0, 0.4), run(1100.0, 700.0, 0.4));
    let DifferenceVerdict::Same(noise) = verdict_on("rate", &one, &other) else {
        panic!("told apart")
    };
    assert!((10.0..80.0).contains(&noise), "{noise}");
    assert!(matches!(verdict_on("p50", &one, &other), DifferenceVerdict::Same(_)));
    // Without any noise at all two runs still differ by chance.
    let (one, other) = (run(1000.0, 800.0, 0.0), run(1009.0, 800.0, 0.0));
    assert_eq!(verdict_on("rate", &one, &other), DifferenceVerdict::Same(PERCENT_MIN));
}

#[test]
fn short_runs_tell_nothing() {
    let (mut one, other) = (run(1000.0, 800.0, 0.02), run(2000.0, 800.0, 0.02));
    one.seconds.truncate(SECONDS_MIN - 1);
    assert_eq!(verdict_on("rate", &one, &other), DifferenceVerdict::TooShort);
}

#[test]
fn seconds_that_follow_their_neighbours_say_less() {
    let scattered: Vec<f64> = (0..40).map(|n| f64::from(n % 2)).collect();
    let drifting: Vec<f64> = (0..40).map(|n| f64::from(n / 20)).collect();
    let [scattered, drifting] = [scattered, drifting].map(|it| standard_error(&it).unwrap());
    assert!(drifting > 3.0 * scattered, "{drifting} {scattered}");
    assert_eq!(standard_error(&[1.0; SECONDS_MIN]), Some(0.0));
}

#[test]
fn errors_differ_by_their_counts() {
    let with = |errors| {
        let mut record = run(1000.0, 800.0, 0.02);
        record.summary.errors = errors;
        record
    };
    assert_eq!(verdict_on("errors", &with(0), &with(0)), DifferenceVerdict::None);
    assert!(matches!(verdict_on("errors", &with(5), &with(9)), DifferenceVerdict::Same(_)));
    assert!(matches!(verdict_on("errors", &with(5), &with(90)), DifferenceVerdict::Worse(_)));
    assert!(matches!(verdict_on("errors", &with(90), &with(5)), DifferenceVerdict::Better(_)));
}

#[test]
fn urls_are_compared_where_both_runs_have_them() {
    let with = |names: [&str; 2], mean: f64| {
        let mut record = run(1000.0, 800.0, 0.02);
        let latency_us = TimeDistribution {
            count: 10_000,
            mean,
            stddev: mean / 2.0,
            ..TimeDistribution::default()
        };
        let url = |name: &str| PerUrl {
            name: name.to_owned(),
            latency_us: latency_us.clone(),
            ..PerUrl::default()
        };
        record.urls = names.map(url).to_vec();
        record
    };
    let (one, other) = (with(["/a", "/b"], 500.0), with(["/b", "/c"], 600.0));
    assert!(matches!(verdict_on("/b (mean)", &one, &other), DifferenceVerdict::Worse(_)));
    let text = RunComparison::of(("a", &one), ("b", &other)).text();
    assert!(!text.contains("/a (mean)") && !text.contains("/c (mean)"), "{text}");
}

#[test]
fn the_text_has_both_figures_their_ratio_and_the_verdict() {
    let (one, mut other) = (run(1000.0, 800.0, 0.02), run(1100.0, 800.0, 0.02));
    other.figures.pace = "32 users".into();
    let text = RunComparison::of(("a.json", &one), ("b.json", &other)).text();
    assert!(text.starts_with("A  a.json: 64 users in 0.0 s\nB  b.json: 32 users in"), "{text}");
    assert!(text.contains("these runs did not have the same settings"), "{text}");
    let line = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    let words: Vec<&str> = line("rate").split_whitespace().collect();
    assert_eq!(words[..5], ["rate", "1,000/s", "1,100/s", "1.100", "better"], "{text}");
    assert!(line("p50").contains("no difference"), "{text}");
    assert!(line("bytes per answer").trim_end().ends_with("1.000"), "{text}");
}

#[test]
fn conditions_speak_of_the_second_run_and_of_the_change() {
    let (one, other) = (run(1000.0, 800.0, 0.02), run(1100.0, 1000.0, 0.02));
    let holds = |text: &str, a: &RunRecord, b: &RunRecord| {
        let condition = ThresholdCondition::parse(text).unwrap();
        condition.holds(&RunComparison::of(("a", a), ("b", b)))
    };
    assert!(holds("p50>+20% && p50<1.1ms && rate>+5%", &one, &other));
    assert!(holds("p50<-10% && p50<900us && rate<-5%", &other, &one));
    assert!(!holds("p50>+20%", &other, &one) && !holds("p50>+30%", &one, &other));
    // A run without answers has no latency that could have changed.
    assert!(!holds("p50>+0%", &one, &RunRecord::default()));
}

#[test]
fn what_may_be_chance_is_said_to_be() {
    let caveat = |noise: f64, seconds: usize| {
        let (mut one, other) = (run(1000.0, 800.0, noise), run(1100.0, 700.0, noise));
        one.seconds.truncate(seconds);
        RunComparison::of(("a", &one), ("b", &other)).caveat(&["memory", "p50"])
    };
    assert_eq!(caveat(0.02, 20), None);
    assert!(caveat(0.4, 20).unwrap().starts_with("no difference that these runs can show"));
    assert_eq!(caveat(0.02, 3).unwrap(), "the runs are too short to tell it from chance");
}

#[test]
fn runs_of_nothing_and_of_the_absurd_can_be_compared() {
    let mut absurd = run(f64::MAX, f64::MIN_POSITIVE, 1e300);
    absurd.seconds[3].rate = f64::INFINITY;
    absurd.summary.errors = u64::MAX;
    absurd.summary.requests = 1;
    let empty = RunRecord::default();
    for (a, b) in [(&empty, &empty), (&absurd, &empty), (&empty, &absurd), (&absurd, &absurd)] {
        assert!(RunComparison::of(("a", a), ("b", b)).text().lines().count() > 3);
    }
}
