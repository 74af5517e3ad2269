//! One line of alias each: whether it covers a URL path, and what it makes of it.

use super::set_context;
use message::Status;
use message::path::encode;
use pattern::{Captures, Regex, Replacement};
use server::evaluate;
use server::failure::{Failure, Stop};
use server::handler;
use server::mapping::Place;
use server::phase::place_of;
use server::request_context::RequestContext;
use server::resolve::Root;
use server::site::config_place::ConfigPlace;
use server::site::expression::ExpressionText;
use server::site::lexical::parents;
use server::steps::StepKind;
use std::sync::Arc;

/// What a URL path is compared with.
#[derive(Debug)]
pub(super) enum UrlPattern {
    /// A prefix of whole segments.
    Prefix(String),
    Regex(Arc<Regex>),
}

/// `Alias`, `AliasMatch`, `ScriptAlias` and `ScriptAliasMatch` outside of sections.
#[derive(Debug)]
pub(super) struct AliasRule {
    pub(super) from: UrlPattern,
    pub(super) to: AliasTarget,
    /// As it was written, below `ServerRoot`.
    pub(super) real: String,
    pub(super) is_script: bool,
    pub(super) place: ConfigPlace,
}

/// Where an alias leads.
#[derive(Debug)]
pub(super) enum AliasTarget {
    /// A folder, or a name in one: the rest of the URL path is appended.
    Open { root: Arc<Root>, name: Vec<u8> },
    /// A text for the groups of a regular expression.
    Template { template: Replacement, server_root: Vec<u8> },
}

/// `Alias` with one argument in a `<Location>`.
#[derive(Debug)]
pub(super) struct LocationAlias {
    /// The argument of the section, for `AliasPreservePath`.
    pub(super) from: String,
    pub(super) to: ExpressionText,
    pub(super) server_root: Vec<u8>,
    pub(super) is_script: bool,
}

/// `Redirect` and its relatives with a path to compare.
#[derive(Debug)]
pub(super) struct RedirectRule {
    pub(super) from: UrlPattern,
    pub(super) to: To,
    pub(super) status: u16,
    pub(super) place: ConfigPlace,
}

/// Where a redirect leads.
#[derive(Debug)]
pub(super) enum To {
    /// There is nothing to go to: `Redirect gone /path`.
    Nowhere,
    /// The rest of the URL path is appended.
    Url(String),
    /// A text for the groups of a regular expression.
    Template(Replacement),
}

/// `Redirect` without a path in a `<Location>`.
#[derive(Debug)]
pub(super) struct LocationRedirect {
    pub(super) to: Option<ExpressionText>,
    pub(super) status: u16,
}

/// How many bytes of `uri` the prefix covers; `None` if it does not. Any number of slashes stands
/// for any other number, and the last segment counts as a whole: `/i` never covers `/i../secret`
/// (mod_alias.c, alias_matches).
pub(super) fn covered(uri: &[u8], prefix: &str) -> Option<usize> {
    let (mut rest, mut wanted) = (uri, prefix.as_bytes());
    while let [first, tail @ ..] = wanted {
        let [byte, behind @ ..] = rest else { return None };
        if byte != first {
            return None;
        }
        (wanted, rest) = (tail, behind);
        if *first == b'/' {
            wanted = without_slashes(wanted);
            rest = without_slashes(rest);
        }
    }
    let at_border = prefix.ends_with('/') || matches!(rest, [] | [b'/', ..]);
    (at_border && !prefix.is_empty()).then(|| uri.len() - rest.len())
}

fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    &path[end..]
}

impl UrlPattern {
    /// As it stands behind the name of a directive.
    fn shown(&self) -> String {
        match self {
            Self::Prefix(prefix) => format!(" {prefix}"),
            Self::Regex(regex) => format!("Match {}", regex.as_str()),
        }
    }

    /// Whether it covers the path of another line, so that that one is never reached.
    pub(super) fn hides(&self, path: &str) -> bool {
        match self {
            Self::Prefix(prefix) => covered(path.as_bytes(), prefix).is_some(),
            Self::Regex(regex) => regex.is_match(path.as_bytes()).unwrap_or(false),
        }
    }
}

/// The groups of a match. A pattern that goes on for too long is the administrator's to mend.
fn captures(request: &RequestContext<'_>, regex: &Regex) -> Result<Option<Captures>, Stop> {
    regex.captures(&request.path).map_err(|_| server::walk::limit(request))
}

