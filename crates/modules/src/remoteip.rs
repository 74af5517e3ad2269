//! remoteip: who the client is, as proxies in front of the server say (mod_remoteip).
//!
//! A field such as `X-Forwarded-For` is read from its end: each address that was added by a proxy
//! that is trusted takes the place of the proxy's own. Names in it are not looked up: what a client
//! writes must not make the server wait for DNS.

use config::directive::row;
use config::lexer::LineWords;
use config::{Args, Call, Directive, Error, Scope};
use expr::Subnet;
use logging::level::Level;
use server::failure::Stop;
use server::fields;
use server::hook::{FastRequest, Hook};
use server::module::{Hooks, Module};
use server::request_context::{Because, RequestContext};
use server::site::builder::Builder;
use server::site::settings::HostKey;
use server::site::store::{Merge, either};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "remoteip_module",
    "mod_remoteip.c",
    DIRECTIVES,
    Hooks { read: Some(Hook::Now(read)), plain: Some(is_plain), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("RemoteIPHeader", Args::One, Scope::RSRC_CONF, "", "Specifies a request header to trust as the client IP, e.g. X-Forwarded-For", header),
    row("RemoteIPProxiesHeader", Args::One, Scope::RSRC_CONF, "", "Specifies a request header to record proxy IP's, e.g. X-Forwarded-By; if not given then do not record", proxies_header),
    row("RemoteIPTrustedProxy", Args::OneOrMore, Scope::RSRC_CONF, "", "Specifies one or more proxies which are trusted to present IP headers", trusted_proxy),
    row("RemoteIPInternalProxy", Args::OneOrMore, Scope::RSRC_CONF, "", "Specifies one or more internal (transparent) proxies which are trusted to present IP headers", internal_proxy),
    row("RemoteIPTrustedProxyList", Args::One, Scope::RSRC_CONF, "", "The filename to read the list of trusted proxies, see the RemoteIPTrustedProxy directive", trusted_list),
    row("RemoteIPInternalProxyList", Args::One, Scope::RSRC_CONF, "", "The filename to read the list of internal proxies, see the RemoteIPInternalProxy directive", internal_list),
    row("RemoteIPProxyProtocol", Args::Flag, Scope::RSRC_CONF, "", "Enable PROXY protocol handling ('on', 'off')", proxy_protocol),
    row("RemoteIPProxyProtocolExceptions", Args::Argv, Scope::RSRC_CONF, "", "Disable PROXY protocol handling for this list of networks in CIDR format", exceptions),
];

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// Whom a host believes what about its clients: `RemoteIPHeader` and the lists of proxies.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    header: Option<String>,
    proxies_header: Option<String>,
    proxies: Option<Arc<[TrustedProxy]>>,
}

impl Merge for HostSettings {
    fn over(&self, main: &Self) -> Self {
        Self {
            header: either(self.header.as_ref(), main.header.as_ref()),
            proxies_header: either(self.proxies_header.as_ref(), main.proxies_header.as_ref()),
            proxies: either(self.proxies.as_ref(), main.proxies.as_ref()),
        }
    }
}

/// A network of proxies.
#[derive(Clone, Copy, Debug)]
struct TrustedProxy {
    network: Subnet,
    /// It may also speak of clients within private networks.
    is_internal: bool,
}

fn header(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    HOST_SETTINGS.change(&mut builder.host().modules).header = Some(call.arg(0).to_owned());
    Ok(())
}

fn proxies_header(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    HOST_SETTINGS.change(&mut builder.host().modules).proxies_header = Some(call.arg(0).to_owned());
    Ok(())
}

fn trusted_proxy(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    proxies(builder, call, false)
}

fn internal_proxy(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    proxies(builder, call, true)
}

