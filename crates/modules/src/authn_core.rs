//! authn_core: which way of logging in a place asks for, and for which realm (mod_authn_core).

use crate::authn_file;
use config::{Args, Call, Directive, Error, Scope, SectionArgs};
use logging::level::Level;
use message::{Method, Status};
use server::evaluate;
use server::failure::{Failure, Stop};
use server::hook::{Decision, Hook};
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::expression::{ExpressionText, Mode};
use server::site::settings as site;
use server::site::settings::{DirectoryKey, ServerKey};
use server::site::store::{Merge, either};
use std::path::PathBuf;
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "authn_core_module",
    "mod_authn_core.c",
    DIRECTIVES,
    Hooks { identify: Some(Hook::Now(identify)), open_to: Some(open_to), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "AuthType",
        args: Args::One,
        scope: Scope::OR_AUTHCFG,
        default: "",
        help: "an HTTP authorization type (e.g., \"Basic\")",
        apply: auth_type_line,
    },
    Directive {
        name: "AuthName",
        args: Args::One,
        scope: Scope::OR_AUTHCFG,
        default: "",
        help: "the authentication realm (e.g. \"Members Only\")",
        apply: auth_name_line,
    },
    Directive {
        name: "<AuthnProviderAlias",
        args: Args::Section(SectionArgs::Some, end_alias),
        scope: Scope::SERVER,
        default: "",
        help: "container for grouping an authentication provider's directives under a provider \
               alias",
        apply: begin_alias,
    },
];

/// Who knows users and their passwords: the provider `file`, which an alias gives a file of its
/// own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthnProvider {
    /// Goes before `AuthUserFile`.
    pub(crate) user_file: Option<Arc<PathBuf>>,
}

/// The key of the aliases of all the server.
pub(crate) static ALIASES: ServerKey<AuthnAliases> = ServerKey::new();

/// Providers with settings of their own, by name (`<AuthnProviderAlias>`).
#[derive(Clone, Debug, Default)]
pub(crate) struct AuthnAliases(pub(crate) Vec<(String, Arc<AuthnProvider>)>);

impl Merge for AuthnAliases {}

/// The provider of this name, if its module is there.
pub(crate) fn find(builder: &Builder, name: &str) -> Option<Arc<AuthnProvider>> {
    if name == FILE && builder.has_module(authn_file::MODULE.table.name) {
        return Some(Arc::default());
    }
    let aliases = &ALIASES.of(&builder.server.modules).0;
    aliases.iter().find(|row| row.0 == name).map(|row| row.1.clone())
}

const FILE: &str = "file";

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    auth_type: Option<ExpressionText>,
    auth_name: Option<ExpressionText>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self {
            auth_type: either(self.auth_type.as_ref(), outer.auth_type.as_ref()),
            auth_name: either(self.auth_name.as_ref(), outer.auth_name.as_ref()),
        }
    }
}

/// A way of logging in without rules is an error of the configuration.
fn open_to(settings: &site::Settings, _: Method) -> Option<bool> {
    SETTINGS.of(settings).auth_type.is_some().then_some(false)
}

/// `AuthType`; nothing is what `None` says, too.
pub(crate) fn auth_type(request: &RequestContext<'_>) -> Option<Vec<u8>> {
    let text = SETTINGS.of(&request.settings).auth_type.as_ref()?;
    let value = value(request, text, 2834, "AuthType")?;
    (!value.eq_ignore_ascii_case(b"None")).then_some(value)
}

/// `AuthName` as it stands between quotes (`ap_escape_quotes`).
pub(crate) fn auth_name(request: &RequestContext<'_>) -> Option<Vec<u8>> {
    let text = SETTINGS.of(&request.settings).auth_name.as_ref()?;
    let value = value(request, text, 2835, "AuthName")?;
    let mut escaped = Vec::with_capacity(value.len());
    // A field has one line, whatever an expression brings.
    let printable = |byte: u8| if matches!(byte, b'\r' | b'\n' | 0) { b' ' } else { byte };
    let mut bytes = value.into_iter().map(printable);
    while let Some(byte) = bytes.next() {
        match byte {
            // What is escaped already stays as it is.
            b'\\' => escaped.extend([Some(byte), bytes.next()].into_iter().flatten()),
            b'"' => escaped.extend(b"\\\""),
            _ => escaped.push(byte),
        }
    }
    Some(escaped)
}

fn value(
    request: &RequestContext<'_>,
    text: &ExpressionText,
    id: u32,
    name: &str,
) -> Option<Vec<u8>> {
    let error = match evaluate::text(text, request, None) {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    let text = format!("{name} expression could not be evaluated: {error}");
    request.log_recurring(Level::Error, "authn_core", Some(id), &text);
    None
}

/// The last to be asked who the client is: whoever asks for nothing is answered, and a type that no
/// module knows is an error (authenticate_no_user).
pub(crate) fn identify(request: &mut RequestContext<'_>) -> Result<Decision, Stop> {
    let Some(auth_type) = auth_type(request) else { return Ok(Decision::Accepted) };
    let auth_type = String::from_utf8_lossy(&auth_type);
    let text = format!("AuthType {auth_type} configured without corresponding module");
    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "authn_core", text.clone());
    Err(failure.id(1796).at_error().recurring(text).into())
}

/// Compile the expression of a line.
pub(crate) fn expression(builder: &Builder, call: &Call<'_>) -> Result<ExpressionText, Error> {
    let text = call.arg(0);
    ExpressionText::parse(text, mode(builder)).map_err(|error| {
        let text = format!("Cannot parse expression '{text}' in {}: {error}", call.name);
        Error::argument(0, text)
    })
}

/// The rules that expressions of this file have to keep to.
pub(crate) fn mode(builder: &Builder) -> Mode {
    builder.mode()
}

fn auth_type_line(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let text = expression(builder, call)?;
    SETTINGS.change(builder.settings()).auth_type = Some(text);
    Ok(())
}

fn auth_name_line(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let text = expression(builder, call)?;
    SETTINGS.change(builder.settings()).auth_name = Some(text);
    Ok(())
}

fn begin_alias(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let [provider, alias] = [0, 1].map(|nth| word(call, nth));
    if provider.is_empty() || alias.is_empty() {
        let text = format!("{}> directive requires additional arguments", call.name);
        return Err(text.into());
    }
    if provider.eq_ignore_ascii_case(&alias) {
        let text = "The alias provider name must be different from the base provider name.";
        return Err(text.into());
    }
    if find(builder, &alias).is_some() {
        let text = format!(
            "The alias provider {alias} has already be registered previously as either a base \
             provider or an alias provider."
        );
        return Err(text.into());
    }
    builder.enter_alias();
    Ok(())
}

/// A word of the opening line.
pub(crate) fn word(call: &Call<'_>, nth: usize) -> String {
    let mut words = config::lexer::LineWords::new(call.raw);
    words.nth(nth).map(|word| word.text).unwrap_or_default()
}

fn end_alias(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let Some(settings) = builder.leave_alias() else { return Ok(()) };
    let [name, alias] = [0, 1].map(|nth| word(call, nth));
    let Some(provider) = find(builder, &name) else {
        return Err(format!("Unknown Authn provider: {name}").into());
    };
    // What is set here goes before what holds where the alias is used, and an alias of an alias
    // adds to that.
    let file = authn_file::SETTINGS.of(&settings).user_file().cloned();
    let own = AuthnProvider { user_file: file.or(provider.user_file.clone()) };
    ALIASES.change(&mut builder.server.modules).0.push((alias, Arc::new(own)));
    Ok(())
}
