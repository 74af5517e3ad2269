//! What other releases of the programs beside trivet say in other words. Tests are written for
//! apache2 2.4.71 and siege 4.0.7; what another release has said is put into the words of these
//! before it is compared, and nowhere else.

use std::path::{Path, PathBuf};

use crate::{Response, outside};

/// A program beside trivet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// httpd, as Debian has it.
    Apache,
    /// ab, from the same source.
    Ab,
    /// siege.
    Siege,
}

/// Words of some releases, and those that stand for them in a comparison.
struct Row {
    program: Program,
    start: &'static str,
    /// What may follow the start.
    allowed: fn(char) -> bool,
    end: &'static str,
    instead: &'static str,
}

/// Which releases say so stands above each row.
const ROWS: &[Row] = &[
    // Each: name and number.
    Row {
        program: Program::Apache,
        start: "Apache/2.4.",
        allowed: |c| c.is_ascii_digit(),
        end: " (Debian)",
        instead: "Apache/2.4.71 (Trivet/0.1)",
    },
    // Each: the number of its interface.
    Row {
        program: Program::Apache,
        start: "Module Magic Number: 20120211:",
        allowed: |c| c.is_ascii_digit(),
        end: "",
        instead: "Module Magic Number: 20120211:142",
    },
    // Up to 2.4.65: the type of document of lists and of the status.
    Row {
        program: Program::Apache,
        start: OLD_DOCUMENTS[1],
        allowed: |_| false,
        end: "",
        instead: DOCUMENT,
    },
    // Up to 2.4.66: where Debian has it put its process id.
    Row {
        program: Program::Apache,
        start: "DEFAULT_PIDLOG=\"/var/run/",
        allowed: |_| false,
        end: "",
        instead: "DEFAULT_PIDLOG=\"/run/",
    },
    // Each: the numbers of its libraries.
    Row {
        program: Program::Apache,
        start: " APR 1.7.",
        allowed: |c| c.is_ascii_digit(),
        end: ",",
        instead: " APR 1.7.2,",
    },
    Row {
        program: Program::Apache,
        start: " PCRE 10.",
        allowed: |c| c.is_ascii_digit() || c == ' ' || c == '-',
        end: "",
        instead: " PCRE 10.42 2022-12-11",
    },
    // Up to 2.4.68: the number of its source, which 2.4.71 leaves out.
    Row {
        program: Program::Ab,
        start: "<$Revision: ",
        allowed: |c| c.is_ascii_digit(),
        end: " $>",
        instead: "<$Revision$>",
    },
    // Up to 2.4.68: the same as HTML.
    Row {
        program: Program::Ab,
        start: "&lt;$Revision: ",
        allowed: |c| c.is_ascii_digit(),
        end: " $&gt;",
        instead: "&lt;$Revision$&gt;",
    },
    // Each: its number.
    Row {
        program: Program::Siege,
        start: "Siege/4.",
        allowed: |c| c.is_ascii_digit() || c == '.',
        end: "",
        instead: "Siege/4.0.7",
    },
    // From 4.1: the first line of JSON ends behind the brace.
    Row { program: Program::Siege, start: "{\n", allowed: |_| false, end: "", instead: "{" },
    // From 4.1: which name has no address.
    Row {
        program: Program::Siege,
        start: "Name or service not known: ",
        allowed: |c| c != '\n',
        end: "",
        instead: "Name or service not known",
    },
];

/// Words with which the ab of Debian 13 is killed by a signal once it has said what is wrong: there
/// is no exit status to compare.
pub const KILLED: &[[&str; 2]] = &[["-c", "0"]];

/// The option with which siege tells no figures from 4.1 on.
pub const WITHOUT_FIGURES: &str = "-g";

/// The oldest httpd whose answers are compared with those of 2.4.71.
const OLDEST: u32 = 62;

/// What the pages of httpd begin with, and what they began with up to 2.4.65: errors, and lists.
const DOCUMENT: &str = "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \
    \"http://www.w3.org/TR/html4/strict.dtd\">";
const OLD_DOCUMENTS: [&str; 2] = [
    "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">",
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">",
];
const OLD_DOCUMENTS_UNTIL: u32 = 65;

