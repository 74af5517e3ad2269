//! The directives of proxy, with what the short ones say.

use super::{HOST_SETTINGS, SETTINGS, lines, section, unused};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope, SectionArgs, args};
use server::site::builder::Builder;

type Done = Result<(), Error>;

const PASS: &str = "a virtual path and a URL";
const SECTION: Args<Builder> = Args::Section(SectionArgs::Any, Builder::leave);

#[rustfmt::skip]
pub(crate) static DIRECTIVES: &[Directive<Builder>] = &[
    row("<Proxy", SECTION, Scope::RSRC_CONF, "", "Container for directives affecting resources located in the proxied location", section::proxy),
    row("<ProxyMatch", SECTION, Scope::RSRC_CONF, "", "Container for directives affecting resources located in the proxied location, in regular expression syntax", section::proxy_match),
    row("ProxyRequests", Args::Flag, Scope::RSRC_CONF, "Off", "on if the true proxy requests should be accepted", unused::proxy_requests),
    row("ProxyRemote", Args::TwoOrThree, Scope::RSRC_CONF, "", "a scheme, partial URL or '*' and a proxy server", unused::proxy_remote),
    row("ProxyRemoteMatch", Args::TwoOrThree, Scope::RSRC_CONF, "", "a regex pattern and a proxy server", unused::proxy_remote_match),
    row("ProxyPassInterpolateEnv", Args::Flag, Scope::ANY_CONF, "Off", "Interpolate Env Vars in reverse Proxy", interpolate_env),
    row("ProxyPass", Args::Raw, Scope::ANY_CONF, "", PASS, lines::proxy_pass),
    row("ProxyPassMatch", Args::Raw, Scope::ANY_CONF, "", PASS, lines::proxy_pass_match),
    row("ProxyPassReverse", Args::OneTwoOrThree, Scope::ANY_CONF, "", "a virtual path and a URL for reverse proxy behaviour", unused::pass_reverse),
    row("ProxyPassReverseCookiePath", Args::TwoOrThree, Scope::ANY_CONF, "", "Path rewrite rule for proxying cookies", unused::nothing),
    row("ProxyPassReverseCookieDomain", Args::TwoOrThree, Scope::ANY_CONF, "", "Domain rewrite rule for proxying cookies", unused::nothing),
    row("ProxyBlock", Args::OneOrMore, Scope::RSRC_CONF, "", "A list of names, hosts or domains to which the proxy will not connect", unused::no_block),
    row("ProxyReceiveBufferSize", Args::One, Scope::RSRC_CONF, "0", "Receive buffer size for outgoing HTTP and FTP connections in bytes", unused::receive_buffer_size),
    row("ProxyIOBufferSize", Args::One, Scope::RSRC_CONF, "8192", "IO buffer size for outgoing HTTP and FTP connections in bytes", unused::io_buffer_size),
    row("ProxyMaxForwards", Args::One, Scope::RSRC_CONF, "-1", "The maximum number of proxies a request may be forwarded through.", max_forwards),
    row("NoProxy", Args::OneOrMore, Scope::RSRC_CONF, "", "A list of domains, hosts, or subnets to which the proxy will connect directly", unused::nothing),
    row("ProxyDomain", Args::One, Scope::RSRC_CONF, "", "The default intranet domain name (in absence of a domain in the URL)", unused::domain),
    row("ProxyVia", Args::One, Scope::RSRC_CONF, "Off", "Configure Via: proxy header header to one of: on | off | block | full", unused::via),
    row("ProxyErrorOverride", Args::OneOrMore, Scope::ANY_CONF, "Off", "use our error handling pages instead of the servers' we are proxying", error_override),
    row("ProxyPreserveHost", Args::Flag, Scope::ANY_CONF, "Off", "on if we should preserve host header while proxying", unused::nothing),
    row("ProxyTimeout", Args::One, Scope::RSRC_CONF, "", "Set the timeout (in seconds) for a proxied connection. This overrides the server timeout", timeout),
    row("ProxyBadHeader", Args::One, Scope::RSRC_CONF, "IsError", "How to handle bad header line in response: IsError | Ignore | StartBody", unused::bad_header),
    row("BalancerMember", Args::Raw, Scope::ANY_CONF, "", "A balancer name and scheme with list of params", lines::balancer_member),
    row("BalancerGrowth", Args::One, Scope::RSRC_CONF, "5", "Number of additional Balancers that can be added post-config", unused::balancer_growth),
    row("BalancerPersist", Args::Flag, Scope::RSRC_CONF, "Off", "on if the balancer should persist changes on reboot/restart made via the Balancer Manager", unused::nothing),
    row("BalancerInherit", Args::Flag, Scope::RSRC_CONF, "On", "on if this server should inherit Balancers and Workers defined in the main server (Setting to off recommended if using the Balancer Manager)", balancer_inherit),
    row("ProxyPassInherit", Args::Flag, Scope::RSRC_CONF, "On", "on if this server should inherit all ProxyPass directives defined in the main server (Setting to off recommended if using the Balancer Manager)", pass_inherit),
    row("ProxyStatus", Args::One, Scope::RSRC_CONF, "Off", "Configure Status: proxy status to one of: on | off | full", unused::status),
    row("ProxySet", Args::Raw, Scope::ANY_CONF, "", "A balancer or worker name with list of params", lines::proxy_set),
    row("ProxySourceAddress", Args::One, Scope::RSRC_CONF, "", "Configure local source IP used for request forward", unused::source_address),
    row("ProxyAddHeaders", Args::Flag, Scope::ANY_CONF, "On", "on if X-Forwarded-* headers should be added or completed", unused::nothing),
    row("Proxy100Continue", Args::Flag, Scope::ANY_CONF, "On", "on if 100-Continue should be forwarded to the origin server, off if the proxy should handle it by itself", unused::nothing),
];

