//! dir: what a URL that names a folder answers: an index file, or a redirect to its slash
//! (mod_dir).

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use message::{Method, Status};
use runtime::file::{Errno, FileType};
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::request_context::{Query, RequestContext};
use server::site::builder::Builder;
use server::site::config_place::ConfigPlace;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};
use server::steps::StepKind;
use server::waiting::{NowOrLater, Waiting};

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "dir_module",
    "mod_dir.c",
    DIRECTIVES,
    Hooks { fixup: Some(Hook::Waits(fixup)), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("DirectoryIndex", Args::Any, Scope::OR_INDEXES, "index.html", "a list of file names", directory_index),
    row("DirectorySlash", Args::Flag, Scope::OR_INDEXES, "On", "On or Off", directory_slash),
    row("DirectoryCheckHandler", Args::Flag, Scope::OR_INDEXES, "Off", "On or Off", directory_check_handler),
    row("DirectoryIndexRedirect", Args::One, Scope::OR_INDEXES, "off", "On, Off, or a 3xx status code.", directory_index_redirect),
    row("FallbackResource", Args::One, Scope::OR_INDEXES, "disabled", "Set a default handler", fallback_resource),
];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    index: Option<Vec<String>>,
    slash: Option<bool>,
    check_handler: Option<bool>,
    /// `Some(None)` is off.
    index_redirect: Option<Option<Status>>,
    /// `Some(None)` is `disabled`.
    fallback: Option<Option<String>>,
    /// Where the last lines with `index` and `fallback` stand.
    index_place: Option<ConfigPlace>,
    fallback_place: Option<ConfigPlace>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self {
            index: either(self.index.as_ref(), outer.index.as_ref()),
            slash: self.slash.or(outer.slash),
            check_handler: self.check_handler.or(outer.check_handler),
            index_redirect: self.index_redirect.or(outer.index_redirect),
            fallback: either(self.fallback.as_ref(), outer.fallback.as_ref()),
            index_place: either(self.index_place.as_ref(), outer.index_place.as_ref()),
            fallback_place: either(self.fallback_place.as_ref(), outer.fallback_place.as_ref()),
        }
    }
}

impl Settings {
    /// Names to try, in order.
    pub(crate) fn index(&self) -> impl Iterator<Item = &str> {
        let default: &[String] = &[];
        let names = self.index.as_deref().unwrap_or(default).iter().map(String::as_str);
        names.chain(self.index.is_none().then_some("index.html"))
    }

    /// Whether a folder without its slash is redirected.
    fn redirects_to_slash(&self) -> bool {
        self.slash.unwrap_or(true)
    }

    fn checks_handler(&self) -> bool {
        self.check_handler.unwrap_or(false)
    }

    fn index_redirect(&self) -> Option<Status> {
        self.index_redirect.flatten()
    }

    fn fallback(&self) -> Option<&str> {
        self.fallback.as_ref()?.as_deref()
    }
}

fn directory_index(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    // As in mod_dir a line adds to the list of its own section; `disabled` alone empties it.
    let settings = SETTINGS.change(builder.settings());
    settings.index_place = Some((&call.position()).into());
    let index = &mut settings.index;
    let [only] = call.args else {
        index.get_or_insert_default().extend(call.args.iter().cloned());
        return Ok(());
    };
    if only.eq_ignore_ascii_case("disabled") {
        *index = Some(Vec::new());
    } else {
        index.get_or_insert_default().push(only.clone());
    }
    Ok(())
}

fn directory_slash(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).slash = Some(call.on());
    Ok(())
}

fn directory_check_handler(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).check_handler = Some(call.on());
    Ok(())
}

/// mod_dir.c, configure_redirect
fn directory_index_redirect(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let status = match call.arg(0).to_ascii_lowercase().as_str() {
        "on" | "temp" => Some(Status::FOUND),
        "off" => None,
        "permanent" => Some(Status::MOVED_PERMANENTLY),
        "seeother" => Some(Status::SEE_OTHER),
        word => {
            let code = word.parse().ok().filter(|code| (300..=399).contains(code));
            let text = match word.as_bytes()[0].is_ascii_digit() {
                true => "DirectoryIndexRedirect only accepts values between 300 and 399",
                false => "DirectoryIndexRedirect ON|OFF|permanent|temp|seeother|3xx",
            };
            Some(code.and_then(Status::new).ok_or_else(|| Error::argument(0, text))?)
        }
    };
    SETTINGS.change(builder.settings()).index_redirect = Some(status);
    Ok(())
}

fn fallback_resource(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let url = call.arg(0);
    let is_disabled = url.eq_ignore_ascii_case("disabled");
    let settings = SETTINGS.change(builder.settings());
    settings.fallback = Some((!is_disabled).then(|| url.to_owned()));
    settings.fallback_place = Some((&call.position()).into());
    Ok(())
}

/// Fixup hook: the slash of a folder, its index file, and what answers for what is not there.
pub(crate) fn fixup<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    if request.is_folder() {
        return NowOrLater::later(folder(request));
    }
    match wants_fallback(request) {
        Ok(true) => NowOrLater::later(fallback(request)),
        Ok(false) => NowOrLater::Now(Ok(())),
        Err(stop) => NowOrLater::Now(Err(stop)),
    }
}

