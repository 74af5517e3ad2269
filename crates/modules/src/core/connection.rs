//! Directives of core about sockets, connections and request heads.

use super::{Done, size};
use config::args::{self, TimeUnit};
use config::{Call, Error};
use server::site::builder::Builder;
use server::site::resolver;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// listen.c, ap_set_listener. The protocol is read and not needed: there is one.
pub(super) fn listen(builder: &mut Builder, call: &Call<'_>) -> Done {
    if !(1..=2).contains(&call.args.len()) {
        return Err("Listen requires 1 or 2 arguments.".into());
    }
    let address = parse_listen(call)?;
    if address.port() != 0 && builder.server.listen.contains(&address) {
        return Err("Cannot define multiple Listeners on the same IP:port".into());
    }
    builder.server.listen.push(address);
    Ok(())
}

/// `80`, `*:80`, `1.2.3.4:80`, `[::1]:80`. Without an address one socket serves both families,
/// where the machine has IPv6, as in httpd.
fn parse_listen(call: &Call<'_>) -> Result<SocketAddr, Error> {
    let word = call.arg(0);
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
            Err(_) => *resolver::addresses(other)
                .map_err(|reason| unresolved(call, other, reason))?
                .first()
                .ok_or("Listen setup failed")?,
        },
    };
    Ok((ip, port).into())
}

/// listen.c, alloc_listener
fn unresolved(call: &Call<'_>, name: &str, reason: String) -> Error {
    let text = format!("alloc_listener: failed to set up sockaddr for {name}");
    call.warn(Some("AH00077"), Error::argument(0, text).because(reason));
    Error::argument(0, "Listen setup failed")
}

pub(super) fn server_tokens(builder: &mut Builder, call: &Call<'_>) -> Done {
    let text = "ServerTokens takes 1 argument: 'Prod(uctOnly)', 'Major', 'Minor', 'Min(imal)', \
                'OS', or 'Full'";
    builder.server.tokens = args::keyword(call, 0, server::identity::TOKEN_WORDS)
        .map_err(|error| error.reworded(text))?;
    Ok(())
}

fn milliseconds(call: &Call<'_>) -> Result<u64, Error> {
    let duration = args::duration(call, 0, TimeUnit::Second)?;
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
    let count = args::read_number(call, 0);
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
    let number = u64::try_from(args::read_number(call, 0)).unwrap_or(0);
    if number > most {
        let text = format!("{} of {word} not allowed, decreasing to {most}", call.name);
        call.warn(None, Error::argument(0, text));
    }
    Ok(size(number.min(most)))
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

/// Words of `HttpProtocolOptions`, of which a host can have one of each two.
const PROTOCOL_PAIRS: [[&str; 2]; 3] =
    [["Allow0.9", "Require1.0"], ["Strict", "Unsafe"], ["RegisteredMethods", "LenientMethods"]];

/// `HttpProtocolOptions`: the strict rules are the only ones there are (core.c,
/// set_http_protocol_options).
pub(super) fn http_protocol_options(builder: &mut Builder, call: &Call<'_>) -> Done {
    for (nth, word) in call.args.iter().enumerate() {
        let known = PROTOCOL_PAIRS.iter().flatten().find(|it| it.eq_ignore_ascii_case(word));
        let known = *known.ok_or_else(|| {
            let text = "HttpProtocolOptions accepts 'Unsafe' or 'Strict' (default), \
                        'RegisteredMethods' or 'LenientMethods' (default), and 'Require1.0' \
                        or 'Allow0.9' (default)";
            Error::argument(nth, text)
        })?;
        let said = &mut builder.host().protocol_options;
        said.push(known);
        if let Some([one, two]) =
            PROTOCOL_PAIRS.iter().find(|pair| pair.iter().all(|word| said.contains(word)))
        {
            let text = format!("HttpProtocolOptions '{one}' and '{two}' are mutually exclusive");
            return Err(Error::argument(nth, text));
        }
    }
    let lax = ["unsafe", "allow0.9", "registeredmethods"];
    for (nth, word) in call.args.iter().enumerate() {
        if lax.contains(&word.to_ascii_lowercase().as_str()) {
            let text = format!(
                "HttpProtocolOptions {word} has no effect: requests are always parsed strictly"
            );
            call.warn(None, Error::argument(nth, text));
        }
    }
    Ok(())
}
