//! What a browser's cache does with answers: keeps them, asks whether they still hold, asks for
//! them again (RFC 9111). Contents are not kept, only what was found in them, of whatever type.

use crate::date;
use std::collections::HashMap;
use std::rc::Rc;

/// Answers of one user at most; when there are more, all are forgotten.
const ANSWERS_MAX: usize = 20_000;

/// Bytes of what was found in them, at most: some hundred pages of a hundred references.
const BYTES_MAX: usize = 32 << 20;

/// Without a word about it, an answer is fresh for a tenth of its age (RFC 9111 section 4.2.2, with
/// the value of browsers).
const HEURISTIC_PART: u64 = 10;

/// The cache of one user.
#[derive(Debug)]
pub struct UserCache<T> {
    answers: HashMap<Rc<str>, KeptAnswer<T>>,
    bytes: usize,
}

#[derive(Debug)]
struct KeptAnswer<T> {
    fresh_until_s: u64,
    etag: Option<Vec<u8>>,
    last_modified: Option<Vec<u8>>,
    found: T,
    bytes: usize,
}

/// What is to be done about a URL.
#[derive(Debug, PartialEq, Eq)]
pub enum Use<T> {
    /// Nothing: this was found in it.
    Fresh(T),
    /// Ask, with these fields.
    Validate(Vec<u8>),
    /// Ask.
    Fetch,
}

impl<T> Default for UserCache<T> {
    fn default() -> Self {
        Self { answers: HashMap::new(), bytes: 0 }
    }
}

/// The fields of an answer.
pub type AnswerFields<'a> = dyn Iterator<Item = (&'a [u8], &'a [u8])> + 'a;

impl<T: Clone> UserCache<T> {
    /// What is known of a URL.
    pub fn look(&self, url: &str, now_s: u64) -> Use<T> {
        let Some(kept) = self.answers.get(url) else { return Use::Fetch };
        if now_s < kept.fresh_until_s {
            return Use::Fresh(kept.found.clone());
        }
        let mut fields = Vec::new();
        // RFC 9110 section 13.1.3: the date is for servers that do not know tags.
        let conditions: [(&[u8], _); 2] =
            [(b"If-None-Match: ", &kept.etag), (b"If-Modified-Since: ", &kept.last_modified)];
        for (name, value) in conditions {
            if let Some(value) = value {
                fields.extend(name);
                fields.extend(value);
                fields.extend(b"\r\n");
            }
        }
        if fields.is_empty() { Use::Fetch } else { Use::Validate(fields) }
    }

    /// Keeps an answer with status 200, if it may be kept and is of use, and what was found in it
    /// with its size.
    pub fn store(
        &mut self,
        url: &Rc<str>,
        fields: &mut AnswerFields<'_>,
        now_s: u64,
        (found, bytes): (T, usize),
    ) {
        let said = CacheDirectives::of(fields);
        let fresh_until_s = said.fresh_until_s(now_s);
        let CacheDirectives { no_store, etag, last_modified, .. } = said;
        self.remove(url);
        if no_store || (fresh_until_s <= now_s && etag.is_none() && last_modified.is_none()) {
            return;
        }
        let words = [&etag, &last_modified].map(|value| value.as_ref().map_or(0, Vec::len));
        let bytes = bytes + words[0] + words[1];
        if bytes > BYTES_MAX {
            return;
        }
        if self.answers.len() >= ANSWERS_MAX || self.bytes + bytes > BYTES_MAX {
            self.clear();
        }
        self.bytes += bytes;
        let kept = KeptAnswer { fresh_until_s, etag, last_modified, found, bytes };
        self.answers.insert(url.clone(), kept);
    }

    fn remove(&mut self, url: &str) {
        if let Some(kept) = self.answers.remove(url) {
            self.bytes -= kept.bytes;
        }
    }

