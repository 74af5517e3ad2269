//! filter: which output filters a response passes, in which order, and what each does to it:
//! `SetOutputFilter`, `AddOutputFilter` and the smart filters of mod_filter. What each makes of the
//! content is in a file of its own.

pub mod brotli;
mod coding;
pub mod deflate;
pub(crate) mod input;
mod kind;
pub mod missing;
pub mod ratelimit;
pub mod smart;
pub mod substitute;

#[cfg(test)]
mod tests;

use crate::include;
use crate::recode::{self, Coder, CoderBudget, Permit};
use config::{Call, Error};
pub(crate) use kind::FilterKind;
use logging::level::Level;
use message::{Known, Status};
use server::accounting::TimeSpent;
use server::content_coding::{Coding, Uncertain, choose};
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::hook::{ContentFilter, Hook};
use server::module::{Hooks, Module};
use server::phase::condition;
use server::request_context::{Because, LookupPurpose, RequestContext};
use server::response::{Notes, Response};
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};
use server::table::Table;
use server::thread_state::ThreadKey;
use server::waiting::NowOrLater;
use smart::{Holds, Smart};
use std::rc::Rc;

/// What core does with filters: it has their directives, and answers first where one that was asked
/// for is missing.
pub static MODULE: Module = Module::new(
    "core_module",
    "core.c",
    &[],
    Hooks {
        fixup: Some(Hook::Now(prepare)),
        resolve: Some(Hook::Now(missing::resolve)),
        content: Some(ContentFilter { codings: codings_of, filter: pass }),
        input: Some(input::choose),
        ..Hooks::NONE
    },
)
.always();

/// The key of the coders of content at work on a thread.
static CODERS: ThreadKey<recode::CoderBudget> = ThreadKey::new();

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// The filters of a section.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `SetOutputFilter`: names between `;`.
    output: Option<String>,
    /// `SetInputFilter`.
    input: Option<String>,
    pub(crate) smart: smart::Settings,
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    /// `self` over `outer`.
    fn over(&self, outer: &Self) -> Self {
        Self {
            output: either(self.output.as_ref(), outer.output.as_ref()),
            input: either(self.input.as_ref(), outer.input.as_ref()),
            smart: self.smart.over(&outer.smart),
        }
    }
}

impl Settings {
    /// Whether no response passes a filter, but for those that belong to a file's extension.
    pub(crate) fn is_idle(&self) -> bool {
        self.output.is_none() && self.smart.is_idle()
    }
}

/// `SetOutputFilter`
pub fn set_output_filter(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    missing::warn(builder, call, call.arg(0));
    SETTINGS.change(builder.settings()).output = Some(call.arg(0).to_owned());
    Ok(())
}

/// `SetInputFilter`. What there is not must not go unnoticed: a handler would be given bytes that
/// it does not understand.
pub fn set_input_filter(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let names = call.arg(0).split(';').map(str::trim).filter(|name| !name.is_empty());
    for name in names.filter(|name| !input::is_known(name)) {
        let text = format!("SetInputFilter {name} has no effect: the only input filter is DEFLATE");
        call.warn(None, text);
    }
    SETTINGS.change(builder.settings()).input = Some(call.arg(0).to_owned());
    Ok(())
}

/// What filters ask about a request.
pub(crate) struct FilterFacts<'a> {
    /// The values of all `Accept-Encoding` fields, joined by commas.
    pub(crate) accept_encoding: Option<&'a [u8]>,
    /// Whether it is not the client's own (SSI and the like).
    pub(crate) is_subrequest: bool,
    /// Whether it is as the client sent it, not redirected within the server.
    pub(crate) is_initial: bool,
    /// The URL path, for messages.
    pub(crate) path: &'a [u8],
    /// The host that was asked for, if another server has answered; its name may be missing.
    pub(crate) proxied: &'a dyn Fn() -> Option<Option<Vec<u8>>>,
    /// Variables of the request's environment.
    pub(crate) env: &'a Table,
    pub(crate) holds: &'a Holds<'a>,
    /// The settings of the coders.
    pub(crate) deflate: &'a deflate::HostSettings,
    pub(crate) inflation: deflate::Inflation,
    pub(crate) brotli: &'a brotli::HostSettings,
    pub(crate) substitute: &'a substitute::Settings,
    /// The coders of this thread.
    pub(crate) coders: &'a CoderBudget,
    /// Where the sizes are noted for the access log.
    pub(crate) notes: &'a Notes,
    pub(crate) spent: &'a Rc<TimeSpent>,
    /// Takes level, module, httpd's message number and text.
    pub(crate) log: &'a dyn Fn(Level, &'static str, u32, &str),
}

/// A filter in its place.
enum Active<'a> {
    Named(FilterKind),
    Smart(&'a Smart),
}

