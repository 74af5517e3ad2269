//! The head of what a program answers (RFC 3875 section 6), with httpd's tolerance (util_script.c,
//! `ap_scan_script_header_err_core_ex` over `getsfunc_BRIGADE`): what the lines say, and where the
//! body begins. What becomes of it (a redirect, a page for an error) is for the caller.

use crate::script_fault::ScriptFault;
use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::mem;
use message::{Status, limits, scan};

/// Bytes of a line that a message quotes: `%.30s`.
const QUOTED_BYTES: usize = 30;

/// A name as the program wrote it, and a value.
pub type ScriptField = (Vec<u8>, Vec<u8>);

/// What a program says about its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptHead {
    /// What it calls its status, the last time it does. Conditions of the request are only looked
    /// at when it does not.
    pub status: Option<StatusLine>,
    /// Its type, in lower case up to the parameters.
    pub content_type: Option<Vec<u8>>,
    /// Fields that stay when the answer is replaced by a page (`err_headers_out`), in their order:
    /// those of one name are one, but cookies are not, and stand behind the others. `Date` and
    /// `Server` among them are replaced by mod_cgi, and kept by mod_proxy_fcgi.
    pub lasting: Vec<ScriptField>,
    /// Fields that do not stay (`headers_out`), of which the last one counts: `Location`, `ETag`,
    /// `Content-Range`. They are sent behind the others.
    pub fields: Vec<ScriptField>,
    /// Values of `Last-Modified`: the latest one counts that is a date, and no later than now.
    /// To others httpd says AH10247, "Ignored invalid header value: Last-Modified: '...'".
    pub last_modified: Vec<Vec<u8>>,
    /// The length that it gives, if that is a number. What the program sends has an end of its own,
    /// so httpd passes it on only if the variable `ap_trust_cgilike_cl` is set.
    pub content_length: Option<u64>,
    /// Fields about a connection it does not have. httpd passes them on with the lasting ones.
    pub hop_by_hop: Vec<ScriptField>,
    /// Whether it names a transfer coding. Codings are the server's, so that is dropped.
    pub has_transfer_encoding: bool,
    /// The beginnings of what it calls a status and is none, each for a line of the error log:
    /// `Invalid status line from script 'x': ...`.
    pub invalid_statuses: Vec<Vec<u8>>,
}

/// The value of `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    /// The number that it begins with, which is not necessarily a status.
    code: u16,
    /// All of it.
    text: Vec<u8>,
}

/// Where the program sends the client; it does not say so by a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptRedirect<'h> {
    /// To another path here, without asking the client (RFC 3875 section 6.2.2). mod_cgi does so;
    /// mod_proxy_fcgi sends the answer as it is.
    Local(&'h [u8]),
    /// Elsewhere, by a 302 (section 6.2.3). mod_cgi drops what follows; mod_proxy_fcgi again
    /// sends the answer as it is.
    Client(&'h [u8]),
}

/// A head with its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complete {
    /// What it says.
    pub head: ScriptHead,
    /// Bytes of the last piece of output that belong to it. The rest of that piece is body.
    pub used: usize,
}

/// Takes a head in whatever pieces it comes. mod_proxy_fcgi looks for the end by itself before that
/// (`handle_headers`), and sends a head whose end it does not see (LF and then CR LF, say) as if it
/// were the body; here there is one rule for scripts of both kinds.
///
/// It keeps one line and what the lines before have said, never more than about
/// [`limits::SCRIPT_HEAD_BYTES`].
#[derive(Clone, Debug, Default)]
pub struct ScriptHeadParser {
    head: ScriptHead,
    line: Vec<u8>,
    /// Whether a CR stands behind what there is of the line.
    is_behind_cr: bool,
    lines: usize,
    /// Bytes of all pieces so far.
    bytes: usize,
}

impl ScriptHeadParser {
    /// A parser at the start of the output.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a piece of output; `None` if more has to come. After a fault or a complete head the
    /// parser is of no more use.
    pub fn advance(&mut self, input: &[u8]) -> Result<Option<Complete>, ScriptFault> {
        let window = &input[..input.len().min(limits::SCRIPT_HEAD_BYTES - self.bytes)];
        let mut at = 0;
        while let Some(length) = scan::find(&window[at..], b'\n') {
            let piece = &window[at..at + length];
            at += length + 1;
            let whole = self.whole_line(piece);
            if whole.is_none() {
                self.extend_line(piece)?;
            }
            self.is_behind_cr = false;
            let begun = mem::take(&mut self.line);
            let line = whole.unwrap_or(&begun);
            if line.is_empty() {
                self.bytes += at;
                return Ok(Some(Complete { head: self.complete()?, used: at }));
            }
            self.take_line(line)?;
            self.line = begun;
            self.line.clear();
        }
        self.extend_line(&window[at..])?;
        self.bytes += window.len();
        if self.bytes == limits::SCRIPT_HEAD_BYTES {
            return Err(ScriptFault::TooLong);
        }
        Ok(None)
    }

