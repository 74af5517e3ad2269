//! The rules that WordPress, Laravel, Drupal and others bring, beside apache2 with the same rules:
//! both answer the same to what these applications are asked, and to what nobody should ask.

use blackbox::Mpm;
use blackbox::rewrite::compare;

#[test]
fn the_rules_of_applications_do_what_apache_does_with_them() {
    compare("the_rules_of_applications_do_what_apache_does_with_them", Mpm::Event, "sites");
}
