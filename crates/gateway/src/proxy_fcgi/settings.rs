//! What a place says about the applications that run its scripts: `ProxyFCGIBackendType` and
//! `ProxyFCGISetEnvIf`.

use super::NAME;
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use expr::Matches;
use logging::level::Level;
use server::evaluate;
use server::phase::condition;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::expression::{Expression, ExpressionText};
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use std::sync::Arc;

#[rustfmt::skip]
pub(crate) static DIRECTIVES: &[Directive<Builder>] = &[
    row("ProxyFCGIBackendType", Args::One, Scope::OR_FILEINFO, "FPM", "Specify the type of FastCGI server: 'Generic', 'FPM'", backend_type),
    row("ProxyFCGISetEnvIf", Args::TwoOrThree, Scope::OR_FILEINFO, "", "expr-condition env-name expr-value", set_env_if),
];

/// What kind of application it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackendType {
    /// PHP-FPM, which cuts `proxy:fcgi://...` off the name of the script.
    Fpm,
    /// One that takes the name as it is.
    Generic,
}

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings: `ProxyFCGIBackendType` and `ProxyFCGISetEnvIf`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    backend_type: Option<BackendType>,
    rules: Vec<Arc<FcgiEnvRule>>,
}

/// A line `ProxyFCGISetEnvIf`.
#[derive(Debug)]
struct FcgiEnvRule {
    condition: Expression,
    name: String,
    /// `None` takes the variable away.
    value: Option<ExpressionText>,
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    /// An inner section over an outer one, whose rules come first (fcgi_merge_dconf).
    fn over(&self, outer: &Self) -> Self {
        Self {
            backend_type: self.backend_type.or(outer.backend_type),
            rules: [&outer.rules[..], &self.rules].concat(),
        }
    }
}

impl Settings {
    /// Whether php-fpm may be what is asked.
    pub(crate) fn may_be_fpm(&self) -> bool {
        self.backend_type() == BackendType::Fpm
    }

    pub(super) fn backend_type(&self) -> BackendType {
        self.backend_type.unwrap_or(BackendType::Fpm)
    }

    /// Whether [`Self::fix`] has anything to do.
    pub(super) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Change the variables of a script, one rule after the other (fix_cgivars).
    pub(super) fn fix(&self, request: &mut RequestContext<'_>) {
        for rule in &self.rules {
            let mut matches = Matches::default();
            let value = match condition::holds_with_here(&rule.condition, request, &mut matches) {
                Ok(false) => continue,
                Ok(true) => {
                    let text = rule.value.as_ref();
                    text.map(|text| evaluate::text_with(text, request, &mut matches)).transpose()
                }
                Err(text) => Err(text),
            };
            match value {
                Ok(Some(value)) => request.tables.env.set(&rule.name, value),
                Ok(None) => request.tables.env.unset(&rule.name),
                Err(text) => {
                    let text = format!(
                        "Error evaluating expression for replacement of {}: '{text}'",
                        rule.name
                    );
                    request.log(Level::Info, NAME, Some(3514), &text);
                }
            }
        }
    }
}

fn backend_type(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let known = [("GENERIC", BackendType::Generic), ("FPM", BackendType::Fpm)];
    let found = known.iter().find(|row| row.0.eq_ignore_ascii_case(call.arg(0)));
    let text = "ProxyFCGIBackendType requires one of the following arguments: 'GENERIC', 'FPM'";
    let found = found.ok_or_else(|| Error::argument(0, text))?;
    SETTINGS.change(builder.settings()).backend_type = Some(found.1);
    Ok(())
}

fn set_env_if(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let mode = builder.mode();
    let unreadable = |at: usize, text: &str, error: String| {
        Error::argument(at, format!("Could not parse expression \"{text}\": {error}"))
    };
    let condition =
        Expression::parse(call.arg(0), mode).map_err(|error| unreadable(0, call.arg(0), error))?;
    let (name, text) = (call.arg(1), call.args.get(2).map(String::as_str));
    let (name, value) = match (name.strip_prefix('!'), text) {
        (Some(_), Some(text)) => {
            let text = format!(
                "Third argument (\"{text}\") is not allowed when using ProxyFCGISetEnvIf's unset \
                 mode ({name})"
            );
            return Err(Error::argument(2, text));
        }
        (Some(""), None) => {
            let text = "ProxyFCGISetEnvIf: \"!\" is not a valid variable name";
            return Err(Error::argument(1, text));
        }
        (Some(name), None) => (name, None),
        (None, text) => {
            let text = text.unwrap_or_default();
            let value =
                ExpressionText::parse(text, mode).map_err(|error| unreadable(2, text, error))?;
            (name, Some(value))
        }
    };
    let rule = FcgiEnvRule { condition, name: name.to_owned(), value };
    SETTINGS.change(builder.settings()).rules.push(Arc::new(rule));
    Ok(())
}