/// The text for a match.
fn fill(
    request: &RequestContext<'_>,
    template: &Replacement,
    captures: &Captures,
) -> Result<Vec<u8>, Stop> {
    let mut text = Vec::new();
    template.expand(&request.path, captures, &mut text).map_err(|_| {
        let text = "Regex substitution failed. Replacement too long?";
        Failure::new(Status::INTERNAL_SERVER_ERROR, "alias", text).id(672).at_error()
    })?;
    Ok(text)
}

impl AliasRule {
    /// The place, if the line covers the path.
    pub(super) fn place(&self, request: &mut RequestContext<'_>) -> Result<Option<Place>, Stop> {
        let place = match (&self.from, &self.to) {
            (UrlPattern::Prefix(prefix), AliasTarget::Open { root, name }) => {
                let Some(length) = covered(&request.path, prefix) else { return Ok(None) };
                let place = self.below(request, root, name, length)?;
                set_context(request, prefix, self.real.as_bytes());
                place
            }
            (UrlPattern::Regex(regex), AliasTarget::Template { template, server_root }) => {
                let Some(captures) = captures(request, regex)? else { return Ok(None) };
                let path = fill(request, template, &captures)?;
                place_of(request, &absolute(server_root, &path), parents(self.real.as_bytes()))?
            }
            _ => return Ok(None),
        };
        if self.is_script {
            request.mapping.context_info.handler = Some(handler::SCRIPT);
        }
        request.explain_line(StepKind::Place, &self.place, || {
            let script = if self.is_script { "Script" } else { "" };
            format!("{script}Alias{} {}", self.from.shown(), self.real)
        });
        Ok(Some(place))
    }

    /// Both texts joined as they are: `Alias /a/ /b` makes `/bc` of `/a/c`.
    fn below(
        &self,
        request: &RequestContext<'_>,
        root: &Arc<Root>,
        name: &[u8],
        length: usize,
    ) -> Result<Place, Stop> {
        let rest = &request.path[length..];
        let is_joined = rest.is_empty() || rest[0] == b'/' || self.real.ends_with('/');
        // What a rule with [PT] has made may lead up from here.
        if !is_joined || parents(rest) > 0 {
            let path = [self.real.as_bytes(), rest].concat();
            return place_of(request, &path, parents(self.real.as_bytes()));
        }
        let below = match name {
            [] => without_slashes(rest).to_vec(),
            name => {
                let slash: &[u8] = if self.real.ends_with('/') { b"/" } else { b"" };
                [name, slash, rest].concat()
            }
        };
        Ok(Place { root: root.clone(), below })
    }
}

/// `path` below the folder of the server, unless it is absolute.
fn absolute(server_root: &[u8], path: &[u8]) -> Vec<u8> {
    if path.starts_with(b"/") { path.to_vec() } else { [server_root, b"/", path].concat() }
}

impl LocationAlias {
    /// The place that the expression names; with `AliasPreservePath` what of the URL path follows
    /// the section's is appended (mod_alias.c, try_alias).
    pub(super) fn place(
        &self,
        request: &mut RequestContext<'_>,
        keeps_path: bool,
    ) -> Result<Place, Stop> {
        let failed = |text: String| {
            let text = format!("Can't evaluate alias expression: {text}");
            Failure::new(Status::INTERNAL_SERVER_ERROR, "alias", text).id(2825).at_error()
        };
        let mut path = evaluate::text(&self.to, request, None).map_err(failed)?;
        let own = self.to.constant().map_or(0, parents);
        if keeps_path && let Some(length) = covered(&request.path, &self.from) {
            let root = path.clone();
            path.extend_from_slice(&request.path[length..]);
            set_context(request, &self.from, &root);
        }
        if self.is_script {
            request.mapping.context_info.handler = Some(handler::SCRIPT);
        }
        place_of(request, &absolute(&self.server_root, &path), own)
    }
}

/// Whether a status redirects the client: others need no URL.
pub(super) const fn is_redirection(status: u16) -> bool {
    matches!(status, 300..=399)
}

impl RedirectRule {
    /// Where to go, if the line covers the path; empty for nowhere.
    pub(super) fn target(&self, request: &mut RequestContext<'_>) -> Result<Option<Vec<u8>>, Stop> {
        let target = self.found(request)?;
        if let Some(target) = &target {
            request.explain_line(StepKind::Place, &self.place, || {
                let target = String::from_utf8_lossy(target);
                format!("Redirect{} with {}: {target}", self.from.shown(), self.status)
            });
        }
        Ok(target)
    }

