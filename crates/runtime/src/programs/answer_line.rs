//! What goes between the server and the program of a map (`RewriteMap name prg:`): a key in a line,
//! and in a line what it stands for. No descriptor and no clock may live here.

/// Bytes of a key at most: it and its line feed fill an empty pipe, so that writing them never
/// waits for a program that has read all before. A URL is far shorter; only fields of the request
/// that a rule joins could come near.
pub(super) const KEY_BYTES_MAX: usize = 64 * 1024 - 1;

/// Bytes of a value at most, several times what a URL may have: a program that goes on for ever
/// must not fill memory. httpd has no bound.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;

/// What a map has for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapAnswer {
    /// The key stands for this.
    Value(Vec<u8>),
    /// The key stands for nothing: the program has said `NULL`.
    NotFound,
    /// The program has not answered.
    None,
}

/// How the packets begin that say so.
const VALUE: u8 = b'=';
const NOT_FOUND: u8 = b'0';
const NONE: u8 = b'-';

impl MapAnswer {
    /// As a packet.
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Value(value) => [&[VALUE][..], value].concat(),
            Self::NotFound => vec![NOT_FOUND],
            Self::None => vec![NONE],
        }
    }

    /// What a packet says; one that makes no sense is no answer.
    pub(super) fn decode(packet: &[u8]) -> Self {
        match packet {
            [VALUE, value @ ..] => Self::Value(value.to_vec()),
            [NOT_FOUND] => Self::NotFound,
            _ => Self::None,
        }
    }

    /// What a line says, without its end. httpd reads it as a text of C, which ends at a zero.
    fn of_line(line: &[u8]) -> Self {
        let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
        match line.eq_ignore_ascii_case(b"NULL") {
            true => Self::NotFound,
            false => Self::Value(line.to_vec()),
        }
    }
}

/// The line that asks for `key`; `None` for a key that no line can hold: the program would take a
/// part of it for the next question.
pub fn question_line(key: &[u8]) -> Option<Vec<u8>> {
    let fits = key.len() <= KEY_BYTES_MAX && !key.iter().any(|byte| matches!(byte, b'\n' | 0));
    fits.then(|| [key, b"\n"].concat())
}

/// What a program has said since it was asked.
#[derive(Debug, Default)]
pub struct AnswerLine {
    bytes: Vec<u8>,
}

/// A line that is longer than [`VALUE_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTooLong;

impl AnswerLine {
    /// It says more.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether it has said nothing that is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The answer, once its line is there.
    ///
    /// # Errors
    /// When the line is too long, whether it has ended or not.
    pub fn take(&mut self) -> Result<Option<MapAnswer>, LineTooLong> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n');
        if end.unwrap_or(self.bytes.len()) > VALUE_BYTES_MAX {
            return Err(LineTooLong);
        }
        let Some(end) = end else { return Ok(None) };
        let rest = self.bytes.split_off(end + 1);
        let line = std::mem::replace(&mut self.bytes, rest);
        Ok(Some(MapAnswer::of_line(&line[..end])))
    }

    /// The answer of a program that says no more: to httpd its last line needs no end.
    pub fn end(&mut self) -> Option<MapAnswer> {
        let line = std::mem::take(&mut self.bytes);
        (!line.is_empty()).then(|| MapAnswer::of_line(&line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &[u8]) -> MapAnswer {
        MapAnswer::Value(text.to_vec())
    }

    #[test]
    fn a_key_is_a_line() {
        assert_eq!(question_line(b"a b\r").as_deref(), Some(&b"a b\r\n"[..]));
        assert_eq!(question_line(b"").as_deref(), Some(&b"\n"[..]));
        for key in [&b"a\nb"[..], b"\n", b"a\0b"] {
            assert_eq!(question_line(key), None, "{key:?}");
        }
        assert!(question_line(&[b'x'; KEY_BYTES_MAX]).is_some());
        assert!(question_line(&[b'x'; KEY_BYTES_MAX + 1]).is_none());
    }

    #[test]
    fn an_answer_is_a_line_however_it_comes() {
        for (line, answer) in [
            (&b"value\n"[..], value(b"value")),
            (b"\n", value(b"")),
            (b"a\r\n", value(b"a\r")),
            (b"a\0b\n", value(b"a")),
            (b"NULL\n", MapAnswer::NotFound),
            (b"nuLL\n", MapAnswer::NotFound),
            (b"NULL \n", value(b"NULL ")),
            (b"NULL\0x\n", MapAnswer::NotFound),
        ] {
            for cut in 0..line.len() {
                let mut said = AnswerLine::default();
                said.add(&line[..cut]);
                assert_eq!(said.take(), Ok(None), "{line:?} cut at {cut}");
                said.add(&line[cut..]);
                assert_eq!(said.take(), Ok(Some(answer.clone())), "{line:?} cut at {cut}");
                assert!(said.is_empty());
            }
        }
    }

    #[test]
    fn what_follows_a_line_stays() {
        let mut said = AnswerLine::default();
        said.add(b"one\ntwo");
        assert_eq!(said.take(), Ok(Some(value(b"one"))));
        assert!(!said.is_empty());
        assert_eq!(said.take(), Ok(None));
        assert_eq!((said.end(), said.end()), (Some(value(b"two")), None));
    }

    #[test]
    fn a_line_is_bounded() {
        let mut said = AnswerLine::default();
        said.add(&[b'x'; VALUE_BYTES_MAX]);
        assert_eq!(said.take(), Ok(None));
        said.add(b"\n");
        assert_eq!(said.take(), Ok(Some(value(&[b'x'; VALUE_BYTES_MAX]))));
        for end in ["x", "x\n"] {
            let mut said = AnswerLine::default();
            said.add(&[b'x'; VALUE_BYTES_MAX]);
            said.add(end.as_bytes());
            assert_eq!(said.take(), Err(LineTooLong));
        }
    }

    #[test]
    fn packets_say_what_they_were_made_of() {
        for answer in [value(b""), value(b"-"), MapAnswer::NotFound, MapAnswer::None] {
            assert_eq!(MapAnswer::decode(&answer.encode()), answer);
        }
        for packet in [&b""[..], b"0x", b"-x", b"?"] {
            assert_eq!(MapAnswer::decode(packet), MapAnswer::None, "{packet:?}");
        }
    }
}
