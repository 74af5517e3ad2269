//! Directives that keep something shut. To go on without one of them, because it has no row or
//! stands in a section that has no effect, would open it: that is an error and not a warning. Which
//! directives these are is the server's to say.

use alloc::vec::Vec;

use crate::ast::{Line, Node};

/// A directive that may keep something shut.
#[derive(Clone, Copy, Debug)]
pub struct GuardRow {
    /// Its name.
    pub name: &'static str,
    /// Whether a line of it does, within the sections around it, the outermost first.
    pub shuts: fn(&Line, &[&Line]) -> bool,
    /// What would happen without it, and what to do, where that is more than [`Guards`] knows.
    pub advice: Option<&'static str>,
}

/// All of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guards {
    /// The table.
    pub rows: &'static [GuardRow],
    /// What to do about one that has no row; ends the error.
    pub line_advice: &'static str,
    /// What to do about one inside of a section that has no row; ends the error.
    pub section_advice: &'static str,
}

/// A line that keeps something shut.
pub(crate) struct Guard<'n> {
    pub(crate) row: &'static GuardRow,
    pub(crate) line: &'n Line,
    /// The virtual host around it: without anybody who serves its address it shuts nothing.
    pub(crate) host: Option<&'n Line>,
}

impl Guards {
    /// The row of a name.
    pub fn row(&self, name: &str) -> Option<&'static GuardRow> {
        self.rows.iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// What would be lost with `nodes`: the first line outside of virtual hosts, and the first of
    /// each of these. `host` is the virtual host around them.
    pub(crate) fn lost<'n>(&self, nodes: &'n [Node], host: Option<&'n Line>) -> Vec<Guard<'n>> {
        let mut all = Vec::new();
        self.collect(nodes, &mut Vec::new(), host, &mut all);
        let mut first: Vec<Guard<'n>> = Vec::new();
        for guard in all {
            let is_same = |other: &Guard<'_>| match (other.host, guard.host) {
                (None, None) => true,
                (Some(a), Some(b)) => core::ptr::eq(a, b),
                _ => false,
            };
            if !first.iter().any(is_same) {
                first.push(guard);
            }
        }
        first
    }

    fn collect<'n>(
        &self,
        nodes: &'n [Node],
        around: &mut Vec<&'n Line>,
        host: Option<&'n Line>,
        all: &mut Vec<Guard<'n>>,
    ) {
        for node in nodes {
            let line = node.line();
            if let Some(row) = self.row(line.name())
                && (row.shuts)(line, around)
            {
                all.push(Guard { row, line, host });
            }
            if let Node::Section(section) = node {
                let host = if is_host(line) { Some(line) } else { host };
                around.push(line);
                self.collect(&section.body, around, host, all);
                around.pop();
            }
        }
    }
}

/// Whether a line begins a virtual host.
pub(crate) fn is_host(line: &Line) -> bool {
    line.name().eq_ignore_ascii_case("<VirtualHost")
}