    /// What the lines so far have said, for those who use what they have understood. Nobody has
    /// checked it.
    pub fn so_far(self) -> ScriptHead {
        self.head
    }

    /// What is wrong when the output ends here.
    pub fn end_of_output(&self) -> ScriptFault {
        ScriptFault::NoEnd { is_begun: self.lines > 0 }
    }

    /// The line, if all of it is in this piece and it ends as most do: it need not be kept, then.
    fn whole_line<'a>(&self, piece: &'a [u8]) -> Option<&'a [u8]> {
        let line = piece.strip_suffix(b"\r").unwrap_or(piece);
        let is_whole = self.line.is_empty() && !self.is_behind_cr;
        let is_plain = line.len() <= limits::SCRIPT_LINE_BYTES && scan::find(line, b'\r').is_none();
        (is_whole && is_plain).then_some(line)
    }

    /// Adds to the line. CR means nothing to httpd, wherever it stands; here it is part of the end
    /// of a line, and nowhere else: what else it may be is for each reader to guess (RFC 9112
    /// section 2.2). Too long a line is to httpd as if the output ended there.
    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), ScriptFault> {
        for (nth, text) in bytes.split(|&byte| byte == b'\r').enumerate() {
            self.is_behind_cr |= nth > 0;
            if text.is_empty() {
                continue;
            }
            if self.is_behind_cr {
                return Err(ScriptFault::BareCr(quoted(&self.line)));
            }
            if self.line.len() + text.len() > limits::SCRIPT_LINE_BYTES {
                return Err(self.end_of_output());
            }
            self.line.extend_from_slice(text);
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Result<(), ScriptFault> {
        // httpd takes it for the end of the line, and a line that begins with it for the end of the
        // head. What other servers and log readers make of it differs.
        if line.contains(&0) {
            return Err(ScriptFault::Nul);
        }
        let Some(colon) = scan::find(line, b':') else {
            return Err(ScriptFault::NoColon(quoted(line)));
        };
        if self.lines == limits::SCRIPT_HEAD_LINES {
            return Err(ScriptFault::TooManyLines);
        }
        self.lines += 1;
        self.head.add(&line[..colon], trim_start(&line[colon + 1..]));
        Ok(())
    }

    fn complete(&mut self) -> Result<ScriptHead, ScriptFault> {
        let mut head = mem::take(&mut self.head);
        head.check()?;
        // A stable sort: cookies go behind, each kind in its order.
        head.lasting.sort_by_key(|field| is_cookie(&field.0));
        Ok(head)
    }
}

impl ScriptHead {
    /// Its status, or 200.
    pub fn status(&self) -> Status {
        self.status.as_ref().map_or(Status::OK, StatusLine::status)
    }

    /// Where it sends the client, unless it has a status of its own. An empty `Location` sends it
    /// nowhere, but that is a redirect still.
    pub fn redirect(&self) -> Option<ScriptRedirect<'_>> {
        let location = self.fields.iter().find(|field| is(&field.0, "Location"));
        let location = location.filter(|_| self.status() == Status::OK)?;
        match &location.1[..] {
            path @ [b'/', ..] => Some(ScriptRedirect::Local(path)),
            url => Some(ScriptRedirect::Client(url)),
        }
    }

    /// Whether it asks for the connection to end with the answer.
    pub fn closes(&self) -> bool {
        let mut fields = self.hop_by_hop.iter().filter(|field| is(&field.0, "Connection"));
        fields.any(|field| scan::list(&field.1).any(|option| is(option, "close")))
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        let field = || (name.to_vec(), value.to_vec());
        match kind_of(name) {
            FieldRole::Lasting => merge(&mut self.lasting, name, value),
            FieldRole::Cookie => self.lasting.push(field()),
            FieldRole::Set => set(&mut self.fields, name, value),
            FieldRole::HopByHop => self.hop_by_hop.push(field()),
            FieldRole::LastModified => self.last_modified.push(value.to_vec()),
            FieldRole::ContentType => self.content_type = content_type(value),
            FieldRole::ContentLength => self.content_length = number(value),
            FieldRole::TransferEncoding => self.has_transfer_encoding = true,
            FieldRole::Status => {
                let code = leading_number(value);
                if !(100..600).contains(&code) {
                    self.invalid_statuses.push(quoted(value));
                }
                self.status = Some(StatusLine { code, text: value.to_vec() });
            }
        }
    }

    /// httpd checks when it sends, and that is after all lines are read.
    fn check(&self) -> Result<(), ScriptFault> {
        for (name, value) in self.lasting.iter().chain(&self.fields).chain(&self.hop_by_hop) {
            ScriptFault::check(name, value)?;
        }
        let content_type = self.content_type.as_deref().unwrap_or_default();
        ScriptFault::check(b"Content-Type", content_type)?;
        match &self.status {
            Some(line) if line.known().is_none() => Err(ScriptFault::BadStatus(quoted(&line.text))),
            Some(line) if line.code < Status::OK.code() => {
                Err(ScriptFault::Informational(line.code))
            }
            _ => Ok(()),
        }
    }
}

