//! What the rules of a host came to, by the values that they look at. Clients of a site are of few
//! kinds; what one that sends ever new values can fill is bounded.

use super::rule::{SetEnvIfAttribute, SetEnvIfRule, SetEnvIfSubject};
use server::fields;
use server::table::Table;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Entries per thread; when there are so many all are forgotten.
const ENTRIES: usize = 512;

/// Longer values are not remembered.
const KEY_BYTES: usize = 1024;

/// The variables that a thread's rules have come to, by the values that they looked at.
#[derive(Default)]
pub(crate) struct SetEnvIfMemo {
    key: Vec<u8>,
    known: HashMap<Box<[u8]>, Rc<Table>>,
}

impl SetEnvIfMemo {
    /// Put together what the rules look at. `false` if that is more than the head of a request and
    /// the client's address.
    pub(super) fn key(
        &mut self,
        host: usize,
        rules: &[Arc<SetEnvIfRule>],
        subject: &SetEnvIfSubject<'_>,
    ) -> bool {
        self.key.clear();
        self.key.extend_from_slice(&host.to_le_bytes());
        let mut last: Option<&Arc<str>> = None;
        rules.iter().all(|rule| {
            // As `rule::apply` reads them: rules in a row about the same see the value that the
            // first has seen.
            let is_same = last.zip(rule.name.as_ref()).is_some_and(|(a, b)| Arc::ptr_eq(a, b));
            last = rule.name.as_ref();
            is_same || self.push_value(rule, subject)
        })
    }

    fn push_value(&mut self, rule: &SetEnvIfRule, subject: &SetEnvIfSubject<'_>) -> bool {
        let name = rule.name.as_deref().unwrap_or_default();
        match &rule.attribute {
            SetEnvIfAttribute::Field => match fields::joined(&subject.head, name.as_bytes()) {
                Some(value) => self.push(&value),
                // Another mark than the length of any value. The rule looks at a variable then,
                // which only rules before it can have set, and what those looked at is in the key.
                None => self.key.extend_from_slice(&usize::MAX.to_le_bytes()),
            },
            SetEnvIfAttribute::Path => self.push(subject.path),
            SetEnvIfAttribute::Method => self.push(subject.head.method()),
            SetEnvIfAttribute::Protocol => self.push(subject.head.protocol()),
            SetEnvIfAttribute::Client => match subject.client {
                std::net::IpAddr::V4(ip) => self.push(&ip.octets()),
                std::net::IpAddr::V6(ip) => self.push(&ip.octets()),
            },
            SetEnvIfAttribute::ClientName | SetEnvIfAttribute::Server => return false,
            SetEnvIfAttribute::Fields(_) | SetEnvIfAttribute::Expression => return false,
        }
        true
    }

    /// With its length, so that two values never look like two others.
    fn push(&mut self, value: &[u8]) {
        self.key.extend_from_slice(&value.len().to_le_bytes());
        self.key.extend_from_slice(value);
    }

    /// What is known for the key.
    pub(super) fn get(&self) -> Option<Rc<Table>> {
        self.known.get(self.key.as_slice()).cloned()
    }

    /// Remember `table` for the key.
    pub(super) fn put(&mut self, table: Table) -> Rc<Table> {
        let table = Rc::new(table);
        if self.key.len() <= KEY_BYTES {
            if self.known.len() >= ENTRIES {
                self.known.clear();
            }
            self.known.insert(self.key.as_slice().into(), table.clone());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_within_its_bounds() {
        let mut memo = SetEnvIfMemo::default();
        for nth in 0..3 * ENTRIES {
            memo.key = nth.to_le_bytes().to_vec();
            memo.put(Table::default());
            assert!(memo.get().is_some() && memo.known.len() <= ENTRIES);
        }
        memo.key = vec![0; KEY_BYTES + 1];
        memo.put(Table::default());
        assert!(memo.get().is_none());
    }
}
