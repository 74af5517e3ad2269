//! Expressions of the configuration (ap_expr) as the server uses them: compiled once, evaluated
//! for a request. The language is the crate `expr`; what it asks about is answered here.

use crate::http_date::parse_http_date;
use crate::large_future::boxed;
use crate::phase;
use crate::question;
use crate::request_context::{LookupPurpose, Query, RequestContext};
use crate::response::Response;
use crate::site::names::will_be_looked_at;
use crate::waiting::NowOrLater;
pub use expr::Mode;
use expr::{
    Expr, Facts, FileError, FileKind, FileStatus, Matches, ServerVariable, StringExpr, TimeParts,
};
use logging::sink::local_time;
use message::{Method, Status};
use runtime::file::{self, FileType};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// What is known of an expression when it is compiled.
fn note(uses: expr::Uses) {
    if uses.client_name {
        will_be_looked_at();
    }
}

/// What is said of a condition that waits for something that nobody has heard of.
const HAS_WAITED: &str = "something had to be waited for";

/// A condition.
#[derive(Clone, Debug)]
pub struct Expression(Arc<Expr>);

impl Expression {
    /// Compile `text`.
    ///
    /// # Errors
    /// httpd's text.
    pub fn parse(text: &str, mode: Mode) -> Result<Self, String> {
        let parsed = Expr::parse(text, &mode).map_err(|error| error.to_string())?;
        note(parsed.uses());
        Ok(Self(Arc::new(parsed)))
    }

    /// Whether the expression looks at the user (`Require expr`).
    pub fn asks_for_user(&self) -> bool {
        self.0.uses().user
    }

    /// Whether evaluating the expression may have to wait: only for URLs that it looks up.
    pub fn may_wait(&self) -> bool {
        self.0.uses().subrequests
    }

    /// Whether the expression holds. Fields of the request that it looks at are named in `Vary`.
    pub fn holds<'l>(
        &'l self,
        request: &'l RequestContext<'_>,
        response: Option<&'l Response>,
    ) -> NowOrLater<'l, Result<bool, String>> {
        if self.may_wait() {
            return NowOrLater::later(async move {
                self.holds_with(request, response, &mut Matches::default()).await
            });
        }
        let looked_up = LookedUp::default();
        NowOrLater::Now(self.eval(request, response, &looked_up, &mut Matches::default()))
    }

    /// Whether the expression holds, for a caller that cannot wait: the thread itself does
    /// (`question::here`).
    pub fn holds_here(
        &self,
        request: &RequestContext<'_>,
        response: Option<&Response>,
    ) -> Result<bool, String> {
        let mut matches = Matches::default();
        let holds = self.holds_with(request, response, &mut matches);
        question::here(request, holds).unwrap_or_else(|| Err(HAS_WAITED.into()))
    }

    /// Whether the expression holds, for a caller that cannot wait; what `$1` and the like stand
    /// for stays in `matches`.
    pub fn holds_with_here(
        &self,
        request: &RequestContext<'_>,
        matches: &mut Matches,
    ) -> Result<bool, String> {
        let holds = self.holds_with(request, None, matches);
        question::here(request, holds).unwrap_or_else(|| Err(HAS_WAITED.into()))
    }

    /// Whether the expression holds; what `$1` and the like stand for stays in `matches`.
    ///
    /// An expression is evaluated in one go, and knows nothing of waiting. One that looks a URL up
    /// of which nobody knows yet where it leads is evaluated again when that is known: this has no
    /// effect that could be seen, and its URLs are looked up once each.
    pub async fn holds_with(
        &self,
        request: &RequestContext<'_>,
        response: Option<&Response>,
        matches: &mut Matches,
    ) -> Result<bool, String> {
        let mut looked_up = LookedUp::default();
        loop {
            let holds = self.eval(request, response, &looked_up, matches);
            let Some(url) = looked_up.wanted.take() else { return holds };
            if looked_up.found.len() >= LOOKED_UP_MAX {
                return Err(format!("it looks up more than {LOOKED_UP_MAX} URLs"));
            }
            let is_there = boxed(|| is_there(request, &url)).await;
            looked_up.found.push((url, is_there));
            *matches = Matches::default();
        }
    }

    /// Whether it holds, if all URLs that it looks up are known.
    fn eval(
        &self,
        request: &RequestContext<'_>,
        response: Option<&Response>,
        looked_up: &LookedUp,
        matches: &mut Matches,
    ) -> Result<bool, String> {
        if !self.0.is_constant() {
            request.mark_personal();
        }
        let asked = RequestFacts::new(request, response, looked_up);
        let holds = self.0.eval(&asked, matches);
        if !looked_up.is_wanting() {
            asked.keep_vary();
        }
        holds.map_err(|error| error.to_string())
    }
}

