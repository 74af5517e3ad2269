//! The floors within each crate: what stands above what, and that nothing needs itself by way of
//! others.

mod graph;
mod imports;

use super::file::{Finding, TextFile};
use graph::{Arrow, Graph, Path};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The folders and files in the root of a crate, from top to bottom: each may use what stands
/// behind it. Names on one floor need nothing of each other. Crates of few files have no row; that
/// they have no circles is enough.
const FLOORS: &[(&str, &[&str])] = &[
    (
        "server",
        &[
            "explain",
            "connection",
            "guarded prepared",
            "exchange sub_response",
            "compat description error_document fields file_response own_url pace \
             response_head",
            "byterange content_digest log_conditions script",
            "phase",
            "admit",
            "evaluate walk script_cache",
            "sharing",
            "hostname_lookups",
            "map_question question",
            KNOT_FLOOR,
            "authentication cache environment_template",
            "access_log proviso",
            "seen_watch",
            "received_request",
            "request_body",
            "held",
            "accounting",
            "htaccess_cache mapping metadata response slots spool_room steps",
            "representation",
            "site",
            "mpm_settings request_state thread_state waiting",
            "answers content_coding descriptors failure going_on http_date identity input_filter \
             map_program process_pool",
            "asked_host key_number large_future names negotiated part_stack resolve send_rate",
            "short_size table transport",
        ],
    ),
    (
        "modules",
        &[
            "configuration",
            "serve",
            "defaults guards reference",
            "access_compat",
            "authz_core",
            "auth_basic authz_groupfile authz_host authz_user",
            "authn_core authz_owner",
            "authn_file require",
            "auth_text",
            "autoindex core files negotiation",
            "mime",
            "trivet unrun_scripts",
            "asis diagnostic",
            "actions alias allowmethods dir env example expires headers log_config logio",
            "mpm_common remoteip reqtimeout request setenvif speling unique_id unixd userdir",
            "usertrack vhost_alias watchdog",
        ],
    ),
    ("gateway", &["fastcgi fcgid forward php", "cgi proxy_fcgi", "proxy suexec"]),
    ("content", &["filter", "include", "recode would_send"]),
    ("status", &["info status"]),
    (
        "logging",
        &[
            "errors",
            "error_format",
            "message sink",
            "access error_log syslog",
            "program recurring time",
            "id level number ration target",
        ],
    ),
    ("mpm", &["parent", "child", "programs", "generation", "probe", "sizing"]),
    (
        "runtime",
        &[
            "programs",
            "backend",
            "dial",
            "folder_watch",
            "file",
            "net",
            "executor",
            "process",
            "memory",
            "os_error",
            "sys",
        ],
    ),
    ("scoreboard", &["find", "snapshot", "board", "header", "rows"]),
    (
        "upstream",
        &["h1", "client", "h2", "transport", "exchange", "tunnel", "error", "fastcgi", "race"],
    ),
    (
        "load",
        &[
            "run", "page", "pacer", "plan", "pattern", "recorder", "url", "failure", "machine",
            "date", "text",
        ],
    ),
    ("tools", &["command", "live", "observe", "report", "capacity", "threshold"]),
    ("trivet", &["explain", "httpd", "serve", "help", "php", "problem"]),
];

/// Where that table stands.
const TABLE: &str = "xtask/src/tidy/floors/mod.rs";

/// The one circle of files that is left: they name each other in their types. A `request_context`
/// borrows the `context` of its thread, which has the `server`. That has the hooks (`hook`) of its
/// modules (`module`, `module_list`), which are functions of a request, and choose the `handler`
/// that is given one. What is kept of a script (`cached_script`) has its handler, and the thread
/// and its requests have that. To cut the circle would take a trait for a request, or for what it
/// borrows, in each of these types. They stand on one floor. None may be added, and what is in no
/// circle any more is removed.
const KNOT: (&str, &[&str]) = (
    "server",
    &[
        "cached_script",
        "context",
        "handler",
        "hook",
        "module",
        "module_list",
        "request_context",
        "server",
    ],
);

/// The floor of [`KNOT`].
const KNOT_FLOOR: &str = "(knot)";

/// Finds arrows that point up and circles in all crates.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Graph> = BTreeMap::new();
    for file in files {
        if let Some((name, below_src)) = place(&file.path) {
            crates.entry(name).or_default().add(below_src, file);
        }
    }
    let mut findings = Vec::new();
    for (name, mut graph) in crates {
        let knot = if name == KNOT.0 { KNOT.1 } else { &[] };
        let mut arrows = graph.arrows();
        findings.extend(loose(knot, &arrows));
        let mut modules: Vec<Path> = graph.modules().cloned().collect();
        let ends = arrows.iter_mut().flat_map(|arrow| [&mut arrow.from, &mut arrow.to]);
        modules.iter_mut().chain(ends).for_each(|path| lay_in(knot, path));
        let floors = FLOORS.iter().find(|row| row.0 == name).map(|row| row.1);
        let upwards = floors.map(|floors| upwards(floors, &modules, &arrows));
        findings.extend(upwards.unwrap_or_default());
        findings.extend(circles(&modules, &arrows));
    }
    findings
}

