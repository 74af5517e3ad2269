//! Paths of a configuration in one spelling, so that sections and folders can be compared.

use std::path::{Component, Path, PathBuf};

/// `path` made absolute, without `.`, `..`, doubled and final slashes. Links are not resolved:
/// httpd's sections, too, go by the names that are written.
pub fn normal(path: &Path) -> PathBuf {
    if is_normal(path.as_os_str().as_encoded_bytes()) {
        return path.to_owned();
    }
    let whole = match path.is_absolute() {
        true => path.to_owned(),
        false => std::env::current_dir().unwrap_or_default().join(path),
    };
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

/// The absolute `path` below `/`, without `.`, `..`, doubled and final slashes. A slash at its end
/// stays, since it tells a folder, and a dot at its end says the same.
pub fn below_root(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    let mut below = parts.join(&b'/');
    if (path.ends_with(b"/") || path.ends_with(b"/.")) && !below.is_empty() {
        below.push(b'/');
    }
    below
}

/// A path as text. Nearly every one is UTF-8, and then it is not copied.
pub fn text(path: PathBuf) -> String {
    let lossy = |path: std::ffi::OsString| path.to_string_lossy().into_owned();
    path.into_os_string().into_string().unwrap_or_else(lossy)
}

/// Nearly every path is written in its one spelling, and there are many of them.
fn is_normal(path: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(b"/") else { return false };
    let mut parts = rest.split(|byte| *byte == b'/');
    rest.is_empty() || parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// How many segments lead upwards.
pub fn parents(path: &[u8]) -> usize {
    path.split(|byte| *byte == b'/').filter(|part| *part == b"..").count()
}

/// Whether no segment `..` of a path leads above where it begins.
pub fn stays_below(path: &[u8]) -> bool {
    let mut depth = 0_usize;
    path.split(|byte| *byte == b'/').all(|part| match part {
        b"" | b"." => true,
        b".." => match depth.checked_sub(1) {
            Some(less) => {
                depth = less;
                true
            }
            None => false,
        },
        _ => {
            depth += 1;
            true
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_stays_below_if_no_step_up_comes_too_early() {
        for (path, stays) in [
            ("a/../b", true),
            ("a/..", true),
            ("../a", false),
            ("a/../../b", false),
            ("a/./../b/..", true),
            ("/..", false),
            ("a..b/c", true),
        ] {
            assert_eq!(stays_below(path.as_bytes()), stays, "{path}");
        }
    }

    use super::*;

    #[test]
    fn what_asks_for_a_folder_still_does_below_the_root() {
        for (path, below) in [
            ("/a/b", "a/b"),
            ("a//b", "a/b"),
            ("/a/b//", "a/b/"),
            ("/a/./b/.", "a/b/"),
            ("/a/b/./", "a/b/"),
            ("/./", ""),
            ("/.", ""),
        ] {
            assert_eq!(below_root(path.as_bytes()), below.as_bytes(), "{path}");
        }
    }

    #[test]
    fn all_spellings_of_a_path_become_one() {
        for path in ["/srv//www/", "/srv/./www", "/srv/x/../www", "//srv/www/.", "/../srv/www"] {
            assert_eq!(normal(Path::new(path)), Path::new("/srv/www"), "{path}");
        }
        for path in ["/", "/srv/...", "/srv/.a/b."] {
            assert_eq!(normal(Path::new(path)).as_os_str(), path);
        }
        assert!(normal(Path::new("relative")).is_absolute());
    }
}
