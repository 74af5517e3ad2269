//! The same requests to apache2 and to trivet, over the same files and the same configuration:
//! status, fields and content have to be the same, byte for byte. Only the order of fields with
//! different names may differ, which means nothing (RFC 9110 section 5.3).
//!
//! A test is a set: a file of `configs/`, the files of the site, and rows with requests. A row is a
//! request as text. `Host` and `Connection: close` are added where it has none. What differs has a
//! row of its own that says why; one that no longer differs is an error, too.

#[path = "differential/aliases.rs"]
mod aliases;
#[path = "differential/asked.rs"]
mod asked;
#[path = "differential/links.rs"]
mod links;
#[path = "differential/negotiation.rs"]
mod negotiation;
#[path = "differential/substitute.rs"]
mod substitute;

use blackbox::differential::{FRAMING, Set, compare};
use blackbox::{Mpm, each_mpm};

const STATIC: Set = Set {
    config: "static",
    files: &[
        ("index.html", "<title>home</title>\n"),
        ("hello.txt", "hello, world\n"),
        ("digits", "0123456789"),
        ("empty.css", ""),
        ("a b.txt", "a name with a space\n"),
        ("archive.tar.gz", "not really"),
        ("page.html.de", "Seite\n"),
        ("folder/index.html", "an index\n"),
        ("folder/deep/x.svg", "<svg/>"),
        ("closed/secret.txt", "no\n"),
        ("unlisted/x.txt", "x\n"),
        ("aliased/y.txt", "y\n"),
        (".htaccess", "Options None\n"),
    ],
    ignored: &[],
    requests: &[
        "GET /hello.txt HTTP/1.1\nIf-None-Match: *",
        // What is there.
        "GET / HTTP/1.1",
        "HEAD / HTTP/1.1",
        "GET /hello.txt HTTP/1.1",
        "GET /hello.txt?query HTTP/1.1",
        "HEAD /hello.txt HTTP/1.1",
        "GET /empty.css HTTP/1.1",
        "GET /digits HTTP/1.1",
        "GET /archive.tar.gz HTTP/1.1",
        "GET /page.html.de HTTP/1.1",
        "GET /a%20b.txt HTTP/1.1",
        "GET /folder/ HTTP/1.1",
        "GET /folder/deep/x.svg HTTP/1.1",
        "GET /folder/../hello.txt HTTP/1.1",
        "GET //hello.txt HTTP/1.1",
        "GET /./hello.txt HTTP/1.1",
        "GET /other/y.txt HTTP/1.1",
        "GET http://localhost/hello.txt HTTP/1.1",
        "GET /hello.txt HTTP/1.0",
        "GET /hello.txt HTTP/1.0\nConnection: keep-alive",
        // What is elsewhere, hidden or not there.
        "GET /folder HTTP/1.1",
        "GET /folder?a=b HTTP/1.1",
        "GET /other HTTP/1.1",
        "GET /nothing HTTP/1.1",
        "GET /nothing/ HTTP/1.1",
        "GET /hello.txt/more HTTP/1.1",
        "GET /hello.txt/ HTTP/1.1",
        "GET /closed/ HTTP/1.1",
        "GET /closed/secret.txt HTTP/1.1",
        "GET /closed/nothing HTTP/1.1",
        "GET /unlisted/ HTTP/1.1",
        "GET /unlisted HTTP/1.1",
        "GET /.htaccess HTTP/1.1",
        "GET /%2e%2e/etc/passwd HTTP/1.1",
        "GET /hello%2ftxt HTTP/1.1",
        "GET /hello%00.txt HTTP/1.1",
        "GET /hello%zz HTTP/1.1",
        // Conditions.
        "GET /hello.txt HTTP/1.1\nIf-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT",
        "GET /hello.txt HTTP/1.1\nIf-None-Match: \"no\"",
        "GET /hello.txt HTTP/1.1\nIf-Match: *",
        "GET /hello.txt HTTP/1.1\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT",
        "GET /hello.txt HTTP/1.1\nIf-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT",
        "GET /hello.txt HTTP/1.1\nIf-Match: \"no\"",
        "POST /hello.txt HTTP/1.1\nContent-Length: 0\nIf-None-Match: *",
        "GET /unlisted/ HTTP/1.1\nIf-Match: \"no\"",
        // Ranges.
        "GET /digits HTTP/1.1\nRange: bytes=0-3",
        "GET /digits HTTP/1.1\nRange: bytes=-2",
        "GET /digits HTTP/1.1\nRange: bytes=5-",
        "GET /digits HTTP/1.1\nRange: bytes=3-1",
        "GET /digits HTTP/1.1\nRange: lines=1-2",
        "GET /digits HTTP/1.1\nRange: bytes=0-3\nIf-Range: \"no\"",
        "GET /empty.css HTTP/1.1\nRange: bytes=0-3",
        // Methods.
        "POST /hello.txt HTTP/1.1\nContent-Length: 3\n\nabc",
        "PUT /hello.txt HTTP/1.1\nContent-Length: 3\n\nabc",
        "DELETE /hello.txt HTTP/1.1",
        "BREW /hello.txt HTTP/1.1",
        "PUT /nothing HTTP/1.1\nContent-Length: 3\n\nabc",
        "POST /folder/ HTTP/1.1\nContent-Length: 3\n\nabc",
        "POST /unlisted/ HTTP/1.1\nContent-Length: 3\n\nabc",
        "PUT /unlisted/ HTTP/1.1\nContent-Length: 3\n\nabc",
        "OPTIONS / HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "OPTIONS /nothing HTTP/1.1",
        "OPTIONS /nothing.txt HTTP/1.1",
        "OPTIONS /unlisted/ HTTP/1.1",
        "OPTIONS /archive.tar.gz HTTP/1.1",
        "OPTIONS /page.html.de HTTP/1.1",
        "OPTIONS /closed/secret.txt HTTP/1.1",
        "OPTIONS /hello.txt/more HTTP/1.1",
        "BREW /nothing HTTP/1.1",
        "BREW /unlisted/ HTTP/1.1",
        "BREW /closed/x HTTP/1.1",
        "TRACE / HTTP/1.1\nContent-Length: 3\n\nabc",
        "TRACE * HTTP/1.1",
        "TRACE /hello%zz HTTP/1.1",
        "CONNECT localhost:80 HTTP/1.1",
        "CONNECT /hello.txt HTTP/1.1",
        // What is not HTTP as it should be.
        "GET /hello.txt HTTP/1.1\nHost: a b",
        "GET /hello.txt HTTP/1.1\nExpect: something",
        "GET hello.txt HTTP/1.1",
        "GET /hello.txt HTTP/1.5",
        "GET /hello.txt HTTP/1.10",
    ],
    different: &[
        ("GET /hello.txt HTTP/2.0", "RFC 9110 section 15.6.6: another protocol is not spoken"),
        ("PRI * HTTP/2.0", "RFC 9110 section 15.6.6: another protocol is not spoken"),
        ("HEAD /folder HTTP/1.1", "httpd tells no length of a page that it does not send"),
        ("HEAD /nothing HTTP/1.1", "httpd tells no length of a page that it does not send"),
        ("HEAD /hello.txt HTTP/1.1\nIf-Match: \"no\"", "httpd tells the length of the file"),
        ("POST /digits HTTP/1.1\nRange: bytes=5-", "RFC 9110 section 14.2: only GET has ranges"),
        ("HEAD /digits HTTP/1.1\nRange: bytes=5-", "RFC 9110 section 14.2: only GET has ranges"),
        (
            "GET /digits HTTP/1.1\nRange: bytes=20-",
            "RFC 9110 section 15.5.17 asks for the length in Content-Range",
        ),
        ("TRACE / HTTP/1.1\nX-One: two", "httpd sends it in chunks"),
        (
            "TRACE /hello.txt HTTP/1.1\nCookie: a=b",
            "RFC 9110 section 9.3.8: what is sent back holds no secrets",
        ),
    ],
};

