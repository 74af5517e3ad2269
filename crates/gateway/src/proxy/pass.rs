//! One line `ProxyPass` or `ProxyPassMatch`: whether it covers a URL path, and which URL it makes
//! of it (`ap_proxy_trans_match` of mod_proxy.c).

use super::{SETTINGS, url};
use message::Status;
use message::path::decode_with;
use pattern::{Captures, Regex, Replacement};
use server::failure::{Failure, Stop};
use server::request_context::RequestContext;
use server::table::Table;
use server::walk;
use std::path::PathBuf;
use std::sync::Arc;

/// The line.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(super) from: From,
    /// The URL without the socket before it; `!` keeps the path from others.
    pub(super) real: String,
    pub(crate) socket: Option<PathBuf>,
    /// The backend with groups in its name that the line has made.
    pub(crate) worker: Option<String>,
    pub(super) flags: PassFlags,
}

/// What a path is compared with.
#[derive(Clone, Debug)]
pub(super) enum From {
    /// A prefix of whole segments.
    Prefix(String),
    Regex(Arc<Regex>, Replacement),
}

/// Words of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PassFlags {
    /// `nocanon`: what the client sent goes on as it is.
    pub(super) is_raw: bool,
    /// `interpolate`: variables are filled in, where `ProxyPassInterpolateEnv` says so.
    pub(super) interpolates: bool,
    /// `mapping=encoded`: what the client sent is compared, and goes on as it is.
    pub(super) maps_encoded: bool,
}

/// What a line makes of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It is about others.
    No,
    /// `!`: no line is about it.
    Never,
    /// The URL, and whether its path is as the client sent it.
    To(Vec<u8>, bool),
}

impl Pass {
    /// What the line makes of the path of a request.
    pub(crate) fn apply(&self, request: &RequestContext<'_>) -> Result<Passed, Stop> {
        let fills = self.flags.interpolates && SETTINGS.of(&request.settings).interpolates();
        let fill = |text: &str| match fills {
            true => interpolated(text, &request.tables.env),
            false => text.as_bytes().to_vec(),
        };
        let PassFlags { is_raw, maps_encoded, .. } = self.flags;
        let sent = if is_raw || maps_encoded { sent(request) } else { Vec::new() };
        let path = if maps_encoded { without_query(&sent) } else { &request.path };
        let raw = is_raw.then_some(&sent);
        match &self.from {
            From::Prefix(prefix) => {
                let prefix = fill(prefix);
                let Some(end) = covered(path, &prefix) else { return Ok(Passed::No) };
                if self.real == "!" {
                    return Ok(Passed::Never);
                }
                // One `end` cuts whichever of the two goes on, so that the line has to cover both
                // up to the same byte.
                let raw = raw.filter(|raw| covered(raw, &prefix) == Some(end));
                self.warn_of_change(request, raw.is_none());
                let rest = &raw.map_or(path, Vec::as_slice)[end..];
                let is_raw = raw.is_some() || self.flags.maps_encoded;
                Ok(Passed::To([&fill(&self.real), rest].concat(), is_raw))
            }
            From::Regex(regex, template) => {
                let find = |text: &[u8]| regex.captures(text).map_err(|_| walk::limit(request));
                let Some(found) = find(path)? else { return Ok(Passed::No) };
                if self.real == "!" {
                    return Ok(Passed::Never);
                }
                let of_raw = raw.map(|raw| find(raw)).transpose()?.flatten();
                let is_raw = of_raw.is_some();
                self.warn_of_change(request, !is_raw);
                let (subject, found) = match (raw, of_raw) {
                    (Some(raw), Some(of_raw)) => (raw.as_slice(), of_raw),
                    _ => (path, found),
                };
                let url = self.expand(template, subject, &found, &fill)?;
                Ok(Passed::To(url, is_raw || self.flags.maps_encoded))
            }
        }
    }

