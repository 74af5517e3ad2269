//! The request head: an incremental parser, strict as httpd's `HttpProtocolOptions Strict`.
//!
//! A line is parsed in one pass when it is complete in the buffer. When it is not, the parser
//! remembers how far it looked for the line end, and parses the line again only once the end is
//! there: input that comes byte by byte costs two looks at each byte, not a quadratic number.
//!
//! Result and limits never depend on how the input was split. A line is judged when its line end
//! is there, except that one over its limit is refused at once; therefore length is judged first.

use alloc::vec::Vec;
use message::request::FieldSpans;
use message::{Head, Known, Refusal, RequestHead, Span, Status, Version, limits, scan};

/// `LimitRequestLine`, `LimitRequestFieldSize`, `LimitRequestFields`.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Bytes of the request line.
    pub request_line_bytes: usize,
    /// Bytes of one field line, and of all values of one name together.
    pub field_bytes: usize,
    /// Number of fields; 0 means as many as can be counted.
    pub fields: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self {
            request_line_bytes: limits::LIMIT_REQUEST_LINE,
            field_bytes: limits::LIMIT_REQUEST_FIELD_SIZE,
            fields: limits::LIMIT_REQUEST_FIELDS,
        }
    }
}

impl HeadLimits {
    /// Those of a client: servers that it did not choose send long cookies and policies, and what
    /// one reader takes no other may refuse. [`limits::ANSWER_HEAD_BYTES`] bounds the whole.
    pub const OF_ANSWERS: Self =
        Self { request_line_bytes: 16 * 1024, field_bytes: 64 * 1024, fields: 1000 };

    pub(crate) fn fields_max(&self) -> usize {
        match self.fields {
            0 => limits::REQUEST_FIELDS_MAX,
            fields => fields.min(limits::REQUEST_FIELDS_MAX),
        }
    }
}

/// httpd reads lines into a buffer of limit + 2 bytes, which also holds a zero byte: a line of
/// limit + 1 bytes, its CRLF not counted, still passes (`read_request_line`, measured).
const SLACK_BYTES: usize = 1;

/// The offsets of a head have 32 bits. Whatever the limits say, nothing beyond this is looked at.
const HEAD_BYTES_MAX: usize = u32::MAX as usize / 2;

/// How far the parser came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadProgress {
    /// Read more, then call again with the same bytes and the new ones.
    Partial,
    /// The head is complete.
    Complete {
        /// Bytes used, skipped empty lines included; the body starts here.
        len: usize,
    },
}

/// Which line comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadPhase {
    RequestLine,
    Fields,
    Done,
}

/// The outcome of looking at one line.
enum LineOutcome {
    /// A line was taken; the next one starts at the offset.
    Next(usize),
    /// The empty line after the fields was taken; the offset is that of the body.
    End(usize),
    /// The buffer ends within the line.
    Cut,
}

/// Parses one request head after the other.
#[derive(Debug)]
pub struct HeadParser {
    phase: HeadPhase,
    /// Where the current line starts.
    line_start: usize,
    /// Up to here there is no line end in the current line.
    scanned: usize,
    empty_lines: u8,
    /// Whether the unfinished line can still be an empty one.
    blank: bool,
    head: Head,
}

impl Default for HeadParser {
    fn default() -> Self {
        Self::new()
    }
}

impl HeadParser {
    /// A parser at the start of a request. It allocates nothing before the first field.
    pub fn new() -> Self {
        Self {
            phase: HeadPhase::RequestLine,
            line_start: 0,
            scanned: 0,
            empty_lines: 0,
            blank: true,
            head: Head::default(),
        }
    }

    /// Goes back to the start of a request and keeps the allocation.
    pub fn reset(&mut self) {
        self.phase = HeadPhase::RequestLine;
        self.start_line(0);
        self.empty_lines = 0;
        self.blank = true;
        self.head.clear();
    }

    /// Parses as far as `buf` goes. `buf` starts at the same byte on every call until the result is
    /// `Complete` or a refusal; it may have grown. After `Complete`, call [`Self::reset`].
    pub fn advance(&mut self, buf: &[u8], limits: &HeadLimits) -> Result<HeadProgress, Refusal> {
        debug_assert!(self.scanned <= buf.len(), "the buffer shrank");
        let buf = &buf[..buf.len().min(HEAD_BYTES_MAX)];
        loop {
            let (line, limit) = match self.phase {
                HeadPhase::RequestLine => {
                    (self.request_line(buf, limits), limits.request_line_bytes)
                }
                HeadPhase::Fields => (self.field_line(buf, limits), limits.field_bytes),
                HeadPhase::Done => return Ok(HeadProgress::Complete { len: self.line_start }),
            };
            match line.inspect_err(|_| self.blank = false)? {
                LineOutcome::Next(start) => self.start_line(start),
                LineOutcome::End(start) => {
                    self.start_line(start);
                    self.phase = HeadPhase::Done;
                }
                LineOutcome::Cut => return self.cut(buf, limit),
            }
        }
    }

