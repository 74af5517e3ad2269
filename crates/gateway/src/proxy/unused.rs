//! Directives of httpd's proxy that are checked as httpd checks them. What is about other protocols
//! than FastCGI has no effect, and no effect on FastCGI in httpd either; of what would have one a
//! warning tells.

use config::args;
use config::{Call, Error};
use server::site::builder::Builder;
use server::site::section::regex;
use std::net::ToSocketAddrs;

type Done = Result<(), Error>;

/// A warning for what would change something with httpd.
fn without_effect(call: &Call<'_>, why: &str) {
    call.warn(None, format!("{} has no effect: {why}", call.name));
}

/// What is about other protocols, with nothing to be checked.
pub(super) fn nothing(_: &mut Builder, _: &Call<'_>) -> Done {
    Ok(())
}

pub(super) fn proxy_requests(_: &mut Builder, call: &Call<'_>) -> Done {
    if call.on() {
        without_effect(call, "Trivet is not a forward proxy");
    }
    Ok(())
}

pub(super) fn proxy_remote(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_remote(builder, call, false)
}

pub(super) fn proxy_remote_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_remote(builder, call, true)
}

/// mod_proxy.c, add_proxy
fn add_remote(builder: &Builder, call: &Call<'_>, is_match: bool) -> Done {
    let name = call.name;
    let remote = call.arg(1).split_once("://").filter(|row| !row.0.contains(':'));
    let Some((_, rest)) = remote.filter(|row| !row.1.is_empty()) else {
        return Err(format!("{name}: Bad syntax for a remote proxy server").into());
    };
    if let Some((_, port)) = rest.split_once(':')
        && !(port.as_bytes().first().is_some_and(u8::is_ascii_digit)
            && (0..=65535).contains(&args::leading(port)))
    {
        let text = format!("{name}: Bad syntax for a remote proxy server (bad port number)");
        return Err(text.into());
    }
    if is_match {
        let text = "Regular expression for ProxyRemoteMatch could not be compiled.";
        regex(call.arg(0), builder.server.regex, 0).map_err(|error| error.reworded(text))?;
    }
    without_effect(call, "Trivet connects to backends directly");
    Ok(())
}

/// mod_proxy.c, add_pass_reverse. As in httpd it has no effect on what FastCGI applications answer.
pub(super) fn pass_reverse(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_folder_or_files(call)?;
    let second = call.args.get(1).filter(|word| !word.eq_ignore_ascii_case("interpolate"));
    match (builder.section_argument(), second) {
        (None, None) => Err("ProxyPassReverse needs a path when not defined in a location".into()),
        (Some(_), Some(_)) => {
            Err("ProxyPassReverse can not have a path when defined in a location".into())
        }
        _ => Ok(()),
    }
}

pub(super) fn no_block(_: &mut Builder, call: &Call<'_>) -> Done {
    without_effect(call, "clients reach only the backends that are configured");
    Ok(())
}

pub(super) fn receive_buffer_size(_: &mut Builder, call: &Call<'_>) -> Done {
    let size = args::leading_int(call.arg(0));
    check_size(call, i64::from(size))
}

pub(super) fn io_buffer_size(_: &mut Builder, call: &Call<'_>) -> Done {
    check_size(call, args::leading(call.arg(0)))
}

fn check_size(call: &Call<'_>, size: i64) -> Done {
    let text = format!("{} must be >= 512 bytes, or 0 for system default.", call.name);
    if size >= 512 || size == 0 { Ok(()) } else { Err(Error::argument(0, text)) }
}

pub(super) fn domain(_: &mut Builder, call: &Call<'_>) -> Done {
    if !call.arg(0).starts_with('.') {
        let text = "ProxyDomain: domain name must start with a dot.";
        return Err(Error::argument(0, text));
    }
    without_effect(call, "Trivet is not a forward proxy");
    Ok(())
}

pub(super) fn via(_: &mut Builder, call: &Call<'_>) -> Done {
    one_of(call, &["off", "on", "full", "block"])
}

pub(super) fn status(_: &mut Builder, call: &Call<'_>) -> Done {
    one_of(call, &["off", "on", "full"])
}

pub(super) fn bad_header(_: &mut Builder, call: &Call<'_>) -> Done {
    one_of(call, &["IsError", "Ignore", "StartBody"])
}

fn one_of(call: &Call<'_>, words: &[&str]) -> Done {
    if words.iter().any(|word| word.eq_ignore_ascii_case(call.arg(0))) {
        return Ok(());
    }
    let text = format!("{} must be one of: {}", call.name, words.join(" | "));
    Err(Error::argument(0, text))
}

pub(super) fn balancer_growth(_: &mut Builder, call: &Call<'_>) -> Done {
    match args::leading_int(call.arg(0)) {
        0..=1000 => Ok(()),
        _ => Err(Error::argument(0, "BalancerGrowth must be between 0 and 1000")),
    }
}

pub(super) fn source_address(_: &mut Builder, call: &Call<'_>) -> Done {
    if (call.arg(0), 0).to_socket_addrs().is_err() {
        return Err(Error::argument(0, "ProxySourceAddress invalid value"));
    }
    without_effect(call, "the kernel chooses the address");
    Ok(())
}