fn proxies(builder: &mut Builder, call: &Call<'_>, is_internal: bool) -> Result<(), Error> {
    for (nth, text) in call.args.iter().enumerate() {
        let found = networks(call.name, text).map_err(|said| Error::argument(nth, said))?;
        add(builder, &found, is_internal);
    }
    Ok(())
}

fn add(builder: &mut Builder, networks: &[Subnet], is_internal: bool) {
    let proxies = &mut HOST_SETTINGS.change(&mut builder.host().modules).proxies;
    let known = proxies.as_deref().unwrap_or_default().iter().copied();
    let new = networks.iter().map(|network| TrustedProxy { network: *network, is_internal });
    *proxies = Some(known.chain(new).collect());
}

/// The networks of a word: an address with or without a mask, or the addresses of a host
/// (proxies_set).
fn networks(directive: &str, text: &str) -> Result<Vec<Subnet>, String> {
    let (address, mask) = match text.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    let is_address =
        address.contains(':') || address.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let wrong =
        |why: &str| format!("RemoteIP: Error parsing IP {text} ({why} error) for {directive}");
    if is_address {
        let subnet = Subnet::parse(text.as_bytes());
        let why = match mask {
            _ if !looks_like_network(address) => "Invalid argument",
            Some(_) if address.parse::<IpAddr>().is_ok() => {
                "The specified network mask is invalid."
            }
            _ => "The specified IP address is invalid.",
        };
        return subnet.map(|subnet| vec![subnet]).ok_or_else(|| wrong(why));
    }
    if let Some(mask) = mask {
        return Err(format!(
            "RemoteIP: Error parsing IP {text} the subnet /{mask} is invalid for {directive}"
        ));
    }
    // Names in the configuration are looked up once, while it is read.
    let found = (address, 0).to_socket_addrs().map_err(|_| wrong("Name or service not known"))?;
    let one = |ip: IpAddr| Subnet::parse(ip.to_canonical().to_string().as_bytes());
    Ok(found.filter_map(|address| one(address.ip())).collect())
}

/// Whether a text has anything that apr_ipsubnet_create would judge.
fn looks_like_network(address: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    !address.is_empty() && (address.contains(':') || address.bytes().all(is_digit))
}

fn trusted_list(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    list(builder, call, false)
}

fn internal_list(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    list(builder, call, true)
}

/// A file with words of the same kind, `#` for comments (proxylist_read).
fn list(builder: &mut Builder, call: &Call<'_>, is_internal: bool) -> Result<(), Error> {
    let path = builder.server_path(call.arg(0));
    let shown = path.display().to_string();
    let text = server::site::world::read_file(&shown).map_err(|error| {
        let why = server::site::world::reason(&error);
        Error::argument(0, format!("{}: Could not open file {shown}: {why}", call.name))
    })?;
    for (number, line) in (1..).zip(String::from_utf8_lossy(&text).lines()) {
        let words = LineWords::new(line).map(|word| word.text);
        for word in words.take_while(|word| !word.is_empty() && !word.starts_with('#')) {
            let found = networks(call.name, &word).map_err(|said| {
                Error::argument(0, format!("{said} at line {number} of {shown}"))
            })?;
            add(builder, &found, is_internal);
        }
    }
    Ok(())
}

fn proxy_protocol(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let host = if builder.is_in_virtual_host() { builder.hosts.len() - 1 } else { 0 };
    for overridden in builder.server.proxy_protocol.set(&builder.hosts, host, call.on()) {
        call.warn(Some("AH03491"), overridden);
    }
    Ok(())
}

fn exceptions(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if call.args.is_empty() {
        return Err(format!("{} requires an argument", call.name).into());
    }
    for (nth, text) in call.args.iter().enumerate() {
        let Some(network) = Subnet::parse(text.as_bytes()) else {
            let address = text.split('/').next().unwrap_or_default();
            let why = match looks_like_network(address) {
                false => "",
                true if address.parse::<IpAddr>().is_ok() => {
                    ": The specified network mask is invalid."
                }
                true => ": The specified IP address is invalid.",
            };
            let said = format!("ip address '{address}' appears to be invalid{why}");
            return Err(Error::argument(nth, said));
        };
        builder.server.proxy_protocol.except(network);
    }
    Ok(())
}

