//! Tests of the grammar of patterns.

use super::*;
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

/// Levels at whole seconds.
fn levels(text: &str, seconds: &[u64]) -> Vec<f64> {
    let pattern = LoadPattern::parse(text).unwrap_or_else(|fault| panic!("{fault}"));
    seconds.iter().map(|second| pattern.level(second * S)).collect()
}

#[test]
fn levels_follow_the_intervals() {
    let rows: &[(&str, &[u64], &[f64])] = &[
        (
            "1-150:60,30,150-1:60",
            &[0, 30, 60, 89, 90, 120, 150],
            &[1.0, 75.5, 150.0, 150.0, 150.0, 75.5, 0.0],
        ),
        ("5:10", &[0, 9, 10], &[5.0, 5.0, 0.0]),
        ("0-10:10", &[0, 5, 10], &[0.0, 5.0, 0.0]),
        ("10r-2000r:60", &[0, 30], &[10.0, 1005.0]),
        ("0.5r:1m", &[59, 60], &[0.5, 0.0]),
        ("1-3:2*2", &[0, 1, 2, 3, 4], &[1.0, 2.0, 1.0, 2.0, 0.0]),
        ("1-3:2,1*3", &[1, 2, 4, 5], &[2.0, 3.0, 3.0, 0.0]),
        ("[a:1-100,b:1-50]:60", &[0, 30], &[2.0, 76.0]),
        ("[ california: 1-100 , 3 ]:60,1m", &[0, 60, 119], &[4.0, 103.0, 103.0]),
        ("0-4:10:step=5", &[0, 1, 2, 3, 5, 9], &[0.0, 0.0, 1.0, 1.0, 2.0, 4.0]),
        ("1-100:100:expo", &[0, 50], &[1.0, 10.0]),
        ("1-100:3:expo:step=3", &[0, 1, 2], &[1.0, 10.0, 100.0]),
        ("1-100:3:step=3:expo", &[0, 1, 2], &[1.0, 10.0, 100.0]),
        (" 1-2:1 , 3-4:1 ", &[0, 1], &[1.0, 3.0]),
    ];
    for (text, seconds, expect) in rows {
        let got = levels(text, seconds);
        let near = got.iter().zip(*expect).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near, "{text}: {got:?}, not {expect:?}");
    }
}

#[test]
fn faults_name_the_place_and_what_was_expected() {
    let rows: &[(&str, usize, &str)] = &[
        ("", 0, "such as 1-150:60"),
        ("60", 0, "such as 1-150:60"),
        ("1-150", 5, "a colon and a duration"),
        ("1-150:", 6, "a duration"),
        ("1-150:60,", 9, "a duration"),
        ("1-150:60,up", 9, "a duration"),
        ("1-150:60 30", 9, "a comma or the end"),
        ("1-:60", 2, "a level"),
        ("-5:60", 0, "a level"),
        ("1-2r:60", 2, "either all levels have an r or none"),
        ("1-2:60,1r-2r:60", 7, "either all levels have an r or none"),
        ("1.5-2:60", 0, "a whole number of users"),
        ("1-1000001:60", 2, "from 0 to 1000000"),
        ("1r-100000001r:60", 3, "from 0 to 100000000"),
        ("[1-1000000,1]:60", 0, "at most 1000000"),
        ("1-2:60:sine", 7, "expo or step=N"),
        ("0-2:60:expo", 7, "above 0"),
        ("1-2:60:step=1", 12, "from 2 to"),
        ("1-2:60:step=", 12, "from 2 to"),
        ("1-2:60*0", 7, "how often"),
        ("1-2:60*99999999999", 7, "how often"),
        ("1-2:60:expo*1000", 0, "more than 20000 pieces"),
        ("1-2:300h*20000", 0, "longer than a year"),
        ("1-2:0", 4, "above 0"),
        ("1-2:60x", 6, "a unit of time"),
        ("0-0:60", 0, "never rises above 0"),
        ("[a:1-2:60", 6, "a comma or ]"),
        ("[]:60", 1, "a level"),
        ("nan-inf:60", 0, "a level"),
        ("1e3-2:60", 1, "a colon"),
    ];
    for (text, at, what) in rows {
        let fault = LoadPattern::parse(text).expect_err(text);
        assert!(fault.what.contains(what) && fault.at == *at, "{text}: {} {fault}", fault.at);
    }
}

