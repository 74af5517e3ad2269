//! setenvif: variables of the environment that depend on the request (mod_setenvif).
//!
//! Rules outside of all sections run as soon as a request is read, those of sections when its
//! place is known. Debian's default configuration has ten rules of the first kind about
//! `User-Agent`; what they come to is remembered per thread (`memo.rs`), so that a request for
//! which they come to nothing keeps its fast path.

mod directives;
mod memo;
mod rule;

pub(crate) use directives::MODULE;
pub(crate) use memo::SetEnvIfMemo;

use logging::level::Level;
use message::{Status, Target};
use rule::{SetEnvIfRule, SetEnvIfSubject};
use server::Context;
use server::failure::{Failure, Stop};
use server::hook::FastRequest;
use server::request_context::{Because, Client, LookupPurpose, RequestContext};
use server::site::host::Host;
use server::site::settings::{DirectoryKey, HostKey};
use server::site::store::Merge;
use server::table::Table;
use server::thread_state::ThreadKey;
use server::waiting::{self, NowOrLater, Waiting};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// The key of what rules have come to on a thread.
static MEMO: ThreadKey<RefCell<SetEnvIfMemo>> = ThreadKey::new();

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<Settings> = HostKey::new();

/// Rules in the order of the text, those of outer sections or of the main server first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    rules: Vec<Arc<SetEnvIfRule>>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        if self.rules.is_empty() {
            return outer.clone();
        }
        Self { rules: [&outer.rules[..], &self.rules].concat() }
    }
}

/// What the rules of a host come to for a request.
pub(crate) enum Class {
    /// No variable at all.
    Empty,
    /// These.
    Variables(Rc<Table>),
    /// More than a request's head decides: ask for each request.
    Open,
}

/// What the rules of `host` come to, from the memo if a request like this one was there before.
/// Without rules it costs nothing.
pub(crate) fn class(context: &Context, host: &Host, subject: &SetEnvIfSubject<'_>) -> Class {
    let rules = &HOST_SETTINGS.of(&host.modules).rules;
    if rules.is_empty() {
        return Class::Empty;
    }
    let memo = MEMO.of(&context.modules);
    let mut memo = memo.borrow_mut();
    if !memo.key(host.index, rules, subject) {
        return Class::Open;
    }
    let table = match memo.get() {
        Some(known) => known,
        None => {
            let mut table = Table::default();
            let applied = waiting::ended(rule::apply(rules, subject, None, &mut table));
            if !matches!(applied, Some(Ok(()))) {
                return Class::Open;
            }
            memo.put(table)
        }
    };
    if table.is_empty() { Class::Empty } else { Class::Variables(table) }
}

/// Whether a prepared response may answer: the rules of the host come to nothing.
pub(crate) fn is_plain(seen: &FastRequest<'_>) -> bool {
    let rules = &HOST_SETTINGS.of(&seen.host.modules).rules;
    if rules.is_empty() {
        return true;
    }
    let Target::Origin { path, .. } = seen.target else { return false };
    let client = seen.client.ip().to_canonical();
    let path = message::path::without_leading_slashes(path);
    let subject = SetEnvIfSubject { head: seen.head, path, client, names: None, server: None };
    matches!(class(seen.context, seen.host, &subject), Class::Empty)
}

/// Post-read-request hook: the rules of the host. The path is still the one of the request line.
pub(crate) fn read<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let rules = &HOST_SETTINGS.of(&request.host.modules).rules;
    if rules.is_empty() {
        return NowOrLater::Now(Ok(()));
    }
    Waiting::only_if(rules.iter().any(|rule| rule.may_wait()), of_host(request))
}

async fn of_host(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let host = request.host;
    // Unmarked: if the rules come to nothing for this request, a shared answer is given only to
    // those for which they do as well (`is_plain`).
    let Client { received, ip } = request.unmarked(Because::AskedOfEach).clone();
    // A page for a request that was refused is looked up, too.
    let sent = received.framing().ok().and_then(|framing| framing.target.path());
    let redirected = request.path.clone();
    let path = match request.lineage.purpose {
        LookupPurpose::Redirected => &redirected,
        _ => message::path::without_leading_slashes(sent.unwrap_or_default()),
    };
    let client = ip.unwrap_or_else(|| received.client.ip().to_canonical());
    let server = Some(received.local.ip().to_canonical());
    let names = Some(&*received.names);
    let subject = SetEnvIfSubject { head: received.view(), path, client, names, server };
    match class(request.context, host, &subject) {
        Class::Empty => Ok(()),
        Class::Variables(table) => {
            request.mark_personal();
            table.iter().for_each(|(name, value)| request.tables.env.set(name, value));
            Ok(())
        }
        Class::Open => {
            let rules = &HOST_SETTINGS.of(&host.modules).rules;
            run(request, rules, &subject).await
        }
    }
}

/// Header-parser hook: the rules of the place.
pub(crate) fn header<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let rules = &SETTINGS.of(&request.settings).rules;
    if rules.is_empty() {
        return NowOrLater::Now(Ok(()));
    }
    let may_wait = rules.iter().any(|rule| rule.may_wait());
    Waiting::only_if(may_wait, of_place(request))
}

async fn of_place(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = request.settings.clone();
    let rules = &SETTINGS.of(&settings).rules;
    let received = request.received().clone();
    let path = request.path.clone();
    let server = Some(received.local.ip().to_canonical());
    let client = request.client();
    let names = Some(&*received.names);
    let subject = SetEnvIfSubject { head: received.view(), path: &path, client, names, server };
    run(request, rules, &subject).await
}

async fn run(
    request: &mut RequestContext<'_>,
    rules: &[Arc<SetEnvIfRule>],
    subject: &SetEnvIfSubject<'_>,
) -> Result<(), Stop> {
    request.mark_personal();
    let mut env = std::mem::take(&mut request.tables.env);
    let done = rule::apply(rules, subject, Some(request), &mut env).await;
    request.tables.env = env;
    done.map_err(|rule::VariableTooLong(name)| {
        let text = format!("Regular expression replacement failed for '{name}', value too long?");
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "setenvif", text);
        failure.id(1505).level(Level::Crit).into()
    })
}
