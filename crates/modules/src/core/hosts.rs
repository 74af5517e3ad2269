//! Directives of core about (virtual) hosts and their names.

use super::{Done, path_argument};
use config::{Call, Error};
use logging::error_format::ErrorFormat;
use logging::target;
use message::path::EncodedSlashes;
use server::site::builder::Builder;
use server::site::config_place::ConfigPlace;
use server::site::host::{HostAddress, HostDraft, ServerName, Trace};
use server::site::{lexical, resolver, wildcard};
use std::net::IpAddr;

/// `<VirtualHost address[:port] ...>` (core.c, virtualhost_section)
pub(super) fn virtual_host(builder: &mut Builder, call: &Call<'_>) -> Done {
    if builder.is_in_virtual_host() {
        return Err("<VirtualHost> cannot occur within <VirtualHost> section".into());
    }
    call.needs_arguments()?;
    let mut addresses = Vec::new();
    for (nth, word) in config::lexer::LineWords::new(call.raw).enumerate() {
        addresses.extend(parse_addresses(&word.text, nth, call)?);
    }
    let place = ConfigPlace::from(&call.position());
    let mut host: Box<HostDraft> = Box::default();
    (host.addresses, host.place) = (addresses, place);
    builder.enter_virtual_host(host);
    Ok(())
}

/// vhost.c, get_addresses
fn parse_addresses(text: &str, nth: usize, call: &Call<'_>) -> Result<Vec<HostAddress>, Error> {
    let invalid = || Error::argument(nth, "The address or port is invalid");
    // A lone number is a port to apr_parse_addr_port.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let is_port = text.parse::<u16>().is_ok_and(|port| port > 0);
        return Err(if is_port {
            Error::argument(nth, "Missing address for VirtualHost")
        } else {
            invalid()
        });
    }
    let (name, port) = match text {
        "" => return Ok(Vec::new()),
        text => split_port(text).ok_or_else(invalid)?,
    };
    if name == "*" || name.eq_ignore_ascii_case("_default_") {
        return Ok(vec![HostAddress { ip: None, port }]);
    }
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![HostAddress { ip: Some(ip.to_canonical()), port }]);
    }
    // To APR that is the path of a socket, at which nobody listens.
    if name.starts_with('/') {
        return Ok(Vec::new());
    }
    let mut found = resolver::addresses(name).unwrap_or_else(|reason| {
        let text = format!("Could not resolve host name {name} -- ignoring!");
        call.warn(Some("AH00547"), Error::argument(nth, text).because(reason));
        Vec::new()
    });
    found.dedup();
    Ok(found.into_iter().map(|ip| HostAddress { ip: Some(ip), port }).collect())
}

/// `name`, `name:80`, `name:*`, `[::1]:80`; `None` for a bad port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let end_of_literal = text.rfind(']').map_or(0, |at| at + 1);
    if text.starts_with('[') {
        let rest = &text[end_of_literal..];
        if !rest.is_empty() && !rest.starts_with(':') {
            return None;
        }
        text.get(1..end_of_literal.checked_sub(1)?)?.parse::<std::net::Ipv6Addr>().ok()?;
    }
    // A bare IPv6 address has more than one colon and no port.
    let is_bare_ipv6 = end_of_literal == 0 && text.matches(':').count() > 1;
    match text[end_of_literal..].rfind(':') {
        Some(colon) if !is_bare_ipv6 => {
            let (name, port) = text.split_at(end_of_literal + colon);
            match &port[1..] {
                "*" => Some((name, None)),
                digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                    digits.parse().ok().filter(|port| *port > 0).map(|port| (name, Some(port)))
                }
                // To apr_parse_addr_port it is a name as a whole.
                _ => Some((text, None)),
            }
        }
        _ => Some((text, None)),
    }
}

/// core.c, server_hostname_port
pub(super) fn server_name(builder: &mut Builder, call: &Call<'_>) -> Done {
    let text = call.arg(0);
    if wildcard::is_pattern(text) {
        let text =
            format!("Invalid ServerName \"{text}\" use ServerAlias to set multiple server names.");
        return Err(Error::argument(0, text));
    }
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
        None => (None, text),
    };
    let end_of_literal = rest.rfind(']').map_or(0, |at| at + 1);
    let (name, port) = match rest[end_of_literal..].rfind(':') {
        Some(colon) => {
            let (name, port) = rest.split_at(end_of_literal + colon);
            let port = port[1..].parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                let text = format!(
                    "The port number \"{text}\" is outside the appropriate range (i.e., \
                     1..65535)."
                );
                Error::argument(0, text)
            })?;
            (name, Some(port))
        }
        None => (rest, None),
    };
    let name = ServerName { scheme, name: name.to_owned(), port };
    builder.host().server_name = Some(name);
    Ok(())
}