    fn found(&self, request: &mut RequestContext<'_>) -> Result<Option<Vec<u8>>, Stop> {
        match &self.from {
            UrlPattern::Prefix(prefix) => {
                let Some(length) = covered(&request.path, prefix) else { return Ok(None) };
                let To::Url(url) = &self.to else { return Ok(Some(Vec::new())) };
                let mut target = url.clone().into_bytes();
                encode(&request.path[length..], &mut target);
                set_context(request, prefix, url.as_bytes());
                Ok(Some(target))
            }
            UrlPattern::Regex(regex) => {
                let Some(captures) = captures(request, regex)? else { return Ok(None) };
                let To::Template(template) = &self.to else { return Ok(Some(Vec::new())) };
                Ok(Some(escaped(&fill(request, template, &captures)?)))
            }
        }
    }
}

impl LocationRedirect {
    pub(super) fn target(&self, request: &RequestContext<'_>) -> Result<Vec<u8>, Stop> {
        let Some(to) = &self.to else { return Ok(Vec::new()) };
        let failed = |text: String| {
            let text = format!("Can't evaluate redirect expression: {text}");
            Failure::new(Status::INTERNAL_SERVER_ERROR, "alias", text).id(2826).at_error()
        };
        Ok(escaped(&evaluate::text(to, request, None).map_err(failed)?))
    }
}

/// A URL that was put together from decoded parts: all before its query is escaped (mod_alias.c,
/// try_redirect). On the way httpd takes it apart and puts it together again, which leaves out the
/// usual port and hides a password.
fn escaped(url: &[u8]) -> Vec<u8> {
    let end = url.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(url.len());
    let mut target = Vec::new();
    encode(&rebuilt(&url[..end]), &mut target);
    target.extend_from_slice(&url[end..]);
    target
}

/// Schemes and the ports that go without saying (apr_uri.c).
const PORTS: &[(&str, &str)] = &[
    ("acap", "674"),
    ("ftp", "21"),
    ("gopher", "70"),
    ("http", "80"),
    ("https", "443"),
    ("imap", "143"),
    ("ldap", "389"),
    ("nfs", "2049"),
    ("nntp", "119"),
    ("pop", "110"),
    ("prospero", "191"),
    ("rtsp", "554"),
    ("sip", "5060"),
    ("snews", "563"),
    ("ssh", "22"),
    ("telnet", "23"),
    ("tip", "3372"),
    ("wais", "210"),
];

/// apr_uri_unparse of apr_uri_parse, for a URL without a query.
fn rebuilt(url: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(url);
    let Some((scheme, rest)) = text.split_once("://").filter(|_| text.len() == url.len()) else {
        return url.to_vec();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, address) = match authority.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, authority),
    };
    let behind_brackets = address.rfind(']').unwrap_or(0);
    let (host, port) = match address[behind_brackets..].rfind(':') {
        Some(colon) => address.split_at(behind_brackets + colon),
        None => (address, ""),
    };
    let usual = PORTS.iter().find(|row| row.0.eq_ignore_ascii_case(scheme)).map(|row| row.1);
    let is_usual = port.is_empty() || port == ":" || port.get(1..) == usual;
    let user = match user.and_then(|user| user.split_once(':')) {
        Some((name, _)) => format!("{name}:XXXXXXXX@"),
        None => user.map(|name| format!("{name}@")).unwrap_or_default(),
    };
    let port = if is_usual { "" } else { port };
    format!("{scheme}://{user}{host}{port}{path}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_whole_segments() {
        for (uri, prefix, expected) in [
            ("/i/x", "/i", Some(2)),
            ("/i", "/i", Some(2)),
            ("/ix", "/i", None),
            ("/i../x", "/i", None),
            ("/i", "/i/", None),
            ("/i/", "/i/", Some(3)),
            ("/i//x", "/i/", Some(4)),
            ("/i/x", "/i//", Some(3)),
            ("//i/x", "/i", Some(3)),
            ("/x", "/", Some(1)),
            ("/x", "", None),
            ("/x", "x", None),
        ] {
            assert_eq!(covered(uri.as_bytes(), prefix), expected, "{uri} {prefix}");
        }
    }

    #[test]
    fn only_what_comes_before_the_query_is_escaped() {
        for (url, expected) in [
            ("/a b?c d#e f", "/a%20b?c d#e f"),
            ("http://h/\u{e4}#x?y", "http://h/%c3%a4#x?y"),
            ("/%41", "/%2541"),
            ("http://h:80/x", "http://h/x"),
            ("https://h:80/x", "https://h:80/x"),
            ("https://[::1]:443", "https://%5b::1%5d"),
            ("http://[::1]/", "http://%5b::1%5d/"),
            ("ftp://me:word@h:2121/x:80", "ftp://me:XXXXXXXX@h:2121/x:80"),
            ("http://me@h:/?:@", "http://me@h/?:@"),
        ] {
            assert_eq!(escaped(url.as_bytes()), expected.as_bytes(), "{url}");
        }
    }
}
