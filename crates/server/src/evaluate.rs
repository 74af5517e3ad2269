//! What expressions of the configuration come to for a request. The language is the crate `expr`;
//! what it asks about is answered here, but for URLs that it looks up (`phase/condition.rs`).

pub mod handler_name;

use crate::http_date::parse_http_date;
use crate::request_context::{LookupPurpose, RequestContext};
use crate::response::Response;
use crate::site::expression::{Expression, ExpressionText};
use expr::{Facts, FileError, FileKind, FileStatus, Matches, ServerVariable, TimeParts};
use logging::sink::local_time;
use message::Status;
use runtime::file::{self, Errno, FileAttributes, FileType};
use runtime::process;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;

/// Whether it holds, if all URLs that it looks up are known.
pub(crate) fn eval(
    expression: &Expression,
    request: &RequestContext<'_>,
    response: Option<&Response>,
    looked_up: &LookedUp,
    matches: &mut Matches,
) -> Result<bool, String> {
    if !expression.0.is_constant() {
        request.mark_personal();
    }
    let asked = RequestFacts::new(request, response, looked_up);
    let holds = expression.0.eval(&asked, matches);
    if !looked_up.is_wanting() {
        asked.keep_vary();
    }
    holds.map_err(|error| error.to_string())
}

/// The URLs that an expression looks up. They are known by themselves and not by their order: what
/// else the expression asks may be answered otherwise after a wait.
#[derive(Default)]
pub(crate) struct LookedUp {
    /// Whether each leads to something.
    pub(crate) found: Vec<(Vec<u8>, bool)>,
    /// The first of which that is not known.
    pub(crate) wanted: RefCell<Option<Vec<u8>>>,
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

/// The text for a request.
pub fn text(
    text: &ExpressionText,
    request: &RequestContext<'_>,
    response: Option<&Response>,
) -> Result<Vec<u8>, String> {
    eval_text(text, request, response, &mut Matches::default())
}

/// The text for a request, in which `$1` and the like stand for what a condition before it has
/// found.
pub fn text_with(
    text: &ExpressionText,
    request: &RequestContext<'_>,
    matches: &mut Matches,
) -> Result<Vec<u8>, String> {
    eval_text(text, request, None, matches)
}

fn eval_text(
    text: &ExpressionText,
    request: &RequestContext<'_>,
    response: Option<&Response>,
    matches: &mut Matches,
) -> Result<Vec<u8>, String> {
    if let Some(constant) = text.0.as_constant() {
        return Ok(constant.to_vec());
    }
    if !text.0.is_constant() {
        request.mark_personal();
    }
    // Texts look no URLs up, and name no fields for `Vary`.
    let looked_up = LookedUp::default();
    let asked = RequestFacts::new(request, response, &looked_up);
    let value = text.0.eval(&asked, matches);
    value.map(Cow::into_owned).map_err(|error| error.to_string())
}

/// What a variable is for a request of which there is no response yet.
pub fn variable(request: &RequestContext<'_>, variable: ServerVariable) -> Option<Vec<u8>> {
    let looked_up = LookedUp::default();
    RequestFacts::new(request, None, &looked_up).variable(variable).map(Cow::into_owned)
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

fn owned(value: impl Into<String>) -> Option<Cow<'static, [u8]>> {
    Some(Cow::Owned(value.into().into_bytes()))
}

fn on_off(on: bool) -> Option<Cow<'static, [u8]>> {
    Some(Cow::Borrowed(if on { b"on" } else { b"off" }))
}

