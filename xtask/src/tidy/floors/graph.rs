//! The modules of one crate, and which of them needs which. Tests do not count: they may look at
//! anything.

use super::imports::{self, ImportPath};
use crate::tidy::file::{TextFile, line_at};
use std::collections::{BTreeMap, HashMap};

/// A module by its path within the crate; the root is empty.
pub(crate) type Path = Vec<String>;

/// Where one module names another.
#[derive(Clone, Debug)]
pub(crate) struct Arrow {
    pub(crate) from: Path,
    pub(crate) to: Path,
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// The modules of a crate.
#[derive(Default)]
pub(crate) struct Graph {
    /// Each with the paths that its code names.
    modules: BTreeMap<Path, (String, Vec<(usize, ImportPath)>)>,
    /// What modules show as their own: module and name, and the path behind it.
    shown: HashMap<(Path, String), Path>,
}

impl Graph {
    /// Adds a file below `src` of the crate, unless it is for tests.
    pub(crate) fn add(&mut self, below_src: &str, file: &TextFile) {
        let Some(path) = module_of(below_src) else { return };
        let code = &file.mask.code;
        // Paths come in order, so that lines are counted on from the one before.
        let (mut line, mut counted) = (1, 0);
        let with_line = |named: ImportPath| {
            line += line_at(&code[counted..], named.at - counted) - 1;
            counted = named.at;
            (line, named)
        };
        let lines = imports::named(code).into_iter().map(with_line);
        let named = lines.filter(|(line, _)| !file.is_test(*line)).collect();
        self.modules.insert(path, (file.path.clone(), named));
    }

    /// All modules.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &Path> {
        self.modules.keys()
    }

    /// Every arrow between two modules, once for each place in the code.
    pub(crate) fn arrows(&mut self) -> Vec<Arrow> {
        self.shown = self.find_shown();
        let mut arrows = Vec::new();
        for (from, (file, named)) in &self.modules {
            for (line, named) in named {
                let to = self.absolute(from, &named.path).map(|path| self.lead(path));
                // What a module shows of those below it, it need not use itself.
                let only_shows = |to: &Path| named.is_shown && to.starts_with(from);
                let Some(to) = to.filter(|to| to != from && !only_shows(to)) else { continue };
                arrows.push(Arrow { from: from.clone(), to, file: file.clone(), line: *line });
            }
        }
        arrows
    }

    fn find_shown(&self) -> HashMap<(Path, String), Path> {
        let mut shown = HashMap::new();
        for (module, (_, named)) in &self.modules {
            for (_, named) in named.iter().filter(|(_, named)| named.is_shown) {
                let (Some(path), Some(name)) =
                    (self.absolute(module, &named.path), named.path.last())
                else {
                    continue;
                };
                shown.insert((module.clone(), name.clone()), path);
            }
        }
        shown
    }

    /// The path from the root of the crate; `None` for what is of another crate.
    fn absolute(&self, module: &Path, path: &[String]) -> Option<Path> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "super" => {
                let outer = &module[..module.len().checked_sub(ups)?];
                Some([outer, &path[ups..]].concat())
            }
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                let is_child = self.modules.contains_key(&child);
                is_child.then(|| [child.as_slice(), &path[1..]].concat())
            }
        }
    }

    /// The module that a path leads to, behind all that only shows what others have.
    fn lead(&self, path: Path) -> Path {
        let mut path = path;
        // A name that leads to itself would lead on for ever.
        for _ in 0..8 {
            let known = (0..=path.len()).rev().find(|n| self.modules.contains_key(&path[..*n]));
            let (module, rest) = path.split_at(known.unwrap_or(0));
            let next = rest.first().and_then(|name| {
                let shown = self.shown.get(&(module.to_vec(), name.clone()))?;
                Some([shown.as_slice(), &rest[1..]].concat())
            });
            match next {
                Some(next) => path = next,
                None => return module.to_vec(),
            }
        }
        path
    }
}

/// The module of a file; `None` if it is for tests or a program of its own.
fn module_of(below_src: &str) -> Option<Path> {
    let bare = below_src.strip_suffix(".rs")?;
    let mut path: Path = bare.split('/').map(str::to_owned).collect();
    let last = path.last()?.clone();
    if last == "tests" || last.ends_with("_tests") {
        return None;
    }
    if last == "mod" || path.len() == 1 && (last == "lib" || last == "main") {
        path.pop();
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::ProjectTree;
    use std::rc::Rc;

    impl Graph {
        /// The modules of files that are made up for a test.
        pub(crate) fn sample(files: &[(&str, &str)]) -> Self {
            let mut graph = Self::default();
            let tree = Rc::new(ProjectTree::of(&[]));
            for (path, text) in files {
                graph.add(path, &TextFile::new(path, (*text).to_owned(), &tree));
            }
            graph
        }
    }

    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let show = |path: &Path| if path.is_empty() { ".".to_owned() } else { path.join("::") };
        let row = |arrow: &Arrow| format!("{} {}", show(&arrow.from), show(&arrow.to));
        Graph::sample(files).arrows().iter().map(row).collect()
    }

    #[test]
    fn arrows_lead_to_the_module_that_has_a_thing() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::inner::Thing;"),
            ("a/mod.rs", "mod inner; pub(crate) use inner::Thing;"),
            ("a/inner.rs", "pub(crate) struct Thing; use super::Other;"),
            ("b.rs", "use crate::a::Thing; fn f() { crate::a::g(); std::fs::read(x) }"),
        ];
        assert_eq!(arrows(&files), ["a::inner a", "b a::inner", "b a"]);
    }

    #[test]
    fn tests_are_left_out() {
        let files = [
            ("a.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::b::g;\n}\n"),
            ("a_tests.rs", "use crate::b::g;"),
            ("b.rs", "pub(crate) fn g() {}"),
        ];
        assert_eq!(arrows(&files), [""; 0]);
    }
}
