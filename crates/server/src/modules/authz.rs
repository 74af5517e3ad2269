//! authz_core and authz_host: who may see what, by `Require` (first part: all, local, ip, method).

use crate::failure::Failure;
use crate::phase::Mapped;
use crate::request::Request;
use crate::site::builder::Builder;
use crate::site::settings::either;
use config::{Args, Call, Directive, Error, Module, Scope};
use message::{Method, Status};
use std::net::{IpAddr, SocketAddr};

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "authz_core_module", file: "mod_authz_core.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "Require",
    args: Args::OneOrMore,
    scope: Scope::OR_AUTHCFG,
    default: "",
    help: "specifies authorization directives which one must pass (or not) for a request to \
           succeed",
    apply: require,
}];

/// One `Require` line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    All { granted: bool },
    Local,
    Networks(Vec<Network>),
    Methods(Vec<Method>),
}

/// An address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: u128,
    mask: u128,
}

/// Per-directory settings. Several lines of one section grant if any of them does (RequireAny).
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    rules: Option<Vec<Rule>>,
}

impl Settings {
    /// An inner section replaces the rules of an outer one (AuthMerging Off).
    pub(crate) fn over(&self, outer: &Self) -> Self {
        Self { rules: either(self.rules.as_ref(), outer.rules.as_ref()) }
    }

    /// Whether everybody may see it, without a look at the request.
    pub(crate) fn is_open_to_all(&self) -> bool {
        let open = Rule::All { granted: true };
        self.rules.as_ref().is_none_or(|rules| rules.contains(&open))
    }

    /// Whether this client may.
    pub(crate) fn allows(&self, client: SocketAddr, local: SocketAddr, method: Method) -> bool {
        self.rules.as_ref().is_none_or(|rules| {
            rules.iter().any(|rule| match rule {
                Rule::All { granted } => *granted,
                Rule::Local => is_local(client.ip(), local.ip()),
                Rule::Networks(networks) => {
                    let address = as_bits(client.ip());
                    networks.iter().any(|network| address & network.mask == network.address)
                }
                Rule::Methods(methods) => methods.contains(&method),
            })
        })
    }
}

/// Refuse whom the rules of this location do not grant it.
pub(crate) fn access(mapped: &Mapped<'_>) -> Result<(), Failure> {
    let method = mapped.request.method().unwrap_or(Method::Get);
    let Request { client, local, .. } = mapped.request;
    if mapped.settings.authz.allows(*client, *local, method) {
        return Ok(());
    }
    let text = format!("client denied by server configuration: {}", mapped.display_path());
    Err(Failure::new(Status::FORBIDDEN, "authz_core", text).id(1630).at_error())
}

/// `Require local`: a loopback address, or both ends the same (mod_authz_host.c).
fn is_local(client: IpAddr, local: IpAddr) -> bool {
    let client = client.to_canonical();
    client.is_loopback() || client == local.to_canonical()
}

/// All addresses as IPv6, so that one comparison serves both families.
fn as_bits(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn require(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let rule = match (call.arg(0).to_ascii_lowercase().as_str(), &call.args[1..]) {
        ("all", [word]) if word.eq_ignore_ascii_case("granted") => Rule::All { granted: true },
        ("all", [word]) if word.eq_ignore_ascii_case("denied") => Rule::All { granted: false },
        ("all", _) => {
            return Err(Error::argument(1, "Require all: 'granted' or 'denied' expected"));
        }
        ("local", []) => Rule::Local,
        ("ip", networks @ [_, ..]) => Rule::Networks(
            networks
                .iter()
                .enumerate()
                .map(|(at, text)| {
                    parse_network(text).ok_or_else(|| {
                        Error::argument(
                            at + 1,
                            format!("ip address '{text}' appears to be invalid"),
                        )
                    })
                })
                .collect::<Result<_, _>>()?,
        ),
        ("method", names @ [_, ..]) => Rule::Methods(
            names
                .iter()
                .enumerate()
                .map(|(at, name)| {
                    Method::parse(name.as_bytes())
                        .ok_or_else(|| Error::argument(at + 1, format!("unknown method '{name}'")))
                })
                .collect::<Result<_, _>>()?,
        ),
        (other, _) => {
            let text = format!("Unknown Authz provider: {other} (known: all, local, ip, method)");
            return Err(Error::argument(0, text));
        }
    };
    builder.settings().authz.rules.get_or_insert_default().push(rule);
    Ok(())
}

/// `10.1.2.3`, `10.1`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `2001:db8::/32`.
fn parse_network(text: &str) -> Option<Network> {
    let (address, mask) = match text.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    if let Ok(v6) = address.parse::<std::net::Ipv6Addr>() {
        let bits: u32 = mask.map_or(Some(128), |mask| mask.parse().ok())?;
        return network(v6.to_bits(), bits);
    }
    let octets: Vec<u8> = address
        .trim_end_matches('.')
        .split('.')
        .map(|octet| octet.parse().ok())
        .collect::<Option<_>>()?;
    if octets.len() > 4 || (octets.len() < 4 && mask.is_some()) {
        return None;
    }
    let mut full = [0; 4];
    full[..octets.len()].copy_from_slice(&octets);
    let bits = match mask {
        None => u32::try_from(octets.len()).ok()? * 8,
        Some(mask) => match mask.parse::<u32>() {
            Ok(bits) => bits,
            Err(_) => {
                let mask = mask.parse::<std::net::Ipv4Addr>().ok()?.to_bits();
                (mask.leading_ones() + mask.trailing_zeros() >= 32).then(|| mask.leading_ones())?
            }
        },
    };
    if bits > 32 {
        return None;
    }
    network(std::net::Ipv4Addr::from(full).to_ipv6_mapped().to_bits(), bits + 96)
}

fn network(address: u128, bits: u32) -> Option<Network> {
    let mask = match bits {
        0 => 0,
        1..=128 => u128::MAX << (128 - bits),
        _ => return None,
    };
    Some(Network { address: address & mask, mask })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, client: &str) -> bool {
        let rules = Some(vec![Rule::Networks(vec![parse_network(rule).unwrap()])]);
        let client = SocketAddr::new(client.parse().unwrap(), 1);
        Settings { rules }.allows(client, client, Method::Get)
    }

    #[test]
    fn addresses_and_ranges_match_in_all_their_spellings() {
        let rows = [
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("10.1", "10.1.200.3", true),
            ("10.1.", "10.2.0.1", false),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/255.0.0.0", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("0.0.0.0/0", "192.0.2.1", true),
        ];
        for (rule, client, expected) in rows {
            assert_eq!(allows(rule, client), expected, "{rule} {client}");
        }
        for bad in ["", "x", "1.2.3.4.5", "10/8", "10.0.0.0/33", "::/129", "10.0.0.0/255.0.255.0"] {
            assert!(parse_network(bad).is_none(), "{bad}");
        }
    }
}
