//! A response before it is written: status, fields, and a body. A body whose length is not known
//! comes from a [`BodySource`], piece by piece.

use crate::failure::Failure;
use crate::representation::Representation;
use crate::send_rate::SendRate;
use crate::transport::Transport;
use http1::PageFacts;
use message::{Field, ResponseHead, Status};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{self, Poll};

/// A response. `Date`, `Server`, `Content-Length` and the fields about the connection are added
/// when it is written. A field `Content-Length` among `fields` only says where the length stands;
/// its value is not used.
pub struct Response {
    /// The status.
    pub status: Status,
    /// Code and reason in the words of a script or a file.
    pub status_line: Option<Vec<u8>>,
    /// The fields, in the order in which they are sent.
    pub fields: Vec<Field>,
    /// Encoding and languages of a file, which stand behind its type (http_filters.c,
    /// merge_response_headers). To whom asks for a field they are like all others.
    pub late: Vec<Field>,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// The body.
    pub body: Body,
    /// Whether the response is one of the server's own pages: those pass no filters.
    pub is_canned: bool,
    /// Whether the body is all that is sent: whoever made it writes the head, too.
    pub is_raw: bool,
    /// The second that `Date` tells; that of sending if nobody says.
    pub date_s: Option<i64>,
    /// Whoever speaks on the stream when the head was sent, which has no body then.
    pub takes_over: Option<TakesOver>,
    /// How fast it is sent; `None` for as fast as the client takes it.
    pub rate: Option<SendRate>,
    /// What filters leave for the access log; of a stream it is complete when that has been sent.
    pub notes: Option<Notes>,
}

/// What was said of the response to a request before there was one.
#[derive(Clone, Default)]
pub struct OutputFields {
    /// Fields of a good response (`r->headers_out`).
    pub fields: Vec<Field>,
    /// Fields of every response (`r->err_headers_out`).
    pub always: Vec<Field>,
    /// Fields of the request that conditions looked at, for `Vary`.
    pub vary: RefCell<Vec<String>>,
}

impl OutputFields {
    /// What is left of it behind an internal redirect.
    pub(crate) fn redirected(&self) -> Self {
        Self { always: self.always.clone(), ..Self::default() }
    }

    /// What was said for `outer`, which this look-up is to replace, comes first.
    pub(crate) fn inherit(&mut self, outer: &mut Self) {
        self.fields.splice(0..0, outer.fields.drain(..));
        self.always.splice(0..0, outer.always.drain(..));
        self.vary.get_mut().splice(0..0, outer.vary.take());
    }
}

/// What goes on after a 101, or after a 2xx to CONNECT (RFC 9110 sections 7.8 and 9.3.6): another
/// protocol than HTTP, until the future ends. It holds no request slot meanwhile. It says how many
/// bytes it has sent, for the log.
pub(crate) type TakesOver = Box<dyn FnOnce(Upgraded) -> Pin<Box<dyn Future<Output = u64>>>>;

/// The stream of a request that was upgraded.
pub struct Upgraded {
    /// The stream.
    pub transport: Transport,
    /// What the client has sent behind its request already.
    pub input: Vec<u8>,
}

/// Names and values that belong to a request.
pub type Notes = Rc<RefCell<Vec<(String, String)>>>;

/// Pieces that are sent one after the other.
#[derive(Default)]
pub struct Body {
    /// Its parts, in order.
    pub pieces: Vec<BodyPiece>,
}

/// A piece of a body.
pub enum BodyPiece {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// Part of a file.
    File {
        /// The open file.
        source: Rc<Representation>,
        /// Position of the first byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// Bytes that come as they are made.
    Stream(Box<dyn BodySource>),
}

/// Where the bytes of a body come from when nobody knows how many there will be.
pub trait BodySource {
    /// The next bytes, or `None` at the end, after which it is not asked again. It is asked only
    /// when the socket has taken what came before, so that a slow reader slows the source, too. An
    /// empty piece is no end: it says that others of this thread may have their turn first.
    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>>;

    /// It is not waited for at present: the client comes first.
    fn pause(&mut self) {}
}

impl Body {
    /// A body in memory.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self { pieces: vec![BodyPiece::Bytes(bytes)] }
    }

    /// A body whose length is not known.
    pub fn stream(source: impl BodySource + 'static) -> Self {
        Self::source(Box::new(source))
    }

    /// A body whose length is not known, of a source that has its own memory.
    pub fn source(source: Box<dyn BodySource>) -> Self {
        Self { pieces: vec![BodyPiece::Stream(source)] }
    }

    /// Total length, if it is known.
    #[expect(clippy::len_without_is_empty, reason = "what has no known length is not empty")]
    pub fn len(&self) -> Option<u64> {
        self.pieces.iter().map(BodyPiece::len).sum()
    }
}

