//! allowmethods: which request methods a place answers at all (mod_allowmethods).

use config::{Args, Call, Directive, Error, Scope};
use message::{Method, Status};
use server::failure::{Failure, Stop};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::settings as site;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "allowmethods_module",
    "mod_allowmethods.c",
    DIRECTIVES,
    Hooks { access: Some(Hook::Now(access)), open_to: Some(open_to), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "AllowMethods",
    args: Args::Argv,
    scope: Scope::ACCESS_CONF,
    default: "reset",
    help: "only allow specific methods",
    apply: allow_methods,
}];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings: a bit for each method.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// 0, as `reset` leaves it, allows all.
    allowed: Option<u32>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { allowed: self.allowed.or(outer.allowed) }
    }
}

impl Settings {
    /// Whether requests of this method are answered. Where there is a list, a method that the
    /// server does not know by name is not on it.
    pub(crate) fn allows(self, method: Option<Method>) -> bool {
        match self.allowed.unwrap_or(0) {
            0 => true,
            allowed => method.is_some_and(|method| allowed & bit(method) != 0),
        }
    }

    fn add(&mut self, words: &[String]) -> Result<(), (usize, String)> {
        if let [only] = words
            && only.eq_ignore_ascii_case("reset")
        {
            self.allowed = Some(0);
            return Ok(());
        }
        for (nth, word) in words.iter().enumerate() {
            let method = Method::parse(word.as_bytes());
            let method = method.ok_or((nth, format!("AllowMethods: Invalid Method '{word}'")))?;
            *self.allowed.get_or_insert_default() |= bit(method);
        }
        Ok(())
    }
}

/// To httpd HEAD is GET (http_protocol.c `lookup_builtin_method`).
fn bit(method: Method) -> u32 {
    let method = if method == Method::Head { Method::Get } else { method };
    1 << (method as u32)
}

fn allow_methods(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if call.args.is_empty() {
        return Err("AllowMethods: No method or 'reset' keyword given".into());
    }
    let added = SETTINGS.change(builder.settings()).add(call.args);
    added.map_err(|(nth, text)| Error::argument(nth, text))
}

/// The first of the access checks: what is not allowed here needs no further question.
pub(crate) fn access(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    if SETTINGS.of(&request.settings).allows(request.method()) {
        return Ok(());
    }
    let method = String::from_utf8_lossy(request.received().view().method());
    let path = request.display_path();
    let text = format!("client method denied by server configuration: '{method}' to {path}");
    Err(Failure::new(Status::METHOD_NOT_ALLOWED, "allowmethods", text).id(1623).at_error().into())
}

/// Whom a method is not allowed to is refused; the rest is for others to decide.
fn open_to(settings: &site::Settings, method: Method) -> Option<bool> {
    (!SETTINGS.of(settings).allows(Some(method))).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lines: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for line in lines {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            settings.add(&words).unwrap();
        }
        settings
    }

    #[test]
    fn only_what_is_listed_is_allowed() {
        for (lines, method, expected) in [
            (&[][..], "POST", true),
            (&[], "BREW", true),
            (&["GET POST"], "GET", true),
            (&["GET POST"], "HEAD", true),
            (&["HEAD"], "GET", true),
            (&["GET POST"], "PUT", false),
            (&["GET POST"], "BREW", false),
            (&["GET", "PUT"], "PUT", true),
            (&["GET", "reset"], "PUT", true),
            (&["Reset", "MERGE"], "MERGE", true),
            (&["Reset", "MERGE"], "GET", false),
        ] {
            let allows = settings(lines).allows(Method::parse(method.as_bytes()));
            assert_eq!(allows, expected, "{lines:?} {method}");
        }
    }

    #[test]
    fn inner_lists_replace_outer_ones() {
        let outer = settings(&["GET"]);
        for (inner, expected) in [(&[][..], false), (&["POST"], true), (&["reset"], true)] {
            let merged = settings(inner).over(&outer);
            assert_eq!(merged.allows(Some(Method::Post)), expected, "{inner:?}");
        }
    }

    #[test]
    fn unknown_methods_are_errors() {
        for word in ["get", "BREW", "+GET", ""] {
            let added = Settings::default().add(&["GET".to_owned(), word.to_owned()]);
            assert_eq!(added, Err((1, format!("AllowMethods: Invalid Method '{word}'"))));
        }
    }
}
