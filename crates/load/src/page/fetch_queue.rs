//! The order in which a page is fetched: what blocks the picture first, six connections for each
//! server, nothing twice.

use super::{Resource, ResourceKind};
use crate::url::{Scheme, Url};
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Connections of one browser to one server. This is what browsers have for HTTP/1.
pub(crate) const FETCHERS_MAX: usize = 6;

/// Requests of one page at most.
const ITEMS_MAX: usize = 20_000;

/// Bytes that they may take together.
const BYTES_MAX: usize = 64 << 20;

/// Queues by urgency.
const URGENCIES: usize = 4;

/// One resource of a page that is still to be fetched.
pub(crate) struct QueuedResource {
    pub(crate) resource: Rc<Resource>,
    /// When the need for the resource became known, in nanoseconds.
    pub(crate) found_ns: u64,
}

/// What became of something that was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It waits for a connection to the server of this number.
    Waits(usize),
    /// Its time has not come.
    Later,
    /// It was asked for already, or there is too much.
    Known,
    /// It is on a server that may not be asked.
    Elsewhere,
}

/// What is still to be fetched of a page.
#[derive(Default)]
pub(crate) struct FetchQueue {
    servers: Vec<FetchServer>,
    seen: HashSet<Rc<str>>,
    items: usize,
    bytes: usize,
    /// Not yet ended.
    open: usize,
    /// Hosts that may be asked; all if there are none.
    hosts: Arc<[String]>,
    /// Where the page itself came from.
    home: String,
    /// What comes after everything else.
    icons: Vec<Rc<Resource>>,
    icons_are_due: bool,
}

struct FetchServer {
    address: (Scheme, String, u16),
    waiting: [VecDeque<QueuedResource>; URGENCIES],
    fetchers: usize,
}

impl FetchQueue {
    /// For a page that may load from these hosts, or from all if there are none.
    pub(crate) fn new(hosts: Arc<[String]>) -> Self {
        Self { hosts, ..Self::default() }
    }

    /// The page itself comes from this host.
    pub(crate) fn allow(&mut self, host: &str) {
        host.clone_into(&mut self.home);
    }

    /// Something is to be fetched: the page, what it refers to, where a redirect has led.
    pub(crate) fn add(&mut self, resource: Rc<Resource>, now_ns: u64) -> Added {
        if resource.kind == ResourceKind::Icon && !self.icons_are_due {
            self.icons.push(resource);
            return Added::Later;
        }
        // Frames may refer to more and more.
        if self.items.max(self.seen.len()) >= ITEMS_MAX || self.bytes >= BYTES_MAX {
            return Added::Known;
        }
        // A redirect may lead back to where it came from, with a cookie; an icon is asked for even
        // if the page shows it as well.
        let may_repeat = resource.redirects > 0 || resource.kind == ResourceKind::Icon;
        let is_new = self.seen.insert(resource.url.clone()) || may_repeat;
        if !is_new {
            return Added::Known;
        }
        let url = &resource.entry.url;
        if !self.hosts.is_empty() && !self.hosts.contains(&url.host) && self.home != url.host {
            return Added::Elsewhere;
        }
        let server = self.server(url);
        self.bytes += resource.bytes();
        // Urgency orders what waits, and nothing is taken back that was sent: as in browsers, an
        // image that was found first may be on its way before a stylesheet that is found later.
        let queue = &mut self.servers[server].waiting[urgency(resource.kind)];
        queue.push_back(QueuedResource { resource, found_ns: now_ns });
        self.items += 1;
        self.open += 1;
        Added::Waits(server)
    }

    /// Icons, when nothing else is left: browsers fetch them when the page is there.
    pub(crate) fn take_icons(&mut self) -> Vec<Rc<Resource>> {
        if !self.is_done() {
            return Vec::new();
        }
        self.icons_are_due = true;
        std::mem::take(&mut self.icons)
    }

    /// A connection that may be opened for what waits, with the first thing to fetch on it.
    pub(crate) fn start_fetcher(&mut self, server: usize) -> Option<QueuedResource> {
        let fetchers = self.servers.get(server)?.fetchers;
        let item = if fetchers < FETCHERS_MAX { self.next(server) } else { None };
        if item.is_some() {
            self.servers[server].fetchers += 1;
        }
        item
    }

    /// The next thing to fetch from a server.
    pub(crate) fn next(&mut self, server: usize) -> Option<QueuedResource> {
        self.servers.get_mut(server)?.waiting.iter_mut().find_map(VecDeque::pop_front)
    }

    /// A connection is not needed any more.
    pub(crate) fn end_fetcher(&mut self, server: usize) {
        if let Some(server) = self.servers.get_mut(server) {
            server.fetchers -= 1;
        }
    }

    /// Something has been fetched, well or not.
    pub(crate) fn ended(&mut self) {
        self.open -= 1;
    }

