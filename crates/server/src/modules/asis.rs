//! asis: files that bring their own header fields (mod_asis): what their text means, and the
//! answer that comes of it.

use crate::failure::Failure;
use crate::handler::{self, Handler, Made};
use crate::log::level::Level;
use crate::lookup::Lookup;
use crate::modules::files;
use crate::phase::{self, Stop};
use crate::representation::{Origin, Representation, http_date};
use crate::response::{Body, Piece, Response};
use crate::site::builder::Builder;
use config::Module;
use message::{Method, Status};
use runtime::file::{self, Errno};
use std::borrow::Cow;
use std::fs::File;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The module; it has no directives, only handlers.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "asis_module", file: "mod_asis.c", directives: &[] };

/// Handlers of `SetHandler`, `AddHandler` and `AddType` that mean such a file. It is sent for GET
/// and HEAD; other methods go to the handler of plain files.
pub(crate) const HANDLERS: &[&str] = &["send-as-is", "httpd/send-as-is"];

/// Size of the header block. What is longer is no header block.
pub(crate) const HEAD_BYTES_MAX: usize = 256 << 10;

/// httpd reads a line into a buffer of `MAX_STRING_LEN` with its NUL, and leaves one byte over; a
/// longer one goes on as the next line.
const LINE_BYTES_MAX: usize = 8190;

/// What the start of such a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Content-Type, in lower case up to its parameters.
    pub(crate) content_type: Option<Vec<u8>>,
    pub(crate) status: Option<StatusLine>,
    /// Fields that httpd keeps even if the answer becomes an error page (`err_headers_out`):
    /// those of one name are one field. They come before all others.
    pub(crate) lasting: Vec<Field>,
    /// Fields that are set (`headers_out`): Location, ETag and such; Last-Modified is empty here.
    pub(crate) fields: Vec<Field>,
    /// Last-Modified, to be sent as the current time if it lies in the future.
    pub(crate) last_modified: Option<SystemTime>,
    /// Offset of the body; the end of the file after a [`Flaw`] that ends reading.
    pub(crate) body: usize,
    /// What the error log should say.
    pub(crate) flaws: Vec<Flaw>,
}

/// A name as it stands in the file, and a value.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// `Status: 404 Gone Fishing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusLine {
    /// Not necessarily one of HTTP's.
    pub(crate) code: i32,
    /// All of the value.
    pub(crate) text: Vec<u8>,
}

impl StatusLine {
    /// What to send behind the version: the text, if it begins with the code and a blank, else
    /// httpd's own line of the code, else that of 500 (http_filters.c `validate_status_line`).
    pub(crate) fn line(&self) -> Cow<'_, [u8]> {
        let is_code = self.text.get(..3) == Some(self.code.to_string().as_bytes());
        let is_text = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
        let status = u16::try_from(self.code).ok().and_then(Status::new);
        let known = status.and_then(Status::known_line);
        match self.text.get(3..).filter(|_| is_code) {
            Some([b' ', phrase @ ..]) if phrase.iter().all(is_text) => (&self.text).into(),
            // httpd knows no phrase, and is given none.
            Some([]) if known.is_none() => [&self.text[..], b" "].concat().into(),
            _ => known.unwrap_or(Status::INTERNAL_SERVER_ERROR.line()).as_bytes().into(),
        }
    }
}

/// What is wrong with the text. httpd sends what it has understood so far nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// `Premature end of script headers: NAME`; if there is no line at all, `End of script output
    /// before headers: NAME`. Ends reading.
    NoEnd {
        /// Whether a line came before.
        is_begun: bool,
    },
    /// `malformed header from script 'NAME': Bad header: `, without the line. Ends reading.
    NoColon,
    /// `Invalid status line from script 'NAME': TEXT`, with at most 30 bytes of it.
    BadStatus(Vec<u8>),
    /// AH10247 at `info`: `Ignored invalid header value: Last-Modified: 'TEXT'`.
    BadDate(Vec<u8>),
}

impl Head {
    /// Where to go on in the server itself, with GET: a Location that begins with a slash, unless
    /// the status is an error's.
    pub(crate) fn internal_redirect(&self) -> Option<&[u8]> {
        let code = self.status.as_ref().map_or(200, |status| status.code);
        let is_followed = code == 200 || (300..400).contains(&code);
        let location = self.field("Location").filter(|value| value.starts_with(b"/"));
        location.filter(|_| is_followed)
    }

    fn field(&self, name: &str) -> Option<&[u8]> {
        let found = self.fields.iter().find(|field| is(&field.0, name));
        found.map(|field| field.1.as_slice())
    }
}

/// Fields of which the last counts (util_script.c `ap_scan_script_header_err_core_ex`).
const SET_FIELDS: &[&str] =
    &["Location", "Content-Length", "Content-Range", "Transfer-Encoding", "ETag"];