impl BodyPiece {
    /// How many bytes the piece has; `None` for a stream, which ends when it ends.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File { length, .. } => Some(*length),
            Self::Stream(_) => None,
        }
    }

    /// `length` bytes from `first` on, which it must have; `None` for a stream.
    pub(crate) fn part(&self, first: u64, length: u64) -> Option<Self> {
        match self {
            Self::Bytes(bytes) => {
                let first = usize::try_from(first).ok()?;
                let end = first.checked_add(usize::try_from(length).ok()?)?;
                Some(Self::Bytes(bytes.get(first..end)?.to_vec()))
            }
            Self::File { source, offset, .. } => {
                Some(Self::File { source: source.clone(), offset: offset + first, length })
            }
            Self::Stream(_) => None,
        }
    }
}

/// What httpd says about the pages it makes itself.
const PAGE_TYPE: &str = "text/html; charset=iso-8859-1";

impl Response {
    /// What is wrong with a field that is not one line (check_headers of http_filters.c).
    pub(crate) fn bad_field(&self) -> Option<Failure> {
        let of_type = self.content_type.as_ref();
        let of_type = of_type.and_then(|it| Failure::of_field("Content-Type", it.as_bytes()));
        of_type.or_else(|| self.fields.iter().find_map(|it| Failure::of_field(&it.0, &it.1)))
    }

    /// A response without fields and body.
    pub fn new(status: Status) -> Self {
        Self {
            status,
            status_line: None,
            fields: Vec::new(),
            late: Vec::new(),
            content_type: None,
            body: Body::default(),
            is_canned: false,
            is_raw: false,
            date_s: None,
            takes_over: None,
            rate: None,
            notes: None,
        }
    }

    /// Add a field.
    pub fn field(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Take the head out, complete, with its fields in httpd's order: `length` and the media type
    /// where a field says that they stand; else the length, what the protocol `adds`, the type, and
    /// what is said of a file.
    pub(crate) fn take_head(
        &mut self,
        length: Option<u64>,
        adds: impl IntoIterator<Item = Field>,
    ) -> ResponseHead {
        let content_type = self.content_type.take().filter(|_| !self.status.is_bodyless());
        let has_type = content_type.is_some();
        let mut media_type = content_type.map(|text| ("Content-Type".into(), text.into_bytes()));
        let mut length = length.map(|n| ("Content-Length".into(), n.to_string().into_bytes()));
        let mut fields = Vec::with_capacity(self.fields.len() + self.late.len() + 4);
        for field in std::mem::take(&mut self.fields) {
            if field.0.eq_ignore_ascii_case("Content-Length") {
                fields.extend(length.take());
            } else if has_type && field.0.eq_ignore_ascii_case("Content-Type") {
                fields.extend(media_type.take());
            } else {
                fields.push(field);
            }
        }
        fields.extend(length);
        fields.extend(adds);
        fields.extend(media_type);
        fields.append(&mut self.late);
        ResponseHead { status: self.status, status_line: self.status_line.take(), fields }
    }

    /// The first value of a field.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.fields.iter().chain(&self.late);
        all.find(|field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1.as_slice())
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        let mut all = self.fields.iter_mut().chain(&mut self.late);
        all.find(|field| field.0.eq_ignore_ascii_case(name)).map(|field| &mut field.1)
    }

    /// Set a field, whatever it was.
    pub fn set(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        match self.get_mut(name) {
            Some(known) => *known = value.into(),
            None => self.fields.push((name.to_owned().into(), value.into())),
        }
    }

    /// Take a field out.
    pub fn unset(&mut self, name: &str) {
        self.fields.retain(|field| !field.0.eq_ignore_ascii_case(name));
        self.late.retain(|field| !field.0.eq_ignore_ascii_case(name));
    }

    /// Add `value` to a list field, unless it is there (apr_table_mergen, ap_set_vary).
    pub fn merge(&mut self, name: &str, value: &str) {
        let Some(known) = self.get_mut(name) else {
            return self.fields.push((name.to_owned().into(), value.into()));
        };
        let is_there = |part: &[u8]| part.trim_ascii().eq_ignore_ascii_case(value.as_bytes());
        if !known.split(|byte| *byte == b',').any(is_there) {
            known.extend_from_slice(b", ");
            known.extend_from_slice(value.as_bytes());
        }
    }

    /// The fields of every response come before those of a good one, and take the place of those
    /// of the same name (apr_table_overlay in http_filters.c).
    pub(crate) fn lay_under(&mut self, always: Vec<Field>) {
        self.fields.splice(0..0, always);
    }

    /// What is said of a file takes the place of what modules have set meanwhile; languages that
    /// only they name stay (http_filters.c, merge_response_headers).
    pub(crate) fn settle_late(&mut self) {
        for (name, value) in std::mem::take(&mut self.late) {
            let is_it = |field: &&mut Field| field.0.eq_ignore_ascii_case(&name);
            let Some(known) = self.fields.iter_mut().find(is_it) else {
                self.late.push((name, value));
                continue;
            };
            let set = std::mem::replace(&mut known.1, value);
            let part = |list: &[u8], wanted: &[u8]| {
                list.split(|byte| *byte == b',').any(|one| one.eq_ignore_ascii_case(wanted))
            };
            let more = set.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            for language in more.filter(|one| !one.is_empty() && name == "Content-Language") {
                if !part(&known.1, language) {
                    known.1.push(b',');
                    known.1.extend_from_slice(language);
                }
            }
        }
    }