const LISTING: Set = Set {
    config: "listing",
    files: &[
        ("plain/b.txt", "b\n"),
        ("plain/a&b <c>.txt", "a\n"),
        ("plain/Zeta.html", "<title>The last</title>\n"),
        ("plain/folder/x", ""),
        ("plain/.hidden", ""),
        ("empty/", ""),
        ("fancy/file-10.txt", "0123456789"),
        ("fancy/file-9.txt", "012345678"),
        ("fancy/page.html", "<title>A title</title>\n"),
        ("fancy/old.bak", ""),
        ("fancy/HEADER.html", "<h2>Above</h2>\n"),
        ("fancy/README.txt", "below & after\n"),
        ("fancy/folder/x", ""),
        ("table/b.txt", "b\n"),
        ("table/A.txt", "a\n"),
        ("table/c/x", ""),
        ("fixed/quite-a-long-name-that-does-not-fit-into-its-column.tar.gz", "z"),
        ("fixed/a.txt", "a"),
    ],
    ignored: FRAMING,
    requests: &[
        "GET /plain/ HTTP/1.1",
        "HEAD /plain/ HTTP/1.1",
        "POST /plain/ HTTP/1.1\nContent-Length: 1\n\na",
        "OPTIONS /plain/ HTTP/1.1",
        "GET /plain/?C=N;O=D HTTP/1.1",
        "GET /empty/ HTTP/1.1",
        "GET /fancy/ HTTP/1.1",
        "GET /fancy/?C=N;O=D HTTP/1.1",
        "GET /fancy/?C=S;O=A HTTP/1.1",
        "GET /fancy/?C=D;O=A HTTP/1.1",
        "GET /fancy/?C=M;O=A HTTP/1.1",
        "GET /fancy/?F=0 HTTP/1.1",
        "GET /fancy/?F=2 HTTP/1.1",
        "GET /fancy/?P=*.txt HTTP/1.1",
        "GET /fancy/?V=0 HTTP/1.1",
        "GET /fancy/?nonsense HTTP/1.1",
        "GET /fancy/folder/ HTTP/1.1",
        "GET /table/ HTTP/1.1",
        "GET /table/?C=S;O=D HTTP/1.1",
        "GET /fixed/ HTTP/1.1",
        "GET /fixed/?C=N;O=D HTTP/1.1",
    ],
    different: &[],
};

