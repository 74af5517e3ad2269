//! actions: a script for a media type, a handler or a method, by internal redirect (mod_actions).

use config::{Args, Call, Directive, Error, Scope};
use message::Status;
use message::path::encode;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use std::borrow::Cow;
use std::rc::Rc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "actions_module",
    "mod_actions.c",
    DIRECTIVES,
    Hooks { resolve: Some(Hook::Now(resolve)), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "Action",
        args: Args::TwoOrThree,
        scope: Scope::OR_FILEINFO,
        default: "",
        help: "a media type followed by a script name",
        apply: action,
    },
    Directive {
        name: "Script",
        args: Args::Two,
        scope: Scope::ANY_CONF,
        default: "",
        help: "a method followed by a script name",
        apply: script,
    },
];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// By media type or handler.
    actions: Vec<(String, Action)>,
    /// By method; HEAD is GET.
    scripts: Vec<(String, String)>,
}

/// What `Action` says.
#[derive(Clone, Debug)]
struct Action {
    script: String,
    /// There need not be a file.
    is_virtual: bool,
}

impl Merge for Settings {
    /// Each name on its own (mod_actions.c, merge_action_dir_configs).
    fn over(&self, outer: &Self) -> Self {
        Self {
            actions: [&self.actions[..], &outer.actions].concat(),
            scripts: [&self.scripts[..], &outer.scripts].concat(),
        }
    }
}

impl Settings {
    fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| &row.1)
    }

    /// The script for a method; one for GET is only for requests with a query.
    fn script(&self, method: &str, has_query: bool) -> Option<&str> {
        let method = if method == "HEAD" { "GET" } else { method };
        let row = self.scripts.iter().find(|row| row.0 == method)?;
        (method != "GET" || has_query).then_some(row.1.as_str())
    }
}

/// Sets a row, whatever it was: the last line of a section counts.
fn set<T>(rows: &mut Vec<(String, T)>, name: &str, value: T) {
    rows.retain(|row| !row.0.eq_ignore_ascii_case(name));
    rows.push((name.to_owned(), value));
}

fn action(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let option = call.args.get(2);
    if let Some(word) = option.filter(|word| !word.eq_ignore_ascii_case("virtual")) {
        return Err(Error::argument(2, format!("unrecognized option '{word}'")));
    }
    let action = Action { script: call.arg(1).to_owned(), is_virtual: option.is_some() };
    set(&mut SETTINGS.change(builder.settings()).actions, call.arg(0), action);
    Ok(())
}

fn script(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let method = match call.arg(0) {
        "TRACE" => return Err(Error::argument(0, "TRACE not allowed for Script")),
        "HEAD" => "GET",
        method => method,
    };
    let scripts = &mut SETTINGS.change(builder.settings()).scripts;
    scripts.retain(|row| row.0 != method);
    scripts.push((method.to_owned(), call.arg(1).to_owned()));
    Ok(())
}

/// Resolve hook, behind all handlers but that of plain files (mod_actions.c, action_handler).
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let settings = request.settings.clone();
    let settings = SETTINGS.of(&settings);
    if settings.actions.is_empty() && settings.scripts.is_empty() {
        return Ok(None);
    }
    let received = request.received().clone();
    let method = match request.method() {
        Some(method) => Cow::Borrowed(method.as_str()),
        None => String::from_utf8_lossy(received.view().method()),
    };
    let by_method = settings.script(&method, request.query().is_some());
    if by_method.is_some() && request.lineage.redirects > 1 {
        return Ok(None); // the script is not there, and would be asked for again and again
    }
    let name = handler_name::effective(request)?.map(Cow::into_owned);
    let action = name.as_ref().and_then(|name| settings.action(name));
    let Some(target) = action.map(|action| action.script.as_str()).or(by_method) else {
        return Ok(None);
    };
    if let (Some(action), Some(name)) = (action, name) {
        if !action.is_virtual && request.kind().is_none() {
            let text = format!("File does not exist: {}", request.display_path());
            return Err(Failure::new(Status::NOT_FOUND, "actions", text).id(652).into());
        }
        // It becomes REDIRECT_HANDLER for the script.
        request.tables.env.set("HANDLER", name);
        if action.is_virtual {
            request.tables.notes.set("virtual_script", "1");
        }
    }
    let mut url = target.as_bytes().to_vec();
    encode(&request.path, &mut url);
    if let Some(query) = request.query() {
        url.push(b'?');
        url.extend_from_slice(query);
    }
    Err(phase::internal(&url))
}
