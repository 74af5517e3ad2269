//! The directives of negotiation.

use super::settings::SETTINGS;
use config::{Args, Call, Directive, Error, Scope};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "negotiation_module",
    "mod_negotiation.c",
    DIRECTIVES,
    Hooks {
        kind: Some(Hook::Waits(super::hooks::multiviews)),
        fixup: Some(Hook::Now(super::hooks::fix_encoding)),
        resolve: Some(Hook::Waits(super::hooks::map)),
        finish: Some(super::hooks::expires),
        ..Hooks::NONE
    },
);

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "CacheNegotiatedDocs",
        args: Args::Flag,
        scope: Scope::RSRC_CONF,
        default: "Off",
        help: "Either 'on' or 'off' (default)",
        apply: cache_negotiated_docs,
    },
    Directive {
        name: "LanguagePriority",
        args: Args::OneOrMore,
        scope: Scope::OR_FILEINFO,
        default: "",
        help: "space-delimited list of MIME language abbreviations",
        apply: language_priority,
    },
    Directive {
        name: "ForceLanguagePriority",
        args: Args::OneOrMore,
        scope: Scope::OR_FILEINFO,
        default: "Prefer",
        help: "Force LanguagePriority elections, either None, or Fallback and/or Prefer",
        apply: force_language_priority,
    },
];

fn cache_negotiated_docs(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).caches = Some(call.on());
    Ok(())
}

fn language_priority(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).add_priority(call.args.iter().cloned());
    Ok(())
}

fn force_language_priority(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    for (nth, word) in call.args.iter().enumerate() {
        let added = SETTINGS.change(builder.settings()).add_force(word);
        added.map_err(|text| Error::argument(nth, text))?;
    }
    Ok(())
}
