//! The names under which the server answers, and those of its hosts.

use super::hosts;
use scoreboard::SlotCountsView;
use server::site::host::Host;
use std::net::SocketAddr;

/// Who answers, under which names.
pub(super) struct ServerNames<'a> {
    /// As the client calls the server (UseCanonicalName Off).
    pub(super) server: String,
    /// The address that the request came to.
    pub(super) local: SocketAddr,
    pub(super) hosts: &'a [Host],
    /// What stands at the end of a page.
    pub(super) signature: Vec<u8>,
}

impl ServerNames<'_> {
    /// Name and port of the host that a slot has worked for.
    pub(super) fn of_host(&self, counts: &SlotCountsView) -> String {
        let place = usize::try_from(counts.host).unwrap_or(usize::MAX);
        let name = self.hosts.get(place).map_or(hosts::UNKNOWN, |host| &host.log_name);
        let port = if counts.port == 0 { self.local.port() } else { counts.port };
        format!("{name}:{port}")
    }
}
