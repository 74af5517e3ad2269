//! alias: URL prefixes that lead to other folders, and redirects of the client (mod_alias).
//!
//! The table and the hooks are here, what a line says in `directives`, how a path is compared and
//! what comes of it in `rule`.

mod directives;
mod rule;

use message::Status;
use rule::{AliasRule, LocationAlias, LocationRedirect, RedirectRule};
use server::failure::{Failure, Stop};
use server::mapping::{ContextInfo, Place};
use server::request_context::RequestContext;
use server::site::settings::core::is_absolute_url;
use server::site::settings::{DirectoryKey, HostKey};
use server::site::store::{Merge, either};
use std::sync::Arc;

pub(crate) use directives::MODULE;

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What a host says outside of all sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    aliases: Vec<Arc<AliasRule>>,
    redirects: Vec<Arc<RedirectRule>>,
}

impl Merge for HostSettings {
    /// Those of a virtual host come before those of the main server.
    fn over(&self, main: &Self) -> Self {
        Self {
            aliases: [&self.aliases[..], &main.aliases].concat(),
            redirects: [&self.redirects[..], &main.redirects].concat(),
        }
    }
}

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    redirects: Vec<Arc<RedirectRule>>,
    alias: Option<Arc<LocationAlias>>,
    redirect: Option<Arc<LocationRedirect>>,
    /// `RedirectRelative`
    relative: Option<bool>,
    /// `AliasPreservePath`
    preserve_path: Option<bool>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self {
            redirects: [&self.redirects[..], &outer.redirects].concat(),
            alias: either(self.alias.as_ref(), outer.alias.as_ref()),
            redirect: either(self.redirect.as_ref(), outer.redirect.as_ref()),
            relative: self.relative.or(outer.relative),
            preserve_path: self.preserve_path.or(outer.preserve_path),
        }
    }
}

/// Translate hook: redirects come before aliases, and those of a section before those of the host
/// (mod_alias.c, translate_alias_redir).
pub(crate) fn translate(request: &mut RequestContext<'_>) -> Result<Option<Place>, Stop> {
    if request.path.first() != Some(&b'/') {
        return Ok(None); // `OPTIONS *` (translate_alias_redir)
    }
    let host = request.host;
    redirect(request, &HOST_SETTINGS.of(&host.modules).redirects, 674)?;
    let settings = request.settings.clone();
    if let Some(alias) = &SETTINGS.of(&settings).alias {
        let keeps_path = SETTINGS.of(&settings).preserve_path.unwrap_or(false);
        return alias.place(request, keeps_path).map(Some);
    }
    for alias in &HOST_SETTINGS.of(&host.modules).aliases {
        if let Some(place) = alias.place(request)? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Fixup hook: now that all sections are known, also those of folders and files (mod_alias.c,
/// fixup_redir).
pub(crate) fn fixup(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = request.settings.clone();
    redirect(request, &SETTINGS.of(&settings).redirects, 676)
}

/// Redirect the client, if a line says so.
fn redirect(
    request: &mut RequestContext<'_>,
    list: &[Arc<RedirectRule>],
    id: u32,
) -> Result<(), Stop> {
    let settings = request.settings.clone();
    let (status, target) = match &SETTINGS.of(&settings).redirect {
        Some(redirect) => (redirect.status, redirect.target(request)?),
        None => {
            let mut found = None;
            for redirect in list {
                found = redirect.target(request)?.map(|target| (redirect.status, target));
                if found.is_some() {
                    break;
                }
            }
            let Some(found) = found else { return Ok(()) };
            found
        }
    };
    // A number that is no status of HTTP is 500, as it is for ap_die.
    let status = (100..600).contains(&status).then(|| Status::new(status)).flatten();
    let status = status.unwrap_or(Status::INTERNAL_SERVER_ERROR);
    if !rule::is_redirection(status.code()) {
        return Err(Failure::new(status, "alias", "").into());
    }
    let is_relative = SETTINGS.of(&settings).relative.unwrap_or(false);
    let location = location(request, target, is_relative, id)?;
    Err(Failure::redirect(status, location).into())
}

/// The value of `Location`: a whole URL, with the query of the request unless it has its own.
fn location(
    request: &RequestContext<'_>,
    target: Vec<u8>,
    is_relative: bool,
    id: u32,
) -> Result<Vec<u8>, Stop> {
    let is_path = target.starts_with(b"/");
    let mut location = match is_path && !is_relative {
        true => [request.base_url(), target].concat(),
        false => target,
    };
    let is_whole = is_absolute_url(&String::from_utf8_lossy(&location));
    let is_sendable = location.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
    if !(is_whole || is_path && is_relative) || !is_sendable {
        let text = format!(
            "cannot redirect '{}' to '{}'; target is not a valid absoluteURI or abs_path",
            String::from_utf8_lossy(&request.path),
            String::from_utf8_lossy(&location)
        );
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "alias", text);
        return Err(failure.id(id).at_error().into());
    }
    if let Some(query) = request.query()
        && !location.contains(&b'?')
    {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    Ok(location)
}

/// Tell later modules where the URL was mapped (ap_set_context_info).
fn set_context(request: &mut RequestContext<'_>, prefix: &str, root: &[u8]) {
    let mapped = ContextInfo {
        prefix: prefix.as_bytes().to_vec(),
        context_root: Some(root.to_vec()),
        ..std::mem::take(&mut request.mapping.context_info)
    };
    request.mapping.context_info = mapped;
}
