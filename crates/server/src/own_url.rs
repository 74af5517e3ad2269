//! What the server calls itself: in URLs that it sends, to scripts and in logs
//! (`UseCanonicalName`, `UseCanonicalPhysicalPort`).

use crate::names::NamedEnd;
use crate::received_request::ReceivedRequest;
use crate::request_context::{Because, LookupPurpose, RequestContext};
use crate::site::host::HostAddress;
use crate::site::names::UseCanonicalName;

impl RequestContext<'_> {
    /// `%V`, and the name in absolute URLs (UseCanonicalName).
    pub fn server_name(&self) -> String {
        let name = self.name_for(self.asked_host());
        let is_asked = match self.settings.core.use_canonical_name() {
            UseCanonicalName::On => self.host.name().is_some(),
            UseCanonicalName::Off => self.asked_host().host_name().is_some(),
            UseCanonicalName::Dns => false,
        };
        if !is_asked {
            self.mark_personal(); // it is that of the address
        }
        name
    }

    /// The name of the server as [`Self::server_name`] has it, for the error log, which is no part
    /// of the answer.
    pub fn server_name_for_log(&self) -> String {
        self.name_for(&self.unmarked(Because::NotInAnswer).received)
    }

    fn name_for(&self, received: &ReceivedRequest) -> String {
        let canonical = self.host.name().map(str::to_owned);
        let local = || received.local_ip().to_string();
        match self.settings.core.use_canonical_name() {
            UseCanonicalName::On => canonical.unwrap_or_else(local),
            UseCanonicalName::Dns => {
                let name = received.names.get(NamedEnd::Local(received.local_ip()));
                name.map(|name| name.to_string()).or(canonical).unwrap_or_else(local)
            }
            UseCanonicalName::Off => received
                .host_name()
                // vhost.c, fix_hostname_non_v6: a name is in lower case from there on.
                .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
                .or(canonical)
                .unwrap_or_else(local),
        }
    }

    /// `https` where a proxy in front speaks TLS and `ServerName https://name` says so; it is in
    /// all URLs then (http_core.c, http_scheme).
    pub fn scheme(&self) -> &'static str {
        let given = self.host.name.as_ref().and_then(|name| name.scheme.as_deref());
        if given == Some("https") { "https" } else { "http" }
    }

    /// The port that URLs of this scheme do not name.
    fn default_port(&self) -> u16 {
        if self.scheme() == "https" { 443 } else { 80 }
    }

    /// The port in absolute URLs (UseCanonicalPhysicalPort).
    pub fn server_port(&self) -> u16 {
        // A ServerName without a port takes the one of the address away (core.c,
        // server_hostname_port).
        let configured = match &self.host.name {
            Some(name) => name.port,
            None => self.host.addresses.first().and_then(|address| address.port),
        };
        let received = self.asked_host();
        // The URL of a look-up names no port (ap_sub_req_method_uri).
        let is_client = self.lineage.purpose != LookupPurpose::Sub;
        let asked = received.host_port().filter(|_| is_client);
        let (local, has_host) = (received.local.port(), received.host_name().is_some());
        let physical = self.settings.core.use_canonical_physical_port().then_some(local);
        match self.settings.core.use_canonical_name() {
            UseCanonicalName::Off | UseCanonicalName::Dns if has_host => {
                // A Host without a port means the default one (core.c, ap_get_server_port).
                asked.or(physical).or(configured).unwrap_or(self.default_port())
            }
            UseCanonicalName::On => configured.or(physical).unwrap_or(self.default_port()),
            // httpd would send a client that names no host to port 80.
            _ => configured.or(physical).unwrap_or(local),
        }
    }

    /// `http://name:port` for absolute URLs, or with https.
    pub fn base_url(&self) -> Vec<u8> {
        let port = self.server_port();
        let mut url = format!("{}://", self.scheme()).into_bytes();
        url.extend_from_slice(self.url_host().as_bytes());
        if port != self.default_port() {
            url.extend_from_slice(format!(":{port}").as_bytes());
        }
        url
    }

    /// Whether a URL with this host and port is one of the virtual host that answers the request
    /// (ap_matches_request_vhost of vhost.c).
    pub fn is_own_host(&self, name: &[u8], port: u16) -> bool {
        let is_address = |address: &HostAddress| {
            let ip = address.ip.map(|ip| ip.to_string());
            address.port.is_none_or(|own| own == port)
                && ip.is_some_and(|ip| name.eq_ignore_ascii_case(ip.as_bytes()))
        };
        let named = self.host.name.as_ref().and_then(|name| name.port);
        let of_address = || self.host.addresses.first().and_then(|address| address.port);
        let own = named.or_else(of_address).unwrap_or_else(|| self.asked_host().local.port());
        self.host.addresses.iter().any(is_address) || own == port && self.host.answers_to(name)
    }

    /// The name of the server as it stands in URLs: an address of IPv6 has brackets
    /// (core.c, ap_get_server_name_for_url).
    pub fn url_host(&self) -> String {
        let name = self.server_name();
        match name.contains(':') && !name.starts_with('[') {
            true => format!("[{name}]"),
            false => name,
        }
    }
}
