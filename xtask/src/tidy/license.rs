//! Checks that everything the project is linked with may be passed on with it.

use super::file::Finding;
use super::workspace::Workspace;

/// Licences that ask for no more than their notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

pub(crate) fn licences(workspace: &Workspace) -> Vec<Finding> {
    let refused = workspace.packages.iter().filter(|package| !is_allowed(&package.license));
    let what = |license: &str| match license {
        "" => "states no licence; use another crate".to_owned(),
        _ => format!("has the licence `{license}`, which is not on the list; use another crate"),
    };
    refused.map(|package| workspace.finding(&package.name, what(&package.license))).collect()
}

/// Whether an SPDX expression can be met with allowed licences alone.
fn is_allowed(expression: &str) -> bool {
    // Old manifests write `MIT/Apache-2.0` for `MIT OR Apache-2.0`.
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    matches!(any(&tokens), Some((true, [])))
}

/// What a part of an expression says, and what follows it; `None` when it is malformed.
type Parsed<'a> = Option<(bool, &'a [&'a str])>;

/// `all OR all ...`
fn any<'a>(tokens: &'a [&'a str]) -> Parsed<'a> {
    let (mut met, mut rest) = all(tokens)?;
    while let ["OR", after @ ..] = rest {
        let (other, next) = all(after)?;
        (met, rest) = (met || other, next);
    }
    Some((met, rest))
}

/// `one AND one ...`, which binds closer than `OR`.
fn all<'a>(tokens: &'a [&'a str]) -> Parsed<'a> {
    let (mut met, mut rest) = one(tokens)?;
    while let ["AND", after @ ..] = rest {
        let (other, next) = one(after)?;
        (met, rest) = (met && other, next);
    }
    Some((met, rest))
}

fn one<'a>(tokens: &'a [&'a str]) -> Parsed<'a> {
    match tokens {
        ["(", inside @ ..] => match any(inside)? {
            (met, [")", rest @ ..]) => Some((met, rest)),
            _ => None,
        },
        [name, "WITH", exception, rest @ ..] => {
            Some((ALLOWED.contains(&format!("{name} WITH {exception}").as_str()), rest))
        }
        [name, rest @ ..] => Some((ALLOWED.contains(name), rest)),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_weighed() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT OR", "MIT GPL-3.0", "OR MIT"] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn a_refused_licence_is_found_at_its_place_in_the_lock_file() {
        let workspace = Workspace::sample();
        let found: Vec<String> = licences(&workspace).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            ["Cargo.lock:8: `copyleft` has the licence `GPL-3.0`, which is not on the list; \
                 use another crate"]
        );
    }
}
