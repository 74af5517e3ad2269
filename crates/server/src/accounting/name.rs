//! The names of accounts: what requests have in common that cost about the same.
//!
//! - Files are told apart by folder and extension: `/images/*.jpg`. One costs what another does,
//!   and the access log has each.
//! - Elsewhere the path counts, without its query, and `#` stands for numbers and for long ids:
//!   `/product/4711/reviews` is `/product/#/reviews`.
//! - What was not found, was refused or was no request has its status for a name: such URLs are
//!   without number, and say little about the site.

use message::Status;
use scoreboard::ACCOUNT_NAME_BYTES;

/// A word of letters and digits that is as long as this, with digits in it, is an id.
const ID_BYTES: usize = 16;

/// What stands at the end of a name that was too long.
const CUT: &[u8] = b"...";

/// What the account of a request is found by.
#[derive(Clone, Copy)]
pub(crate) struct AccountedRequest<'a> {
    /// The number of the virtual host.
    pub(crate) host: usize,
    /// The path that was asked for, decoded; empty if it is not known.
    pub(crate) path: &'a [u8],
    /// Whether a handler answered, and not the server with a page for an error.
    pub(crate) is_handled: bool,
    /// Whether the answer is a file as it is.
    pub(crate) is_file: bool,
    /// Of the answer.
    pub(crate) status: u16,
}

/// A name, of at most [`ACCOUNT_NAME_BYTES`].
#[derive(Clone, Copy)]
pub(super) struct AccountName {
    bytes: [u8; ACCOUNT_NAME_BYTES],
    length: usize,
    is_cut: bool,
}

impl AccountName {
    fn new() -> Self {
        Self { bytes: [0; ACCOUNT_NAME_BYTES], length: 0, is_cut: false }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = ACCOUNT_NAME_BYTES - self.length;
        let taken = bytes.len().min(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&bytes[..taken]);
        self.length += taken;
        self.is_cut |= taken < bytes.len();
    }

    /// A name that was cut says so.
    fn finish(mut self) -> Self {
        if self.is_cut {
            self.bytes[ACCOUNT_NAME_BYTES - CUT.len()..].copy_from_slice(CUT);
        }
        self
    }
}

/// The name of the account that a request belongs to.
pub(super) fn name(asked: &AccountedRequest<'_>) -> AccountName {
    let mut name = AccountName::new();
    let is_missing = asked.status == Status::NOT_FOUND.code();
    let is_refused = asked.status >= 400 && !asked.is_handled;
    if is_missing || is_refused || asked.path.is_empty() {
        name.push(b"(");
        name.push(asked.status.to_string().as_bytes());
        name.push(b")");
        return name;
    }
    let end = asked.path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let (folder, file) = asked.path.split_at(end);
    generalise(folder, &mut name);
    match asked.is_file && !file.is_empty() {
        true => {
            name.push(b"*");
            let dot = file.iter().rposition(|byte| *byte == b'.');
            name.push(dot.and_then(|dot| file.get(dot..)).unwrap_or_default());
        }
        false => generalise(file, &mut name),
    }
    name.finish()
}

/// Append `path` with `#` for numbers and ids.
fn generalise(path: &[u8], name: &mut AccountName) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
    let mut rest = path;
    while !rest.is_empty() && !name.is_cut {
        let length = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if word.len() >= ID_BYTES && word.iter().any(u8::is_ascii_digit) {
            name.push(b"#");
        } else {
            numbers(word, name);
        }
        let length = after.iter().position(is_word).unwrap_or(after.len());
        let (marks, next) = after.split_at(length);
        name.push(marks);
        rest = next;
    }
}

/// Append a word with `#` for each number in it.
fn numbers(word: &[u8], name: &mut AccountName) {
    for run in word.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        name.push(if run[0].is_ascii_digit() { b"#" } else { run });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &[u8], is_file: bool, status: u16) -> Vec<u8> {
        let is_handled = status != 403;
        name(&AccountedRequest { host: 0, path, is_handled, is_file, status }).as_bytes().to_vec()
    }

    #[test]
    fn what_costs_the_same_has_one_name() {
        let rows: [(&str, bool, u16, &str); 21] = [
            ("/", true, 200, "/"),
            ("/index.php", false, 200, "/index.php"),
            ("/product/4711/reviews", false, 200, "/product/#/reviews"),
            ("/2026/11/20/hello-world/", false, 200, "/#/#/#/hello-world/"),
            ("/page2/img01.php", false, 200, "/page#/img#.php"),
            ("/u/0123456789abcdef/x", false, 200, "/u/#/x"),
            (
                "/u/6ba7b810-9dad-11d1-80b4-00c04fd430c8",
                false,
                200,
                "/u/#ba#b#-#dad-#d#-#b#-#c#fd#c#",
            ),
            (
                "/averyveryverylongwordwithoutdigits",
                false,
                200,
                "/averyveryverylongwordwithoutdigits",
            ),
            ("/images/a.jpg", true, 200, "/images/*.jpg"),
            ("/images/a.tar.gz", true, 304, "/images/*.gz"),
            ("/uploads/2026/11/b-7.webp", true, 206, "/uploads/#/#/*.webp"),
            ("/images/README", true, 200, "/images/*"),
            ("/.htaccess", true, 403, "(403)"),
            ("/x.php", false, 403, "(403)"),
            ("/.well-known", true, 200, "/*.well-known"),
            ("/gone/123", false, 404, "(404)"),
            ("/gone.jpg", true, 404, "(404)"),
            ("", false, 400, "(400)"),
            ("/down", false, 503, "/down"),
            ("*", false, 200, "*"),
            ("/a b\n", false, 200, "/a b\n"),
        ];
        for (path, is_file, status, expected) in rows {
            let found = of(path.as_bytes(), is_file, status);
            assert_eq!(found, expected.as_bytes(), "{path}: {}", found.escape_ascii());
        }
    }

    #[test]
    fn a_name_that_is_too_long_ends_in_dots() {
        for filler in [&b"x"[..], b"/", b"x/", b"\xff"] {
            let path = filler.repeat(4000);
            let found = of(&[b"/", path.as_slice()].concat(), false, 200);
            assert_eq!(found.len(), ACCOUNT_NAME_BYTES);
            assert!(found.ends_with(CUT));
        }
        assert_eq!(of(&b"/".repeat(96), false, 200), b"/".repeat(96));
        let long = [b"/a.".as_slice(), &b"x".repeat(200)].concat();
        assert!(of(&long, true, 200).ends_with(CUT));
    }
}
