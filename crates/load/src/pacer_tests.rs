//! Tests of schedules: what must hold for every pattern, and moments counted by hand.

use super::*;
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

fn pacer(text: &str) -> Pacer {
    Pacer::new(LoadPattern::parse(text).unwrap_or_else(|fault| panic!("{fault}")))
}

#[test]
fn users_are_rounded_levels() {
    let rows: &[(&str, &[(u64, u32)])] = &[
        ("1-150:60,30,150-1:60", &[(0, 1), (30, 76), (60, 150), (149, 3), (150, 0), (999, 0)]),
        ("3:1", &[(0, 3), (1, 0)]),
        ("0-10:10", &[(0, 0), (5, 5), (9, 9)]),
    ];
    for (text, expect) in rows {
        let pacer = pacer(text);
        assert_eq!(pacer.kind(), LoadKind::Users);
        for (second, users) in *expect {
            assert_eq!(pacer.users(second * S), *users, "{text} at {second}");
        }
        assert_eq!(pacer.due(0), None);
    }
}

#[test]
fn changes_of_users_are_told_to_the_nanosecond() {
    let pacer = pacer("1-3:10,5,3-1:10");
    let mut changes = Vec::new();
    let mut at = 0;
    while let Some(next) = pacer.next_change(at) {
        changes.push((next, pacer.users(next)));
        at = next;
    }
    let down = 15 * S;
    assert_eq!(
        changes,
        // Half a user counts as one: rising it is there at the half, falling it leaves after it.
        [
            (2_500_000_000, 2),
            (7_500_000_000, 3),
            (down + 2_500_000_001, 2),
            (down + 7_500_000_001, 1),
            (25 * S, 0)
        ]
    );
    let constant = Pacer::new(LoadPattern::constant(LoadKind::Users, 5.0, None).unwrap());
    assert_eq!((constant.users(u64::MAX), constant.next_change(0)), (5, None));
}

#[test]
fn requests_of_a_rate_are_due_at_exact_moments() {
    let rows: &[DueRow<'_>] = &[
        (
            "10r:60",
            &[
                (0, Some(0)),
                (1, Some(S / 10)),
                (3, Some(300_000_000)),
                (599, Some(59_900_000_000)),
                (600, None),
            ],
        ),
        ("3r:1", &[(1, Some(333_333_333)), (2, Some(666_666_667)), (3, None)]),
        (
            "0r-10r:10",
            &[(0, Some(0)), (1, Some(1_414_213_562)), (49, Some(9_899_494_937)), (50, None)],
        ),
        ("10r-0r:10", &[(0, Some(0)), (49, Some(8_585_786_438)), (50, None)]),
        // Nothing is due while the rate is 0, and the next one only when it rises again.
        ("1r:2,0r:10,1r:2", &[(1, Some(S)), (2, Some(12 * S)), (3, Some(13 * S)), (4, None)]),
        ("0r:5,2r:1", &[(0, Some(5 * S)), (1, Some(5_500_000_000))]),
        ("0.5r:10", &[(1, Some(2 * S)), (4, Some(8 * S)), (5, None)]),
    ];
    for (text, expect) in rows {
        let pacer = pacer(text);
        assert_eq!((pacer.kind(), pacer.users(0), pacer.next_change(0)), (LoadKind::Rate, 0, None));
        for (n, due) in *expect {
            assert_eq!(pacer.due(*n), *due, "{text}: {n}");
        }
    }
}

#[test]
fn a_rate_for_ever_does_not_drift() {
    let pacer = Pacer::new(LoadPattern::constant(LoadKind::Rate, 1000.0, None).unwrap());
    for n in [0, 1, 7, 1_000_003, 86_400_000_001] {
        assert_eq!(pacer.due(n), Some(n * 1_000_000), "{n}");
    }
    assert_eq!(pacer.duration_ns(), None);
    assert!(pacer.due(u64::MAX).is_some_and(|due| due > 1 << 63));
}

#[test]
fn records_are_replayed_at_a_speed() {
    let moments = vec![5 * S, 3 * S, 3 * S, 9 * S];
    let twice = Pacer::recorded(moments.clone(), 2.0).unwrap();
    let due: Vec<_> = (0..5).map(|n| twice.due(n)).collect();
    assert_eq!(due, [Some(0), Some(0), Some(S), Some(3 * S), None]);
    assert_eq!(twice.duration_ns(), Some(3 * S + 1));
    let once = Pacer::recorded(moments, 1.0).unwrap();
    assert_eq!((once.due(3), once.due_before(6 * S)), (Some(6 * S), 3.0));
    let slow = Pacer::recorded(vec![0, u64::MAX], 0.001).unwrap();
    assert_eq!(slow.due(1), Some(u64::MAX), "it ends there and does not wrap");
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        assert!(Pacer::recorded(Vec::new(), speed).is_err(), "{speed}");
    }
    let none = Pacer::recorded(Vec::new(), 1.0).unwrap();
    assert_eq!((none.due(0), none.duration_ns()), (None, Some(0)));
}

