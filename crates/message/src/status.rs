//! Status codes with httpd's reason phrases. httpd keeps the RFC 2616 phrases of 413, 414 and 416,
//! and so does this table: clients and log readers know them.
// tidy: table

/// A status code. Values outside the table are allowed (a script may send 299); they have no
/// phrase of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(u16);

/// Every status with a phrase: code, then the status line after the version.
const LINES: &[(Status, &str)] = &[
    (Status::CONTINUE, "100 Continue"),
    (Status::SWITCHING_PROTOCOLS, "101 Switching Protocols"),
    (Status::PROCESSING, "102 Processing"),
    (Status::EARLY_HINTS, "103 Early Hints"),
    (Status::OK, "200 OK"),
    (Status::CREATED, "201 Created"),
    (Status::ACCEPTED, "202 Accepted"),
    (Status::NON_AUTHORITATIVE_INFORMATION, "203 Non-Authoritative Information"),
    (Status::NO_CONTENT, "204 No Content"),
    (Status::RESET_CONTENT, "205 Reset Content"),
    (Status::PARTIAL_CONTENT, "206 Partial Content"),
    (Status::MULTI_STATUS, "207 Multi-Status"),
    (Status::ALREADY_REPORTED, "208 Already Reported"),
    (Status::IM_USED, "226 IM Used"),
    (Status::MULTIPLE_CHOICES, "300 Multiple Choices"),
    (Status::MOVED_PERMANENTLY, "301 Moved Permanently"),
    (Status::FOUND, "302 Found"),
    (Status::SEE_OTHER, "303 See Other"),
    (Status::NOT_MODIFIED, "304 Not Modified"),
    (Status::USE_PROXY, "305 Use Proxy"),
    (Status::TEMPORARY_REDIRECT, "307 Temporary Redirect"),
    (Status::PERMANENT_REDIRECT, "308 Permanent Redirect"),
    (Status::BAD_REQUEST, "400 Bad Request"),
    (Status::UNAUTHORIZED, "401 Unauthorized"),
    (Status::PAYMENT_REQUIRED, "402 Payment Required"),
    (Status::FORBIDDEN, "403 Forbidden"),
    (Status::NOT_FOUND, "404 Not Found"),
    (Status::METHOD_NOT_ALLOWED, "405 Method Not Allowed"),
    (Status::NOT_ACCEPTABLE, "406 Not Acceptable"),
    (Status::PROXY_AUTHENTICATION_REQUIRED, "407 Proxy Authentication Required"),
    (Status::REQUEST_TIMEOUT, "408 Request Timeout"),
    (Status::CONFLICT, "409 Conflict"),
    (Status::GONE, "410 Gone"),
    (Status::LENGTH_REQUIRED, "411 Length Required"),
    (Status::PRECONDITION_FAILED, "412 Precondition Failed"),
    (Status::CONTENT_TOO_LARGE, "413 Request Entity Too Large"),
    (Status::URI_TOO_LONG, "414 Request-URI Too Long"),
    (Status::UNSUPPORTED_MEDIA_TYPE, "415 Unsupported Media Type"),
    (Status::RANGE_NOT_SATISFIABLE, "416 Requested Range Not Satisfiable"),
    (Status::EXPECTATION_FAILED, "417 Expectation Failed"),
    (Status::MISDIRECTED_REQUEST, "421 Misdirected Request"),
    (Status::UNPROCESSABLE_CONTENT, "422 Unprocessable Entity"),
    (Status::LOCKED, "423 Locked"),
    (Status::FAILED_DEPENDENCY, "424 Failed Dependency"),
    (Status::UPGRADE_REQUIRED, "426 Upgrade Required"),
    (Status::PRECONDITION_REQUIRED, "428 Precondition Required"),
    (Status::TOO_MANY_REQUESTS, "429 Too Many Requests"),
    (Status::REQUEST_HEADER_FIELDS_TOO_LARGE, "431 Request Header Fields Too Large"),
    (Status::UNAVAILABLE_FOR_LEGAL_REASONS, "451 Unavailable For Legal Reasons"),
    (Status::INTERNAL_SERVER_ERROR, "500 Internal Server Error"),
    (Status::NOT_IMPLEMENTED, "501 Not Implemented"),
    (Status::BAD_GATEWAY, "502 Bad Gateway"),
    (Status::SERVICE_UNAVAILABLE, "503 Service Unavailable"),
    (Status::GATEWAY_TIMEOUT, "504 Gateway Timeout"),
    (Status::HTTP_VERSION_NOT_SUPPORTED, "505 HTTP Version Not Supported"),
    (Status::VARIANT_ALSO_NEGOTIATES, "506 Variant Also Negotiates"),
    (Status::INSUFFICIENT_STORAGE, "507 Insufficient Storage"),
    (Status::LOOP_DETECTED, "508 Loop Detected"),
    (Status::NOT_EXTENDED, "510 Not Extended"),
    (Status::NETWORK_AUTHENTICATION_REQUIRED, "511 Network Authentication Required"),
];

