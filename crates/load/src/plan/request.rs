//! One request of a plan and its bytes: encoded once where nothing in it changes, else each time.

use super::cookies::Cookies;
use super::expect::{Expect, Take};
use super::think::Think;
use super::values::{FORM, PlanValues, Template, TextPart, Variables, check_line};
use crate::text::{SyntaxFault, base64};
use crate::url::Url;
use std::sync::Arc;

/// What is the same for all requests of a plan.
#[derive(Clone, Debug)]
pub struct RequestDefaults {
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// Whether to speak HTTP/1.0, as ab does.
    pub http10: bool,
    /// The value of User-Agent; empty for none.
    pub user_agent: String,
    /// Fields for every request. One named as a usual field (Host, User-Agent, Accept,
    /// Content-Type, Connection) takes its place; an empty value takes it away, as in curl.
    pub fields: Vec<(String, String)>,
    /// The method of requests that name none; empty for GET, or POST with a body.
    pub method: String,
    /// The body of requests that have none.
    pub body: Option<BodyContent>,
}

impl Default for RequestDefaults {
    fn default() -> Self {
        Self {
            keep_alive: true,
            http10: false,
            user_agent: concat!("trivet/", env!("CARGO_PKG_VERSION")).to_owned(),
            fields: Vec::new(),
            method: String::new(),
            body: None,
        }
    }
}

/// A body as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyContent {
    /// A text, with references.
    Text(String),
    /// Bytes as they are.
    Bytes(Arc<[u8]>),
}

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlannedBody {
    /// None.
    #[default]
    None,
    /// A text, maybe with variables.
    Text(Template),
    /// Bytes of a file, as they are.
    Bytes(Arc<[u8]>),
}

/// Method, target, fields and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, a token.
    pub method: String,
    /// Path and query.
    pub target: Template,
    /// Fields in the order they are sent, without Connection, Content-Length and cookies.
    pub fields: Vec<(String, Template)>,
    /// The body.
    pub body: PlannedBody,
}

/// One request of a plan, with what is known about it.
#[derive(Clone, Debug)]
pub struct PlanEntry {
    /// Method and URL as they were written, for reports.
    pub name: String,
    /// The URL that the request goes to.
    pub url: Url,
    /// How often it comes, beside the weights of the others.
    pub weight: u32,
    /// How long a user waits after it.
    pub think: Option<Think>,
    /// What the answer must be like; `None` leaves that to the caller.
    pub expect: Option<Expect>,
    /// What is taken from it for later requests.
    pub takes: Vec<Take>,
    request: Request,
    http10: bool,
    has_own_cookies: bool,
    fixed: Option<Arc<[u8]>>,
}

/// A request as it was written, before names are looked up.
#[derive(Clone, Debug, Default)]
pub struct RequestSpec<'a> {
    /// The method; empty for that of the options.
    pub method: &'a str,
    /// The URL, with references to variables after its host.
    pub url: &'a str,
    /// Fields, which go before those of the options.
    pub fields: Vec<(String, String)>,
    /// The body, with references.
    pub body: Option<&'a str>,
    /// The body as it is; wins over `body`.
    pub bytes: Option<Arc<[u8]>>,
    /// The type of the body, if no field tells.
    pub content_type: &'a str,
}

/// Fields of which there is one, so that another of the name takes its place.
const USUAL: [&str; 5] = ["host", "user-agent", "accept", "content-type", "connection"];

impl RequestSpec<'_> {
    /// What is said of the type of the body.
    fn body_type(&self) -> &str {
        let is_type = |field: &&(String, String)| field.0.eq_ignore_ascii_case("content-type");
        self.fields.iter().find(is_type).map_or(self.content_type, |field| &field.1)
    }
}

