//! What may stand behind `Require`: the providers of all authorization modules in one table. The
//! modules know how each decides; how decisions are put together is not known here.

use super::Methods;
use crate::require::AuthzStatus;
use crate::{authn_core, authz_groupfile, authz_host, authz_owner, authz_user};
use config::{Error, lexer::LineWords};
use expr::Subnet;
use message::{Method, Status};
use server::failure::Failure;
use server::phase::condition;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::expression::{Expression, ExpressionText};
use server::site::settings::ServerKey;
use server::site::store::Merge;
use server::waiting::{NowOrLater, Waiting};
use std::path::PathBuf;
use std::sync::Arc;

/// The module that brings what needs no other.
pub(super) const MODULE_NAME: &str = "authz_core_module";

/// A provider with its arguments.
#[derive(Clone, Debug)]
pub(crate) enum AuthzProvider {
    All(bool),
    Env(Vec<String>),
    Method(Methods),
    Expr { expression: Expression, asks_for_user: bool },
    Ip(Vec<Subnet>),
    Host { text: ExpressionText, written: String },
    ForwardDns(ExpressionText),
    Local,
    User(ExpressionText),
    ValidUser,
    Group(ExpressionText),
    FileGroup,
    FileOwner,
    Alias(Arc<AuthzAlias>),
}

/// The key of the aliases of all the server.
pub(super) static ALIASES: ServerKey<AuthzAliases> = ServerKey::new();

/// Providers with settings of their own, by name (`<AuthzProviderAlias>`).
#[derive(Clone, Debug, Default)]
pub(super) struct AuthzAliases(pub(super) Vec<(String, Arc<AuthzAlias>)>);

impl Merge for AuthzAliases {}

/// A provider with settings of its own (`<AuthzProviderAlias>`).
#[derive(Clone, Debug)]
pub(crate) struct AuthzAlias {
    pub(crate) provider: AuthzProvider,
    /// Goes before `AuthGroupFile`.
    pub(crate) group_file: Option<Arc<PathBuf>>,
}

/// Reads the arguments of a provider.
type Parse = fn(&Builder, &str) -> Result<AuthzProvider, String>;

/// Every provider: its name, its module, and how its arguments are read.
const PROVIDERS: &[(&str, &str, Parse)] = &[
    ("all", MODULE_NAME, all),
    ("env", MODULE_NAME, env),
    ("method", MODULE_NAME, method),
    ("expr", MODULE_NAME, expression),
    ("ip", authz_host::MODULE.table.name, |_, text| {
        Ok(AuthzProvider::Ip(authz_host::networks(text)?))
    }),
    ("host", authz_host::MODULE.table.name, |builder, text| {
        Ok(AuthzProvider::Host { text: parse_text(builder, text)?, written: text.to_owned() })
    }),
    ("forward-dns", authz_host::MODULE.table.name, |builder, text| {
        Ok(AuthzProvider::ForwardDns(parse_text(builder, text)?))
    }),
    ("local", authz_host::MODULE.table.name, |_, _| Ok(AuthzProvider::Local)),
    ("user", authz_user::MODULE.table.name, |builder, text| {
        Ok(AuthzProvider::User(parse_text(builder, text)?))
    }),
    ("valid-user", authz_user::MODULE.table.name, |_, _| Ok(AuthzProvider::ValidUser)),
    ("group", authz_groupfile::MODULE.table.name, |builder, text| {
        Ok(AuthzProvider::Group(parse_text(builder, text)?))
    }),
    ("file-group", authz_groupfile::MODULE.table.name, |_, _| Ok(AuthzProvider::FileGroup)),
    ("file-owner", authz_owner::MODULE.table.name, |_, _| Ok(AuthzProvider::FileOwner)),
];

/// The provider of this name with these arguments.
///
/// # Errors
/// httpd's text for a name that nobody has brought, or for arguments that make no sense.
pub(super) fn parse(builder: &Builder, name: &str, text: &str) -> Result<AuthzProvider, Error> {
    let has = |symbol| builder.has_module(symbol);
    if let Some(row) = PROVIDERS.iter().find(|row| row.0 == name && has(row.1)) {
        return row.2(builder, text).map_err(Error::from);
    }
    // The last one of a name counts.
    let alias = ALIASES.of(&builder.server.modules).0.iter().rev().find(|row| row.0 == name);
    match alias {
        Some((_, alias)) => Ok(AuthzProvider::Alias(alias.clone())),
        None => Err(Error::argument(0, format!("Unknown Authz provider: {name}"))),
    }
}

