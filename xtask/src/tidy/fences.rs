//! Names that may stand only in certain places: the invariants of the architecture that the
//! compiler alone would not keep.

use super::file::{Finding, TextFile};
use super::mask::{self, Mask};

/// A word, and where it belongs.
struct Fence {
    word: &'static str,
    matches: fn(found: &str, word: &str) -> bool,
    /// Paths that are checked, by how they begin.
    within: &'static [&'static str],
    /// Paths at which the word is at home, by how they begin.
    home: &'static [&'static str],
    /// Whether the word counts in a string too: a name in a string is still known there. Strings
    /// of tests are samples of what people write, and do not count.
    strings: bool,
    /// What to do instead.
    instead: &'static str,
}

const FENCES: &[Fence] = &[
    Fence {
        word: "unsafe",
        matches: whole,
        within: &[""],
        home: &[
            "crates/runtime/src/sys/",
            "crates/scoreboard/src/board.rs",
            "crates/pattern/src/sys/",
            // The module file of PHP: opened, called, and its stack changed.
            "crates/php/src/",
            "crates/php-module/src/",
            // Signals and socket options, to look at the server from outside; it ships nothing.
            "crates/blackbox/",
        ],
        strings: false,
        instead: "give the system call a safe function in runtime::sys",
    },
    Fence {
        word: "tokio",
        matches: whole,
        within: &[""],
        home: &["crates/runtime/"],
        strings: false,
        instead: "use what runtime offers, so that it can be replaced",
    },
    Fence {
        word: "prefork",
        matches: part,
        within: SERVER,
        home: KNOWS_MPM,
        strings: true,
        instead: "handlers never learn which MPM runs them; decide in crates/mpm",
    },
    Fence {
        word: "mpm",
        matches: part,
        within: SERVER,
        home: KNOWS_MPM,
        strings: true,
        instead: "handlers never learn which MPM runs them; decide in crates/mpm",
    },
    Fence {
        word: "unmarked",
        matches: whole,
        within: OF_MODULES,
        home: READS_UNMARKED,
        strings: false,
        instead: "use an accessor of the request that marks the answer as personal",
    },
];

/// Modules that read what a client sent without marking the answer as personal, since they make
/// sure in another way that others who are given it would have got the same. None may be added
/// that has no such way.
const READS_UNMARKED: &[&str] = &[
    // Directives without a mark, in the manual. The file and its folder.
    "crates/modules/src/reference",
    "crates/modules/src/files.rs",
    "crates/content/src/filter/mod.rs",
    "crates/modules/src/headers/act.rs",
    "crates/modules/src/remoteip.rs",
    "crates/modules/src/setenvif/mod.rs",
];

/// A configuration loads one, the module table lists the MPMs' names and directives, the status
/// and info pages show which one runs, and the site carries the numbers that MPMs are sized by from
/// the directives to the supervisor.
const KNOWS_MPM: &[&str] = &[
    // An interpreter runs in the process itself where that has one thread.
    "crates/gateway/src/php/engine.rs",
    "crates/modules/src/configuration.rs",
    // `--mpm`
    "crates/modules/src/defaults.rs",
    "crates/modules/src/lib.rs",
    "crates/modules/src/mpm_common.rs",
    // The manual has a page of their directives. The file and its folder.
    "crates/modules/src/reference",
    // `--mpm`
    "crates/modules/src/serve.rs",
    "crates/server/src/context.rs",
    "crates/server/src/lib.rs",
    // `LoadModule` names them.
    "crates/server/src/module_list.rs",
    // The file and its folder.
    "crates/server/src/mpm_settings",
    "crates/server/src/server.rs",
    "crates/server/src/site/",
    "crates/status/",
];

/// The server and its modules.
const SERVER: &[&str] = &[
    "crates/content/",
    "crates/gateway/",
    "crates/modules/",
    "crates/rewrite/",
    "crates/server/",
    "crates/status/",
];

/// Where the modules are.
const OF_MODULES: &[&str] =
    &["crates/content/", "crates/gateway/", "crates/modules/", "crates/rewrite/", "crates/status/"];

fn whole(found: &str, word: &str) -> bool {
    found == word
}

