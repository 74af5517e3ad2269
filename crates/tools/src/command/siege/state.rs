//! What the users of a run have in common: settings, URLs, the screen, what was counted.

use super::config::Config;
use super::lines::{NoticeLevel, Screen, complain, notice};
use super::urls::SiegeRequest;
use load::FailureKind;
use load::run::NoAnswer;
use load::url::{Scheme, Url};
use std::sync::atomic::{AtomicU64, Ordering};

/// The words for a URL of another protocol: browser.c `__http`.
pub(super) const UNSUPPORTED: &str =
    "UNSPPRTD 501   0.00 secs:       0 bytes ==> PROTOCOL NOT SUPPORTED BY SIEGE\n";

/// What all users share.
#[derive(Debug)]
pub(super) struct SiegeState {
    pub(super) config: Config,
    pub(super) tasks: Vec<SiegeRequest>,
    pub(super) logins: Vec<SiegeRequest>,
    pub(super) proxy: Option<Url>,
    pub(super) screen: Screen,
    pub(super) counts: SiegeCounts,
}

/// What siege counts by rules of its own.
#[derive(Debug, Default)]
pub(super) struct SiegeCounts {
    /// Transactions.
    hits: AtomicU64,
    /// Answers below 400, challenges among them.
    successes: AtomicU64,
    /// Those of them with status 200.
    okay: AtomicU64,
    failed: AtomicU64,
    /// Requests to hosts without an address.
    unresolved: AtomicU64,
    /// Chains of redirects without end.
    loops: AtomicU64,
    /// The sum of the times of all answers.
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
    /// The shortest time of an answer; 0 until there is one.
    shortest_ns: AtomicU64,
}

impl SiegeCounts {
    pub(super) fn answered(&self, status: u16, took_ns: u64) {
        self.total_ns.fetch_add(took_ns, Ordering::Relaxed);
        self.longest_ns.fetch_max(took_ns, Ordering::Relaxed);
        let least = |known: u64| Some(if known == 0 { took_ns } else { known.min(took_ns) });
        let _ = self.shortest_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, least);
        if status < 400 || status == 401 || status == 407 {
            self.successes.fetch_add(1, Ordering::Relaxed);
        }
        if status == 200 {
            self.okay.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn hit(&self, count: u64) {
        self.hits.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn fail(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn fail_in_loop(&self) {
        self.loops.fetch_add(1, Ordering::Relaxed);
        self.fail();
    }

    /// Seconds: of all answers together, of the longest and of the shortest.
    pub(super) fn times_s(&self) -> [f64; 3] {
        let all = [&self.total_ns, &self.longest_ns, &self.shortest_ns];
        all.map(|ns| ns.load(Ordering::Relaxed) as f64 / 1e9)
    }

    pub(super) fn loops(&self) -> u64 {
        self.loops.load(Ordering::Relaxed)
    }

    pub(super) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    pub(super) fn successes(&self) -> u64 {
        self.successes.load(Ordering::Relaxed)
    }

    pub(super) fn okay(&self) -> u64 {
        self.okay.load(Ordering::Relaxed)
    }

    pub(super) fn unresolved(&self) -> u64 {
        self.unresolved.load(Ordering::Relaxed)
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }
}

impl SiegeState {
    /// The login URL of a user: they are handed round.
    pub(super) fn login(&self, user: u32) -> Option<SiegeRequest> {
        self.logins.get(user as usize % self.logins.len().max(1)).cloned()
    }

    pub(super) fn has_failed_enough(&self) -> bool {
        let most = self.config.failures;
        most > 0 && self.counts.failed() >= most.unsigned_abs()
    }

    /// Why a task cannot be done, if so.
    pub(super) fn obstacle(&self, task: &SiegeRequest) -> Option<String> {
        match task {
            SiegeRequest { is_unsupported: true, .. } => Some(UNSUPPORTED.to_owned()),
            SiegeRequest { url: Url { scheme: Scheme::Https, .. }, .. } if self.proxy.is_some() => {
                Some(format!("{}: https through a proxy is not supported", task.url))
            }
            _ => None,
        }
    }

    /// Writes a line for an answer, where one is wanted.
    pub(super) fn tell(&self, line: impl FnOnce(&Config) -> String) {
        let config = &self.config;
        if config.verbose && !config.gets && !config.prints && !config.debug {
            self.screen.write(line(config).as_bytes());
        }
    }

    pub(super) fn show_request(&self, server: &Url, task: &SiegeRequest, request: &[u8]) {
        if self.config.debug {
            let address = format!("{}:{}", server.host, server.port);
            notice(NoticeLevel::Debug, &format!("attempting connection to {address}"));
        }
        if self.config.shows_exchanges() || (self.config.prints && !self.config.quiet) {
            let has_body = !matches!(task.method.as_str(), "GET" | "HEAD");
            let end: &[u8] = if has_body { b"\n\n" } else { b"\n" };
            self.screen.write(&[request, end].concat());
        }
    }

    pub(super) fn show_head(&self, head: &[u8]) {
        if self.config.shows_exchanges() {
            self.screen.write(&[head, b"\n"].concat());
        }
    }

    pub(super) fn show_page(&self, page: &[u8]) {
        self.screen.write(&[page, b"\n"].concat());
    }

    /// The words of siege 4.0.7 for a connection that was not made, with the places of its source
    /// in them: scripts look for these lines. About all else it is silent, and the report speaks.
    pub(super) fn tell_error(&self, error: &NoAnswer) {
        let text = runtime::os_error::without_number(&error.text);
        let text = text.strip_prefix(RESOLVER).unwrap_or(text);
        if error.is_unresolved {
            self.counts.unresolved.fetch_add(1, Ordering::Relaxed);
            let words = "Address resolution failed at sock.c:158 with the following error:";
            notice(NoticeLevel::Error, words);
            notice(NoticeLevel::Error, text);
        } else if error.failure == FailureKind::Timeout {
            let seconds = self.config.timeout;
            notice(
                NoticeLevel::Error,
                &format!("socket: no complete answer within {seconds} seconds"),
            );
        } else if error.failure.is_of_connect() {
            notice(NoticeLevel::Error, &format!("socket: unable to connect sock.c:282: {text}"));
        }
    }
}

/// What the standard library puts before the words of the resolver.
const RESOLVER: &str = "failed to lookup address information: ";

/// The words for a realm without a login.
pub(super) fn tell_no_login(realm: &str, is_proxy: bool) {
    let (proxy, key, of) =
        if is_proxy { ("a proxy", "proxy-login", "HTTP ") } else { ("an", "login", "") };
    complain(&format!(
        "ERROR: Unable to respond to {proxy} authorization challenge\n       \
         in the following {of}realm: '{realm}'\n       \
         Did you set {key} credentials in the conf file?\n"
    ));
}
