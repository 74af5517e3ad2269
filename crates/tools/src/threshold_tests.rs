//! Tests of conditions.

use super::*;
use proptest::prelude::*;

/// A run with these metrics.
struct Run(&'static [(&'static str, f64)]);

impl Metrics for Run {
    fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

const RUN: Run = Run(&[
    ("p50", 900e3),
    ("p99.9", 200e6),
    ("mean", 1.5e6),
    ("max", 90e9),
    ("requests", 2000.0),
    ("errors", 2.0),
    ("timeouts", 0.0),
    ("status5xx", 100.0),
    ("rate", 1234.5),
    ("bytes", 5e6),
    ("server_cpu", 0.75),
    ("cpu_us", 37.0),
    ("stdev", f64::NAN),
]);

#[test]
fn the_longest_latency_of_a_condition_is_known() {
    let of = |text: &str| ThresholdCondition::parse(text).unwrap().longest_latency_ns();
    assert_eq!(of("p99<100ms && errors<0.1%"), 100e6);
    assert_eq!(of("duration<1m && (p50<20ms || !(p99.9>=3s))"), 3e9);
    assert_eq!(of("errors<1% && rate>5k"), 0.0);
}

#[test]
fn conditions_hold_or_do_not() {
    let rows = [
        ("p50<1ms", true),
        ("p50 < 900us", false),
        ("p50<=900us", true),
        ("P50<1", true),
        ("p99.9<200ms", false),
        ("p99.9==0.2s", true),
        ("max>1m", true),
        ("max=90s", true),
        ("mean!=1.5ms", false),
        ("errors<0.1%", false),
        ("errors<=0.1%", true),
        ("errors<3", true),
        ("timeouts==0%", true),
        ("status5xx>=5%", true),
        ("rate>1k", true),
        ("rate>1.3K", false),
        ("bytes>4MB", true),
        ("bytes<5MiB", true),
        ("bytes<4.9m", false),
        ("server_cpu<80%", true),
        ("server_cpu<0.7", false),
        ("cpu_us<40", true),
        ("requests==2k", true),
        // Both words, and that && binds closer.
        ("rate>1k && errors<3", true),
        ("rate>2k && errors<3", false),
        ("rate>2k || errors<3", true),
        ("errors<3 || rate>2k && rate>3k", true),
        ("(errors<3 || rate>2k) && rate>3k", false),
        ("!(rate>2k)&&!errors>5", true),
        ("((rate>1))", true),
        (" !!(rate>1) ", true),
        // What a run does not have, or is no number, is never as wanted.
        ("p99<1m", false),
        ("p99>0", false),
        ("!p99<1m", false),
        ("stdev>0", false),
        ("stdev!=0", false),
    ];
    for (text, holds) in rows {
        let condition = ThresholdCondition::parse(text).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(condition.holds(&RUN), holds, "{text}: {}", condition.explain(&RUN));
    }
}

#[test]
fn shares_of_no_requests_are_told() {
    let none = Run(&[("requests", 0.0), ("errors", 0.0), ("timeouts", 5.0)]);
    assert!(ThresholdCondition::parse("errors==0%").unwrap().holds(&none));
    assert!(ThresholdCondition::parse("timeouts>100%").unwrap().holds(&none));
    for errors in 0..=1000 {
        struct Thousand(f64);
        impl Metrics for Thousand {
            fn get(&self, name: &str) -> Option<f64> {
                Some(if name == "errors" { self.0 } else { 1000.0 })
            }
        }
        let text = format!("errors=={}%", f64::from(errors) / 10.0);
        assert!(
            ThresholdCondition::parse(&text).unwrap().holds(&Thousand(f64::from(errors))),
            "{text}"
        );
    }
    let unknown = Run(&[("errors", 0.0)]);
    assert!(!ThresholdCondition::parse("errors<1%").unwrap().holds(&unknown));
}

#[test]
fn an_explanation_has_each_comparison_with_its_value() {
    let rows = [
        ("p50<1ms", "p50 is 900us, < 1ms"),
        ("max<1m||!(errors>=1%)", "max is 90s, not < 1m; errors is 0.1%, not >= 1%"),
        ("bytes == 5MB", "bytes is 5MB, == 5MB"),
        ("rate>2k", "rate is 1234.5, not > 2k"),
        ("errors=2", "errors is 2, == 2"),
        ("server_cpu<80%", "server_cpu is 75%, < 80%"),
        ("p99<1s", "p99 is not known, so not < 1s"),
    ];
    for (text, expect) in rows {
        assert_eq!(ThresholdCondition::parse(text).unwrap().explain(&RUN), expect);
    }
    let names = ThresholdCondition::parse("(p99<1 || rate>5) && p99.9<2").unwrap();
    assert_eq!(names.metrics(), ["p99", "rate", "p99.9"]);
}

/// The run above after another one.
struct Two;

impl Metrics for Two {
    fn get(&self, name: &str) -> Option<f64> {
        RUN.get(name)
    }

