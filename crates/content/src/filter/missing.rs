//! What needs an output filter that there is not: it is never sent as it lies in its file, since
//! the filter would have taken secrets out or put content in.

use super::{FilterKind, SETTINGS};
use crate::would_send::would_send;
use config::Call;
use message::{Method, Status};
use runtime::file::Errno;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::phase;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use std::rc::Rc;

/// Filters of httpd without which the content is the same.
const HARMLESS: &[&str] = &["NONE", "RATE_LIMIT", "CACHE"];

/// Extensions that stand for pages with server-side includes.
const INCLUDES: &[&[u8]] = &[b"shtml", b"shtm", b"stm"];

/// Names between `;` of filters that content cannot do without.
pub(crate) fn missing<'n>(
    names: &'n str,
    has_module: &dyn Fn(&str) -> bool,
) -> impl Iterator<Item = &'n str> {
    let is_harmless = |name: &str| HARMLESS.iter().any(|it| name.eq_ignore_ascii_case(it));
    let names = names.split(';').map(str::trim).filter(|name| !name.is_empty());
    names.filter(move |name| FilterKind::loaded(name, has_module).is_none() && !is_harmless(name))
}

/// Say at a directive what its filters have for an effect.
pub fn warn(builder: &Builder, call: &Call<'_>, names: &str) {
    for name in missing(names, &|symbol| builder.has_module(symbol)) {
        let text = format!(
            "there is no output filter {name} (its module is not there): content that needs it \
             gets 503, because it is not sent without the filter"
        );
        call.warn(None, text);
    }
}

/// Whether there is content that the filter would have seen: a file that is sent or run, or what an
/// application answers.
fn has_content(request: &RequestContext<'_>) -> Result<bool, Stop> {
    if matches!(request.method(), None | Some(Method::Options | Method::Trace)) {
        return Ok(false);
    }
    if request.mapping.backend.is_some() || would_send(request) && phase::is_regular(request) {
        return Ok(true);
    }
    let is_there = !matches!(request.found, Err(Errno::NOENT | Errno::NOTDIR));
    Ok(is_there && !request.is_folder() && handler_name::configured(request)?.is_some())
}

/// Resolve hook: refuse what a missing filter is for, before anything is run or sent.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    match lack(request) {
        Some(text) if has_content(request)? => {
            Err(Failure::new(Status::SERVICE_UNAVAILABLE, "core", text).at_error().into())
        }
        _ => Ok(None),
    }
}

/// What is missing for a request, for the log.
fn lack(request: &RequestContext<'_>) -> Option<String> {
    let set = SETTINGS.of(&request.settings).output.as_deref().unwrap_or_default();
    let mime = request.metadata(request.file_name());
    let has_module = |symbol: &str| request.site().language.has_module(symbol);
    let names = mime.output_filters.iter().copied().chain([set]);
    let mut names = names.flat_map(|names| missing(names, &has_module));
    if let Some(name) = names.next() {
        let path = request.display_path();
        return Some(format!(
            "there is no output filter {name}, which {path} needs: the content is not sent"
        ));
    }
    let is_page = request.settings.core.parses_includes() && has_includes(request.file_name());
    (is_page && !has_module("include_module")).then(|| {
        let path = request.display_path();
        format!("mod_include is not loaded, which {path} needs: its source is not sent")
    })
}

/// Whether a name says that the file has server-side includes.
fn has_includes(name: &[u8]) -> bool {
    let mut extensions = name.split(|byte| *byte == b'.').skip(1);
    extensions.any(|extension| INCLUDES.iter().any(|it| extension.eq_ignore_ascii_case(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_that_change_content_are_missed_and_others_are_not() {
        let names = |text| missing(text, &|_| false).collect::<Vec<_>>();
        assert_eq!(names("INCLUDES;DEFLATE; Substitute "), ["INCLUDES", "Substitute"]);
        assert_eq!(names("none;rate_limit;inflate;;"), Vec::<&str>::new());
        assert!(missing("substitute", &|symbol| symbol == "substitute_module").next().is_none());
    }

    #[test]
    fn names_of_pages_with_includes_are_known_in_any_spelling() {
        for name in ["a.shtml", "a.SHTML", "a.shtml.en", "a.b.stm", ".shtml", "a.shtml."] {
            assert!(has_includes(name.as_bytes()), "{name}");
        }
        for name in ["shtml", "a.html", "a.shtmlx", "a.xshtml"] {
            assert!(!has_includes(name.as_bytes()), "{name}");
        }
    }
}
