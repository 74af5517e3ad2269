//! What the manual says of the directives of the MPMs, where that is not the same under each.

use super::MpmKind;

/// The rows that not every MPM has in httpd, with the names of those that do.
const USED_BY: &[(&str, &[&str])] = &[
    ("MinSpareServers", &["prefork"]),
    ("MaxSpareServers", &["prefork"]),
    ("MinSpareThreads", &["worker", "event"]),
    ("MaxSpareThreads", &["worker", "event"]),
    ("ThreadsPerChild", &["worker", "event"]),
    ("ThreadLimit", &["worker", "event"]),
    ("ThreadStackSize", &["worker", "event"]),
    ("AsyncRequestWorkerFactor", &["event"]),
];

/// The MPMs that use a directive, if not all of them do.
pub fn used_by(name: &str) -> Option<&'static [&'static str]> {
    USED_BY.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// What prefork has another help text for in httpd.
const HELP_OF_PREFORK: &[(&str, &str)] = &[
    ("MaxRequestWorkers", "Maximum number of children alive at the same time"),
    ("ServerLimit", "Maximum value of MaxRequestWorkers for this run of Apache"),
];

/// httpd's help text of a directive under prefork, if it is not that of the row.
fn help_of_prefork(name: &str) -> Option<&'static str> {
    HELP_OF_PREFORK.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// httpd's help text of a directive whose row says `help`.
pub(crate) fn under(mpm: MpmKind, name: &str, help: &'static str) -> &'static str {
    match mpm {
        MpmKind::Prefork => help_of_prefork(name).unwrap_or(help),
        _ => help,
    }
}
