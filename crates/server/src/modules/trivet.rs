//! trivet: what httpd has no directive for. Each is documented here and off or safe by default.

use crate::failure::Failure;
use crate::lookup::Lookup;
use crate::phase::Stop;
use crate::site::builder::Builder;
use crate::site::settings::either;
use config::{Args, Call, Directive, Error, Module, Scope};
use message::Status;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "trivet_module", file: "mod_trivet.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "HiddenNames",
    args: Args::OneOrMore,
    scope: Scope::ANY_CONF,
    default: "none",
    help: "beginnings of names that are refused in any part of a path, or none",
    apply: hidden_names,
}];

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    hidden: Option<Vec<String>>,
}

impl Settings {
    pub(crate) fn over(&self, outer: &Self) -> Self {
        Self { hidden: either(self.hidden.as_ref(), outer.hidden.as_ref()) }
    }

    /// Whether a component of `path` begins with a hidden name, in any case of letters.
    pub(crate) fn hides(&self, path: &[u8]) -> bool {
        let Some(hidden) = &self.hidden else { return false };
        path.split(|byte| *byte == b'/').any(|component| {
            hidden.iter().any(|name| {
                component
                    .get(..name.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
            })
        })
    }
}

/// Refuse paths that hold a hidden name.
pub(crate) fn access(lookup: &mut Lookup<'_>) -> Result<(), Stop> {
    let settings = &lookup.settings.trivet;
    if settings.hides(&lookup.path) || settings.hides(&lookup.place.below) {
        let path = lookup.display_path();
        let text = format!("client denied by server configuration: {path} (HiddenNames)");
        return Err(Failure::new(Status::FORBIDDEN, "trivet", text).id(1630).at_error().into());
    }
    Ok(())
}

fn hidden_names(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let none = call.args.iter().all(|word| word.eq_ignore_ascii_case("none"));
    builder.settings().trivet.hidden = Some(if none { Vec::new() } else { call.args.to_vec() });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_are_found_in_every_part_of_a_path() {
        let settings = Settings { hidden: Some(vec![".ht".to_owned(), ".git".to_owned()]) };
        for path in ["/.htaccess", "/a/.HTpasswd", "/.git/config", "/a/.gitignore", "/.ht"] {
            assert!(settings.hides(path.as_bytes()), "{path}");
        }
        for path in ["/", "/a.ht", "/.h", "/git", "/.well-known/x"] {
            assert!(!settings.hides(path.as_bytes()), "{path}");
        }
    }
}
