//! The pages httpd sends when no ErrorDocument is configured, byte for byte: monitoring scripts and
//! users know them. Everything that comes from a client is escaped.
// tidy: table

use alloc::vec::Vec;
use message::Status;
use message::escape::html_escape;

/// What a page may mention. Only some pages mention any of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageFacts<'a> {
    /// Code, blank and reason of a script, where the page is for its status; they are the title.
    pub line: Option<&'a [u8]>,
    /// The request method.
    pub method: &'a [u8],
    /// The Location field of a redirection.
    pub location: Option<&'a [u8]>,
    /// The Expect field of the request.
    pub expect: Option<&'a [u8]>,
    /// `ServerAdmin`; httpd says `[no address given]` without one.
    pub admin: Option<&'a [u8]>,
    /// A remark on a 400 or 403, such as which limit was exceeded. Part of the page, not escaped.
    pub remark: &'static str,
    /// The status of an error document that was to be sent instead and failed.
    pub also: Option<Status>,
    /// What a 300 or 406 lets the client choose from, HTML.
    pub variants: &'a [u8],
    /// What stands below the text, HTML (`ServerSignature`).
    pub signature: &'a [u8],
}

const DOCTYPE: &str = "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \
\"http://www.w3.org/TR/html4/strict.dtd\">\n";

