//! authz_host: who may see what by address and by host name (mod_authz_host).

use crate::auth_text;
use crate::require::{AuthzStatus, words};
use config::lexer::LineWords;
use expr::Subnet;
use logging::level::Level;
use server::answers::{HelperAnswer, Question};
use server::evaluate;
use server::module::{Hooks, Module};
use server::names::NamedEnd;
use server::question;
use server::request_context::RequestContext;
use server::site::expression::ExpressionText;
use server::waiting::{self, NowOrLater, Waiting};
use std::net::IpAddr;
use std::ops::ControlFlow;

/// The module; it brings providers of `Require` only.
pub(crate) static MODULE: Module =
    Module::new("authz_host_module", "mod_authz_host.c", &[], Hooks::NONE);

/// Why a text is no network (`apr_ipsubnet_create`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadNetwork {
    /// It does not even look like one; it may be the name of a host.
    NoAddress,
    Address,
    Mask,
}

impl BadNetwork {
    /// APR's words.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::NoAddress => "Invalid argument",
            Self::Address => "The specified IP address is invalid.",
            Self::Mask => "The specified network mask is invalid.",
        }
    }
}

/// `10`, `10.1.2.3`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `2001:db8::/32`.
pub(crate) fn network(text: &str) -> Result<Subnet, BadNetwork> {
    if let Some(subnet) = Subnet::parse(text.as_bytes()) {
        return Ok(subnet);
    }
    let (address, mask) = match text.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    let looks_numeric = address.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    if address.is_empty() || !(address.contains(':') || looks_numeric) {
        return Err(BadNetwork::NoAddress);
    }
    match mask {
        Some(_) if address.parse::<IpAddr>().is_ok() => Err(BadNetwork::Mask),
        _ => Err(BadNetwork::Address),
    }
}

/// The arguments of `Require ip`.
pub(crate) fn networks(text: &str) -> Result<Vec<Subnet>, String> {
    let mut networks = Vec::new();
    for word in LineWords::new(text).take_while(|word| !word.text.is_empty()) {
        networks.push(network(&word.text).map_err(|bad| {
            let text = format!("ip address '{}' appears to be invalid", word.text);
            match bad {
                BadNetwork::NoAddress => text,
                bad => format!("{text}: {}", bad.why()),
            }
        })?);
    }
    if networks.is_empty() {
        return Err("'require ip' requires an argument".into());
    }
    Ok(networks)
}

/// Whether the address is in any of them.
pub(crate) fn is_in(networks: &[Subnet], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// `Require local`: a loopback address, or both ends the same.
pub(crate) fn is_local(request: &RequestContext<'_>) -> bool {
    let client = request.client().to_canonical();
    // 127.0.0.0/8 and ::1 are what the standard library calls loopback.
    client.is_loopback() || client == request.received().local.ip().to_canonical()
}

/// The client's name, if it is one that can be trusted.
pub(crate) fn client_name<'l>(request: &'l RequestContext<'_>) -> Waiting<'l, Option<String>> {
    let question = Question::NameOf(request.client().to_canonical());
    question::ask(request, question).map(|answer| match answer? {
        HelperAnswer::Name(name) => {
            if name.is_some() {
                let client = NamedEnd::Client(request.client());
                request.received().names.keep(client, name.as_deref()); // for logs
            }
            Ok(name)
        }
        _ => Ok(None),
    })
}

/// Whether `name` is `domain` or below it. `.org` names what is below `org` only.
pub(crate) fn in_domain(domain: &[u8], name: &[u8]) -> bool {
    let Some(start) = name.len().checked_sub(domain.len()) else { return false };
    if !name[start..].eq_ignore_ascii_case(domain) {
        return false;
    }
    start == 0 || domain.first() == Some(&b'.') || name[start - 1] == b'.'
}

/// `Require host`
pub(crate) fn check_host<'l>(
    request: &'l RequestContext<'_>,
    text: &'l ExpressionText,
    written: &'l str,
) -> Waiting<'l, AuthzStatus> {
    client_name(request).map(move |name| Ok(check_name(request, text, written, name?)))
}

