//! vhost_alias: a document root for each host name or address, from one pattern
//! (mod_vhost_alias).

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use message::Status;
use server::failure::{Failure, Stop};
use server::handler;
use server::hook::Hook;
use server::mapping::{ContextInfo, Place};
use server::module::{Hooks, Module};
use server::phase::place_of;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::lexical::parents;
use server::site::settings::HostKey;
use server::site::store::Merge;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "vhost_alias_module",
    "mod_vhost_alias.c",
    DIRECTIVES,
    Hooks { translate: Some(Hook::Now(translate)), ..Hooks::NONE },
);

const SCRIPTS: &str = "how to create a ScriptAlias based on the host";
const DOCUMENTS: &str = "how to create the DocumentRoot based on the host";

static DIRECTIVES: &[Directive<Builder>] = &[
    row("VirtualScriptAlias", Args::One, Scope::RSRC_CONF, "none", SCRIPTS, virtual_script_alias),
    row(
        "VirtualDocumentRoot",
        Args::One,
        Scope::RSRC_CONF,
        "none",
        DOCUMENTS,
        virtual_document_root,
    ),
    row(
        "VirtualScriptAliasIP",
        Args::One,
        Scope::RSRC_CONF,
        "none",
        SCRIPTS,
        virtual_script_alias_ip,
    ),
    row(
        "VirtualDocumentRootIP",
        Args::One,
        Scope::RSRC_CONF,
        "none",
        DOCUMENTS,
        virtual_document_root_ip,
    ),
];

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What a host says; the inner `None` is `none`.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    documents: Option<Option<Map>>,
    scripts: Option<Option<Map>>,
}

/// A pattern, and what it is filled with.
#[derive(Clone, Debug)]
struct Map {
    pieces: Vec<PatternPiece>,
    /// The address of the server, not its name.
    by_address: bool,
    /// Segments `..` of the pattern itself.
    parents: usize,
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPiece {
    Text(String),
    /// `%p`
    Port,
    /// `%N.M`: a part of the name, and a part of that.
    Part(Select, Select),
}

/// Which of several, counted from 1 at the start or the end; 0 is all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Select {
    nth: usize,
    from_end: bool,
    /// `+`: with all that follows, or that comes before.
    and_more: bool,
}

impl Merge for HostSettings {
    /// Those of a virtual host over those of the main server.
    fn over(&self, main: &Self) -> Self {
        Self {
            documents: self.documents.clone().or_else(|| main.documents.clone()),
            scripts: self.scripts.clone().or_else(|| main.scripts.clone()),
        }
    }
}

fn virtual_script_alias(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.may_run_programs = true;
    HOST_SETTINGS.change(&mut builder.host().modules).scripts = Some(map(call, false)?);
    Ok(())
}

fn virtual_document_root(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    HOST_SETTINGS.change(&mut builder.host().modules).documents = Some(map(call, false)?);
    Ok(())
}

fn virtual_script_alias_ip(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.may_run_programs = true;
    HOST_SETTINGS.change(&mut builder.host().modules).scripts = Some(map(call, true)?);
    Ok(())
}

fn virtual_document_root_ip(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    HOST_SETTINGS.change(&mut builder.host().modules).documents = Some(map(call, true)?);
    Ok(())
}

/// mod_vhost_alias.c, vhost_alias_set
fn map(call: &Call<'_>, by_address: bool) -> Result<Option<Map>, Error> {
    let text = call.arg(0);
    if !text.starts_with('/') {
        if text.eq_ignore_ascii_case("none") {
            return Ok(None);
        }
        return Err(Error::argument(0, "format string must be an absolute path, or 'none'"));
    }
    let pieces = parse(text).ok_or_else(|| Error::argument(0, "syntax error in format string"))?;
    Ok(Some(Map { pieces, by_address, parents: parents(text.as_bytes()) }))
}

/// The pieces of a pattern; `None` if it has a `%` without meaning.
fn parse(text: &str) -> Option<Vec<PatternPiece>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        pieces.push(PatternPiece::Text(before.to_owned()));
        rest = match behind.as_bytes().first() {
            Some(b'%') => {
                pieces.push(PatternPiece::Text("%".to_owned()));
                &behind[1..]
            }
            Some(b'p') => {
                pieces.push(PatternPiece::Port);
                &behind[1..]
            }
            _ => {
                let (part, behind) = select(behind)?;
                let (within, behind) = match behind.strip_prefix('.') {
                    Some(behind) => select(behind)?,
                    None => (Select::default(), behind),
                };
                pieces.push(PatternPiece::Part(part, within));
                behind
            }
        };
    }
    pieces.push(PatternPiece::Text(rest.to_owned()));
    Some(pieces)
}

