//! Directives of core about sockets, connections and request heads.

use super::{Done, size};
use crate::site::builder::Builder;
use config::args::{self, Unit};
use config::{Call, Error};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// listen.c, ap_set_listener. The protocol is read and not needed: there is one.
pub(super) fn listen(builder: &mut Builder, call: &Call<'_>) -> Done {
    if !(1..=2).contains(&call.args.len()) {
        return Err("Listen requires 1 or 2 arguments.".into());
    }
    let address = parse_listen(call.arg(0))?;
    if address.port() != 0 && builder.server.listen.contains(&address) {
        return Err("Cannot define multiple Listeners on the same IP:port".into());
    }
    builder.server.listen.push(address);
    Ok(())
}

/// `80`, `*:80`, `1.2.3.4:80`, `[::1]:80`. Without an address one socket serves both families,
/// where the machine has IPv6, as in httpd.
fn parse_listen(word: &str) -> Result<SocketAddr, Error> {
    let invalid = || Error::argument(0, "Invalid address or port");
    let (host, port) = word.rsplit_once(':').unwrap_or(("*", word));
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if word.is_empty() {
        return Err(invalid());
    }
    if !is_number {
        return Err(Error::argument(0, "Port must be specified"));
    }
    // With port 0, which httpd does not know, the system chooses one.
    let port: u16 = port.parse().map_err(|_| invalid())?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let ip: IpAddr = match bare {
        "*" if runtime::net::has_ipv6() => Ipv6Addr::UNSPECIFIED.into(),
        "*" => Ipv4Addr::UNSPECIFIED.into(),
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        other => match other.parse() {
            Ok(ip) => ip,
            Err(_) if other.is_empty() || host.starts_with('[') => return Err(invalid()),
            // The first address of a name, or what is short for one.
            Err(_) => {
                let found = (other, port).to_socket_addrs().ok().and_then(|mut all| all.next());
                found.ok_or_else(|| Error::argument(0, "Listen setup failed"))?.ip()
            }
        },
    };
    Ok((ip, port).into())
}

pub(super) fn server_tokens(builder: &mut Builder, call: &Call<'_>) -> Done {
    let text = "ServerTokens takes 1 argument: 'Prod(uctOnly)', 'Major', 'Minor', 'Min(imal)', \
                'OS', or 'Full'";
    builder.server.tokens = args::keyword(call, 0, crate::identity::TOKEN_WORDS)
        .map_err(|error| error.reworded(text))?;
    Ok(())
}

fn milliseconds(call: &Call<'_>) -> Result<u64, Error> {
    let duration = args::duration(call, 0, Unit::Second)?;
    Ok(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4))
}

pub(super) fn timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().timing.timeout_ms = Some(milliseconds(call)?);
    Ok(())
}

pub(super) fn keep_alive(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().timing.keep_alive = Some(call.on());
    Ok(())
}

pub(super) fn keep_alive_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().timing.keep_alive_timeout_ms = Some(milliseconds(call)?);
    Ok(())
}

pub(super) fn max_keep_alive_requests(builder: &mut Builder, call: &Call<'_>) -> Done {
    let not_a_number = || Error::argument(0, "MaxKeepAliveRequests must be a number");
    let count: i64 = call.arg(0).parse().map_err(|_| not_a_number())?;
    // Below zero httpd keeps no connection after the first request (ap_set_keepalive).
    let count = if count < 0 { 1 } else { u32::try_from(count).unwrap_or(u32::MAX) };
    builder.host().timing.max_keep_alive_requests = Some(count);
    Ok(())
}

/// Memory that one hostile connection may make the server hold: a bound on the two limits below.
const HEAD_LIMIT_BYTES: u64 = 1 << 20;

/// A limit of request heads (set_limit_req_line): one beyond our bound is lowered to it.
fn limit(call: &Call<'_>, most: u64, remark: &str) -> Result<usize, Error> {
    let word = call.arg(0);
    if word.starts_with('-') || args::leading(word) == i64::MAX {
        let text = format!("{} \"{word}\" must be a non-negative integer{remark}", call.name);
        return Err(Error::argument(0, text));
    }
    args::clamped(call, 0, 0..=most).map(size)
}

pub(super) fn limit_request_line(builder: &mut Builder, call: &Call<'_>) -> Done {
    let bytes = limit(call, HEAD_LIMIT_BYTES, "")?;
    builder.host().request_line_bytes = Some(bytes);
    Ok(())
}

pub(super) fn limit_request_field_size(builder: &mut Builder, call: &Call<'_>) -> Done {
    let bytes = limit(call, HEAD_LIMIT_BYTES, "")?;
    builder.host().field_bytes = Some(bytes);
    Ok(())
}

pub(super) fn limit_request_fields(builder: &mut Builder, call: &Call<'_>) -> Done {
    let most = message::limits::REQUEST_FIELDS_MAX;
    let fields = limit(call, most as u64, " (0 = no limit)")?;
    builder.host().fields = Some(if fields == 0 { most } else { fields });
    Ok(())
}

/// `HttpProtocolOptions`: the strict rules are the only ones there are.
pub(super) fn http_protocol_options(_: &mut Builder, call: &Call<'_>) -> Done {
    for (nth, word) in call.args.iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "strict" | "require1.0" | "lenientmethods" => {}
            "unsafe" | "allow0.9" | "registeredmethods" => {
                let text = format!(
                    "HttpProtocolOptions {word} has no effect: requests are read \
                                    by the strict rules"
                );
                call.warn(None, Error::argument(nth, text));
            }
            _ => {
                let text = "HttpProtocolOptions accepts 'Unsafe' or 'Strict' (default), \
                            'RegisteredMethods' or 'LenientMethods' (default), and 'Require1.0' \
                            or 'Allow0.9' (default)";
                return Err(Error::argument(nth, text));
            }
        }
    }
    Ok(())
}
