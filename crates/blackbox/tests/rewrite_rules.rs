//! Every flag, condition, option and place of rules, beside apache2 with the same rules.

use blackbox::Mpm;
use blackbox::rewrite::compare;

#[test]
fn every_flag_does_what_apache_does() {
    compare("every_flag_does_what_apache_does", Mpm::Event, "flags");
}

#[test]
fn every_condition_holds_where_apaches_does() {
    compare("every_condition_holds_where_apaches_does", Mpm::Event, "conditions");
}

#[test]
fn rules_do_the_same_in_every_place() {
    compare("rules_do_the_same_in_every_place", Mpm::Event, "contexts");
}

#[test]
fn hosts_inherit_what_apaches_inherit() {
    let test = "hosts_inherit_what_apaches_inherit";
    for name in ["inherit", "inheritbefore", "inheritdown", "inheritdownbefore"] {
        compare(test, Mpm::Event, &format!("main_{name}"));
    }
}

#[test]
fn maps_have_what_apaches_have() {
    compare("maps_have_what_apaches_have", Mpm::Event, "maps");
}