impl Active<'_> {
    fn place(&self) -> u32 {
        match self {
            Self::Named(kind) => kind.place(),
            Self::Smart(smart) => smart.place,
        }
    }
}

/// Everything that the response passes, in order: what mod_mime adds, what core adds, what
/// mod_filter adds, sorted by place (`add_any_filter_handle` of util_filter.c).
fn line_up<'a>(
    settings: &'a Settings,
    by_extension: &[&str],
    has_module: &dyn Fn(&str) -> bool,
    is_parsed: bool,
    log: &dyn Fn(Level, &'static str, u32, &str),
) -> Vec<Active<'a>> {
    // What a handler or a file's mode asks for comes before what is set (include_fixup).
    let mut all = Vec::from_iter(is_parsed.then_some(Active::Named(FilterKind::Include)));
    let set = settings.output.as_deref().unwrap_or_default().split(';');
    for name in by_extension.iter().copied().chain(set).filter(|name| !name.is_empty()) {
        match FilterKind::loaded(name, has_module) {
            Some(kind) => all.push(Active::Named(kind)),
            None => {
                log(Level::Error, "core", 82, &format!("an unknown filter was not added: {name}"));
            }
        }
    }
    for (name, smart) in settings.smart.chain() {
        match smart {
            Some(smart) => all.push(Active::Smart(smart)),
            None => log(Level::Warn, "filter", 1380, &format!("Unknown filter {name} not added")),
        }
    }
    all.sort_by_key(Active::place);
    all
}

/// Fixup hook: see whether the response is a page with elements (include_fixup, includes_setup).
fn prepare(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let has_module = |symbol: &str| request.site().language.has_module(symbol);
    if !request.settings.core.parses_includes() || !has_module("include_module") {
        return Ok(());
    }
    let mime = request.metadata(request.file_name());
    let settings = SETTINGS.of(&request.settings);
    let names = settings.output.as_deref().unwrap_or_default().split(';').map(str::trim);
    let mut named = names.chain(mime.output_filters.iter().copied());
    let is_set = named.any(|name| FilterKind::find(name) == Some(FilterKind::Include))
        || settings.smart.may_become(FilterKind::Include);
    drop(mime);
    include::prepare(request, is_set)
}

/// Pass the response to a request through the filters of its place and of its file's extensions.
pub(crate) fn pass<'l>(
    request: &'l mut RequestContext<'_>,
    response: Response,
) -> NowOrLater<'l, Result<Response, Failure>> {
    if response.is_canned || !has_any(request) {
        return NowOrLater::Now(Ok(response));
    }
    NowOrLater::later(pass_all(request, response))
}

/// Whether a response here passes any filter.
fn has_any(request: &RequestContext<'_>) -> bool {
    let find = || {
        let mime = || request.metadata(request.file_name());
        !SETTINGS.of(&request.settings).is_idle()
            || !mime().output_filters.is_empty()
            || include::is_parsed(request)
    };
    request.cached_script.as_ref().map_or_else(find, |cached| cached.has_filters(find))
}

async fn pass_all(
    request: &mut RequestContext<'_>,
    mut response: Response,
) -> Result<Response, Failure> {
    let shared = request.settings.clone();
    let settings = SETTINGS.of(&shared);
    let mut chain = {
        let mime = request.metadata(request.file_name());
        let by_extension = mime.output_filters.as_slice();
        let has_module = |symbol: &str| request.site().language.has_module(symbol);
        if codings(settings, by_extension, &has_module, &response).is_err() {
            request.mark_personal();
        }
        let is_parsed = include::is_parsed(request);
        let log = |level, module, id, text: &str| {
            request.log_recurring(level, module, Some(id), text);
        };
        line_up(settings, by_extension, &has_module, is_parsed, &log).into_iter()
    };
    while !chain.as_slice().is_empty() {
        let (next, rest);
        (response, next, rest) = pass_until_page(request, chain, response).await?;
        chain = rest;
        if next {
            response = include::pass(request, response).await?;
        }
    }
    Ok(response)
}

