//! The directives of authz_core. What they mean for a request is not known here.

use super::provider::{ALIASES, MODULE_NAME};
use super::rules::{AuthzRule, AuthzTest, Logic};
use super::{AuthzAlias, Methods, SETTINGS, provider};
use crate::{authn_core, authz_groupfile};
use config::lexer::LineWords;
use config::{Args, Call, Diagnostic, Directive, Error, Scope, SectionArgs, args};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::config_place::ConfigPlace;
use server::site::settings::Settings;
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    MODULE_NAME,
    "mod_authz_core.c",
    DIRECTIVES,
    Hooks {
        grant: Some(Hook::Waits(super::grant)),
        authorize: Some(Hook::Waits(super::authorize)),
        open_to: Some(super::open_to),
        check: Some(check),
        ..Hooks::NONE
    },
);

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "<AuthzProviderAlias",
        args: Args::Section(SectionArgs::Some, end_alias),
        scope: Scope::SERVER,
        default: "",
        help: "container for grouping an authorization provider's directives under a provider \
               alias",
        apply: begin_alias,
    },
    Directive {
        name: "Require",
        args: Args::Raw,
        scope: Scope::OR_AUTHCFG,
        default: "",
        help: "specifies authorization directives which one must pass (or not) for a request to \
               suceeed",
        apply: require,
    },
    Directive {
        name: "<RequireAll",
        args: Args::Section(SectionArgs::None, end_container),
        scope: Scope::OR_AUTHCFG,
        default: "",
        help: "container for grouping authorization directives of which none must fail and at \
               least one must pass for a request to succeed",
        apply: begin_container,
    },
    Directive {
        name: "<RequireAny",
        args: Args::Section(SectionArgs::None, end_container),
        scope: Scope::OR_AUTHCFG,
        default: "",
        help: "container for grouping authorization directives of which one must pass for a \
               request to succeed",
        apply: begin_container,
    },
    Directive {
        name: "<RequireNone",
        args: Args::Section(SectionArgs::None, end_container),
        scope: Scope::OR_AUTHCFG,
        default: "",
        help: "container for grouping authorization directives of which none must pass for a \
               request to succeed",
        apply: begin_container,
    },
    Directive {
        name: "AuthMerging",
        args: Args::One,
        scope: Scope::OR_AUTHCFG,
        default: "Off",
        help: "controls how a <Directory>, <Location>, or similar directive's authorization \
               directives are combined with those of its predecessor",
        apply: auth_merging,
    },
    Directive {
        name: "AuthzSendForbiddenOnFailure",
        args: Args::Flag,
        scope: Scope::OR_AUTHCFG,
        default: "Off",
        help: "Controls if an authorization failure should result in a '403 FORBIDDEN' response \
               instead of the HTTP-conforming '401 UNAUTHORIZED'",
        apply: send_forbidden,
    },
];

/// What is wrong with the rules of a whole configuration: containers of which nothing can be
/// granted. A `.htaccess` file with such a thing just denies.
pub(crate) fn check(builder: &Builder) -> Option<Diagnostic> {
    let name = builder.hosts.iter().find_map(|host| {
        let sections = host.directories.iter().chain(&host.locations);
        let mut all = std::iter::once(&host.base).chain(sections.map(|open| &open.settings));
        all.find_map(only_negative)
    })?;
    let text = format!("{name} directive contains only negative authorization directives");
    Some(Diagnostic { id: Some("AH01624"), ..Diagnostic::whole(text) })
}

/// The name of such a container in these settings, or in those of sections within.
fn only_negative(settings: &Settings) -> Option<String> {
    let own = SETTINGS.of(settings).rule.as_ref().and_then(|rule| rule.only_negative());
    let within = || {
        let mut within = settings.core.files.iter().chain(&settings.core.ifs);
        within.find_map(|section| only_negative(&section.settings))
    };
    own.or_else(within)
}

fn require(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let added = add(builder, call);
    // The container is not to be blamed for being empty then.
    SETTINGS.change(builder.settings()).is_broken |= added.is_err();
    added
}

