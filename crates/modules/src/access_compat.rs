//! access_compat: who may see what, as it was said before `Require` (mod_access_compat).

use crate::authz_core::Methods;
use crate::authz_host::{self, BadNetwork};
use config::{Args, Call, Directive, Error, Scope, args};
use expr::Subnet;
use message::{Method, Status};
use server::failure::{Failure, Stop};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::settings as site;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};
use server::waiting::{self, NowOrLater, Waiting};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "access_compat_module",
    "mod_access_compat.c",
    DIRECTIVES,
    Hooks {
        access: Some(Hook::Waits(access)),
        satisfies_any: Some(satisfies_any),
        open_to: Some(open_to),
        ..Hooks::NONE
    },
);

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "order",
        args: Args::One,
        scope: Scope::OR_LIMIT,
        default: "deny,allow",
        help: "'allow,deny', 'deny,allow', or 'mutual-failure'",
        apply: order,
    },
    Directive {
        name: "allow",
        args: Args::TwoOrMore,
        scope: Scope::OR_LIMIT,
        default: "",
        help: "'from' followed by hostnames or IP-address wildcards",
        apply: |builder, call| add(builder, call, |lists| &mut lists.allows),
    },
    Directive {
        name: "deny",
        args: Args::TwoOrMore,
        scope: Scope::OR_LIMIT,
        default: "",
        help: "'from' followed by hostnames or IP-address wildcards",
        apply: |builder, call| add(builder, call, |lists| &mut lists.denies),
    },
    Directive {
        name: "Satisfy",
        args: Args::One,
        scope: Scope::OR_AUTHCFG,
        default: "All",
        help: "access policy if both allow and require used ('all' or 'any')",
        apply: satisfy,
    },
];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings. A section that says anything of this replaces all of it: the module has
/// no merge function in httpd.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    lists: Option<Arc<Lists>>,
}

/// What a section says.
#[derive(Clone, Debug, Default)]
struct Lists {
    /// Methods with another order than `deny,allow`: who is not allowed is denied.
    allow_deny: Methods,
    /// Methods with `Satisfy Any`.
    any: Methods,
    allows: Vec<AccessEntry>,
    denies: Vec<AccessEntry>,
}

#[derive(Clone, Debug)]
struct AccessEntry {
    methods: Methods,
    who: Who,
}

#[derive(Clone, Debug)]
enum Who {
    All,
    Env { name: String, is_set: bool },
    Network(Subnet),
    Domain(String),
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { lists: either(self.lists.as_ref(), outer.lists.as_ref()) }
    }
}

/// Whether `Satisfy Any` holds for the method of the request.
fn satisfies_any(request: &RequestContext<'_>) -> bool {
    let lists = SETTINGS.of(&request.settings).lists.as_ref();
    lists.is_some_and(|lists| lists.any.has(request.method()))
}

/// Where a line is, the client is looked at.
fn open_to(settings: &site::Settings, _: Method) -> Option<bool> {
    SETTINGS.of(settings).lists.is_some().then_some(false)
}

/// Refuse whom the lists do not let in (check_dir_access).
pub(crate) fn access<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let request = &*request;
    let Some(lists) = &SETTINGS.of(&request.settings).lists else { return NowOrLater::Now(Ok(())) };
    // Who is in the first list and not in the second, or not in the first or in the second.
    let is_allow_deny = lists.allow_deny.has(request.method());
    let (first, second) = match is_allow_deny {
        true => (&lists.allows, &lists.denies),
        false => (&lists.denies, &lists.allows),
    };
    let is_let_in = find(request, first).and_then(move |is_in_first| match is_in_first {
        true => find(request, second).map(move |found| Ok(found? != is_allow_deny)),
        false => NowOrLater::Now(Ok(!is_allow_deny)),
    });
    is_let_in.map(|is_let_in| if is_let_in? { Ok(()) } else { Err(denied(request)) })
}

fn denied(request: &RequestContext<'_>) -> Stop {
    let text = format!("client denied by server configuration: {}", request.display_path());
    Failure::new(Status::FORBIDDEN, "access_compat", text).id(1797).at_error().into()
}

