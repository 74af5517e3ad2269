//! What is said of directives that have no row: slips, and what httpd has and this server has not.

use alloc::format;
use alloc::vec::Vec;

use crate::ast::{Line, Node};
use crate::diagnostic::{Diagnostic, Error, Severity, diagnose};
use crate::guards::Guards;
use crate::owners;

/// Neither a row nor a directive of httpd.
pub(crate) fn unknown(line: &Line, near: Option<&'static str>) -> Error {
    let text = format!(
        "Invalid command '{}', perhaps misspelled or defined by a module not included in the \
         server configuration",
        line.name()
    );
    let suggestion = near.map(|name| match name.strip_prefix('<') {
        Some(section) => format!("<{section}>"),
        None => name.into(),
    });
    Error { suggestion, ..text.into() }
}

/// What to do where nothing runs scripts.
pub const PHP_ADVICE: &str = "run them inside the server (make php-module, LoadModule php_module) \
                              or with PHP-FPM (a2enmod proxy_fcgi setenvif, a2enconf php8.2-fpm \
                              or the version that is installed)";

/// A directive of httpd without a row, where it may not be passed over: httpd's words for one that
/// has no module, and what can be done about it.
pub(crate) fn not_there_yet(line: &Line) -> Error {
    let advice = match owners::of(line.name()).next() {
        Some(symbol) => {
            let file = owners::file(symbol);
            format!(
                "Trivet has no {file} yet: remove its lines from the file, and use Require for \
                 what they forbid"
            )
        }
        None => "Trivet does not have it yet: remove it".into(),
    };
    let Error { text, .. } = unknown(line, None);
    format!("{text} (line {}: {advice})", line.position().line).into()
}

/// A directive of httpd without a row. What stands in such a section is not looked at: it has no
/// meaning without it. But where it keeps something shut, nobody shall find it open.
pub(crate) fn elsewhere(
    name: &str,
    node: &Node,
    guards: &Guards,
    host: Option<&Line>,
) -> Vec<Diagnostic> {
    let lost = guards.lost(core::slice::from_ref(node), host);
    let mut said = Vec::new();
    if lost.iter().all(|guard| guard.host.is_some()) {
        let (end, effect) = match name.strip_prefix('<') {
            Some(_) => (">", "the whole section has no effect"),
            None => ("", "the line has no effect"),
        };
        let lacks = owners::of(name).next();
        let text = format!("{name}{end} is not supported yet: {effect}");
        let warning = diagnose(node.line(), Severity::Warning, None, text.into());
        said.push(Diagnostic { lacks, ..warning });
    }
    for guard in lost {
        let own = guard.row.name;
        let text = match (node, guard.row.advice) {
            (_, Some(advice)) => format!("{own} is not supported yet, {advice}"),
            (Node::Directive(_), None) => format!(
                "{own} is not supported yet, and what it protects would be open without it: {}",
                guards.line_advice
            ),
            (Node::Section(_), None) => format!(
                "{name}> is not supported yet, and what the {own} in it protects would be open \
                 without it: {}",
                guards.section_advice
            ),
        };
        let error = diagnose(guard.line, Severity::Error, Some("AH00526"), text.into());
        said.push(Diagnostic { host: guard.host.map(|line| line.args().into()), ..error });
    }
    said
}
