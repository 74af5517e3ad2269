//! The directives of auth_basic. What they mean for a request is not known here.

use super::SETTINGS;
use crate::authn_core;
use config::{Args, Call, Directive, Error, Scope, args};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::expression::ExpressionText;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "auth_basic_module",
    "mod_auth_basic.c",
    DIRECTIVES,
    Hooks {
        identify: Some(Hook::Waits(super::identify)),
        fixup: Some(Hook::Now(super::fake)),
        ..Hooks::NONE
    },
);

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "AuthBasicProvider",
        args: Args::OneOrMore,
        scope: Scope::OR_AUTHCFG,
        default: "file",
        help: "specify the auth providers for a directory or location",
        apply: providers,
    },
    Directive {
        name: "AuthBasicAuthoritative",
        args: Args::Flag,
        scope: Scope::OR_AUTHCFG,
        default: "On",
        help: "Set to 'Off' to allow access control to be passed along to lower modules if the \
               UserID is not known to this module",
        apply: authoritative,
    },
    Directive {
        name: "AuthBasicFake",
        args: Args::OneOrTwo,
        scope: Scope::OR_AUTHCFG,
        default: "off",
        help: "Fake basic authentication using the given expressions for username and password, \
               'off' to disable. Password defaults to 'password' if missing.",
        apply: fake,
    },
    Directive {
        name: "AuthBasicUseDigestAlgorithm",
        args: Args::One,
        scope: Scope::OR_AUTHCFG,
        default: "Off",
        help: "Set to 'MD5' to use the auth provider's authentication check for digest auth, \
               using a hash of 'user:realm:pass'",
        apply: digest,
    },
];

fn providers(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    for (nth, name) in call.args.iter().enumerate() {
        let Some(provider) = authn_core::find(builder, name) else {
            return Err(Error::argument(nth, format!("Unknown Authn provider: {name}")));
        };
        SETTINGS.change(builder.settings()).providers.get_or_insert_default().push(provider);
    }
    Ok(())
}

fn authoritative(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).is_authoritative = Some(call.on());
    Ok(())
}

fn fake(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let user = call.arg(0);
    if user.eq_ignore_ascii_case("off") {
        SETTINGS.change(builder.settings()).fake = Some(None);
        return Ok(());
    }
    let mode = authn_core::mode(builder);
    let password = call.args.get(1).map_or("password", String::as_str);
    let name = ExpressionText::parse(user, mode)
        .map_err(|error| format!("Could not parse fake username expression '{user}': {error}"))?;
    let password = ExpressionText::parse(password, mode).map_err(|error| {
        format!("Could not parse fake password expression associated to user '{user}': {error}")
    })?;
    SETTINGS.change(builder.settings()).fake = Some(Some((name, password)));
    Ok(())
}

fn digest(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let uses = args::keyword(call, 0, &[("Off", false), ("MD5", true)]).map_err(|error| {
        error.reworded(format!("Invalid algorithm in AuthBasicUseDigestAlgorithm: {}", call.arg(0)))
    })?;
    SETTINGS.change(builder.settings()).uses_digest = Some(uses);
    Ok(())
}