    /// The head parsed last; complete only after `Complete`.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The same, joined with its buffer.
    pub const fn request<'a>(&'a self, buf: &'a [u8]) -> RequestHead<'a> {
        self.head.view(buf)
    }

    /// Takes the head out, so that it can outlive the parser's next request.
    pub fn take(&mut self) -> Head {
        core::mem::take(&mut self.head)
    }

    /// Gives a head back for its allocation, and starts a new request.
    pub fn reuse(&mut self, head: Head) {
        self.head = head;
        self.reset();
    }

    /// Whether nothing but empty lines came so far: a close now needs no answer and no log line.
    pub const fn is_blank(&self) -> bool {
        self.blank
    }

    /// Whether the request line is complete and the fields are not: a close now is answered, as
    /// httpd does, since the client may have closed only its own half.
    pub fn is_within_fields(&self) -> bool {
        self.phase == HeadPhase::Fields
    }

    #[inline]
    const fn start_line(&mut self, start: usize) {
        self.line_start = start;
        self.scanned = start;
    }

    /// The buffer ends within a line: remember that, and refuse the line if it is too long already.
    fn cut(&mut self, buf: &[u8], limit: usize) -> Result<HeadProgress, Refusal> {
        let line = &buf[self.line_start..];
        self.scanned = buf.len();
        if self.phase == HeadPhase::RequestLine {
            self.blank = matches!(line, [] | [b'\r']);
        }
        // A CR at the end may belong to the line end, which does not count.
        let len = line.len() - usize::from(line.last() == Some(&b'\r'));
        if !fits(len, limit) || buf.len() == HEAD_BYTES_MAX {
            self.blank = false;
            return Err(self.too_long());
        }
        Ok(HeadProgress::Partial)
    }

    const fn too_long(&self) -> Refusal {
        match self.phase {
            HeadPhase::RequestLine => {
                Refusal::new(Status::URI_TOO_LONG, "request line is longer than LimitRequestLine")
            }
            _ => Refusal::bad_request("field is longer than LimitRequestFieldSize")
                .remark(FIELD_SIZE_REMARK),
        }
    }

    /// The end of the current line without looking at what it holds: the position of its LF.
    fn find_line_end(&self, buf: &[u8]) -> Option<usize> {
        scan::find(&buf[self.scanned..], b'\n').map(|at| self.scanned + at)
    }

    /// Whether a line that was cut before is still cut.
    #[inline]
    fn still_cut(&self, buf: &[u8]) -> bool {
        self.scanned != self.line_start && self.find_line_end(buf).is_none()
    }

    /// A fault in the current line, to be reported only when the line is complete, and only if it
    /// is not too long: then that is the fault.
    #[cold]
    fn fault(&self, buf: &[u8], limit: usize, why: &'static str) -> Result<LineOutcome, Refusal> {
        self.fault_with(buf, limit, Refusal::bad_request(why))
    }

    #[cold]
    fn fault_with(
        &self,
        buf: &[u8],
        limit: usize,
        refusal: Refusal,
    ) -> Result<LineOutcome, Refusal> {
        let Some(lf) = self.find_line_end(buf) else { return Ok(LineOutcome::Cut) };
        let line = &buf[self.line_start..lf];
        let Some((b'\r', line)) = line.split_last() else {
            let bare = Refusal::bad_request("line ends with LF alone");
            return Err(if fits(line.len(), limit) { bare } else { self.too_long() });
        };
        Err(if fits(line.len(), limit) { refusal } else { self.too_long() })
    }

    // ---- the request line ----

