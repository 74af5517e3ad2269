//! The fields of a response of the fast path, for the access log.

use crate::access_log::{NamedValues, SentFields};
use http1::Persist;
use message::Field;
use std::cell::OnceCell;

/// The fields of a response, with those that HTTP/1 appends on the fast path.
pub(super) struct ResponseFields<'a> {
    fields: &'a [Field],
    persist: Option<(Persist, u64)>,
    /// Made when a format asks.
    appended: OnceCell<Vec<Field>>,
}

impl<'a> ResponseFields<'a> {
    pub(super) fn new(fields: &'a [Field], persist: Option<(Persist, u64)>) -> Self {
        Self { fields, persist, appended: OnceCell::new() }
    }

    fn appended(&self) -> SentFields<'_> {
        let append = || self.persist.iter().flat_map(|(said, of)| said.fields(*of)).collect();
        SentFields(self.appended.get_or_init(append))
    }
}

impl NamedValues for ResponseFields<'_> {
    fn field(&self, name: &str) -> Option<&[u8]> {
        SentFields(self.fields).values(name).chain(self.appended().values(name)).next()
    }

    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        SentFields(self.fields).values(name).for_each(&mut *each);
        self.appended().values(name).for_each(each);
    }
}
