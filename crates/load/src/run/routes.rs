//! From the hosts of a plan to addresses, once, before the first request.

use super::{ConnectProxy, RunOptions};
use crate::plan::Plan;
use crate::url::{Scheme, Url};
use runtime::Dial;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tls::ServerName;
use upstream::{Route, Security};

/// A host that has no address.
#[derive(Debug)]
pub struct Unresolved {
    /// The name that could not be resolved.
    pub host: String,
    /// The words of the resolver.
    pub error: io::Error,
}

/// The ways to all servers of the plan, and for each entry which of them it goes.
///
/// # Errors
/// For the first host that has no address.
pub(super) fn resolve(
    plan: &Plan,
    options: &RunOptions,
) -> Result<(Vec<Route>, Vec<usize>), Unresolved> {
    let mut known: Vec<(&Url, Route)> = Vec::new();
    let mut places = Vec::new();
    for entry in plan.entries() {
        let place = match known.iter().position(|(url, _)| url.is_same_server(&entry.url)) {
            Some(place) => place,
            None => {
                known.push((&entry.url, route(&entry.url, options)?));
                known.len() - 1
            }
        };
        places.push(place);
    }
    Ok((known.into_iter().map(|(_, route)| route).collect(), places))
}

/// The way to the server of a URL.
///
/// # Errors
/// When the resolver finds no address.
pub(super) fn route(url: &Url, options: &RunOptions) -> Result<Route, Unresolved> {
    let proxy = options.proxy.as_ref().filter(|_| url.scheme == Scheme::Https);
    let (host, port) = proxy.map_or((&url.host, url.port), |proxy| (&proxy.host, proxy.port));
    let unresolved = |error| Unresolved { host: host.clone(), error };
    let found = (host.as_str(), port).to_socket_addrs().map_err(unresolved)?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(unresolved(io::Error::other("the name has no address")));
    }
    let dial = Dial { from: None, buffer_bytes: options.buffer_bytes, resets: options.resets };
    let (preferred, from) = (Arc::default(), options.from.clone());
    let tunnel = proxy.map(|proxy| connect_request(url, proxy).into_bytes().into());
    let security = security(url, options).map_err(unresolved)?;
    Ok(Route { addresses, preferred, from, dial, tunnel, security })
}

/// What a proxy is asked for: the authority with its port, whichever that is (RFC 9110 section
/// 9.3.6).
fn connect_request(url: &Url, proxy: &ConnectProxy) -> String {
    let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    let (port, fields) = (url.port, &proxy.fields);
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{fields}\r\n")
}

/// How the server of a URL is to prove who it is.
fn security(url: &Url, options: &RunOptions) -> io::Result<Option<Security>> {
    if url.scheme == Scheme::Http {
        return Ok(None);
    }
    let connector = options.connector.clone();
    let connector = connector.ok_or_else(|| io::Error::other("TLS was not set up"))?;
    let name = ServerName::try_from(url.host.clone());
    let name = name.map_err(|_| io::Error::other("not a name that a certificate can have"))?;
    Ok(Some(Security { connector, name }))
}
