//! A user who loads one page after the other in a browser.

use super::browser::{Browser, now_s};
use super::iterations::Iteration;
use super::page_load::{PageEnd, PageLoad};
use crate::page::{Resource, ResourceKind};
use crate::plan::cookies::Cookies;
use crate::plan::{Cursor, PlanEntry};
use crate::url::Url;
use runtime::timer;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// As [`super::user`] has it: a pause before the next attempt to connect.
const PAUSE_MS: (u64, u64) = (1, 100);

impl Browser {
    /// Loads page after page until there is nothing more to do.
    pub(crate) async fn live(self: Rc<Self>) {
        let shared = &self.worker.shared;
        let mut cursor = Cursor::new(shared.options.seed, self.id);
        while let Some(iteration) = self.worker.next_iteration(self.id).await {
            let recorded = iteration.number.and_then(|number| shared.recorded(number));
            let index = recorded.unwrap_or_else(|| shared.plan.next(&mut cursor));
            let entry = &shared.plan.entries()[index];
            self.worker.begin_page(self.id, iteration.intended_ns);
            self.load(&iteration, index, &mut cursor).await;
            self.worker.rest();
            if let Some(think) = entry.think.or(shared.options.think) {
                timer::sleep(Duration::from_nanos(cursor.think_ns(think))).await;
            }
        }
    }

    async fn load(self: &Rc<Self>, iteration: &Iteration, index: usize, cursor: &mut Cursor) {
        let options = &self.worker.shared.options;
        if !options.pages.as_ref().is_some_and(|pages| pages.keeps_cache) {
            self.cache.borrow_mut().clear();
            self.icons.borrow_mut().clear();
        }
        let (page, bytes) = self.page(index, cursor);
        let load = PageLoad::new(self.clone(), index, iteration.intended_ns, bytes);
        load.begin(page);
        load.done().await;
        let end = load.close();
        self.worker.end_page(self.id);
        if let Some(pause_ms) = self.pause_ms(&end) {
            timer::sleep(Duration::from_millis(pause_ms)).await;
        }
    }

    /// How long to pause after a page, if at all.
    fn pause_ms(&self, end: &PageEnd) -> Option<u64> {
        let count = |cell: &Cell<u32>, is_more: bool| {
            cell.set(if is_more { cell.get().saturating_add(1) } else { 0 });
            cell.get()
        };
        let refusals = count(&self.refusals, matches!(end, PageEnd::Unconnected));
        let unasked = count(&self.unasked, matches!(end, PageEnd::Unasked));
        if refusals > 0 {
            return Some((PAUSE_MS.0 << (refusals - 1).min(16)).min(PAUSE_MS.1));
        }
        // Who has all of the plan would only take the processor from the server.
        let all = self.worker.shared.plan.entries().len();
        (unasked as usize > all).then_some(PAUSE_MS.0)
    }

    /// The page of an entry, and its request if that is put together anew each time.
    fn page(&self, index: usize, cursor: &mut Cursor) -> (Rc<Resource>, Option<Vec<u8>>) {
        let entry = &self.worker.shared.plan.entries()[index];
        if entry.fixed().is_some() {
            return (self.worker.parsed_pages.page(&self.worker.shared.plan, index), None);
        }
        let mut bytes = Vec::new();
        self.write(entry, cursor, &mut bytes);
        let url = Url { target: target(&bytes), ..entry.url.clone() };
        // As after a redirect that keeps the method: the same request for the URL that it became.
        let entry = entry.redirected(url, 307);
        (Rc::new(Resource::new(entry, ResourceKind::Document, 0, true)), Some(bytes))
    }

    fn write(&self, entry: &PlanEntry, cursor: &mut Cursor, out: &mut Vec<u8>) {
        let jar = self.jar.as_ref().map(RefCell::borrow);
        let cookies = jar.as_deref().map(|jar| Cookies { jar, now_s: now_s() });
        entry.write(&mut cursor.values, cookies, out);
    }
}

/// What a request asks for.
fn target(request: &[u8]) -> String {
    let target = request.split(|byte| *byte == b' ').nth(1).unwrap_or(b"/");
    String::from_utf8_lossy(target).into_owned()
}