/// Whether a prepared response may answer, as far as this module goes: its log line shows the
/// other end of the connection as the client.
pub(crate) fn is_plain(seen: &FastRequest<'_>) -> bool {
    let header = HOST_SETTINGS.of(&seen.host.modules).header.as_deref();
    header.is_none_or(|name| seen.head.get_name(name.as_bytes()).is_none())
}

/// Post-read-request hook (remoteip_modify_request).
pub(crate) fn read(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    // Unmarked: without the field the rules do nothing, and those who send it are given no shared
    // answer (`is_plain`). What a proxy said before HTTP is about the connection, and in no answer.
    let client = request.unmarked(Because::AskedOfEach).clone();
    let received = client.received.clone();
    if received.proxy.is_some() {
        // What the proxy said before HTTP comes first.
        if request.logs("remoteip", Level::Trace1) {
            let client = received.client.ip().to_canonical();
            let text = format!("Using {client} as client's IP from PROXY protocol");
            request.log(Level::Trace1, "remoteip", None, &text);
        }
        return Ok(());
    }
    let settings = HOST_SETTINGS.of(&request.host.modules);
    let Some(name) = settings.header.as_deref() else { return Ok(()) };
    let view = received.view();
    let Some(value) = fields::joined(&view, name.as_bytes()) else { return Ok(()) };
    request.mark_personal();
    // Behind a redirect within the server it goes on where it ended.
    let peer = client.address();
    let said = read_value(settings.proxies.as_deref(), peer, &value);
    if let Some(ignored) = &said.ignored {
        let (id, why) = ignored;
        let text = format!("RemoteIP: Header {name} value of {why}");
        request.log(Level::Debug, "remoteip", Some(*id), &text);
    }
    let Some(client) = said.client else { return Ok(()) };
    request.set_client(Some(client));
    let mut list = fields::of_request(&received);
    match said.rest {
        Some(rest) => fields::set(&mut list, name, rest.to_vec()),
        None => fields::unset(&mut list, name),
    }
    if !said.proxies.is_empty() {
        request.tables.notes.set("remoteip-proxy-ip-list", said.proxies.as_str());
        if let Some(name) = &settings.proxies_header {
            fields::set(&mut list, name, said.proxies.clone().into_bytes());
        }
    }
    request.set_fields(&list);
    Ok(())
}

/// What a field says.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClaimedClient<'v> {
    /// The client, if it is another one than the other end of the connection.
    client: Option<IpAddr>,
    /// What nobody who is trusted has added.
    rest: Option<&'v [u8]>,
    /// The proxies that are not internal, the one next to the server first.
    proxies: String,
    /// Number and text of the reason why reading ended before the beginning.
    ignored: Option<(u32, String)>,
}

/// Read `value` from its end, as long as those who added to it are trusted.
fn read_value<'v>(
    proxies: Option<&[TrustedProxy]>,
    peer: IpAddr,
    value: &'v [u8],
) -> ClaimedClient<'v> {
    let mut said = ClaimedClient { rest: Some(value), ..ClaimedClient::default() };
    let mut current = peer;
    // Without any proxies configured all are trusted, and none is internal.
    let mut is_internal = proxies.is_some();
    while let Some(rest) = said.rest {
        if let Some(proxies) = proxies {
            match proxies.iter().find(|proxy| proxy.network.contains(current)) {
                // An external proxy cannot speak for an internal one.
                Some(proxy) => is_internal &= proxy.is_internal,
                None => break,
            }
        }
        let (before, last) = match rest.iter().rposition(|byte| *byte == b',') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let text = String::from_utf8_lossy(last);
        let text = text.trim_matches(' ');
        if text.is_empty() {
            break;
        }
        let Ok(address) = text.parse::<IpAddr>() else {
            said.ignored = Some((1568, format!("{text} cannot be parsed as a client IP")));
            break;
        };
        let address = address.to_canonical();
        if !is_internal && is_private(address) {
            let why = format!("{text} appears to be a private IP or nonsensical.  Ignored");
            said.ignored = Some((1569, why));
            break;
        }
        if !is_internal {
            if !said.proxies.is_empty() {
                said.proxies.push_str(", ");
            }
            said.proxies.push_str(&current.to_string());
        }
        current = address;
        said.client = Some(address);
        said.rest = before;
    }
    said
}