async fn folder(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    if !request.path.ends_with(b"/") {
        // Clients such as those with `redirect-carefully` lose the method of other requests.
        let is_get = request.method().is_some_and(Method::is_get_or_head);
        let is_careful = !is_get && request.tables.env.has("redirect-carefully");
        if SETTINGS.of(&request.settings).redirects_to_slash() && !is_careful {
            let text = || "DirectorySlash: the URL of a directory ends with a slash".into();
            request.explain(StepKind::Place, text);
            return Err(
                Failure::redirect(Status::MOVED_PERMANENTLY, slash_location(request)).into()
            );
        }
        return Ok(());
    }
    // Rules have found another URL.
    if request.mapping.redirect.is_some() {
        return Ok(());
    }
    let settings = request.settings.clone();
    if SETTINGS.of(&settings).checks_handler() && handler_name::configured(request)?.is_some() {
        return Ok(());
    }
    if SETTINGS.of(&settings).index().next().is_none() {
        return Ok(()); // `DirectoryIndex disabled`: mod_dir.c has no fallback for the folder, too
    }
    let mut refused = None;
    for name in SETTINGS.of(&settings).index() {
        let mut found = match phase::sub_request(request, name.as_bytes(), Query::Inherited) {
            Ok(found) => found,
            Err(stop) => {
                keep_refusal(&mut refused, stop)?;
                continue;
            }
        };
        match phase::process(&mut found).await {
            Ok(()) if is_answer(&found) => {
                if let Some(status) = SETTINGS.of(&settings).index_redirect() {
                    return Err(index_redirect(request, status, &found).into());
                }
                let text = || format!("DirectoryIndex: {name} answers");
                explain(request, SETTINGS.of(&settings).index_place.as_ref(), text);
                request.adopt(found);
                return Ok(());
            }
            // An index file that answers elsewhere does so for the folder as well.
            Err(stop @ Stop::Internal(..)) if is_answer(&found) => {
                found.note_place();
                request.adopt(found);
                return Err(stop);
            }
            Ok(()) | Err(Stop::Internal(..)) => {
                let text = || format!("DirectoryIndex: no {name} is there");
                explain(request, SETTINGS.of(&settings).index_place.as_ref(), text);
            }
            Err(stop) => keep_refusal(&mut refused, stop)?,
        }
        // A better one may come to be there.
        found.note_place();
    }
    if let Some(stop) = refused {
        return Err(stop);
    }
    // For whoever says that there is none.
    let tried: Vec<&str> = SETTINGS.of(&settings).index().collect();
    request.tables.notes.set("dir-index-names", tried.join(","));
    match wants_fallback(request)? {
        true => fallback(request).await,
        false => Ok(()),
    }
}

/// Tell what a line has led to, or the default where there is none.
fn explain(
    request: &RequestContext<'_>,
    place: Option<&ConfigPlace>,
    text: impl FnOnce() -> String,
) {
    match place {
        Some(place) => request.explain_line(StepKind::Place, place, text),
        None => request.explain(StepKind::Place, text),
    }
}

/// Keep the last refusal; that nothing is there is none. Where a client is sent elsewhere no other
/// file is looked for.
fn keep_refusal(refused: &mut Option<Stop>, stop: Stop) -> Result<(), Stop> {
    match stop {
        Stop::Failure(failure) if failure.status == Status::NOT_FOUND => {}
        Stop::Failure(failure) if failure.status.is_redirection() => return Err(failure.into()),
        stop => *refused = Some(stop),
    }
    Ok(())
}

/// Whether an index file is there, or something that needs none. As in httpd one that may not be
/// read is one as well: a script perhaps, and else refused.
fn is_answer(found: &RequestContext<'_>) -> bool {
    phase::is_regular(found) || found.mapping.backend.is_some()
}

/// Whether `FallbackResource` answers: nothing else is there (mod_dir.c, fixup_dflt).
fn wants_fallback(request: &RequestContext<'_>) -> Result<bool, Stop> {
    let Some(url) = SETTINGS.of(&request.settings).fallback() else { return Ok(false) };
    if request.mapping.redirect.is_some() {
        return Ok(false);
    }
    let is_there = match request.kind() {
        Some(FileType::Directory) => !request.path.ends_with(b"/"),
        Some(_) => true,
        None => !matches!(request.found, Err(Errno::NOENT | Errno::NOTDIR)),
    };
    Ok(!is_there && request.path != url.as_bytes() && handler_name::configured(request)?.is_none())
}

/// `FallbackResource`: a local URL for everything that is not there.
async fn fallback(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let Some(url) = SETTINGS.of(&request.settings).fallback().map(str::to_owned) else {
        return Ok(());
    };
    let found = phase::look_up(request, url.as_bytes(), Query::Inherited).await?;
    if is_answer(&found) {
        let place = SETTINGS.of(&request.settings).fallback_place.as_ref();
        explain(request, place, || format!("FallbackResource: {url} answers"));
        request.note_place();
        request.adopt(found);
    }
    Ok(())
}

/// An absolute URL with a slash appended, the query kept (mod_dir.c, fixup_dir).
fn slash_location(request: &RequestContext<'_>) -> Vec<u8> {
    let mut location = request.base_url();
    // A path never begins with two slashes, which would be a host elsewhere.
    let start = request.path.iter().take_while(|byte| **byte == b'/').count();
    message::path::encode(&request.path[start.saturating_sub(1)..], &mut location);
    location.push(b'/');
    if let Some(query) = request.query() {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    location
}

fn index_redirect(
    request: &RequestContext<'_>,
    status: Status,
    found: &RequestContext<'_>,
) -> Failure {
    let mut location = request.base_url();
    message::path::encode(&found.path, &mut location);
    Failure::redirect(status, location)
}