/// Whether a URL leads to something.
async fn is_there(request: &RequestContext<'_>, url: &[u8]) -> bool {
    phase::look_up(request, url, Query::None).await.is_ok_and(|found| {
        found.found.is_ok() || matches!(crate::handler::configured(&found), Ok(Some(_)))
    })
}

/// URLs that an expression may look up before it fails: a clock could have it look up another one
/// each time it is evaluated.
const LOOKED_UP_MAX: usize = 64;

/// The URLs that an expression looks up. They are known by themselves and not by their order: what
/// else the expression asks may be answered otherwise after a wait.
#[derive(Default)]
struct LookedUp {
    /// Whether each leads to something.
    found: Vec<(Vec<u8>, bool)>,
    /// The first of which that is not known.
    wanted: RefCell<Option<Vec<u8>>>,
}

impl LookedUp {
    /// Whether a URL leads to something; what comes of an answer that is not known does not count.
    fn leads(&self, url: &[u8]) -> bool {
        let found = self.found.iter().find(|row| row.0 == url).map(|row| row.1);
        if found.is_none() {
            self.wanted.borrow_mut().get_or_insert_with(|| url.to_vec());
        }
        found.unwrap_or(false)
    }

    fn is_wanting(&self) -> bool {
        self.wanted.borrow().is_some()
    }
}

/// A text with `%{...}` in it.
#[derive(Clone, Debug)]
pub struct ExpressionText(Arc<StringExpr>);

impl ExpressionText {
    /// Compile `text`.
    ///
    /// # Errors
    /// httpd's text.
    pub fn parse(text: &str, mode: Mode) -> Result<Self, String> {
        let parsed = StringExpr::parse(text, &mode).map_err(|error| error.to_string())?;
        note(parsed.uses());
        Ok(Self(Arc::new(parsed)))
    }

    /// The text, if it is the same for every request.
    pub fn constant(&self) -> Option<&[u8]> {
        self.0.as_constant()
    }

    /// The text for a request.
    pub fn value(
        &self,
        request: &RequestContext<'_>,
        response: Option<&Response>,
    ) -> Result<Vec<u8>, String> {
        self.eval(request, response, &mut Matches::default())
    }

    /// The text for a request, in which `$1` and the like stand for what a condition before it has
    /// found.
    pub fn value_with(
        &self,
        request: &RequestContext<'_>,
        matches: &mut Matches,
    ) -> Result<Vec<u8>, String> {
        self.eval(request, None, matches)
    }

    fn eval(
        &self,
        request: &RequestContext<'_>,
        response: Option<&Response>,
        matches: &mut Matches,
    ) -> Result<Vec<u8>, String> {
        if let Some(constant) = self.0.as_constant() {
            return Ok(constant.to_vec());
        }
        if !self.0.is_constant() {
            request.mark_personal();
        }
        // Texts look no URLs up, and name no fields for `Vary`.
        let looked_up = LookedUp::default();
        let asked = RequestFacts::new(request, response, &looked_up);
        let value = self.0.eval(&asked, matches);
        value.map(Cow::into_owned).map_err(|error| error.to_string())
    }
}

/// A request and what is known of its response, as an expression sees them.
struct RequestFacts<'e, 'a> {
    request: &'e RequestContext<'a>,
    response: Option<&'e Response>,
    looked_up: &'e LookedUp,
    /// Fields that were looked at, for `Vary`.
    vary: RefCell<Vec<String>>,
}

impl<'e, 'a> RequestFacts<'e, 'a> {
    fn new(
        request: &'e RequestContext<'a>,
        response: Option<&'e Response>,
        looked_up: &'e LookedUp,
    ) -> Self {
        Self { request, response, looked_up, vary: RefCell::default() }
    }

    /// The names that were looked at go to the request, from where they get into the response.
    fn keep_vary(&self) {
        let names = self.vary.take();
        if !names.is_empty() {
            self.request.output.vary.borrow_mut().extend(names);
        }
    }
}

fn text(value: impl Into<String>) -> Option<Cow<'static, [u8]>> {
    Some(Cow::Owned(value.into().into_bytes()))
}