/// Pass a response through the filters that are left, up to one that makes a page of it, if there
/// is one.
async fn pass_until_page<'s>(
    request: &RequestContext<'_>,
    mut chain: std::vec::IntoIter<Active<'s>>,
    mut response: Response,
) -> Result<(Response, bool, std::vec::IntoIter<Active<'s>>), Failure> {
    let accept_encoding = accept_encoding(request);
    let notes = response.notes.get_or_insert_default().clone();
    let facts = FilterFacts {
        accept_encoding: accept_encoding.as_deref(),
        is_subrequest: request.lineage.purpose == LookupPurpose::Sub,
        is_initial: request.lineage.purpose == LookupPurpose::Main,
        path: &request.path,
        proxied: &|| is_proxied(request).then(|| asked_host(request)),
        env: &request.tables.env,
        holds: &|condition, response| {
            condition::holds_here(condition, request, Some(response)).unwrap_or_else(|text| {
                let text = format!("Error evaluating filter dispatch condition: {text}");
                request.log_recurring(Level::Error, "filter", Some(1379), &text);
                false
            })
        },
        deflate: deflate::SERVER.of(&request.settings),
        inflation: *deflate::INFLATION.of(&request.settings),
        brotli: brotli::SETTINGS.of(&request.settings),
        substitute: substitute::SETTINGS.of(&request.settings),
        coders: &CODERS.of(&request.context.modules),
        notes: &notes,
        spent: request.spent(),
        log: &|level, module, id, text| request.log_recurring(level, module, Some(id), text),
    };
    while let Some(active) = chain.next() {
        if apply(&active, &facts, &mut response).await? == Some(FilterKind::Include) {
            return Ok((response, true, chain));
        }
    }
    Ok((response, false, chain))
}

/// Whether another server answers the request (`proxyreq` of httpd).
fn is_proxied(request: &RequestContext<'_>) -> bool {
    let is_named = || {
        let handler = handler_name::configured(request).ok().flatten();
        handler.is_some_and(|name| name.starts_with("proxy:"))
    };
    request.mapping.backend.is_some() || is_named()
}

fn asked_host(request: &RequestContext<'_>) -> Option<Vec<u8>> {
    request.received().host_name().map(<[u8]>::to_ascii_lowercase)
}

/// The codings of a response before it has passed its filters.
pub(crate) fn codings_of(
    request: &RequestContext<'_>,
    response: &Response,
) -> Result<Vec<Coding>, Uncertain> {
    if response.is_canned || !has_any(request) {
        return Ok(Vec::new());
    }
    let settings = SETTINGS.of(&request.settings);
    let mime = request.metadata(request.file_name());
    let by_extension = mime.output_filters.as_slice();
    let has_module = |symbol: &str| request.site().language.has_module(symbol);
    match include::is_parsed(request) {
        true => Err(Uncertain),
        false => codings(settings, by_extension, &has_module, response),
    }
}

/// The values of all `Accept-Encoding` fields, joined as httpd does when it reads them. Unmarked:
/// where they decide about the coding alone, each coding is kept for those who get it, and where
/// they decide about more, `codings` says so.
fn accept_encoding(request: &RequestContext<'_>) -> Option<Vec<u8>> {
    let view = request.unmarked(Because::InKey).received.view();
    let values: Vec<&[u8]> = view.get_all(Known::AcceptEncoding).collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]))
}

/// What one filter makes of a response, but for that of pages: that it is asked for is told.
async fn apply(
    active: &Active<'_>,
    facts: &FilterFacts<'_>,
    response: &mut Response,
) -> Result<Option<FilterKind>, Failure> {
    let kind = match active {
        Active::Named(kind) => Some(*kind),
        // filter_harness: other pages than the wanted one pass only if told to.
        Active::Smart(_) if response.status != Status::OK && !facts.env.has("filter-errordocs") => {
            None
        }
        Active::Smart(smart) => smart.choose(response, facts),
    };
    match kind {
        Some(FilterKind::Inflate) => inflate(facts, response).await,
        Some(FilterKind::Deflate) => deflate(facts, response).await,
        Some(FilterKind::Brotli) => brotli(facts, response).await,
        Some(FilterKind::Substitute) => substituted(facts, response).await?,
        Some(FilterKind::RateLimit) if facts.is_subrequest => {}
        Some(FilterKind::RateLimit) => response.rate = ratelimit::rate(facts.env, facts.log),
        Some(FilterKind::Include) | None => {}
    }
    Ok(kind)
}

/// Whether filters that change the coding leave this response alone.
fn is_untouchable(facts: &FilterFacts<'_>, response: &Response) -> bool {
    facts.is_subrequest
        || response.status == Status::NO_CONTENT
        || response.get("Content-Range").is_some()
}

