//! trivet: what httpd has no directive for. Each is documented here and off or safe by default.

use crate::diagnostic;
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope, args};
use gateway::cgi::manage::SCRIPTS_MAX;
use message::Status;
use server::failure::{Failure, Stop};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::script::body::{BUFFERING, BUFFERING_BYTES};
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "trivet_module",
    "mod_trivet.c",
    DIRECTIVES,
    Hooks {
        guard: Some(Hook::Now(access)),
        // A listing asks about hidden names itself, before anybody is asked who may see them.
        open_to: Some(|_, _| None),
        resolve: Some(Hook::Now(diagnostic::resolve)),
        ..Hooks::NONE
    },
)
.always();

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("HiddenNames", Args::OneOrMore, Scope::ANY_CONF, "none", "prefixes of names that are refused in any segment of a path, or none", hidden_names),
    row("CGIMaxProcesses", Args::One, Scope::SERVER, "auto", "How many CGI scripts may run at once; the same number may wait, for 5 seconds at most, and all others get 503. auto derives the number from memory", cgi_max_processes),
    row("RequestBuffering", Args::One, Scope::ANY_CONF, "16M", "How much of a request body must have arrived before a script is run: a number of bytes, optionally with K, M or G, or Off", request_buffering),
    row("RequestSpoolDir", Args::One, Scope::SERVER, "TMPDIR, else /var/tmp", "The directory for request bodies that are too large for memory", request_spool_dir),
    row("RequestSpoolMaxSize", Args::One, Scope::SERVER, "auto", "The total size of all request bodies in RequestSpoolDir: a number of bytes, optionally with K, M or G, or auto", request_spool_max_size),
    row("ResponseSharing", Args::Flag, Scope::SERVER, "On", "Whether responses, and what was looked up for scripts, are reused for requests that ask for the same", response_sharing),
];

/// More than a machine can bear, but somebody may know better than `auto`.
const CGI_PROCESSES_MAX: u64 = 4096;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    hidden: Option<Vec<String>>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { hidden: either(self.hidden.as_ref(), outer.hidden.as_ref()) }
    }
}

impl Settings {
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
pub(crate) fn access(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = SETTINGS.of(&request.settings);
    if settings.hides(&request.path) || settings.hides(&request.mapping.place.below) {
        let path = request.display_path();
        let text = format!("client denied by server configuration: {path} (HiddenNames)");
        return Err(Failure::new(Status::FORBIDDEN, "trivet", text).id(1630).at_error().into());
    }
    Ok(())
}

fn hidden_names(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let none = call.args.iter().all(|word| word.eq_ignore_ascii_case("none"));
    SETTINGS.change(builder.settings()).hidden =
        Some(if none { Vec::new() } else { call.args.to_vec() });
    Ok(())
}

fn cgi_max_processes(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SCRIPTS_MAX.change(&mut builder.server.modules).0 = match call.arg(0) {
        word if word.eq_ignore_ascii_case("auto") => None,
        _ => Some(usize::try_from(args::number(call, 0, 1..=CGI_PROCESSES_MAX)?).unwrap_or(1)),
    };
    Ok(())
}

fn request_buffering(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let buffering = match call.arg(0) {
        word if word.eq_ignore_ascii_case("on") => Some(BUFFERING_BYTES),
        word if word.eq_ignore_ascii_case("off") => None,
        _ => Some(args::bytes(call, 0)?),
    };
    BUFFERING.change(builder.settings()).0 = Some(buffering);
    Ok(())
}

fn request_spool_dir(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let folder = builder.server_path(call.arg(0));
    if !folder.is_dir() {
        let text = format!("RequestSpoolDir: {} is not a directory", folder.display());
        return Err(Error::argument(0, text));
    }
    builder.server.spool.folder = Some(folder);
    Ok(())
}

fn response_sharing(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.shares_responses = Some(call.on());
    Ok(())
}

fn request_spool_max_size(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.spool.files_bytes = match call.arg(0) {
        word if word.eq_ignore_ascii_case("auto") => None,
        _ => Some(args::bytes(call, 0)?),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_are_found_in_every_part_of_a_path() {
        let hidden = Some(vec![".ht".to_owned(), ".git".to_owned()]);
        let settings = Settings { hidden };
        for path in ["/.htaccess", "/a/.HTpasswd", "/.git/config", "/a/.gitignore", "/.ht"] {
            assert!(settings.hides(path.as_bytes()), "{path}");
        }
        for path in ["/", "/a.ht", "/.h", "/git", "/.well-known/x"] {
            assert!(!settings.hides(path.as_bytes()), "{path}");
        }
    }
}