    /// Takes note that what is kept still holds (status 304), and gives it back.
    pub fn renew(&mut self, url: &str, fields: &mut AnswerFields<'_>, now_s: u64) -> Option<T> {
        let kept = self.answers.get_mut(url)?;
        let said = CacheDirectives::of(fields);
        let last_modified = said.last_modified.as_ref().or(kept.last_modified.as_ref()).cloned();
        let said = CacheDirectives { last_modified, ..said };
        kept.fresh_until_s = said.fresh_until_s(now_s);
        kept.etag = said.etag.or(kept.etag.take());
        kept.last_modified = said.last_modified;
        Some(kept.found.clone())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.answers.clear();
        self.bytes = 0;
    }
}

/// What an answer says about its being kept.
#[derive(Default)]
struct CacheDirectives {
    no_store: bool,
    no_cache: bool,
    max_age_s: Option<u64>,
    expires_s: Option<Option<u64>>,
    date_s: Option<u64>,
    age_s: u64,
    etag: Option<Vec<u8>>,
    last_modified: Option<Vec<u8>>,
}

impl CacheDirectives {
    fn of(fields: &mut AnswerFields<'_>) -> Self {
        let mut said = Self::default();
        for (name, value) in fields {
            match name.to_ascii_lowercase().as_slice() {
                b"cache-control" => {
                    value.split(|byte| *byte == b',').for_each(|one| said.note(one))
                }
                b"expires" => said.expires_s = Some(date::seconds(value)),
                b"date" => said.date_s = date::seconds(value),
                b"age" => said.age_s = number(value).unwrap_or(0),
                b"etag" => said.etag = Some(value.to_vec()),
                b"last-modified" => said.last_modified = Some(value.to_vec()),
                b"vary" => said.no_cache |= value.trim_ascii() == b"*",
                _ => {}
            }
        }
        said
    }

    fn note(&mut self, directive: &[u8]) {
        let directive = directive.trim_ascii().to_ascii_lowercase();
        match directive.as_slice() {
            b"no-store" => self.no_store = true,
            b"no-cache" => self.no_cache = true,
            // With names of fields it speaks of those only.
            other => {
                if let Some(value) = other.strip_prefix(b"max-age=") {
                    self.max_age_s = Some(number(value.trim_ascii()).unwrap_or(0));
                }
            }
        }
    }

    /// RFC 9111 section 4.2.
    fn fresh_until_s(&self, now_s: u64) -> u64 {
        if self.no_cache {
            return 0;
        }
        let said_s = self.date_s.unwrap_or(now_s);
        let modified_s = || self.last_modified.as_deref().and_then(date::seconds);
        let lifetime_s = match (self.max_age_s, self.expires_s) {
            (Some(max_age_s), _) => max_age_s,
            // What is no date has passed (section 5.3).
            (None, Some(expires_s)) => expires_s.unwrap_or(0).saturating_sub(said_s),
            (None, None) => modified_s().map_or(0, |s| said_s.saturating_sub(s) / HEURISTIC_PART),
        };
        now_s.saturating_add(lifetime_s.saturating_sub(self.age_s))
    }
}