#[test]
fn constants_and_steps_are_patterns_too() {
    let constant = LoadPattern::constant(LoadKind::Users, 10.0, None).unwrap();
    assert_eq!((constant.level(u64::MAX - 1), constant.duration_ns()), (10.0, None));
    let short = LoadPattern::constant(LoadKind::Rate, 0.5, Some(S)).unwrap();
    assert_eq!((short.level(0), short.level(S), short.duration_ns()), (0.5, 0.0, Some(S)));
    let steps = LoadPattern::steps(LoadKind::Users, &[1.0, 10.0, 25.0], 10 * S).unwrap();
    assert_eq!(steps, LoadPattern::parse("1:10,10:10,25:10").unwrap());
    assert_eq!(LoadPattern::parse_steps("1, 10,25", 10 * S), Ok(steps));
    assert_eq!(LoadPattern::parse_steps("5r,6r", S).unwrap().kind(), LoadKind::Rate);

    for level in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.5, 1e9] {
        assert!(LoadPattern::constant(LoadKind::Users, level, None).is_err(), "{level}");
        assert!(LoadPattern::steps(LoadKind::Users, &[level], S).is_err(), "{level}");
    }
    assert!(LoadPattern::constant(LoadKind::Users, 1.0, Some(0)).is_err());
    assert!(LoadPattern::constant(LoadKind::Users, 1.0, Some(u64::MAX)).is_err());
    assert!(LoadPattern::steps(LoadKind::Users, &[], S).is_err());
    for text in ["", "1,", "1;2", "1,2r", "x"] {
        assert!(LoadPattern::parse_steps(text, S).is_err(), "{text}");
    }
}

#[test]
fn a_curve_stays_near_its_formula() {
    let pattern = LoadPattern::parse("1r-5000r:1000:expo").unwrap();
    for second in 0..1000 {
        let exact = 5000f64.powf(second as f64 / 1000.0);
        let level = pattern.level(second * S);
        assert!((level / exact - 1.0).abs() < 0.001, "at {second}: {level}, not {exact}");
    }
}

#[test]
fn curves_and_steps_of_a_moment_have_no_empty_pieces() {
    for text in ["1-9:0.000000005:expo", "1-9:0.000000005:step=20"] {
        let pattern = LoadPattern::parse(text).unwrap();
        assert_eq!(pattern.duration_ns(), Some(5), "{text}");
        assert!(pattern.segments().iter().all(|segment| segment.len_ns.unwrap() > 0), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "[-0-9.,:*r\\[\\]a-z= ]{0,40}") {
        let _ = LoadPattern::parse(&text);
        let _ = LoadPattern::parse_steps(&text, S);
    }

    #[test]
    fn any_text_panics_as_little(text: String) {
        if let Err(fault) = LoadPattern::parse(&text) {
            prop_assert!(fault.to_string().len() < 2000);
        }
    }

    #[test]
    fn pieces_join_without_gaps(
        parts in proptest::collection::vec((0u32..500, 0u32..500, 1u32..100_000, 0u8..4), 1..8),
    ) {
        let text: Vec<String> = parts.iter().map(|(from, to, ms, shape)| match shape {
            0 => format!("{from}-{to}:{ms}ms"),
            1 => format!("{}-{}:{ms}ms:expo", from + 1, to + 1),
            2 => format!("{from}-{to}:{ms}ms:step=7"),
            _ => format!("{}-{to}:{ms}ms*3", from + 1),
        }).collect();
        let Ok(pattern) = LoadPattern::parse(&text.join(",")) else { return Ok(()) };
        let mut at = 0;
        for segment in pattern.segments() {
            prop_assert_eq!(segment.start_ns, at);
            prop_assert!((0.0..=USERS_MAX).contains(&segment.from));
            prop_assert!((0.0..=USERS_MAX).contains(&segment.to));
            at = segment.end_ns().unwrap();
        }
        prop_assert_eq!(pattern.duration_ns(), Some(at));
        prop_assert_eq!(pattern.level(at), 0.0);
        let times = |shape: u8| if shape > 2 { 3 } else { 1 };
        let whole_ms: u64 = parts.iter().map(|part| u64::from(part.2) * times(part.3)).sum();
        prop_assert_eq!(at, whole_ms * 1_000_000);
    }
}

#[test]
fn users_arrive_one_by_one_and_stay() {
    let pattern = LoadPattern::arriving(3, 100).unwrap();
    let users = |t_ns| pattern.level(t_ns).round();
    assert_eq!([0, 99, 100, 199, 200, 1_000_000].map(users), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(pattern.duration_ns(), None);
    assert_eq!(LoadPattern::arriving(1, 100).unwrap().level(0), 1.0);
}