const TYPES: Set = Set {
    config: "types",
    files: &[
        ("a.html", "a"),
        ("a.de.html", "a"),
        ("a.html.en", "a"),
        ("a.html.en.utf8", "a"),
        ("a.utf8.txt", "a"),
        ("a.html.gz", "a"),
        ("a.tgz", "a"),
        ("a.own", "a"),
        ("a.OWN", "a"),
        ("a.lvl", "a"),
        ("a.html.unknown", "a"),
        ("a.unknown", "a"),
        ("html", "a"),
        (".own", "a"),
        ("a.", "a"),
        ("forced/a.html", "a"),
        ("forced/a.html.gz", "a"),
        ("none/a.html", "a"),
        ("none/a.own", "a"),
        ("none/a.txt.gz", "a"),
        ("tagged/a.txt", "a"),
        ("untagged/a.txt", "a"),
    ],
    ignored: &[],
    requests: &[
        "GET /a.html HTTP/1.1",
        "GET /a.de.html HTTP/1.1",
        "GET /a.html.en HTTP/1.1",
        "GET /a.html.en.utf8 HTTP/1.1",
        "GET /a.utf8.txt HTTP/1.1",
        "GET /a.html.gz HTTP/1.1",
        "GET /a.tgz HTTP/1.1",
        "GET /a.own HTTP/1.1",
        "GET /a.OWN HTTP/1.1",
        "GET /a.lvl HTTP/1.1",
        "GET /a.html.unknown HTTP/1.1",
        "GET /a.unknown HTTP/1.1",
        "GET /html HTTP/1.1",
        "GET /.own HTTP/1.1",
        "GET /a. HTTP/1.1",
        "GET /forced/a.html HTTP/1.1",
        "GET /forced/a.html.gz HTTP/1.1",
        "GET /none/a.html HTTP/1.1",
        "GET /none/a.own HTTP/1.1",
        "GET /none/a.txt.gz HTTP/1.1",
        "GET /tagged/a.txt HTTP/1.1",
        "GET /untagged/a.txt HTTP/1.1",
        "GET /a.de.html HTTP/1.1\nIf-None-Match: *",
    ],
    different: &[],
};

