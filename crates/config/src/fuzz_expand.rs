//! What the fuzzer does with any text: it is expanded, in a world made of its own parts. Not for
//! the server.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ast::Node;
use crate::expand::{ModuleName, StartFacts, World, condition, expand, on_read};
use crate::guards::Guards;
use crate::parse::parse;

/// For the fuzzer: any input is expanded to an end, and what is left has no read-time lines. The
/// text is split at lines that hold only `%`: the first part includes the others as `/1`, `/2`, ...
pub fn fuzz_expand(data: &[u8]) {
    const MODULES: &[ModuleName] = &[
        ModuleName { symbol: "macro_module", file: "mod_macro.c", is_static: true },
        ModuleName { symbol: "a_module", file: "mod_a.c", is_static: true },
        ModuleName { symbol: "b_module", file: "mod_b.c", is_static: false },
    ];
    let mut world = FuzzWorld { files: Vec::new() };
    let mut rest = data;
    while let Some(at) = rest.windows(3).position(|three| three == b"\n%\n") {
        world.files.push(rest[..at].to_vec());
        rest = &rest[at + 3..];
    }
    world.files.push(rest.to_vec());
    let start = StartFacts {
        defines: [("D".into(), None), ("V".into(), Some("v w".into()))].into(),
        modules: MODULES,
        is_modular: data.len() % 2 == 1,
        has_directive: &|name, _| name.eq_ignore_ascii_case("Listen"),
        guards: Guards::default(),
        server_root: "/".into(),
        version: [2, 4, 71],
        bytes_max: 1 << 16,
        htaccess: None,
        missing: &[],
        mpm: None,
    };
    let first = parse("/0", &world.files[0], 1);
    let expanded = expand([first].into(), &start, &mut world);
    let mut left: Vec<&Node> = expanded.nodes.iter().flatten().collect();
    while let Some(node) = left.pop() {
        let name = node.line().name();
        assert!(on_read::find(name).is_none() && condition::of(name).is_none(), "{name} is left");
        if let Node::Section(section) = node {
            left.extend(&section.body);
        }
    }
    let text = crate::diagnostic::render("fuzz", &expanded.diagnostics);
    assert_eq!(text.is_empty(), expanded.diagnostics.is_empty());
}

/// Files `/0`, `/1`, ... of a fuzzed text; `*` is all of them.
struct FuzzWorld {
    files: Vec<Vec<u8>>,
}

impl FuzzWorld {
    fn file(&self, path: &str) -> Option<&Vec<u8>> {
        self.files.get(path.strip_prefix('/')?.parse::<usize>().ok()?)
    }
}

impl World for FuzzWorld {
    fn environment(&self, name: &str) -> Option<String> {
        (name == "E").then(|| "e".into())
    }

    fn files(&mut self, path: &str, _: bool) -> Result<Vec<String>, String> {
        if path == "/*" {
            return Ok((0..self.files.len()).map(|number| format!("/{number}")).collect());
        }
        self.file(path).map(|_| [path.into()].into()).ok_or_else(|| "no such file".into())
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.file(path).cloned().ok_or_else(|| "no such file".into())
    }

    fn exists(&mut self, path: &str) -> bool {
        self.file(path).is_some()
    }

    fn is_folder(&mut self, path: &str) -> bool {
        path == "/"
    }

    fn matches(&mut self, pattern: &str, subject: &str) -> Option<bool> {
        Some(subject.contains(pattern))
    }
}
