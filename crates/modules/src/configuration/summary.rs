//! What a configuration has that this server does not do, in one line: for somebody who is tired
//! and has seen the warnings.

use config::{Diagnostic, Expanded, owners};
use server::site::builder::Builder;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One line, or nothing if everything has its effect.
pub(super) fn line(builder: &Builder, expanded: &Expanded, said: &[Diagnostic]) -> String {
    let parts: Vec<String> = [
        unserved(builder),
        without_effect(said),
        absent(expanded, said), //
    ]
    .into_iter()
    .flatten()
    .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(
            "warning: in short: {}; see the guide \"From Apache to Trivet\"\n",
            parts.join("; ")
        ),
    }
}

/// Virtual hosts that nobody can ask for.
fn unserved(builder: &Builder) -> Option<String> {
    let is_served = |port: Option<u16>| port.is_none_or(|port| builder.serves(port));
    let hosts = builder.hosts.iter().skip(1);
    let unserved: Vec<_> = hosts
        .filter(|host| !host.addresses.iter().any(|address| is_served(address.port)))
        .collect();
    let ports = unserved.iter().flat_map(|host| &host.addresses).filter_map(|it| it.port);
    let mut ports: Vec<u16> = ports.collect();
    ports.sort_unstable();
    ports.dedup();
    let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
    let noun = if ports.len() == 1 { "port" } else { "ports" };
    (!unserved.is_empty()).then(|| {
        let hosts = counted(unserved.len(), "virtual host");
        format!("not served: {hosts}, because no Listen opens {noun} {}", shortened(&ports))
    })
}

/// Lines that need a module which is not there, by module.
fn without_effect(said: &[Diagnostic]) -> Option<String> {
    let mut by_module: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for diagnostic in said {
        if let (Some(symbol), Some(position)) = (diagnostic.lacks, &diagnostic.position) {
            by_module.entry(symbol).or_default().push(&position.file);
        }
    }
    let mut text = String::from("without effect: ");
    for (nth, (symbol, files)) in by_module.iter().enumerate() {
        let mut distinct = files.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let _ = write!(
            text,
            "{}{} of {} in {}",
            if nth == 0 { "" } else { ", " },
            counted(files.len(), "line"),
            name(symbol),
            counted(distinct.len(), "file")
        );
    }
    (!by_module.is_empty()).then_some(text)
}

/// Modules that are not there, and of which nothing else is said here.
fn absent(expanded: &Expanded, said: &[Diagnostic]) -> Option<String> {
    let is_told = |symbol: &str| said.iter().any(|it| it.lacks == Some(symbol));
    let modules = expanded.missing.iter().filter(|it| !is_told(it));
    let names: Vec<String> = modules.map(|symbol| name(symbol)).collect();
    (!names.is_empty()).then(|| format!("not implemented yet: {}", shortened(&names)))
}

/// `mod_rewrite`
fn name(symbol: &str) -> String {
    owners::file(symbol).trim_end_matches(".c").to_owned()
}

/// Names that are told of one kind; more of them would fill the screen once more.
const NAMES_MAX: usize = 8;

/// `a, b, c and 5 more`
fn shortened(names: &[String]) -> String {
    let told = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
