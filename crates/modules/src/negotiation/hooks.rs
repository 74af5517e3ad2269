//! Where negotiation meets a request: MultiViews for a name that is not there, the handler of type
//! maps, and the spelling of encodings.

use super::SETTINGS;
use super::accept::client_encoding;
use super::choose::{self, NegotiationOutcome, VariantChoice};
use super::folder;
use super::response::{self, NegotiationFields};
use super::type_map::{self, BadMap, TypeMap};
use super::variant::{self, MAP_HANDLER, MAP_TYPE, VARIANTS_MAX, Variant, VariantFile};
use crate::mime;
use logging::level::Level;
use message::condition::{ConditionOutcome as Condition, Validators, evaluate};
use message::{Method, Status, Version};
use runtime::file::Errno;
use server::description;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::file_response;
use server::handler::{Handler, Made};
use server::http_date::http_date;
use server::phase;
use server::representation::{Origin, Representation};
use server::request_context::{Query, RequestContext};
use server::response::{Body, BodyPiece, Response};
use server::site::lexical;
use server::site::settings::Settings;
use server::waiting::{NowOrLater, Waiting};
use std::borrow::Cow;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

/// Kind hook: a file that is not there, but with other extensions (mod_negotiation.c,
/// handle_multi).
pub(crate) fn multiviews<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let is_missing = matches!(request.found, Err(Errno::NOENT | Errno::NOTDIR));
    let is_named = !request.file_name().is_empty();
    if !is_missing || !is_named || !request.settings.core.has_multi_views() {
        return NowOrLater::Now(Ok(()));
    }
    NowOrLater::later(negotiate(request))
}

async fn negotiate(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let base = request.file_name().to_vec();
    // Which files there are, and what the client accepts, decides from now on.
    request.mark_personal();
    let Some(NameVariants { variants, files, by_name }) = find(request, &base).await? else {
        return Ok(());
    };
    let prefers_scripts = request.method().is_none_or(|method| !method.is_get_or_head())
        || request.query().is_some()
        || !request.mapping.path_info.is_empty();
    let contest = PendingChoice { variants: &variants, prefers_scripts, files, by_name };
    let chosen = contest.run(request).await?;
    let sub = match chosen.sub {
        Some(sub) => *sub,
        None => by_name.look_up(request, &variants[chosen.index].name, Query::Inherited).await?,
    };
    request.adopt(sub);
    Ok(())
}

/// How a variant is looked up by its name.
#[derive(Clone, Copy)]
enum ByName {
    /// MultiViews found it beside the others.
    Beside,
    /// A type map names it.
    InMap,
}

impl ByName {
    async fn look_up<'a>(
        self,
        request: &RequestContext<'a>,
        name: &[u8],
        query: Query,
    ) -> Result<RequestContext<'a>, Stop> {
        match self {
            Self::Beside => phase::look_up_beside(request, name, query).await,
            Self::InMap => look_up(request, name, query).await,
        }
    }
}

/// The variants of a name.
struct NameVariants {
    /// At least one.
    variants: Vec<Variant>,
    /// The number of files that MultiViews found, 0 for a type map.
    files: usize,
    by_name: ByName,
}

/// The variants of `base`; `None` if there are none, and nothing that looks like one.
async fn find(request: &mut RequestContext<'_>, base: &[u8]) -> Result<Option<NameVariants>, Stop> {
    let (names, folder_us) = folder::names(request, base).await?;
    let mut gathered = Vec::new();
    for name in names.into_iter().take(VARIANTS_MAX) {
        gathered.push(gather(request, name).await);
    }
    let accept_encoding = joined(request, "Accept-Encoding");
    let candidates: Vec<VariantFile<'_>> =
        gathered.iter().map(|one| one.candidate(request)).collect();
    let found = variant::variants(base, &candidates, accept_encoding.as_deref());
    Ok(match found {
        variant::FoundVariants::Nothing => None,
        variant::FoundVariants::NoneFits => return Err(none_fits(request).into()),
        variant::FoundVariants::Map(name) => {
            let map = phase::look_up_beside(request, &name, Query::None).await?;
            request.negotiated.list_tag = map_tag(&map).await?;
            let variants = variants_of(&map).await?;
            let by_name = ByName::InMap;
            (!variants.is_empty()).then_some(NameVariants { variants, files: 0, by_name })
        }
        variant::FoundVariants::Variants(variants) => {
            let now_us = request.received().start_us;
            request.negotiated.list_tag = Some(description::time_tag(folder_us, now_us));
            let files = variants.len();
            Some(NameVariants { variants, files, by_name: ByName::Beside })
        }
    })
}

