//! status: what the scoreboard shows, as a page for people and as `?auto` for machines
//! (mod_status; keys, letters and titles are its own).

mod auto;
mod cpu;
mod figures;
mod line;
mod number;
mod page;

use crate::failure::Failure;
use crate::handler::{self, Handler};
use crate::log::sink::local_time;
use crate::log::time::TimeFormat;
use crate::lookup::Lookup;
use crate::phase::Stop;
use crate::response::Response;
use crate::site::builder::Builder;
use config::{Args, Call, Directive, Error, Module, Scope};
use figures::Figures;
pub use line::status_line;
use message::Method;
use scoreboard::Snapshot;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "status_module", file: "mod_status.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "ExtendedStatus",
    args: Args::Flag,
    scope: Scope::SERVER,
    default: "On",
    help: "\"On\" to track extended status information, \"Off\" to disable",
    apply: extended_status,
}];

fn extended_status(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.extended_status = Some(call.on());
    Ok(())
}

/// Who answers, under which names.
struct Names {
    /// As the client calls the server (UseCanonicalName Off).
    server: String,
    /// The address that the request came to.
    local: String,
    /// `ServerName`, where it is configured.
    host: Option<String>,
}

/// The page or the list that the query asks for.
pub(crate) fn respond(lookup: &Lookup<'_>) -> Result<Response, Failure> {
    let query = lookup.query.as_deref().unwrap_or_default();
    let names = names(lookup);
    let mpm = &lookup.site().mpm;
    let processes_max = lookup.context.processes_max();
    let snapshot = Snapshot::take(lookup.context.board());
    let figures = Figures::new(&snapshot, mpm.kind, processes_max);
    let mut response = if query.split(|byte| *byte == b'&').any(|part| part == b"auto") {
        let text = auto::text(&figures, &names);
        Response::page("text/plain; charset=ISO-8859-1", text.into_bytes())
    } else {
        Response::page("text/html; charset=ISO-8859-1", page::html(&figures, &names))
    };
    if let Some(seconds) = refresh(query) {
        response = response.field("Refresh", seconds.to_string());
    }
    Ok(response)
}

fn names(lookup: &Lookup<'_>) -> Names {
    let local = lookup.request.local.ip().to_canonical().to_string();
    let host = lookup.host.name().map(str::to_owned);
    Names { server: lookup.server_name(), local, host }
}

/// Resolve hook.
pub(crate) fn resolve(lookup: &mut Lookup<'_>) -> Result<Option<Handler>, Stop> {
    let is_status = lookup.method.is_some_and(Method::is_get_or_head)
        && handler::effective(lookup)?.as_deref() == Some("server-status");
    Ok(is_status.then_some(Handler::Status))
}

/// `?refresh=N`; without a number above 0 httpd takes 10 seconds.
fn refresh(query: &[u8]) -> Option<u32> {
    let query = std::str::from_utf8(query).ok()?;
    let part = query.split('&').find_map(|part| part.strip_prefix("refresh"))?;
    let number = part.strip_prefix('=').and_then(|number| number.parse().ok());
    Some(number.filter(|seconds| *seconds > 0).unwrap_or(10))
}

/// `Friday, 20-Nov-2026 11:57:10 UTC`
fn long_time(unix_s: i64) -> String {
    let mut text = Vec::new();
    TimeFormat::new(b"%A, %d-%b-%Y %H:%M:%S %Z").write(&local_time(unix_s), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// ` 2 minutes 3 seconds`: units that are zero are left out (show_time of mod_status.c).
fn in_words(seconds: u64) -> String {
    let units = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let shown = units.iter().filter(|unit| unit.0 > 0);
    shown.map(|(n, unit)| format!(" {n} {unit}{}", if *n == 1 { "" } else { "s" })).collect()
}

/// The three load averages, as the kernel prints them.
fn load_averages() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_takes_ten_seconds_where_nothing_better_is_said() {
        let rows: [(&[u8], Option<u32>); 6] = [
            (b"", None),
            (b"auto", None),
            (b"refresh", Some(10)),
            (b"auto&refresh=3", Some(3)),
            (b"refresh=0", Some(10)),
            (b"refresh=x", Some(10)),
        ];
        for (query, seconds) in rows {
            assert_eq!(refresh(query), seconds, "{}", query.escape_ascii());
        }
    }

    #[test]
    fn a_duration_leaves_out_units_that_are_zero() {
        assert_eq!(in_words(0), "");
        assert_eq!(in_words(61), " 1 minute 1 second");
        assert_eq!(in_words(2 * 86_400 + 3600), " 2 days 1 hour");
    }
}