    fn before(&self, name: &str) -> Option<f64> {
        let before = Run(&[
            ("p50", 1000e3),
            ("mean", 1.5e6),
            ("requests", 1000.0),
            ("errors", 10.0),
            ("timeouts", 0.0),
            ("rate", 1000.0),
            ("bytes", 0.0),
            ("server_cpu", 0.5),
        ]);
        before.get(name)
    }
}

#[test]
fn a_change_is_compared_with_the_run_before() {
    let rows = [
        ("p50<-5%", true),
        ("p50<-10%", false),
        ("p50<=-10%", true),
        ("p50>+0%", false),
        ("p50==-100us", true),
        ("p50 > -0.2ms", true),
        ("mean>+0%", false),
        ("mean<=+0", true),
        ("rate>+20%", true),
        ("rate>+25%", false),
        ("rate>+200", true),
        // Shares change by points: 1 % of 1000 requests, and 0.1 % of 2000.
        ("errors<-0.8%", true),
        ("errors<-1%", false),
        ("errors==-8", true),
        ("timeouts>+0%", false),
        ("server_cpu>=+25%", true),
        ("server_cpu>+25%", false),
        // From nothing it is without end.
        ("bytes>+1000%", true),
        ("bytes>+4MB", true),
        ("!(p50>+10%) && rate>1k", true),
        // What one of the two does not have is never as wanted.
        ("max>+10%", false),
        ("!max>+10%", false),
        ("max>+1ms", false),
    ];
    for (text, holds) in rows {
        let condition = ThresholdCondition::parse(text).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(condition.holds(&Two), holds, "{text}: {}", condition.explain(&Two));
        let of_two = text.contains(['+', '-']);
        assert_eq!(condition.change().is_some(), of_two, "{text}");
        assert!(!of_two || !condition.holds(&RUN), "{text} of one run");
    }
    let told = [
        ("p50>+10%", "p50 is 900us after 1ms: -10%, not > +10%"),
        ("p50<-50us", "p50 is 900us after 1ms: -100us, < -50us"),
        ("rate>+10%", "rate is 1234.5 after 1000: +23.45%, > +10%"),
        ("errors>+1%", "errors is 0.1% after 1%: -0.9%, not > +1%"),
        ("max>+1s", "max is not known, so not > +1s"),
    ];
    for (text, expect) in told {
        assert_eq!(ThresholdCondition::parse(text).unwrap().explain(&Two), expect);
    }
    let condition = ThresholdCondition::parse("p99<1s && max>+1% && max>1s && p50>-3us").unwrap();
    assert_eq!((condition.change(), condition.unknown(&Two)), (Some("+1%"), vec!["p99", "max"]));
}

#[test]
fn faults_name_the_place_and_the_nearest_metric() {
    let deep = "(".repeat(60);
    let long = "rate>1 && ".repeat(1000);
    let rows: &[(&str, usize, &str)] = &[
        ("", 0, "expected a metric"),
        ("error<1", 0, "did you mean errors?"),
        ("rate>1 && staus5xx<1", 10, "did you mean status5xx?"),
        ("p101<1", 0, "p0 to p100"),
        ("p<1", 0, "no such metric"),
        ("p99.<1", 0, "no such metric"),
        ("p99", 3, "a comparison"),
        ("p99 ~ 1", 4, "a comparison"),
        ("p99<", 4, "a number"),
        ("p99<--1", 5, "a number"),
        ("p99<+-1", 6, "either + or -"),
        ("p99<+", 5, "a number"),
        ("p99>+10kb", 7, "a unit of time"),
        ("memory>10%", 9, "or +10%"),
        ("p99<nan", 4, "a number"),
        ("p99<1kb", 5, "a unit of time"),
        ("p99<1%", 5, "expected a unit of time: us, ms, s or m; or +10%"),
        ("rate>1%", 6, "k, M or no unit"),
        ("errors<1ms", 8, "%, k, M"),
        ("bytes<1s", 7, "a unit of size"),
        ("server_cpu<1k", 12, "expected %"),
        ("rate>1 &&", 9, "a metric"),
        ("rate>1 & rate>2", 7, "&&, || or the end"),
        ("rate>1 rate>2", 7, "&&, || or the end"),
        ("(rate>1", 7, "&&, || or )"),
        ("rate>1)", 6, "&&, || or the end"),
        (&deep, 51, "parentheses"),
        (&long, 0, "longer than"),
    ];
    for (text, at, what) in rows {
        let fault = ThresholdCondition::parse(text).expect_err(text);
        assert!(fault.at == *at && fault.what.contains(what), "{text}: {} {fault}", fault.at);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text: String, near in "[()!&|<>= a-z0-9.%+-]{0,60}") {
        for text in [text, near] {
            if let Ok(condition) = ThresholdCondition::parse(&text) {
                condition.holds(&Two);
                prop_assert!(condition.explain(&Two).len() < 100_000);
            }
        }
    }

    #[test]
    fn a_comparison_agrees_with_its_numbers(limit in 0u32..100, actual in 0u32..100) {
        struct One(f64);
        impl Metrics for One {
            fn get(&self, name: &str) -> Option<f64> {
                (name == "rate").then_some(self.0)
            }
        }
        let run = One(f64::from(actual));
        let holds = |operator: &str| {
            ThresholdCondition::parse(&format!("rate{operator}{limit}")).unwrap().holds(&run)
        };
        prop_assert_eq!(holds("<"), actual < limit);
        prop_assert_eq!(holds("<="), actual <= limit);
        prop_assert_eq!(holds(">"), actual > limit);
        prop_assert_eq!(holds(">="), actual >= limit);
        prop_assert_eq!(holds("=="), actual == limit);
        prop_assert_eq!(holds("!="), actual != limit);
    }
}
