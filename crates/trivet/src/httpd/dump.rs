//! What `-l`, `-L`, `-M`, `-S` and the `DUMP_*` names print about the configuration, in httpd's
//! words. Other programs read these texts, so each line is httpd's to the byte.

use crate::httpd::options::HttpdOptions;
use config::{Included, Scope, owners};
use modules::DumpFacts;
use runtime::process;
use std::fmt::Write as _;
use std::path::Path;

/// The text of `-l`: the modules that are compiled in.
pub(crate) fn static_modules() -> String {
    let names = server::STATIC_MODULES.iter().map(|row| format!("  {}\n", row.1));
    format!("Compiled in modules:\n{}", names.collect::<String>())
}

/// The name that asks for the files that are included.
pub(crate) const INCLUDES: &str = "DUMP_INCLUDES";

/// Everything that the `DUMP_*` names ask for; `None` if there is none (ap_run_test_config).
pub(crate) fn asked_for(options: &HttpdOptions, file: &Path, facts: &DumpFacts) -> Option<String> {
    let parts: [(&str, &dyn Fn() -> String); 4] = [
        ("DUMP_VHOSTS", &|| facts.virtual_hosts.render()),
        ("DUMP_RUN_CFG", &|| run_settings(facts)),
        ("DUMP_MODULES", &|| modules(facts)),
        (INCLUDES, &|| includes(file, &facts.included)),
    ];
    let wanted = parts.iter().filter(|part| options.is_defined(part.0));
    let texts: Vec<String> = wanted.map(|part| (part.1)()).collect();
    if texts.is_empty() { None } else { Some(texts.concat()) }
}

/// The text of `DUMP_MODULES`, with lines such as ` alias_module (shared)`.
fn modules(facts: &DumpFacts) -> String {
    let mut out = String::from("Loaded Modules:\n");
    for (symbol, is_static) in &facts.modules {
        // Writing to a String cannot fail, here as below.
        let _ = writeln!(out, " {symbol} ({})", if *is_static { "static" } else { "shared" });
    }
    out
}

/// `    (146) /etc/apache2/mods-enabled/alias.load`
pub(crate) fn includes(file: &Path, included: &[Included]) -> String {
    let mut out = format!("Included configuration files:\n  (*) {}\n", file.display());
    for included in included {
        let indent = "  ".repeat(included.depth + 1);
        let _ = writeln!(out, "{indent}({}) {}", included.line, included.path);
    }
    out
}

fn run_settings(facts: &DumpFacts) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: &Path| {
        let _ = writeln!(out, "{name}: \"{}\"", value.display());
    };
    line("ServerRoot", &facts.server_root);
    line("Main DocumentRoot", &facts.document_root);
    line("Main ErrorLog", &facts.error_log);
    let folder = facts.runtime_dir.display().to_string();
    let folder = folder.trim_end_matches('/');
    let configured = |lock: &str| facts.mutexes.iter().find(|row| row.0 == lock);
    let default = ["".into(), "default".into(), String::new()];
    let [own, mechanism, end] = configured("default").map_or(&default, |row| &row.1);
    let dir = if own.is_empty() { format!("{folder}/") } else { own.clone() };
    let _ = writeln!(out, "Mutex default: dir=\"{dir}\" mechanism={mechanism} {end}");
    let is_loaded = |symbol: &str| facts.modules.iter().any(|row| row.0 == symbol);
    for (_, lock) in owners::MUTEXES.iter().filter(|row| is_loaded(row.0)) {
        let _ = match configured(lock) {
            None => writeln!(out, "Mutex {lock}: using_defaults"),
            Some((_, [dir, mechanism, end])) => {
                writeln!(out, "Mutex {lock}: dir=\"{dir}\" mechanism={mechanism} {end}")
            }
        };
    }
    let _ = writeln!(out, "PidFile: \"{}\"", facts.pid_file.display());
    for (name, value) in &facts.defines {
        let value = value.as_ref().map_or(String::new(), |value| format!("={value}"));
        let _ = writeln!(out, "Define: {name}{value}");
    }
    let end = if process::is_root() { "" } else { " not_used" };
    for (what, (name, id)) in [("User", &facts.user), ("Group", &facts.group)] {
        let _ = writeln!(out, "{what}: name=\"{name}\" id={id}{end}");
    }
    out
}