    /// RFC 9112 section 3: `method SP request-target SP HTTP-version`, single spaces.
    #[inline]
    fn request_line(&mut self, buf: &[u8], limits: &HeadLimits) -> Result<LineOutcome, Refusal> {
        if self.still_cut(buf) {
            return Ok(LineOutcome::Cut);
        }
        let limit = limits.request_line_bytes;
        let start = self.line_start;
        let rest = &buf[start..];
        if let [b'\r' | b'\n', ..] | [] = rest {
            return self.empty_line(buf, limit);
        }
        let method_len = rest.iter().position(|&byte| !scan::is_token_byte(byte));
        let Some(method_len) = method_len else { return Ok(LineOutcome::Cut) };
        if method_len == 0 || rest[method_len] != b' ' {
            return self.fault(buf, limit, "method is not a token followed by one space");
        }
        let target = &rest[method_len + 1..];
        let Some(target_len) = scan::find_control_or_space(target) else {
            return Ok(LineOutcome::Cut);
        };
        if target_len == 0 || target[target_len] != b' ' {
            return self.fault(buf, limit, "request target is empty or not followed by one space");
        }
        let version_start = method_len + 1 + target_len + 1;
        let Some(version) = rest[version_start..].first_chunk::<10>() else {
            // Shorter than a version and its line end: cut, or wrong if the line end is there.
            return self.fault(buf, limit, NO_VERSION);
        };
        let version = match version {
            b"HTTP/1.1\r\n" => Version::Http11,
            b"HTTP/1.0\r\n" => Version::Http10,
            other => match uncommon_version(other) {
                Ok(version) => version,
                Err(refusal) => return self.fault_with(buf, limit, refusal),
            },
        };
        let line_len = version_start + 8;
        if !fits(line_len, limit) {
            return Err(self.too_long());
        }
        self.head.set_line(
            Span::new(start, start + line_len),
            Span::new(start, start + method_len),
            Span::new(start + method_len + 1, start + version_start - 1),
            version,
        );
        self.blank = false;
        self.phase = HeadPhase::Fields;
        Ok(LineOutcome::Next(start + line_len + 2))
    }

    /// RFC 9112 section 2.2: a server SHOULD ignore at least one empty line before the request.
    #[cold]
    fn empty_line(&mut self, buf: &[u8], limit: usize) -> Result<LineOutcome, Refusal> {
        match &buf[self.line_start..] {
            [] | [b'\r'] => Ok(LineOutcome::Cut),
            [b'\r', b'\n', ..] if self.empty_lines < limits::EMPTY_LINES_MAX => {
                self.empty_lines += 1;
                Ok(LineOutcome::Next(self.line_start + 2))
            }
            [b'\r', b'\n', ..] => Err(Refusal::bad_request("too many empty lines")),
            _ => self.fault(buf, limit, "request line starts with a bare CR"),
        }
    }

    // ---- fields ----

    /// RFC 9112 section 5: `field-name ":" OWS field-value OWS`.
    #[inline]
    fn field_line(&mut self, buf: &[u8], limits: &HeadLimits) -> Result<LineOutcome, Refusal> {
        let limit = limits.field_bytes;
        let start = self.line_start;
        let rest = &buf[start..];
        if let [b'\r', b'\n', ..] = rest {
            // Values cannot be longer than the whole head, which hardly ever reaches the limit.
            if start > limit && self.is_too_long_joined(buf, limit) {
                return Err(Refusal::bad_request(TOO_LONG_JOINED).remark(FIELD_SIZE_REMARK));
            }
            return Ok(LineOutcome::End(start + 2));
        }
        if self.head.fields().len() >= limits.fields_max() && !matches!(rest, [] | [b'\r']) {
            return Err(Refusal::bad_request("more fields than LimitRequestFields")
                .remark("The number of request header fields exceeds this server's limit."));
        }
        if self.still_cut(buf) {
            return Ok(LineOutcome::Cut);
        }
        let name_len = rest.iter().position(|&byte| !scan::is_token_byte(byte));
        let Some(name_len) = name_len else { return Ok(LineOutcome::Cut) };
        if name_len == 0 || rest[name_len] != b':' {
            return self.fault(buf, limit, name_fault(&rest[name_len..], name_len));
        }
        // The value up to the first byte that no value may hold, which is the CR of the line end.
        let mut end = name_len + 1;
        loop {
            let Some(found) = scan::find_control(&rest[end..]) else { return Ok(LineOutcome::Cut) };
            end += found;
            if rest[end] != b'\t' {
                break;
            }
            end += 1;
        }
        match rest[end..] {
            [b'\r', b'\n', ..] => {}
            [b'\r'] => return Ok(LineOutcome::Cut),
            _ => return self.fault(buf, limit, "field value has a control byte or a bare CR"),
        }
        if !fits(end, limit) {
            return Err(self.too_long());
        }
        let (value_start, value_end) = trim(rest, name_len + 1, end);
        self.head.push(FieldSpans {
            name: Span::new(start, start + name_len),
            value: Span::new(start + value_start, start + value_end),
            known: Known::recognise(&rest[..name_len]),
        });
        Ok(LineOutcome::Next(start + end + 2))
    }

