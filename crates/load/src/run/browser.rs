//! The browser of one user who loads whole pages: its cache, its cookies and its connections. What
//! happens while one page is loaded is in `page_load`.

use super::fetcher::KeptConnection;
use super::worker::LoadWorker;
use crate::page::Document;
use crate::page::cache::UserCache;
use crate::plan::cookies::Jar;
use runtime::clock;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

/// A browser, as all that happens in it at once sees it.
pub(crate) struct Browser {
    pub(crate) worker: Rc<LoadWorker>,
    pub(crate) id: u32,
    pub(crate) cache: RefCell<UserCache<Rc<Document>>>,
    pub(crate) jar: Option<RefCell<Jar>>,
    /// Icons that it has.
    pub(crate) icons: RefCell<HashSet<Rc<str>>>,
    /// Connections that nothing goes over at the moment.
    pub(crate) idle: RefCell<Vec<KeptConnection>>,
    /// Connections that there have been.
    pub(crate) connections: Cell<u64>,
    /// Failed attempts to connect in a row.
    pub(super) refusals: Cell<u32>,
    /// Pages in a row that nothing was asked for.
    pub(super) unasked: Cell<u32>,
}

impl Browser {
    pub(crate) fn new(worker: &Rc<LoadWorker>, id: u32) -> Rc<Self> {
        Rc::new(Self {
            worker: worker.clone(),
            id,
            cache: RefCell::default(),
            jar: worker.shared.options.keeps_cookies.then(RefCell::default),
            icons: RefCell::default(),
            idle: RefCell::default(),
            connections: Cell::new(0),
            refusals: Cell::new(0),
            unasked: Cell::new(0),
        })
    }

    /// A connection that nothing goes over.
    pub(crate) fn take_idle(&self, route: usize) -> Option<KeptConnection> {
        let mut idle = self.idle.borrow_mut();
        let place = idle.iter().position(|one| one.route == route)?;
        Some(idle.swap_remove(place))
    }
}

pub(super) fn now_s() -> u64 {
    clock::unix_s().max(0).cast_unsigned()
}
