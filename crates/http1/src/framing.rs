//! What a head means for the bytes that follow it: body length, persistence, target and host.
//!
//! Wrong answers here are request smuggling: two readers of one connection that disagree on where
//! the next request starts. Whatever can be read in two ways is therefore refused.

use message::{
    BodyLength, Framing, HostAndPort, Known, KnownSet, Refusal, RequestHead, Status, Target,
    Version, scan,
};

/// What a request says about the connection it came on (RFC 9112 section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Whether the client wants the connection kept.
    pub wanted: bool,
    /// Whether it said so with the word `keep-alive`, which is then answered.
    pub named: bool,
}

impl KeepAlive {
    /// Nothing is wanted.
    pub const NONE: Self = Self { wanted: false, named: false };
}

/// Without any of these a request has no body, default persistence and no expectation.
const UNUSUAL: KnownSet = KnownSet::of(&[
    Known::ContentLength,
    Known::TransferEncoding,
    Known::Connection,
    Known::Expect,
]);

/// Works out what a head means for its message and for its connection. `limit_request_body` is
/// `LimitRequestBody` in bytes, 0 for no limit.
#[inline]
pub fn framing<'a>(
    request: &RequestHead<'a>,
    limit_request_body: u64,
) -> Result<(Framing<'a>, KeepAlive), Refusal> {
    let method = request.known_method();
    let target =
        Target::parse(method, request.target()).map_err(|bad| Refusal::bad_request(bad.why()))?;
    let host = host(request, &target)?;
    let mut framing = Framing { target, host, body: BodyLength::None, expect_continue: false };
    let mut keep_alive = KeepAlive { wanted: request.version() == Version::Http11, named: false };
    if request.seen().intersects(UNUSUAL) {
        framing.body = body_length(request, limit_request_body)?;
        keep_alive = persistence(request);
        framing.expect_continue = expectation(request)? && framing.body != BodyLength::None;
    }
    Ok((framing, keep_alive))
}

/// RFC 9112 section 3.2: a 1.1 request without Host, and any request with two or a malformed one,
/// is refused, even when the target names the host.
fn host<'a>(
    request: &RequestHead<'a>,
    target: &Target<'a>,
) -> Result<Option<HostAndPort<'a>>, Refusal> {
    if request.duplicated(Known::Host) {
        return Err(Refusal::bad_request("more than one Host field"));
    }
    let named = match request.get(Known::Host) {
        Some(value) => {
            Some(HostAndPort::parse(value).map_err(|bad| Refusal::bad_request(bad.why()))?)
        }
        None if request.version() == Version::Http11 => {
            return Err(Refusal::bad_request("HTTP/1.1 request without Host field"));
        }
        None => None,
    };
    match target {
        Target::Absolute { host, .. } | Target::Authority(host) => Ok(Some(*host)),
        Target::Origin { .. } | Target::Asterisk => Ok(named),
    }
}

/// RFC 9112 section 6.3. Items 1 and 2 are about responses.
#[cold]
fn body_length(request: &RequestHead<'_>, limit: u64) -> Result<BodyLength, Refusal> {
    match (request.has(Known::TransferEncoding), request.has(Known::ContentLength)) {
        // Item 3, second part: both at once "ought to be handled as an error".
        (true, true) => Err(Refusal::bad_request("both Transfer-Encoding and Content-Length")),
        // Items 3 and 4: Transfer-Encoding decides.
        (true, false) => transfer_encoding(request),
        // Items 5 and 6: Content-Length decides.
        (false, true) => {
            let length = content_length(request)?;
            if limit != 0 && limit < length {
                return Err(too_large());
            }
            Ok(if length == 0 { BodyLength::None } else { BodyLength::Length(length) })
        }
        // Item 7: a request without either has no body.
        (false, false) => Ok(BodyLength::None),
    }
}

/// The body is above `LimitRequestBody`.
pub(crate) const fn too_large() -> Refusal {
    Refusal::new(Status::CONTENT_TOO_LARGE, "request body is longer than LimitRequestBody")
}

