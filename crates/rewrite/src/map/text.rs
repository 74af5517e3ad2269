//! `txt:` and `rnd:`: a file with a key and a value on each line. A thread keeps what it has read
//! until the file changes.

use crate::trace::{MODULE, Trace, shown};
use runtime::clock;
use runtime::file::{self, Errno, FileAttributes};
use server::request_context::RequestContext;
use server::thread_state::ThreadKey;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

/// The file of a map.
#[derive(Debug)]
pub(crate) struct TextFile {
    path: PathBuf,
    /// `rnd:`: a value is a list, separated by `|`, of which any is chosen.
    is_random: bool,
}

/// What files have, on a thread.
#[derive(Default)]
struct Known(RefCell<HashMap<PathBuf, Parsed>>);

static KNOWN: ThreadKey<Known> = ThreadKey::new();

/// A file as it was when it was read.
struct Parsed {
    status: FileAttributes,
    /// Whether a change since would show in that.
    is_settled: bool,
    rows: Rc<Rows>,
    /// Maps and keys that somebody was told of, where steps are logged.
    asked: HashSet<(Box<str>, Box<[u8]>)>,
}

/// So many keys are remembered for the log: a client may make up any number.
const ASKED_MAX: usize = 10_000;

/// Values by their keys.
type Rows = HashMap<Box<[u8]>, Box<[u8]>>;

impl TextFile {
    pub(crate) fn new(path: PathBuf, is_random: bool) -> Self {
        Self { path, is_random }
    }

    pub(crate) fn find(
        &self,
        request: &RequestContext<'_>,
        trace: Trace,
        name: &str,
        key: &[u8],
    ) -> Option<Vec<u8>> {
        request.mark_momentary();
        let rows = self.rows(request)?;
        let value = rows.get(key).map(|value| &**value);
        self.tell(request, trace, name, key, value);
        let value = value?;
        if !self.is_random {
            return Some(value.to_vec());
        }
        request.mark_personal();
        let value = any_part(value);
        trace.say(5, request, None, || format!("randomly chosen the subvalue `{}'", shown(value)));
        (!value.is_empty()).then(|| value.to_vec())
    }

    /// Say what was found in the words of httpd, which asks the file once for each key and keeps
    /// what it has, were it nothing.
    fn tell(
        &self,
        request: &RequestContext<'_>,
        trace: Trace,
        name: &str,
        key: &[u8],
        value: Option<&[u8]>,
    ) {
        if trace.is_silent() {
            return;
        }
        let is_again = self.was_asked(request, name, key);
        if !is_again {
            trace.say(6, request, None, || "cache lookup FAILED, forcing new map lookup".into());
        }
        trace.say(5, request, None, || {
            let (key, text) = (shown(key), shown(value.unwrap_or_default()));
            match (is_again, value) {
                (true, _) => format!("cache lookup OK: map={name}[txt] key={key} -> val={text}"),
                (false, Some(_)) => {
                    format!("map lookup OK: map={name}[txt] key={key} -> val={text}")
                }
                (false, None) => format!("map lookup FAILED: map={name}[txt] key={key}"),
            }
        });
    }

    /// Whether the map of this name was asked for the key since the file has changed.
    fn was_asked(&self, request: &RequestContext<'_>, name: &str, key: &[u8]) -> bool {
        let known = KNOWN.of(&request.context.modules);
        let mut known = known.0.borrow_mut();
        let Some(parsed) = known.get_mut(&self.path) else { return false };
        if parsed.asked.len() == ASKED_MAX {
            parsed.asked.clear();
        }
        !parsed.asked.insert((name.into(), key.into()))
    }

    /// What the file has now.
    fn rows(&self, request: &RequestContext<'_>) -> Option<Rc<Rows>> {
        let say = |errno: Errno, id: u32, what: &str| {
            let path = self.path.display();
            let text = format!("mod_rewrite: can't {what} text RewriteMap file {path}");
            request.log_errno(errno, MODULE, id, &text);
        };
        let status = file::status_at(file::CURRENT_FOLDER, self.path.as_os_str().as_bytes());
        let status = status.map_err(|errno| say(errno, 661, "access")).ok()?;
        let known = KNOWN.of(&request.context.modules);
        let mut known = known.0.borrow_mut();
        if let Some(parsed) = known.get(&self.path)
            && parsed.is_settled
            && parsed.status == status
        {
            return Some(parsed.rows.clone());
        }
        let is_settled = status.would_show_change(clock::unix_us());
        let text = std::fs::read(&self.path).map_err(|error| {
            let errno = Errno::from_raw_os_error(error.raw_os_error().unwrap_or_default());
            say(errno, 655, "open");
        });
        let rows = Rc::new(parse(&text.ok()?));
        let before = known.remove(&self.path).filter(|before| before.status == status);
        let asked = before.map(|before| before.asked).unwrap_or_default();
        known.insert(self.path.clone(), Parsed { status, is_settled, rows: rows.clone(), asked });
        Some(rows)
    }
}

/// One of the parts between `|`.
fn any_part(value: &[u8]) -> &[u8] {
    let count = 1 + value.iter().filter(|byte| **byte == b'|').count();
    let random = RandomState::new().hash_one(clock::unix_us());
    let nth = usize::try_from(random).unwrap_or_default() % count;
    value.split(|byte| *byte == b'|').nth(nth).unwrap_or(value)
}

/// A line is read in pieces of this size at most, as httpd reads it (REWRITE_MAX_TXT_MAP_LINE).
const LINE_BYTES_MAX: usize = 1024;

/// A key, blanks and a value on each line; of several lines for a key the first counts. What begins
/// with a blank or `#` is no such line, and what follows the value is a comment.
fn parse(text: &[u8]) -> Rows {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let mut rows = Rows::new();
    for line in lines.flat_map(|line| line.chunks(LINE_BYTES_MAX)) {
        if matches!(line.first(), Some(b'#')) {
            continue;
        }
        let mut words = line.splitn(2, u8::is_ascii_whitespace);
        let (Some(key), Some(rest)) = (words.next(), words.next()) else { continue };
        let rest = rest.trim_ascii_start();
        let value = rest.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if !key.is_empty() && !value.is_empty() {
            rows.entry(key.into()).or_insert_with(|| value.into());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_key_and_a_value() {
        let rows = parse(b"# no\n a b\nkey\t value more\nkey other\nempty \nlone\n\nend x");
        let row = |key: &str| rows.get(key.as_bytes()).map(|value| String::from_utf8_lossy(value));
        assert_eq!((row("key"), row("end")), (Some("value".into()), Some("x".into())));
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn any_part_of_a_value_may_be_chosen() {
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < 3 {
            seen.insert(any_part(b"a|b|c"));
        }
        assert_eq!(any_part(b"alone"), b"alone");
    }
}