const HEADERS: Set = Set {
    config: "headers",
    files: &[
        ("index.html", "<title>home</title>\n"),
        ("a.txt", "hello\n"),
        ("error.html", "<p>closed</p>\n"),
        ("typed.html", "typed\n"),
        ("untyped.html", "untyped\n"),
        ("novary.txt", "x\n"),
        ("folder/x.css", "p {}\n"),
        ("override/y.txt", "y\n"),
        (
            "override/.htaccess",
            "Header set X-Own %{OWN}e\nSetEnvIf X-In . OWN=in\nSetEnv OWN set\n\
             ExpiresActive On\nExpiresByType text/plain A60\n",
        ),
    ],
    requests: &[
        "GET / HTTP/1.1",
        "GET /a.txt HTTP/1.1",
        "GET /a.txt HTTP/1.1",
        "HEAD /a.txt HTTP/1.1",
        "GET /a%2Etxt HTTP/1.1",
        "GET /a.txt HTTP/1.1\nX-In: one",
        "GET /a.txt HTTP/1.1\nX-In: one\nX-In: two",
        "GET /a.txt HTTP/1.1\nX-Echo-A: 1\nX-Echo-B: 2",
        "GET /a.txt HTTP/1.1\nIf-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT",
        "GET /nothing HTTP/1.1",
        "GET /closed HTTP/1.1",
        "GET /closed HTTP/1.1\nX-In: one",
        "GET /folder/x.css HTTP/1.1",
        "GET /folder/x.css HTTP/1.1\nX-In: two",
        "GET /override/y.txt HTTP/1.1\nX-In: one",
        "GET /typed.html HTTP/1.1",
        "GET /untyped.html HTTP/1.1",
        "GET /novary.txt HTTP/1.1\nConnection: keep-alive, close",
        "GET /plainerror HTTP/1.1",
        "GET /bad%zz HTTP/1.1",
        // Browsers of another time.
        "GET /a.txt HTTP/1.1\nUser-Agent: Mozilla/5.0",
        "GET /a.txt HTTP/1.1\nUser-Agent: Mozilla/2.0\nConnection: keep-alive",
        "GET /a.txt HTTP/1.1\nUser-Agent: MSIE 4.0b2; x\nConnection: keep-alive",
        "GET /a.txt HTTP/1.0\nUser-Agent: RealPlayer 4.0\nConnection: keep-alive",
        "GET /folder HTTP/1.1\nUser-Agent: WebDAVFS/1.1",
        "GET /folder HTTP/1.1",
        // Proxies.
        "GET /a.txt HTTP/1.1\nX-Forwarded-For: 8.8.8.8",
        "GET /a.txt HTTP/1.1\nX-Forwarded-For: 1.1.1.1, 8.8.8.8",
        "GET /a.txt HTTP/1.1\nX-Forwarded-For: 8.8.8.8, 9.9.9.9, 10.1.1.1",
        "GET /a.txt HTTP/1.1\nX-Forwarded-For: 10.5.5.5, 9.9.9.9",
        "GET /a.txt HTTP/1.1\nX-Forwarded-For: 8.8.8.8\nX-Forwarded-For: ::1, 10.0.0.1",
        "GET /a.txt HTTP/1.1\nX-Forwarded-For: nobody",
        "GET /a.txt HTTP/1.1\nX-Forwarded-For: ,",
    ],
    // It tells the time.
    ignored: &["Expires"],
    different: &[],
};

fn headers_and_variables(mpm: Mpm) {
    compare("headers_and_variables", mpm, &HEADERS);
}

