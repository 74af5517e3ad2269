//! Which files the project consists of.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::Command;

/// The project's files, as paths from its folder.
pub(crate) struct ProjectTree {
    paths: BTreeSet<String>,
}

/// Folders that a walk leaves out: what cargo and git make.
const NOT_OURS: &[&str] = &["target", ".git"];

impl ProjectTree {
    #[cfg(test)]
    pub(crate) fn of(paths: &[&str]) -> Self {
        Self { paths: paths.iter().map(|path| (*path).to_owned()).collect() }
    }

    /// All files in order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// Whether there is a file, or a folder with files, of this name. The project's own folder is
    /// the empty name.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.paths.range(folder.clone()..).next();
        self.paths.contains(path) || below.is_some_and(|first| first.starts_with(&folder))
    }
}

/// Asks git; where there is no git, or not this project's, walks.
pub(crate) fn list(root: &Path) -> io::Result<ProjectTree> {
    let mut paths = from_git(root).unwrap_or_default();
    if !paths.contains("Cargo.toml") {
        paths.clear();
        walk(root, "", &mut paths)?;
    }
    // A file may be deleted and not yet committed.
    paths.retain(|path| root.join(path).is_file());
    Ok(ProjectTree { paths })
}

fn from_git(root: &Path) -> Option<BTreeSet<String>> {
    let listed = Command::new("git")
        // The folder may belong to another user, as in a container; reading its list is harmless.
        .args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false"])
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let names = String::from_utf8(listed.stdout).ok()?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    listed.status.success().then(|| names.map(str::to_owned).collect())
}

fn walk(folder: &Path, prefix: &str, paths: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_file() {
            paths.insert(format!("{prefix}{name}"));
        } else if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{prefix}{name}/"), paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_held_as_well_as_files() {
        let tree = ProjectTree::of(&["a/b/c.md", "a-z/d"]);
        for path in ["a/b/c.md", "a/b", "a/", "a-z", ""] {
            assert!(tree.holds(path), "{path}");
        }
        for path in ["a/b/c", "b", "a/b/c.md/d", "z"] {
            assert!(!tree.holds(path), "{path}");
        }
    }

    #[test]
    fn a_walk_finds_what_git_lists_without_what_is_built() {
        let folder = std::env::temp_dir().join(format!("trivet-tree-{}", std::process::id()));
        for name in ["Cargo.toml", "crates/a/lib.rs", "target/debug/junk", "crates/target/junk"] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let tree = list(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(tree.paths().collect::<Vec<_>>(), ["Cargo.toml", "crates/a/lib.rs"]);
    }
}
