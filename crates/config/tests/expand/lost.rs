//! What would be open without a line that is skipped.

use super::{expanded, left, said};
use config::{Severity, diagnostic};

#[test]
fn an_access_rule_is_not_skipped_because_a_loaded_module_is_missing() {
    let section = "<IfModule mod_auth_basic.c>\n<B>\nRequire valid-user\n</B>\n</IfModule>";
    let load = "LoadModule auth_basic_module x\n";
    // What is not loaded holds in httpd no more than here.
    assert_eq!(left(&[("", section)]), "");
    let all = said(&expanded(&[("", &format!("{load}{section}"))]));
    assert!(all.contains("line 4 of /main.conf: Trivet has no auth_basic_module yet"), "{all}");
    assert!(all.contains("the <IfModule> of line 2 is skipped"), "{all}");
    let harmless = format!("{load}<IfModule mod_auth_basic.c>\nA\n</IfModule>");
    assert!(!said(&expanded(&[("", &harmless)])).contains("Syntax error"));
}

#[test]
fn what_a_virtual_host_keeps_shut_is_lost_only_if_somebody_serves_it() {
    let load = "LoadModule ssl_module x\n";
    let host = "<VirtualHost *:443 [::1]:8443>\nRequire valid-user\nRequire x\n</VirtualHost>";
    let text = format!("{load}<IfModule ssl_module>\n{host}\n{host}\n</IfModule>\n");
    let all = expanded(&[("", &text)]).diagnostics;
    for (ports, errors) in [(&[80][..], 0), (&[80, 443], 2), (&[8443], 2), (&[], 0)] {
        let mut said = all.clone();
        diagnostic::settle(&mut said, |port| ports.contains(&port), !ports.is_empty());
        let lost: Vec<u32> = said
            .iter()
            .filter(|it| it.severity == Severity::Error)
            .filter_map(|it| it.position.as_ref().map(|position| position.line))
            .collect();
        assert_eq!(lost.len(), errors, "{ports:?}: {said:?}");
        assert!(lost.is_empty() || lost == [4, 8], "the first rule of each: {lost:?}");
    }
}