    /// Whether all has.
    pub(crate) const fn is_done(&self) -> bool {
        self.open == 0
    }

    fn server(&mut self, url: &Url) -> usize {
        let is_same = |server: &FetchServer| {
            let (scheme, host, port) = &server.address;
            (*scheme, host, *port) == (url.scheme, &url.host, url.port)
        };
        if let Some(place) = self.servers.iter().position(is_same) {
            return place;
        }
        let waiting = std::array::from_fn(|_| VecDeque::new());
        self.servers.push(FetchServer { address: server_of(url), waiting, fetchers: 0 });
        self.servers.len() - 1
    }
}

/// By what servers are told apart.
fn server_of(url: &Url) -> (Scheme, String, u16) {
    (url.scheme, url.host.clone(), url.port)
}

/// Chromium's order, roughly: what styles the page, what it runs, what it shows, the rest.
const fn urgency(kind: ResourceKind) -> usize {
    match kind {
        ResourceKind::Document | ResourceKind::Style => 0,
        ResourceKind::Script | ResourceKind::Font | ResourceKind::Fetch => 1,
        ResourceKind::Image => 2,
        ResourceKind::Icon | ResourceKind::Media => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanEntry, RequestDefaults, RequestSpec, Variables};

    fn resource(url: &str, kind: ResourceKind) -> Rc<Resource> {
        let spec = RequestSpec { url, ..RequestSpec::default() };
        let entry =
            PlanEntry::new(&spec, &Variables::default(), &RequestDefaults::default()).unwrap();
        Rc::new(Resource::new(entry, kind, 0, false))
    }

    #[test]
    fn what_is_urgent_comes_first_and_nothing_comes_twice() {
        let mut queue = FetchQueue::new(Arc::new(["a".to_owned()]));
        let rows = [
            ("a/1", ResourceKind::Icon, Added::Later),
            ("a/4", ResourceKind::Icon, Added::Later),
            ("a/2", ResourceKind::Image, Added::Waits(0)),
            ("a/2", ResourceKind::Image, Added::Known),
            ("a/3", ResourceKind::Style, Added::Waits(0)),
            ("a/4", ResourceKind::Script, Added::Waits(0)),
            ("b/5", ResourceKind::Script, Added::Elsewhere),
            ("a:81/6", ResourceKind::Image, Added::Waits(1)),
        ];
        for (url, kind, wanted) in rows {
            assert_eq!(queue.add(resource(url, kind), 0), wanted, "{url}");
        }
        let order: Vec<String> = std::iter::from_fn(|| queue.next(0))
            .map(|item| item.resource.entry.url.target.clone())
            .collect();
        assert_eq!(order, ["/3", "/4", "/2"]);
        assert!(!queue.is_done());
        (0..4).for_each(|_| queue.ended());
        assert!(queue.is_done());
        let icons = queue.take_icons();
        assert_eq!(icons.len(), 2);
        assert_eq!(queue.add(icons[0].clone(), 0), Added::Waits(0));
        assert_eq!(queue.add(icons[1].clone(), 0), Added::Waits(0), "the page shows it as well");
        assert!(!queue.is_done());
    }

    #[test]
    fn a_server_has_six_connections() {
        let mut queue = FetchQueue::new(Arc::new([]));
        for number in 0..20 {
            queue.add(resource(&format!("a/{number}"), ResourceKind::Image), 0);
        }
        assert_eq!(std::iter::from_fn(|| queue.start_fetcher(0)).count(), 6);
        queue.end_fetcher(0);
        assert!(queue.start_fetcher(0).is_some() && queue.start_fetcher(0).is_none());
        assert_eq!(std::iter::from_fn(|| queue.next(0)).count(), 13);
        queue.end_fetcher(0);
        assert!(queue.start_fetcher(0).is_none(), "nothing waits");
        assert!(queue.start_fetcher(7).is_none() && queue.next(7).is_none());
    }
    #[test]
    fn what_a_page_needs_is_bounded_in_number_and_bytes() {
        let mut queue = FetchQueue::new(Arc::new(["a".to_owned()]));
        for number in 0..ITEMS_MAX + 10 {
            let host = if number % 2 == 0 { "a" } else { "b" };
            queue.add(resource(&format!("{host}/{number}"), ResourceKind::Image), 0);
        }
        assert_eq!((queue.seen.len(), queue.items), (ITEMS_MAX, ITEMS_MAX / 2));
        let mut queue = FetchQueue::new(Arc::new([]));
        let long = "b".repeat(10_000);
        let added = (0..1500).filter(|number| {
            let image = resource(&format!("a/{number}/{long}"), ResourceKind::Image);
            queue.add(image, 0) == Added::Waits(0)
        });
        let count = added.count();
        assert!((500..1400).contains(&count) && queue.bytes < BYTES_MAX + 100_000, "{count}");
    }
}