/// Take what is knotted as if it lay in a folder of its own.
fn lay_in(knot: &[&str], path: &mut Path) {
    if path.first().is_some_and(|first| knot.contains(&first.as_str())) {
        path.insert(0, KNOT_FLOOR.to_owned());
    }
}

/// What is said to be in the knot and is not.
fn loose(knot: &[&str], arrows: &[Arrow]) -> Vec<Finding> {
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for arrow in arrows {
        if let (Some(from), Some(to)) = (arrow.from.first(), arrow.to.first())
            && from != to
        {
            needs.entry(from).or_default().insert(to);
        }
    }
    let free = knot.iter().filter(|name| !reachable(&needs, name).contains(**name));
    let what = |name| format!("`{name}` is in no circle any more; remove it from the knot");
    free.map(|name| Finding { path: TABLE.to_owned(), line: 1, what: what(name) }).collect()
}

/// The crate of a file, and its path below `src`.
fn place(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    let (name, below) = path.split_once("/src/")?;
    (below.ends_with(".rs") && !name.contains('/')).then_some((name, below))
}

/// Arrows from a floor to a higher one, and what stands on none.
fn upwards(floors: &[&str], modules: &[Path], arrows: &[Arrow]) -> Vec<Finding> {
    let floor = |path: &Path| {
        let first = path.first()?;
        let has = |names: &&str| names.split(' ').any(|name| name == first);
        Some(floors.iter().position(has).unwrap_or(usize::MAX))
    };
    let mut findings = Vec::new();
    for arrow in arrows {
        // The root of a crate is its face: it uses all, and nothing is its own.
        let (Some(from), Some(to)) = (floor(&arrow.from), floor(&arrow.to)) else { continue };
        let relation = match to.cmp(&from) {
            Ordering::Less => "below",
            Ordering::Equal if arrow.from[0] != arrow.to[0] && to != usize::MAX => "beside",
            Ordering::Equal | Ordering::Greater => continue,
        };
        let what = format!(
            "`{}` stands {relation} `{}` and may not use it; see the floors in {TABLE}",
            arrow.from[0], arrow.to[0]
        );
        findings.push(Finding { path: arrow.file.clone(), line: arrow.line, what });
    }
    let homeless: BTreeSet<&String> = modules
        .iter()
        .filter(|path| floor(path) == Some(usize::MAX))
        .filter_map(|path| path.first())
        .collect();
    let in_table = |what| Finding { path: TABLE.to_owned(), line: 1, what };
    findings.extend(homeless.into_iter().map(|name| {
        in_table(format!("`{name}` is on no floor of its crate; add it to the table"))
    }));
    let is_empty =
        |name: &&str| modules.iter().all(|path| path.first().is_none_or(|it| it != *name));
    let empty = floors.iter().flat_map(|names| names.split(' ')).filter(is_empty);
    findings.extend(empty.map(|name| {
        in_table(format!("the table names `{name}`, which its crate has not; remove it"))
    }));
    findings
}

/// Circles that are longer than a parent and its child. Each folder is looked at by itself: what
/// lies in it counts as its folder or file there.
fn circles(modules: &[Path], arrows: &[Arrow]) -> Vec<Finding> {
    let parents: BTreeSet<Path> = modules
        .iter()
        .filter_map(|path| path.split_last().map(|(_, parent)| parent.to_vec()))
        .collect();
    let free = parents.iter().filter(|parent| parent[..] != [KNOT_FLOOR]);
    free.filter_map(|parent| circle_below(parent, arrows)).collect()
}

/// A file or folder that lies in a folder; `None` is the file of the folder itself.
type Member = Option<String>;

/// Two members of `parent` that need each other, itself counted among them.
fn circle_below(parent: &Path, arrows: &[Arrow]) -> Option<Finding> {
    let member = |path: &Path| -> Option<Member> {
        Some(path.strip_prefix(parent.as_slice())?.first().cloned())
    };
    let between = |arrow| -> Option<(Member, Member, &Arrow)> {
        let arrow: &Arrow = arrow;
        Some((member(&arrow.from)?, member(&arrow.to)?, arrow))
    };
    let steps: Vec<_> = arrows.iter().filter_map(between).filter(|step| step.0 != step.1).collect();
    let mut needs: BTreeMap<Member, BTreeSet<Member>> = BTreeMap::new();
    for (from, to, _) in &steps {
        needs.entry(from.clone()).or_default().insert(to.clone());
    }
    // Folders have some dozens of members: to follow every arrow from each of them is cheap enough,
    // and simpler than the components of the graph.
    let reach: BTreeMap<&Member, BTreeSet<Member>> =
        needs.keys().map(|from| (from, reachable(&needs, from))).collect();
    let leads = |from: &Member, to: &Member| reach.get(from).is_some_and(|all| all.contains(to));
    // A parent and its child may need each other.
    let is_circle = |(from, to, _): &&(Member, Member, &Arrow)| {
        from.is_some() && to.is_some() && leads(to, from)
    };
    let (from, to, arrow) = steps.iter().find(is_circle)?;
    let back =
        steps.iter().find(|step| step.1 == *from && (step.0 == *to || leads(to, &step.0)))?;
    let what = format!(
        "`{}` and `{}` need each other (the way back is at {}:{}); move what both need below them",
        from.as_deref().unwrap_or_default(),
        to.as_deref().unwrap_or_default(),
        back.2.file,
        back.2.line
    );
    Some(Finding { path: arrow.file.clone(), line: arrow.line, what })
}