fn check_name(
    request: &RequestContext<'_>,
    text: &ExpressionText,
    written: &str,
    name: Option<String>,
) -> AuthzStatus {
    let say = |level, id, text: &str| request.log(level, "authz_host", Some(id), text);
    let Some(name) = name else {
        let uri = String::from_utf8_lossy(&request.path);
        let text = format!(
            "access check of '{written}' to {uri} failed, reason: unable to get the remote host \
             name"
        );
        say(Level::Error, 1753, &text);
        return AuthzStatus::Denied;
    };
    let mut domains = match evaluate::text(text, request, None) {
        Ok(domains) => domains,
        Err(error) => {
            let text = format!(
                "authz_host authorize: require host: Can't evaluate require expression: {error}"
            );
            say(Level::Error, 2593, &text);
            return AuthzStatus::Denied;
        }
    };
    if let Some(comment) = domains.iter().position(|byte| *byte == b'#') {
        let shown = String::from_utf8_lossy(&domains).into_owned();
        if comment == 0 {
            let what = "authz_host authorize: dubious empty";
            let text = format!("{what} 'Require host {shown}' with only comment");
            say(Level::Error, 10120, &text);
            return AuthzStatus::Denied;
        }
        let text = format!("authz_host authorize: ignoring comment in 'Require host {shown}'");
        say(Level::Warn, 10121, &text);
        domains.truncate(comment);
    }
    let mut domains = auth_text::words(&domains);
    AuthzStatus::granted(domains.any(|domain| in_domain(&domain, name.as_bytes())))
}

/// `Require forward-dns`
pub(crate) fn check_forward_dns<'l>(
    request: &'l RequestContext<'_>,
    text: &ExpressionText,
) -> Waiting<'l, AuthzStatus> {
    let what = "authz_host authorize: require forward-dns";
    let Some(names) = words(request, text, "authz_host", 3354, what) else {
        return NowOrLater::Now(Ok(AuthzStatus::Denied));
    };
    // What follows a `#` is a comment.
    let is_whole = |word: &Vec<u8>| !word.contains(&b'#');
    let end = names.iter().position(|word| !is_whole(word)).map_or(names.len(), |last| last + 1);
    let client = request.client().to_canonical();
    let granted = waiting::first(names.into_iter().take(end), move |word| {
        let name = word.split(|byte| *byte == b'#').next().unwrap_or_default();
        if name.is_empty() {
            return NowOrLater::Now(Ok(ControlFlow::Continue(())));
        }
        let name = String::from_utf8_lossy(name).into_owned();
        question::ask(request, Question::AddressesOf(name.clone())).map(move |answer| {
            Ok(match is_among(request, client, &name, answer?) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })
    });
    granted.map(|granted| Ok(AuthzStatus::granted(granted?.is_some())))
}

/// Whether a client has one of the addresses of a name.
fn is_among(
    request: &RequestContext<'_>,
    client: IpAddr,
    name: &str,
    answer: HelperAnswer,
) -> bool {
    let addresses = match answer {
        HelperAnswer::Addresses(addresses) => addresses,
        _ => Vec::new(),
    };
    if addresses.is_empty() {
        let text = format!("No sockaddr info for \"{name}\"");
        request.log(Level::Warn, "authz_host", Some(3356), &text);
    }
    for address in addresses {
        let matches = if address == client { "yes" } else { "no" };
        let text = format!("access check for {client} as '{name}': {matches}");
        request.log(Level::Debug, "authz_host", Some(3355), &text);
        if address == client {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ranges_match_in_all_their_spellings() {
        let rows = [
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("10.1", "10.1.200.3", true),
            ("10.1.", "10.2.0.1", false),
            ("10", "10.2.0.1", true),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/255.0.0.0", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("192.0.2.1 10.0.0.0/8", "10.0.0.1", true),
        ];
        for (text, client, expected) in rows {
            let networks = networks(text).unwrap();
            assert_eq!(is_in(&networks, client.parse().unwrap()), expected, "{text} {client}");
        }
    }

    #[test]
    fn what_is_no_network_is_told_apart() {
        for (text, expected) in [
            ("", BadNetwork::NoAddress),
            ("x", BadNetwork::NoAddress),
            ("example.org", BadNetwork::NoAddress),
            ("a/8", BadNetwork::NoAddress),
            ("1.2.3.4.5", BadNetwork::Address),
            ("10/8", BadNetwork::Address),
            ("256", BadNetwork::Address),
            ("::g", BadNetwork::Address),
            ("10.0.0.0/33", BadNetwork::Mask),
            ("10.0.0.0/x", BadNetwork::Mask),
            ("::/129", BadNetwork::Mask),
        ] {
            assert_eq!(network(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_domain_ends_at_a_dot() {
        for (domain, name, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "WWW.Example.ORG", true),
            ("example.org", "badexample.org", false),
            (".example.org", "www.example.org", true),
            (".example.org", "example.org", false),
            ("www.example.org", "example.org", false),
        ] {
            assert_eq!(in_domain(domain.as_bytes(), name.as_bytes()), expected, "{domain} {name}");
        }
    }
}