fn interpolate_env(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).interpolates = Some(call.on());
    Ok(())
}

fn max_forwards(builder: &mut Builder, call: &Call<'_>) -> Done {
    HOST_SETTINGS.change(&mut builder.host().modules).max_forwards =
        Some(args::leading(call.arg(0)));
    Ok(())
}

fn timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    let text = "Proxy Timeout must be at least 1 second.";
    let timeout_ms = super::parameters::seconds(call.arg(0), 1);
    HOST_SETTINGS.change(&mut builder.host().modules).timeout_ms =
        Some(timeout_ms.ok_or_else(|| Error::argument(0, text))?);
    Ok(())
}

fn balancer_inherit(builder: &mut Builder, call: &Call<'_>) -> Done {
    HOST_SETTINGS.change(&mut builder.host().modules).inherits_balancers = Some(call.on());
    Ok(())
}

fn pass_inherit(builder: &mut Builder, call: &Call<'_>) -> Done {
    HOST_SETTINGS.change(&mut builder.host().modules).inherits_passes = Some(call.on());
    Ok(())
}

/// mod_proxy.c, set_proxy_error_override
fn error_override(builder: &mut Builder, call: &Call<'_>) -> Done {
    for (nth, word) in call.args.iter().enumerate() {
        let no = |text: &str| Err(Error::argument(nth, format!("ProxyErrorOverride{text}")));
        let proxy = SETTINGS.change(builder.settings());
        match word.to_ascii_lowercase().as_str() {
            "off" => proxy.overrides = Some(false),
            "on" => proxy.overrides = Some(true),
            word => match (proxy.overrides, args::leading(word)) {
                (None, _) => return no(" first parameter must be one of: off | on"),
                _ if !word.as_bytes()[0].is_ascii_digit() => {
                    return no(": status codes to intercept must be numeric");
                }
                (Some(false), _) => return no(": status codes must follow a value of 'on'"),
                (_, status @ 400..=599) => proxy.overridden.extend(u16::try_from(status)),
                _ => {
                    return no(": status codes to intercept must be valid HTTP Status Codes \
                               >=400 && <600");
                }
            },
        }
    }
    Ok(())
}
