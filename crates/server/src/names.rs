//! What is known of the names of a connection's ends. They are looked up elsewhere
//! (`hostname_lookups.rs`).

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

/// Names of one connection: its two ends, and whom proxies announce, of whom the last ones count.
const NAMES_MAX: usize = 8;

/// Whose address it is. They may be the same, but what makes one known says nothing of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedEnd {
    /// The client.
    Client(IpAddr),
    /// Our own.
    Local(IpAddr),
}

impl NamedEnd {
    pub(crate) fn address(self) -> IpAddr {
        let (Self::Client(address) | Self::Local(address)) = self;
        address
    }
}

/// Names that were found, or not found, on behalf of one connection.
#[derive(Default)]
pub struct ConnectionNames(RefCell<Vec<(NamedEnd, Option<Rc<str>>)>>);

impl ConnectionNames {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// The name, as far as it is known.
    pub fn get(&self, end: NamedEnd) -> Option<Rc<str>> {
        self.asked(end).flatten()
    }

    /// The outer `None` says that nobody has asked yet.
    pub(crate) fn asked(&self, end: NamedEnd) -> Option<Option<Rc<str>>> {
        let rows = self.0.borrow();
        rows.iter().find(|row| row.0 == end).map(|row| row.1.clone())
    }

    /// As in httpd the first answer stays (`conn_rec.remote_host`).
    pub fn keep(&self, end: NamedEnd, name: Option<&str>) {
        if self.asked(end).is_some() {
            return;
        }
        let mut rows = self.0.borrow_mut();
        if rows.len() >= NAMES_MAX {
            rows.remove(0);
        }
        rows.push((end, name.map(|name| name.to_ascii_lowercase().into())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_stays_and_has_no_case() {
        let names = ConnectionNames::default();
        let end = NamedEnd::Client(IpAddr::from([192, 0, 2, 1]));
        assert_eq!(names.get(end), None);
        names.keep(end, Some("A.Example"));
        names.keep(end, None);
        assert_eq!(names.get(end).as_deref(), Some("a.example"));
        assert_eq!(names.get(NamedEnd::Local(end.address())), None);
    }

    #[test]
    fn only_so_many_are_kept() {
        let names = ConnectionNames::default();
        let end = |nth| NamedEnd::Client(IpAddr::from([192, 0, 2, nth]));
        for nth in 0..=u8::MAX {
            names.keep(end(nth), Some("x"));
        }
        assert_eq!(names.0.borrow().len(), NAMES_MAX);
        assert!(names.get(end(u8::MAX)).is_some());
    }
}