/// A pattern, and when the requests of these numbers are due.
type DueRow<'a> = (&'a str, &'a [(u64, Option<u64>)]);

/// Patterns of all shapes.
fn patterns(suffix: &'static str) -> impl Strategy<Value = String> {
    let part = (0u32..300, 0u32..300, 1u32..20_000, 0u8..5);
    proptest::collection::vec(part, 1..6).prop_map(move |parts| {
        let r = suffix;
        let one = |&(from, to, ms, shape): &(u32, u32, u32, u8)| match shape {
            0 | 1 => format!("{from}{r}-{to}{r}:{ms}ms"),
            2 => format!("{}{r}-{}{r}:{ms}ms:expo", from + 1, to + 1),
            3 => format!("{from}{r}-{to}{r}:{ms}ms:step=5"),
            _ => format!("{to}{r}:{ms}ms,7ms"),
        };
        let first = format!("0{r}-1{r}:3ms,");
        first + &parts.iter().map(one).collect::<Vec<_>>().join(",")
    })
}

proptest! {
    #[test]
    fn users_match_the_level_and_no_change_is_missed(
        text in patterns(""),
        spots in proptest::collection::vec(0.0..1.0f64, 30),
    ) {
        let pattern = LoadPattern::parse(&text).unwrap();
        let pacer = Pacer::new(pattern.clone());
        let end = pattern.duration_ns().unwrap();
        // The changes from the start on, as the engine follows them.
        let mut changes = vec![(0, pacer.users(0))];
        while let Some(next) = pacer.next_change(changes.last().unwrap().0) {
            let (at, before) = *changes.last().unwrap();
            prop_assert!(at < next && next <= end);
            prop_assert_eq!(pacer.users(next - 1), before);
            prop_assert_ne!(pacer.users(next), before);
            changes.push((next, pacer.users(next)));
        }
        prop_assert_eq!(changes.last().unwrap().1, 0);
        for spot in spots {
            let t = (end as f64 * spot) as u64;
            let users = pacer.users(t);
            prop_assert!((f64::from(users) - pattern.level(t)).abs() <= 0.5);
            let index = changes.partition_point(|change| change.0 <= t);
            prop_assert_eq!(users, changes[index - 1].1, "at {}", t);
            prop_assert_eq!(pacer.next_change(t), changes.get(index).map(|change| change.0));
        }
    }

    #[test]
    fn due_is_the_inverse_of_the_integral(
        text in patterns("r"),
        spots in proptest::collection::vec(0.0..1.0f64, 30),
    ) {
        let pattern = LoadPattern::parse(&text).unwrap();
        let pacer = Pacer::new(pattern.clone());
        let end = pattern.duration_ns().unwrap();
        let due: Vec<u64> = (0..).map_while(|n| pacer.due(n)).collect();
        prop_assert!(due.is_sorted() && due.last().is_none_or(|last| *last < end));
        prop_assert_eq!(pacer.due(due.len() as u64 + 5), None);
        for spot in spots {
            let t = (end as f64 * spot) as u64;
            let count = due.partition_point(|due| *due < t) as f64;
            let integral = integral(&pattern, t);
            prop_assert!((count - integral).abs() <= 1.0 + 1e-6, "{} {} at {}", count, integral, t);
            prop_assert!((pacer.due_before(t) - integral).abs() < 1e-6);
        }
        for (n, due) in due.iter().enumerate() {
            // A nanosecond of the highest rate is nothing, as is what a double cannot hold.
            prop_assert!((integral(&pattern, *due) - n as f64).abs() < 1e-4, "{} at {}", n, due);
        }
    }
}

/// The area under the level up to a moment, from the pattern alone.
fn integral(pattern: &LoadPattern, t: u64) -> f64 {
    let area = |segment: &Segment| {
        let end = segment.end_ns().unwrap().min(t).max(segment.start_ns);
        let part = (end - segment.start_ns) as f64;
        let whole = segment.len_ns.unwrap() as f64;
        let slope = (segment.to - segment.from) / whole;
        (segment.from * part + slope * part * part / 2.0) / 1e9
    };
    pattern.segments().iter().map(area).sum()
}