fn parse_text(builder: &Builder, text: &str) -> Result<ExpressionText, String> {
    ExpressionText::parse(text, authn_core::mode(builder))
        .map_err(|error| format!("Cannot parse expression in require line: {error}"))
}

fn all(_: &Builder, text: &str) -> Result<AuthzProvider, String> {
    match text {
        text if text.eq_ignore_ascii_case("granted") => Ok(AuthzProvider::All(true)),
        text if text.eq_ignore_ascii_case("denied") => Ok(AuthzProvider::All(false)),
        _ => Err("Argument for 'Require all' must be 'granted' or 'denied'".into()),
    }
}

fn env(_: &Builder, text: &str) -> Result<AuthzProvider, String> {
    Ok(AuthzProvider::Env(LineWords::new(text).map(|word| word.text).collect()))
}

fn method(_: &Builder, text: &str) -> Result<AuthzProvider, String> {
    let mut methods = Methods::default();
    for word in LineWords::new(text) {
        let method = Method::parse(word.text.as_bytes());
        methods.add(method.ok_or_else(|| format!("Invalid Method '{}'", word.text))?);
    }
    Ok(AuthzProvider::Method(methods))
}

fn expression(builder: &Builder, text: &str) -> Result<AuthzProvider, String> {
    // Quotes around all of it are taken off.
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let expression = Expression::parse(bare, authn_core::mode(builder))
        .map_err(|error| format!("Cannot parse expression in require line: {error}"))?;
    let asks_for_user = expression.asks_for_user();
    Ok(AuthzProvider::Expr { expression, asks_for_user })
}

impl AuthzProvider {
    /// What it says about a request. `group_file` goes before that of the settings.
    pub(super) fn check<'l>(
        &'l self,
        request: &'l RequestContext<'_>,
        group_file: Option<&'l Arc<PathBuf>>,
    ) -> Waiting<'l, AuthzStatus> {
        if !matches!(self, Self::All(_) | Self::Method(_)) {
            request.mark_personal();
        }
        NowOrLater::Now(Ok(match self {
            Self::All(granted) => AuthzStatus::granted(*granted),
            Self::Env(names) => AuthzStatus::granted(
                names.iter().any(|name| request.tables.env.get(name).is_some()),
            ),
            Self::Method(methods) => AuthzStatus::granted(methods.has(request.method())),
            Self::Expr { expression, asks_for_user } => {
                return check_expression(request, expression, *asks_for_user);
            }
            Self::Ip(networks) => {
                AuthzStatus::granted(authz_host::is_in(networks, request.client()))
            }
            Self::Host { text, written } => return authz_host::check_host(request, text, written),
            Self::ForwardDns(text) => return authz_host::check_forward_dns(request, text),
            Self::Local => AuthzStatus::granted(authz_host::is_local(request)),
            Self::User(text) => authz_user::check(request, text),
            Self::ValidUser if request.authentication.user.is_none() => AuthzStatus::DeniedNoUser,
            Self::ValidUser => AuthzStatus::Granted,
            Self::Group(text) => return authz_groupfile::check_group(request, group_file, text),
            Self::FileGroup => return authz_groupfile::check_file_group(request, group_file),
            Self::FileOwner => authz_owner::check(request),
            Self::Alias(alias) => {
                let group_file = alias.group_file.as_ref().or(group_file);
                return alias.provider.check(request, group_file);
            }
        }))
    }
}

fn check_expression<'l>(
    request: &'l RequestContext<'_>,
    expression: &'l Expression,
    asks_for_user: bool,
) -> Waiting<'l, AuthzStatus> {
    condition::holds(expression, request, None).map(move |holds| match holds {
        Ok(true) => Ok(AuthzStatus::Granted),
        Ok(false) if asks_for_user => Ok(AuthzStatus::DeniedNoUser),
        Ok(false) => Ok(AuthzStatus::Denied),
        Err(error) => {
            let text = format!("Error evaluating expression in 'Require expr': {error}");
            let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "authz_core", text.clone());
            Err(failure.id(2320).at_error().recurring(text).into())
        }
    })
}
