//! Directives of core about sockets, connections and request heads.

use super::{Done, size};
use crate::site::builder::Builder;
use config::args::{self, Unit};
use config::{Call, Error};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(super) fn listen(builder: &mut Builder, call: &Call<'_>) -> Done {
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
    let (host, port) = word.rsplit_once(':').unwrap_or(("*", word));
    let port: u16 = port.parse().map_err(|_| Error::argument(0, "Port must be specified"))?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let ip: IpAddr = match bare {
        "*" if runtime::net::has_ipv6() => Ipv6Addr::UNSPECIFIED.into(),
        "*" => Ipv4Addr::UNSPECIFIED.into(),
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        other => other.parse().map_err(|_| Error::argument(0, "Invalid address or port"))?,
    };
    Ok((ip, port).into())
}

pub(super) fn server_tokens(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.tokens = args::keyword(call, 0, crate::identity::TOKEN_WORDS)?;
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
    let count = args::number(call, 0, 0..=u64::from(u32::MAX))?;
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    builder.host().timing.max_keep_alive_requests = Some(count);
    Ok(())
}

/// Memory that one hostile connection may make the server hold: a bound on the two limits below.
const HEAD_LIMIT_BYTES: u64 = 1 << 20;

pub(super) fn limit_request_line(builder: &mut Builder, call: &Call<'_>) -> Done {
    let bytes = size(args::number(call, 0, 0..=HEAD_LIMIT_BYTES)?);
    builder.host().request_line_bytes = Some(bytes);
    Ok(())
}

pub(super) fn limit_request_field_size(builder: &mut Builder, call: &Call<'_>) -> Done {
    let bytes = size(args::number(call, 0, 0..=HEAD_LIMIT_BYTES)?);
    builder.host().field_bytes = Some(bytes);
    Ok(())
}

pub(super) fn limit_request_fields(builder: &mut Builder, call: &Call<'_>) -> Done {
    let most = message::limits::REQUEST_FIELDS_MAX;
    let fields = size(args::number(call, 0, 0..=most as u64)?);
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