impl PlanEntry {
    /// Makes the request of a spec.
    pub fn new(
        spec: &RequestSpec<'_>,
        variables: &Variables,
        options: &RequestDefaults,
    ) -> Result<Self, SyntaxFault> {
        let (url, target) = url_and_target(spec.url, variables)?;
        let body = match (&spec.bytes, spec.body, &options.body) {
            (Some(bytes), _, _) | (None, None, Some(BodyContent::Bytes(bytes))) => {
                PlannedBody::Bytes(Arc::clone(bytes))
            }
            (None, Some(text), _) => PlannedBody::Text(variables.body(text, spec.body_type())?),
            (None, None, Some(BodyContent::Text(text))) => {
                PlannedBody::Text(variables.body(text, spec.body_type())?)
            }
            (None, None, None) => PlannedBody::None,
        };
        let named = if spec.method.is_empty() { &options.method } else { spec.method };
        let method = match (named, &body) {
            ("", PlannedBody::None) => "GET",
            ("", _) => "POST",
            (method, _) => method,
        };
        check_token(method, "a method")?;
        let mut fields = CollectedFields::default();
        fields.usual("Host", Template::fixed(&url.authority()));
        fields.usual("User-Agent", Template::fixed(&options.user_agent));
        fields.usual("Accept", Template::fixed("*/*"));
        if body != PlannedBody::None {
            let content_type = if spec.content_type.is_empty() { FORM } else { spec.content_type };
            fields.usual("Content-Type", Template::fixed(content_type));
        }
        let connection = match (options.http10, options.keep_alive) {
            (false, true) | (true, false) => "",
            (false, false) => "close",
            (true, true) => "Keep-Alive",
        };
        fields.usual("Connection", Template::fixed(connection));
        if let Some(plain) = url.credentials() {
            fields.usual("Authorization", Template::fixed(&format!("Basic {}", base64(&plain))));
        }
        fields.add(&options.fields, variables)?;
        fields.add(&spec.fields, variables)?;
        let request = Request { method: method.to_owned(), target, fields: fields.rows, body };
        Ok(Self::of_request(url, request, options))
    }

    /// A request whose bytes somebody else has put together, sent as they are to the server of
    /// `url`. The method says what the answer looks like.
    pub fn verbatim(url: Url, method: &str, bytes: Arc<[u8]>) -> Self {
        Self {
            name: format!("{method} {url}"),
            weight: 1,
            think: None,
            expect: None,
            takes: Vec::new(),
            request: Request {
                method: method.to_owned(),
                target: Template::fixed(&url.target),
                fields: Vec::new(),
                body: PlannedBody::None,
            },
            url,
            http10: true,
            has_own_cookies: true,
            fixed: Some(bytes),
        }
    }

    fn of_request(url: Url, mut request: Request, options: &RequestDefaults) -> Self {
        let is_kept = |field: &(String, Template)| field.1.as_fixed().is_none_or(|v| !v.is_empty());
        request.fields.retain(is_kept);
        let name = match request.target.as_fixed() {
            Some(_) => format!("{} {url}", request.method),
            None => {
                let base = Url { target: String::new(), ..url.clone() };
                format!("{} {base}{}", request.method, request.target.source())
            }
        };
        let has_own_cookies = request.fields.iter().any(|f| f.0.eq_ignore_ascii_case("cookie"));
        let http10 = options.http10;
        let mut entry = Self {
            name,
            url,
            weight: 1,
            think: None,
            expect: None,
            takes: Vec::new(),
            request,
            http10,
            has_own_cookies,
            fixed: None,
        };
        if entry.is_fixed() {
            let mut out = Vec::new();
            entry.encode(&mut PlanValues::new(0, 0), None, &mut out);
            entry.fixed = Some(out.into());
        }
        entry
    }

    /// The request that follows from this one when it is answered with a redirect of this status
    /// to `url` (RFC 9110 section 15.4): a GET as a rule, the same again after 307 and 308. What is
    /// known of the entry stays; credentials do not go to another server.
    pub fn redirected(&self, url: Url, status: u16) -> Self {
        let keeps_method =
            matches!(status, 307 | 308) || matches!(self.request.method.as_str(), "GET" | "HEAD");
        let mut request = self.request.clone();
        request.target = Template::fixed(&url.target);
        if !keeps_method {
            request.method = "GET".to_owned();
            request.body = PlannedBody::None;
        }
        let is_same_server = url.is_same_server(&self.url);
        let is_kept = |name: &str| match name {
            "host" => false,
            "content-type" => keeps_method,
            "authorization" | "cookie" => is_same_server,
            _ => true,
        };
        request.fields.retain(|field| is_kept(&field.0.to_ascii_lowercase()));
        request.fields.insert(0, ("Host".to_owned(), Template::fixed(&url.authority())));
        let options = RequestDefaults { http10: self.http10, ..RequestDefaults::default() };
        Self {
            weight: self.weight,
            think: self.think,
            expect: self.expect.clone(),
            takes: self.takes.clone(),
            ..Self::of_request(url, request, &options)
        }
    }

    /// Method, target, fields and body.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// The bytes of head and body, if they are always the same: there is no variable. With a jar of
    /// cookies, [`Self::write`] instead.
    pub const fn fixed(&self) -> Option<&Arc<[u8]>> {
        self.fixed.as_ref()
    }