/// What has changed since: the first patch release of Debian that has it, the set, and how its row
/// begins, or with a `$` all of the row.
const CHANGED: &[(u32, &str, &str)] = &[
    // The host of a backend may not be missing.
    (65, "wrong_lines", "ProxyPass /x fcgi://$"),
    // The script of a URL for FastCGI that has a query, or a path behind the script.
    (65, "proxy_pass", "GET /full-dot/env.php/a/b"),
    (65, "proxy_pass", "GET /raw/env.php?x"),
    // A session is found by a parameter of the URL behind the query, too.
    (65, "proxy_balancer", "GET /sticky/env.php?sid="),
    // A request whose body cannot be read has no variables of its own.
    (65, "refusals", "POST /a.txt HTTP/1.1\nTransfer-Encoding: chunked\n\nzz"),
    (65, "refusals", "POST /own/a.txt HTTP/1.1\n"),
    (65, "status", "ConnsAsyncWaitIO"),
    // A LogFormat of a virtual host holds for logs that it inherits.
    (65, "logs", "GET /hello.txt HTTP/1.1\nHost: one.example"),
    (65, "logs", "GET /missing HTTP/1.1\nHost: ONE.example"),
    (65, "logs", "GET /closed/x HTTP/1.1\nHost: one.example"),
    (66, "wrong_lines", "ListenTCPDeferAccept"),
    // An expression in a .htaccess file may no longer read files (CVE-2026-24072).
    (67, "htaccess", "GET /file-expr/"),
    // After 2.4.68: a PROXY header may say that the proxy itself has connected (LOCAL), and must be
    // as long as its addresses are.
    (69, "proxy_protocol", "\r\n\r\n\0\r\nQUIT\n "),
    (69, "proxy_protocol", "\r\n\r\n\0\r\nQUIT\n!\u{11}\0\u{8}"),
];

/// Debian's httpd; `None`, told and counted, where there is none that answers can be compared with.
pub fn httpd(test: &str) -> Option<PathBuf> {
    let found = outside::find("apache2").filter(|_| Path::new(MODULES).exists());
    let Some(program) = found else {
        outside::not_run(test, "apache2 is not installed");
        return None;
    };
    let number = httpd_patch();
    if number < OLDEST {
        outside::not_run(test, &format!("apache2 2.4.{number} answers otherwise than today's"));
        return None;
    }
    Some(program)
}

/// The last number of the version of Debian's httpd, which is there.
pub fn httpd_patch() -> u32 {
    let told = outside::succeed("apache2", &["-v"], 20);
    patch(&told).unwrap_or_else(|| panic!("no version in {told}"))
}

/// Whether httpd of this patch release answers a row of a set otherwise than today's.
pub fn is_answered_otherwise(patch: u32, set: &str, row: &str) -> bool {
    let is_meant = |start: &str| match start.strip_suffix('$') {
        Some(whole) => row == whole,
        None => row.starts_with(start),
    };
    let changed = |change: &&(u32, &str, &str)| change.1 == set && is_meant(change.2);
    CHANGED.iter().find(changed).is_some_and(|change| patch < change.0)
}

/// An answer of the httpd that is here, as that of today has it. To `HEAD` only the length tells
/// that there is a page.
pub fn answered_today(mut response: Response, patch: u32) -> Response {
    if patch > OLD_DOCUMENTS_UNTIL {
        return response;
    }
    let document = OLD_DOCUMENTS.iter().find(|old| response.body.starts_with(old.as_bytes()));
    let is_error = response.status >= 300;
    let is_page = response.field("Content-Type") == Some("text/html; charset=iso-8859-1");
    let grown = match document {
        Some(old) => {
            response.body.splice(..old.len(), DOCUMENT.bytes());
            DOCUMENT.len() - old.len()
        }
        None if response.body.is_empty() && is_error && is_page => {
            DOCUMENT.len() - OLD_DOCUMENTS[0].len()
        }
        None => return response,
    };
    for (name, value) in &mut response.fields {
        let length = std::str::from_utf8(value).ok().and_then(|text| text.parse::<usize>().ok());
        if let Some(length) = length.filter(|_| name == "Content-Length") {
            *value = (length + grown).to_string().into_bytes();
        }
    }
    response
}

