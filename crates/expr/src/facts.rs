//! What an expression asks about the request and the server. The server answers; this crate has
//! no other way to learn anything.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

/// The longest text that an evaluation makes: the largest file of `file()` in base64 fits. httpd
/// has no such limit.
pub const TEXT_MAX_BYTES: usize = 16 * 1024 * 1024;

/// The largest file that `file()` may read (`MAX_FILE_SIZE` of httpd).
pub const FILE_MAX_BYTES: usize = 10 * 1024 * 1024;

/// The answers. All but [`Facts::variable`] have a default for what is not there.
///
/// `None` is an empty text for the expression. Names come as they were written: field names and
/// the names of notes and variables match in any case, as in httpd's tables.
pub trait Facts {
    /// The value of a `%{...}` variable.
    fn variable(&self, variable: ServerVariable) -> Option<Cow<'_, [u8]>>;

    /// A field of the request, several lines joined.
    fn request_field(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// A field of the response: the usual ones before those that errors have too.
    fn response_field(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// A variable of the request (SetEnv, `subprocess_env`).
    fn env(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// A note that a module left at the request.
    fn note(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// A variable of the process.
    fn os_env(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// `SSL_name`, the name without `SSL_` when it was a variable and as written in `SSL()`.
    fn ssl_variable(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// The values of an extension of the client's certificate.
    fn peer_extensions(&self, _oid: &[u8]) -> Vec<Cow<'_, [u8]>> {
        Vec::new()
    }

    /// A variable of the page that mod_include reads.
    fn page_variable(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// The content of a file of at most [`FILE_MAX_BYTES`].
    ///
    /// # Errors
    /// When there is no such file, it is too large, or it cannot be read.
    fn read_file(&self, _path: &[u8]) -> Result<Vec<u8>, FileError> {
        Err(FileError::Open)
    }

    /// What is at a path, of the link itself when links are not followed.
    fn file_status(&self, _path: &[u8], _follow_links: bool) -> Option<FileStatus> {
        None
    }

    /// `-U`: whether a subrequest for this URL has a status below 400. httpd says no inside a
    /// subrequest for the same URL.
    fn is_reachable_url(&self, _url: &[u8]) -> bool {
        false
    }

    /// `-F`: whether a subrequest for this file has a status below 300 and the file is there.
    fn is_reachable_file(&self, _path: &[u8]) -> bool {
        false
    }

    /// The client's address as modules may have changed it (`useragent_ip`).
    fn client_ip(&self) -> Option<IpAddr> {
        None
    }

    /// The address of a host name, for `-ipmatch` with a name on its left.
    fn resolve_host(&self, _name: &[u8]) -> Option<IpAddr> {
        None
    }

    /// The time of day where the server is.
    fn now(&self) -> TimeParts {
        TimeParts::default()
    }

    /// When the resource was last changed.
    fn last_modified(&self) -> TimeParts {
        TimeParts::default()
    }

    /// A condition had a value and looked at these fields of the request: `Vary` names them,
    /// joined by a comma, unless the directive does not want that (`AP_EXPR_FLAG_DONT_VARY`).
    /// Called once, at the end, and not without a name.
    fn vary(&self, _field_names: &[Cow<'_, [u8]>]) {}
}

/// The variables whose value is a text that the server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerVariable {
    /// `REQUEST_METHOD`.
    RequestMethod,
    /// `REQUEST_SCHEME`.
    RequestScheme,
    /// `REQUEST_URI`: the path, decoded, without the query.
    RequestUri,
    /// `REQUEST_FILENAME` and `SCRIPT_FILENAME`.
    RequestFilename,
    /// `REMOTE_HOST`: may have to be looked up.
    RemoteHost,
    /// `REMOTE_IDENT`.
    RemoteIdent,
    /// `REMOTE_USER`.
    RemoteUser,
    /// `SERVER_ADMIN`.
    ServerAdmin,
    /// `SERVER_NAME`, as UseCanonicalName says.
    ServerName,
    /// `SERVER_PORT`, as UseCanonicalName says.
    ServerPort,
    /// `SERVER_PROTOCOL`.
    ServerProtocol,
    /// `PATH_INFO`.
    PathInfo,
    /// `QUERY_STRING`.
    QueryString,
    /// `IS_SUBREQ`: `true` or `false`.
    IsSubreq,
    /// `DOCUMENT_ROOT`.
    DocumentRoot,
    /// `AUTH_TYPE`.
    AuthType,
    /// `THE_REQUEST`: the request line.
    TheRequest,
    /// `CONTENT_TYPE` of the response.
    ContentType,
    /// `HANDLER`.
    Handler,
    /// `REQUEST_LOG_ID`.
    RequestLogId,
    /// `SCRIPT_USER`: the name of the file's owner.
    ScriptUser,
    /// `SCRIPT_GROUP`: the name of the file's group.
    ScriptGroup,
    /// `DOCUMENT_URI`: the variable of that name, or the path.
    DocumentUri,
    /// `CONTEXT_PREFIX`.
    ContextPrefix,
    /// `CONTEXT_DOCUMENT_ROOT`.
    ContextDocumentRoot,
    /// `REQUEST_STATUS`.
    RequestStatus,
    /// `REMOTE_ADDR`, as mod_remoteip may have changed it.
    RemoteAddr,
    /// `REMOTE_PORT`.
    RemotePort,
    /// `HTTPS`: `on` or `off`.
    Https,
    /// `IPV6`: `on` or `off`.
    Ipv6,
    /// `CONN_LOG_ID`.
    ConnLogId,
    /// `CONN_REMOTE_ADDR`: the address of the connection.
    ConnRemoteAddr,
    /// `HTTP2`: `on` or `off`.
    Http2,
    /// `SERVER_SOFTWARE`, as ServerTokens says.
    ServerSoftware,
    /// `HC_BODY` and `hc(body)`: the body that a health check got.
    HealthCheckBody,
}

/// Why `file()` has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// It cannot be opened.
    Open,
    /// It is larger than [`FILE_MAX_BYTES`].
    TooLarge,
    /// It cannot be read.
    Read,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// What kind of file.
    pub kind: FileKind,
    /// Its length.
    pub size: u64,
    /// Whether its owner, its group or the others may execute it.
    pub is_executable: bool,
}

/// Kinds of files, as far as expressions tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link that was not followed.
    Link,
    /// Something else.
    Other,
}

/// A time in parts. The default is the beginning of 1970, which httpd takes for no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeParts {
    /// All digits of it.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 60.
    pub second: u8,
    /// 0 is Sunday.
    pub weekday: u8,
}

impl Default for TimeParts {
    fn default() -> Self {
        Self { year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0, weekday: 4 }
    }
}

/// A part of a time, as the `TIME` variables name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimePart {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Weekday,
    Whole,
}

impl TimeParts {
    pub(crate) fn text(&self, part: TimePart) -> String {
        match part {
            TimePart::Year => format!("{:04}", self.year),
            TimePart::Month => format!("{:02}", self.month),
            TimePart::Day => format!("{:02}", self.day),
            TimePart::Hour => format!("{:02}", self.hour),
            TimePart::Minute => format!("{:02}", self.minute),
            TimePart::Second => format!("{:02}", self.second),
            TimePart::Weekday => format!("{}", self.weekday),
            TimePart::Whole => format!(
                "{:04}{:02}{:02}{:02}{:02}{:02}",
                self.year, self.month, self.day, self.hour, self.minute, self.second
            ),
        }
    }
}
