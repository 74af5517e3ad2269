//! Names with values, as httpd's apr_table: names compare without regard to case. For
//! environment variables, notes and fields.

use crate::modules::log_config::Fields;
use std::borrow::Cow;

/// A small ordered list; a request has few of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    rows: Vec<(Cow<'static, str>, Vec<u8>)>,
}

impl Table {
    /// The first value of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.rows.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1.as_slice())
    }

    /// Whether `name` is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Set `name`, whatever it was.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        match self.find(name) {
            Some(row) => *row = value.into(),
            None => self.rows.push((name.to_owned().into(), value.into())),
        }
    }

    /// The same for a name that the program has: it need not be copied.
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
        let row = self.rows.iter_mut().find(|row| row.0.eq_ignore_ascii_case(name))?;
        Some(&mut row.1)
    }

    /// Forget `name`.
    pub(crate) fn unset(&mut self, name: &str) {
        self.rows.retain(|row| !row.0.eq_ignore_ascii_case(name));
    }

    /// All rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.rows.iter().map(|row| (row.0.as_ref(), row.1.as_slice()))
    }

    /// Whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Fields for Table {
    fn field(&self, name: &str) -> Option<&[u8]> {
        self.get(name)
    }
}
