//! What has to be true of a request for it to be given a kept answer. While an answer is made, it
//! is noted which fields were looked for and not found, that there was no query, which host was
//! asked for, and which `.htaccess` files were there. Whether an answer is kept at all is decided
//! in `sharing.rs`.

use crate::asked_host::AskedHost;
use crate::received_request::ReceivedRequest;
use crate::seen_watch::{QuietSince, SeenWatch};
use crate::site::seen_file::SeenFile;
use message::{Framing, Known, KnownSet, Method, RequestHead, Target};
use std::cell::{Cell, OnceCell};

/// What was looked at while an answer was made, for as long as it is the same for others.
#[derive(Clone, Default)]
pub(crate) struct Assumptions {
    /// None of these fields was there.
    absent: Cell<KnownSet>,
    has_no_query: Cell<bool>,
    method: Cell<Option<Method>>,
    asked_host: OnceCell<AskedHost>,
}

impl Assumptions {
    /// This field was looked for, and was not there.
    pub(crate) fn note_absent(&self, name: Known) {
        let mut absent = self.absent.get();
        absent.insert(name);
        self.absent.set(absent);
    }

    /// The request has no query, and that was asked.
    pub(crate) fn note_no_query(&self) {
        self.has_no_query.set(true);
    }

    /// This method was told from all others.
    pub(crate) fn note_method(&self, method: Method) {
        self.method.set(Some(method));
    }

    /// It was asked which host the request is for.
    pub(crate) fn note_host(&self, received: &ReceivedRequest) {
        self.asked_host.get_or_init(|| AskedHost::of(&received.view(), received.local.port()));
    }

    /// Whether all but the host is the same of a request.
    fn hold_for(&self, head: &RequestHead<'_>, framing: &Framing<'_>) -> bool {
        let has_query = matches!(framing.target, Target::Origin { query: Some(_), .. });
        let has_unwanted = head.seen().intersects(self.absent.get());
        let is_method = |method| head.known_method() == Some(method);
        !has_unwanted
            && (!has_query || !self.has_no_query.get())
            && self.method.get().is_none_or(is_method)
    }
}

/// What has to be true of a request that is given a kept answer.
#[derive(Clone, Default)]
pub(crate) struct Proviso {
    assumptions: Assumptions,
    /// Where `.htaccess` files were looked for, and what was there.
    seen_files: Vec<SeenFile>,
    /// When they were looked at last, if every change since then is reported.
    seen: Cell<Option<QuietSince>>,
    /// When they were looked at last, in seconds since 1970.
    looked_s: Cell<i64>,
}

impl Proviso {
    pub(crate) fn new(assumptions: Assumptions, seen_files: Vec<SeenFile>) -> Self {
        Self { assumptions, seen_files, ..Self::default() }
    }

    /// Bytes of memory that it holds, roughly.
    pub(crate) fn weight(&self) -> usize {
        let files: usize = self.seen_files.iter().map(SeenFile::weight).sum();
        files + self.asked_host().map_or(0, AskedHost::weight)
    }

    /// The host that was asked for, if the answer depends on it.
    pub(crate) fn asked_host(&self) -> Option<&AskedHost> {
        self.assumptions.asked_host.get()
    }

    /// Whether a request asks for the same host, as far as that matters; `local_port` is that of
    /// its connection, if it is known.
    #[inline]
    pub(crate) fn is_of_host(&self, head: &RequestHead<'_>, local_port: Option<u16>) -> bool {
        let is_it = |host: &AskedHost| local_port.is_some_and(|port| host.is(head, port));
        self.asked_host().is_none_or(is_it)
    }

    /// Whether the rest is true of it, now.
    #[inline]
    pub(crate) fn holds_for(
        &self,
        (watch, now_s): (&SeenWatch, i64),
        head: &RequestHead<'_>,
        framing: &Framing<'_>,
    ) -> bool {
        self.assumptions.hold_for(head, framing)
            && (self.seen_files.is_empty() || self.files_are_unchanged(watch, now_s))
    }

    fn files_are_unchanged(&self, watch: &SeenWatch, now_s: i64) -> bool {
        let seen = self.seen.get();
        if seen.is_some() && seen == watch.now(now_s) {
            return true;
        }
        // What is asked for once is cheaper to look at than to watch. What changes while it is
        // looked at is reported as later than this.
        let is_asked_again = self.looked_s.replace(now_s) == now_s;
        let since = watch.now(now_s).filter(|_| is_asked_again);
        let since = since.filter(|_| watch.watch(&self.seen_files, now_s));
        let is_unchanged = self.seen_files.iter().all(|file| file.is_unchanged(now_s));
        self.seen.set(since.filter(|_| is_unchanged));
        is_unchanged
    }
}
