//! (Virtual) hosts: what a configuration says about each, and which of them a request is for.

use crate::asked_host::AskedHost;
use crate::content_coding::Coding;
use crate::resolve::Root;
use crate::site::config_place::ConfigPlace;
use crate::site::custom_log::{AccessLog, LogDraft};
use crate::site::locate::Sections;
use crate::site::settings::{HostSettings, Section, Settings};
use crate::site::timing::{Timing, TimingDraft};
use logging::error_format::ErrorFormats;
use logging::errors::ErrorLog;
use logging::level::Levels;
use message::path::EncodedSlashes;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// What a configuration says about a host. What is not set comes from the main server.
#[derive(Clone, Debug, Default)]
pub struct HostDraft {
    /// Arguments of `<VirtualHost>`; empty for the main server.
    pub addresses: Vec<HostAddress>,
    /// Where it was configured.
    pub place: ConfigPlace,
    /// `DocumentRoot`
    pub document_root: Option<PathBuf>,
    /// `ServerName`
    pub server_name: Option<ServerName>,
    /// `ServerAlias`, each a name or a wildcard.
    pub aliases: Vec<String>,
    /// `ServerPath`
    pub server_path: Option<String>,
    /// `ServerAdmin`
    pub server_admin: Option<String>,
    /// `StrictHostCheck`
    pub strict_host_check: Option<bool>,
    /// `AllowEncodedSlashes`
    pub encoded_slashes: Option<EncodedSlashes>,
    /// Durations and counts of connections.
    pub timing: TimingDraft,
    /// `LimitRequestLine`
    pub request_line_bytes: Option<usize>,
    /// `LimitRequestFieldSize`
    pub field_bytes: Option<usize>,
    /// `LimitRequestFields`
    pub fields: Option<usize>,
    /// `TraceEnable`
    pub trace: Option<Trace>,
    /// Words of `HttpProtocolOptions`, which must not contradict each other.
    pub protocol_options: Vec<&'static str>,
    /// `MergeSlashes`
    pub merge_slashes: Option<bool>,
    /// `AccessFileName`
    pub access_file_names: Option<Vec<String>>,
    /// `LimitInternalRecursion`: redirects, look-ups.
    pub internal_limits: Option<(u32, u32)>,
    /// `ErrorLog`
    pub error_log: Option<PathBuf>,
    /// `ErrorLogFormat`
    pub error_formats: ErrorFormats,
    /// `LogLevel` outside of sections.
    pub levels: Option<Levels>,
    /// `LogFormat` with a nickname: it and the format.
    pub formats: Vec<(String, String)>,
    /// `LogFormat` without a nickname.
    pub default_format: Option<String>,
    /// `CustomLog`, `TransferLog` and `GlobalLog`, in order.
    pub logs: Vec<LogDraft>,
    /// What modules keep per host.
    pub modules: HostSettings,
    /// Outside of all sections.
    pub base: Settings,
    /// `<Directory>` in the order of the text.
    pub directories: Vec<Arc<Section>>,
    /// `<Location>` in the order of the text.
    pub locations: Vec<Arc<Section>>,
    /// `<Proxy>` in the order of the text.
    pub(crate) backends: Vec<Arc<Section>>,
}

impl HostDraft {
    /// The address that stands for the name of a virtual host without one; `None` if it has a name,
    /// or that of the main server as it is for any address (vhost.c, ap_fini_vhost_config).
    pub fn unnamed_ip(&self) -> Option<IpAddr> {
        let is_for_any = self.addresses.iter().any(|address| address.ip.is_none());
        let first = self.addresses.first().filter(|_| self.server_name.is_none() && !is_for_any);
        first.and_then(|address| address.ip)
    }
}

/// `ServerName [scheme://]name[:port]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerName {
    /// The scheme, if one is named.
    pub scheme: Option<String>,
    /// The name.
    pub name: String,
    /// The port, if one is named.
    pub port: Option<u16>,
}

impl ServerName {
    /// The port for logs.
    pub(crate) fn default_port(&self) -> u16 {
        let of_scheme = if self.scheme.as_deref() == Some("https") { 443 } else { 80 };
        self.port.unwrap_or(of_scheme)
    }
}

/// `TraceEnable`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// TRACE is refused.
    Off,
    /// TRACE is answered.
    On,
    /// Request bodies are allowed.
    Extended,
}

/// An argument of `<VirtualHost>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostAddress {
    /// `None` is `*` and `_default_`.
    pub ip: Option<IpAddr>,
    /// `None` is every port.
    pub port: Option<u16>,
}

