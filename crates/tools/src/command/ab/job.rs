//! From ab's words to a job of the engine.

use super::arguments::AbArguments;
use super::stop::{self, AbStop};
use super::target::AbTarget;
use super::{print, request, verdict};
use load::pacer::Pacer;
use load::pattern::LoadPattern;
use load::plan::{Plan, PlanEntry, RequestOrder};
use load::run::{ConnectProxy, Inspect, LoadJob, RunOptions};
use load::url::{Scheme, Url};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use tls::Connector;

/// How connections are secured, if they are.
///
/// # Errors
/// When the options of TLS do not fit together.
pub(super) fn connector(
    arguments: &AbArguments,
    target: &AbTarget,
) -> Result<Option<Connector>, AbStop> {
    match target.scheme {
        Scheme::Http => Ok(None),
        Scheme::Https => {
            let connector = Connector::new(&arguments.tls);
            Ok(Some(connector.map_err(|problem| AbStop::failed(&format!("ab: {problem}")))?))
        }
    }
}

/// The job of a command line.
///
/// # Errors
/// When the address to come from is none of this machine.
pub(super) fn of(
    arguments: &AbArguments,
    target: &AbTarget,
    connector: Option<Connector>,
) -> Result<LoadJob, AbStop> {
    let from = arguments.from.as_deref().map(own_address).transpose()?;
    from.map_or(Ok(()), |from| check_family(from, &target.next_hop(arguments.proxy.as_ref())))?;
    if arguments.users == 0 {
        return Err(AbStop::of_system("apr_pollset_poll", "Invalid argument", 22));
    }
    let fault = |fault: load::text::SyntaxFault| AbStop::failed(&format!("ab: {fault}"));
    let bytes = request::bytes(arguments, target);
    let entry = PlanEntry::verbatim(
        target.asked(arguments.proxy.as_ref()),
        arguments.method(),
        bytes.into(),
    );
    let plan = Plan::new(vec![entry], RequestOrder::InTurn).map_err(fault)?;
    let each_ns = arguments.ramp_ms.saturating_mul(1_000_000);
    let pacer = Pacer::new(LoadPattern::arriving(arguments.users, each_ns).map_err(fault)?);
    let proxy = arguments.proxy.as_ref().map(|(host, port)| ConnectProxy {
        host: host.clone(),
        port: *port,
        fields: request::credentials(arguments, true),
    });
    let options = RunOptions { connector, proxy, ..options(arguments, from) };
    Ok(LoadJob { plan, pacer, which: None, options })
}

fn options(arguments: &AbArguments, from: Option<IpAddr>) -> RunOptions {
    let cores = runtime::process::cores();
    let threads = match arguments.workers {
        Some(0) => cores,
        Some(workers) => workers,
        // The server needs the other half.
        None => cores / 2,
    };
    RunOptions {
        threads: threads.clamp(1, arguments.users.max(1) as usize),
        requests: Some(arguments.requests()),
        duration_ns: (arguments.limit_s > 0)
            .then(|| arguments.limit_s.saturating_mul(1_000_000_000)),
        timeout_ms: arguments.timeout_s.saturating_mul(1000).max(1),
        // ab looks at the time between two answers, and has no word for what is missing then.
        fails_unanswered: false,
        keeps_alive: arguments.keeps_alive,
        same_length: !arguments.any_length,
        faults_statuses: false,
        from: from.into_iter().collect(),
        keeps_service: true,
        keeps_rows: arguments.gnuplot.is_some(),
        inspect: match arguments.verbosity {
            ..=1 => Inspect::FirstHead,
            2 => Inspect::Every(|status, head, body| log(2, status, head, body)),
            3.. => Inspect::Every(|status, head, body| log(3, status, head, body)),
        },
        is_fatal: Some(verdict::is_fatal(arguments.goes_on)),
        buffer_bytes: arguments.buffer_bytes,
        ..RunOptions::default()
    }
}

/// The address of `-B`.
///
/// # Errors
/// When it has none, or none of this machine.
fn own_address(host: &str) -> Result<IpAddr, AbStop> {
    let call = format!("apr_sockaddr_info_get() for {host}");
    let found = (host, 0).to_socket_addrs().map(|mut found| found.next());
    let address = found.map_err(|error| stop::unresolved(&call, &error))?;
    let none = || std::io::Error::other("No address associated with hostname");
    let address = address.ok_or_else(|| stop::unresolved(&call, &none()))?.ip();
    UdpSocket::bind((address, 0)).map_err(|error| {
        AbStop::of_system("bind", &stop::in_words(&error), error.raw_os_error().unwrap_or(1))
    })?;
    Ok(address)
}

/// From an address of IPv4 there is no way to one of IPv6, nor back.
fn check_family(from: IpAddr, hop: &Url) -> Result<(), AbStop> {
    // A name without any address is found out later.
    let addresses: Vec<SocketAddr> =
        (hop.host.as_str(), hop.port).to_socket_addrs().map_or(Vec::new(), Iterator::collect);
    if addresses.is_empty() || addresses.iter().any(|to| to.is_ipv4() == from.is_ipv4()) {
        return Ok(());
    }
    let call = format!("apr_sockaddr_info_get() for {}", hop.host);
    let error = std::io::Error::other("Address family for hostname not supported");
    Err(stop::unresolved(&call, &error))
}

/// `-v 2` and above: what came, as `read_connection` of httpd's support/ab.c prints it.
fn log(level: u8, status: u16, head: &[u8], body: &[u8]) {
    let mut out = b"LOG: header received:\n".to_vec();
    out.extend_from_slice(head);
    out.extend_from_slice(body);
    out.push(b'\n');
    match status {
        200..=299 if level < 3 => {}
        200..=299 => out.extend(format!("LOG: Response code = {status}\n").into_bytes()),
        _ => out.extend(format!("WARNING: Response code not 2xx ({status})\n").into_bytes()),
    }
    print::say_bytes(&out);
}
