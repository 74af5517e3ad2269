//! What the texts of rules come to for a request (do_expand and lookup_variable of mod_rewrite.c).
//! A text is expanded once: nothing that came from a client is read for variables.

use crate::engine::{Engine, failure};
use crate::escape;
use crate::flags::{RuleActions, RuleFlags};
use crate::notes;
use crate::rule::Rule;
use crate::settings::{HOST_SETTINGS, SETTINGS};
use crate::template::{MapLookup, Piece, Template};
use crate::trace::shown;
use crate::variable::{Ahead, TimePart, Variable};
use expr::ServerVariable;
use logging::sink::local_time;
use message::Status;
use runtime::{clock, file};
use server::evaluate;
use server::failure::Stop;
use server::mapping::Place;
use server::phase;
use server::request_context::{BYTES_PER_STEP, LookupPurpose, Query, RequestContext};
use server::site::lexical;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

/// How many times as long as a request line and a field may be what a text comes to.
const RECEIVED_TIMES_MAX: usize = 4;

/// Whether the question mark that a query begins with came out of a group, a variable or a map: a
/// client may have written it as `%3f`.
#[derive(Default)]
struct QuestionMark {
    is_unsafe: bool,
    /// The last one counts (`QSL`).
    is_last: bool,
    is_decided: bool,
}

impl QuestionMark {
    fn look(&mut self, text: &[u8], is_unsafe: bool) {
        if !self.is_decided && text.contains(&b'?') {
            self.is_unsafe = is_unsafe;
            self.is_decided = !self.is_last;
        }
    }
}

/// A text; groups in it are escaped as the flags of a rule say.
pub(crate) async fn text(
    engine: &mut Engine<'_, '_>,
    template: &Template,
    actions: Option<&RuleActions>,
) -> Result<Vec<u8>, Stop> {
    if let Some(constant) = template.constant() {
        return Ok(constant.to_vec());
    }
    pieces(engine, template, actions, &mut QuestionMark::default()).await
}

/// The substitution of a rule, and whether it has a question mark that is not to be trusted.
pub(crate) async fn substitution(
    engine: &mut Engine<'_, '_>,
    rule: &Rule,
) -> Result<(Vec<u8>, bool), Stop> {
    let flags = rule.actions.flags;
    let is_last = flags.has(RuleFlags::QUERY_LAST);
    let mut mark = QuestionMark { is_last, ..QuestionMark::default() };
    let text = pieces(engine, &rule.output, Some(&rule.actions), &mut mark).await?;
    Ok((text, mark.is_unsafe && !flags.has(RuleFlags::UNSAFE_ALLOW_3F)))
}

async fn pieces(
    engine: &mut Engine<'_, '_>,
    template: &Template,
    actions: Option<&RuleActions>,
    mark: &mut QuestionMark,
) -> Result<Vec<u8>, Stop> {
    let mut out = Vec::with_capacity(template.text.len() + 64);
    for piece in &template.pieces {
        let start = out.len();
        match piece {
            Piece::Literal(bytes) => {
                mark.look(bytes, false);
                out.extend_from_slice(bytes);
                continue;
            }
            Piece::Escaped(byte) => {
                out.push(*byte);
                continue;
            }
            Piece::RuleGroup(number) => group(engine, true, *number, actions, &mut out),
            Piece::ConditionGroup(number) => group(engine, false, *number, actions, &mut out),
            Piece::Variable(variable) => {
                out.extend(value(engine, variable).await);
            }
            Piece::Map(lookup) => {
                out.extend(Box::pin(mapped(engine, lookup, actions)).await?);
            }
        }
        mark.look(&out[start..], true);
        check_length(engine, template, out.len())?;
    }
    engine.request.spend((out.len() / BYTES_PER_STEP) as u64);
    Ok(out)
}

/// A variable that is made of itself again and again would take all memory.
fn check_length(engine: &Engine<'_, '_>, template: &Template, length: usize) -> Result<(), Stop> {
    let limits = &engine.request.host.limits;
    let received = limits.request_line_bytes.saturating_add(limits.field_bytes);
    let most = received.saturating_mul(RECEIVED_TIMES_MAX);
    if length <= most {
        return Ok(());
    }
    let text = format!("'{}' came to more than {most} bytes", template.text);
    Err(failure(text).recurring("a text of a rule that is too long").into())
}