/// Only `chunked` alone is implemented; anything that some reader could take for it is refused.
fn transfer_encoding(request: &RequestHead<'_>) -> Result<BodyLength, Refusal> {
    // RFC 9112 section 6.1: a 1.0 client cannot know the field, so something in between is broken.
    if request.version() == Version::Http10 {
        return Err(Refusal::bad_request("Transfer-Encoding in an HTTP/1.0 request"));
    }
    if request.duplicated(Known::TransferEncoding) {
        return Err(Refusal::bad_request("more than one Transfer-Encoding field"));
    }
    let value = request.get(Known::TransferEncoding).unwrap_or_default();
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(BodyLength::Unknown);
    }
    let count = scan::list(value).count();
    for (index, coding) in scan::list(value).enumerate() {
        let name = coding.split(|&byte| byte == b';').next().unwrap_or_default();
        if !scan::is_token(scan::trim_ows(name)) {
            return Err(Refusal::bad_request("malformed Transfer-Encoding"));
        }
        // Item 4: when chunked is not the last coding, the length is unknowable.
        if index + 1 < count && name.eq_ignore_ascii_case(b"chunked") {
            return Err(Refusal::bad_request("chunked is not the last transfer coding"));
        }
    }
    // RFC 9112 section 6.1: a coding that is not understood SHOULD get 501.
    Err(Refusal::new(Status::NOT_IMPLEMENTED, "transfer coding is not implemented"))
}

/// `Content-Length = 1*DIGIT`. A list of equal numbers MAY be taken as one; it is refused, because
/// only a broken or hostile sender makes one.
fn content_length(request: &RequestHead<'_>) -> Result<u64, Refusal> {
    if request.duplicated(Known::ContentLength) {
        return Err(Refusal::bad_request("more than one Content-Length field"));
    }
    let value = request.get(Known::ContentLength).unwrap_or_default();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Refusal::bad_request("Content-Length is not a decimal number"));
    }
    let mut length = 0i64;
    for digit in value {
        let next = length.checked_mul(10).and_then(|n| n.checked_add(i64::from(digit - b'0')));
        // Signed, because file offsets are, in httpd and in the kernel.
        length = next.ok_or(Refusal::bad_request("Content-Length is too large a number"))?;
    }
    Ok(length.unsigned_abs())
}

/// RFC 9112 section 9.3: whether the client wants persistence, and whether it named keep-alive.
#[cold]
fn persistence(request: &RequestHead<'_>) -> KeepAlive {
    let (mut close, mut keep_alive) = (false, false);
    for token in request.get_all(Known::Connection).flat_map(scan::list) {
        close |= token.eq_ignore_ascii_case(b"close");
        keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
    }
    let default = request.version() == Version::Http11;
    KeepAlive { wanted: !close && (default || keep_alive), named: keep_alive }
}

/// RFC 9110 section 10.1.1: only `100-continue` exists; 1.0 clients cannot expect anything.
#[cold]
fn expectation(request: &RequestHead<'_>) -> Result<bool, Refusal> {
    if request.version() == Version::Http10 || !request.has(Known::Expect) {
        return Ok(false);
    }
    let only = request.get_all(Known::Expect).all(|v| v.eq_ignore_ascii_case(b"100-continue"));
    let unmet = Refusal::new(Status::EXPECTATION_FAILED, "expectation other than 100-continue");
    if only { Ok(true) } else { Err(unmet) }
}

/// For fuzz targets: works out the framing of `data`, if it is a head, and checks what callers
/// rely on.
pub fn fuzz_framing(data: &[u8]) {
    let mut parser = crate::HeadParser::new();
    let progress = parser.advance(data, &crate::HeadLimits::default());
    if !matches!(progress, Ok(crate::HeadProgress::Complete { .. })) {
        return;
    }
    let request = parser.request(data);
    let Ok((framing, _)) = framing(&request, 1000) else { return };
    let both = request.has(Known::ContentLength) && request.has(Known::TransferEncoding);
    assert!(!both, "both lengths at once");
    assert!(framing.host.is_some() || request.version() == Version::Http10);
    assert!(!framing.expect_continue || framing.body != BodyLength::None);
    if let BodyLength::Length(length) = framing.body {
        assert!(0 < length && length <= 1000);
    }
}
