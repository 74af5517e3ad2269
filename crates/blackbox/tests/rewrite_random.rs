//! Rules and requests that are made up: apache2 and trivet answer alike, and no rule leads to a
//! file that nothing grants.
//!
//! `make test` makes up the same 200 sets each time. `TRIVET_SEED` begins with others, and
//! `TRIVET_RULE_SETS` says how many (`make soak`).

use blackbox::Mpm;
use blackbox::dice::{Dice, number};
use blackbox::rewrite::{Beside, Finding, Sheet, draw, smallest, told};

/// Sets that are served at a time.
const AT_A_TIME: u64 = 200;
/// Findings that are told; a fault is found again and again.
const TOLD_MAX: usize = 4;

#[test]
fn rules_that_are_made_up_do_what_apache_does_with_them() {
    let test = "rules_that_are_made_up_do_what_apache_does_with_them";
    let seed = number("TRIVET_SEED").unwrap_or(1);
    let count = number("TRIVET_RULE_SETS").unwrap_or(AT_A_TIME);
    for seed in seed..seed + count.div_ceil(AT_A_TIME) {
        let sets = usize::try_from(count.min(AT_A_TIME)).expect("it fits");
        let sheet = draw(&mut Dice::new(seed), sets);
        let Some(mut beside) = Beside::start(test, Mpm::Event, &sheet) else { return };
        let findings = beside.findings(&sheet);
        drop(beside);
        println!("seed {seed}: {sets} sets, {} requests differ", findings.len());
        if !findings.is_empty() {
            panic!("seed {seed}, {} differ:\n{}", findings.len(), least(test, &sheet, &findings));
        }
    }
}

/// Some findings, each as small as it gets.
fn least(test: &str, sheet: &Sheet, findings: &[Finding]) -> String {
    let mut text = String::new();
    let mut kinds = Vec::new();
    for finding in findings {
        let status = |text: &str| text.split(' ').nth(1).map(ToOwned::to_owned);
        let kind = (status(&finding.theirs), status(&finding.ours));
        if kinds.len() == TOLD_MAX || kinds.contains(&kind) {
            continue;
        }
        kinds.push(kind);
        let (set, finding) = smallest(test, Mpm::Event, sheet, finding);
        let alone = Sheet { main: sheet.main.clone(), sets: vec![set] };
        text += &told(&alone, &[Finding { set: 0, ..finding }]);
    }
    text
}