fn none_fits(request: &RequestContext<'_>) -> Failure {
    let text = format!(
        "Negotiation: discovered file(s) matching request: {} (None could be negotiated).",
        request.display_path()
    );
    Failure::new(Status::NOT_FOUND, "negotiation", text).id(687).at_error()
}

/// What a look-up of a name has found out.
struct GatheredVariants {
    name: Vec<u8>,
    settings: Arc<Settings>,
    handler: Option<String>,
    length: u64,
    is_servable: bool,
}

impl GatheredVariants {
    fn candidate<'a>(&'a self, request: &'a RequestContext<'_>) -> VariantFile<'a> {
        let (mime, types) = (mime::SETTINGS.of(&self.settings), mime::types(request.site()));
        VariantFile {
            name: &self.name,
            mime: mime.mime(types, &self.name),
            unclaimed: mime.unclaimed(types, &self.name),
            handler: self.handler.as_deref(),
            length: self.length,
            is_servable: self.is_servable,
        }
    }
}

/// Look at a name as a request of its own would.
async fn gather(request: &RequestContext<'_>, name: Vec<u8>) -> GatheredVariants {
    let Ok(sub) = phase::look_up_beside(request, &name, Query::None).await else {
        let settings = request.settings.clone();
        return GatheredVariants { name, settings, handler: None, length: 0, is_servable: false };
    };
    let handler = handler_name::configured(&sub).ok().flatten().map(Cow::into_owned);
    let length = sub.mapping.status.map_or(0, |status| status.size);
    let is_servable = phase::is_regular(&sub);
    GatheredVariants { name, settings: sub.settings, handler, length, is_servable }
}

/// What a type map names: a file beside it, or a path from there.
async fn look_up<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
    query: Query,
) -> Result<RequestContext<'a>, Stop> {
    if !name.contains(&b'/') {
        return phase::look_up_file(request, name, query).await;
    }
    let mut joined = Vec::new();
    if !name.starts_with(b"/") {
        message::path::encode(folder_url(request), &mut joined);
    }
    joined.extend_from_slice(name);
    phase::look_up(request, &[b"/", &lexical::below_root(&joined)[..]].concat(), query).await
}

/// The URL path of the folder, with its slash.
fn folder_url<'l>(request: &'l RequestContext<'_>) -> &'l [u8] {
    let url =
        request.path.strip_suffix(request.mapping.path_info.as_slice()).unwrap_or(&request.path);
    let end = url.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    &url[..end]
}

/// All lines of a field of the request as one.
fn joined(request: &RequestContext<'_>, name: &str) -> Option<Vec<u8>> {
    request.mark_personal();
    let view = request.received().view();
    let is_it = |field: &(&[u8], &[u8])| field.0.eq_ignore_ascii_case(name.as_bytes());
    let lines: Vec<&[u8]> = view.fields().filter(is_it).map(|field| field.1).collect();
    (!lines.is_empty()).then(|| lines.join(&b", "[..]))
}

/// What was chosen.
struct Chosen<'a> {
    index: usize,
    /// The look-up of it, where one was needed for the choice.
    sub: Option<Box<RequestContext<'a>>>,
}

/// A choice to be made.
struct PendingChoice<'v> {
    variants: &'v [Variant],
    prefers_scripts: bool,
    /// The number of files that MultiViews found.
    files: usize,
    by_name: ByName,
}

