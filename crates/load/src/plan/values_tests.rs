//! Tests of variables and texts.

use super::*;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

fn variables(rows: &[(&str, &str)]) -> Variables {
    let mut variables = Variables::default();
    for (name, text) in rows {
        variables.define(name, text).unwrap_or_else(|fault| panic!("{fault}"));
    }
    variables
}

fn written(text: &Template, values: &PlanValues) -> String {
    let mut out = Vec::new();
    text.write(values, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn references_of_all_forms_are_replaced() {
    let variables = variables(&[("HOST", "example.org"), ("URL", "http://$(HOST)/a"), ("E", "")]);
    let rows = [
        ("$(URL)?x", "http://example.org/a?x"),
        ("${HOST}#{HOST}", "example.orgexample.org"),
        ("a$b#c", "a$b#c"),
        ("$", "$"),
        ("x#", "x#"),
        ("$$(HOST) $${HOST} ##{HOST}", "$(HOST) ${HOST} #{HOST}"),
        ("$(E)", ""),
        ("$(n)-$(user)", "1-7"),
        ("\u{e9}$(HOST)\u{e9}", "\u{e9}example.org\u{e9}"),
    ];
    for (text, expect) in rows {
        assert_eq!(
            written(&variables.text(text).unwrap(), &PlanValues::new(1, 7)),
            expect,
            "{text}"
        );
    }
}

#[test]
fn names_that_are_unknown_or_not_closed_are_faults() {
    let variables = variables(&[("HOST", "a"), ("LOGIN", "b")]);
    let rows = [
        ("x$(HSOT)", 3, "did you mean HOST?"),
        ("$(zebra)", 2, "no such name"),
        ("a$(HOST", 1, "expected a name and )"),
        ("#{HOST)", 0, "expected a name and }"),
        ("$()", 2, "no such name"),
    ];
    for (text, at, what) in rows {
        let fault = variables.text(text).unwrap_err();
        assert!(fault.at == at && fault.what.contains(what), "{text}: {fault}");
    }
}

#[test]
fn definitions_are_checked() {
    for (name, text) in [
        ("1a", "x"),
        ("a b", "x"),
        ("", "x"),
        ("a", "list[]"),
        ("a", "list[x,\r\ny]"),
        ("a", "alpha[3,2]"),
        ("a", "alpha[1,5000]"),
        ("a", "alpha[1]"),
        ("a", "number[1,2,0]"),
        ("a", "number[-1,2]"),
        ("a", "number[1,x]"),
        ("a", "number[0,18446744073709551615]"),
        ("a", "x$(n)"),
    ] {
        assert!(Variables::default().define(name, text).is_err(), "{name}={text}");
    }
    // What is none of the kinds is a constant.
    assert!(Variable::parse("a", "other[1,2]").is_none());
}

/// A definition, and what its values are like.
type FormRow = (&'static str, fn(&str) -> bool);

#[test]
fn values_have_the_form_of_their_kind() {
    let rows: &[FormRow] = &[
        ("list[red, green,blue]", |v| ["red", "green", "blue"].contains(&v)),
        ("alpha[3,5]", |v| (3..=5).contains(&v.len()) && v.bytes().all(|b| b.is_ascii_lowercase())),
        ("number[5,12]", |v| (5..=12).contains(&v.parse::<u64>().unwrap())),
        ("number[7,7]", |v| v == "7"),
        ("udid", |v| v.len() == 40 && v.bytes().all(|b| b.is_ascii_hexdigit())),
        ("uuid", |v| {
            let bytes = v.as_bytes();
            let dashes = [8, 13, 18, 23].iter().all(|at| bytes[*at] == b'-');
            v.len() == 36 && dashes && bytes[14] == b'4' && b"89ab".contains(&bytes[19])
        }),
    ];
    for (definition, is_good) in rows {
        let text = variables(&[("v", definition)]).text("$(v)").unwrap();
        let mut values = PlanValues::new(3, 1);
        let mut seen = HashSet::new();
        for _ in 0..300 {
            let value = written(&text, &values);
            assert!(is_good(&value), "{definition}: {value}");
            seen.insert(value);
            values.advance();
        }
        assert!(seen.len() > 1 || *definition == "number[7,7]", "{definition} never changes");
    }
}

#[test]
fn a_value_is_the_same_within_a_request_and_in_the_same_run() {
    let text = variables(&[("a", "uuid"), ("b", "uuid")]).text("$(a) $(a) $(b)").unwrap();
    let mut values = PlanValues::new(5, 2);
    let first = written(&text, &values);
    let words: Vec<&str> = first.split(' ').collect();
    assert!(words[0] == words[1] && words[1] != words[2]);
    assert_eq!(written(&text, &PlanValues::new(5, 2)), first);
    assert_ne!(written(&text, &PlanValues::new(6, 2)), first, "another run");
    assert_ne!(written(&text, &PlanValues::new(5, 3)), first, "another user");
    values.advance();
    assert_ne!(written(&text, &values), first, "another request");
}

#[test]
fn a_count_bounds_how_many_values_there_are() {
    for definition in ["alpha[8,20,5]", "number[1,1000000,5]"] {
        let text = variables(&[("v", definition)]).text("$(v)").unwrap();
        let mut counts: HashMap<String, u32> = HashMap::new();
        for user in 0..1000 {
            *counts.entry(written(&text, &PlanValues::new(1, user))).or_default() += 1;
        }
        assert!(counts.len() == 5 && counts.values().all(|n| (140..260).contains(n)), "{counts:?}");
    }
}

proptest! {
    #[test]
    fn texts_without_references_stay_as_they_are(text: String) {
        if let Ok(read) = Variables::default().text(&text) && !text.contains(['$', '#']) {
            prop_assert_eq!(read.as_fixed(), Some(text.as_bytes()));
        }
    }

    #[test]
    fn numbers_stay_below_their_bound(seed: u64, bound in 1u64..) {
        prop_assert!(Random::new(seed).below(bound) < bound);
        prop_assert_eq!(Random::new(seed).below(0), 0);
    }
}