fn on_off(on: bool) -> Option<Cow<'static, [u8]>> {
    Some(Cow::Borrowed(if on { b"on" } else { b"off" }))
}

impl Facts for RequestFacts<'_, '_> {
    fn variable(&self, variable: ServerVariable) -> Option<Cow<'_, [u8]>> {
        let RequestContext { host, settings, .. } = self.request;
        let (request, received) = (self.request, self.request.received());
        let view = received.view();
        match variable {
            ServerVariable::RequestMethod => Some(method(request)),
            ServerVariable::RequestScheme => Some(Cow::Borrowed(request.scheme().as_bytes())),
            ServerVariable::RequestUri => Some(Cow::Borrowed(&request.path)),
            ServerVariable::RequestFilename => Some(Cow::Owned(request.filename())),
            ServerVariable::RemoteHost => text(request.client_name()),
            ServerVariable::RemoteAddr => text(request.client().to_string()),
            ServerVariable::RemoteIdent
            | ServerVariable::RequestLogId
            | ServerVariable::ConnLogId => None,
            ServerVariable::RemoteUser => request.authentication.user.as_deref().map(Cow::Borrowed),
            ServerVariable::ServerAdmin => host.server_admin.clone().and_then(text),
            ServerVariable::ServerName => text(request.server_name()),
            ServerVariable::ServerPort => text(request.server_port().to_string()),
            ServerVariable::ServerProtocol => Some(Cow::Owned(view.protocol().to_vec())),
            ServerVariable::PathInfo => Some(Cow::Borrowed(&request.mapping.path_info)),
            ServerVariable::QueryString => request.query().map(Cow::Borrowed),
            ServerVariable::IsSubreq => {
                text((request.lineage.purpose == LookupPurpose::Sub).to_string())
            }
            ServerVariable::DocumentRoot => Some(Cow::Owned(document_root(request))),
            ServerVariable::ContextDocumentRoot => {
                let root = request.mapping.context_info.context_root.clone();
                Some(Cow::Owned(root.unwrap_or_else(|| document_root(request))))
            }
            ServerVariable::ContextPrefix => {
                Some(Cow::Borrowed(&request.mapping.context_info.prefix))
            }
            ServerVariable::AuthType => request.authentication.auth_type.and_then(text),
            ServerVariable::TheRequest => Some(Cow::Owned(view.request_line().to_vec())),
            ServerVariable::ContentType => match self.response {
                Some(response) => response.content_type.clone().and_then(text),
                None => request.negotiated.content_type.clone().and_then(text),
            },
            ServerVariable::Handler => {
                let name = crate::handler::configured(request).ok().flatten();
                name.and_then(|name| text(name.into_owned()))
            }
            ServerVariable::ScriptUser | ServerVariable::ScriptGroup => owner(request, variable),
            ServerVariable::DocumentUri => {
                request.tables.env.get("DOCUMENT_URI").or(Some(&request.path)).map(Cow::Borrowed)
            }
            ServerVariable::RequestStatus => {
                let status = self.response.map_or(Status::OK, |response| response.status);
                text(status.code().to_string())
            }
            ServerVariable::RemotePort => text(received.other_end().port().to_string()),
            ServerVariable::Https | ServerVariable::Http2 => on_off(false),
            ServerVariable::Ipv6 => on_off(received.other_end().ip().to_canonical().is_ipv6()),
            ServerVariable::ConnRemoteAddr => {
                text(received.other_end().ip().to_canonical().to_string())
            }
            ServerVariable::ServerSoftware => {
                let _ = settings;
                text(crate::identity::banner(request.site().tokens))
            }
            ServerVariable::HealthCheckBody => None,
        }
    }

    fn request_field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let lines: Vec<&[u8]> = {
            let view = self.request.received().view();
            let wanted = |field: &(&[u8], &[u8])| field.0.eq_ignore_ascii_case(name);
            view.fields().filter(wanted).map(|field| field.1).collect()
        };
        match lines.as_slice() {
            [] => None,
            lines => Some(Cow::Owned(lines.join(&b", "[..]))),
        }
    }

    fn response_field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let name = std::str::from_utf8(name).ok()?;
        let is_it = |field: &&message::Field| field.0.eq_ignore_ascii_case(name);
        let usual = self.response.and_then(|response| response.fields.iter().find(is_it));
        let field = usual.or_else(|| self.request.output.always.iter().find(is_it))?;
        Some(Cow::Borrowed(&field.1))
    }

    fn env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.request.tables.env.get(std::str::from_utf8(name).ok()?).map(Cow::Borrowed)
    }

    fn note(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.request.tables.notes.get(std::str::from_utf8(name).ok()?).map(Cow::Borrowed)
    }

    fn os_env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let name = std::str::from_utf8(name).ok().filter(|name| !name.contains(['=', '\0']))?;
        let value = std::env::var_os(name).filter(|_| !name.is_empty())?;
        Some(Cow::Owned(value.as_bytes().to_vec()))
    }

    fn read_file(&self, path: &[u8]) -> Result<Vec<u8>, FileError> {
        let file = file::open_beneath(
            file::CURRENT_FOLDER,
            path,
            file::Links::Follow,
            file::OpenPurpose::Read,
        );
        let opened = std::fs::File::from(file.map_err(|_| FileError::Open)?);
        if !opened.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(FileError::Open);
        }
        let mut content = Vec::new();
        let limit = expr::facts::FILE_MAX_BYTES;
        let read = opened.take(limit as u64 + 1).read_to_end(&mut content);
        read.map_err(|_| FileError::Read)?;
        if content.len() > limit { Err(FileError::TooLarge) } else { Ok(content) }
    }

    fn file_status(&self, path: &[u8], follow_links: bool) -> Option<FileStatus> {
        let (kind, size, is_executable) = file::facts(path, follow_links).ok()?;
        let kind = match kind {
            FileType::File => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Link => FileKind::Link,
            FileType::Other => FileKind::Other,
        };
        Some(FileStatus { kind, size, is_executable })
    }

    fn is_reachable_url(&self, url: &[u8]) -> bool {
        let is_own = self.request.lineage.purpose == LookupPurpose::Sub && self.request.path == url;
        !is_own && self.looked_up.leads(url)
    }

    fn is_reachable_file(&self, path: &[u8]) -> bool {
        let found = file::status_at(file::CURRENT_FOLDER, path);
        found.is_ok_and(|status| matches!(status.kind, FileType::File | FileType::Directory))
    }

    fn client_ip(&self) -> Option<IpAddr> {
        Some(self.request.client())
    }

    fn now(&self) -> TimeParts {
        time(runtime::clock::unix_s())
    }

    fn last_modified(&self) -> TimeParts {
        let response = self.response.and_then(|response| response.get("Last-Modified"));
        let modified_s = response.and_then(parse_http_date);
        time(modified_s.unwrap_or_else(runtime::clock::unix_s))
    }

    fn vary(&self, field_names: &[Cow<'_, [u8]>]) {
        let names = field_names.iter().map(|name| String::from_utf8_lossy(name).into_owned());
        self.vary.borrow_mut().extend(names);
    }
}

