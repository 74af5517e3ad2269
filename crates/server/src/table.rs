//! Names with values, as httpd's apr_table: names compare without regard to case. For
//! environment variables, notes and fields.

use fastcgi::{Pairs, RequestOpening};
use logging::access::NamedValues;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A small ordered list; a request has few of each kind.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Rows as they were sent to an application: most are never asked for again. They come before
    /// the others, and are parted again before one of them changes.
    sent: Option<SentRequest>,
    rows: Vec<(Cow<'static, str>, Vec<u8>)>,
    /// Names may be there more than once.
    has_doubles: bool,
}

/// What modules tell each other, scripts and logs about a request.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Variables, which scripts get as well (`r->subprocess_env`).
    pub env: Table,
    /// Notes (`r->notes`).
    pub notes: Table,
}

/// The request to an application, and where in its bytes the variables lie.
#[derive(Clone, Debug)]
struct SentRequest {
    request: Arc<RequestOpening>,
    pairs: Range<usize>,
    /// Where those end that were set for the request, and are not told to every script.
    set_end: usize,
}

impl SentRequest {
    fn pairs(&self, end: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
        let pairs = self.request.bytes.get(self.pairs.start..end).unwrap_or_default();
        Pairs::new(pairs).flatten()
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let row = |(name, value)| Some((std::str::from_utf8(name).ok()?, value));
        self.pairs(self.pairs.end).filter_map(row)
    }

    fn get(&self, name: &str, end: usize) -> Option<&[u8]> {
        let mut pairs = self.pairs(end);
        pairs.find(|row| row.0.eq_ignore_ascii_case(name.as_bytes())).map(|row| row.1)
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Table {}

impl Table {
    /// The variables that `request` has at `pairs`, of which so many bytes are what was set for it.
    pub(crate) fn of_sent(
        request: Arc<RequestOpening>,
        pairs: Range<usize>,
        set_bytes: usize,
    ) -> Self {
        let set_end = pairs.start + set_bytes;
        let sent = Some(SentRequest { request, pairs, set_end });
        Self { sent, ..Self::default() }
    }

    /// The first value of `name`.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let sent = self.sent.as_ref().and_then(|sent| sent.get(name, sent.pairs.end));
        sent.or_else(|| self.own_get(name))
    }

    /// Whether `name` is there and was set for the request, as what no script is told otherwise.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        let sent = self.sent.as_ref().and_then(|sent| sent.get(name, sent.set_end));
        sent.is_some() || self.own_get(name).is_some()
    }

    fn own_get(&self, name: &str) -> Option<&[u8]> {
        self.rows.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1.as_slice())
    }

    /// Whether `name` is there.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Set `name`, whatever it was.
    pub fn set(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        match self.find(name) {
            Some(row) => *row = value.into(),
            None => self.rows.push((name.to_owned().into(), value.into())),
        }
    }

    /// Set `name`, whatever it was, for a name that the program has: it need not be copied.
    pub(crate) fn put(&mut self, name: &'static str, value: impl Into<Vec<u8>>) {
        match self.find(name) {
            Some(row) => *row = value.into(),
            None => self.rows.push((name.into(), value.into())),
        }
    }

    /// There are going to be about so many more.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.rows.reserve(count);
    }

    fn find(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        self.part();
        let is_named = |row: &(Cow<'_, str>, Vec<u8>)| row.0.eq_ignore_ascii_case(name);
        let first = self.rows.iter().position(is_named)?;
        if self.has_doubles {
            let behind = self.rows.split_off(first + 1);
            self.rows.extend(behind.into_iter().filter(|row| !is_named(row)));
        }
        self.rows.get_mut(first).map(|row| &mut row.1)
    }

    /// Add the rows of another table behind those that are there: they count where there is none of
    /// the name, and to whoever takes the last of each (apr_table_overlay).
    pub fn add_below(&mut self, below: &Self) {
        self.part();
        for (name, value) in below.iter() {
            let is_there = self.own_get(name);
            if is_there != Some(value) {
                self.has_doubles |= is_there.is_some();
                self.rows.push((name.to_owned().into(), value.to_vec()));
            }
        }
    }

    /// Of each name leave only the last value, where the first stands (apr_table_compress).
    pub(crate) fn keep_last(&mut self) {
        if std::mem::take(&mut self.has_doubles) {
            for (name, value) in std::mem::take(&mut self.rows) {
                match self.find(&name) {
                    Some(first) => *first = value,
                    None => self.rows.push((name, value)),
                }
            }
        }
    }

    /// Make rows of all that was sent.
    fn part(&mut self) {
        if let Some(sent) = self.sent.take() {
            let row = |row: (&str, &[u8])| (row.0.to_owned().into(), row.1.to_vec());
            self.rows.splice(0..0, sent.iter().map(row));
        }
    }

    /// Forget `name`.
    pub fn unset(&mut self, name: &str) {
        self.part();
        self.rows.retain(|row| !row.0.eq_ignore_ascii_case(name));
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.sent.iter().flat_map(SentRequest::iter).chain(self.own())
    }

    fn own(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.rows.iter().map(|row| (row.0.as_ref(), row.1.as_slice()))
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl NamedValues for Table {
    fn field(&self, name: &str) -> Option<&[u8]> {
        self.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_a_table_like_any_other() {
        let mut params = fastcgi::Params::new(true);
        for (name, value) in [("A", "1"), ("Long", &"x".repeat(200)), ("B", "")] {
            params.add(name.as_bytes(), value.as_bytes()).unwrap();
        }
        let pairs = params.in_one_record().unwrap();
        let mut table = Table::of_sent(Arc::new(params.opening(true)), pairs, 4);
        assert!(table.is_set("a") && !table.is_set("long") && table.has("long"));
        assert_eq!((table.get("b"), table.get("C")), (Some(&b""[..]), None));
        assert_eq!(table.get("long").map(<[u8]>::len), Some(200));
        let same = table.clone();
        table.set("a", "2");
        table.set("C", "3");
        table.unset("long");
        let rows: Vec<_> = table.iter().collect();
        assert_eq!(rows, [("A", &b"2"[..]), ("B", b""), ("C", b"3")]);
        assert_eq!(same.iter().count(), 3, "a copy is not changed");
        assert!(same != table && !same.is_empty() && Table::default().is_empty());
    }

    #[test]
    fn rows_below_others_count_for_whoever_takes_the_last() {
        let table = |rows: &[(&str, &str)]| {
            let mut table = Table::default();
            rows.iter().for_each(|(name, value)| table.set(name, *value));
            table
        };
        let mut both = table(&[("A", "1"), ("B", "2"), ("C", "3")]);
        both.add_below(&table(&[("a", "4"), ("B", "2"), ("D", "5"), ("C", "6")]));
        assert_eq!((both.get("A"), both.get("D")), (Some(&b"1"[..]), Some(&b"5"[..])));
        both.set("C", "7");
        let rows: Vec<_> = both.iter().map(|row| row.0).collect();
        assert_eq!(rows, ["A", "B", "C", "a", "D"], "what is set is there once");
        let mut last = both.clone();
        last.keep_last();
        assert_eq!(last, table(&[("A", "4"), ("B", "2"), ("C", "7"), ("D", "5")]));
        both.unset("A");
        assert_eq!(both.get("a"), None);
    }
}