/// Whether a name such as `mpm_kind` or `MpmKind` has the word as one of its parts.
fn part(found: &str, word: &str) -> bool {
    let is_start = |at: usize| {
        let before = found[..at].chars().next_back();
        at == 0 || before == Some('_') || found[at..].starts_with(|c: char| c.is_uppercase())
    };
    let is_end = |at: usize| !found[at..].starts_with(|c: char| c.is_lowercase());
    let folded = found.to_ascii_lowercase();
    folded.match_indices(word).any(|(at, _)| is_start(at) && is_end(at + word.len()))
}

fn starts_with_any(path: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| path.starts_with(start))
}

/// Finds words outside their fence.
pub(crate) fn words(file: &TextFile) -> Vec<Finding> {
    let concerns = |fence: &&Fence| {
        starts_with_any(&file.path, fence.within) && !starts_with_any(&file.path, fence.home)
    };
    FENCES.iter().filter(concerns).flat_map(|fence| outside(fence, file)).collect()
}

fn outside(fence: &Fence, file: &TextFile) -> Vec<Finding> {
    let Mask { code, uncommented } = &file.mask;
    let mut findings = Vec::new();
    for (number, (code, uncommented)) in (1..).zip(code.lines().zip(uncommented.lines())) {
        let text = if fence.strings && !file.is_test(number) { uncommented } else { code };
        let wrong = mask::words(text).filter(|(_, found)| (fence.matches)(found, fence.word));
        findings.extend(wrong.map(|(_, found)| {
            let what = format!("`{found}` does not belong here; {}", fence.instead);
            file.finding(number, what)
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::file::check;
    use super::*;

    #[test]
    fn unsafe_is_fenced_in() {
        let text = "#![forbid(unsafe_code)]\n// unsafe\nunsafe { a() }\n";
        let what = "`unsafe` does not belong here; give the system call a safe function in";
        assert_eq!(
            check(words, "crates/mpm/src/child/mod.rs", text),
            [format!("crates/mpm/src/child/mod.rs:3: {what} runtime::sys")]
        );
        assert_eq!(check(words, "crates/runtime/src/sys/poll.rs", text), [""; 0]);
        assert_eq!(check(words, "crates/runtime/src/net/mod.rs", text).len(), 1);
    }

    #[test]
    fn tokio_is_named_in_runtime_only() {
        let text = "use tokio::time;\nlet x = \"tokio\";\n";
        assert_eq!(
            check(words, "crates/server/src/h1.rs", text),
            ["crates/server/src/h1.rs:1: `tokio` does not belong here; \
              use what runtime offers, so that it can be replaced"]
        );
        assert_eq!(check(words, "crates/runtime/src/net/mod.rs", text), [""; 0]);
    }

    #[test]
    fn the_server_does_not_know_its_mpm() {
        let text = "let kind = MpmKind::Prefork;\nif name == \"prefork\" {}\nlet trumpmen = 1;\n";
        let found = check(words, "crates/server/src/body.rs", text);
        let what = "does not belong here; \
                    handlers never learn which MPM runs them; decide in crates/mpm";
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.contains(&format!("crates/server/src/body.rs:1: `MpmKind` {what}")));
        assert!(found.contains(&format!("crates/server/src/body.rs:1: `Prefork` {what}")));
        assert!(found.contains(&format!("crates/server/src/body.rs:2: `prefork` {what}")));
        let test = "#[cfg(test)]\nmod tests {\n    const NAME: &str = \"mpm_event\";\n}\n";
        assert_eq!(check(words, "crates/server/src/body.rs", test), [""; 0]);
        for home in ["crates/status/src/status/page.rs", "crates/mpm/src/lib.rs"] {
            assert_eq!(check(words, home, text), [""; 0]);
        }
    }

    #[test]
    fn a_part_of_a_name_is_a_word_of_it() {
        for name in ["mpm", "Mpm", "MPM", "mpm_kind", "the_mpm", "TheMpm", "MpmKind", "MPM_NAME"] {
            assert!(part(name, "mpm"), "{name}");
        }
        for name in ["trumpmen", "mpmish", "ampm"] {
            assert!(!part(name, "mpm"), "{name}");
        }
    }
}