fn add(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let mut words = LineWords::new(call.raw);
    let mut next = || words.next().map(|word| word.text).unwrap_or_default();
    let mut name = next();
    let negate = name.eq_ignore_ascii_case("not");
    if negate {
        name = next();
    }
    let text = words.rest();
    let provider = provider::parse(builder, &name, text)?;
    let written = [&name, text].join(" ");
    let methods = Methods::limited(builder.limited());
    let place = ConfigPlace::from(&call.position());
    let test = AuthzTest::Provider { provider, written, place };
    let rule = AuthzRule { test, negate, methods };
    let container = container(builder);
    if negate && container.logic() == Some(Logic::Or) {
        let text = format!(
            "negative {} directive has no effect in {} directive",
            call.name,
            container.name()
        );
        return Err(text.into());
    }
    container.push(Arc::new(rule));
    Ok(())
}

/// The innermost container. The outermost is there without being written.
fn container(builder: &mut Builder) -> &mut AuthzRule {
    let settings = SETTINGS.change(builder.settings());
    if !settings.open.is_empty() {
        let last = settings.open.len() - 1;
        return &mut settings.open[last];
    }
    let new = || Arc::new(AuthzRule::group(Logic::Or, false));
    Arc::make_mut(settings.rule.get_or_insert_with(new))
}

fn begin_container(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let (logic, negate) = match call.name {
        "<RequireAll" => (Logic::And, false),
        "<RequireAny" => (Logic::Or, false),
        _ => (Logic::Or, true),
    };
    SETTINGS.change(builder.settings()).open.push(AuthzRule::group(logic, negate));
    builder.enter_container();
    Ok(())
}

fn end_container(builder: &mut Builder, _: &Call<'_>) -> Result<(), Error> {
    let Some(inner) = SETTINGS.change(builder.settings()).open.pop() else { return Ok(()) };
    builder.leave_container();
    if inner.rules().is_empty() && SETTINGS.change(builder.settings()).is_broken {
        return Ok(());
    }
    if inner.rules().is_empty() {
        let text = format!("{} directive contains no authorization directives", inner.name());
        return Err(text.into());
    }
    let is_htaccess = builder.is_htaccess();
    let outer = container(builder);
    if inner.negate && outer.logic() == Some(Logic::Or) {
        let text =
            format!("{} directive has no effect in {} directive", inner.name(), outer.name());
        return Err(text.into());
    }
    if inner.negate && !is_htaccess {
        // None of them in a container that asks for all: each of them must not (De Morgan, as
        // authz_core_check_section does it for files of the server).
        for rule in inner.rules() {
            outer.push(Arc::new(AuthzRule { negate: !rule.negate, ..AuthzRule::clone(rule) }));
        }
    } else if !inner.negate && inner.logic() == outer.logic() {
        inner.rules().iter().for_each(|rule| outer.push(rule.clone()));
    } else {
        outer.push(Arc::new(inner));
    }
    Ok(())
}

fn auth_merging(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let words = [("Off", None), ("And", Some(Logic::And)), ("Or", Some(Logic::Or))];
    SETTINGS.change(builder.settings()).merging = Some(args::keyword(call, 0, &words)?);
    Ok(())
}

fn send_forbidden(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).forbids = Some(call.on());
    Ok(())
}

fn begin_alias(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if authn_core::word(call, 0).is_empty() || authn_core::word(call, 1).is_empty() {
        return Err(format!("{}> directive requires additional arguments", call.name).into());
    }
    builder.enter_alias();
    Ok(())
}

fn end_alias(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let Some(settings) = builder.leave_alias() else { return Ok(()) };
    let [name, alias, text, extra] = [0, 1, 2, 3].map(|nth| authn_core::word(call, nth));
    if !extra.is_empty() {
        let warning = format!(
            "When several arguments ({text} {extra}...) are passed to a {} directive, they must \
             be enclosed in quotation marks.  Otherwise, only the first one is taken into account",
            call.name
        );
        call.warn(Some("AH10142"), warning);
    }
    let provider = provider::parse(builder, &name, &text).map_err(|error| {
        let is_unknown = error.argument.is_some();
        let text = match is_unknown {
            true => error.text.clone(),
            false => format!("Can't parse 'Require {name} {text}': {}", error.text),
        };
        error.reworded(text)
    })?;
    let group_file = authz_groupfile::SETTINGS.of(&settings).group_file().cloned();
    let row = (alias, Arc::new(AuthzAlias { provider, group_file }));
    ALIASES.change(&mut builder.server.modules).0.push(row);
    Ok(())
}
