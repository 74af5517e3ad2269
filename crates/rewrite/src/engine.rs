//! A list of rules at work on a request: what it has come to so far. How it goes on stands in
//! `apply` (the list), `test` (conditions) and `substitute` (what a rule does).
//!
//! Meanwhile the request's `mapping.rewritten` is what httpd keeps in `r->filename`, and the query
//! and the path info of the request are those of the rules so far.

use crate::trace::{MODULE, Trace};
use message::Status;
use pattern::Captures;
use server::failure::Failure;
use server::request_context::RequestContext;

/// A list of rules at work on a request.
pub(crate) struct Engine<'r, 'a> {
    pub(crate) request: &'r mut RequestContext<'a>,
    /// The folder of the rules, with its slash; none for those of a host.
    pub(crate) folder: Option<&'r str>,
    pub(crate) trace: Trace,
    /// What the pattern of the rule is compared with (`ctx->uri`).
    pub(crate) subject: Vec<u8>,
    /// What the pattern of the rule has found.
    pub(crate) of_rule: Groups,
    /// What the last condition that matched has found.
    pub(crate) of_condition: Groups,
    /// Fields that were looked at since this was emptied last (`ctx->vary_this`).
    pub(crate) looked_at: Vec<String>,
    /// Fields that decided about the rule (`ctx->vary`).
    pub(crate) decisive: Vec<String>,
    /// The query before the first rule that has changed it.
    pub(crate) query_before: Option<Option<Vec<u8>>>,
}

/// Groups, and the text that they are in.
#[derive(Default)]
pub(crate) struct Groups {
    pub(crate) source: Vec<u8>,
    pub(crate) captures: Option<Captures>,
    /// Groups of an expression, which has found them in a text of its own.
    pub(crate) given: Vec<Vec<u8>>,
}

impl Groups {
    /// Group `number`, if it is there and not empty.
    pub(crate) fn get(&self, number: usize) -> Option<&[u8]> {
        let given = || self.given.get(number).map(Vec::as_slice);
        let own = || self.source.get(self.captures.as_ref()?.get(number)?);
        own().or_else(given).filter(|text| !text.is_empty())
    }
}

impl<'r, 'a> Engine<'r, 'a> {
    pub(crate) fn new(
        request: &'r mut RequestContext<'a>,
        folder: Option<&'r str>,
        trace: Trace,
    ) -> Self {
        Self {
            request,
            folder,
            trace,
            subject: Vec::new(),
            of_rule: Groups::default(),
            of_condition: Groups::default(),
            looked_at: Vec::new(),
            decisive: Vec::new(),
            query_before: None,
        }
    }

    /// Say something in the log.
    pub(crate) fn say(&self, level: usize, text: impl FnOnce() -> String) {
        self.trace.say(level, self.request, self.folder, text);
    }

    /// Say in the log what is told otherwise where the request is explained.
    pub(crate) fn say_in_log(&self, level: usize, text: impl FnOnce() -> String) {
        self.trace.say_in_log(level, self.request, self.folder, text);
    }

    /// The same where httpd does not name the folder.
    pub(crate) fn say_without_folder(&self, level: usize, text: impl FnOnce() -> String) {
        self.trace.say(level, self.request, None, text);
    }

    /// The same of the request that a look-up is for: cookies are that one's.
    pub(crate) fn say_of_main(&self, level: usize, text: impl FnOnce() -> String) {
        self.trace.say_of_main(level, self.request, text);
    }

    /// The URL as it is now.
    pub(crate) fn url(&self) -> &[u8] {
        self.request.mapping.rewritten.as_deref().unwrap_or_default()
    }

    pub(crate) fn set_url(&mut self, url: Vec<u8>) {
        self.request.mapping.rewritten = Some(url);
    }
}

/// What stops a request: the configuration is wrong for it.
pub(crate) fn failure(text: String) -> Failure {
    Failure::new(Status::INTERNAL_SERVER_ERROR, MODULE, text).at_error()
}