    /// One `Vary` with each name once, as httpd sends it: joined by bare commas (fixup_vary of
    /// http_filters.c).
    pub(crate) fn join_vary(&mut self) {
        let is_vary = |field: &Field| field.0.eq_ignore_ascii_case("Vary");
        let Some(at) = self.fields.iter().position(is_vary) else { return };
        let mut names: Vec<&[u8]> = Vec::new();
        for field in self.fields.iter().filter(|field| is_vary(field)) {
            for name in field.1.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                let is_new = names.iter().all(|known| !known.eq_ignore_ascii_case(name));
                if is_new && !name.is_empty() {
                    names.push(name);
                }
            }
        }
        let joined = names.join(&b","[..]);
        self.unset("Vary");
        self.fields.insert(at, ("Vary".into(), joined));
    }

    /// What an error brings that a document answers in its place.
    pub(crate) fn adopt(&mut self, mut failure: Failure) {
        self.fields.extend(std::mem::take(&mut failure.fields));
        if let Some(seconds) = failure.retry_after_s {
            self.fields.push(("Retry-After".into(), seconds.to_string().into_bytes()));
        }
    }

    /// Whether the response is a 200 with all of one file, or of something in memory.
    pub(crate) fn is_whole_file(&self) -> bool {
        self.status == Status::OK
            && matches!(
                self.body.pieces.as_slice(),
                [] | [BodyPiece::File { .. } | BodyPiece::Bytes(_)]
            )
    }

    /// A page in memory.
    pub fn page(content_type: impl Into<String>, body: Vec<u8>) -> Self {
        let mut page = Self::new(Status::OK);
        page.content_type = Some(content_type.into());
        page.body = Body::bytes(body);
        page
    }

    /// What a script sends that writes its own head. It is no page, but passes no filters either.
    pub fn raw() -> Self {
        Self { is_canned: true, is_raw: true, ..Self::new(Status::OK) }
    }

    /// httpd's page for `status`.
    pub(crate) fn canned(status: Status, facts: &PageFacts<'_>) -> Self {
        let mut body = Vec::new();
        http1::error_page(status, facts, &mut body);
        Self { status, is_canned: true, ..Self::page(PAGE_TYPE, body) }
    }

    /// The page for a failure. `method` and `expect` are what the client sent.
    pub(crate) fn failure(failure: &Failure, method: &[u8], expect: Option<&[u8]>) -> Self {
        let remark = failure.remark;
        let facts = PageFacts { method, expect, remark, ..PageFacts::default() };
        let page = Self::canned(failure.status, &facts);
        match failure.retry_after_s {
            Some(seconds) => page.field("Retry-After", seconds.to_string()),
            None => page,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(fields: &[(&'static str, &str)], late: &[(&'static str, &str)]) -> Response {
        let list = |rows: &[(&'static str, &str)]| {
            rows.iter().map(|row| (row.0.into(), row.1.into())).collect()
        };
        Response { fields: list(fields), late: list(late), ..Response::new(Status::OK) }
    }

    fn shown(fields: &[Field]) -> String {
        let show = |field: &Field| format!("{}: {}", field.0, field.1.escape_ascii());
        fields.iter().map(show).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn what_a_file_says_of_itself_stands_where_it_was_set() {
        let late = [("Content-Encoding", "gzip"), ("Content-Language", "de,en")];
        let mut response = response(&[("content-language", "fr, en"), ("X", "y")], &late);
        response.settle_late();
        assert_eq!(shown(&response.fields), "content-language: de,en,fr | X: y");
        assert_eq!(shown(&response.late), "Content-Encoding: gzip");
    }

    #[test]
    fn fields_are_the_same_to_all_wherever_they_stand() {
        let mut response = response(&[("A", "1")], &[("Content-Encoding", "gzip")]);
        assert_eq!(response.get("content-encoding"), Some(&b"gzip"[..]));
        response.merge("Content-Encoding", "br");
        response.set("B", "2");
        assert_eq!(shown(&response.late), "Content-Encoding: gzip, br");
        response.unset("Content-Encoding");
        assert_eq!((shown(&response.fields).as_str(), response.late.len()), ("A: 1 | B: 2", 0));
    }

    #[test]
    fn vary_is_one_field_with_each_name_once() {
        let fields = [("Vary", "a, b"), ("X", "y"), ("vary", "B ,c,")];
        let mut response = response(&fields, &[]);
        response.join_vary();
        assert_eq!(shown(&response.fields), "Vary: a,b,c | X: y");
    }
}
