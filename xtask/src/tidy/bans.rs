//! What this project does not write and clippy cannot refuse, each with what is done instead. Calls
//! that it does not make are in `clippy.toml`.

use super::file::{Finding, TextFile};
use super::mask::is_word;

/// One piece of text, where it is banned, and its replacement.
struct Ban {
    text: &'static str,
    /// Paths that are checked, by how they begin; none means all.
    within: &'static [&'static str],
    /// Whether tests may not do it either.
    in_tests: bool,
    instead: &'static str,
}

/// Everything that is shipped; the test crate and the chores may do as they like.
const SHIPPED: &[&str] = &[
    "crates/config/",
    "crates/content/",
    "crates/expr/",
    "crates/fastcgi/",
    "crates/gateway/",
    "crates/http1/",
    "crates/logging/",
    "crates/message/",
    "crates/modules/",
    "crates/mpm/",
    "crates/pattern/",
    "crates/rewrite/",
    "crates/runtime/",
    "crates/scoreboard/",
    "crates/server/",
    "crates/status/",
    "crates/trivet/",
];
const PURE: &[&str] = &[
    "crates/config/src/",
    "crates/expr/src/",
    "crates/fastcgi/src/",
    "crates/http1/src/",
    "crates/message/src/",
];

const BANS: &[Ban] = &[
    ban("static mut", SHIPPED, "use an atomic, or a value that is passed along"),
    ban("macro_rules!", SHIPPED, "a macro hides names and branches: use a function or a table"),
    ban("extern crate std", PURE, "a pure crate has core and alloc only"),
    Ban {
        text: "#[ignore",
        within: &[],
        in_tests: true,
        instead: "a test that does not run proves nothing: make it run or delete it",
    },
];

const fn ban(text: &'static str, within: &'static [&'static str], instead: &'static str) -> Ban {
    Ban { text, within, in_tests: false, instead }
}

pub(crate) fn texts(file: &TextFile) -> Vec<Finding> {
    let starts = |starts: &[&str]| starts.iter().any(|start| file.path.starts_with(start));
    let concerns = |ban: &&Ban| ban.within.is_empty() || starts(ban.within);
    BANS.iter().filter(concerns).flat_map(|ban| texts_of(ban, file)).collect()
}

fn texts_of(ban: &Ban, file: &TextFile) -> Vec<Finding> {
    let mut only_for_tests = false;
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.mask.code.lines()) {
        let exempt = !ban.in_tests && (only_for_tests || file.is_test(number));
        if !exempt && holds(line, ban.text) {
            findings.push(file.finding(number, format!("`{}`; {}", ban.text, ban.instead)));
        }
        only_for_tests = line.trim() == "#[cfg(test)]";
    }
    findings
}

/// Whether a line has the text and not a longer name that only ends or begins like it.
fn holds(line: &str, text: &str) -> bool {
    let starts_word = text.starts_with(is_word);
    let ends_word = text.ends_with(is_word);
    line.match_indices(text).any(|(at, _)| {
        let before = line[..at].ends_with(is_word);
        let after = line[at + text.len()..].starts_with(is_word);
        let is_longer = (starts_word && before) || (ends_word && after);
        !is_longer
    })
}

#[cfg(test)]
mod tests {
    use super::super::file::check;
    use super::*;

    #[test]
    fn a_banned_text_is_found_with_its_replacement() {
        let text = "use std::thread;\nstatic mut A: u8 = 0; // macro_rules!\n";
        assert_eq!(
            check(texts, "crates/mpm/src/parent/mod.rs", text),
            ["crates/mpm/src/parent/mod.rs:2: `static mut`; \
              use an atomic, or a value that is passed along"]
        );
        assert_eq!(check(texts, "xtask/src/main.rs", text), [""; 0]);
    }

    #[test]
    fn a_longer_name_is_another() {
        assert!(holds("macro_rules! a", "macro_rules!"));
        assert!(!holds("my_macro_rules! a", "macro_rules!"));
        assert!(!holds("static mutable", "static mut"));
    }

    #[test]
    fn tests_may_do_what_the_server_may_not_but_never_skip() {
        let text = "fn a() {}\n#[cfg(test)]\nextern crate std;\n\n#[cfg(test)]\nmod tests {\n    \
                    #[ignore = \"slow\"]\n    fn b() { static mut C: u8 = 0; }\n}\n";
        assert_eq!(
            check(texts, "crates/http1/src/lib.rs", text),
            ["crates/http1/src/lib.rs:7: `#[ignore`; \
              a test that does not run proves nothing: make it run or delete it"]
        );
    }
}
