//! env: variables of the environment that the configuration sets (mod_env). They are there from
//! the fixups on: for handlers, filters and logs.

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use server::failure::Stop;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use server::table::Table;
use std::os::unix::ffi::OsStrExt;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "env_module",
    "mod_env.c",
    DIRECTIVES,
    Hooks { fixup: Some(Hook::Now(fixup)), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("PassEnv", Args::OneOrMore, Scope::OR_FILEINFO, "", "a list of environment variables to pass to CGI.", pass_env),
    row("SetEnv", Args::OneOrTwo, Scope::OR_FILEINFO, "", "an environment variable name and optional value to pass to CGI.", set_env),
    row("UnsetEnv", Args::OneOrMore, Scope::OR_FILEINFO, "", "a list of variables to remove from the CGI environment.", unset_env),
];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    variables: Table,
    /// Names of outer sections that do not hold here.
    unset: Vec<String>,
}

impl Merge for Settings {
    /// Names are unset first, then set (merge_env_dir_configs). Sections are merged with each other
    /// before they are with the host: one that unsets keeps its list until there is something to
    /// unset.
    fn over(&self, outer: &Self) -> Self {
        if outer.variables.is_empty() && outer.unset.is_empty() {
            return self.clone();
        }
        let mut variables = outer.variables.clone();
        self.unset.iter().for_each(|name| variables.unset(name));
        self.variables.iter().for_each(|(name, value)| variables.set(name, value));
        Self { variables, unset: Vec::new() }
    }
}

fn pass_env(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    for (nth, name) in call.args.iter().enumerate() {
        let is_name = !name.is_empty() && !name.contains(['=', '\0']);
        match std::env::var_os(name).filter(|_| is_name) {
            Some(value) => {
                SETTINGS.change(builder.settings()).variables.set(name, value.as_bytes())
            }
            None => {
                let text = format!("PassEnv variable {name} was undefined");
                call.warn(Some("AH01506"), Error::argument(nth, text));
            }
        }
    }
    Ok(())
}

fn set_env(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let name = call.arg(0);
    if let Some((before, behind)) = name.split_once('=') {
        let text = format!(
            "Spurious usage of '=' in an environment variable name. '{} {before} {behind}' \
             expected instead?",
            call.name
        );
        call.warn(Some("AH10032"), Error::argument(0, text));
    }
    SETTINGS.change(builder.settings()).variables.set(name, call.arg(1));
    Ok(())
}

fn unset_env(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let env = SETTINGS.change(builder.settings());
    for name in call.args {
        env.variables.unset(name);
        env.unset.push(name.clone());
    }
    Ok(())
}

/// Fixup hook: what the request has brought about itself stays for all but scripts, and those who
/// see its variables with `REDIRECT_` before their names (fixup_env_module).
pub(crate) fn fixup(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = request.settings.clone();
    let variables = &SETTINGS.of(&settings).variables;
    if !variables.is_empty() {
        request.tables.env.add_below(variables);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(set: &[(&str, &str)], unset: &[&str]) -> Settings {
        let mut settings = Settings::default();
        set.iter().for_each(|row| settings.variables.set(row.0, row.1));
        settings.unset = unset.iter().map(|name| (*name).to_owned()).collect();
        settings
    }

    #[test]
    fn inner_sections_unset_what_outer_ones_have_set() {
        let outer = settings(&[("A", "1"), ("B", "2"), ("C", "3")], &[]);
        let merged = settings(&[("B", "4"), ("D", "5")], &["a", "D"]).over(&outer);
        let rows: Vec<_> = merged.variables.iter().collect();
        assert_eq!(rows, [("B", &b"4"[..]), ("C", b"3"), ("D", b"5")]);
        let folder = settings(&[], &["C"]).over(&Settings::default());
        assert!(!folder.over(&outer).variables.has("C"));
    }
}
