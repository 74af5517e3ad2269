//! The lines of `LogLevel rewrite:trace1` to `trace8` beside apache2 with the same rules: people
//! find out by them why a rule does what it does, so text, order, level and depth are httpd's.

use blackbox::Mpm;
use blackbox::rewrite::traces;

#[test]
fn each_level_has_apaches_lines() {
    traces::compare("each_level_has_apaches_lines", Mpm::Event, "traces");
}

#[test]
fn the_steps_of_every_flag_are_apaches() {
    traces::compare("the_steps_of_every_flag_are_apaches", Mpm::Event, "flags");
}

#[test]
fn the_steps_of_every_condition_are_apaches() {
    traces::compare("the_steps_of_every_condition_are_apaches", Mpm::Event, "conditions");
}

#[test]
fn the_steps_in_every_place_are_apaches() {
    traces::compare("the_steps_in_every_place_are_apaches", Mpm::Event, "contexts");
}

#[test]
fn the_steps_of_inherited_rules_are_apaches() {
    let test = "the_steps_of_inherited_rules_are_apaches";
    for name in ["inherit", "inheritbefore", "inheritdown", "inheritdownbefore"] {
        traces::compare(test, Mpm::Event, &format!("main_{name}"));
    }
}

#[test]
fn what_maps_log_is_apaches() {
    traces::compare("what_maps_log_is_apaches", Mpm::Event, "maps");
}

#[test]
fn the_steps_of_applications_rules_are_apaches() {
    traces::compare("the_steps_of_applications_rules_are_apaches", Mpm::Event, "sites");
}