/// All that can be come to from somewhere.
fn reachable<T: Ord + Clone>(needs: &BTreeMap<T, BTreeSet<T>>, from: &T) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    let mut next = vec![from.clone()];
    while let Some(one) = next.pop() {
        for other in needs.get(&one).into_iter().flatten() {
            if found.insert(other.clone()) {
                next.push(other.clone());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let mut graph = Graph::sample(files);
        let arrows = graph.arrows();
        let modules: Vec<Path> = graph.modules().cloned().collect();
        circles(&modules, &arrows).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn an_arrow_to_a_higher_floor_is_found() {
        let files = [("a.rs", "use crate::b::B;"), ("b.rs", "\nuse crate::a::A;"), ("c.rs", "")];
        let mut graph = Graph::sample(&files);
        let arrows = graph.arrows();
        let modules: Vec<Path> = graph.modules().cloned().collect();
        let found: Vec<String> =
            upwards(&["a", "b", "d"], &modules, &arrows).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                format!(
                    "b.rs:2: `b` stands below `a` and may not use it; see the floors in {TABLE}"
                ),
                format!("{TABLE}:1: `c` is on no floor of its crate; add it to the table"),
                format!("{TABLE}:1: the table names `d`, which its crate has not; remove it"),
            ]
        );
    }

    #[test]
    fn names_on_one_floor_need_nothing_of_each_other() {
        let files = [("a.rs", "use crate::b::B;"), ("b.rs", ""), ("c.rs", "use crate::b::B;")];
        let mut graph = Graph::sample(&files);
        let arrows = graph.arrows();
        let modules: Vec<Path> = graph.modules().cloned().collect();
        let found: Vec<String> =
            upwards(&["c", "a b"], &modules, &arrows).iter().map(Finding::to_string).collect();
        let what = "`a` stands beside `b` and may not use it; see the floors in";
        assert_eq!(found, [format!("a.rs:1: {what} {TABLE}")]);
    }

    #[test]
    fn a_knot_is_one_floor_and_only_shrinks() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A;"),
            ("c.rs", "use crate::a::A;"),
        ];
        let arrows = Graph::sample(&files).arrows();
        assert!(loose(&["a", "b"], &arrows).is_empty());
        let found: Vec<String> =
            loose(&["a", "b", "c"], &arrows).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [format!("{TABLE}:1: `c` is in no circle any more; remove it from the knot")]
        );
        let mut path = vec!["a".to_owned(), "x".to_owned()];
        lay_in(&["a", "b"], &mut path);
        assert_eq!(path, [KNOT_FLOOR, "a", "x"]);
        assert!(circles(&[path.clone()], &[]).is_empty());
    }

    #[test]
    fn a_parent_and_its_child_may_need_each_other() {
        let files = [("a/mod.rs", "mod b; use b::B;"), ("a/b.rs", "use super::A;")];
        assert_eq!(circles_of(&files), [""; 0]);
    }

    #[test]
    fn two_files_and_two_folders_may_not() {
        let files = [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")];
        let end = "; move what both need below them";
        let what = |back| format!("`a` and `b` need each other (the way back is at {back}){end}");
        assert_eq!(circles_of(&files), [format!("a.rs:1: {}", what("b.rs:1"))]);
        // Neither `a::x` and `b::y` nor `b::y` and `a::z` do, but their folders.
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", ""),
            ("a/x.rs", "use crate::b::y::Y;"),
            ("b/y.rs", "use crate::a::z::Z;"),
            ("a/z.rs", ""),
        ];
        assert_eq!(circles_of(&files), [format!("a/x.rs:1: {}", what("b/y.rs:1"))]);
    }

    #[test]
    fn a_circle_by_way_of_the_parent_is_one() {
        let files = [
            ("a/mod.rs", "mod b; mod c; use b::B;"),
            ("a/b.rs", "use super::c::C;"),
            ("a/c.rs", "use super::A;"),
        ];
        let what =
            "need each other (the way back is at a/mod.rs:1); move what both need below them";
        assert_eq!(circles_of(&files), [format!("a/b.rs:1: `b` and `c` {what}")]);
    }
}