/// What the httpd that is here has logged, as that of today logs it: lengths of pages.
pub fn logged_today(text: &str, patch: u32) -> String {
    if patch > OLD_DOCUMENTS_UNTIL {
        return text.to_owned();
    }
    let is_page = |length: &usize| *length > OLD_DOCUMENTS[0].len();
    let of_pages = text.lines().filter_map(|line| line.strip_prefix("text/html "));
    let lengths: Vec<usize> =
        of_pages.filter_map(|rest| rest.split(' ').next()?.parse().ok()).filter(is_page).collect();
    let word = |word: &str| match word.parse::<usize>() {
        Ok(length) if lengths.contains(&length) => {
            (length + DOCUMENT.len() - OLD_DOCUMENTS[0].len()).to_string()
        }
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The last number of its version.
fn patch(told: &str) -> Option<u32> {
    let (_, rest) = told.split_once("Apache/2.4.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Where Debian has its modules.
const MODULES: &str = "/usr/lib/apache2/modules";

/// What a program has said, in the words of the release that tests are written for.
pub fn as_of_today(program: Program, text: &str) -> String {
    let rows = ROWS.iter().filter(|row| row.program == program);
    rows.fold(text.to_owned(), |text, row| row.apply(&text))
}

impl Row {
    fn apply(&self, mut text: &str) -> String {
        let mut out = String::new();
        while let Some((before, rest)) = text.split_once(self.start) {
            out += before;
            match rest.trim_start_matches(self.allowed).strip_prefix(self.end) {
                Some(behind) => {
                    out += self.instead;
                    text = behind;
                }
                None => {
                    out += self.start;
                    text = rest;
                }
            }
        }
        out + text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_patch_is_read() {
        let rows = [
            ("Server version: Apache/2.4.71 (Debian)\nServer built: 2026", Some(71)),
            ("Server version: Apache/2.4.9\n", Some(9)),
            ("Server version: Apache/2.5.0-dev\n", None),
        ];
        for (told, expected) in rows {
            assert_eq!(patch(told), expected, "{told}");
        }
    }

    #[test]
    fn what_other_releases_say_is_put_into_the_words_of_today() {
        let rows = [
            (Program::Apache, "<address>Apache/2.4.62 (Debian) Server", {
                "<address>Apache/2.4.71 (Trivet/0.1) Server"
            }),
            (Program::Apache, "Apache/2.4.x and Apache/2.4.9", "Apache/2.4.x and Apache/2.4.9"),
            (Program::Apache, "loaded:  APR 1.7.5, APR-UTIL 1.6.3, PCRE 10.46 2025-08-27\n", {
                "loaded:  APR 1.7.2, APR-UTIL 1.6.3, PCRE 10.42 2022-12-11\n"
            }),
            (Program::Ab, "2.3 <$Revision: 1923142 $>\n", "2.3 <$Revision$>\n"),
            (Program::Ab, "<i>&lt;$Revision: 1 $&gt;</i>", "<i>&lt;$Revision$&gt;</i>"),
            (Program::Ab, "2.3 <$Revision: x $>", "2.3 <$Revision: x $>"),
            (Program::Siege, "gnu) Siege/4.1.6\r\n", "gnu) Siege/4.0.7\r\n"),
            (Program::Siege, "{\n\t\"transactions\"", "{\t\"transactions\""),
            (Program::Siege, "not known: a.b\nnext", "not known: a.b\nnext"),
            (Program::Siege, "Name or service not known: a.b\nx", "Name or service not known\nx"),
        ];
        for (program, said, expected) in rows {
            assert_eq!(as_of_today(program, said), expected);
        }
    }

    #[test]
    fn a_row_is_changed_by_its_start_or_as_a_whole() {
        for (patch, set, row, expected) in [
            (64, "wrong_lines", "ProxyPass /x fcgi://", true),
            (64, "wrong_lines", "ProxyPass /x fcgi://h", false),
            (65, "wrong_lines", "ProxyPass /x fcgi://", false),
            (64, "refusals", "POST /own/a.txt HTTP/1.1\nA: b", true),
            (64, "logs", "POST /own/a.txt HTTP/1.1\nA: b", false),
        ] {
            assert_eq!(is_answered_otherwise(patch, set, row), expected, "{patch} {set} {row}");
        }
    }

    #[test]
    fn pages_begin_and_are_as_long_as_today() {
        let page = |status, document: &str, length: usize| Response {
            version: "HTTP/1.1".into(),
            status,
            reason: String::new(),
            fields: vec![
                ("Content-Length".into(), length.to_string().into_bytes()),
                ("Content-Type".into(), b"text/html; charset=iso-8859-1".to_vec()),
            ],
            body: document.as_bytes().to_vec(),
            interim: Vec::new(),
        };
        let length = |response: &Response| response.field("Content-Length").map(ToOwned::to_owned);
        let [error, list] = OLD_DOCUMENTS;
        for (patch, status, body, expected, today) in [
            (65, 404, error, DOCUMENT, "240"),
            (65, 200, list, DOCUMENT, "235"),
            (65, 404, "", "", "240"), // to HEAD
            (65, 200, "", "", "200"),
            (65, 404, "of one's own", "of one's own", "200"),
            (66, 404, error, error, "200"),
        ] {
            let answered = answered_today(page(status, body, 200), patch);
            assert_eq!(answered.body, expected.as_bytes(), "{patch} {status} {body}");
            assert_eq!(length(&answered).as_deref(), Some(today), "{patch} {status} {body}");
        }
    }

    #[test]
    fn lengths_of_pages_are_logged_as_today() {
        let logged = "GET /x 404 199 199 - 13\ntext/html 199 - close\ntext/html 13 - -\n";
        let today = "GET /x 404 239 239 - 13\ntext/html 239 - close\ntext/html 13 - -\n";
        assert_eq!(logged_today(logged, 65), today);
        assert_eq!(logged_today(logged, 66), logged);
    }
}
