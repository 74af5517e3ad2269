//! The directives of rewrite.

use crate::condition::Condition;
use crate::map::Map;
use crate::rule::Rule;
use crate::settings::{FolderSettings, HOST_SETTINGS, HostSettings, Options, Rules, SETTINGS};
use crate::{advice, folder, host, programs};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use std::sync::Arc;

/// The module and its table.
pub static MODULE: Module = Module::new(
    "rewrite_module",
    "mod_rewrite.c",
    DIRECTIVES,
    Hooks {
        translate: Some(Hook::Waits(host::translate)),
        fixup: Some(Hook::Waits(folder::fixup)),
        last_fixup: Some(folder::force),
        open: Some(programs::open),
        advise: Some(advice::advise),
        ..Hooks::NONE
    },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("RewriteEngine", Args::Flag, Scope::OR_FILEINFO, "Off", "On or Off to enable or disable (default) the whole rewriting engine", engine),
    row("RewriteOptions", Args::OneOrMore, Scope::OR_FILEINFO, "", "List of option strings to set", options),
    row("RewriteBase", Args::One, Scope::OR_FILEINFO, "", "the base URL of the per-directory context", base),
    row("RewriteCond", Args::Raw, Scope::OR_FILEINFO, "", "an input string and a to be applied regexp-pattern", condition),
    row("RewriteRule", Args::Raw, Scope::OR_FILEINFO, "", "an URL-applied regexp-pattern and a substitution URL", rule),
    row("RewriteMap", Args::TwoOrThree, Scope::RSRC_CONF, "", "a mapname and a filename and options", map),
];

type Done = Result<(), Error>;

/// The settings of the section around a line, with its folder: httpd calls anything so that stands
/// behind the name of a section.
fn of_folder(builder: &mut Builder) -> &mut FolderSettings {
    if !builder.is_htaccess() {
        // Its host says something as well.
        of_host(builder);
    }
    let folder = builder.section_argument().map(|argument| match argument.ends_with('/') {
        true => argument,
        false => argument + "/",
    });
    let settings = SETTINGS.change(builder.settings());
    settings.folder = folder.map(Arc::from);
    settings
}

fn of_host(builder: &mut Builder) -> &mut HostSettings {
    let is_virtual = builder.is_in_virtual_host();
    let settings = HOST_SETTINGS.change(&mut builder.host().modules);
    settings.is_virtual = is_virtual;
    settings
}

/// Where rules and conditions go: to those of the section, or of the host outside of all.
fn rules(builder: &mut Builder) -> &mut Rules {
    match builder.is_in_section() {
        true => &mut of_folder(builder).rules,
        false => &mut of_host(builder).rules,
    }
}

/// Outside of all sections it is for them, too, unless they say otherwise.
fn engine(builder: &mut Builder, call: &Call<'_>) -> Done {
    of_folder(builder).engine = Some(call.on());
    Ok(())
}

fn options(builder: &mut Builder, call: &Call<'_>) -> Done {
    let mut given = Options::default();
    // An argument in quotes may have several.
    let words = call.args.iter().enumerate();
    let words = words.flat_map(|(nth, words)| words.split_whitespace().map(move |it| (nth, it)));
    for (nth, word) in words {
        match Options::named(word) {
            Some(option) => given.add(option),
            None if is_max_redirects(word) => call.warn(
                Some("AH00664"),
                "RewriteOptions: MaxRedirects option has been removed in favor of the global \
                 LimitInternalRecursion directive and will be ignored.",
            ),
            None => {
                let text = format!("RewriteOptions: unknown option '{word}'");
                return Err(Error::argument(nth, text));
            }
        }
    }
    if !builder.is_in_section() {
        of_host(builder).options.get_or_insert_default().add(given);
    }
    of_folder(builder).options.get_or_insert_default().add(given);
    Ok(())
}

fn is_max_redirects(word: &str) -> bool {
    word.get(..13).is_some_and(|start| start.eq_ignore_ascii_case("MaxRedirects="))
}

fn base(builder: &mut Builder, call: &Call<'_>) -> Done {
    if !builder.is_in_section() {
        return Err("RewriteBase: only valid in per-directory config files".into());
    }
    let url = call.arg(0);
    if url.is_empty() {
        return Err(Error::argument(0, "RewriteBase: empty URL not allowed"));
    }
    if !url.starts_with('/') {
        return Err(Error::argument(0, "RewriteBase: argument is not a valid URL"));
    }
    let settings = of_folder(builder);
    settings.base = Some(url.into());
    settings.base_line = Some(call.position());
    Ok(())
}

fn condition(builder: &mut Builder, call: &Call<'_>) -> Done {
    let condition = Condition::parse(builder, call)?;
    rules(builder).pending.push(condition);
    Ok(())
}

fn rule(builder: &mut Builder, call: &Call<'_>) -> Done {
    let conditions = std::mem::take(&mut rules(builder).pending);
    let rule = Rule::parse(builder, call, conditions)?;
    rules(builder).push(rule);
    Ok(())
}

fn map(builder: &mut Builder, call: &Call<'_>) -> Done {
    let user = call.args.get(2).map(|user| &**user);
    let map = Map::parse(builder, call.arg(0), call.arg(1), user)?;
    of_host(builder).maps.insert(call.arg(0).to_owned(), Arc::new(map));
    Ok(())
}