    /// httpd joins the values of one name with `, ` and holds the result against the limit, too
    /// (protocol.c, ap_get_mime_headers_core).
    #[cold]
    fn is_too_long_joined(&self, buf: &[u8], limit: usize) -> bool {
        let fields = self.head.fields().iter();
        let mut fields: Vec<(&[u8], usize)> =
            fields.map(|field| (field.name.of(buf), field.value.of(buf).len())).collect();
        fields.sort_by_cached_key(|field| field.0.to_ascii_lowercase());
        fields.chunk_by(|a, b| a.0.eq_ignore_ascii_case(b.0)).any(|same| {
            let values: usize = same.iter().map(|field| field.1).sum();
            same.len() > 1 && values + 2 * (same.len() - 1) > limit
        })
    }
}

#[inline]
const fn fits(line_bytes: usize, limit: usize) -> bool {
    line_bytes <= limit.saturating_add(SLACK_BYTES)
}

/// Bounds of `line[start..end]` without the white space around the value. Only space and tab are
/// white space: 0x85 and 0xa0 stay.
#[inline]
fn trim(line: &[u8], mut start: usize, mut end: usize) -> (usize, usize) {
    while start < end && matches!(line[start], b' ' | b'\t') {
        start += 1;
    }
    while start < end && matches!(line[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    (start, end)
}

/// Says what is wrong with a field name that is not followed by a colon.
fn name_fault(rest: &[u8], name_len: usize) -> &'static str {
    match (rest.first(), name_len) {
        // RFC 9112 section 5.2: obs-fold is refused, not unfolded.
        (Some(b' ' | b'\t'), 0) => "line starts with white space (obsolete folding)",
        (Some(b':'), 0) => "field name is empty",
        // RFC 9112 section 5.1: MUST be refused with 400.
        (Some(b' ' | b'\t'), _) => "field name followed by white space",
        (Some(b'\r' | b'\n') | None, _) => "field has no colon",
        _ => "field name has a byte that is not allowed",
    }
}

const NO_VERSION: &str = "request line does not end with a protocol version";

/// What httpd's page says (ap_get_mime_headers_core of protocol.c).
const FIELD_SIZE_REMARK: &str = "Size of a request header field exceeds server limit.";

const TOO_LONG_JOINED: &str = "fields of one name are together longer than LimitRequestFieldSize";

/// Versions other than 1.0 and 1.1, on the last ten bytes of the request line. A higher minor one
/// is taken for 1.1 (RFC 9110 section 2.5). Who speaks another major one expects other answers than
/// these: 505 (section 15.6.6), where httpd goes on as with 1.1.
#[cold]
fn uncommon_version(text: &[u8; 10]) -> Result<Version, Refusal> {
    let [b'H', b'T', b'T', b'P', b'/', major, b'.', minor, b'\r', b'\n'] = text else {
        return Err(Refusal::bad_request(NO_VERSION));
    };
    let unsupported =
        Refusal::new(Status::HTTP_VERSION_NOT_SUPPORTED, "protocol version is above 1");
    match (major, minor) {
        (b'1', b'0'..=b'9') => Ok(Version::Http11),
        (b'2'..=b'9', b'0'..=b'9') => Err(unsupported),
        _ => Err(Refusal::bad_request("protocol version is malformed or below 1.0")),
    }
}

/// For fuzz targets: parses `data` whole, and in steps of the size that the first byte selects;
/// both must agree, and every piece of the head must keep what the parser promises.
pub fn fuzz_head(data: &[u8]) {
    let Some((&step, input)) = data.split_first() else { return };
    let limits = HeadLimits { request_line_bytes: 64, field_bytes: 64, fields: 8 };
    let mut whole = HeadParser::new();
    let expect = whole.advance(input, &limits);
    let mut split = HeadParser::new();
    let mut got = Ok(HeadProgress::Partial);
    let mut end = 0;
    while got == Ok(HeadProgress::Partial) && end < input.len() {
        end = input.len().min(end + 1 + usize::from(step));
        got = split.advance(&input[..end], &limits);
    }
    if !input.is_empty() {
        assert_eq!(got, expect, "the result depends on how the input was split");
        assert_eq!(whole.is_blank(), split.is_blank());
    }
    let Ok(HeadProgress::Complete { len }) = expect else { return };
    assert_eq!(whole.head(), split.head());
    assert!(len <= input.len() && input[..len].ends_with(b"\r\n\r\n"));
    let request = whole.request(input);
    assert!(scan::is_token(request.method()) && !request.target().is_empty());
    assert!(request.field_count() <= limits.fields);
    for (name, value) in request.fields() {
        assert!(scan::is_token(name), "a name is a token");
        assert!(value.iter().all(|&b| b == b'\t' || (b >= b' ' && b != 0x7f)));
        assert_eq!(scan::trim_ows(value), value);
        assert!(request.get_name(name).is_some());
    }
}
