//! asis: files that bring their own header fields (mod_asis). What their text means is what the
//! answer of a program means, but for faults: what was understood before one is sent.

use fastcgi::{Complete, ScriptFault, ScriptHead, ScriptHeadParser};
use logging::level::Level;
use message::{Method, Status, limits};
use runtime::file::{self, Errno};
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::file_response;
use server::handler::{Handler, Made};
use server::hook::Hook;
use server::http_date::parse_http_date;
use server::module::{Hooks, Module};
use server::phase;
use server::representation::{Origin, Representation};
use server::request_context::RequestContext;
use server::response::{Body, BodyPiece, Response};
use server::script::answer;
use server::waiting::Waiting;
use std::borrow::Cow;
use std::fs::File;
use std::rc::Rc;

/// The module; it has no directives, only handlers.
pub(crate) static MODULE: Module = Module::new(
    "asis_module",
    "mod_asis.c",
    &[],
    Hooks { resolve: Some(Hook::Waits(resolve)), ..Hooks::NONE },
);

/// Handlers of `SetHandler`, `AddHandler` and `AddType` that mean such a file. It is sent for GET
/// and HEAD; other methods go to the handler of plain files.
pub(crate) const HANDLERS: &[&str] = &["send-as-is", "httpd/send-as-is"];

/// What the start of such a file says.
struct Start {
    head: ScriptHead,
    /// What is wrong with the text. httpd sends what it has understood so far nevertheless.
    fault: Option<ScriptFault>,
    /// Offset of the body; the end of the file after a fault.
    body: usize,
}

/// Reads the head of a file. `text` is its beginning, of which no more than a head may have counts.
fn parse(text: &[u8], file_length: usize) -> Start {
    let mut parser = ScriptHeadParser::new();
    let fault = match parser.advance(text) {
        Ok(Some(Complete { head, used })) => return Start { head, fault: None, body: used },
        Ok(None) => parser.end_of_output(),
        Err(fault) => fault,
    };
    // What lasts is given to the answer at the end of the head (util_script.c).
    let head = ScriptHead { lasting: Vec::new(), ..parser.so_far() };
    Start { head, fault: Some(fault), body: file_length }
}

/// Where to go on in the server itself, with GET: a Location that begins with a slash, unless the
/// status is an error's.
fn internal_redirect(head: &ScriptHead) -> Option<&[u8]> {
    let code = head.status().code();
    let is_followed = code == 200 || (300..400).contains(&code);
    let location = head.fields.iter().find(|field| field.0.eq_ignore_ascii_case(b"Location"));
    let location = location.map(|field| field.1.as_slice());
    location.filter(|value| is_followed && value.starts_with(b"/"))
}

/// Fields that the server writes itself.
const OWN_FIELDS: &[&str] = &["Date", "Server"];

/// Resolve hook (mod_asis.c, asis_handler). Other methods get the file as it stands.
pub(crate) fn resolve<'l>(
    request: &'l mut RequestContext<'_>,
) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    Waiting::only_if(Representation::may_wait(request), as_it_is(request))
}

async fn as_it_is(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let is_get = request.method().is_some_and(Method::is_get_or_head);
    let name = handler_name::effective(request)?.map(Cow::into_owned);
    let known = HANDLERS.iter().find(|known| name.as_deref() == Some(**known));
    let Some(name) = known.filter(|_| is_get) else { return Ok(None) };
    if !phase::is_file(request) {
        return Ok(None);
    }
    request.mark_personal();
    let entry = std::mem::replace(&mut request.found, Err(Errno::NOENT))
        .map_err(|errno| request.open_failure(errno))?;
    let length = usize::try_from(entry.status.size).unwrap_or(usize::MAX);
    let text = start_of(request, &entry.file, length.min(limits::SCRIPT_HEAD_BYTES))?;
    let Start { mut head, fault, body } = parse(&text, length);
    log_flaws(request, &head, fault)?;
    head.lasting
        .retain(|field| OWN_FIELDS.iter().all(|own| !field.0.eq_ignore_ascii_case(own.as_bytes())));
    if let Some(location) = internal_redirect(&head) {
        let location = location.to_vec();
        request.set_method(Method::Get);
        request.output.always.extend(answer::fields(head.lasting));
        return Err(phase::internal(&location));
    }
    let origin = Origin {
        root: request.mapping.place.root.clone(),
        below: request.mapping.place.below.clone(),
        links: request.mapping.links,
    };
    let source = Rc::new(Representation::new(entry, request, origin).await?);
    let response = respond(request, head, body, source);
    Ok(Some(Made::new(name, response)))
}