fn group(
    engine: &Engine<'_, '_>,
    is_of_rule: bool,
    number: u8,
    actions: Option<&RuleActions>,
    out: &mut Vec<u8>,
) {
    let groups = if is_of_rule { &engine.of_rule } else { &engine.of_condition };
    let Some(text) = groups.get(usize::from(number)) else { return };
    match actions.filter(|actions| actions.flags.has(RuleFlags::ESCAPE_GROUPS)) {
        Some(actions) => {
            let escaped = escape::group(text, actions);
            engine.say(5, || {
                let [text, escaped] = [text, &escaped].map(shown);
                format!("escaping backreference '{text}' to '{escaped}'")
            });
            out.extend(escaped);
        }
        None => out.extend_from_slice(text),
    }
}

/// What a map has for a key, else the default.
async fn mapped(
    engine: &mut Engine<'_, '_>,
    lookup: &MapLookup,
    actions: Option<&RuleActions>,
) -> Result<Vec<u8>, Stop> {
    let key = text(engine, &lookup.key, actions).await?;
    let map = HOST_SETTINGS.of(&engine.request.host.modules).maps.get(&*lookup.map);
    let found = match map {
        Some(map) => map.find(engine.request, engine.trace, &lookup.map, key).await,
        None => None,
    };
    match (found, &lookup.default) {
        (Some(found), _) => Ok(found),
        (None, Some(default)) => text(engine, default, actions).await,
        (None, None) => Ok(Vec::new()),
    }
}

/// `[T=...]` and `[H=...]`: what the fixups will say (force_type_handler).
pub(crate) async fn force(engine: &mut Engine<'_, '_>, actions: &RuleActions) -> Result<(), Stop> {
    if let Some(template) = &actions.media_type {
        let name = lower(&text(engine, template, Some(actions)).await?);
        if !name.is_empty() {
            engine.say(2, || {
                let url = shown(engine.url());
                format!("remember {url} to have MIME-type '{name}'")
            });
            engine.request.tables.notes.set(notes::MEDIA_TYPE, name);
        }
    }
    if let Some(template) = &actions.handler {
        let name = lower(&text(engine, template, Some(actions)).await?);
        if !name.is_empty() {
            engine.say(2, || {
                let url = shown(engine.url());
                format!("remember {url} to have Content-handler '{name}'")
            });
            engine.request.tables.notes.set(notes::HANDLER, name);
        }
    }
    Ok(())
}

fn lower(text: &[u8]) -> String {
    String::from_utf8_lossy(text).to_ascii_lowercase()
}

/// What a variable is now.
async fn value(engine: &mut Engine<'_, '_>, variable: &Variable) -> Vec<u8> {
    match variable {
        Variable::LookAheadUrl(found) => ahead(engine, found, false).await,
        Variable::LookAheadFile(found) => ahead(engine, found, true).await,
        variable => {
            let value = value_of(engine.request, variable, &mut engine.looked_at);
            let name = match variable {
                Variable::Time(TimePart::All) => "RESULT",
                Variable::Server(ServerVariable::Ipv6) => "IPV6",
                _ => return value,
            };
            engine.say(1, || format!("{name}='{}'", shown(&value)));
            value
        }
    }
}

/// What a variable is for a request; `looked_at` gets the names of fields.
fn value_of(
    request: &RequestContext<'_>,
    variable: &Variable,
    looked_at: &mut Vec<String>,
) -> Vec<u8> {
    match variable {
        Variable::Server(ServerVariable::ServerName) => request.url_host().into_bytes(),
        Variable::Server(variable) => {
            let value = evaluate::variable(request, *variable);
            let is_owner =
                matches!(variable, ServerVariable::ScriptUser | ServerVariable::ScriptGroup);
            let unknown: &[u8] = if is_owner { b"<unknown>" } else { b"" };
            value.unwrap_or_else(|| unknown.to_vec())
        }
        Variable::Field(name) => {
            let value = request.joined_field(name);
            if value.is_some() && !name.eq_ignore_ascii_case("Host") {
                looked_at.push(name.to_string());
            }
            value.unwrap_or_default()
        }
        Variable::Env(name) => env(request, name),
        Variable::LocalAddress => request.received().local_ip().to_string().into_bytes(),
        Variable::ApiVersion => server::identity::API_VERSION.as_bytes().to_vec(),
        Variable::Time(part) => {
            request.mark_momentary();
            time(*part)
        }
        Variable::Empty | Variable::LookAheadUrl(_) | Variable::LookAheadFile(_) => Vec::new(),
    }
}

