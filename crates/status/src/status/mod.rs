//! status: what the scoreboard shows, as a page for people and as `?auto` for machines
//! (mod_status; keys, letters and titles are its own), and with all that httpd does not know as
//! `?json` and `?metrics`.

mod auto;
mod beyond;
mod cpu;
mod everything;
mod figures;
mod figures_json;
mod holders;
mod hosts;
mod json;
mod line;
mod metrics;
mod minute;
mod names;
mod number;
mod page;
mod rows;
mod spelled;
mod verdict;

use config::{Args, Call, Directive, Error, Scope};
use everything::Everything;
use figures::StatusFigures;
pub use holders::holders;
use hosts::Hosts;
pub use line::status_line;
use message::Method;
use names::ServerNames;
use page::Shows;
use scoreboard::Snapshot;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::response::Response;
use server::site::Site;
use server::site::builder::Builder;
use server::site::settings::ServerKey;
use server::site::store::Merge;
use server::waiting::{NowOrLater, Waiting};
use std::rc::Rc;

/// The module and its table.
pub static MODULE: Module = Module::new(
    "status_module",
    "mod_status.c",
    DIRECTIVES,
    Hooks { resolve: Some(Hook::Now(resolve)), open: Some(open), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "ExtendedStatus",
    args: Args::Flag,
    scope: Scope::SERVER,
    default: "On",
    help: "\"On\" to track extended status information, \"Off\" to disable",
    apply: extended_status,
}];

fn extended_status(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    EXTENDED.change(&mut builder.server.modules).0 = Some(call.on());
    Ok(())
}

/// The key of what is kept for the whole server.
static EXTENDED: ServerKey<Extended> = ServerKey::new();

/// `ExtendedStatus`; `None` is On where there is a status page (mod_status.c, status_pre_config).
#[derive(Clone, Copy, Debug, Default)]
struct Extended(Option<bool>);

impl Merge for Extended {}

fn open(site: &mut Site) -> Result<(), String> {
    site.extended_status = EXTENDED.of(&site.modules).0.unwrap_or(true);
    Ok(())
}

/// The page or the list that the query asks for.
fn respond(request: &RequestContext<'_>) -> Result<Response, Failure> {
    let query = request.query().unwrap_or_default();
    // httpd looks for the words wherever they stand (strstr in status_handler).
    let has = |word: &[u8]| query.windows(word.len()).any(|part| part == word);
    let shows = Shows { extended: request.site().extended_status, list: has(b"notable") };
    let names = names(request);
    let mut response = if has(b"auto") {
        let text = auto::text(&figures(request), &names, shows.extended);
        Response::page("text/plain; charset=ISO-8859-1", text.into_bytes())
    } else if has(b"json") {
        let text = figures_json::text(&everything(request, false), &names);
        Response::page("application/json", text.into_bytes())
    } else if has(b"metrics") {
        let text = metrics::text(&everything(request, true));
        Response::page(metrics::MEDIA_TYPE, text.into_bytes())
    } else {
        let html = page::html(&everything(request, false), &names, shows);
        Response::page("text/html; charset=ISO-8859-1", html)
    };
    if let Some(seconds) = refresh(query) {
        response = response.field("Refresh", seconds.to_string());
    }
    Ok(response)
}

/// What httpd shows as well.
fn figures(request: &RequestContext<'_>) -> StatusFigures {
    let (mpm, board) = (&request.site().mpm, request.context.board());
    let processes_max = request.context.processes_max();
    let snapshot = Snapshot::take(board);
    StatusFigures::new(&snapshot, mpm.kind, processes_max, |seen| board.never_less(seen))
}

/// `has_series` says that counters of URLs have to last, because rates are made of them.
fn everything(request: &RequestContext<'_>, has_series: bool) -> Everything {
    let (board, cores) = (request.context.board(), runtime::process::cores());
    let workers_max = match board.sizing().workers {
        0 => request.context.processes_max().saturating_mul(board.rows_per_process()) as u64,
        in_force => u64::from(in_force),
    };
    let hosts = Hosts::new(&request.site().hosts);
    let host = |place| hosts.first(place);
    let accounts = match has_series {
        true => scoreboard::lasting_accounts(board, host),
        false => {
            let all = scoreboard::accounts(board, |view| Some(host(view.host)));
            everything::bounded(all, everything::ACCOUNTS_MAX)
        }
    };
    Everything::new(figures(request), accounts, hosts, workers_max, cores)
}

fn names<'a>(request: &'a RequestContext<'_>) -> ServerNames<'a> {
    ServerNames {
        server: request.server_name(),
        local: request.received().local,
        hosts: &request.site().hosts,
        signature: request.signature("<hr />\n"),
    }
}

/// Resolve hook.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let is_status = request.method().is_some_and(Method::is_get_or_head)
        && handler_name::effective(request)?.as_deref() == Some("server-status");
    Ok(is_status.then(|| Rc::new(StatusPage) as Rc<dyn Handler>))
}

/// The page.
struct StatusPage;

impl Handler for StatusPage {
    fn name(&self) -> &'static str {
        "server-status"
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::Now(respond(request).map_err(Stop::from))
    }
}

/// `?refresh=N`; without a number above 0 httpd takes 10 seconds. What follows the digits does not
/// matter, and too many of them are the highest number (atol).
fn refresh(query: &[u8]) -> Option<i64> {
    const WORD: &[u8] = b"refresh";
    let at = query.windows(WORD.len()).position(|part| part == WORD)?;
    let digits = query[at + WORD.len()..].strip_prefix(b"=").unwrap_or_default();
    let digits = digits.strip_prefix(b"+").unwrap_or(digits);
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0_i64, |number, digit| {
        number.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    Some(if number > 0 { number } else { 10 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_takes_ten_seconds_where_nothing_better_is_said() {
        let rows: [(&[u8], Option<i64>); 12] = [
            (b"", None),
            (b"auto", None),
            (b"refresh", Some(10)),
            (b"auto&refresh=3", Some(3)),
            (b"refresh=0", Some(10)),
            (b"refresh=x", Some(10)),
            (b"norefresh=4;x", Some(4)),
            (b"refresh=-3", Some(10)),
            (b"refresh=+3", Some(3)),
            (b"refresh=++3", Some(10)),
            (b"\xff&refresh=99999999999", Some(99_999_999_999)),
            (b"refresh=99999999999999999999", Some(i64::MAX)),
        ];
        for (query, seconds) in rows {
            assert_eq!(refresh(query), seconds, "{}", query.escape_ascii());
        }
    }
}
