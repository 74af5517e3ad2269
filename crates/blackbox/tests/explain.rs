//! `trivet explain` beside the server that it speaks of: of hundreds of requests it says the
//! status, the redirect, the file and the handler that the running server then has.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::Mpm;
use blackbox::rewrite::explained;

#[test]
fn what_is_explained_for_the_rules_of_applications_is_what_the_server_does() {
    explained::compare(Mpm::Event, "sites", 5);
}

#[test]
fn what_is_explained_for_rules_in_all_contexts_is_what_the_server_does() {
    explained::compare(Mpm::Event, "contexts", 1);
}