impl StatusLine {
    /// The status; of a number that no status line can show, which no complete head has, it is 500.
    pub fn status(&self) -> Status {
        self.known().unwrap_or(Status::INTERNAL_SERVER_ERROR)
    }

    fn known(&self) -> Option<Status> {
        Status::new(self.code)
    }

    /// What goes behind the version: the text, if it begins with three digits and a blank, else
    /// httpd's own line, else that of 500 (http_filters.c, `validate_status_line`, of 2.4.71).
    pub fn line(&self) -> Cow<'_, [u8]> {
        let known = self.status().known_line();
        let is_code = self.text.get(..3) == Some(self.code.to_string().as_bytes());
        match self.text.get(3..).filter(|_| is_code) {
            Some([b' ', phrase @ ..]) if scan::is_field_content(phrase) => {
                Cow::Borrowed(&self.text)
            }
            // httpd knows no phrase, and is given none.
            Some([]) if known.is_none() => Cow::Owned([&self.text[..], b" "].concat()),
            _ => Cow::Borrowed(known.unwrap_or(Status::INTERNAL_SERVER_ERROR.line()).as_bytes()),
        }
    }
}

/// What the server does with a field.
#[derive(Clone, Copy)]
enum FieldRole {
    Lasting,
    Cookie,
    Set,
    HopByHop,
    LastModified,
    ContentType,
    ContentLength,
    TransferEncoding,
    Status,
}

/// All fields that are not simply passed on.
const KINDS: &[(&str, FieldRole)] = &[
    ("Status", FieldRole::Status),
    ("Content-Type", FieldRole::ContentType),
    ("Content-Length", FieldRole::ContentLength),
    ("Transfer-Encoding", FieldRole::TransferEncoding),
    ("Last-Modified", FieldRole::LastModified),
    ("Set-Cookie", FieldRole::Cookie),
    ("Location", FieldRole::Set),
    ("Content-Range", FieldRole::Set),
    ("ETag", FieldRole::Set),
    // RFC 9110 section 7.6.1.
    ("Connection", FieldRole::HopByHop),
    ("Keep-Alive", FieldRole::HopByHop),
    ("Proxy-Connection", FieldRole::HopByHop),
    ("TE", FieldRole::HopByHop),
    ("Trailer", FieldRole::HopByHop),
    ("Upgrade", FieldRole::HopByHop),
];

fn kind_of(name: &[u8]) -> FieldRole {
    KINDS.iter().find(|kind| is(name, kind.0)).map_or(FieldRole::Lasting, |kind| kind.1)
}

fn is(name: &[u8], known: &str) -> bool {
    name.eq_ignore_ascii_case(known.as_bytes())
}

fn is_cookie(name: &[u8]) -> bool {
    is(name, "Set-Cookie")
}

/// Adds to the value of the field that has the name already, if there is one.
fn merge(fields: &mut Vec<ScriptField>, name: &[u8], value: &[u8]) {
    match fields.iter_mut().find(|field| field.0.eq_ignore_ascii_case(name)) {
        Some(field) => {
            field.1.extend_from_slice(b", ");
            field.1.extend_from_slice(value);
        }
        None => fields.push((name.to_vec(), value.to_vec())),
    }
}

/// Replaces the value of the field that has the name already, if there is one.
fn set(fields: &mut Vec<ScriptField>, name: &[u8], value: &[u8]) {
    match fields.iter_mut().find(|field| field.0.eq_ignore_ascii_case(name)) {
        Some(field) => field.1 = value.to_vec(),
        None => fields.push((name.to_vec(), value.to_vec())),
    }
}

/// Blanks behind are cut, and all before the parameters is in lower case; empty is none.
fn content_type(value: &[u8]) -> Option<Vec<u8>> {
    let blank = |byte: &u8| is_blank(*byte);
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(0, |last| last + 1);
    let mut value = value[..end].to_vec();
    let parameters = scan::find(&value, b';').unwrap_or(value.len());
    value[..parameters].make_ascii_lowercase();
    (!value.is_empty()).then_some(value)
}

/// C's `isspace`.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn trim_start(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|&byte| !is_blank(byte));
    &value[start.unwrap_or(value.len())..]
}

fn quoted(line: &[u8]) -> Vec<u8> {
    line[..line.len().min(QUOTED_BYTES)].to_vec()
}

/// A length, `1*DIGIT`, and nothing else.
fn number(value: &[u8]) -> Option<u64> {
    let digits = scan::trim_ows(value);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

/// C's `atoi`, but for signs before and numbers that do not fit: what is no status is zero or
/// large.
fn leading_number(value: &[u8]) -> u16 {
    let value = value.strip_prefix(b"+").unwrap_or(value);
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0_u16, |number, digit| {
        number.saturating_mul(10).saturating_add(u16::from(digit - b'0'))
    })
}