/// What an error document or a look-up asks for is a GET, whatever the client has sent.
pub(crate) fn method(request: &RequestContext<'_>) -> Cow<'static, [u8]> {
    match (request.lineage.purpose, request.exact_method()) {
        (LookupPurpose::Sub, Some(Method::Head)) => Cow::Borrowed(b"GET"),
        (LookupPurpose::Sub | LookupPurpose::Redirected, Some(method)) => {
            Cow::Borrowed(method.as_str().as_bytes())
        }
        _ => Cow::Owned(request.received().view().method().to_vec()),
    }
}

/// The document root of a request (core.c, ap_document_root).
pub(crate) fn document_root(request: &RequestContext<'_>) -> Vec<u8> {
    let own = request.mapping.context_info.document_root.clone();
    own.unwrap_or_else(|| request.host.root.path_bytes().to_vec())
}

/// The name of the user that owns the file; groups have none here.
fn owner(request: &RequestContext<'_>, variable: ServerVariable) -> Option<Cow<'static, [u8]>> {
    // A handler may have taken the file, or had no need to open it.
    let status =
        request.found.as_ref().map(|entry| entry.status).ok().or(request.mapping.status)?;
    match variable {
        ServerVariable::ScriptUser => text(runtime::process::user_by_id(status.uid)?.name),
        _ => None,
    }
}

fn time(unix_s: i64) -> TimeParts {
    let time = local_time(unix_s);
    TimeParts {
        year: u16::try_from(time.year).unwrap_or_default(),
        month: time.month,
        day: time.day,
        hour: time.hour,
        minute: time.min,
        second: time.sec,
        weekday: time.weekday,
    }
}
