//! include: pages with elements such as `<!--#include virtual="/menu.html" -->` (mod_include). Here
//! are the directives, and which responses are such pages; `parse.rs` finds the elements, `page.rs`
//! goes from one to the next, and what each does is in `elements.rs` and `parts.rs`. In which place
//! of the chain the filter INCLUDES stands is decided in `filter/mod.rs`.

mod elements;
mod encode;
mod legacy;
mod output;
mod page;
mod parse;
mod parts;
mod state;
mod variables;

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use logging::level::Level;
use message::Status;
use page::Page;
use server::description;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::http_date::http_date;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::request_state::RequestKey;
use server::response::Response;
use server::site::builder::Builder;
use server::site::settings::{DirectoryKey, HostKey};
use server::site::store::{Merge, either};

/// The module and its table.
pub static MODULE: Module = Module::new("include_module", "mod_include.c", DIRECTIVES, Hooks::NONE);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("XBitHack", Args::One, Scope::OR_OPTIONS, "Off", "Off, On, or Full", x_bit_hack),
    row("SSIErrorMsg", Args::One, Scope::OR_ALL, "\"[an error occurred while processing this directive]\"", "a string", error_message),
    row("SSITimeFormat", Args::One, Scope::OR_ALL, "\"%A, %d-%b-%Y %H:%M:%S %Z\"", "a strftime(3) formatted string", time_format),
    row("SSIStartTag", Args::One, Scope::RSRC_CONF, "\"<!--#\"", "SSI Start String Tag", start_tag),
    row("SSIEndTag", Args::One, Scope::RSRC_CONF, "\"-->\"", "SSI End String Tag", end_tag),
    row("SSIUndefinedEcho", Args::One, Scope::OR_ALL, "\"(none)\"", "String to be displayed if an echoed variable is undefined", undefined_echo),
    row("SSILegacyExprParser", Args::Flag, Scope::OR_LIMIT, "Off", "Whether to use the legacy expression parser compatible with <= 2.2.x. Limited to 'on' or 'off'", legacy_parser),
    row("SSILastModified", Args::Flag, Scope::OR_LIMIT, "Off", "Whether to set the last modified header or respect an existing header. Limited to 'on' or 'off'", last_modified),
    row("SSIEtag", Args::Flag, Scope::OR_LIMIT, "Off", "Whether to allow the generation of ETags within the server. Existing ETags will be preserved. Limited to 'on' or 'off'", etag),
];

/// The handler of pages whose name says nothing.
pub const SERVER_PARSED: &str = "server-parsed";

/// The bits of a file's mode that `XBitHack` looks at: who owns it may execute it, and its group.
const OWNER_EXECUTES: u32 = 0o100;
const GROUP_EXECUTES: u32 = 0o010;

/// The key of the per-directory settings.
static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
struct Settings {
    x_bit_hack: Option<XBitHack>,
    error_message: Option<String>,
    time_format: Option<String>,
    undefined_echo: Option<String>,
    is_legacy: Option<bool>,
    keeps_last_modified: Option<bool>,
    keeps_etag: Option<bool>,
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    fn over(&self, outer: &Self) -> Self {
        let text =
            |inner: &Option<String>, outer: &Option<String>| either(inner.as_ref(), outer.as_ref());
        Self {
            x_bit_hack: self.x_bit_hack.or(outer.x_bit_hack),
            error_message: text(&self.error_message, &outer.error_message),
            time_format: text(&self.time_format, &outer.time_format),
            undefined_echo: text(&self.undefined_echo, &outer.undefined_echo),
            is_legacy: self.is_legacy.or(outer.is_legacy),
            keeps_last_modified: self.keeps_last_modified.or(outer.keeps_last_modified),
            keeps_etag: self.keeps_etag.or(outer.keeps_etag),
        }
    }
}

/// `XBitHack`: whether HTML files that may be executed are such pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XBitHack {
    Off,
    On,
    /// And one that its group may execute tells when it was changed.
    Full,
}

/// The key of the settings of a host.
static TAGS: HostKey<Tags> = HostKey::new();

/// Between what elements stand. As in httpd a host that sets one has the default of the other.
#[derive(Clone, Debug)]
struct Tags {
    start: String,
    end: String,
}

impl Merge for Tags {}

impl Default for Tags {
    fn default() -> Self {
        Self { start: "<!--#".into(), end: "-->".into() }
    }
}

fn settings(builder: &mut Builder) -> &mut Settings {
    SETTINGS.change(builder.settings())
}

fn x_bit_hack(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let hack = match call.arg(0).to_ascii_lowercase().as_str() {
        "off" => XBitHack::Off,
        "on" => XBitHack::On,
        "full" => XBitHack::Full,
        _ => return Err(Error::argument(0, "XBitHack must be set to Off, On, or Full")),
    };
    settings(builder).x_bit_hack = Some(hack);
    Ok(())
}

