//! Names that may stand only in certain places: the invariants of the architecture that the
//! compiler alone would not keep.

use super::file::{File, Finding, line_at};
use super::mask::{self, Mask};

/// A word, and where it belongs.
struct Fence {
    word: &'static str,
    matches: fn(found: &str, word: &str) -> bool,
    /// Paths that are checked, by how they begin.
    within: &'static str,
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
        within: "",
        home: &[
            "crates/runtime/src/sys/",
            "crates/scoreboard/src/board.rs",
            "crates/pattern/src/sys/",
            // Signals and socket options, to look at the server from outside; it ships nothing.
            "crates/blackbox/",
        ],
        strings: false,
        instead: "give the system call a safe function in runtime::sys",
    },
    Fence {
        word: "tokio",
        matches: whole,
        within: "",
        home: &["crates/runtime/"],
        strings: false,
        instead: "use what runtime offers, so that it can be replaced",
    },
    Fence {
        word: "prefork",
        matches: part,
        within: "crates/server/",
        home: KNOWS_MPM,
        strings: true,
        instead: "handlers never learn which MPM runs them; decide in crates/mpm",
    },
    Fence {
        word: "mpm",
        matches: part,
        within: "crates/server/",
        home: KNOWS_MPM,
        strings: true,
        instead: "handlers never learn which MPM runs them; decide in crates/mpm",
    },
    Fence {
        word: "unmarked",
        matches: whole,
        within: "crates/server/src/modules/",
        home: READS_UNMARKED,
        strings: false,
        instead: "use an accessor of the request that marks the answer as personal",
    },
];

/// Modules that read what a client sent without marking the answer as personal, since they make
/// sure in another way that others who are given it would have got the same. None may be added
/// that has no such way.
const READS_UNMARKED: &[&str] = &[
    "crates/server/src/modules/files.rs",
    "crates/server/src/modules/filter/mod.rs",
    "crates/server/src/modules/headers/act.rs",
    "crates/server/src/modules/remoteip.rs",
    "crates/server/src/modules/setenvif/mod.rs",
];

/// A configuration loads one, the module table lists the MPMs' names and directives, the status
/// and info pages show which one runs, and the site carries the numbers that MPMs are sized by from
/// the directives to the supervisor.
const KNOWS_MPM: &[&str] = &[
    "crates/server/src/configuration.rs",
    "crates/server/src/context.rs",
    // `--mpm`
    "crates/server/src/defaults.rs",
    "crates/server/src/lib.rs",
    // `LoadModule` names them.
    "crates/server/src/module_list.rs",
    "crates/server/src/modules/info/",
    "crates/server/src/modules/mod.rs",
    "crates/server/src/modules/mpm_common.rs",
    // The file and its folder.
    "crates/server/src/mpm_settings",
    "crates/server/src/modules/status/",
    // The manual has a page of their directives. The file and its folder.
    "crates/server/src/reference",
    // `--mpm`
    "crates/server/src/serve.rs",
    "crates/server/src/server.rs",
    "crates/server/src/site/",
];

/// Everything but the modules must not know one from another.
const FRAME: &str = "crates/server/src/";

/// Where the modules are; they may name each other.
const MODULES: &str = "crates/server/src/modules/";

/// What the table of modules offers beside the modules.
const OF_TABLE: &[&str] = &["self"];

/// What still names a module. None may be added.
const NAMES_MODULES: &[&str] = &["crates/server/src/lib.rs"];

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

pub(crate) fn is_frame(path: &str) -> bool {
    path.starts_with(FRAME) && !path.starts_with(MODULES) && !NAMES_MODULES.contains(&path)
}

fn starts_with_any(path: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| path.starts_with(start))
}

/// Finds words outside their fence.
pub(crate) fn words(file: &File) -> Vec<Finding> {
    let concerns = |fence: &&Fence| {
        file.path.starts_with(fence.within) && !starts_with_any(&file.path, fence.home)
    };
    FENCES.iter().filter(concerns).flat_map(|fence| outside(fence, file)).collect()
}

fn outside(fence: &Fence, file: &File) -> Vec<Finding> {
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

/// Finds `modules::alias` and the like where only the table of all modules may be named. The
/// settings of `core` are the frame's own. Tests may look at any module.
pub(crate) fn concrete_modules(file: &File) -> Vec<Finding> {
    const PATH: &str = "modules::";
    let code = &file.mask.code;
    let mut findings = Vec::new();
    for (at, _) in code.match_indices(PATH) {
        let rest = code[at + PATH.len()..].trim_start();
        let items = rest.strip_prefix('{').map_or_else(|| vec![rest], top_level_items);
        let modules = items.into_iter().map(first_name).filter(|name| is_module(name));
        let line = line_at(code, at);
        if file.is_test(line) {
            continue;
        }
        findings.extend(modules.map(|name| {
            let what = format!("`modules::{name}` named outside of the modules; go through a hook");
            file.finding(line, what)
        }));
    }
    findings
}

/// The items of `{a, b::{c, d}}`, given from behind its first brace.
fn top_level_items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    items
}

fn first_name(item: &str) -> &str {
    let item = item.trim_start();
    if item.starts_with('*') { "*" } else { mask::words(item).next().map_or("", |(_, name)| name) }
}

/// Modules are written small, types and lists large.
fn is_module(name: &str) -> bool {
    let is_small = name.starts_with(|c: char| c.is_lowercase());
    name == "*" || (is_small && !OF_TABLE.contains(&name))
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
        for home in ["crates/server/src/modules/status/page.rs", "crates/mpm/src/lib.rs"] {
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

    #[test]
    fn the_frame_names_no_module() {
        let path = "crates/server/src/exchange.rs";
        assert!(is_frame(path) && !is_frame("crates/server/src/modules/alias/mod.rs"));
        let text = "use crate::modules::{self, alias::{self, X}, Settings};\n\
                    use crate::modules::TRANSLATE;\n\
                    let list = modules::{\n    A,\n    mime,\n};\n\
                    modules::dir::resolve();\nuse crate::modules::*;\n";
        let what = "named outside of the modules; go through a hook";
        assert_eq!(
            check(concrete_modules, path, text),
            [(1, "alias"), (3, "mime"), (7, "dir"), (8, "*")]
                .map(|(line, name)| format!("{path}:{line}: `modules::{name}` {what}"))
        );
    }
}
