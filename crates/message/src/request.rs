//! The parsed head of a request: positions into the buffer it came from, and a view that joins the
//! two. Nothing is copied out of the buffer.

use crate::known::{COUNT, Known, KnownSet};
use crate::{Method, Version, limits};
use alloc::vec::Vec;

/// A piece of the buffer. Offsets have 32 bits: a head is never longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The piece from `start` up to `end`. Whoever makes spans refuses buffers that are longer than
    /// their offsets can tell.
    #[inline]
    pub const fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && end <= u32::MAX as usize);
        Self { start: start as u32, end: end as u32 }
    }

    /// Where `part`, a piece of `whole`, stands in it.
    #[inline]
    pub fn of_part(whole: &[u8], part: &[u8]) -> Self {
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        debug_assert!(start <= whole.len() && part.len() <= whole.len() - start, "not a part");
        Self::new(start, start + part.len())
    }

    /// The bytes; empty if `buf` is not the buffer the span was made for and is too short.
    #[inline]
    pub fn of(self, buf: &[u8]) -> &[u8] {
        buf.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// One field line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpans {
    /// The name, a token, in the case it was sent in.
    pub name: Span,
    /// The value without white space around it.
    pub value: Span,
    /// The name, if it is a known one.
    pub known: Option<Known>,
}

/// A parsed head without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    line: Span,
    method: Span,
    target: Span,
    version: Version,
    fields: Vec<FieldSpans>,
    /// Index of the first field of each name; valid only for members of `seen`.
    first: [u16; COUNT],
    seen: KnownSet,
    twice: KnownSet,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            line: Span::default(),
            method: Span::default(),
            target: Span::default(),
            version: Version::default(),
            fields: Vec::new(),
            first: [0; COUNT],
            seen: KnownSet::EMPTY,
            twice: KnownSet::EMPTY,
        }
    }
}

impl Head {
    /// Joins the head with the buffer it was parsed from.
    pub const fn view<'a>(&'a self, buf: &'a [u8]) -> RequestHead<'a> {
        RequestHead { buf, head: self }
    }

    /// What can be told of a request line that was refused, as httpd tells it
    /// (`read_request_line` of protocol.c). There are no fields.
    pub fn of_refused(line: &[u8]) -> Self {
        let span = |word: &[u8]| Span::of_part(line, word);
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let mut next = || words.next().map_or_else(Span::default, span);
        let (method, target) = (next(), next());
        Self { line: Span::new(0, line.len()), method, target, ..Self::default() }
    }

    /// Sets what the request line says: the line without its end, the method and the target in it.
    #[inline]
    pub const fn set_line(&mut self, line: Span, method: Span, target: Span, version: Version) {
        (self.line, self.method, self.target, self.version) = (line, method, target, version);
    }

    /// Where the method stands.
    pub const fn method(&self) -> Span {
        self.method
    }

    /// Where the line stands.
    pub const fn line(&self) -> Span {
        self.line
    }

    /// The version the message is treated as.
    #[inline]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The field lines in the order they came.
    #[inline]
    pub const fn fields(&self) -> &[FieldSpans] {
        self.fields.as_slice()
    }

    /// Forgets the fields and keeps the allocation.
    #[inline]
    pub fn clear(&mut self) {
        self.fields.clear();
        self.seen = KnownSet::EMPTY;
        self.twice = KnownSet::EMPTY;
    }

    /// Appends a field line. There are at most [`limits::REQUEST_FIELDS_MAX`].
    #[inline]
    pub fn push(&mut self, field: FieldSpans) {
        if let Some(known) = field.known {
            if self.seen.insert(known) {
                self.twice.insert(known);
            } else {
                debug_assert!(self.fields.len() < limits::REQUEST_FIELDS_MAX, "too many fields");
                self.first[known as usize] = self.fields.len() as u16;
            }
        }
        self.fields.push(field);
    }
}

/// A request head to read from.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The buffer the head was parsed from.
    pub buf: &'a [u8],
    /// The positions in it.
    pub head: &'a Head,
}

impl<'a> RequestHead<'a> {
    /// The whole request line without its line end, for the `%r` of logs.
    #[inline]
    pub fn request_line(&self) -> &'a [u8] {
        self.head.line.of(self.buf)
    }

    /// The method, a token.
    #[inline]
    pub fn method(&self) -> &'a [u8] {
        self.head.method.of(self.buf)
    }

    /// The method, if it is a registered one.
    #[inline]
    pub fn known_method(&self) -> Option<Method> {
        Method::parse(self.method())
    }

    /// The request target as sent.
    #[inline]
    pub fn target(&self) -> &'a [u8] {
        self.head.target.of(self.buf)
    }

    /// The version the request is treated as.
    #[inline]
    pub const fn version(&self) -> Version {
        self.head.version
    }

    /// The protocol as sent, such as `HTTP/1.1`.
    #[inline]
    pub fn protocol(&self) -> &'a [u8] {
        let line = self.request_line();
        &line[line.len().saturating_sub("HTTP/1.1".len())..]
    }

    /// The number of fields.
    #[inline]
    pub const fn field_count(&self) -> usize {
        self.head.fields.len()
    }

    /// Names and values in the order they came.
    pub fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let buf = self.buf;
        self.head.fields.iter().map(move |field| (field.name.of(buf), field.value.of(buf)))
    }

    /// As [`Self::fields`], with what the parser knows about each name.
    pub fn known_fields(
        &self,
    ) -> impl Iterator<Item = (Option<Known>, &'a [u8], &'a [u8])> + use<'a> {
        let buf = self.buf;
        self.head.fields.iter().map(move |f| (f.known, f.name.of(buf), f.value.of(buf)))
    }

    /// The value of the first field of this name.
    #[inline]
    pub fn get(&self, name: Known) -> Option<&'a [u8]> {
        if !self.has(name) {
            return None;
        }
        let index = usize::from(self.head.first[name as usize]);
        self.head.fields.get(index).map(|field| field.value.of(self.buf))
    }

    /// The values of all fields of this name, in order.
    pub fn get_all(&self, name: Known) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let start = if self.has(name) { usize::from(self.head.first[name as usize]) } else { 0 };
        let count = if self.has(name) { usize::MAX } else { 0 };
        let buf = self.buf;
        let fields = self.head.fields.iter().skip(start).take(count);
        fields.filter(move |field| field.known == Some(name)).map(move |field| field.value.of(buf))
    }

    /// The value of the first field of this name in any case.
    pub fn get_name(&self, name: &[u8]) -> Option<&'a [u8]> {
        match Known::recognise(name) {
            Some(known) => self.get(known),
            None => self.fields().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1),
        }
    }

    /// Whether a field of this name was sent.
    #[inline]
    pub const fn has(&self, name: Known) -> bool {
        self.head.seen.has(name)
    }

    /// Whether it was sent more than once.
    #[inline]
    pub const fn duplicated(&self, name: Known) -> bool {
        self.head.twice.has(name)
    }

    /// The known names that were sent.
    #[inline]
    pub const fn seen(&self) -> KnownSet {
        self.head.seen
    }
}