fn error_message(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).error_message = Some(call.arg(0).to_owned());
    Ok(())
}

fn time_format(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).time_format = Some(call.arg(0).to_owned());
    Ok(())
}

fn undefined_echo(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).undefined_echo = Some(call.arg(0).to_owned());
    Ok(())
}

fn legacy_parser(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).is_legacy = Some(call.on());
    Ok(())
}

fn last_modified(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).keeps_last_modified = Some(call.on());
    Ok(())
}

fn etag(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).keeps_etag = Some(call.on());
    Ok(())
}

fn start_tag(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    TAGS.change(&mut builder.host().modules).start = tag(call, "SSIStartTag")?;
    Ok(())
}

fn end_tag(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    TAGS.change(&mut builder.host().modules).end = tag(call, "SSIEndTag")?;
    Ok(())
}

/// A tag. httpd takes an empty one, and then finds elements without end.
fn tag(call: &Call<'_>, name: &str) -> Result<String, Error> {
    let tag = call.arg(0);
    if tag.bytes().any(parse::is_space) {
        return Err(Error::argument(0, format!("{name} may not contain any whitespaces")));
    }
    match tag {
        "" => Err(Error::argument(0, format!("{name} may not be empty"))),
        tag => Ok(tag.to_owned()),
    }
}

/// The key of a request whose page is parsed whatever filters are set.
static PARSED: RequestKey<()> = RequestKey::new();

/// Whether a response is a page because of its handler or of its file's mode.
pub fn is_parsed(request: &RequestContext<'_>) -> bool {
    PARSED.of(&request.state).is_some()
}

/// Before anything answers (include_fixup, includes_setup): find out whether the response is a page
/// although no filter was set, and say that no copy of its file at the client is good. `is_set`
/// says whether a filter was set.
pub(crate) fn prepare(request: &mut RequestContext<'_>, is_set: bool) -> Result<(), Stop> {
    let is_hack = is_x_bit_page(request);
    let is_handled = handler_name::configured(request)?.is_some_and(|name| name == SERVER_PARSED);
    if is_handled && description::content_type(request).is_none() {
        request.negotiated.content_type = Some("text/html".to_owned());
    }
    if is_handled || is_hack {
        PARSED.set(&mut request.state, Some(()));
    }
    if is_set || is_handled || is_hack {
        request.mark_personal();
        request.is_made_anew = !tells_change(request);
    }
    Ok(())
}

fn is_x_bit_page(request: &RequestContext<'_>) -> bool {
    let hack = SETTINGS.of(&request.settings).x_bit_hack.unwrap_or(XBitHack::Off);
    hack != XBitHack::Off
        && request.mapping.status.is_some_and(|status| status.mode & OWNER_EXECUTES != 0)
        && description::content_type(request).is_some_and(|text| text.starts_with("text/html"))
}

/// Whether `XBitHack Full` has a page tell when its file was changed.
fn tells_change(request: &RequestContext<'_>) -> bool {
    SETTINGS.of(&request.settings).x_bit_hack == Some(XBitHack::Full)
        && request.mapping.status.is_some_and(|status| status.mode & GROUP_EXECUTES != 0)
}

/// A response, its elements replaced (includes_filter).
pub(crate) async fn pass(
    request: &mut RequestContext<'_>,
    mut response: Response,
) -> Result<Response, Failure> {
    if SETTINGS.of(&request.settings).keeps_etag != Some(true) {
        response.unset("ETag");
    }
    if !request.settings.core.parses_includes() {
        let path = String::from_utf8_lossy(&request.path);
        let text = format!(
            "mod_include: Options +Includes (or IncludesNoExec) wasn't set, INCLUDES filter \
             removed: {path}"
        );
        request.log(Level::Warn, "include", Some(1374), &text);
        return Ok(response);
    }
    request.mark_personal();
    describe(request, &mut response);
    if response.status != Status::NOT_MODIFIED {
        let body = std::mem::take(&mut response.body);
        response.body = Page::of(request).made_of(body).await?;
    }
    Ok(response)
}

/// What is said of the file is not so of the page.
fn describe(request: &RequestContext<'_>, response: &mut Response) {
    let settings = SETTINGS.of(&request.settings);
    response.unset("Content-Length");
    response.unset("Content-MD5");
    let modified_s = request.mapping.status.map(|status| status.modified_us() / 1_000_000);
    if settings.keeps_last_modified == Some(true) {
        if let Some(modified_s) = modified_s.filter(|_| response.get("Last-Modified").is_none()) {
            response.set("Last-Modified", http_date(modified_s));
        }
    } else if tells_change(request) {
        modified_s.inspect(|modified_s| response.set("Last-Modified", http_date(*modified_s)));
    } else {
        response.unset("Last-Modified");
    }
}