impl HostAddress {
    fn covers(&self, local: SocketAddr) -> bool {
        self.ip.is_none_or(|ip| ip == local.ip().to_canonical())
            && self.port.is_none_or(|port| port == local.port())
    }
}

/// One (virtual) host, compiled.
pub struct Host {
    /// Its place among the hosts of the site; the main server is 0.
    pub index: usize,
    /// Where it was configured.
    pub(crate) place: ConfigPlace,
    pub(crate) name: Option<ServerName>,
    /// `ServerAlias`
    pub(crate) aliases: Vec<String>,
    /// `ServerPath`
    pub(crate) server_path: Option<String>,
    /// `ServerAdmin`
    pub server_admin: Option<String>,
    pub(crate) strict_host_check: bool,
    /// `AllowEncodedSlashes`
    pub encoded_slashes: EncodedSlashes,
    /// Where it answers; none is the main server.
    pub addresses: Vec<HostAddress>,
    /// The document root.
    pub root: Arc<Root>,
    /// Durations and counts of connections.
    pub timing: Timing,
    /// How long a head may be.
    pub limits: http1::HeadLimits,
    pub(crate) trace: Trace,
    /// `MergeSlashes`
    pub merge_slashes: bool,
    pub(crate) access_file_names: Arc<[String]>,
    pub(crate) internal_limits: (u32, u32),
    /// `ErrorLog`
    pub error_log: Arc<ErrorLog>,
    pub(crate) logs: Arc<[AccessLog]>,
    /// `%v`
    pub log_name: String,
    /// What modules keep per host.
    pub modules: HostSettings,
    pub(crate) sections: Sections,
    /// Whether a request for [`Self::name`] always leads here.
    pub(crate) owns_name: bool,
}

/// What tells the prepared responses of a path apart: the coding, where there are several, and the
/// host that was asked for, where that matters.
pub(crate) type Variant<'a> = (Option<Option<Coding>>, Option<&'a AskedHost>);

/// The response that was made last, whatever it is.
pub(crate) const LAST_MADE: Variant<'static> = (None, None);

impl Host {
    /// The key of a path in the cache of prepared responses, which all hosts share; a coding and a
    /// name that was asked for are of one of several variants. `buffer` is not used for the usual
    /// keys of the main server, which are the paths themselves.
    #[inline]
    pub(crate) fn key<'k>(
        &self,
        path: &'k [u8],
        (coding, asked_host): Variant<'_>,
        buffer: &'k mut Vec<u8>,
    ) -> &'k [u8] {
        if self.index == 0 && coding.is_none() && asked_host.is_none() {
            return path;
        }
        buffer.clear();
        buffer.extend_from_slice(&self.index.to_le_bytes());
        buffer.extend_from_slice(path);
        if let Some(coding) = coding {
            // No request target holds a NUL.
            buffer.push(0);
            buffer.extend_from_slice(coding.map_or("", Coding::name).as_bytes());
        }
        if let Some(host) = asked_host {
            host.add_to(buffer);
        }
        buffer
    }

    /// `name:port`, as it is shown; a port that nobody has named is 0.
    pub fn name_and_port(&self) -> String {
        let port = self.name.as_ref().and_then(|name| name.port).unwrap_or(0);
        format!("{}:{port}", self.log_name)
    }

    /// Whether this is one of its names.
    pub(crate) fn answers_to(&self, name: &[u8]) -> bool {
        let name = without_root(name).to_ascii_lowercase();
        let is_own = |own: &str| own.as_bytes().eq_ignore_ascii_case(&name);
        let is_alias = |alias: &String| wild_matches(alias.to_ascii_lowercase().as_bytes(), &name);
        self.name().is_some_and(is_own) || self.aliases.iter().any(is_alias)
    }

    /// The settings outside of all sections.
    pub fn settings(&self) -> &Settings {
        &self.sections.base
    }

    /// The value of `Allow` for a static resource (core.c, default_handler; http_protocol.c,
    /// make_allow).
    pub fn methods(&self) -> &'static str {
        match self.trace {
            Trace::Off => "GET,POST,OPTIONS,HEAD",
            Trace::On | Trace::Extended => "GET,POST,OPTIONS,HEAD,TRACE",
        }
    }

    /// `ServerName` without scheme and port.
    pub fn name(&self) -> Option<&str> {
        self.name.as_ref().map(|name| name.name.as_str())
    }
}