fn env(request: &RequestContext<'_>, name: &str) -> Vec<u8> {
    let tables = &request.tables;
    if let Some(value) = tables.notes.get(name).or_else(|| tables.env.get(name)) {
        return value.to_vec();
    }
    let is_name = !name.contains(['=', '\0']);
    let value = is_name.then(|| std::env::var_os(name)).flatten();
    value.map(|value| value.as_bytes().to_vec()).unwrap_or_default()
}

fn time(part: TimePart) -> Vec<u8> {
    let now = local_time(clock::unix_s());
    let text = match part {
        TimePart::All => format!(
            "{:04}{:02}{:02}{:02}{:02}{:02}",
            now.year, now.month, now.day, now.hour, now.min, now.sec
        ),
        TimePart::Year => format!("{:04}", now.year),
        TimePart::Month => format!("{:02}", now.month),
        TimePart::Day => format!("{:02}", now.day),
        TimePart::Hour => format!("{:02}", now.hour),
        TimePart::Minute => format!("{:02}", now.min),
        TimePart::Second => format!("{:02}", now.sec),
        TimePart::WeekDay => now.weekday.to_string(),
    };
    text.into_bytes()
}

/// Whether a look-up may be made: one for the same path would make another, and so on
/// (`subreq_ok`).
pub(crate) fn may_look_up(request: &RequestContext<'_>) -> bool {
    request.lineage.purpose != LookupPurpose::Sub || request.lineage.looked_up_for != request.path
}

/// The value of a variable in the request that the URL would lead to.
async fn ahead(engine: &mut Engine<'_, '_>, wanted: &Ahead, is_file: bool) -> Vec<u8> {
    if !may_look_up(engine.request) {
        return Vec::new();
    }
    let subject = engine.subject.clone();
    let folder = engine.folder.filter(|_| !subject.starts_with(b"/"));
    let base = SETTINGS.of(&engine.request.settings).base.clone();
    let path = match folder {
        Some(folder) if is_file => [folder.as_bytes(), &subject].concat(),
        Some(folder) => [base.as_deref().unwrap_or(folder).as_bytes(), &subject].concat(),
        None => subject,
    };
    // In a folder a whole path is no file of which anything is known.
    let by_name = is_file && (folder.is_some() || engine.folder.is_none());
    let found = Box::pin(look_up(engine, &path, by_name)).await;
    let value = match &found {
        Some((sub, _)) => seen_from(sub, &wanted.variable, &mut engine.looked_at),
        None => Vec::new(),
    };
    engine.say(5, || {
        let [path, value] = [&path, &value].map(|it| shown(it));
        format!("lookahead: path={path} var={} -> val={value}", wanted.name)
    });
    value
}

/// What a variable is for a look-up. One look ahead of another that leads to the same path finds
/// nothing.
fn seen_from(
    sub: &RequestContext<'_>,
    variable: &Variable,
    looked_at: &mut Vec<String>,
) -> Vec<u8> {
    match variable {
        Variable::LookAheadUrl(inner) | Variable::LookAheadFile(inner) => match may_look_up(sub) {
            true => seen_from(sub, &inner.variable, looked_at),
            false => Vec::new(),
        },
        other => value_of(sub, other, looked_at),
    }
}

