//! The response that a script makes: its head in httpd's terms, and its body, whole or as it comes
//! (php_apache_sapi_send_headers, php_handler).

use super::engine;
use super::live::LiveScript;
use super::questions;
use super::settings::{NAME, SETTINGS};
use super::streamed::MEMORY_NOTE;
use message::{Field, Status};
use php::{Answer, Asked, Output, ReplyPairs, ScriptHead, Step};
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::http_date::http_date;
use server::phase;
use server::request_context::{Query, RequestContext};
use server::response::{Body, BodyPiece, BodySource, Notes, Response};
use server::script::environment::environment;
use server::sub_response;
use server::waiting::NowOrLater;
use std::io;
use std::task::{self, Poll};

/// Fields that are the server's: the same response has them with any handler
/// (basic_http_header of http_filters.c, and what frames a message).
const OF_SERVER: [&str; 4] = ["Date", "Server", "Transfer-Encoding", "Keep-Alive"];

/// What has come of a response.
#[derive(Default)]
struct Begun {
    head: Option<ScriptHead>,
    /// What stands before `last`.
    pieces: Vec<BodyPiece>,
    last: Vec<u8>,
}

impl Begun {
    fn take(&mut self, output: Output) {
        self.head = self.head.take().or(output.head);
        match self.last.is_empty() {
            true => self.last = output.body,
            false => self.last.extend_from_slice(&output.body),
        }
    }

    /// What was included comes behind what is there.
    fn include(&mut self, body: Body) {
        let last = std::mem::take(&mut self.last);
        self.pieces.push(BodyPiece::Bytes(last));
        self.pieces.extend(body.pieces);
    }
}

/// Run the script until its response is complete, or until some of it is to be sent.
pub(super) async fn of(
    mut live: LiveScript,
    request: &mut RequestContext<'_>,
) -> Result<Response, Stop> {
    let (mut begun, notes) = (Begun::default(), Notes::default());
    let mut answer = Answer::Go;
    loop {
        answer = match live.step(answer).await {
            Step::Wrote(output) => {
                begun.take(output);
                let first = std::mem::take(&mut begun.last);
                let mut response = begin(request, begun)?;
                let env = request.tables.env.clone();
                response.notes = Some(notes.clone());
                let stream = live.streamed(env, notes, first);
                response.body.pieces.push(BodyPiece::Stream(Box::new(stream)));
                return Ok(response);
            }
            Step::Asks(Asked::Finish(output)) => {
                begun.take(output);
                let response = whole(request, begun, &notes)?;
                // Whoever has a script run meanwhile finds it, and runs it to its end before.
                let rest = live.finishing(request.tables.env.clone(), notes);
                request.context.going_on().start(async move { rest.finish() });
                return Ok(response);
            }
            Step::Asks(Asked::LookUp(url)) => look_up(request, &url).await,
            Step::Asks(Asked::Include(url, output)) => {
                begun.take(output);
                match include(request, &url).await {
                    Ok(Included::Body(body)) => {
                        begun.include(body);
                        Answer::text(None)
                    }
                    Ok(Included::Script(file, pairs)) => {
                        Answer::Reply { status: 200, text: Some(file), pairs }
                    }
                    Err(status) => Answer::status(status.code().into()),
                }
            }
            Step::Asks(asked) => {
                questions::answer(&live.script.asker, &mut request.tables.env, &notes, asked)
            }
            Step::Ended { output, peak_bytes } => {
                begun.take(output);
                drop(live);
                request.tables.notes.set(MEMORY_NOTE, peak_bytes.to_string());
                return whole(request, begun, &notes);
            }
        };
    }
}

/// A response that is all there.
fn whole(
    request: &mut RequestContext<'_>,
    mut begun: Begun,
    notes: &Notes,
) -> Result<Response, Stop> {
    let last = std::mem::take(&mut begun.last);
    let mut response = begin(request, begun)?;
    for (name, value) in notes.borrow().iter() {
        request.tables.notes.set(name, value.as_bytes());
    }
    if request.tables.env.get("REQUEST_METHOD") == Some(b"HEAD") {
        // The script was stopped at its first word: nobody says how long it would be.
        response.body = Body::stream(Nothing);
    } else if response.body.pieces.is_empty() || !last.is_empty() {
        response.body.pieces.push(BodyPiece::Bytes(last));
    }
    Ok(response)
}

/// The body of a response to HEAD.
struct Nothing;

impl BodySource for Nothing {
    fn poll_next(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        Poll::Ready(Ok(None))
    }
}