    /// Appends head and body with these values and cookies. Afterwards [`PlanValues::advance`];
    /// the plan does that when it gives out the next request.
    pub fn write(&self, values: &mut PlanValues, cookies: Option<Cookies<'_>>, out: &mut Vec<u8>) {
        match (&self.fixed, cookies) {
            (Some(fixed), None) => out.extend(&fixed[..]),
            (_, cookies) => self.encode(values, cookies, out),
        }
    }

    /// Appends the body with these values.
    pub fn write_body(&self, values: &PlanValues, out: &mut Vec<u8>) {
        match &self.request.body {
            PlannedBody::None => {}
            PlannedBody::Text(text) => text.write(values, out),
            PlannedBody::Bytes(bytes) => out.extend(&bytes[..]),
        }
    }

    /// Tells the fields one by one as HTTP/2 wants them (RFC 9113 section 8.2): names in lower
    /// case, nothing about the connection, and no Host: [`Self::authority`] is for `:authority`.
    /// Content-Length is among them if there is a body.
    pub fn each_field(
        &self,
        values: &mut PlanValues,
        cookies: Option<Cookies<'_>>,
        tell: &mut dyn FnMut(&str, &[u8]),
    ) {
        let mut value = std::mem::take(&mut values.scratch);
        for (name, text) in &self.request.fields {
            let name = name.to_ascii_lowercase();
            if CONNECTION_FIELDS.contains(&name.as_str()) {
                continue;
            }
            value.clear();
            text.write(values, &mut value);
            if let Some(cookies) = cookies.filter(|_| name == "cookie") {
                self.add_cookies(cookies, &mut value);
            }
            tell(&name, &value);
        }
        if self.has_length() {
            value.clear();
            self.write_body(values, &mut value);
            let length = value.len().to_string();
            tell("content-length", length.as_bytes());
        }
        if let Some(cookies) = cookies.filter(|_| !self.has_own_cookies) {
            value.clear();
            if cookies.jar.write_value(&self.url, cookies.now_s, &mut value) {
                tell("cookie", &value);
            }
        }
        values.scratch = value;
    }

    /// The value of Host, which may be another than that of the URL.
    pub fn authority(&self, values: &PlanValues) -> String {
        let host = self.request.fields.iter().find(|field| field.0.eq_ignore_ascii_case("host"));
        let mut out = Vec::new();
        if let Some((_, text)) = host {
            text.write(values, &mut out);
        }
        String::from_utf8(out).ok().filter(|host| !host.is_empty()).unwrap_or(self.url.authority())
    }

