//! Files of passwords and groups: opened for every request as httpd does it, read again only when
//! they have changed, and taken apart by the rules of `ap_cfg_getline` and `ap_getword`
//! (server/util.c). What the words mean is the business of the modules that ask.

use runtime::clock;
use runtime::file::{self, Errno, FileAttributes, FileType, Links, OpenPurpose};
use server::question;
use server::request_context::RequestContext;
use server::thread_state::ThreadKey;
use server::waiting::{NowOrLater, Waiting};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::hash::Hash;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The key of the files that a thread has read.
pub(crate) static TEXTS: ThreadKey<Texts> = ThreadKey::new();

/// Files of one serving thread.
#[derive(Default)]
pub(crate) struct Texts {
    known: RefCell<HashMap<PathBuf, CachedFile>>,
}

/// A file as it was when it was read.
struct CachedFile {
    status: FileAttributes,
    /// Whether a later change would show in that.
    is_settled: bool,
    text: Rc<[u8]>,
}

/// Files known per thread; `.htaccess` files may name any number of them.
const FILES_MAX: usize = 64;

/// Longer files are read from the disk for every request.
const KEPT_BYTES_MAX: u64 = 256 * 1024;

/// A file that can be read line by line.
pub(crate) enum AuthText {
    Kept(Rc<[u8]>),
    Long(File),
}

impl Texts {
    /// The file at `path` as it is now.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn open(&self, path: &Path) -> Result<AuthText, Errno> {
        let bytes = path.as_os_str().as_bytes();
        let opened =
            file::open_beneath(file::CURRENT_FOLDER, bytes, Links::Follow, OpenPurpose::Read);
        let opened = opened?;
        let status = file::status(&opened)?;
        if status.kind != FileType::File {
            // A folder, or something that may never end (ap_pcfg_openfile).
            return Err(Errno::BADF);
        }
        let is_current = |known: &&CachedFile| known.is_settled && known.status == status;
        if let Some(known) = self.known.borrow().get(path).filter(is_current) {
            return Ok(AuthText::Kept(known.text.clone()));
        }
        let opened = File::from(opened);
        if status.size > KEPT_BYTES_MAX {
            return Ok(AuthText::Long(opened));
        }
        let is_settled = status.would_show_change(clock::unix_us());
        let mut text = Vec::new();
        let read = opened.take(KEPT_BYTES_MAX).read_to_end(&mut text);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let text: Rc<[u8]> = text.into();
        // If it was changed since `status` was asked, the next request sees another one and reads
        // again.
        let mut known = self.known.borrow_mut();
        if known.len() >= FILES_MAX {
            known.clear();
        }
        known.insert(path.to_owned(), CachedFile { status, is_settled, text: text.clone() });
        Ok(AuthText::Kept(text))
    }
}

impl AuthText {
    /// Let `search` read the lines, on another thread if there are many. `about` is what is looked
    /// for, and where.
    ///
    /// # Errors
    /// As [`question::elsewhere`] for a long file.
    pub(crate) fn search<'l, T: Clone + Send + 'static>(
        self,
        request: &'l RequestContext<'_>,
        about: &impl Hash,
        search: impl FnOnce(&mut dyn BufRead) -> T + Send + 'static,
    ) -> Waiting<'l, T> {
        match self {
            Self::Kept(text) => NowOrLater::Now(Ok(search(&mut &*text))),
            Self::Long(file) => {
                let work = move || search(&mut BufReader::new(file));
                question::elsewhere(request, about, work).map(|found| Ok((*found?).clone()))
            }
        }
    }
}

/// Call `look` with each line that is neither empty nor a comment until it has found what it wants.
/// As in httpd a line that is longer than `line_bytes_max` ends the file.
pub(crate) fn find<T>(
    mut reader: impl BufRead,
    line_bytes_max: usize,
    mut look: impl FnMut(&[u8]) -> Option<T>,
) -> Option<T> {
    let mut line = Vec::new();
    loop {
        line.clear();
        while next_part(&mut reader, line_bytes_max, &mut line)? {}
        let line = line.trim_ascii();
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        if let found @ Some(_) = look(line) {
            return found;
        }
    }
}

