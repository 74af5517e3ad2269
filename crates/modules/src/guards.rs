//! What keeps something from being seen. A configuration in which one of these lines would be lost,
//! because Trivet lacks the directive or the module around it, is refused: with httpd the rule
//! would be in force.

use config::lexer::LineWords;
use config::{GuardRow, Guards, Line};

/// The table.
pub(crate) const GUARDS: Guards = Guards {
    rows: ROWS,
    line_advice: "use Require instead, or remove the line",
    section_advice: "use <Directory>, <Files> or <Location> with a plain path or wildcards, or \
                     remove the section",
};

/// Without TLS a port of its own would be answered in clear text.
const TLS: &str = "and without it a port that is meant for https would be answered in clear text: \
                   remove the virtual host or its Listen line, or put a proxy with TLS in front";

#[rustfmt::skip]
const ROWS: &[GuardRow] = &[
    row("Require", requires),
    row("Deny", always),
    row("Order", always),
    row("AllowMethods", always),
    row("SetHandler", runs_scripts),
    row("HiddenNames", always),
    row("SSLRequire", always),
    row("SSLRequireSSL", always),
    row("SSLVerifyClient", verifies),
    GuardRow { name: "SSLEngine", shuts: is_on, advice: Some(TLS) },
    row("LuaHookAccessChecker", always),
    row("LuaHookAuthChecker", always),
    row("LuaHookCheckUserID", always),
    row("LuaHookFixups", always),
    row("LuaAuthzProvider", always),
];

const fn row(name: &'static str, shuts: fn(&Line, &[&Line]) -> bool) -> GuardRow {
    GuardRow { name, shuts, advice: None }
}

/// The argument with this number, in lower case.
fn word(line: &Line, nth: usize) -> String {
    let word = LineWords::new(line.args()).nth(nth);
    word.map(|word| word.text.to_ascii_lowercase()).unwrap_or_default()
}

fn always(_: &Line, _: &[&Line]) -> bool {
    true
}

/// Whoever lets everybody in shuts nothing, unless that is turned around.
fn requires(line: &Line, around: &[&Line]) -> bool {
    let is_for_all = word(line, 0) == "all" && word(line, 1) == "granted";
    let is_turned =
        || around.iter().any(|section| section.name().eq_ignore_ascii_case("<RequireNone"));
    !is_for_all || is_turned()
}

/// Handlers without which nothing is sent that they would have kept back: pages of the server, and
/// what files are sent with anyway.
const HARMLESS: &[&str] = &[
    "none",
    "default-handler",
    "server-status",
    "server-info",
    "balancer-manager",
    "ldap-status",
    "send-as-is",
    "type-map",
];

/// Without a handler for it a script is sent as it stands. PHP is not, whatever runs it.
fn runs_scripts(line: &Line, around: &[&Line]) -> bool {
    let handler = word(line, 0);
    let names_php = |section: &&Line| section.args().to_ascii_lowercase().contains("ph");
    let is_for_php = handler.contains("php")
        || handler.starts_with("proxy:") && around.last().is_some_and(names_php);
    !is_for_php && !HARMLESS.contains(&handler.as_str())
}

fn verifies(line: &Line, _: &[&Line]) -> bool {
    word(line, 0) != "none"
}

fn is_on(line: &Line, _: &[&Line]) -> bool {
    word(line, 0) == "on"
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Node;

    fn shuts(text: &str) -> bool {
        let tree = config::parse("x", text.as_bytes(), 1);
        let (mut node, mut around) = (&tree.nodes[0], Vec::new());
        while let Node::Section(section) = node {
            around.push(&section.line);
            node = &section.body[0];
        }
        let line = node.line();
        GUARDS.row(line.name()).is_some_and(|row| (row.shuts)(line, &around))
    }

    #[test]
    fn only_what_refuses_or_hides_is_missed() {
        for text in [
            "Require ip 10.0.0.0/8",
            "require all denied",
            "<RequireNone>\nRequire all granted\n</RequireNone>",
            "Deny from all",
            "SSLEngine On",
            "SSLVerifyClient require",
            "SetHandler cgi-script",
            "<FilesMatch \"\\.foo$\">\nSetHandler \"proxy:unix:/x|fcgi://y\"\n</FilesMatch>",
            "LuaHookAccessChecker /x.lua f",
        ] {
            assert!(shuts(text), "{text}");
        }
        for text in [
            "Require all granted",
            "SSLEngine off",
            "SSLVerifyClient none",
            "SetHandler server-status",
            "<FilesMatch \".+\\.ph(?:ar|p|tml)$\">\nSetHandler \"proxy:unix:/x|fcgi://y\"\n\
             </FilesMatch>",
            "SetHandler application/x-httpd-php",
            "Options None",
        ] {
            assert!(!shuts(text), "{text}");
        }
    }
}