    /// The URL with its groups. One without any is followed by the whole path.
    fn expand(
        &self,
        template: &Replacement,
        subject: &[u8],
        found: &Captures,
        fill: &dyn Fn(&str) -> Vec<u8>,
    ) -> Result<Vec<u8>, Stop> {
        let real = fill(&self.real);
        let changed = (real != self.real.as_bytes()).then(|| Replacement::parse(&real));
        let mut url = Vec::new();
        let done = changed.as_ref().unwrap_or(template).expand(subject, found, &mut url);
        done.map_err(|_| {
            let text = "Substitution in regular expression failed. Replacement too long?";
            Failure::new(Status::INTERNAL_SERVER_ERROR, "proxy", text).id(1135).at_error()
        })?;
        if url == real {
            url.extend_from_slice(subject);
        }
        Ok(url)
    }

    /// Whether a path can go on as it was sent is known only if the line covers that, too.
    fn warn_of_change(&self, request: &RequestContext<'_>, is_changed: bool) {
        if self.flags.is_raw && is_changed {
            let text = "Unescaped URL path matched ProxyPass; ignoring unsafe nocanon";
            request.log(logging::level::Level::Warn, "proxy", Some(1136), text);
        }
    }
}

/// The target as the client sent it, if it means the path of the request: one that does not come
/// from a client has none. A target with steps up or in place is not handed on as it is, other than
/// by httpd: it could lead out of the folder that the line names, and into it again.
fn sent(request: &RequestContext<'_>) -> Vec<u8> {
    let target = request.received().view().request_line();
    let target = target.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    let mut decoded = Vec::new();
    let slashes = request.host.encoded_slashes;
    let path = without_query(target);
    let is_step = |part: &[u8]| matches!(&*url::unescape(part), b"." | b"..");
    let is_same = target.starts_with(b"/")
        && !path.split(|byte| *byte == b'/').any(is_step)
        && decode_with(path, &mut decoded, request.host.merge_slashes, slashes).is_ok()
        && decoded == request.path;
    if is_same { target.to_vec() } else { request.path.clone() }
}

fn without_query(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    &target[..end]
}

/// How many bytes of a path a prefix of whole segments covers; any number of slashes stands for any
/// other (alias_match of mod_proxy.c).
fn covered(path: &[u8], prefix: &[u8]) -> Option<usize> {
    let without_slashes = |text: &[u8]| text.iter().take_while(|byte| **byte == b'/').count();
    let (mut at, mut wanted) = (0, 0);
    while wanted < prefix.len() && at < path.len() {
        if prefix[wanted] != path[at] {
            return None;
        }
        let is_slash = path[at] == b'/';
        wanted += if is_slash { without_slashes(&prefix[wanted..]) } else { 1 };
        at += if is_slash { without_slashes(&path[at..]) } else { 1 };
    }
    let at_border = prefix.ends_with(b"/") || path.get(at).is_none_or(|byte| *byte == b'/');
    (wanted == prefix.len() && at > 0 && at_border).then_some(at)
}

/// A text with `${name}` filled in (`ap_proxy_interpolate`).
fn interpolated(text: &str, env: &Table) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else { break };
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(env.get(name).unwrap_or_default());
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_whole_segments() {
        for (path, prefix, expected) in [
            ("/i/x", "/i", Some(2)),
            ("/i", "/i", Some(2)),
            ("/ix", "/i", None),
            ("/i", "/i/", None),
            ("/i/", "/i/", Some(3)),
            ("/i//x", "/i/", Some(4)),
            ("//i/x", "/i", Some(3)),
            ("/x", "/", Some(1)),
            ("/", "/examples", None),
            ("/x", "", None),
            ("/x", "x", None),
        ] {
            assert_eq!(covered(path.as_bytes(), prefix.as_bytes()), expected, "{path} {prefix}");
        }
    }

    #[test]
    fn variables_are_filled_in_once() {
        let mut env = Table::default();
        env.set("a", "${b}");
        for (text, expected) in
            [("x${a}y${none}z", "x${b}yz"), ("${a", "${a"), ("", ""), ("$a", "$a")]
        {
            assert_eq!(interpolated(text, &env), expected.as_bytes(), "{text}");
        }
    }
}
