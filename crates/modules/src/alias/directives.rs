//! The directives of alias.

use super::rule::{
    AliasRule, AliasTarget, LocationAlias, LocationRedirect, RedirectRule, To, UrlPattern,
    is_redirection,
};
use super::{HOST_SETTINGS, SETTINGS};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use pattern::Replacement;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::expression::ExpressionText;
use server::site::lexical;
use server::site::section::regex;
use server::site::settings::core::is_absolute_url;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "alias_module",
    "mod_alias.c",
    DIRECTIVES,
    Hooks {
        translate: Some(Hook::Now(super::translate)),
        fixup: Some(Hook::Now(super::fixup)),
        ..Hooks::NONE
    },
);

const NAMES: &str = "a fakename and a realname, or a realname in a Location";
const MATCH: &str = "a regular expression and a filename";
const REDIRECT: &str = "an optional status, then document to be redirected and destination URL";
const REDIRECT_MATCH: &str = "an optional status, then a regular expression and destination URL";
const FIXED: &str = "a document to be redirected, then the destination URL";

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("Alias", Args::OneOrTwo, Scope::ANY_CONF, "", NAMES, alias),
    row("ScriptAlias", Args::OneOrTwo, Scope::ANY_CONF, "", NAMES, script_alias),
    row("Redirect", Args::OneTwoOrThree, Scope::OR_FILEINFO, "", REDIRECT, redirect),
    row("AliasMatch", Args::Two, Scope::RSRC_CONF, "", MATCH, alias_match),
    row("ScriptAliasMatch", Args::Two, Scope::RSRC_CONF, "", MATCH, script_alias_match),
    row("RedirectMatch", Args::TwoOrThree, Scope::OR_FILEINFO, "", REDIRECT_MATCH, redirect_match),
    row("RedirectTemp", Args::Two, Scope::OR_FILEINFO, "", FIXED, redirect),
    row("RedirectPermanent", Args::Two, Scope::OR_FILEINFO, "", FIXED, redirect_permanent),
    row("RedirectRelative", Args::Flag, Scope::OR_FILEINFO, "", "Set to ON to allow relative redirect targets to be issued as-is", redirect_relative),
    row("AliasPreservePath", Args::Flag, Scope::OR_FILEINFO, "", "Set to ON to map the full path after the fakename to the realname.", alias_preserve_path),
];

type Done = Result<(), Error>;

fn alias(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_alias(builder, call, false)
}

fn script_alias(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_alias(builder, call, true)
}

/// mod_alias.c, add_alias
fn add_alias(builder: &mut Builder, call: &Call<'_>, is_script: bool) -> Done {
    builder.server.may_run_programs |= is_script;
    let [from, real] = call.args else { return location_alias(builder, call, is_script) };
    check_context(builder, call)?;
    warn_of_overlap(builder, call, from);
    // A folder is opened with the site; of anything else the folder that it is in.
    let real = server_path(builder, real);
    let normal = lexical::normal(Path::new(&real));
    // What is a root already is known to be a folder.
    let known = builder.roots.known(&normal);
    let is_folder = known.is_some() || normal.is_dir();
    let (folder, name) = match (is_folder, normal.parent(), normal.file_name()) {
        (false, Some(folder), Some(name)) => (folder, name.as_bytes().to_vec()),
        _ => (normal.as_path(), Vec::new()),
    };
    let root = known.unwrap_or_else(|| builder.root(folder));
    let to = AliasTarget::Open { root, name };
    let from = UrlPattern::Prefix(from.clone());
    push(builder, AliasRule { from, to, real, is_script, place: (&call.position()).into() });
    Ok(())
}

fn push(builder: &mut Builder, alias: AliasRule) {
    HOST_SETTINGS.change(&mut builder.host().modules).aliases.push(Arc::new(alias));
}

/// The path below `ServerRoot`; a final slash stays.
fn server_path(builder: &Builder, path: &str) -> String {
    lexical::text(builder.server.root.join(path))
}

fn server_root(builder: &Builder) -> Vec<u8> {
    lexical::normal(&builder.server.root).as_os_str().as_bytes().to_vec()
}

/// core.c, ap_check_cmd_context
fn check_context(builder: &Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_limit(call)?;
    if !builder.is_in_section() {
        return Ok(());
    }
    Err(format!("{} cannot occur within directory context", call.name).into())
}

/// A line that is never reached. The first that covers its path is named.
fn warn_of_overlap(builder: &mut Builder, call: &Call<'_>, from: &str) {
    let known = &HOST_SETTINGS.change(&mut builder.host().modules).aliases;
    let Some(earlier) = known.iter().find(|alias| alias.from.hides(from)) else { return };
    let script = if earlier.is_script { "Script" } else { "" };
    let kind = if matches!(earlier.from, UrlPattern::Regex(_)) { "Match" } else { "" };
    let position = call.position();
    let text = format!(
        "The {} directive in {} at line {} will probably never match because it overlaps an \
         earlier {script}Alias{kind}.",
        call.name, position.file, position.line
    );
    call.warn(Some("AH00671"), text);
}