impl Facts for RequestFacts<'_, '_> {
    fn variable(&self, variable: ServerVariable) -> Option<Cow<'_, [u8]>> {
        let request = self.request;
        match variable {
            ServerVariable::RequestMethod => Some(request.method_name()),
            ServerVariable::RequestScheme => Some(Cow::Borrowed(request.scheme().as_bytes())),
            ServerVariable::RequestUri => Some(Cow::Borrowed(&request.path)),
            ServerVariable::RequestFilename => Some(Cow::Owned(request.filename())),
            ServerVariable::RemoteHost => owned(request.client_name()),
            ServerVariable::RemoteAddr => owned(request.client().to_string()),
            ServerVariable::RemoteIdent
            | ServerVariable::RequestLogId
            | ServerVariable::ConnLogId => None,
            ServerVariable::RemoteUser => request.authentication.user.as_deref().map(Cow::Borrowed),
            ServerVariable::ServerAdmin => {
                owned(request.host.server_admin.as_deref().unwrap_or("[no address given]"))
            }
            ServerVariable::ServerName => owned(request.server_name()),
            ServerVariable::ServerPort => owned(request.server_port().to_string()),
            ServerVariable::ServerProtocol => {
                Some(Cow::Owned(request.received().view().protocol().to_vec()))
            }
            ServerVariable::PathInfo => Some(Cow::Borrowed(&request.mapping.path_info)),
            ServerVariable::QueryString => request.query().map(Cow::Borrowed),
            ServerVariable::IsSubreq => {
                owned((request.lineage.purpose == LookupPurpose::Sub).to_string())
            }
            ServerVariable::DocumentRoot => Some(Cow::Owned(request.document_root())),
            ServerVariable::ContextDocumentRoot => {
                let root = request.mapping.context_info.context_root.clone();
                Some(Cow::Owned(root.unwrap_or_else(|| request.document_root())))
            }
            ServerVariable::ContextPrefix => {
                Some(Cow::Borrowed(&request.mapping.context_info.prefix))
            }
            ServerVariable::AuthType => request.authentication.auth_type.and_then(owned),
            ServerVariable::TheRequest => {
                Some(Cow::Owned(request.received().view().request_line().to_vec()))
            }
            ServerVariable::ContentType => match self.response {
                Some(response) => response.content_type.clone().and_then(owned),
                None => request.negotiated.content_type.clone().and_then(owned),
            },
            ServerVariable::Handler => {
                let name = handler_name::configured(request).ok().flatten();
                name.and_then(|name| owned(name.into_owned()))
            }
            ServerVariable::ScriptUser | ServerVariable::ScriptGroup => owner(request, variable),
            ServerVariable::DocumentUri => {
                request.tables.env.get("DOCUMENT_URI").or(Some(&request.path)).map(Cow::Borrowed)
            }
            ServerVariable::RequestStatus => {
                let status = self.response.map_or(Status::OK, |response| response.status);
                owned(status.code().to_string())
            }
            ServerVariable::RemotePort => owned(request.received().other_end().port().to_string()),
            ServerVariable::Https | ServerVariable::Http2 => on_off(false),
            ServerVariable::Ipv6 => {
                on_off(request.received().other_end().ip().to_canonical().is_ipv6())
            }
            ServerVariable::ConnRemoteAddr => {
                owned(request.received().other_end().ip().to_canonical().to_string())
            }
            ServerVariable::ServerSoftware => owned(crate::identity::banner(request.site().tokens)),
            ServerVariable::HealthCheckBody => None,
        }
    }

    fn request_field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let name = std::str::from_utf8(name).ok()?;
        self.request.joined_field(name).map(Cow::Owned)
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

    /// Those of a page are the request's: who reads the page sets them there.
    fn page_variable(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.env(name)
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

/// The name of the file's owner, or of its group.
fn owner(request: &RequestContext<'_>, variable: ServerVariable) -> Option<Cow<'static, [u8]>> {
    // A handler may have taken the file, or had no need to open it.
    let status = match &request.found {
        Ok(entry) => entry.status,
        Err(_) if request.mapping.status.is_some() => request.mapping.status?,
        Err(Errno::NOENT | Errno::NOTDIR) => last_folder(request)?,
        Err(_) => return None,
    };
    match variable {
        ServerVariable::ScriptGroup => owned(process::group_by_id(status.gid)?),
        _ => owned(process::user_by_id(status.uid)?.name),
    }
}

/// Of a file that is not there httpd knows what the walk to it has seen last (ap_directory_walk of
/// request.c): the folder that it would be in, or one above.
fn last_folder(request: &RequestContext<'_>) -> Option<FileAttributes> {
    if request.mapping.place.below.is_empty() {
        return None; // No file was looked for yet.
    }
    let path = request.mapping.place.path();
    let mut rest = path.as_slice();
    while let Some(end) = rest.iter().rposition(|byte| *byte == b'/').filter(|end| *end > 0) {
        rest = &rest[..end];
        if let Ok(status) = request.look_at(rest) {
            return Some(status);
        }
    }
    None
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