impl PendingChoice<'_> {
    /// Choose, and note in `request` what the answer says about it (mod_negotiation.c,
    /// do_negotiation).
    async fn run<'a>(&self, request: &mut RequestContext<'a>) -> Result<Chosen<'a>, Stop> {
        let outcome = choose(request, self.variants, self.prefers_scripts);
        let NegotiationOutcome { choice, fields, is_transparent } = outcome;
        let index = match choice {
            VariantChoice::Variant(index) => index,
            VariantChoice::List => {
                set_fields(request, &fields);
                let list = Failure::new(Status::MULTIPLE_CHOICES, "negotiation", "");
                return Err(list.variants(response::variant_list(self.variants)).into());
            }
            VariantChoice::NotAcceptable => {
                set_fields(request, &fields);
                let text = format!("no acceptable variant: {}", request.display_path());
                let failure = Failure::new(Status::NOT_ACCEPTABLE, "negotiation", text);
                let failure = failure.id(690).at_error();
                return Err(failure.variants(response::variant_list(self.variants)).into());
            }
        };
        let sub = match is_transparent {
            true => Some(Box::new(self.final_variant(request, index).await?)),
            false => None,
        };
        // Behind the look-up: where that has put a `Vary` of the variant, ours is appended to it.
        set_fields(request, &fields);
        let is_http_1_0 = request.received().view().version() == Version::Http10;
        let caches = SETTINGS.of(&request.settings).caches();
        request.negotiated.no_cache |= response::expires_at_once(is_http_1_0, caches, self.files);
        Ok(Chosen { index, sub })
    }

    /// The look-up of a variant that must not be negotiated in its turn (RFC 2295 section 8.1;
    /// mod_negotiation.c, setup_choice_response).
    async fn final_variant<'a>(
        &self,
        request: &mut RequestContext<'a>,
        index: usize,
    ) -> Result<RequestContext<'a>, Stop> {
        let name = &self.variants[index].name;
        let mut sub = self.by_name.look_up(request, name, Query::Inherited).await?;
        let has =
            |name: &str| sub.output.always.iter().any(|field| field.0.eq_ignore_ascii_case(name));
        // Only what was negotiated itself says `TCN` (section 8.5).
        if has("TCN") || handler_name::configured(&sub)?.as_deref() == Some(MAP_HANDLER) {
            let text = format!("{} is itself negotiated", sub.display_path());
            let failure = Failure::new(Status::VARIANT_ALSO_NEGOTIATES, "negotiation", text);
            return Err(failure.into());
        }
        let is_vary = |field: &message::Field| field.0.eq_ignore_ascii_case("Vary");
        if let Some(at) = sub.output.always.iter().position(is_vary) {
            let (_, vary) = sub.output.always.remove(at);
            request.output.always.push(("Variant-Vary".into(), vary.clone()));
            request.output.always.push(("Vary".into(), vary));
        }
        Ok(sub)
    }
}

fn choose(
    request: &RequestContext<'_>,
    variants: &[Variant],
    prefers_scripts: bool,
) -> NegotiationOutcome {
    let field = |name| joined(request, name);
    let accept = ["Accept", "Accept-Language", "Accept-Charset", "Accept-Encoding"].map(field);
    let [negotiate, user_agent] = ["Negotiate", "User-Agent"].map(field);
    let asked = choose::NegotiatedRequest {
        is_get: request.method().is_some_and(Method::is_get_or_head),
        has_path_info: !request.mapping.path_info.is_empty(),
        prefers_scripts,
        accept: accept[0].as_deref(),
        accept_language: accept[1].as_deref(),
        accept_charset: accept[2].as_deref(),
        accept_encoding: accept[3].as_deref(),
        negotiate: negotiate.as_deref(),
        user_agent: user_agent.as_deref(),
        prefer_language: request.tables.env.get("prefer-language"),
        no_gzip: request.tables.env.has("no-gzip"),
        gzip_only_html: request.tables.env.get("gzip-only-text/html") == Some(b"1"),
    };
    choose::choose(&asked, SETTINGS.of(&request.settings), variants)
}

