//! What the browsers of a thread need not find out twice: what stands in pages, and the requests
//! for them. As much is kept as there is room for; what is older goes when nobody holds it.

use crate::page::{Document, Resource, ResourceKind};
use crate::plan::Plan;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::rc::{Rc, Weak};

/// Bytes of documents that a thread keeps for nobody in particular, and of requests for pages.
const BYTES_MAX: usize = 16 << 20;

/// Rows at which those of nobody are looked for first.
const ROWS_MIN: usize = 1000;

/// A content by its hash and length, and where it came from.
type Contents = (u64, usize, Rc<str>);

/// The documents and pages of a thread.
#[derive(Default)]
pub(crate) struct ParsedPages {
    documents: RefCell<Memo<Contents, Document>>,
    hasher: RandomState,
    /// By entry of the plan, where its request is always the same.
    pages: RefCell<Memo<usize, Resource>>,
}

impl ParsedPages {
    /// What is found in this content: looked for once for each content.
    pub(crate) fn document(&self, content: &[u8], of: &Resource) -> Rc<Document> {
        // By its hash, as to keep the contents would take as much memory again. The hash is keyed
        // at random, so that no server can make two contents of one hash; the URL is part of the
        // key because references are relative to it.
        let key = (self.hasher.hash_one(content), content.len(), of.url.clone());
        let read = || {
            let document = Document::read(content, of);
            let bytes = document.bytes;
            (document, bytes)
        };
        self.documents.borrow_mut().get_or(key, read)
    }

    /// The page of an entry whose request is always the same.
    pub(crate) fn page(&self, plan: &Plan, entry: usize) -> Rc<Resource> {
        let made = || {
            let page =
                Resource::new(plan.entries()[entry].clone(), ResourceKind::Document, 0, true);
            let bytes = page.bytes();
            (page, bytes)
        };
        self.pages.borrow_mut().get_or(entry, made)
    }
}

/// Values that are known as long as there is room for them or somebody holds them: who does
/// shares them.
struct Memo<K, V> {
    known: HashMap<K, Weak<V>>,
    /// Those that are kept, the oldest first, and their sizes.
    kept: VecDeque<(Rc<V>, usize)>,
    kept_bytes: usize,
    /// Rows of `known` at which those of nobody are taken away.
    rows_max: usize,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        let (known, kept) = (HashMap::new(), VecDeque::new());
        Self { known, kept, kept_bytes: 0, rows_max: ROWS_MIN }
    }
}

impl<K: Eq + Hash, V> Memo<K, V> {
    /// The value of a key, made with its size if it is not known.
    fn get_or(&mut self, key: K, make: impl FnOnce() -> (V, usize)) -> Rc<V> {
        if let Some(known) = self.known.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        let (value, bytes) = make();
        let value = Rc::new(value);
        self.keep(value.clone(), bytes);
        if self.known.len() >= self.rows_max {
            self.known.retain(|_, known| known.strong_count() > 0);
            self.rows_max = (2 * self.known.len()).max(ROWS_MIN);
        }
        self.known.insert(key, Rc::downgrade(&value));
        value
    }

    fn keep(&mut self, value: Rc<V>, bytes: usize) {
        self.kept_bytes += bytes;
        self.kept.push_back((value, bytes));
        while self.kept_bytes > BYTES_MAX
            && let Some((_, bytes)) = self.kept.pop_front()
        {
            self.kept_bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanEntry, RequestDefaults, RequestSpec, Variables};

    fn page() -> Resource {
        let spec = RequestSpec { url: "http://a/", ..RequestSpec::default() };
        let entry =
            PlanEntry::new(&spec, &Variables::default(), &RequestDefaults::default()).unwrap();
        Resource::new(entry, ResourceKind::Document, 0, true)
    }

    /// A page of so many references that another one does not have.
    fn content(number: usize, references: usize) -> Vec<u8> {
        let image = |image| format!("<img src='/{number}/{image}.png'>");
        (0..references).map(image).collect::<String>().into_bytes()
    }

    #[test]
    fn what_is_known_is_not_looked_for_again() {
        let (parsed_pages, page) = (ParsedPages::default(), page());
        let first = parsed_pages.document(&content(1, 3), &page);
        assert_eq!(first.resources.len(), 3);
        assert!(Rc::ptr_eq(&first, &parsed_pages.document(&content(1, 3), &page)));
        assert!(!Rc::ptr_eq(&first, &parsed_pages.document(&content(2, 3), &page)));
    }

    #[test]
    fn pages_that_differ_each_time_take_bounded_memory_and_the_oldest_go() {
        let (parsed_pages, page) = (ParsedPages::default(), page());
        let held = parsed_pages.document(&content(0, 1000), &page);
        let old = Rc::downgrade(&parsed_pages.document(&content(1, 1000), &page));
        assert!(held.bytes > 500_000, "{}", held.bytes);
        for number in 2..100 {
            parsed_pages.document(&content(number, 1000), &page);
            let documents = parsed_pages.documents.borrow();
            assert!(documents.kept_bytes <= BYTES_MAX);
            let bytes: usize = documents.kept.iter().map(|row| row.0.bytes).sum();
            assert_eq!(bytes, documents.kept_bytes);
        }
        assert_eq!(old.strong_count(), 0, "the oldest is gone");
        assert!(parsed_pages.documents.borrow().kept.len() > 5, "the others are not");
        let again = parsed_pages.document(&content(0, 1000), &page);
        assert!(Rc::ptr_eq(&held, &again), "who holds it shares it");
    }

    #[test]
    fn one_that_is_too_large_is_not_kept() {
        let mut memo = Memo::<u32, u8>::default();
        memo.get_or(1, || (1, 10));
        assert_eq!(*memo.get_or(2, || (2, BYTES_MAX + 1)), 2);
        assert_eq!((memo.kept.len(), memo.kept_bytes), (0, 0));
        assert_eq!(*memo.get_or(2, || (3, 1)), 3, "it is made anew");
    }

    #[test]
    fn rows_of_nobody_are_taken_away() {
        let mut memo = Memo::<usize, ()>::default();
        (0..100_000).for_each(|key| {
            memo.get_or(key, || ((), BYTES_MAX / 10));
        });
        assert!(memo.known.len() <= ROWS_MIN, "{}", memo.known.len());
    }
}