/// Users, groups and rules. The passwords are `wonder`, `builder` and `secret`.
const AUTHORIZATION: Set = Set {
    config: "authorization",
    files: &[
        (
            "keys/users",
            "# people\n\nalice:$apr1$abcdefgh$YoZRc15qZGhK2NX/RWmro.\n\
             bob:{SHA}9SMYoF5RilWWASry7TjeaKwmpGg=\nempty:\n",
        ),
        ("keys/more", "dave:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"),
        ("keys/groups", "staff: alice dave\nother : bob\n"),
        ("users/f", "users/f\n"),
        ("users/index.html", "users/index.html\n"),
        ("users/staff/f", "users/staff/f\n"),
        ("users/none/f", "users/none/f\n"),
        ("users/merged/f", "users/merged/f\n"),
        ("users/more/f", "users/more/f\n"),
        ("users/limited/f", "users/limited/f\n"),
        ("users/page/f", "users/page/f\n"),
        ("users/any/f", "users/any/f\n"),
        ("users/by_file/f", "users/by_file/f\n"),
        ("lost/f", "lost/f\n"),
        ("digest/f", "digest/f\n"),
        ("unasked/f", "unasked/f\n"),
        ("unruled/f", "unruled/f\n"),
        ("old/f", "old/f\n"),
        ("expr/f", "expr/f\n"),
        ("refused/f", "refused/f\n"),
        ("local/f", "local/f\n"),
        ("users/page/401.txt", "who are you?\n"),
        ("users/by_file/.htaccess", "Require user \"bob\" dave\n"),
        ("refused/.htaccess", "Require nonsense\n"),
        ("local/.htaccess", "<Limit POST>\nOrder allow,deny\n</Limit>\nRequire local\n"),
    ],
    requests: &[
        "GET /users/f HTTP/1.1",
        "GET /users/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/staff/f HTTP/1.1",
        "GET /users/staff/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/staff/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/staff/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/staff/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/staff/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/none/f HTTP/1.1",
        "GET /users/none/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/none/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/none/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/none/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/none/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/merged/f HTTP/1.1",
        "GET /users/merged/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/merged/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/merged/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/merged/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/merged/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/more/f HTTP/1.1",
        "GET /users/more/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/more/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/more/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/more/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/more/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/limited/f HTTP/1.1",
        "GET /users/limited/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/limited/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/limited/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/limited/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/limited/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/page/f HTTP/1.1",
        "GET /users/page/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/page/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/page/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/page/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/page/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/any/f HTTP/1.1",
        "GET /users/any/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/any/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/any/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/any/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/any/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/by_file/f HTTP/1.1",
        "GET /users/by_file/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/by_file/f HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/by_file/f HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/by_file/f HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/by_file/f HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "GET /users/ HTTP/1.1",
        "GET /users/ HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /users/ HTTP/1.1\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/ HTTP/1.1\nAuthorization: Basic ZGF2ZTpzZWNyZXQ=",
        "GET /users/ HTTP/1.1\nAuthorization: Basic bm9ib2R5Ong=",
        "GET /users/ HTTP/1.1\nAuthorization: Basic YWxpY2U6YmFk",
        "POST /users/f HTTP/1.1\nContent-Length: 0\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "POST /users/f HTTP/1.1\nContent-Length: 0\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "POST /users/limited/f HTTP/1.1\nContent-Length: 0\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "POST /users/limited/f HTTP/1.1\nContent-Length: 0\nAuthorization: Basic Ym9iOmJ1aWxkZXI=",
        "GET /users/f HTTP/1.1\nAuthorization: Bearer x",
        "GET /users/f HTTP/1.1\nAuthorization: bAsIc  YWxpY2U6d29uZGVy",
        "GET /users/f HTTP/1.1\nAuthorization: Basic",
        "GET /users/f HTTP/1.1\nAuthorization: Basic !!",
        "GET /users/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVyAHg=",
        "GET /users/f HTTP/1.1\nAuthorization: Basic ZW1wdHk6",
        "GET /users/f HTTP/1.1\nAuthorization: Basic YWxpY2U=",
        "GET /users/nothing HTTP/1.1",
        "GET /users HTTP/1.1",
        "GET /keys/users HTTP/1.1",
        "GET / HTTP/1.1",
        "GET /lost/f HTTP/1.1",
        "GET /lost/f HTTP/1.1\nAuthorization: Basic YWxpY2U6d29uZGVy",
        "GET /digest/f HTTP/1.1",
        "GET /unasked/f HTTP/1.1",
        "GET /unruled/f HTTP/1.1",
        "GET /old/f HTTP/1.1",
        "POST /old/f HTTP/1.1\nContent-Length: 0",
        "GET /expr/f HTTP/1.1",
        "GET /expr/f?open HTTP/1.1",
        "GET /refused/f HTTP/1.1",
        "GET /local/f HTTP/1.1",
        "POST /local/f HTTP/1.1\nContent-Length: 0",
    ],
    different: &[],
    ignored: &[],
};

fn authorization(mpm: Mpm) {
    compare("authorization", mpm, &AUTHORIZATION);
}

fn static_files(mpm: Mpm) {
    compare("static_files", mpm, &STATIC);
}

fn listings(mpm: Mpm) {
    compare("listings", mpm, &LISTING);
}

fn aliases(mpm: Mpm) {
    compare("aliases", mpm, &aliases::ALIASES);
}

fn virtual_folders(mpm: Mpm) {
    compare("virtual_folders", mpm, &aliases::VIRTUAL_FOLDERS);
}

fn negotiation(mpm: Mpm) {
    compare("negotiation", mpm, &negotiation::NEGOTIATION);
}

fn files_with_their_own_heads(mpm: Mpm) {
    compare("files_with_their_own_heads", mpm, &negotiation::OWN_HEADS);
}

fn types_of_files(mpm: Mpm) {
    compare("types_of_files", mpm, &TYPES);
}

fn substituted_text(mpm: Mpm) {
    compare("substituted_text", mpm, &substitute::SUBSTITUTE);
}

each_mpm!(
    aliases,
    authorization,
    files_with_their_own_heads,
    headers_and_variables,
    listings,
    negotiation,
    static_files,
    substituted_text,
    types_of_files,
    virtual_folders,
);