/// Whether any entry is about this request (find_allowdeny).
fn find<'l>(request: &'l RequestContext<'_>, entries: &'l [AccessEntry]) -> Waiting<'l, bool> {
    let meant = entries.iter().filter(|entry| entry.methods.has(request.method()));
    let found = waiting::first(meant, |entry| {
        let is_about = |matches| match matches {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        NowOrLater::Now(Ok(is_about(match &entry.who {
            Who::All => true,
            Who::Env { name, is_set } => {
                request.mark_personal();
                request.tables.env.get(name).is_some() == *is_set
            }
            Who::Network(network) => network.contains(request.client()),
            Who::Domain(domain) => {
                return authz_host::client_name(request).map(move |name| {
                    let is_in =
                        |name: String| authz_host::in_domain(domain.as_bytes(), name.as_bytes());
                    Ok(is_about(name?.is_some_and(is_in)))
                });
            }
        })))
    });
    found.map(|found| Ok(found?.is_some()))
}

/// What the section that is open says so far.
fn lists(builder: &mut Builder) -> &mut Lists {
    Arc::make_mut(SETTINGS.change(builder.settings()).lists.get_or_insert_default())
}

fn order(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    // `allow,deny` and `mutual-failure` are two names of one thing.
    let words = [("allow,deny", true), ("deny,allow", false), ("mutual-failure", true)];
    let allow_deny =
        args::keyword(call, 0, &words).map_err(|error| error.reworded("unknown order"))?;
    let methods = Methods::limited(builder.limited());
    let lists = lists(builder);
    lists.allow_deny = lists.allow_deny.without(methods);
    if allow_deny {
        lists.allow_deny = lists.allow_deny.with(methods);
    }
    Ok(())
}

fn satisfy(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let any = args::keyword(call, 0, &[("all", false), ("any", true)])
        .map_err(|error| error.reworded("Satisfy either 'any' or 'all'."))?;
    let methods = Methods::limited(builder.limited());
    let lists = lists(builder);
    lists.any = lists.any.without(methods);
    if any {
        lists.any = lists.any.with(methods);
    }
    Ok(())
}

fn add(
    builder: &mut Builder,
    call: &Call<'_>,
    list: fn(&mut Lists) -> &mut Vec<AccessEntry>,
) -> Result<(), Error> {
    // httpd looks at the first word with each of the others, and `""` is none.
    if call.args.len() > 1 && !call.arg(0).eq_ignore_ascii_case("from") {
        return Err(Error::argument(0, "allow and deny must be followed by 'from'"));
    }
    let methods = Methods::limited(builder.limited());
    for (nth, word) in call.args.iter().enumerate().skip(1) {
        let who = who(word).map_err(|text| Error::argument(nth, text))?;
        list(lists(builder)).push(AccessEntry { methods, who });
    }
    Ok(())
}

/// Whom a word is about (allow_cmd).
fn who(word: &str) -> Result<Who, &'static str> {
    let behind = |prefix: &str| {
        let start = word.get(..prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then(|| word[prefix.len()..].to_owned())
    };
    if let Some(name) = behind("env=!") {
        return Ok(Who::Env { name, is_set: false });
    }
    if let Some(name) = behind("env=") {
        return Ok(Who::Env { name, is_set: true });
    }
    if word.eq_ignore_ascii_case("all") {
        return Ok(Who::All);
    }
    match authz_host::network(word) {
        Ok(network) => Ok(Who::Network(network)),
        Err(BadNetwork::NoAddress) if word.contains('/') => Err("An IP address was expected"),
        Err(BadNetwork::NoAddress) if word.contains('#') => Err("No comments are allowed here"),
        Err(BadNetwork::NoAddress) => Ok(Who::Domain(word.to_owned())),
        Err(bad) => Err(bad.why()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_everybody_a_variable_a_network_or_a_domain() {
        let shown = |word: &str| who(word).map(|who| format!("{who:?}"));
        for (word, start) in [
            ("All", "All"),
            ("env=x", "Env { name: \"x\", is_set: true }"),
            ("ENV=!x", "Env { name: \"x\", is_set: false }"),
            ("10.1", "Network(V4"),
            ("fe80::/10", "Network(V6"),
            ("example.org", "Domain"),
            ("10x", "Domain"),
        ] {
            assert!(shown(word).unwrap().starts_with(start), "{word}");
        }
        assert_eq!(shown("a/8"), Err("An IP address was expected"));
        assert_eq!(shown("a#b"), Err("No comments are allowed here"));
        assert_eq!(shown("10.0.0.0/99"), Err("The specified network mask is invalid."));
        assert_eq!(shown("300"), Err("The specified IP address is invalid."));
    }
}
