//! Names of addresses: that of the client (`HostnameLookups`) and that of our end of the connection
//! (`UseCanonicalName DNS`). Whoever needs one waits for it off the thread; what came of it is kept
//! with the connection. Which names are trusted with access is not decided here.

use crate::context::Context;
use crate::failure::Stop;
use crate::question::{self, HelperAnswer, Question};
use crate::request_context::{Because, RequestContext};
use crate::site::names::{HostnameLookups, UseCanonicalName, are_looked_at};
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
    fn address(self) -> IpAddr {
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
    fn asked(&self, end: NamedEnd) -> Option<Option<Rc<str>>> {
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

    /// What to ask for a name that is wanted and was not asked for before.
    fn question(&self, end: NamedEnd, lookups: HostnameLookups) -> Option<Question> {
        match lookups {
            _ if self.asked(end).is_some() => None,
            HostnameLookups::Off => None,
            HostnameLookups::On => Some(Question::ClaimedNameOf(end.address())),
            HostnameLookups::Double => Some(Question::NameOf(end.address())),
        }
    }

    fn keep_answer(&self, end: NamedEnd, answer: &HelperAnswer) {
        if let HelperAnswer::Name(name) = answer {
            self.keep(end, name.as_deref());
        }
    }

    /// Have it looked up for a log or a script. Without a thread for it there is no name.
    pub(crate) async fn find(&self, context: &Context, end: NamedEnd, lookups: HostnameLookups) {
        let Some(question) = self.question(end, lookups) else { return };
        if let Ok(answer) = question::answer(context, question).await {
            self.keep_answer(end, &answer);
        }
    }

    /// Have it looked up before the hooks of a request.
    async fn ask(
        &self,
        request: &RequestContext<'_>,
        end: NamedEnd,
        lookups: HostnameLookups,
    ) -> Result<(), Stop> {
        if let Some(question) = self.question(end, lookups) {
            self.keep_answer(end, &question::ask_for_all(request, question).await?);
        }
        Ok(())
    }
}

/// Whether scripts are told the name of the client (`REMOTE_HOST`).
pub(crate) fn are_for_scripts(request: &RequestContext<'_>) -> bool {
    request.settings.core.hostname_lookups() != HostnameLookups::Off
}

/// Find that name.
pub(crate) async fn find_for_script(request: &RequestContext<'_>) {
    let lookups = request.settings.core.hostname_lookups();
    let client = NamedEnd::Client(request.client());
    request.received().names.find(request.context, client, lookups).await;
}

/// Find the names that hooks and texts may look at under the present settings of a request.
///
/// # Errors
/// As [`question::elsewhere`].
pub(crate) async fn prepare(request: &RequestContext<'_>) -> Result<(), Stop> {
    let core = &request.settings.core;
    let (lookups, canonical) = (core.hostname_lookups(), core.use_canonical_name());
    // Unmarked: whoever looks at a name marks the answer.
    let received = &request.unmarked(Because::MarkedBehind).received;
    let names = &received.names;
    if canonical == UseCanonicalName::Dns {
        request.mark_personal();
        let local = NamedEnd::Local(received.local_ip());
        names.ask(request, local, HostnameLookups::On).await?;
    }
    if lookups != HostnameLookups::Off && are_looked_at() {
        names.ask(request, NamedEnd::Client(request.client()), lookups).await?;
    }
    Ok(())
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