/// The look-up of a URL, or of a file, with what it would be answered with; `None` if it is no URL.
async fn look_up<'a>(
    engine: &Engine<'_, 'a>,
    path: &[u8],
    is_file: bool,
) -> Option<(RequestContext<'a>, Status)> {
    let request = &*engine.request;
    if !request.spend_look_ahead() {
        return None;
    }
    // What the look-up has found is not noted.
    request.mark_momentary();
    if is_file {
        return Some(look_up_file(request, path).await);
    }
    let mut sub = phase::request_for(request, path, Query::None).ok()?;
    let outcome = match phase::check_depth(&sub) {
        Ok(()) => phase::process(&mut sub).await,
        Err(stop) => {
            // No file was looked for.
            sub.mapping.rewritten = Some(Vec::new());
            Err(stop)
        }
    };
    Some((sub, status(outcome)))
}

/// The look-up of a file. What it is called is decoded as a URL is, and is refused if that fails,
/// though nobody asks for the result (ap_process_request_internal).
async fn look_up_file<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
) -> (RequestContext<'a>, Status) {
    let path = beside(request, name);
    let url = url_beside(request, &path);
    let decoded =
        phase::request_for(request, if url.is_empty() { name } else { &url }, Query::None);
    let is_no_url = url.is_empty() && has_bad_scheme(name);
    let mut sub = request.sub(url, None);
    let root = request.site().slash.clone();
    sub.mapping.place = Place { root, below: lexical::below_root(&path) };
    let outcome = match decoded {
        Ok(_) => phase::process_place(&mut sub).await,
        Err(stop) => {
            sub.mapping.rewritten = Some(path.into_owned());
            Err(stop)
        }
    };
    let status = if is_no_url { Status::BAD_REQUEST } else { status(outcome) };
    (sub, status)
}

/// Whether a name begins with what a colon ends and is no scheme, so that it is no URL at all
/// (apr_uri_parse).
fn has_bad_scheme(name: &[u8]) -> bool {
    let end = name.iter().position(|byte| matches!(byte, b':' | b'/' | b'?' | b'#'));
    let scheme = end.filter(|end| name[*end] == b':').map(|end| &name[..end]);
    scheme.is_some_and(|scheme| {
        !scheme.first().is_some_and(u8::is_ascii_alphabetic)
            || !scheme.iter().all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(it))
    })
}

/// The full name of a file that may be named as one beside that of the request.
fn beside<'p>(request: &RequestContext<'_>, path: &'p [u8]) -> Cow<'p, [u8]> {
    if path.starts_with(b"/") {
        return Cow::Borrowed(path);
    }
    let own = request.filename();
    let end = own.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    Cow::Owned([&own[..end], path].concat())
}

/// The URL of a file in the folder of that of the request; any other has none, and neither has one
/// beside a file without (ap_sub_req_lookup_file).
fn url_beside(request: &RequestContext<'_>, path: &[u8]) -> Vec<u8> {
    let folder = |path: &[u8]| path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let own = request.filename();
    match path.strip_prefix(&own[..folder(&own)]) {
        Some(name) if !request.path.is_empty() && !name.is_empty() && !name.contains(&b'/') => {
            [&request.path[..folder(&request.path)], name].concat()
        }
        _ => Vec::new(),
    }
}

fn status(outcome: Result<(), Stop>) -> Status {
    match outcome {
        Err(Stop::Failure(failure)) => failure.status,
        Ok(()) | Err(Stop::Internal(..)) => Status::OK,
    }
}

/// `-U`
pub(crate) async fn is_url(engine: &mut Engine<'_, '_>, url: &[u8]) -> bool {
    let status = look_up(engine, url, false).await.map_or(Status::BAD_REQUEST, |found| found.1);
    engine.say_without_folder(5, || {
        let url = shown(url);
        format!("RewriteCond URI (-U check: path={url} -> status={}", status.code())
    });
    status.code() < 400
}

/// `-F`
pub(crate) async fn is_file(engine: &mut Engine<'_, '_>, path: &[u8]) -> bool {
    let Some((sub, status)) = look_up(engine, path, true).await else { return false };
    engine.say_without_folder(5, || {
        let path = shown(path);
        let (file, status) = (sub.display_path(), status.code());
        format!("RewriteCond file (-F check: path={path} -> file={file} status={status}")
    });
    engine.request.mark_momentary();
    status.code() < 300 && file::facts(&sub.filename(), true).is_ok()
}
