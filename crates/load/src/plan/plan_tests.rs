//! Tests of the order of requests.

use super::*;
use proptest::prelude::*;

fn plan(weights: &[u32], order: RequestOrder) -> Plan {
    let entry = |weight: &u32| {
        let spec = RequestSpec { url: "h/", ..RequestSpec::default() };
        let mut entry =
            PlanEntry::new(&spec, &Variables::default(), &RequestDefaults::default()).unwrap();
        entry.weight = *weight;
        entry
    };
    Plan::new(weights.iter().map(entry).collect(), order).unwrap()
}

fn picks(plan: &Plan, user: u32, count: usize) -> Vec<usize> {
    let mut cursor = Cursor::new(1, user);
    (0..count).map(|_| plan.next(&mut cursor)).collect()
}

#[test]
fn in_turn_begins_elsewhere_for_each_user() {
    let plan = plan(&[1, 9, 0], RequestOrder::InTurn);
    assert_eq!(picks(&plan, 0, 5), [0, 1, 2, 0, 1]);
    assert_eq!(picks(&plan, 4, 4), [1, 2, 0, 1]);
}

#[test]
fn at_random_is_another_order_for_each_user_and_the_same_in_each_run() {
    let plan = plan(&[1, 1, 1, 1, 0], RequestOrder::AtRandom);
    let first = picks(&plan, 0, 4000);
    assert_eq!(picks(&plan, 0, 4000), first);
    assert_ne!(picks(&plan, 1, 4000), first);
    for index in 0..4 {
        let count = first.iter().filter(|pick| **pick == index).count();
        assert!((850..1150).contains(&count), "{count}");
    }
    assert!(!first.contains(&4), "a weight of 0 never comes");
}

#[test]
fn users_do_not_all_send_the_same_at_once() {
    let plan = plan(&[1; 10], RequestOrder::Weighted);
    let mut counts = [0; 10];
    for user in 0..100 {
        counts[picks(&plan, user, 1)[0]] += 1;
    }
    assert_eq!(counts, [10; 10]);
}

#[test]
fn a_plan_needs_a_request() {
    assert!(Plan::new(Vec::new(), RequestOrder::InTurn).is_err());
    let mut none = plan(&[1], RequestOrder::Weighted).entries()[0].clone();
    none.weight = 0;
    assert!(Plan::new(vec![none], RequestOrder::Weighted).is_err());
}

#[test]
fn the_values_go_on_with_the_requests() {
    let mut variables = Variables::default();
    variables.define("x", "uuid").unwrap();
    let spec = RequestSpec { url: "h/$(n)", ..RequestSpec::default() };
    let entry = PlanEntry::new(&spec, &variables, &RequestDefaults::default()).unwrap();
    let plan = Plan::new(vec![entry], RequestOrder::Weighted).unwrap();
    let mut cursor = Cursor::new(1, 0);
    for n in 1..4 {
        let index = plan.next(&mut cursor);
        let mut out = Vec::new();
        plan.entries()[index].write(&mut cursor.values, None, &mut out);
        assert!(out.starts_with(format!("GET /{n} ").as_bytes()));
    }
}

#[test]
fn users_think_between_the_two_times() {
    let mut cursor = Cursor::new(1, 1);
    let thoughts: Vec<u64> =
        (0..1000).map(|_| cursor.think_ns(Think { from_ns: 5, to_ns: 9 })).collect();
    assert!(
        (5..=9).all(|ns| thoughts.contains(&ns)) && thoughts.iter().all(|ns| (5..=9).contains(ns))
    );
    let longest = Think { from_ns: u64::MAX, to_ns: 0 };
    assert_eq!(cursor.think_ns(longest), u64::MAX, "nothing wraps");
}

proptest! {
    #[test]
    fn weights_are_hit_within_rounding_over_any_stretch(
        weights in proptest::collection::vec(0u32..50, 1..12),
        user in 0u32..1000,
        start in 0usize..500,
        len in 1usize..2000,
    ) {
        let total: u32 = weights.iter().sum();
        prop_assume!(total > 0);
        let plan = plan(&weights, RequestOrder::Weighted);
        let picked = &picks(&plan, user, start + len)[start..];
        for (index, weight) in weights.iter().enumerate() {
            let count = picked.iter().filter(|pick| **pick == index).count() as f64;
            let wanted = len as f64 * f64::from(*weight) / f64::from(total);
            // Less than one at either end.
            prop_assert!((count - wanted).abs() < 2.0, "{}: {} of {}", index, count, wanted);
        }
        // Over a whole turn it is exact.
        let turn = &picks(&plan, user, total as usize);
        for (index, weight) in weights.iter().enumerate() {
            let count = turn.iter().filter(|pick| **pick == index).count();
            prop_assert_eq!(count, *weight as usize);
        }
    }
}