/// Read up to the next line end; true if the line goes on after a `\`. `None` is the end.
fn next_part(reader: &mut impl BufRead, max: usize, line: &mut Vec<u8>) -> Option<bool> {
    let before = line.len();
    let room = (max + 1).saturating_sub(before) as u64;
    reader.take(room).read_until(b'\n', line).ok()?;
    if line.len() > max || (line.len() == before && before == 0) {
        return None;
    }
    let Some(without) = line.strip_suffix(b"\n").filter(|_| line.len() > before) else {
        return Some(false);
    };
    let without = without.strip_suffix(b"\r").unwrap_or(without);
    let Some(joined) = without.strip_suffix(b"\\") else { return Some(false) };
    let length = joined.len();
    line.truncate(length);
    Some(true)
}

/// What stands before `stop`, and what stands behind it and all that follow it directly
/// (`ap_getword`).
pub(crate) fn before(line: &[u8], stop: u8) -> (&[u8], &[u8]) {
    let Some(at) = line.iter().position(|byte| *byte == stop) else { return (line, b"") };
    let behind = line[at..].iter().position(|byte| *byte != stop).unwrap_or(line.len() - at);
    (&line[..at], &line[at + behind..])
}

/// The words of a list, which may be quoted (`ap_getword_conf`). As in httpd an empty one ends it.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word;
        (word, rest) = word_of(rest.trim_ascii_start());
        (!word.is_empty()).then_some(word)
    })
}

fn word_of(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let Some(quote @ (b'"' | b'\'')) = text.first().copied() else {
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        return (text[..end].to_vec(), &text[end..]);
    };
    let mut word = Vec::new();
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        let escapes = text[at] == b'\\'
            && text.get(at + 1).is_some_and(|next| *next == quote || *next == b'\\');
        at += usize::from(escapes);
        word.push(text[at]);
        at += 1;
    }
    (word, &text[(at + 1).min(text.len())..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], max: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let found: Option<()> = find(text, max, |line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            None
        });
        assert_eq!(found, None);
        lines
    }

    #[test]
    fn lines_are_joined_trimmed_and_limited() {
        let rows: [(&[u8], &[&str]); 8] = [
            (b"", &[]),
            (b"a\nb", &["a", "b"]),
            (b"# no\n\n  a \r\n#", &["a"]),
            (b"a\\\nb\\\r\nc\nd", &["abc", "d"]),
            (b"a\\", &["a\\"]),
            (b"a\\\n", &["a"]),
            (b"123456789\nb", &["123456789", "b"]),
            (b"a\n1234567890\nb", &["a"]),
        ];
        for (text, expected) in rows {
            assert_eq!(lines(text, 10), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn words_may_be_quoted() {
        let words = |text: &[u8]| -> Vec<String> {
            words(text).map(|word| String::from_utf8_lossy(&word).into_owned()).collect()
        };
        assert_eq!(words(b" a  b\tc "), ["a", "b", "c"]);
        assert_eq!(words(br#""a b" 'c"d' "e\"f\\" g"#), ["a b", "c\"d", "e\"f\\", "g"]);
        assert_eq!(words(b"a \"\" b"), ["a"]);
        assert_eq!(words(b"\"open"), ["open"]);
        assert!(words(b"  ").is_empty());
    }

    #[test]
    fn several_colons_are_one() {
        assert_eq!(before(b"a:b:c", b':'), (&b"a"[..], &b"b:c"[..]));
        assert_eq!(before(b"a::b", b':'), (&b"a"[..], &b"b"[..]));
        assert_eq!(before(b"a", b':'), (&b"a"[..], &b""[..]));
        assert_eq!(before(b"a:", b':'), (&b"a"[..], &b""[..]));
    }
}
