//! A request head that holds its bytes: for requests that outlive the buffer they came in, and for
//! heads that were not sent as text (HTTP/2, `RequestHeader`). It is made of names and values as
//! they are; nothing is printed and parsed again.

use crate::request::FieldSpans;
use crate::{Head, Known, RequestHead, Span, Version, limits, scan};
use alloc::vec::Vec;

/// Offsets have 32 bits; heads far below that are as long as any configuration allows.
const HEAD_BYTES_MAX: usize = u32::MAX as usize / 2;

/// A request head with its bytes.
#[derive(Clone, Debug, Default)]
pub struct OwnedHead {
    bytes: Vec<u8>,
    head: Head,
}

impl OwnedHead {
    /// Owns a head that was parsed from `bytes`.
    pub fn new(bytes: &[u8], head: Head) -> Self {
        Self { bytes: bytes.to_vec(), head }
    }

    /// A head of the words of a request line and of fields. Fields that HTTP/1 could not send are
    /// left out. `None` if there are too many, or if they are too long together.
    ///
    /// ```
    /// use message::{Known, OwnedHead, Version};
    ///
    /// let fields: [(&[u8], &[u8]); 2] = [(b"host", b"a"), (b"x-y", b" 1 ")];
    /// let head = OwnedHead::of(b"GET", b"/b?c", Version::Http11, fields).unwrap();
    /// assert_eq!(head.view().request_line(), b"GET /b?c HTTP/1.1");
    /// assert_eq!(head.view().get(Known::Host), Some(&b"a"[..]));
    /// assert_eq!(head.view().get_name(b"X-Y"), Some(&b"1"[..]));
    /// ```
    pub fn of<'f>(
        method: &[u8],
        target: &[u8],
        version: Version,
        fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Option<Self> {
        let mut made = Self::default();
        let method = made.append(method);
        made.bytes.push(b' ');
        let target = made.append(target);
        made.bytes.push(b' ');
        made.append(version.as_str().as_bytes());
        let line = Span::new(0, made.bytes.len());
        made.head.set_line(line, method, target, version);
        made.with(fields)
    }

    /// The same request line with other fields, as [`Self::of`] takes them.
    pub fn with_fields<'f>(
        &self,
        fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Option<Self> {
        let view = self.view();
        let line = view.request_line();
        let mut head = Head::default();
        let [method, target] = [view.method(), view.target()].map(|word| Span::of_part(line, word));
        head.set_line(Span::new(0, line.len()), method, target, view.version());
        Self { bytes: line.to_vec(), head }.with(fields)
    }

    fn with<'f>(mut self, fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>) -> Option<Self> {
        for (name, value) in fields.into_iter().filter(could_be_sent) {
            let value = scan::trim_ows(value);
            let is_full = self.head.fields().len() >= limits::REQUEST_FIELDS_MAX;
            if is_full || self.bytes.len() + name.len() + value.len() > HEAD_BYTES_MAX {
                return None;
            }
            let known = Known::recognise(name);
            let field = FieldSpans { name: self.append(name), value: self.append(value), known };
            self.head.push(field);
        }
        Some(self)
    }

    fn append(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span::new(start, self.bytes.len())
    }

    /// The head to read from.
    #[inline]
    pub fn view(&self) -> RequestHead<'_> {
        self.head.view(&self.bytes)
    }

    /// The bytes that its positions are in: those that were sent, if it was parsed.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn could_be_sent((name, value): &(&[u8], &[u8])) -> bool {
    scan::is_token(name) && scan::is_field_content(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;

    #[test]
    fn fields_take_the_place_of_those_that_were_there() {
        let fields: [(&[u8], &[u8]); 2] = [(b"Host", b"a"), (b"Cookie", b"b")];
        let head = OwnedHead::of(b"GET", b"/", Version::Http10, fields).unwrap();
        let others: [(&[u8], &[u8]); 5] = [
            (b"Host", b" \tb "),
            (b"Bad Name", b"x"),
            (b"X", b"line\r\nbreak"),
            (b"", b"x"),
            (b"Y", b""),
        ];
        let other = head.with_fields(others).unwrap();
        let view = other.view();
        assert_eq!((view.known_method(), view.target()), (Some(Method::Get), &b"/"[..]));
        assert_eq!(
            (view.version(), view.request_line()),
            (Version::Http10, &b"GET / HTTP/1.0"[..])
        );
        let fields: Vec<_> = view.fields().collect();
        assert_eq!(fields, [(&b"Host"[..], &b"b"[..]), (b"Y", b"")]);
        assert!(view.has(Known::Host) && !view.has(Known::Cookie));
        assert_eq!(head.view().get(Known::Host), Some(&b"a"[..]));
    }

    #[test]
    fn there_may_be_too_many() {
        let many = |count| core::iter::repeat_n((&b"a"[..], &b"b"[..]), count);
        let head = |count| OwnedHead::of(b"GET", b"/", Version::Http11, many(count));
        assert!(head(limits::REQUEST_FIELDS_MAX).is_some());
        assert!(head(limits::REQUEST_FIELDS_MAX + 1).is_none());
    }
}