impl Status {
    /// 100 Continue
    pub const CONTINUE: Self = Self(100);
    /// 101 Switching Protocols
    pub const SWITCHING_PROTOCOLS: Self = Self(101);
    /// 102 Processing
    pub const PROCESSING: Self = Self(102);
    /// 103 Early Hints
    pub const EARLY_HINTS: Self = Self(103);
    /// 200 OK
    pub const OK: Self = Self(200);
    /// 201 Created
    pub const CREATED: Self = Self(201);
    /// 202 Accepted
    pub const ACCEPTED: Self = Self(202);
    /// 203 Non-Authoritative Information
    pub const NON_AUTHORITATIVE_INFORMATION: Self = Self(203);
    /// 204 No Content
    pub const NO_CONTENT: Self = Self(204);
    /// 205 Reset Content
    pub const RESET_CONTENT: Self = Self(205);
    /// 206 Partial Content
    pub const PARTIAL_CONTENT: Self = Self(206);
    /// 207 Multi-Status
    pub const MULTI_STATUS: Self = Self(207);
    /// 208 Already Reported
    pub const ALREADY_REPORTED: Self = Self(208);
    /// 226 IM Used
    pub const IM_USED: Self = Self(226);
    /// 300 Multiple Choices
    pub const MULTIPLE_CHOICES: Self = Self(300);
    /// 301 Moved Permanently
    pub const MOVED_PERMANENTLY: Self = Self(301);
    /// 302 Found
    pub const FOUND: Self = Self(302);
    /// 303 See Other
    pub const SEE_OTHER: Self = Self(303);
    /// 304 Not Modified
    pub const NOT_MODIFIED: Self = Self(304);
    /// 305 Use Proxy
    pub const USE_PROXY: Self = Self(305);
    /// 307 Temporary Redirect
    pub const TEMPORARY_REDIRECT: Self = Self(307);
    /// 308 Permanent Redirect
    pub const PERMANENT_REDIRECT: Self = Self(308);
    /// 400 Bad Request
    pub const BAD_REQUEST: Self = Self(400);
    /// 401 Unauthorized
    pub const UNAUTHORIZED: Self = Self(401);
    /// 402 Payment Required
    pub const PAYMENT_REQUIRED: Self = Self(402);
    /// 403 Forbidden
    pub const FORBIDDEN: Self = Self(403);
    /// 404 Not Found
    pub const NOT_FOUND: Self = Self(404);
    /// 405 Method Not Allowed
    pub const METHOD_NOT_ALLOWED: Self = Self(405);
    /// 406 Not Acceptable
    pub const NOT_ACCEPTABLE: Self = Self(406);
    /// 407 Proxy Authentication Required
    pub const PROXY_AUTHENTICATION_REQUIRED: Self = Self(407);
    /// 408 Request Timeout
    pub const REQUEST_TIMEOUT: Self = Self(408);
    /// 409 Conflict
    pub const CONFLICT: Self = Self(409);
    /// 410 Gone
    pub const GONE: Self = Self(410);
    /// 411 Length Required
    pub const LENGTH_REQUIRED: Self = Self(411);
    /// 412 Precondition Failed
    pub const PRECONDITION_FAILED: Self = Self(412);
    /// 413 Request Entity Too Large
    pub const CONTENT_TOO_LARGE: Self = Self(413);
    /// 414 Request-URI Too Long
    pub const URI_TOO_LONG: Self = Self(414);
    /// 415 Unsupported Media Type
    pub const UNSUPPORTED_MEDIA_TYPE: Self = Self(415);
    /// 416 Requested Range Not Satisfiable
    pub const RANGE_NOT_SATISFIABLE: Self = Self(416);
    /// 417 Expectation Failed
    pub const EXPECTATION_FAILED: Self = Self(417);
    /// 421 Misdirected Request
    pub const MISDIRECTED_REQUEST: Self = Self(421);
    /// 422 Unprocessable Entity
    pub const UNPROCESSABLE_CONTENT: Self = Self(422);
    /// 423 Locked
    pub const LOCKED: Self = Self(423);
    /// 424 Failed Dependency
    pub const FAILED_DEPENDENCY: Self = Self(424);
    /// 426 Upgrade Required
    pub const UPGRADE_REQUIRED: Self = Self(426);
    /// 428 Precondition Required
    pub const PRECONDITION_REQUIRED: Self = Self(428);
    /// 429 Too Many Requests
    pub const TOO_MANY_REQUESTS: Self = Self(429);
    /// 431 Request Header Fields Too Large
    pub const REQUEST_HEADER_FIELDS_TOO_LARGE: Self = Self(431);
    /// 451 Unavailable For Legal Reasons
    pub const UNAVAILABLE_FOR_LEGAL_REASONS: Self = Self(451);
    /// 500 Internal Server Error
    pub const INTERNAL_SERVER_ERROR: Self = Self(500);
    /// 501 Not Implemented
    pub const NOT_IMPLEMENTED: Self = Self(501);
    /// 502 Bad Gateway
    pub const BAD_GATEWAY: Self = Self(502);
    /// 503 Service Unavailable
    pub const SERVICE_UNAVAILABLE: Self = Self(503);
    /// 504 Gateway Timeout
    pub const GATEWAY_TIMEOUT: Self = Self(504);
    /// 505 HTTP Version Not Supported
    pub const HTTP_VERSION_NOT_SUPPORTED: Self = Self(505);
    /// 506 Variant Also Negotiates
    pub const VARIANT_ALSO_NEGOTIATES: Self = Self(506);
    /// 507 Insufficient Storage
    pub const INSUFFICIENT_STORAGE: Self = Self(507);
    /// 508 Loop Detected
    pub const LOOP_DETECTED: Self = Self(508);
    /// 510 Not Extended
    pub const NOT_EXTENDED: Self = Self(510);
    /// 511 Network Authentication Required
    pub const NETWORK_AUTHENTICATION_REQUIRED: Self = Self(511);
}