fn start_of(request: &RequestContext<'_>, file: &File, length: usize) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    file::read_whole(file, length, &mut text).map_err(|error| {
        let path = request.display_path();
        let text = format!("file permissions deny server access: {path}: {error}");
        Failure::new(Status::FORBIDDEN, "asis", text).id(1234).at_error()
    })?;
    Ok(text)
}

/// The conditions of the request are not looked at: httpd does not ask what became of them.
fn respond(
    request: &mut RequestContext<'_>,
    head: ScriptHead,
    offset: usize,
    source: Rc<Representation>,
) -> Response {
    let (mut response, _) = answer::describe(request, head);
    response.late = file_response::late_description(&source);
    response.content_type = response.content_type.or_else(|| source.content_type.clone());
    let offset = offset as u64;
    let length = source.status.size.saturating_sub(offset);
    response.body = Body { pieces: vec![BodyPiece::File { source, offset, length }] };
    response
}

/// What the error log should say. What is no field is an error (check_headers of http_filters.c).
fn log_flaws(
    request: &RequestContext<'_>,
    head: &ScriptHead,
    fault: Option<ScriptFault>,
) -> Result<(), Failure> {
    let name = String::from_utf8_lossy(request.file_name()).into_owned();
    for text in &head.invalid_statuses {
        let text = String::from_utf8_lossy(text);
        let text = format!("Invalid status line from script '{name}': {text}");
        request.log(Level::Error, "asis", None, &text);
    }
    for date in head.last_modified.iter().filter(|date| parse_http_date(date).is_none()) {
        let date = String::from_utf8_lossy(date);
        let text = format!("Ignored invalid header value: Last-Modified: '{date}'");
        request.log(Level::Info, "asis", Some(10247), &text);
    }
    let Some(fault) = fault else { return Ok(()) };
    // To mod_asis the beginning of the line is nothing: it has no buffer for it.
    let text = match &fault {
        ScriptFault::NoColon(_) => ScriptFault::NoColon(Vec::new()).message(name.as_bytes()),
        fault => fault.message(name.as_bytes()),
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    if matches!(fault, ScriptFault::NoEnd { .. } | ScriptFault::NoColon(_)) {
        request.log(Level::Error, "asis", None, &text);
        return Ok(());
    }
    // No gateway is at fault here: the file is the server's own.
    let mut failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "http", text).at_error();
    failure.id = fault.id();
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Start {
        parse(text.as_bytes(), text.len())
    }

    #[test]
    fn local_locations_are_followed_unless_the_status_is_an_error() {
        for (text, expected) in [
            ("Location: /as/st.asis\n\n", Some("/as/st.asis")),
            ("Status: 301 Moved\nLocation: /a\n\n", Some("/a")),
            ("Status: 404 No\nLocation: /a\n\n", None),
            ("Status: 201 Created\nLocation: /a\n\n", None),
            ("Location: http://foo.example/\n\n", None),
            ("Location: /a\nlocation: b\n\n", None),
            ("X: /a\n\n", None),
        ] {
            let start = read(text);
            assert_eq!(internal_redirect(&start.head), expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn what_is_broken_has_no_body_and_keeps_what_was_understood() {
        for (text, expected) in [
            ("", ScriptFault::NoEnd { is_begun: false }),
            ("X-A: 1\nContent-Type: a/b\n", ScriptFault::NoEnd { is_begun: true }),
            ("X-A: 1\nContent-Type: a/b\nnope\n\nbody\n", ScriptFault::NoColon(b"nope".to_vec())),
        ] {
            let start = read(text);
            assert_eq!((start.body, start.fault), (text.len(), Some(expected)), "{text}");
            assert_eq!(start.head.content_type.is_some(), !text.is_empty());
            assert!(start.head.lasting.is_empty());
        }
        let start = read("A: b\n\nbody");
        assert_eq!((start.body, start.fault, start.head.lasting.len()), (6, None, 1));
    }

    #[test]
    fn hostile_files_have_an_end() {
        let long = ["X: ", &"a".repeat(3 * limits::SCRIPT_HEAD_BYTES)].concat();
        assert!(read(&long).fault.is_some());
        let many = "X:a\n".repeat(limits::SCRIPT_HEAD_BYTES);
        assert!(read(&many).fault.is_some());
    }
}