/// `-N+` and what follows it.
fn select(text: &str) -> Option<(Select, &str)> {
    let (from_end, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let digit = text.bytes().next().filter(u8::is_ascii_digit)?;
    let (and_more, text) = match text[1..].strip_prefix('+') {
        Some(text) => (true, text),
        None => (false, &text[1..]),
    };
    Some((Select { nth: usize::from(digit - b'0'), from_end, and_more }, text))
}

impl Select {
    /// The range of what is chosen out of `count`, counted from 0.
    fn range(self, count: usize) -> Option<std::ops::Range<usize>> {
        let Self { nth, from_end, and_more } = self;
        if nth == 0 {
            return Some(0..count);
        }
        let at = if from_end { count.checked_sub(nth)? } else { nth - 1 };
        let end = if from_end || !and_more { at + 1 } else { count };
        let start = if from_end && and_more { 0 } else { at };
        (at < count).then_some(start..end)
    }
}

/// httpd counts no more parts than this; the last one has all that is left.
const PARTS_MAX: usize = 19;

/// The part of a name that a specifier stands for, `_` if there is none.
fn part(name: &str, (parts, letters): (Select, Select)) -> &str {
    // Where parts begin; each ends before the dot ahead of the next.
    let mut starts = vec![0];
    starts.extend(name.match_indices('.').map(|dot| dot.0 + 1).take(PARTS_MAX - 1));
    let Some(range) = parts.range(starts.len()) else { return "_" };
    let end = starts.get(range.end).map_or(name.len(), |next| next - 1);
    let chosen = &name[starts[range.start]..end];
    match letters.range(chosen.len()) {
        Some(range) => chosen.get(range).unwrap_or("_"),
        None => "_",
    }
}

impl Map {
    /// The folder for a name (mod_vhost_alias.c, vhost_alias_interpolate).
    fn folder(&self, name: &str, port: u16) -> String {
        let mut folder = String::new();
        for piece in &self.pieces {
            match piece {
                PatternPiece::Text(text) => folder.push_str(text),
                PatternPiece::Port => folder.push_str(&port.to_string()),
                PatternPiece::Part(parts, letters) => {
                    // A segment that is empty would lead to the folder of all hosts.
                    let chosen = part(name, (*parts, *letters));
                    let chosen = if matches!(chosen, "" | ".") { "_" } else { chosen };
                    folder.push_str(&chosen.to_ascii_lowercase());
                }
            }
        }
        if folder.ends_with('/') {
            folder.pop();
        }
        folder
    }
}

/// Translate hook.
pub(crate) fn translate(request: &mut RequestContext<'_>) -> Result<Option<Place>, Stop> {
    if request.path.first() != Some(&b'/') {
        return Ok(None); // `OPTIONS *` (mva_translate)
    }
    let settings = HOST_SETTINGS.of(&request.host.modules);
    let scripts = settings.scripts.as_ref().and_then(Option::as_ref);
    let (map, below, is_script) = match (scripts, request.path.strip_prefix(b"/cgi-bin")) {
        (Some(map), Some(below)) if below.starts_with(b"/") => (Some(map), below.to_vec(), true),
        _ => (settings.documents.as_ref().and_then(Option::as_ref), request.path.clone(), false),
    };
    let Some(map) = map else { return Ok(None) };
    // Prepared answers are kept by virtual host and path, not by name.
    request.mark_personal();
    let name = match map.by_address {
        true => request.received().local.ip().to_canonical().to_string(),
        // The dot of the root of all names is not part of this one (vhost.c, fix_hostname).
        false => {
            let name = request.server_name();
            name.strip_suffix('.').map(str::to_owned).unwrap_or(name)
        }
    };
    if name.contains('/') {
        let text = format!("the name {} cannot be part of a path", name.escape_default());
        return Err(Failure::new(Status::BAD_REQUEST, "vhost_alias", text).into());
    }
    let folder = map.folder(&name, request.server_port()).into_bytes();
    let place = place_of(request, &[&folder[..], &below].concat(), map.parents)?;
    request.mapping.context_info = ContextInfo {
        prefix: if is_script { b"/cgi-bin".to_vec() } else { Vec::new() },
        context_root: Some(folder.clone()),
        document_root: Some(folder),
        handler: is_script.then_some(handler::SCRIPT),
    };
    Ok(Some(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(pattern: &str, name: &str) -> String {
        let pieces = parse(pattern).unwrap();
        Map { pieces, by_address: false, parents: 0 }.folder(name, 8080)
    }

    #[test]
    fn parts_of_a_name_fill_the_pattern() {
        let name = "www.Domain.example.com";
        for (pattern, expected) in [
            ("/h/%0", "/h/www.domain.example.com"),
            ("/h/%1/%2", "/h/www/domain"),
            ("/h/%-1/%-2", "/h/com/example"),
            ("/h/%2+", "/h/domain.example.com"),
            ("/h/%-2+", "/h/www.domain.example"),
            ("/h/%5/%-5", "/h/_/_"),
            ("/h/%2.1/%2.2/%2.-1", "/h/d/o/n"),
            ("/h/%2.2+/%2.-2+", "/h/omain/domai"),
            ("/h/%2.9/%0.0", "/h/_/www.domain.example.com"),
            ("/h/%1.2.3", "/h/w.3"),
            ("/h%%/%p/", "/h%/8080"),
            ("/h/%1//", "/h/www/"),
        ] {
            assert_eq!(folder(pattern, name), expected, "{pattern}");
        }
    }

    #[test]
    fn a_name_never_leads_to_the_folder_of_all_hosts() {
        assert_eq!(folder("/h/%1/%0", ".x"), "/h/_/.x");
        assert_eq!(folder("/h/%0/%1", "."), "/h/_/_");
    }

    #[test]
    fn a_percent_sign_needs_a_meaning() {
        for pattern in ["/%", "/%x", "/%-", "/%-x", "/%1.", "/%1.-", "/%1.x"] {
            assert_eq!(parse(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn no_more_than_nineteen_parts_are_counted() {
        let name = "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21";
        assert_eq!(folder("/%-1/%-2", name), "/19.20.21/18");
    }
}