/// Reads the head of a file. `text` is its beginning, all of it or [`HEAD_BYTES_MAX`] bytes.
pub(crate) fn parse(text: &[u8], file_length: usize) -> Head {
    let text = &text[..text.len().min(HEAD_BYTES_MAX)];
    let mut head = Head { body: file_length, ..Head::default() };
    let mut lasting = Vec::new();
    let mut cookies = Vec::new();
    let mut at = 0;
    loop {
        let line = line(&text[at..]);
        if line.is_empty() {
            head.flaws.push(Flaw::NoEnd { is_begun: at > 0 });
            return head;
        }
        at += line.len();
        let line = without_end(line);
        if line.is_empty() {
            break;
        }
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            head.flaws.push(Flaw::NoColon);
            return head;
        };
        let (name, value) = (&line[..colon], trim_start(&line[colon + 1..]));
        match () {
            () if is(name, "Set-Cookie") => cookies.push((name.to_vec(), value.to_vec())),
            () if !head.set(name, value) => merge(&mut lasting, name, value),
            () => {}
        }
    }
    lasting.append(&mut cookies);
    head.lasting = lasting;
    head.body = at;
    head
}

impl Head {
    /// Applies a field with a meaning of its own; false for all others.
    fn set(&mut self, name: &[u8], value: &[u8]) -> bool {
        if is(name, "Content-Type") {
            self.content_type = Some(content_type(value));
        } else if is(name, "Status") {
            let code = leading_integer(value);
            if !(100..600).contains(&code) {
                self.flaws.push(Flaw::BadStatus(value[..value.len().min(30)].to_vec()));
            }
            self.status = Some(StatusLine { code, text: value.to_vec() });
        } else if is(name, "Last-Modified") {
            let date = std::str::from_utf8(value).ok();
            match date.and_then(|date| httpdate::parse_http_date(date).ok()) {
                Some(date) => {
                    self.last_modified = self.last_modified.max(Some(date));
                    set(&mut self.fields, b"Last-Modified", b"");
                }
                None => self.flaws.push(Flaw::BadDate(value.to_vec())),
            }
        } else if SET_FIELDS.iter().any(|known| is(name, known)) {
            set(&mut self.fields, name, value);
        } else {
            return false;
        }
        true
    }
}

/// Sets a field; one of the same name keeps its place.
fn set(fields: &mut Vec<Field>, name: &[u8], value: &[u8]) {
    match fields.iter_mut().find(|field| field.0.eq_ignore_ascii_case(name)) {
        Some(field) => field.1 = value.to_vec(),
        None => fields.push((name.to_vec(), value.to_vec())),
    }
}

/// Adds a field; one of the same name gets a longer value.
fn merge(fields: &mut Vec<Field>, name: &[u8], value: &[u8]) {
    match fields.iter_mut().find(|field| field.0.eq_ignore_ascii_case(name)) {
        Some(field) => {
            field.1.extend_from_slice(b", ");
            field.1.extend_from_slice(value);
        }
        None => fields.push((name.to_vec(), value.to_vec())),
    }
}

fn is(name: &[u8], known: &str) -> bool {
    name.eq_ignore_ascii_case(known.as_bytes())
}

/// The next line with its end, or as much of it as fits.
fn line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| end + 1);
    &text[..end.min(LINE_BYTES_MAX)]
}

/// To httpd a NUL ends a line, too.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.split(|&byte| byte == 0).next().unwrap_or(line);
    match line {
        [bare @ .., b'\r', b'\n'] | [bare @ .., b'\n'] => bare,
        _ => line,
    }
}

/// Blanks around are cut, and all before the parameters is in lower case.
fn content_type(value: &[u8]) -> Vec<u8> {
    let mut value = value.trim_ascii_end().to_vec();
    let end = value.iter().position(|&byte| byte == b';').unwrap_or(value.len());
    value[..end].make_ascii_lowercase();
    value
}

fn trim_start(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|&byte| byte != b' ' && !matches!(byte, b'\t'..=b'\r'));
    &value[start.unwrap_or(value.len())..]
}

/// C's `atoi`, but for numbers that do not fit.
fn leading_integer(value: &[u8]) -> i32 {
    let (sign, digits) = match value {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0_i32, |number, digit| {
        number.saturating_mul(10).saturating_add(i32::from(digit - b'0'))
    });
    sign * number
}

/// Fields that the server writes itself.
const OWN_FIELDS: &[&str] =
    &["Connection", "Content-Length", "Date", "Keep-Alive", "Server", "Transfer-Encoding"];