impl Status {
    /// The status of a number, if it has the three digits a status line can carry.
    pub const fn new(code: u16) -> Option<Self> {
        if code >= 100 && code <= 999 { Some(Self(code)) } else { None }
    }

    /// The number.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Code and phrase, "404 Not Found". A code without a row is shown as 500, as httpd does.
    pub fn line(self) -> &'static str {
        match self {
            // Named first because it is nearly every response.
            Self::OK => "200 OK",
            Self::NOT_MODIFIED => "304 Not Modified",
            _ => self.known_line().unwrap_or("500 Internal Server Error"),
        }
    }

    /// Code and phrase, or nothing when httpd has no phrase for the code.
    pub fn known_line(self) -> Option<&'static str> {
        LINES.binary_search_by_key(&self, |row| row.0).ok().map(|index| LINES[index].1)
    }

    /// The phrase alone, "Not Found".
    pub fn reason(self) -> &'static str {
        &self.line()[4..]
    }

    /// Whether a response of this status never has a body (RFC 9112 section 6.3, item 1).
    pub const fn is_bodyless(self) -> bool {
        self.0 < 200 || self.0 == 204 || self.0 == 304
    }

    /// Whether it is one of the 3xx statuses.
    pub const fn is_redirection(self) -> bool {
        self.0 >= 300 && self.0 < 400
    }

    /// Whether it is one of the 4xx or 5xx statuses.
    pub const fn is_error(self) -> bool {
        self.0 >= 400
    }

    /// Whether the connection must close after a response of this status: httpd's
    /// `ap_status_drops_connection`. After these the position in the input is not trusted.
    pub const fn drops_connection(self) -> bool {
        matches!(self.0, 400 | 408 | 411 | 413 | 414 | 500 | 501 | 503)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn rows_are_sorted_and_each_line_starts_with_its_code() {
        assert!(LINES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (status, line) in LINES {
            assert_eq!(line[..3], status.code().to_string());
            assert_eq!(&line[3..4], " ");
            assert_eq!(status.line(), *line);
        }
    }

    #[test]
    fn a_code_without_phrase_is_shown_as_500() {
        let odd = Status::new(299).unwrap();
        assert_eq!(odd.known_line(), None);
        assert_eq!(odd.line(), "500 Internal Server Error");
        assert_eq!(Status::new(99), None);
        assert_eq!(Status::new(1000), None);
    }
}