/// `-L`: the directives of all modules that are loaded.
pub(crate) fn directives(facts: &DumpFacts) -> String {
    let is_loaded = |symbol: &str| facts.modules.iter().any(|row| row.0 == symbol);
    let mut out = String::new();
    for row in config::read_time_directives() {
        if row.module.is_none_or(is_loaded) {
            directive(&mut out, row.name, row.file, row.help, row.scope);
        }
    }
    for (file, row) in modules::MODULES.directives_under(facts.mpm, is_loaded) {
        directive(&mut out, row.name, &file, row.help, row.scope);
    }
    out
}

/// ap_show_directives of httpd's config.c.
fn directive(out: &mut String, name: &str, file: &str, help: &str, scope: Scope) {
    let _ = writeln!(out, "{name} ({file})");
    if !help.is_empty() {
        let _ = writeln!(out, "\t{help}");
    }
    let text = allowed(scope);
    // Such a module has nothing to remember for a folder: its lines act while they are read.
    let is_read = ["mod_macro.c", "mod_version.c"].contains(&file);
    let text = match is_read {
        true => text.replacen("anywhere", "anywhere [no per-dir config]", 1),
        false => text,
    };
    let _ = writeln!(out, "{text}");
}

/// The classes of `AllowOverride` in httpd's order (ap_show_overrides of its config.c).
const OVERRIDES: &[(&str, Scope)] = &[
    ("AuthConfig", Scope::HTACCESS_AUTHCFG),
    ("Limit", Scope::HTACCESS_LIMIT),
    ("Options", Scope::HTACCESS_OPTIONS),
    ("FileInfo", Scope::HTACCESS_FILEINFO),
    ("Indexes", Scope::HTACCESS_INDEXES),
];

/// Where a directive may stand, in httpd's words.
fn allowed(scope: Scope) -> String {
    let place = match (scope.meets(Scope::RSRC_CONF), scope.meets(Scope::ACCESS_CONF)) {
        (true, true) => "anywhere",
        (true, false) => "only outside <Directory>, <Files>, <Location>, or <If>",
        (false, _) => "only inside <Directory>, <Files>, <Location>, or <If>",
    };
    let classes: Vec<&str> =
        OVERRIDES.iter().filter(|row| scope.meets(row.1)).map(|row| row.0).collect();
    let override_text = match classes.len() {
        0 => String::new(),
        many if many == OVERRIDES.len() => {
            " and in .htaccess\n\twhen AllowOverride isn't None".into()
        }
        _ => format!(" and in .htaccess\n\twhen AllowOverride includes {}", classes.join(" or ")),
    };
    format!("\tAllowed in *.conf {place}{override_text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_as_httpd_tells_them() {
        let outside = "\tAllowed in *.conf only outside <Directory>, <Files>, <Location>, or <If>";
        assert_eq!(allowed(Scope::RSRC_CONF), outside);
        assert_eq!(allowed(Scope::SERVER), outside);
        assert_eq!(
            allowed(Scope::OR_AUTHCFG.with(Scope::OR_LIMIT)),
            "\tAllowed in *.conf only inside <Directory>, <Files>, <Location>, or <If> and in \
             .htaccess\n\twhen AllowOverride includes AuthConfig or Limit"
        );
        assert_eq!(
            allowed(Scope::OR_ALL),
            "\tAllowed in *.conf anywhere and in .htaccess\n\twhen AllowOverride isn't None"
        );
    }

    #[test]
    fn includes_stand_deeper_than_what_includes_them() {
        let row = |path: &str, depth, line| config::Included { path: path.into(), depth, line };
        let included = [row("/a", 1, 146), row("/b", 2, 3)];
        assert_eq!(
            includes(Path::new("/m.conf"), &included),
            "Included configuration files:\n  (*) /m.conf\n    (146) /a\n      (3) /b\n"
        );
    }
}