/// Fields of the answer, be it good or an error.
fn set_fields(request: &mut RequestContext<'_>, fields: &NegotiationFields) {
    for (name, value) in fields.iter() {
        let known =
            request.output.always.iter_mut().find(|field| field.0.eq_ignore_ascii_case(name));
        match known {
            Some(known) if matches!(name, "Vary" | "Alternates") => {
                known.1.extend_from_slice(b", ");
                known.1.extend_from_slice(value);
            }
            Some(known) => known.1 = value.to_vec(),
            None => request.output.always.push((name.into(), value.to_vec())),
        }
    }
}

/// The entity tag of a type map, which is that of the list of variants.
async fn map_tag(map: &RequestContext<'_>) -> Result<Option<Vec<u8>>, Stop> {
    let Ok(entry) = map.found.as_ref() else { return Ok(None) };
    description::file_tag(map, &entry.file, &entry.status).await
}

/// The variants that a type map lists, with the sizes of their files.
async fn variants_of(map: &RequestContext<'_>) -> Result<Vec<Variant>, Stop> {
    let path = map.display_path();
    let unreadable = |reason: String| -> Stop {
        let text = format!("cannot access type map file: {path}: {reason}");
        Failure::new(Status::FORBIDDEN, "negotiation", text).id(680).at_error().into()
    };
    let entry = map.found.as_ref().map_err(|errno| unreadable(errno.to_string()))?;
    let mut text = Vec::new();
    let limit = type_map::FILE_BYTES_MAX as u64;
    let file = entry.file.try_clone().map_err(|error| unreadable(error.to_string()))?;
    file.take(limit).read_to_end(&mut text).map_err(|error| unreadable(error.to_string()))?;
    let parsed = type_map::parse(&text, map.file_name()).map_err(|bad| bad_map(&path, &bad))?;
    let TypeMap { mut variants, stopped } = parsed;
    if let Some(stop) = stopped {
        log_stop(map, &path, &stop);
    }
    for variant in &mut variants {
        if variant.length.is_none()
            && variant.body.is_none()
            && let Ok(found) = look_up(map, &variant.name, Query::None).await
        {
            variant.length = found.found.as_ref().ok().map(|entry| entry.status.size);
        }
    }
    Ok(variants)
}

fn bad_map(path: &str, bad: &BadMap) -> Failure {
    let failure =
        |text| Failure::new(Status::INTERNAL_SERVER_ERROR, "negotiation", text).at_error();
    match bad {
        BadMap::NoColon(line) => {
            let line = String::from_utf8_lossy(line);
            let text = format!("Syntax error in type map, no ':' in {path} for header {line}");
            failure(text).id(681)
        }
        BadMap::NoValue(line) => {
            let line = String::from_utf8_lossy(line);
            let text = format!("Syntax error in type map --- no header body: {line} for {path}");
            failure(text).id(682)
        }
    }
}

fn log_stop(map: &RequestContext<'_>, path: &str, stop: &type_map::TypeMapStop) {
    let (id, text) = match stop {
        type_map::TypeMapStop::BadLength(text) => {
            let text = String::from_utf8_lossy(text);
            let text =
                format!("Parse error in type map, Content-Length: '{text}' in {path} is invalid.");
            (684, text)
        }
        type_map::TypeMapStop::NoEndTag(tag) => {
            let tag = String::from_utf8_lossy(tag);
            let text = format!(
                "Syntax error in type map, no end tag '{tag}' found in {path} for Body: content."
            );
            (685, text)
        }
    };
    map.log(Level::Error, "negotiation", Some(id), &text);
}

/// Resolve hook: a type map (mod_negotiation.c, handle_map_file).
pub(crate) fn map<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    match is_map(request) {
        Ok(true) => NowOrLater::later(answer_map(request)),
        Ok(false) => NowOrLater::Now(Ok(None)),
        Err(stop) => NowOrLater::Now(Err(stop)),
    }
}

fn is_map(request: &RequestContext<'_>) -> Result<bool, Stop> {
    let name = handler_name::effective(request)?;
    let is_map = name.is_some_and(|name| name == MAP_HANDLER || name == MAP_TYPE);
    if is_map && matches!(request.found, Err(Errno::NOENT)) && request.mapping.backend.is_none() {
        // Whatever the method is, a list that is not there has no variants.
        return Err(request.open_failure(Errno::NOENT).into());
    }
    Ok(is_map && phase::is_file(request))
}