/// Digits, maybe in quotes; too large a number is for ever.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")).unwrap_or(text);
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(text.iter().fold(0, add))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: u64 = 1_000_000_000;

    fn look(head: &str, later_s: u64) -> Use<u32> {
        let mut cache = UserCache::default();
        let url: Rc<str> = Rc::from("u");
        cache.store(&url, &mut fields(head), NOW_S, (7, 1));
        cache.look("u", NOW_S + later_s)
    }

    fn fields(head: &str) -> impl Iterator<Item = (&[u8], &[u8])> {
        head.lines().map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.as_bytes(), value.as_bytes())
        })
    }

    fn validate(fields: &str) -> Use<u32> {
        Use::Validate(fields.into())
    }

    #[test]
    fn answers_are_fresh_stale_or_not_kept() {
        let date = "Date: Sun, 09 Sep 2001 01:46:40 GMT"; // NOW_S
        let modified = "Last-Modified: Sun, 09 Sep 2001 01:45:00 GMT"; // 100 s before
        let rows: &[(String, u64, Use<u32>)] = &[
            ("Cache-Control: max-age=10".into(), 9, Use::Fresh(7)),
            ("Cache-Control: max-age=10".into(), 10, Use::Fetch),
            ("cache-control: public, MAX-AGE=\"10\"\nETag: \"e\"".into(), 9, Use::Fresh(7)),
            (
                "Cache-Control: max-age=10\nAge: 5\nETag: x".into(),
                6,
                validate("If-None-Match: x\r\n"),
            ),
            (
                "Cache-Control: no-cache, max-age=9\nETag: x".into(),
                0,
                validate("If-None-Match: x\r\n"),
            ),
            ("Cache-Control: no-store, max-age=9\nETag: x".into(), 0, Use::Fetch),
            ("Cache-Control: max-age=99999999999999999999999".into(), 1 << 40, Use::Fresh(7)),
            ("Cache-Control: max-age=-1\nExpires: never".into(), 0, Use::Fetch),
            (format!("{date}\nExpires: Sun, 09 Sep 2001 01:46:50 GMT"), 9, Use::Fresh(7)),
            (
                format!("{date}\nExpires: 0\n{modified}"),
                0,
                validate(&format!("If-Modified-Since{}\r\n", &modified[13..])),
            ),
            (format!("{date}\n{modified}"), 9, Use::Fresh(7)),
            (
                format!("{date}\n{modified}\nETag: x"),
                10,
                validate(&format!("If-None-Match: x\r\nIf-Modified-Since{}\r\n", &modified[13..])),
            ),
            ("Vary: *\nCache-Control: max-age=10".into(), 0, Use::Fetch),
            ("X: y".into(), 0, Use::Fetch),
        ];
        for (head, later_s, wanted) in rows {
            assert_eq!(look(head, *later_s), *wanted, "{head} after {later_s} s");
        }
    }

    #[test]
    fn a_304_makes_it_fresh_again() {
        let mut cache = UserCache::default();
        let url: Rc<str> = Rc::from("u");
        cache.store(&url, &mut fields("ETag: x"), NOW_S, (7, 1));
        assert_eq!(cache.look("u", NOW_S), validate("If-None-Match: x\r\n"));
        let renewed = cache.renew("u", &mut fields("Cache-Control: max-age=5"), NOW_S);
        assert_eq!(renewed, Some(7));
        assert_eq!(cache.look("u", NOW_S + 4), Use::Fresh(7));
        assert_eq!(cache.look("u", NOW_S + 5), validate("If-None-Match: x\r\n"));
        assert_eq!(cache.renew("v", &mut fields("ETag: y"), NOW_S), None);
        cache.clear();
        assert_eq!(cache.look("u", NOW_S), Use::Fetch);
    }
    #[test]
    fn it_has_room_for_so_many_bytes_and_keeps_nothing_useless() {
        let mut cache = UserCache::default();
        let store = |cache: &mut UserCache<u32>, url: &str, head: &str, bytes: usize| {
            cache.store(&Rc::from(url), &mut fields(head), NOW_S, (7, bytes));
        };
        for _ in 0..10 {
            store(&mut cache, "u", "ETag: x", BYTES_MAX / 2);
        }
        assert_eq!((cache.answers.len(), cache.bytes), (1, BYTES_MAX / 2 + 1));
        store(&mut cache, "v", "X: y", BYTES_MAX);
        assert_eq!(cache.answers.len(), 1, "it could neither be used nor asked about");
        store(&mut cache, "v", "ETag: x", BYTES_MAX / 3);
        assert_eq!(cache.answers.len(), 2);
        store(&mut cache, "w", "ETag: x", BYTES_MAX / 3);
        assert_eq!((cache.answers.len(), cache.bytes), (1, BYTES_MAX / 3 + 1), "all are forgotten");
        store(&mut cache, "w", "Cache-Control: no-store", 1);
        assert_eq!((cache.answers.len(), cache.bytes), (0, 0));
    }
}