    /// Bytes that it takes besides itself, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        // The target stands in name, URL and request, the fields in the request and in its bytes.
        let fixed = self.fixed.as_ref().map_or(0, |fixed| fixed.len());
        3 * self.name.len() + 2 * fixed + self.request.fields.len() * FIELD_BYTES
    }

    fn is_fixed(&self) -> bool {
        let Request { target, fields, body, .. } = &self.request;
        let body_is_fixed = match body {
            PlannedBody::None | PlannedBody::Bytes(_) => true,
            PlannedBody::Text(text) => text.as_fixed().is_some(),
        };
        let fields_are_fixed = fields.iter().all(|field| field.1.as_fixed().is_some());
        body_is_fixed && fields_are_fixed && target.as_fixed().is_some()
    }

    /// RFC 9110 section 8.6: methods that usually have a body say so when it is empty, too.
    fn has_length(&self) -> bool {
        let is_usual = matches!(self.request.method.as_str(), "POST" | "PUT" | "PATCH");
        is_usual || self.request.body != PlannedBody::None
    }

    /// Adds the cookies of the jar to those of the request itself: there is one field for both
    /// (RFC 6265 section 5.4).
    fn add_cookies(&self, cookies: Cookies<'_>, out: &mut Vec<u8>) {
        let len = out.len();
        out.extend(b"; ");
        if !cookies.jar.write_value(&self.url, cookies.now_s, out) {
            out.truncate(len);
        }
    }

    fn encode(&self, values: &mut PlanValues, cookies: Option<Cookies<'_>>, out: &mut Vec<u8>) {
        out.extend(self.request.method.as_bytes());
        out.push(b' ');
        self.request.target.write(values, out);
        out.extend(if self.http10 { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" });
        for (name, text) in &self.request.fields {
            out.extend(name.as_bytes());
            out.extend(b": ");
            text.write(values, out);
            if let Some(cookies) = cookies.filter(|_| name.eq_ignore_ascii_case("cookie")) {
                self.add_cookies(cookies, out);
            }
            out.extend(b"\r\n");
        }
        if let Some(cookies) = cookies.filter(|_| !self.has_own_cookies) {
            cookies.jar.write_field(&self.url, cookies.now_s, out);
        }
        if self.has_length() {
            let mut body = std::mem::take(&mut values.scratch);
            body.clear();
            self.write_body(values, &mut body);
            out.extend(b"Content-Length: ");
            out.extend(body.len().to_string().as_bytes());
            out.extend(b"\r\n\r\n");
            out.extend(&body);
            values.scratch = body;
        } else {
            out.extend(b"\r\n");
        }
    }
}

/// Fields that HTTP/2 has no use for (RFC 9113 section 8.2.2), and Host.
const CONNECTION_FIELDS: [&str; 7] =
    ["host", "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// Bytes that a field takes besides its name and value.
const FIELD_BYTES: usize = size_of::<(String, Template)>() + size_of::<TextPart>() + 48;

/// Fields of one request at most; servers take a hundred.
const FIELDS_MAX: usize = 1000;

/// Fields that are collected.
#[derive(Default)]
struct CollectedFields {
    rows: Vec<(String, Template)>,
}

impl CollectedFields {
    /// A field that another of its name replaces; empty it still keeps the place.
    fn usual(&mut self, name: &str, text: Template) {
        self.rows.push((name.to_owned(), text));
    }

    /// Adds fields that were written: they replace those of their name, and not each other.
    fn add(
        &mut self,
        fields: &[(String, String)],
        variables: &Variables,
    ) -> Result<(), SyntaxFault> {
        if fields.len() > FIELDS_MAX {
            return Err(SyntaxFault::new("", 0, format!("expected at most {FIELDS_MAX} fields")));
        }
        let mut added: Vec<(String, Template)> = Vec::new();
        for (name, value) in fields {
            check_token(name, "a field name")?;
            let lower = name.to_ascii_lowercase();
            if matches!(lower.as_str(), "content-length" | "transfer-encoding") {
                return Err(SyntaxFault::new(name, 0, "this is computed from the body"));
            }
            let text = variables.text(value.trim_matches([' ', '\t']))?;
            text.check_line()?;
            let earlier = self.rows.iter_mut().find(|row| row.0.eq_ignore_ascii_case(name));
            match earlier {
                // In its place, so that Host stays first.
                Some(row) if USUAL.contains(&lower.as_str()) => *row = (name.clone(), text),
                _ => added.push((name.clone(), text)),
            }
        }
        self.rows.retain(|row| !added.iter().any(|new| new.0.eq_ignore_ascii_case(&row.0)));
        self.rows.extend(added);
        Ok(())
    }
}

fn check_token(text: &str, what: &str) -> Result<(), SyntaxFault> {
    if message::scan::is_token(text.as_bytes()) {
        return Ok(());
    }
    let at = text.bytes().position(|byte| !message::scan::is_token_byte(byte)).unwrap_or(0);
    Err(SyntaxFault::new(text, at, format!("expected {what}")))
}

/// The URL with names for variables in its target, and the target itself.
fn url_and_target(written: &str, variables: &Variables) -> Result<(Url, Template), SyntaxFault> {
    check_line(written)?;
    let text = variables.text(written)?;
    let first = match text.parts.first() {
        Some(TextPart::Fixed(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    if text.parts.len() > 1 || matches!(text.parts.first(), Some(TextPart::Variable(_))) {
        let after_scheme = first.find("://").map_or(0, |at| at + 3);
        if !first[after_scheme..].contains(['/', '?']) {
            let what = "a variable may stand in path and query, not in the host";
            return Err(SyntaxFault::new(written, 0, what));
        }
    }
    let mut url = Url::parse(&first)?;
    let mut target = Template::fixed(&url.target);
    let mut is_fragment = first.contains('#');
    for part in text.parts.iter().skip(1) {
        match part {
            _ if is_fragment => break,
            TextPart::Variable(variable) => target.push_variable_of_target(variable),
            TextPart::Fixed(bytes) => {
                let piece = String::from_utf8_lossy(bytes);
                is_fragment = piece.contains('#');
                let piece = crate::url::encoded(piece.split('#').next().unwrap_or_default());
                target.push_fixed(piece.as_bytes());
            }
        }
    }
    url.target = target.source();
    Ok((url, target))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
