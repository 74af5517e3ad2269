//! What is said about a configuration, as httpd prints it before it has a log: in the order of the
//! lines, and nothing more after what ends the reading, but for further errors.

use super::Httpd;
use config::{Diagnostic, Expanded, Severity};
use logging::error_log::ErrorLine;
use logging::level::Level;
use logging::sink::local_time;
use runtime::{clock, process};
use server::site::builder::Builder;
use server::site::host::HostDraft;
use server::site::resolver;
use server::site::startup::{Allowed, Logged, logged};

/// Warnings in order, as httpd logs them before it has a log; then the errors. What would be
/// warned about behind the first of these httpd never comes to see.
pub(super) fn render(httpd: &Httpd, said: &[Diagnostic]) -> String {
    let is_error = |said: &Diagnostic| said.severity == Severity::Error;
    let end = said.iter().position(is_error).unwrap_or(said.len());
    let mut text = String::new();
    for warning in &config::diagnostic::grouped(&said[..end]) {
        match warning.id {
            Some(id) => text.push_str(&warning_line(httpd, id, warning)),
            None if httpd.level() >= Level::Warn => {
                let one = std::slice::from_ref(warning);
                text.push_str(&config::diagnostic::render(&httpd.program, one));
            }
            None => {}
        }
    }
    // An error has no level, but for this one (APLOG_STARTUP alone is 0, as `emerg` is).
    let is_shown = |said: &&Diagnostic| {
        is_error(said) && (said.id != Some("AH00014") || httpd.level() >= Level::Error)
    };
    let errors: Vec<_> = said[end..].iter().filter(is_shown).cloned().collect();
    if !errors.is_empty() {
        text.push_str(&config::diagnostic::render(&httpd.program, &errors));
    }
    text
}

/// A warning that has a number in httpd; empty if it is not shown.
fn warning_line(httpd: &Httpd, id: &str, warning: &Diagnostic) -> String {
    let logged = logged(id);
    match logged.allowed {
        Allowed::Always => format!("{id}: {}\n", warning.text),
        _ if !logged.is_allowed_by_option(httpd.level()) => String::new(),
        _ => log_line(&logged, id, &warning.text, warning.reason.as_deref(), None),
    }
}

/// A line as it stands in an error log; `reason` has its number before it.
fn log_line(
    logged: &Logged,
    id: &str,
    text: &str,
    reason: Option<&str>,
    source: Option<(&str, u32)>,
) -> String {
    let number = id.strip_prefix("AH").and_then(|number| number.parse().ok());
    // The reason stands before the number of the message, which is then a part of the text.
    let (id, text) = match reason {
        Some(reason) => (None, format!("{reason}: {id}: {text}")),
        None => (number, text.to_owned()),
    };
    let line = ErrorLine {
        time_us: clock::unix_us(),
        module: logged.module,
        level: logged.level,
        pid: std::process::id(),
        tid: u64::from(process::thread_id().cast_unsigned()),
        source,
        os_error: None,
        peer: None,
        id,
        message: text.as_bytes(),
        referer: None,
    };
    let mut bytes = Vec::new();
    line.write(local_time, &mut bytes);
    bytes.push(b'\n');
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is said of virtual hosts for which neither the configuration nor DNS has a name (vhost.c,
/// ap_fini_vhost_config): httpd takes them from the last to the first.
pub(super) fn unnamed_hosts(builder: &Builder) -> String {
    let (id, main) = ("AH00549", &builder.hosts[0]);
    if !logged(id).is_allowed_by_host(main.levels.as_ref(), false) {
        return String::new();
    }
    let failed = |host: &HostDraft| {
        let ip = host.unnamed_ip()?;
        let reason = resolver::name_of(ip).err()?;
        let text = format!(
            "Failed to resolve server name for {ip} (check DNS) -- or specify an explicit \
             ServerName"
        );
        Some(log_line(&logged(id), id, &text, Some(&reason), None))
    };
    builder.hosts[1..].iter().rev().filter_map(|host| failed(host)).collect()
}

/// What `-e debug` shows of each `LoadModule` (mod_so.c).
pub(super) fn loaded_lines(httpd: &Httpd, expanded: &Expanded) -> String {
    if httpd.level() < Level::Debug {
        return String::new();
    }
    let id = "AH01575";
    let line = |(symbol, path): &(String, String)| {
        let text = format!("loaded module {symbol} from {path}");
        log_line(&logged(id), id, &text, None, Some(("mod_so.c", 266)))
    };
    expanded.module_files.iter().map(line).collect()
}