/// `Alias` with one argument, in a `<Location>`.
fn location_alias(builder: &mut Builder, call: &Call<'_>, is_script: bool) -> Done {
    builder.check_not_in_limit(call)?;
    if let Some(section) = builder.folder_or_files() {
        return Err(format!("{} cannot occur within {section}> section", call.name).into());
    }
    if !builder.is_in_section() {
        return Err("Alias must have two arguments when used globally".into());
    }
    let to = expression(builder, call, 0, "alias")?;
    let from = builder.location().map(|matcher| matcher.text().to_owned()).unwrap_or_default();
    let server_root = server_root(builder);
    let alias = LocationAlias { from, to, server_root, is_script };
    SETTINGS.change(builder.settings()).alias = Some(Arc::new(alias));
    Ok(())
}

fn expression(
    builder: &Builder,
    call: &Call<'_>,
    nth: usize,
    what: &str,
) -> Result<ExpressionText, Error> {
    let mode = builder.mode();
    let text = call.arg(nth);
    ExpressionText::parse(text, mode).map_err(|error| {
        Error::argument(nth, format!("Cannot parse {what} expression '{text}': {error}"))
    })
}

fn alias_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_alias_match(builder, call, false)
}

fn script_alias_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_alias_match(builder, call, true)
}

fn add_alias_match(builder: &mut Builder, call: &Call<'_>, is_script: bool) -> Done {
    builder.server.may_run_programs |= is_script;
    check_context(builder, call)?;
    let from = UrlPattern::Regex(compile(builder, call, 0)?);
    let real = call.arg(1).to_owned();
    let template = Replacement::parse(&real);
    let to = AliasTarget::Template { template, server_root: server_root(builder) };
    push(builder, AliasRule { from, to, real, is_script, place: (&call.position()).into() });
    Ok(())
}

fn compile(builder: &Builder, call: &Call<'_>, nth: usize) -> Result<Arc<pattern::Regex>, Error> {
    regex(call.arg(nth), builder.server.regex, nth)
        .map_err(|error| error.reworded("Regular expression could not be compiled."))
}

fn redirect(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_redirect(builder, call, 302, false)
}

fn redirect_permanent(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_redirect(builder, call, 301, false)
}

fn redirect_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_redirect(builder, call, 302, true)
}

/// What the first argument says, if it is a status.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// A redirection, which needs a URL.
    Redirection(u16),
    /// Anything else.
    Final(u16),
    NoStatus,
}

impl First {
    fn of(word: &str) -> Self {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        match word.to_ascii_lowercase().as_str() {
            "permanent" => Self::Redirection(301),
            "temp" => Self::Redirection(302),
            "seeother" => Self::Redirection(303),
            "gone" => Self::Final(410),
            _ if digits == 0 => Self::NoStatus,
            _ => match word[..digits].parse().unwrap_or(u16::MAX) {
                status if is_redirection(status) => Self::Redirection(status),
                status => Self::Final(status),
            },
        }
    }
}

/// mod_alias.c, add_redirect_internal
fn add_redirect(builder: &mut Builder, call: &Call<'_>, default: u16, is_regex: bool) -> Done {
    let first = First::of(call.arg(0));
    let (status, is_status) = match first {
        First::Redirection(status) | First::Final(status) => (status, true),
        First::NoStatus => (default, false),
    };
    if call.args.len() == 3 && !is_status {
        return Err(Error::argument(0, "Redirect: invalid first argument (of three)"));
    }
    if builder.is_in_section() {
        let to = match (first, call.args.len()) {
            (First::Redirection(_), 2) => Some(Some(1)),
            (First::NoStatus, 1) => Some(Some(0)),
            (First::Final(_), 1) => Some(None),
            _ => None,
        };
        if let Some(nth) = to {
            let to = nth.map(|nth| expression(builder, call, nth, "redirect")).transpose()?;
            let redirect = LocationRedirect { to, status };
            SETTINGS.change(builder.settings()).redirect = Some(Arc::new(redirect));
            return Ok(());
        }
    }
    let from = usize::from(is_status);
    let url = call.args.get(from + 1);
    let to = check_url(call, url.map(String::as_str), status, is_regex)?;
    let from = match is_regex {
        true => UrlPattern::Regex(compile(builder, call, from)?),
        false => UrlPattern::Prefix(call.arg(from).to_owned()),
    };
    let place = (&call.position()).into();
    let redirect = Arc::new(RedirectRule { from, to, status, place });
    match builder.is_in_section() {
        true => SETTINGS.change(builder.settings()).redirects.push(redirect),
        false => HOST_SETTINGS.change(&mut builder.host().modules).redirects.push(redirect),
    }
    Ok(())
}

/// A redirection has a URL, and nothing else has.
fn check_url(call: &Call<'_>, url: Option<&str>, status: u16, is_regex: bool) -> Result<To, Error> {
    let nth = call.args.len().saturating_sub(1);
    match (is_redirection(status), url) {
        (true, None) => Err("URL to redirect to is missing".into()),
        (false, Some(_)) => Err(Error::argument(nth, "Redirect URL not valid for this status")),
        (false, None) => Ok(To::Nowhere),
        (true, Some(url)) if is_regex => Ok(To::Template(Replacement::parse(url))),
        (true, Some(url)) if url.starts_with('/') || is_absolute_url(url) => {
            Ok(To::Url(url.to_owned()))
        }
        (true, Some(_)) => Err(Error::argument(nth, "Redirect to non-URL")),
    }
}

fn redirect_relative(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).relative = Some(call.on());
    Ok(())
}

fn alias_preserve_path(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).preserve_path = Some(call.on());
    Ok(())
}