async fn answer_map(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    request.mark_personal();
    request.negotiated.list_tag = map_tag(request).await?;
    let variants = variants_of(request).await?;
    let by_name = ByName::InMap;
    let contest = PendingChoice { variants: &variants, prefers_scripts: false, files: 0, by_name };
    let index = contest.run(request).await?.index;
    let chosen = &variants[index];
    if chosen.body.is_some() {
        return text_of(request, chosen).await.map(Some);
    }
    let (folder, query) = (folder_url(request), request.query());
    let target = response::map_target(folder, chosen, &request.mapping.path_info, query);
    Err(phase::internal(&target))
}

/// The answer with a text that stands in the map itself.
async fn text_of(
    request: &mut RequestContext<'_>,
    chosen: &Variant,
) -> Result<Rc<dyn Handler>, Stop> {
    let method = file_response::method_for_file(request.received(), request.method())?;
    let utf8 = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    if let Some(content_type) = response::content_type(chosen) {
        request.negotiated.content_type = Some(utf8(&content_type));
    }
    if !chosen.languages.is_empty() {
        request.negotiated.content_language = Some(utf8(&chosen.languages.join(&b',')));
    }
    if let Some(encoding) = chosen.encoding.as_ref().filter(|text| !text.is_empty()) {
        request.negotiated.content_encoding = Some(utf8(encoding));
    }
    let entry = std::mem::replace(&mut request.found, Err(Errno::NOENT))
        .map_err(|errno| request.open_failure(errno))?;
    let origin = Origin {
        root: request.mapping.place.root.clone(),
        below: request.mapping.place.below.clone(),
        links: request.mapping.links,
    };
    let source = Rc::new(Representation::new(entry, request, origin).await?);
    let validators = Validators { etag: None, last_modified_s: Some(source.last_modified_s) };
    let mut answer = match evaluate(&request.conditions(), &validators, method != Method::Post) {
        Condition::Proceed => Response::new(Status::OK).field("Accept-Ranges", "bytes"),
        Condition::NotModified => Response::new(Status::NOT_MODIFIED),
        Condition::PreconditionFailed => {
            let text = "a precondition of the request does not hold";
            return Err(Failure::new(Status::PRECONDITION_FAILED, "http", text).into());
        }
    };
    if answer.status == Status::OK {
        answer.late = file_response::late_description(&source);
        answer.content_type.clone_from(&source.content_type);
        let body = chosen.body.map(|body| (body.start, body.length)).unwrap_or_default();
        let (offset, length) = body;
        answer.body = Body { pieces: vec![BodyPiece::File { source, offset, length }] };
    }
    Ok(Made::new(MAP_HANDLER, answer))
}

/// Fixup hook: `x-gzip` for clients that know it by that name only, and the other way round
/// (mod_negotiation.c, fix_encoding).
pub(crate) fn fix_encoding(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    if !phase::is_file(request) {
        return Ok(());
    }
    let settings = request.settings.clone();
    let mime = mime::metadata(&settings, request.site(), request.mime_name());
    let own = request.negotiated.content_encoding.as_deref().or(mime.encoding.as_deref());
    let Some(encoding) = own.map(|text| text.as_bytes().to_vec()) else { return Ok(()) };
    let accepted = joined(request, "Accept-Encoding");
    if let Some(spelled) = client_encoding(&encoding, accepted.as_deref()) {
        request.negotiated.content_encoding = Some(String::from_utf8_lossy(&spelled).into_owned());
    }
    Ok(())
}

/// Finish hook: what depends on the client must not stay in a cache that knows no `Vary`.
pub(crate) fn expires(
    request: &mut RequestContext<'_>,
    response: &mut Response,
) -> Result<(), Failure> {
    if request.negotiated.no_cache && response.get("Expires").is_none() {
        let now_s = request.received().start_us.div_euclid(1_000_000);
        response.set("Expires", http_date(now_s));
    }
    Ok(())
}
