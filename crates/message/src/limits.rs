//! Every bound on what a peer may make the server read, each with its unit and its reason.
//! httpd's directives of the same name override the ones that have a directive.
// tidy: table

/// `LimitRequestLine`, bytes: longer request lines are 414. Longer URLs are nearly always attacks.
pub const LIMIT_REQUEST_LINE: usize = 8190;

/// `LimitRequestFieldSize`, bytes of one field line: a few large cookies fit.
pub const LIMIT_REQUEST_FIELD_SIZE: usize = 8190;

/// `LimitRequestFields`: browsers send fewer than 30.
pub const LIMIT_REQUEST_FIELDS: usize = 100;

/// The greatest `LimitRequestFields`, which is also the bound when it is 0 ("no limit"): indices
/// of fields are kept in 16 bits. httpd's directive has the same maximum.
pub const REQUEST_FIELDS_MAX: usize = 32767;

/// Bytes of the head of an answer, as a client reads it. Large sites send some kilobytes; curl ends
/// at about this many, too.
pub const ANSWER_HEAD_BYTES: usize = 256 * 1024;

/// `LimitRequestBody`, bytes: 1 GiB, the default of httpd since 2.4.54.
pub const LIMIT_REQUEST_BODY: u64 = 1 << 30;

/// Empty lines skipped before a request line. RFC 9112 section 2.2 asks for one at least: some old
/// clients sent one after a POST body. httpd skips this many (measured).
pub const EMPTY_LINES_MAX: u8 = 10;

/// `MaxRanges`: byte ranges in one request, more are served as the whole file (CVE-2011-3192).
pub const MAX_RANGES: usize = 200;

/// `MaxRangeOverlaps`: ranges that overlap an earlier one.
pub const MAX_RANGE_OVERLAPS: usize = 20;

/// `MaxRangeReversals`: ranges that start before an earlier one.
pub const MAX_RANGE_REVERSALS: usize = 20;

/// Bytes of chunk extensions in one body. Nobody uses them, except to make a server read much for
/// little (the class of CVE-2023-39326).
pub const CHUNK_EXTENSION_BYTES: u32 = 8 * 1024;

/// White space after a chunk size, bytes, which httpd allows for old clients that pad.
pub const CHUNK_SIZE_PADDING: u8 = 10;

/// Bytes of the trailer section. Trailers are dropped, so this bounds reading, not memory.
pub const TRAILER_BYTES: u32 = 8190;

/// Unread request body that is read and dropped so that the connection can serve on, bytes. Above
/// it closing is cheaper than reading.
pub const DRAIN_BYTES: u64 = 64 * 1024;

/// Bytes of variables in one record to a FastCGI application; httpd's number (mod_proxy_fcgi.c,
/// `send_environment`). A variable that does not fit is left out.
pub const FASTCGI_PARAMS_RECORD_BYTES: usize = 16 * 1024;

/// Bytes of all variables that the application's end takes: some hundred fields of the greatest
/// size. Only tests have that end.
pub const FASTCGI_PARAMS_BYTES: usize = 1024 * 1024;

/// Bytes of what a FastCGI application says about itself: three short pairs.
pub const FASTCGI_VALUES_BYTES: usize = 1024;

/// Bytes of one line in the head of a script's answer, without its end: httpd's `MAX_STRING_LEN`,
/// less what it needs itself. Longer ones are as if there were no end.
pub const SCRIPT_LINE_BYTES: usize = 8189;

/// Bytes of the head of a script's answer. httpd has no such bound; no client takes more.
pub const SCRIPT_HEAD_BYTES: usize = 64 * 1024;

/// Lines of the head of a script's answer. httpd has no such bound.
pub const SCRIPT_HEAD_LINES: usize = 1000;

/// Escaped bytes of client input shown in one log line.
pub const LOG_INPUT_BYTES: usize = 256;

// A field must fit beside its siblings in 32-bit offsets, whatever the configuration says.
const _: () = assert!(LIMIT_REQUEST_FIELDS <= REQUEST_FIELDS_MAX);
const _: () = assert!(MAX_RANGE_OVERLAPS <= MAX_RANGES && MAX_RANGE_REVERSALS <= MAX_RANGES);
