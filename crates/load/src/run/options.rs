//! What a run is told besides when and what.

use super::UserScript;
use crate::failure::FailureKind;
use crate::plan::Think;
use std::net::IpAddr;
use std::sync::Arc;

/// How many redirects in a row are followed: as many as curl and browsers do, roughly.
pub const REDIRECTS_MAX: u32 = 20;

/// What is looked at of answers besides counting them.
#[derive(Clone, Copy, Debug, Default)]
pub enum Inspect {
    /// Nothing.
    #[default]
    Nothing,
    /// The head of the first answer, which the outcome has.
    FirstHead,
    /// Everything: the function is called for each answer, with its status, its head and the
    /// beginning of its body.
    Every(fn(u16, &[u8], &[u8])),
}

/// How whole pages are loaded.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Users keep what they have from one page to the next.
    pub keeps_cache: bool,
    /// Load from hosts that the plan does not name, too.
    pub goes_elsewhere: bool,
    /// Keep the waterfall of a page.
    pub keeps_waterfall: bool,
}

/// A proxy that leads on to servers of https.
#[derive(Clone, Debug)]
pub struct ConnectProxy {
    /// The proxy's name or address.
    pub host: String,
    /// The proxy's port.
    pub port: u16,
    /// Fields for it, each ended: credentials.
    pub fields: String,
}

/// How requests are sent, and when the run ends.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Threads that send.
    pub threads: usize,
    /// Connections at most where the pace is a rate; users elsewhere come from the pattern.
    pub connections_max: u32,
    /// End after so many requests.
    pub requests: Option<u64>,
    /// End after so many nanoseconds (the warm-up not counted); without both the pattern decides.
    pub duration_ns: Option<u64>,
    /// Nanoseconds at the beginning that nothing is counted of.
    pub warm_up_ns: u64,
    /// A request that has no complete answer by then has failed.
    pub timeout_ms: u64,
    /// Whether requests have failed that are under way when the run ends, and were so for longer
    /// than the time limit or for all of the run.
    pub fails_unanswered: bool,
    /// Whether a connection is used again.
    pub keeps_alive: bool,
    /// Requests sent at once on a connection.
    pub pipeline: u32,
    /// How connections of https are secured; without it there are none.
    pub connector: Option<tls::Connector>,
    /// The way to servers of https leads through this proxy.
    pub proxy: Option<ConnectProxy>,
    /// Speak HTTP/2: where TLS is, if the server does as well, else without asking.
    pub http2: bool,
    /// Users who share a connection of HTTP/2, each with a stream of it.
    pub streams: u32,
    /// Users pause so long after each answer, where an entry says nothing else.
    pub think: Option<Think>,
    /// Follow redirects.
    pub follows: bool,
    /// Keep the cookies of each user.
    pub keeps_cookies: bool,
    /// Every answer of an entry must be as long as the first one.
    pub same_length: bool,
    /// Whether statuses of 400 and above are failures where an entry does not say what it expects.
    pub faults_statuses: bool,
    /// Addresses to come from, in turn.
    pub from: Vec<IpAddr>,
    /// Close connections with a reset, so that their ports are free at once.
    pub resets: bool,
    /// Keep the time between sending and the end apart from the latency.
    pub keeps_service: bool,
    /// Bytes of socket buffers; 0 is the system's choice.
    pub buffer_bytes: usize,
    /// Keep a row for each request: takes memory with each of them.
    pub keeps_rows: bool,
    /// What is looked at of answers besides counting them.
    pub inspect: Inspect,
    /// Whether a failure of this kind, of which there have been so many with it, ends the run.
    pub is_fatal: Option<fn(FailureKind, u64) -> bool>,
    /// End the run when nobody listens at any of the servers of its plan.
    pub gives_up: bool,
    /// End the run after so many failures.
    pub failures_max: Option<u64>,
    /// Load whole pages, as browsers do.
    pub pages: Option<PageOptions>,
    /// Seed of everything that is left to chance.
    pub seed: u64,
    /// Users act by this instead of the plan's order, and only their number is the pacer's.
    pub script: Option<Arc<dyn UserScript>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            connections_max: 1000,
            requests: None,
            duration_ns: None,
            warm_up_ns: 0,
            timeout_ms: 30_000,
            fails_unanswered: true,
            keeps_alive: true,
            pipeline: 1,
            connector: None,
            proxy: None,
            http2: false,
            streams: 1,
            think: None,
            follows: false,
            keeps_cookies: false,
            same_length: false,
            faults_statuses: true,
            from: Vec::new(),
            resets: false,
            keeps_service: false,
            keeps_rows: false,
            inspect: Inspect::Nothing,
            is_fatal: None,
            gives_up: false,
            buffer_bytes: 0,
            failures_max: None,
            pages: None,
            seed: 0,
            script: None,
        }
    }
}