/// deflate_out_filter of mod_deflate.c.
async fn deflate(facts: &FilterFacts<'_>, response: &mut Response) {
    let html = response.content_type.as_deref().is_some_and(|text| text.starts_with("text/html"));
    if is_untouchable(facts, response)
        || facts.env.has("no-gzip")
        || !html && facts.env.get("gzip-only-text/html") == Some(b"1")
        || coding::is_coded(response)
        || recode::is_shorter(&mut response.body, deflate::SMALL_BYTES).await
    {
        return;
    }
    // Said whether this client gets it packed or not: a cache has to know that others may.
    coding::vary(response);
    let is_forced = facts.env.has("force-gzip");
    if !is_forced && choose(&[Coding::Gzip], facts.accept_encoding).is_none() {
        return;
    }
    let Some(coder) = deflate::Gzip::new(facts.deflate) else {
        (facts.log)(Level::Error, "deflate", 1383, "unable to init Zlib: deflateInit2 returned -2");
        return;
    };
    // Without a permit the content goes as it is, which every client takes; before `describe`,
    // behind which it must be packed.
    let Some(permit) = facts.coders.take() else { return };
    coding::describe(response, Coding::Gzip, facts.deflate.alter_etag);
    replace_body(response, Box::new(coder), Some(permit), facts).await;
}

/// compress_filter of mod_brotli.c. Unlike DEFLATE it also changes the fields of a 304, and takes
/// the smallest content.
async fn brotli(facts: &FilterFacts<'_>, response: &mut Response) {
    if is_untouchable(facts, response) || facts.env.has("no-brotli") || coding::is_coded(response) {
        return;
    }
    coding::vary(response);
    if choose(&[Coding::Brotli], facts.accept_encoding).is_none() {
        return;
    }
    let server = facts.brotli;
    let Some(permit) = facts.coders.take() else { return };
    coding::describe(response, Coding::Brotli, server.alter_etag);
    if response.status != Status::NOT_MODIFIED {
        replace_body(response, Box::new(brotli::Brotli::new(server)), Some(permit), facts).await;
    }
}

/// inflate_out_filter of mod_deflate.c.
async fn inflate(facts: &FilterFacts<'_>, response: &mut Response) {
    if !facts.is_initial || is_untouchable(facts, response) || !coding::uncode_gzip(response) {
        return;
    }
    let server = facts.deflate;
    response.unset("Content-Length");
    response.unset("Content-MD5");
    coding::alter_etag(response, "gunzip", server.alter_etag);
    if response.status != Status::NOT_MODIFIED {
        let coder = deflate::Gunzip::new(server, facts.inflation);
        replace_body(response, Box::new(coder), None, facts).await;
    }
}

/// substitute_filter of mod_substitute.c. As there, what the fields say of the content stays, but
/// for its length.
async fn substituted(facts: &FilterFacts<'_>, response: &mut Response) -> Result<(), Failure> {
    let Some(lines) = facts.substitute.lines().filter(|_| response.body.len() != Some(0)) else {
        return Ok(());
    };
    let body = std::mem::take(&mut response.body);
    let made = recode::try_recode(body, Box::new(lines), None, facts.notes, facts.spent).await;
    response.body = made.map_err(|error| {
        let text = format!("{error}, URI {}", String::from_utf8_lossy(facts.path));
        Failure::new(Status::INTERNAL_SERVER_ERROR, "substitute", text).id(1328).at_error()
    })?;
    Ok(())
}

async fn replace_body(
    response: &mut Response,
    coder: Box<dyn Coder>,
    permit: Option<Permit>,
    facts: &FilterFacts<'_>,
) {
    let body = std::mem::take(&mut response.body);
    response.body = recode::recode(body, coder, permit, facts.notes, facts.spent).await;
}

/// The codings of which a 200 gets one, by `Accept-Encoding` alone: for responses that are kept
/// ready. With none it is sent as it is; with any it says `Vary` in each of its variants.
/// `Uncertain` means that the request decides, or that the content is changed in another way.
///
/// Has to come to the same as [`finish`] does with a 200: where the two differ, the fast path sends
/// other bytes than the slow one.
pub(crate) fn codings(
    settings: &Settings,
    by_extension: &[&str],
    has_module: &dyn Fn(&str) -> bool,
    whole: &Response,
) -> Result<Vec<Coding>, Uncertain> {
    let mut found = Vec::new();
    for active in line_up(settings, by_extension, has_module, false, &|_, _, _, _| {}) {
        let kind = match active {
            Active::Named(kind) => Some(kind),
            Active::Smart(smart) => smart.by_type(whole.content_type.as_deref())?,
        };
        let length = whole.body.len().ok_or(Uncertain)?;
        match kind {
            Some(FilterKind::Inflate) if coding::is_coded(whole) => return Err(Uncertain),
            Some(FilterKind::Inflate) | None => {}
            Some(FilterKind::Include | FilterKind::Substitute | FilterKind::RateLimit) => {
                return Err(Uncertain);
            }
            Some(_) if coding::is_coded(whole) => {}
            Some(FilterKind::Deflate) if length <= deflate::SMALL_BYTES => {}
            Some(FilterKind::Deflate) => found.push(Coding::Gzip),
            Some(FilterKind::Brotli) => found.push(Coding::Brotli),
        }
    }
    Ok(found)
}
