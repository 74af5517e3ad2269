//! Paths of a configuration in one spelling, so that sections and folders can be compared.

use std::path::{Component, Path, PathBuf};

/// `path` made absolute, without `.`, `..`, doubled and final slashes. Links are not resolved:
/// httpd's sections, too, go by the names that are written.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let whole = std::env::current_dir().unwrap_or_default().join(path);
    let mut normal = PathBuf::from("/");
    for component in whole.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => {
                normal.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_path_become_one() {
        for path in ["/srv//www/", "/srv/./www", "/srv/x/../www", "//srv/www/.", "/../srv/www"] {
            assert_eq!(normal(Path::new(path)), Path::new("/srv/www"), "{path}");
        }
        assert_eq!(normal(Path::new("/")), Path::new("/"));
        assert!(normal(Path::new("relative")).is_absolute());
    }
}