pub(super) fn server_alias(builder: &mut Builder, call: &Call<'_>) -> Done {
    if !builder.is_in_virtual_host() {
        return Err("ServerAlias only used in <VirtualHost>".into());
    }
    builder.host().aliases.extend(call.args.iter().cloned());
    Ok(())
}

pub(super) fn server_path(builder: &mut Builder, call: &Call<'_>) -> Done {
    // httpd accepts it elsewhere, and never looks at it there (check_serverpath).
    if builder.is_in_virtual_host() {
        builder.host().server_path = Some(call.arg(0).to_owned());
    }
    Ok(())
}

pub(super) fn server_admin(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().server_admin = Some(call.arg(0).to_owned());
    Ok(())
}

/// core.c, set_document_root
pub(super) fn document_root(builder: &mut Builder, call: &Call<'_>) -> Done {
    let path = path_argument(builder, call.arg(0));
    if builder.server.checks_document_root && !path.is_dir() {
        let end = if call.arg(0).ends_with('/') { "/" } else { "" };
        let shown = format!("{}{end}", lexical::normal(&path).display());
        if !builder.is_in_virtual_host() {
            let text = format!("DocumentRoot '{shown}' is not a directory, or is not readable");
            return Err(Error::argument(0, text));
        }
        let text = format!("Warning: DocumentRoot [{shown}] does not exist");
        call.warn(Some("AH00112"), Error::argument(0, text));
    }
    builder.host().document_root = Some(path);
    Ok(())
}

pub(super) fn access_file_name(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().access_file_names = Some(call.args.to_vec());
    Ok(())
}

pub(super) fn error_log(builder: &mut Builder, call: &Call<'_>) -> Done {
    let path = call.arg(0);
    let path = match target::is_special(path) {
        true => path.into(),
        false => builder.server_path(path),
    };
    builder.host().error_log = Some(path);
    Ok(())
}

/// core.c, set_errorlog_format
pub(super) fn error_log_format(builder: &mut Builder, call: &Call<'_>) -> Done {
    let formats = &mut builder.host().error_formats;
    // An empty argument is none.
    let Some(text) = call.args.get(1).filter(|text| !text.is_empty()) else {
        let format = ErrorFormat::parse(call.arg(0), false);
        formats.main = Some(format.map_err(|text| Error::argument(0, text))?);
        return Ok(());
    };
    let lines = match call.arg(0).to_ascii_lowercase().as_str() {
        "connection" => &mut formats.connection,
        "request" => &mut formats.request,
        _ => return Err("ErrorLogFormat type must be one of request, connection".into()),
    };
    let format = ErrorFormat::parse(text, true).map_err(|text| Error::argument(1, text))?;
    lines.get_or_insert_default().push(format);
    Ok(())
}

pub(super) fn trace_enable(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().trace = Some(match call.arg(0).to_ascii_lowercase().as_str() {
        "on" => Trace::On,
        "extended" => Trace::Extended,
        "off" => Trace::Off,
        _ => {
            let text = "TraceEnable must be one of 'on', 'off', or 'extended'";
            return Err(Error::argument(0, text));
        }
    });
    Ok(())
}

/// core.c, set_recursion_limit
pub(super) fn limit_internal_recursion(builder: &mut Builder, call: &Call<'_>) -> Done {
    let positive = |nth: usize| {
        let number: Option<u64> = call.arg(nth).parse().ok().filter(|number| *number > 0);
        let text = "The recursion limit must be greater than zero.";
        number.ok_or_else(|| Error::argument(nth, text))
    };
    let first = positive(0)?;
    let second = match call.args.len() {
        1 => first,
        _ => positive(1)?,
    };
    let limit = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    builder.host().internal_limits = Some((limit(first), limit(second)));
    Ok(())
}

pub(super) fn merge_slashes(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().merge_slashes = Some(call.on());
    Ok(())
}

/// `StrictHostCheck`: whether a request for a name that nobody has is refused.
pub(super) fn strict_host_check(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host().strict_host_check = Some(call.on());
    Ok(())
}

pub(super) fn allow_encoded_slashes(builder: &mut Builder, call: &Call<'_>) -> Done {
    let value = match call.arg(0).to_ascii_lowercase().as_str() {
        "on" => EncodedSlashes::On,
        "off" => EncodedSlashes::Off,
        "nodecode" => EncodedSlashes::NoDecode,
        _ => {
            let text = "AllowEncodedSlashes must be On, Off, or NoDecode";
            return Err(Error::argument(0, text));
        }
    };
    builder.host().encoded_slashes = Some(value);
    Ok(())
}
