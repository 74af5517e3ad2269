//! proxy: requests that go to a FastCGI application by their URL alone: `ProxyPass`,
//! `ProxyPassMatch`, `<Proxy>`, groups of backends (mod_proxy, mod_proxy_balancer, lbmethod_*).
//!
//! Here is what the configuration says. What a request does with it stands in `forward`, how an
//! application is talked to in `proxy_fcgi`; other protocols are not spoken. No file is looked for
//! and no `.htaccess` read: the application knows what there is.

mod balancer;
mod choose;
mod lines;
mod parameters;
mod pass;
mod rows;
mod section;
mod unused;
pub(crate) mod url;
mod worker;

pub(crate) use balancer::Balancer;
pub(crate) use pass::{Pass, Passed};
pub(crate) use rows::DIRECTIVES;
pub(crate) use url::{FCGI_PORT, split_socket, with_absolute_socket};
pub(crate) use worker::ProxyWorker;

use server::site::settings::{DirectoryKey, HostKey};
use server::site::store::Merge;
use std::path::Path;
use std::sync::Arc;

/// What httpd calls the handler of what is handed on.
pub(crate) const HANDLER: &str = "proxy-server";

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What a host says outside of all sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    pub(crate) passes: Vec<Arc<Pass>>,
    workers: Vec<Arc<ProxyWorker>>,
    balancers: Vec<Arc<Balancer>>,
    /// `ProxyTimeout`
    timeout_ms: Option<u64>,
    /// `ProxyMaxForwards`
    max_forwards: Option<i64>,
    /// `ProxyPassInherit`, `BalancerInherit`
    inherits_passes: Option<bool>,
    inherits_balancers: Option<bool>,
}

impl Merge for HostSettings {
    /// Those of a virtual host come behind those of the main server (merge_proxy_config).
    fn over(&self, main: &Self) -> Self {
        let inherits_passes = self.inherits_passes.or(main.inherits_passes);
        let inherits_balancers = self.inherits_balancers.or(main.inherits_balancers);
        let shares = inherits_passes.unwrap_or(true) || inherits_balancers.unwrap_or(true);
        let (workers, balancers) = match shares {
            true => (
                [&main.workers[..], &self.workers].concat(),
                merged_balancers(&main.balancers, &self.balancers),
            ),
            false => (self.workers.clone(), self.balancers.clone()),
        };
        Self {
            passes: [&main.passes[..], &self.passes].concat(),
            workers,
            balancers,
            timeout_ms: self.timeout_ms.or(main.timeout_ms),
            max_forwards: self.max_forwards.or(main.max_forwards),
            inherits_passes,
            inherits_balancers,
        }
    }
}

impl HostSettings {
    /// The backend of a URL whose host ends at `host_end`: the one with the longest name that
    /// covers it (`ap_proxy_get_worker_ex`). `own` is the one with groups in its name that the line
    /// of the request has made.
    pub(crate) fn worker(
        &self,
        url: &[u8],
        host_end: usize,
        socket: Option<&Path>,
        own: Option<&str>,
    ) -> Option<&Arc<ProxyWorker>> {
        let length = |worker: &ProxyWorker| match own {
            Some(own) if worker.is_match && worker.name == own => Some(own.len()),
            _ if worker.is_match => None,
            _ => worker.covers(url, host_end),
        };
        let suiting = self.workers.iter().filter(|worker| worker.suits(socket));
        let by_length = suiting.filter_map(|worker| Some((length(worker)?, worker)));
        let longest = by_length.reduce(|best, next| if next.0 > best.0 { next } else { best });
        longest.map(|row| row.1)
    }

    /// Whether there is any backend that something is said about.
    pub(crate) fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// The group that a URL names.
    pub(crate) fn balancer(&self, url: &str) -> Option<&Arc<Balancer>> {
        let name = Balancer::name_of(url)?;
        self.balancers.iter().find(|balancer| balancer.name == name)
    }

    /// `ProxyMaxForwards`, if it is a bound.
    pub(crate) fn max_forwards(&self) -> Option<i64> {
        self.max_forwards.filter(|count| *count >= 0)
    }

    /// How long a backend may be silent of which nothing else is said.
    pub(crate) fn timeout_ms(&self) -> Option<u64> {
        self.timeout_ms
    }
}

/// A group of both is one: with the members of the main server, and what the virtual host says
/// (merge_balancers of mod_proxy.c).
fn merged_balancers(main: &[Arc<Balancer>], own: &[Arc<Balancer>]) -> Vec<Arc<Balancer>> {
    let is_named = |balancer: &Arc<Balancer>, name: &str| balancer.name == name;
    let only_main = main.iter().filter(|it| !own.iter().any(|own| is_named(own, &it.name)));
    let mine = own.iter().map(|own| {
        let Some(main) = main.iter().find(|main| is_named(main, &own.name)) else {
            return own.clone();
        };
        let mut both = Balancer::clone(own);
        both.members.clone_from(&main.members);
        Arc::new(both)
    });
    only_main.cloned().chain(mine).collect()
}

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `ProxyPass` in a `<Location>`.
    pub(crate) pass: Option<Arc<Pass>>,
    /// `ProxyPassInterpolateEnv`
    interpolates: Option<bool>,
    /// `ProxyErrorOverride`
    overrides: Option<bool>,
    /// The statuses that it names; all errors if it names none.
    overridden: Vec<u16>,
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    fn over(&self, outer: &Self) -> Self {
        Self {
            pass: self.pass.clone().or_else(|| outer.pass.clone()),
            interpolates: self.interpolates.or(outer.interpolates),
            overrides: self.overrides.or(outer.overrides),
            overridden: [&outer.overridden[..], &self.overridden].concat(),
        }
    }
}

impl Settings {
    fn interpolates(&self) -> bool {
        self.interpolates.unwrap_or(false)
    }

    /// Whether a page of our own takes the place of an answer with this status
    /// (`ap_proxy_should_override`).
    pub(crate) fn overrides(&self, status: u16) -> bool {
        self.overrides.unwrap_or(false)
            && match self.overridden.as_slice() {
                [] => status >= 400,
                some => some.contains(&status),
            }
    }
}
