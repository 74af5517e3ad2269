//! Why a request gets an error response: the status, and what the error log says about it. A
//! redirect of the client is one, too: it has a page, and `ErrorDocument` may replace that.

use logging::level::Level;
use message::escape::html_escape;
use message::{Field, Status};
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

/// An error response in the making. Boxed, because nearly every function of the pipeline may
/// return one and hardly any request does.
#[derive(Debug)]
pub struct Failure(Box<Details>);

/// What there is to say about it.
#[derive(Debug)]
pub struct Details {
    /// The status of the response.
    pub status: Status,
    /// Code and reason in the words of a script.
    pub status_line: Option<Vec<u8>>,
    /// Module that speaks, for LogLevel.
    pub module: &'static str,
    pub(crate) level: Level,
    /// httpd's number of the condition.
    pub id: Option<u32>,
    /// Number of the system call's error behind it.
    pub(crate) os_error: Option<i32>,
    /// What the error log says; empty for nothing.
    pub text: String,
    /// What the failure is about, where that is the configuration or the machine and no single
    /// request: then those like it are counted (`logging::recurring`).
    pub(crate) recurs: Option<Cow<'static, str>>,
    /// Seconds of `Retry-After`.
    pub(crate) retry_after_s: Option<u32>,
    /// Fields that the response must have, such as `Location` or `WWW-Authenticate`.
    pub(crate) fields: Vec<Field>,
    /// A field of this response and of all that come in its place (`err_headers_out`).
    pub(crate) always: Option<Field>,
    /// What httpd's page adds to its text; HTML.
    pub(crate) remark: &'static str,
    /// A list for httpd's page of a 300 or 406, HTML (the note `variant-list`).
    pub(crate) variants: Vec<u8>,
    /// What error documents are told as ERROR_NOTES beside the remark; HTML.
    pub(crate) notes: Vec<u8>,
}

impl Deref for Failure {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.0
    }
}

impl Failure {
    /// A failure that is the client's doing or nobody's: logged at `info`.
    pub fn new(status: Status, module: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self(Box::new(Details {
            status,
            status_line: None,
            module,
            level: Level::Info,
            id: None,
            os_error: None,
            text,
            recurs: None,
            retry_after_s: None,
            fields: Vec::new(),
            always: None,
            remark: "",
            variants: Vec::new(),
            notes: Vec::new(),
        }))
    }

    /// A message for the log, of no request's failure.
    pub fn at(level: Level, module: &'static str, id: Option<u32>, text: &str) -> Self {
        let mut message = Self::new(Status::OK, module, text);
        (message.level, message.id) = (level, id);
        message
    }

    /// A redirect of the client; nothing is logged.
    pub fn redirect(status: Status, location: impl Into<Vec<u8>>) -> Self {
        Self::new(status, "core", "").field("Location", location)
    }

    /// A request goes in circles within the server (ap_is_recursion_limit_exceeded of core.c).
    pub(crate) fn too_many_redirects(limit: u32) -> Self {
        let text = format!(
            "Request exceeded the limit of {limit} internal redirects due to probable \
             configuration error. Use 'LimitInternalRecursion' to increase the limit if \
             necessary. Use 'LogLevel debug' to get a backtrace."
        );
        let failure = Self::new(Status::INTERNAL_SERVER_ERROR, "core", text.clone());
        failure.id(124).at_error().recurring(text)
    }

    /// A field of the response that is not one line; `None` for one that is (check_headers of
    /// http_filters.c).
    pub fn of_field(name: &str, value: &[u8]) -> Option<Self> {
        let is_bad = |byte: &u8| *byte < b' ' && *byte != b'\t' || *byte == 0x7f;
        if !value.iter().any(is_bad) {
            return None;
        }
        let value = String::from_utf8_lossy(value);
        let text = format!(
            "Response header '{name}' value of '{value}' contains invalid characters, aborting \
             request"
        );
        Some(Self::new(Status::INTERNAL_SERVER_ERROR, "http", text).id(2430).at_error())
    }

    /// With httpd's number.
    pub fn id(mut self, id: u32) -> Self {
        self.id = Some(id);
        self
    }

    /// The system has refused something with this number.
    pub fn os_error(mut self, number: i32) -> Self {
        self.os_error = Some(number);
        self
    }

    /// The failure, marked as one that would come with every request about `subject`: of many alike
    /// within a short time one is logged, and the others are counted.
    pub fn recurring(mut self, subject: impl Into<Cow<'static, str>>) -> Self {
        self.recurs = Some(subject.into());
        self
    }

    /// The administrator should see it.
    pub fn at_error(self) -> Self {
        self.level(Level::Error)
    }

    /// At this level.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// The client may try again after this long.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// With a field of the response.
    pub fn field(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// With a list of variants to choose from.
    pub fn variants(mut self, html: Vec<u8>) -> Self {
        self.variants = html;
        self
    }

    /// With a text for error documents (APLOG_TOCLIENT of httpd).
    pub(crate) fn notes(mut self, text: &[u8]) -> Self {
        html_escape(text, &mut self.notes);
        self
    }

    /// With something that httpd's page adds to its text.
    pub(crate) fn remark(mut self, html: &'static str) -> Self {
        self.remark = html;
        self
    }

    /// With a field of this response and of all that come in its place.
    pub fn always(mut self, name: &'static str, value: Vec<u8>) -> Self {
        self.always = Some((name.into(), value));
        self
    }

    /// Where a redirect leads.
    pub fn location(&self) -> Option<&[u8]> {
        let is_location = |field: &&Field| field.0.eq_ignore_ascii_case("Location");
        self.fields.iter().find(is_location).map(|field| field.1.as_slice())
    }
}

/// Why a request is not answered by a handler.
#[derive(Debug)]
pub enum Stop {
    /// An error, or a redirect of the client.
    Failure(Failure),
    /// Another local URL answers instead: path, as it would be sent, and query.
    Internal(Vec<u8>, Option<Vec<u8>>),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<message::Refusal> for Failure {
    fn from(refusal: message::Refusal) -> Self {
        Self::new(refusal.status, "http", refusal.why).id(566).remark(refusal.remark)
    }
}
