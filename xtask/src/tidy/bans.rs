//! Calls that this project does not make, each with what it does instead.

use super::file::{File, Finding};
use super::mask::is_word;

/// One call, where it is banned, and its replacement.
struct Ban {
    call: &'static str,
    /// Paths that are checked, by how they begin; none means all.
    within: &'static [&'static str],
    /// Paths that may, by how they begin.
    except: &'static [&'static str],
    /// Whether tests may not do it either.
    in_tests: bool,
    instead: &'static str,
}

/// Everything that is shipped; the test crate and the chores may do as they like.
const SHIPPED: &[&str] = &[
    "crates/config/",
    "crates/expr/",
    "crates/fastcgi/",
    "crates/http1/",
    "crates/message/",
    "crates/mpm/",
    "crates/pattern/",
    "crates/runtime/",
    "crates/scoreboard/",
    "crates/server/",
    "crates/trivet/",
];
/// What runs on the loop, where one thread carries many connections.
const ON_THE_LOOP: &[&str] = &["crates/server/"];
const PURE: &[&str] = &[
    "crates/config/src/",
    "crates/expr/src/",
    "crates/fastcgi/src/",
    "crates/http1/src/",
    "crates/message/src/",
];

const PRINT_INSTEAD: &str = "print panics on a closed pipe: use writeln! and look at its result";
const ASK_INSTEAD: &str = "the name may change after the answer: open it, then ask the handle";
const NET_INSTEAD: &str = "it blocks the loop: use runtime's listener and stream";

const BANS: &[Ban] = &[
    ban("print!", SHIPPED, PRINT_INSTEAD),
    ban("println!", SHIPPED, PRINT_INSTEAD),
    ban("eprint!", SHIPPED, PRINT_INSTEAD),
    ban("eprintln!", SHIPPED, PRINT_INSTEAD),
    ban("thread::sleep", ON_THE_LOOP, "it stops every connection of the loop: use runtime's timer"),
    ban("process::exit", ON_THE_LOOP, "a request must not end a process: return an error"),
    ban("process::abort", SHIPPED, "one request fails, not a process: return an error"),
    ban("fs::metadata", ON_THE_LOOP, ASK_INSTEAD),
    ban("fs::symlink_metadata", ON_THE_LOOP, ASK_INSTEAD),
    ban("fs::canonicalize", ON_THE_LOOP, ASK_INSTEAD),
    ban(".exists()", ON_THE_LOOP, ASK_INSTEAD),
    ban(".is_symlink()", ON_THE_LOOP, "open with the no-symlinks flag of openat2"),
    ban("net::TcpListener", ON_THE_LOOP, NET_INSTEAD),
    ban("net::TcpStream", ON_THE_LOOP, NET_INSTEAD),
    ban("env::set_var", SHIPPED, "other threads may read: pass the value along"),
    ban("get_unchecked", SHIPPED, "use get, or an iterator that needs no check"),
    ban("from_utf8_unchecked", SHIPPED, "use from_utf8, or keep bytes"),
    ban("transmute", SHIPPED, "use from_ne_bytes, a cast, or a repr(C) struct"),
    ban("static mut", SHIPPED, "use an atomic, or a value that is passed along"),
    ban("macro_rules!", SHIPPED, "a macro hides names and branches: use a function or a table"),
    ban("extern crate std", PURE, "a pure crate has core and alloc only"),
    Ban {
        call: "mmap",
        within: SHIPPED,
        except: &["crates/scoreboard/src/board.rs"],
        in_tests: false,
        instead: "a file cut short would kill the process: read it or use sendfile",
    },
    Ban {
        call: "#[ignore",
        within: &[],
        except: &[],
        in_tests: true,
        instead: "a test that does not run proves nothing: make it run or delete it",
    },
];

const fn ban(call: &'static str, within: &'static [&'static str], instead: &'static str) -> Ban {
    Ban { call, within, except: &[], in_tests: false, instead }
}

pub(crate) fn calls(file: &File) -> Vec<Finding> {
    let starts = |starts: &[&str]| starts.iter().any(|start| file.path.starts_with(start));
    let concerns =
        |ban: &&Ban| (ban.within.is_empty() || starts(ban.within)) && !starts(ban.except);
    BANS.iter().filter(concerns).flat_map(|ban| calls_of(ban, file)).collect()
}

fn calls_of(ban: &Ban, file: &File) -> Vec<Finding> {
    let mut only_for_tests = false;
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.mask.code.lines()) {
        let exempt = !ban.in_tests && (only_for_tests || file.is_test(number));
        if !exempt && holds(line, ban.call) {
            findings.push(file.finding(number, format!("`{}`; {}", ban.call, ban.instead)));
        }
        only_for_tests = line.trim() == "#[cfg(test)]";
    }
    findings
}

/// Whether a line has the call and not a longer name that only ends or begins like it.
fn holds(line: &str, call: &str) -> bool {
    let starts_word = call.starts_with(is_word);
    let ends_word = call.ends_with(is_word);
    line.match_indices(call).any(|(at, _)| {
        let before = line[..at].ends_with(is_word);
        let after = line[at + call.len()..].starts_with(is_word);
        let is_longer = (starts_word && before) || (ends_word && after);
        !is_longer
    })
}

#[cfg(test)]
mod tests {
    use super::super::file::check;
    use super::*;

    #[test]
    fn a_banned_call_is_found_with_its_replacement() {
        let text = "use std::thread;\nfn a() {\n    thread::sleep(b); // println!\n}\n";
        assert_eq!(
            check(calls, "crates/server/src/h1.rs", text),
            ["crates/server/src/h1.rs:3: `thread::sleep`; \
              it stops every connection of the loop: use runtime's timer"]
        );
        assert_eq!(check(calls, "crates/mpm/src/parent/mod.rs", text), [""; 0]);
    }

    #[test]
    fn print_is_not_found_inside_eprint_or_writeln() {
        assert!(holds("println!()", "println!") && !holds("eprintln!()", "println!"));
        assert!(!holds("my_transmute()", "transmute") && !holds("mmapped", "mmap"));
        assert!(holds("path.exists()", ".exists()"));
    }

    #[test]
    fn tests_may_do_what_the_server_may_not_but_never_skip() {
        let text = "fn a() {}\n#[cfg(test)]\nextern crate std;\n\n#[cfg(test)]\nmod tests {\n    \
                    #[ignore = \"slow\"]\n    fn b() { println!(\"x\"); }\n}\n";
        assert_eq!(
            check(calls, "crates/http1/src/lib.rs", text),
            ["crates/http1/src/lib.rs:7: `#[ignore`; \
              a test that does not run proves nothing: make it run or delete it"]
        );
    }

    #[test]
    fn the_scoreboard_may_map_its_memory() {
        assert_eq!(check(calls, "crates/scoreboard/src/board.rs", "mmap(a);\n"), [""; 0]);
        assert_eq!(check(calls, "crates/runtime/src/file.rs", "libc::mmap(a);\n").len(), 1);
    }
}