/// The head of the response, with what stands before the last piece of its body.
fn begin(request: &mut RequestContext<'_>, begun: Begun) -> Result<Response, Stop> {
    let Some(head) = begun.head else {
        // PHP has a head to say whenever it comes as far as to run a script.
        let text = "PHP has ended without a response".to_owned();
        return Err(Failure::new(Status::INTERNAL_SERVER_ERROR, NAME, text).at_error().into());
    };
    let status = Status::new(head.status).unwrap_or(Status::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(status);
    response.status_line = head.status_text().map(<[u8]>::to_vec);
    let content_type = String::from_utf8_lossy(&head.content_type).into_owned();
    response.content_type = Some(content_type).filter(|text| !text.is_empty());
    tell_last_modified(request, &mut response);
    for (name, value) in head.fields {
        add_field(request, &mut response, name, value)?;
    }
    response.body.pieces = begun.pieces;
    Ok(response)
}

/// A field that the script has said takes the place of what the configuration has said before.
fn add_field(
    request: &mut RequestContext<'_>,
    response: &mut Response,
    name: Vec<u8>,
    value: Vec<u8>,
) -> Result<(), Stop> {
    let Ok(name) = String::from_utf8(name) else { return Ok(()) };
    if OF_SERVER.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
        return Ok(());
    }
    if name.eq_ignore_ascii_case("Connection") {
        let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        if words.any(|word| word.eq_ignore_ascii_case(b"close")) {
            response.set("Connection", "close");
        }
        return Ok(());
    }
    if let Some(failure) = Failure::of_field(&name, &value) {
        return Err(failure.into());
    }
    request.output.fields.retain(|field: &Field| !field.0.eq_ignore_ascii_case(&name));
    response.fields.push((name.into(), value));
    Ok(())
}

/// `last_modified`: the time of the script, unless it says another one itself.
fn tell_last_modified(request: &RequestContext<'_>, response: &mut Response) {
    let own = SETTINGS.of(&request.settings).tells_last_modified();
    let is_told = own.or_else(|| Some(engine::of(request.site())?.tells_last_modified()));
    if is_told != Some(true) {
        return;
    }
    let place = request.mapping.place.path();
    if let Ok(status) = request.look_at(&place) {
        response.set("Last-Modified", http_date(seconds(status.modified_ns)));
    }
}

/// What a URL leads to, as apache_lookup_uri shows it: numbers begin with `#`, texts with `=`.
async fn look_up(request: &RequestContext<'_>, url: &[u8]) -> Answer {
    let found = match phase::look_up(request, url, Query::None).await {
        Ok(found) => found,
        Err(Stop::Failure(failure)) => return Answer::status(failure.status.code().into()),
        Err(Stop::Internal(..)) => return Answer::status(500),
    };
    let number = |name: &str, value: i64| (name.into(), format!("#{value}").into_bytes());
    let text = |name: &str, value: &[u8]| (name.into(), [b"=", value].concat());
    let line = request.received().view().request_line().to_vec();
    let mut pairs = vec![
        number("status", 200),
        text("the_request", &line),
        text("method", b"GET"),
        // Known only when the file is sent.
        number("mtime", 0),
        number("clength", 0),
        number("chunked", 0),
    ];
    let name = found.mime_name();
    if let Some(content_type) = found.metadata(name).content_type {
        pairs.push(text("content_type", content_type.as_bytes()));
    }
    if let Ok(Some(handler)) = handler_name::configured(&found) {
        pairs.push(text("handler", handler.as_bytes()));
    }
    pairs.extend([
        number("no_cache", 0),
        number("no_local_copy", 1),
        text("unparsed_uri", &full_url(request, url)),
        text("uri", &found.path),
        text("filename", &found.filename()),
    ]);
    if found.found.is_err() || !found.mapping.path_info.is_empty() {
        pairs.push(text("path_info", &found.mapping.path_info));
    }
    if let Some(query) = found.query() {
        pairs.push(text("args", query));
    }
    pairs.extend([
        number("allowed", 0),
        number("sent_bodyct", 0),
        number("bytes_sent", 0),
        number("request_time", request.start_us().div_euclid(1_000_000)),
    ]);
    Answer::pairs(pairs)
}

/// A URL that begins in the folder of the request, if it names none itself (make_full_path).
fn full_url(request: &RequestContext<'_>, url: &[u8]) -> Vec<u8> {
    let folder = match url.first() {
        Some(b'/') => 0,
        _ => request.path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1),
    };
    [&request.path[..folder], url].concat()
}

/// What virtual() includes.
enum Included {
    Body(Body),
    /// A script, which runs in the middle of the one that includes it, and its variables.
    Script(Vec<u8>, ReplyPairs),
}

async fn include(request: &RequestContext<'_>, url: &[u8]) -> Result<Included, Status> {
    let of = |stop| match stop {
        Stop::Failure(failure) => failure.status,
        Stop::Internal(..) => Status::INTERNAL_SERVER_ERROR,
    };
    let mut found = phase::look_up_part(request, url).await.map_err(of)?;
    let script = match super::resolve(&mut found) {
        NowOrLater::Now(script) => script,
        NowOrLater::Later(script) => script.await,
    };
    match script {
        Err(Stop::Failure(failure)) => {
            found.log_failure(&failure);
            return Err(failure.status);
        }
        Err(stop) => return Err(of(stop)),
        Ok(None) => {}
        Ok(Some(_)) => {
            let variables = found.settings.core.variables();
            let mut env = environment(&found, variables);
            env.set("SERVER_PROTOCOL", b"INCLUDED".to_vec());
            let mut pairs = questions::pairs(&env);
            pairs.push((b"PHP_SELF".to_vec(), found.path.to_vec()));
            return Ok(Included::Script(found.mapping.place.path(), pairs));
        }
    }
    let (_, response) = sub_response::respond(found).await;
    let response = response.map_err(|failure| failure.status)?;
    Ok(Included::Body(response.body))
}

fn seconds(ns: i128) -> i64 {
    i64::try_from(ns.div_euclid(1_000_000_000)).unwrap_or(0)
}