/// Which host a request is for, by address, port and name (server/vhost.c).
pub(crate) enum HostChoice {
    /// There are no virtual hosts.
    Main,
    ByAddress(Vec<HostChain>),
}

/// Hosts that share an address: the first is their default.
pub(crate) struct HostChain {
    pub(crate) address: HostAddress,
    pub(crate) hosts: Vec<usize>,
    /// Names without wildcards, in lower case, with the first host in `hosts` that has each.
    by_name: HashMap<Vec<u8>, usize>,
    /// Wildcard aliases with the position of their host in `hosts`.
    wild: Vec<(usize, String)>,
}

impl HostChoice {
    /// Sort out who answers where.
    pub(crate) fn new(hosts: &mut [Host]) -> Self {
        if hosts.len() < 2 {
            return Self::Main;
        }
        let mut chains: Vec<HostChain> = Vec::new();
        let mut at: HashMap<HostAddress, usize> = HashMap::new();
        for host in hosts[1..].iter() {
            for address in &host.addresses {
                let nth = *at.entry(*address).or_insert_with(|| {
                    chains.push(HostChain::new(*address));
                    chains.len() - 1
                });
                // The same address may stand in one line twice.
                if chains[nth].hosts.last() != Some(&host.index) {
                    chains[nth].hosts.push(host.index);
                }
            }
        }
        chains.iter_mut().for_each(|chain| chain.learn_names(hosts));
        for host in &mut hosts[1..] {
            let leads_here = |address: &HostAddress, name: &str| {
                at.get(address).and_then(|nth| chains[*nth].named(name.as_bytes()))
                    == Some(host.index)
            };
            let owns = |name: &str| host.addresses.iter().all(|address| leads_here(address, name));
            host.owns_name = host.name().is_some_and(owns);
        }
        // An address beats `*`, and a port beats `*` (vhost.c, find_addr and iphash_table).
        chains.sort_by_key(|chain| (chain.address.ip.is_none(), chain.address.port.is_none()));
        Self::ByAddress(chains)
    }

    /// The hosts of an address; `None` if it is the main server's alone.
    pub(crate) fn chain(&self, local: SocketAddr) -> Option<&HostChain> {
        match self {
            Self::Main => None,
            Self::ByAddress(chains) => chains.iter().find(|chain| chain.address.covers(local)),
        }
    }
}

impl HostChain {
    fn new(address: HostAddress) -> Self {
        Self { address, hosts: Vec::new(), by_name: Default::default(), wild: Vec::new() }
    }

    fn learn_names(&mut self, hosts: &[Host]) {
        self.by_name.reserve(2 * self.hosts.len());
        for (at, index) in self.hosts.iter().enumerate() {
            let host = &hosts[*index];
            let plain = host.aliases.iter().filter(|alias| !is_wild(alias)).map(String::as_str);
            for name in host.name().into_iter().chain(plain) {
                self.by_name.entry(name.to_ascii_lowercase().into_bytes()).or_insert(at);
            }
            let wild = host.aliases.iter().filter(|alias| is_wild(alias));
            self.wild.extend(wild.map(|alias| (at, alias.to_ascii_lowercase())));
        }
    }

    /// The host that is the default here.
    pub(crate) fn default_host(&self) -> usize {
        self.hosts[0]
    }

    /// The host called `name`, as a client writes it; `None` if none is.
    pub(crate) fn named(&self, name: &[u8]) -> Option<usize> {
        let lower = without_root(name).to_ascii_lowercase();
        let exact = self.by_name.get(&lower).copied();
        let limit = exact.unwrap_or(usize::MAX);
        let earlier = self.wild.iter().take_while(|row| row.0 < limit);
        let wild = earlier.filter(|row| wild_matches(row.1.as_bytes(), &lower)).map(|row| row.0);
        wild.min().or(exact).map(|at| self.hosts[at])
    }
}

/// One final dot is the root of all names, not part of this one (vhost.c, fix_hostname).
fn without_root(name: &[u8]) -> &[u8] {
    name.strip_suffix(b".").filter(|name| !name.is_empty()).unwrap_or(name)
}

/// Whether a `ServerAlias` has wildcards.
pub(crate) fn is_wild(alias: &str) -> bool {
    alias.contains(['*', '?'])
}

/// ap_strcasecmp_match: `*` is any text, dots included; `?` is one byte.
fn wild_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                retry = Some((p, n));
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after, at)) = retry else { return false };
                retry = Some((after, at + 1));
                (p, n) = (after, at + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}