/// Networks that nobody outside can be in; of IPv6 all but global unicast.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => ip.is_private() || ip.is_loopback() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.octets()[0] & 0xe0 != 0x20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(text: &str, is_internal: bool) -> TrustedProxy {
        TrustedProxy { network: Subnet::parse(text.as_bytes()).unwrap(), is_internal }
    }

    fn read(
        proxies: Option<&[TrustedProxy]>,
        value: &str,
    ) -> (Option<String>, Option<String>, String) {
        let said = read_value(proxies, "127.0.0.1".parse().unwrap(), value.as_bytes());
        let rest = said.rest.map(|rest| String::from_utf8_lossy(rest).into_owned());
        (said.client.map(|ip| ip.to_string()), rest, said.proxies)
    }

    #[test]
    fn trusted_proxies_are_followed_to_the_first_address_of_somebody_else() {
        let list = [proxy("127.0.0.1", true), proxy("10.0.0.0/8", true), proxy("9.9.9.9", false)];
        let rows = [
            ("8.8.8.8", (Some("8.8.8.8"), None, "")),
            ("1.1.1.1, 8.8.8.8", (Some("8.8.8.8"), Some("1.1.1.1"), "")),
            ("8.8.8.8, 10.1.1.1", (Some("8.8.8.8"), None, "")),
            ("8.8.8.8, 9.9.9.9, 10.1.1.1", (Some("8.8.8.8"), None, "9.9.9.9")),
            ("10.5.5.5, 9.9.9.9", (Some("9.9.9.9"), Some("10.5.5.5"), "")),
            ("2001:db8::1, ::ffff:10.0.0.1", (Some("2001:db8::1"), None, "")),
            ("nobody, 10.0.0.1", (Some("10.0.0.1"), Some("nobody"), "")),
            ("", (None, Some(""), "")),
            ("8.8.8.8,", (None, Some("8.8.8.8,"), "")),
        ];
        for (value, (client, rest, proxies)) in rows {
            let expected = (client.map(str::to_owned), rest.map(str::to_owned), proxies.to_owned());
            assert_eq!(read(Some(&list), value), expected, "{value}");
        }
        let strangers = [proxy("10.0.0.0/8", true)];
        assert_eq!(read(Some(&strangers), "8.8.8.8").0, None);
    }

    #[test]
    fn without_proxies_all_are_external() {
        let (client, rest, proxies) = read(None, "10.0.0.1, 8.8.8.8");
        assert_eq!(client.as_deref(), Some("8.8.8.8"));
        assert_eq!((rest.as_deref(), proxies.as_str()), (Some("10.0.0.1"), "127.0.0.1"));
    }

    #[test]
    fn errors_are_httpds() {
        let said = |text| networks("RemoteIPTrustedProxy", text).unwrap_err();
        assert_eq!(
            said("name.example/8"),
            "RemoteIP: Error parsing IP name.example/8 the subnet /8 is invalid for \
             RemoteIPTrustedProxy"
        );
        assert_eq!(
            said("1.2.3.4/99"),
            "RemoteIP: Error parsing IP 1.2.3.4/99 (The specified network mask is invalid. error) \
             for RemoteIPTrustedProxy"
        );
    }
}
