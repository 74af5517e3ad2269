//! A response as a strict client reads it. What a lenient client would forgive is an error here:
//! bare line feeds, fields without a name, two lengths, a length that is no number.

/// One final response, with the interim responses that came before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// `HTTP/1.1`.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// The reason phrase.
    pub reason: String,
    /// Every field line in order, names as sent.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The content, without its framing.
    pub body: Vec<u8>,
    /// The status codes of interim (1xx) responses.
    pub interim: Vec<u16>,
}

/// How the end of a body is found (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none: HEAD, 1xx, 204, 304.
    None,
    /// `Content-Length`.
    Length(usize),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// It ends with the connection.
    UntilClose,
}

impl Response {
    /// The value of the first field of that name.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(each, _)| each.eq_ignore_ascii_case(name));
        found.map(|(_, value)| std::str::from_utf8(value).expect("a field value is UTF-8"))
    }

    /// The number of field lines of that name.
    pub fn count(&self, name: &str) -> usize {
        self.fields.iter().filter(|(each, _)| each.eq_ignore_ascii_case(name)).count()
    }

    /// Whether the server says that it closes the connection.
    pub fn says_close(&self) -> bool {
        let option = self.field("Connection").unwrap_or("");
        option.split(',').any(|each| each.trim().eq_ignore_ascii_case("close"))
    }

    /// The content as text, bytes outside UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Parses a head, its empty line included.
    pub(crate) fn parse_head(head: &[u8]) -> Result<Self, String> {
        let text = head.strip_suffix(b"\r\n\r\n").ok_or("a head without its empty line")?;
        if text.contains(&0) {
            return Err("a NUL byte in the head".into());
        }
        let mut lines = split_lines(text)?.into_iter();
        let (version, status, reason) = status_line(lines.next().unwrap_or(b""))?;
        let fields = lines.map(field_line).collect::<Result<Vec<_>, _>>()?;
        let response =
            Self { version, status, reason, fields, body: Vec::new(), interim: Vec::new() };
        response.check_single_fields()?;
        // The lower version is for clients that can bear no more; such a connection never goes on.
        if response.version == "HTTP/1.0" && !response.says_close() {
            return Err("HTTP/1.0 without Connection: close".into());
        }
        Ok(response)
    }

    /// Fields that must not be repeated, since two recipients could choose differently.
    fn check_single_fields(&self) -> Result<(), String> {
        const SINGLE: [&str; 8] = [
            "Content-Length",
            "Transfer-Encoding",
            "Content-Type",
            "Content-Range",
            "Date",
            "ETag",
            "Last-Modified",
            "Server",
        ];
        match SINGLE.iter().find(|name| self.count(name) > 1) {
            Some(name) => Err(format!("more than one {name}")),
            None => Ok(()),
        }
    }

    /// Decides where the body ends.
    pub(crate) fn framing(&self, to_head: bool) -> Result<Framing, String> {
        let length = self.field("Content-Length");
        let coding = self.field("Transfer-Encoding");
        if length.is_some() && coding.is_some() {
            return Err("both Content-Length and Transfer-Encoding".into());
        }
        if matches!(self.status, 100..=199 | 204) && (length.is_some() || coding.is_some()) {
            return Err(format!("a length or coding on {}", self.status));
        }
        if to_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::None);
        }
        match (length, coding) {
            (Some(digits), _) => parse_length(digits).map(Framing::Length),
            (None, Some("chunked")) => Ok(Framing::Chunked),
            (None, Some(other)) => Err(format!("transfer coding {other:?}")),
            (None, None) => Ok(Framing::UntilClose),
        }
    }
}

/// Splits at CRLF; a CR or LF elsewhere is an error.
fn split_lines(text: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut lines = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        lines.push(line.strip_suffix(b"\r").unwrap_or(line));
    }
    // The last line lost its CRLF to the caller; all others must have had a CR.
    let expected = text.windows(2).filter(|pair| pair == b"\r\n").count();
    let stray = lines.iter().any(|line| line.contains(&b'\r'));
    if lines.len() != expected + 1 || stray {
        return Err(format!("a bare CR or LF in {:?}", String::from_utf8_lossy(text)));
    }
    Ok(lines)
}

/// `HTTP/1.1 200 OK` (RFC 9112 section 4).
fn status_line(line: &[u8]) -> Result<(String, u16, String), String> {
    let text = String::from_utf8_lossy(line).into_owned();
    let wrong = || format!("status line {text:?}");
    let (version, rest) = text.split_once(' ').ok_or_else(wrong)?;
    let (code, reason) = rest.split_once(' ').ok_or_else(wrong)?;
    let digits = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    if !["HTTP/1.0", "HTTP/1.1"].contains(&version) || !digits {
        return Err(wrong());
    }
    Ok((version.into(), code.parse().map_err(|_| wrong())?, reason.into()))
}

/// `Name: value` (RFC 9112 section 5); no folding, no space before the colon.
fn field_line(line: &[u8]) -> Result<(String, Vec<u8>), String> {
    let wrong = || format!("field line {:?}", String::from_utf8_lossy(line));
    let colon = line.iter().position(|&byte| byte == b':').ok_or_else(wrong)?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    let token = |&byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let printable = |&byte: &u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
    if name.is_empty() || !name.iter().all(token) || !value.iter().all(printable) {
        return Err(wrong());
    }
    Ok((String::from_utf8_lossy(name).into_owned(), value.to_vec()))
}

/// Decimal digits and nothing else.
fn parse_length(digits: &str) -> Result<usize, String> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = if plain { digits.parse().ok() } else { None };
    value.ok_or_else(|| format!("Content-Length {digits:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_head_is_read() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: a\r\n\r\n";
        let response = Response::parse_head(head).unwrap();
        assert_eq!((response.status, response.field("content-length")), (200, Some("5")));
        assert_eq!(response.framing(false), Ok(Framing::Length(5)));
        assert_eq!(response.framing(true), Ok(Framing::None));
    }

    #[test]
    fn heads_that_two_clients_could_read_differently_are_errors() {
        let wrong: [&[u8]; 7] = [
            b"HTTP/1.1 200 OK\nServer: a\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nServer : a\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            b"HTTP/1.1 20 OK\r\n\r\n",
            b"HTTP/1.1 200\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n folded\r\n\r\n",
        ];
        for head in wrong {
            assert!(Response::parse_head(head).is_err(), "{:?}", String::from_utf8_lossy(head));
        }
    }
}