/// Resolve hook (mod_asis.c, asis_handler). Other methods get the file as it stands.
pub(crate) fn resolve(lookup: &mut Lookup<'_>) -> Result<Option<Handler>, Stop> {
    let is_get = lookup.method.is_some_and(Method::is_get_or_head);
    let name = handler::effective(lookup)?.map(Cow::into_owned);
    let known = HANDLERS.iter().find(|known| name.as_deref() == Some(**known));
    let Some(name) = known.filter(|_| is_get) else { return Ok(None) };
    if !phase::is_file(lookup) {
        return Ok(None);
    }
    lookup.mark_personal();
    let entry = std::mem::replace(&mut lookup.found, Err(Errno::NOENT))
        .map_err(|errno| phase::open_failure(lookup, errno))?;
    let length = usize::try_from(entry.status.size).unwrap_or(usize::MAX);
    let text = start_of(lookup, &entry.file, length.min(HEAD_BYTES_MAX))?;
    let head = parse(&text, length);
    for flaw in &head.flaws {
        log_flaw(lookup, flaw);
    }
    if let Some(location) = head.internal_redirect() {
        let location = location.to_vec();
        lookup.method = Some(Method::Get);
        keep_lasting(lookup, head)?;
        return Err(phase::internal(lookup, &location));
    }
    let origin = Origin {
        root: lookup.place.root.clone(),
        below: lookup.place.below.clone(),
        links: lookup.links,
    };
    let source = Rc::new(Representation::new(entry, lookup, origin)?);
    let response = respond(lookup, head, source)?;
    Ok(Some(Handler::Made(Box::new(Made { name, response }))))
}

fn start_of(lookup: &Lookup<'_>, file: &File, length: usize) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    file::read_whole(file, length, &mut text).map_err(|error| {
        let path = lookup.display_path();
        let text = format!("file permissions deny server access: {path}: {error}");
        Failure::new(Status::FORBIDDEN, "asis", text).id(1234).at_error()
    })?;
    Ok(text)
}

fn respond(
    lookup: &mut Lookup<'_>,
    mut head: Head,
    source: Rc<Representation>,
) -> Result<Response, Failure> {
    let code = head.status.as_ref().map_or(200, |status| status.code);
    let status = u16::try_from(code).ok().and_then(Status::new);
    let mut response = Response::new(status.unwrap_or(Status::INTERNAL_SERVER_ERROR));
    response.status_line = head.status.as_ref().map(|status| status.line().into_owned());
    for (name, value) in std::mem::take(&mut head.fields) {
        response.fields.extend(checked(name, value)?);
    }
    if let Some(modified) = head.last_modified {
        // Its place is among the fields already.
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified_s = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        let now_s = lookup.request.start_us.div_euclid(1_000_000);
        response.set("Last-Modified", http_date(modified_s.min(now_s)));
    }
    response.late = files::late_description(&source);
    let own = head.content_type.take().map(|text| String::from_utf8_lossy(&text).into_owned());
    response.content_type = own.or_else(|| source.content_type.clone());
    let offset = head.body as u64;
    let length = source.status.size.saturating_sub(offset);
    response.body = Body { pieces: vec![Piece::File { source, offset, length }] };
    keep_lasting(lookup, head)?;
    Ok(response)
}

/// Fields that stay also if something else is sent in the end.
fn keep_lasting(lookup: &mut Lookup<'_>, head: Head) -> Result<(), Failure> {
    for (name, value) in head.lasting {
        lookup.always.extend(checked(name, value)?);
    }
    Ok(())
}

/// The field, unless the server has its own. What is no field is an error, as in httpd
/// (check_headers of http_filters.c).
fn checked(name: Vec<u8>, value: Vec<u8>) -> Result<Option<crate::response::Field>, Failure> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_name = !name.is_empty() && name.iter().copied().all(is_token);
    let is_value = value.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
    match String::from_utf8(name) {
        Ok(name) if is_name && is_value => {
            let is_own = OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own));
            Ok((!is_own).then(|| (name.into(), value)))
        }
        bad => {
            let name = bad.map_or_else(|error| error.into_bytes(), String::into_bytes);
            let text =
                format!("Response header name '{}' is invalid", String::from_utf8_lossy(&name));
            Err(Failure::new(Status::INTERNAL_SERVER_ERROR, "http", text).id(2429).at_error())
        }
    }
}

fn log_flaw(lookup: &Lookup<'_>, flaw: &Flaw) {
    let name = String::from_utf8_lossy(lookup.file_name());
    let error = |text: String| lookup.log(Level::Error, "asis", None, &text);
    match flaw {
        Flaw::NoEnd { is_begun: true } => error(format!("Premature end of script headers: {name}")),
        Flaw::NoEnd { is_begun: false } => {
            error(format!("End of script output before headers: {name}"));
        }
        Flaw::NoColon => error(format!("malformed header from script '{name}': Bad header: ")),
        Flaw::BadStatus(text) => {
            let text = String::from_utf8_lossy(text);
            error(format!("Invalid status line from script '{name}': {text}"));
        }
        Flaw::BadDate(text) => {
            let text = String::from_utf8_lossy(text);
            let text = format!("Ignored invalid header value: Last-Modified: '{text}'");
            lookup.log(Level::Info, "asis", Some(10247), &text);
        }
    }
}

#[cfg(test)]
#[path = "asis_tests.rs"]
mod tests;