/// Appends the page of `status`, the whole body of the response.
pub fn error_page(status: Status, facts: &PageFacts<'_>, out: &mut Vec<u8>) {
    // A code without a phrase is shown as 500 throughout, as httpd does.
    let status = if status.known_line().is_some() { status } else { Status::INTERNAL_SERVER_ERROR };
    put(out, DOCTYPE);
    put(out, "<html><head>\n<title>");
    let line = facts.line.unwrap_or(status.line().as_bytes());
    html_escape(line, out);
    put(out, "</title>\n</head><body>\n<h1>");
    html_escape(line.get(4..).unwrap_or_default(), out);
    put(out, "</h1>\n");
    write_text(status, facts, out);
    if let Some(also) = facts.also {
        put(out, "<p>Additionally, a ");
        put(out, also.line());
        put(out, "\nerror was encountered while trying to use an ErrorDocument to handle ");
        put(out, "the request.</p>\n");
    }
    out.extend_from_slice(facts.signature);
    put(out, "</body></html>\n");
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn put_between(out: &mut Vec<u8>, before: &str, client: &[u8], after: &str) {
    put(out, before);
    html_escape(client, out);
    put(out, after);
}

/// The sentences that mention something of the request; all others are in [`fixed_text`].
fn write_text(status: Status, facts: &PageFacts<'_>, out: &mut Vec<u8>) {
    let location = facts.location.unwrap_or_default();
    match status.code() {
        301 | 302 | 307 | 308 => {
            put_between(
                out,
                "<p>The document has moved <a href=\"",
                location,
                "\">here</a>.</p>\n",
            );
        }
        303 => {
            let before = "<p>The answer to your request is located <a href=\"";
            put_between(out, before, location, "\">here</a>.</p>\n");
        }
        400 => {
            put(out, "<p>Your browser sent a request that ");
            put(out, "this server could not understand.<br />\n");
            put(out, facts.remark);
            put(out, "</p>\n");
        }
        403 => {
            put(out, "<p>You don't have permission to access this resource.");
            put(out, facts.remark);
            put(out, "</p>\n");
        }
        405 => {
            let after = " is not allowed for this URL.</p>\n";
            put_between(out, "<p>The requested method ", facts.method, after);
        }
        411 => {
            let after = " requires a valid Content-length.<br />\n</p>\n";
            put_between(out, "<p>A request of the requested method ", facts.method, after);
        }
        413 => {
            let before = "The requested resource does not allow request data with ";
            let after = " requests, or the amount of data provided in\n\
                         the request exceeds the capacity limit.\n";
            put_between(out, before, facts.method, after);
        }
        417 => write_expectation(facts.expect, out),
        501 => {
            put_between(out, "<p>", facts.method, " not supported for current URL.<br />\n</p>\n")
        }
        code => match fixed_text(code) {
            Some(text) => {
                put(out, text);
                if matches!(code, 300 | 406) {
                    out.extend_from_slice(facts.variants);
                }
            }
            None => write_internal(facts.admin, out),
        },
    }
}

fn write_expectation(expect: Option<&[u8]>, out: &mut Vec<u8>) {
    match expect {
        Some(value) => {
            put(out, "<p>The expectation given in the Expect request-header\n");
            put(out, "field could not be met by this server.\n");
            put_between(out, "The client sent<pre>\n    Expect: ", value, "\n</pre>\n");
        }
        None => {
            put(out, "<p>No expectation was seen, the Expect request-header \n");
            put(out, "field was not presented by the client.\n");
        }
    }
    put(out, "</p><p>Only the 100-continue expectation is supported.</p>\n");
}

/// 500, and every status without a text of its own.
fn write_internal(admin: Option<&[u8]>, out: &mut Vec<u8>) {
    put(out, "<p>The server encountered an internal error or\n");
    put(out, "misconfiguration and was unable to complete\nyour request.</p>\n");
    put(out, "<p>Please contact the server administrator at \n ");
    html_escape(admin.unwrap_or(b"[no address given]"), out);
    put(out, " to inform them of the time this error occurred,\n");
    put(out, " and the actions you performed just before this error.</p>\n");
    put(out, "<p>More information about this error may be available\n");
    put(out, "in the server error log.</p>\n");
}

/// The sentences that are the same for every request, by status.
const FIXED_TEXTS: &[(u16, &str)] = &[
    (300, ""),
    (
        305,
        "<p>This resource is only accessible through the proxy\n\
             <br />\n\
             You will need to configure your client to use that proxy.</p>\n",
    ),
    (
        401,
        "<p>This server could not verify that you\n\
             are authorized to access the document\n\
             requested.  Either you supplied the wrong\n\
             credentials (e.g., bad password), or your\n\
             browser doesn't understand how to supply\n\
             the credentials required.</p>\n",
    ),
    (
        407,
        "<p>This server could not verify that you\n\
             are authorized to access the document\n\
             requested.  Either you supplied the wrong\n\
             credentials (e.g., bad password), or your\n\
             browser doesn't understand how to supply\n\
             the credentials required.</p>\n",
    ),
    (404, "<p>The requested URL was not found on this server.</p>\n"),
    (
        406,
        "<p>An appropriate representation of the requested resource could not be found \
             on this server.</p>\n",
    ),
    (408, "<p>Server timeout waiting for the HTTP request from the client.</p>\n"),
    (
        410,
        "<p>The requested resource is no longer available on this server and there is no \
             forwarding address.\n\
             Please remove all references to this resource.</p>\n",
    ),
    (412, "<p>The precondition on the request for this URL evaluated to false.</p>\n"),
    (
        414,
        "<p>The requested URL's length exceeds the capacity\n\
             limit for this server.<br />\n\
             </p>\n",
    ),
    (
        415,
        "<p>The supplied request data is not in a format\n\
             acceptable for processing by this resource.</p>\n",
    ),
    (
        416,
        "<p>None of the range-specifier values in the Range\n\
             request-header field overlap the current extent\n\
             of the selected resource.</p>\n",
    ),
    (
        421,
        "<p>The client needs a new connection for this\n\
             request as the requested host name does not match\n\
             the Server Name Indication (SNI) in use for this\n\
             connection.</p>\n",
    ),
    (
        422,
        "<p>The server understands the media type of the\n\
             request entity, but was unable to process the\n\
             contained instructions.</p>\n",
    ),
    (
        423,
        "<p>The requested resource is currently locked.\n\
             The lock must be released or proper identification\n\
             given before the method can be applied.</p>\n",
    ),
    (
        424,
        "<p>The method could not be performed on the resource\n\
             because the requested action depended on another\n\
             action and that other action failed.</p>\n",
    ),
    (
        426,
        "<p>The requested resource can only be retrieved\n\
             using SSL.  The server is willing to upgrade the current\n\
             connection to SSL, but your client doesn't support it.\n\
             Either upgrade your client, or try requesting the page\n\
             using https://\n",
    ),
    (428, "<p>The request is required to be conditional.</p>\n"),
    (
        429,
        "<p>The user has sent too many requests\n\
             in a given amount of time.</p>\n",
    ),
    (
        431,
        "<p>The server refused this request because\n\
             the request header fields are too large.</p>\n",
    ),
    (
        451,
        "<p>Access to this URL has been denied for legal reasons.<br />\n\
             </p>\n",
    ),
    (
        502,
        "<p>The proxy server received an invalid\r\n\
             response from an upstream server.<br />\r\n\
             </p>\n",
    ),
    (
        503,
        "<p>The server is temporarily unable to service your\n\
             request due to maintenance downtime or capacity\n\
             problems. Please try again later.</p>\n",
    ),
    (
        504,
        "<p>The gateway did not receive a timely response\n\
             from the upstream server or application.</p>\n",
    ),
    (
        506,
        "<p>A variant for the requested resource\n\
             <pre>\n\
             \n\
             </pre>\n\
             is itself a negotiable resource. This indicates a configuration error.</p>\n",
    ),
    (
        507,
        "<p>The method could not be performed on the resource\n\
             because the server is unable to store the\n\
             representation needed to successfully complete the\n\
             request.  There is insufficient free space left in\n\
             your storage allocation.</p>\n",
    ),
    (
        508,
        "<p>The server terminated an operation because\n\
             it encountered an infinite loop.</p>\n",
    ),
    (
        510,
        "<p>A mandatory extension policy in the request is not\n\
             accepted by the server for this resource.</p>\n",
    ),
    (
        511,
        "<p>The client needs to authenticate to gain\n\
             network access.</p>\n",
    ),
];

fn fixed_text(code: u16) -> Option<&'static str> {
    FIXED_TEXTS.iter().find(|row| row.0 == code).map(|row| row.1)
}
