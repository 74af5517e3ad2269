//! What a response says about a file: type, encoding, languages, validators and digests, as the
//! settings of a request have them.

use crate::content_digest;
use crate::failure::Stop;
use crate::http_date::http_date;
use crate::mapping::PlaceEntry;
use crate::representation::{Origin, Representation};
use crate::request_context::{Because, RequestContext};
use crate::site::settings::core::FileEtag;
use message::{Field, etag};
use runtime::file::{Errno, FileAttributes};
use std::fs::File;

/// The media type of the file that is, or would be, in the place of `request`.
pub fn content_type(request: &RequestContext<'_>) -> Option<String> {
    let settings = &request.settings;
    let mime = request.metadata(request.mime_name());
    let of_name = || mime.content_type_value().map(std::borrow::Cow::into_owned);
    let content_type = request.negotiated.content_type.clone().or_else(of_name);
    content_type.map(|text| settings.core.with_charset(text))
}

/// The encoding and the languages of the file that is, or would be, in the place of `request`, with
/// the names of their fields.
pub fn codings(request: &RequestContext<'_>) -> [(&'static str, Option<String>); 2] {
    let mime = request.metadata(request.mime_name());
    let encoding = || mime.encoding.as_deref().map(str::to_owned);
    let language = || mime.language().map(std::borrow::Cow::into_owned);
    [
        ("Content-Encoding", request.negotiated.content_encoding.clone().or_else(encoding)),
        ("Content-Language", request.negotiated.content_language.clone().or_else(language)),
    ]
}

impl Representation {
    /// Whether a description may have to be waited for: only for digests.
    pub fn may_wait(request: &RequestContext<'_>) -> bool {
        request.settings.core.content_digest() || request.settings.core.file_etag().digest
    }

    /// Describe what was found.
    ///
    /// # Errors
    /// 503 if too many files are open; as `content_digest::md5`.
    pub async fn new(
        entry: PlaceEntry,
        request: &RequestContext<'_>,
        origin: Origin,
    ) -> Result<Self, Stop> {
        let held = request.context.hold_file();
        let held = held.ok_or_else(|| request.open_failure(Errno::MFILE))?;
        let PlaceEntry { file, status } = entry;
        // Unmarked, here and below: what tells of a file that it is of this second is shared in no
        // other (`is_settled`).
        let (settings, now_us) =
            (&request.settings, request.unmarked(Because::OfThisSecond).received.start_us);
        let [(_, content_encoding), (_, content_language)] = codings(request);
        let etag = file_tag(request, &file, &status).await?;
        let content_md5 = match settings.core.content_digest() {
            true => content_digest::md5(request, &file, &status).await?,
            false => None,
        };
        // RFC 9110 section 8.8.2.1: a date in the future is replaced by the current one.
        let last_modified_s = status.modified_us().min(now_us).div_euclid(1_000_000);
        Ok(Self {
            etag: match &request.negotiated.list_tag {
                Some(list) => etag.map(|etag| joined_tag(&etag, list)),
                None => etag,
            },
            last_modified: http_date(last_modified_s),
            last_modified_s,
            content_type: content_type(request),
            content_encoding,
            content_language,
            content_md5,
            file,
            status,
            settings: settings.clone(),
            origin,
            _held: held,
        })
    }
}

/// The tag of something that is no file: its time alone (http_etag.c, ap_make_etag_ex).
pub fn time_tag(modified_us: i64, now_us: i64) -> Vec<u8> {
    let weak = if now_us - modified_us < 1_000_000 { "W/" } else { "" };
    format!("{weak}\"{:x}\"", modified_us.cast_unsigned()).into_bytes()
}

/// The entity tag of a file, as `FileETag` has it.
///
/// # Errors
/// As `content_digest::sha1`.
pub async fn file_tag(
    request: &RequestContext<'_>,
    file: &File,
    status: &FileAttributes,
) -> Result<Option<Vec<u8>>, Stop> {
    let facts = request.settings.core.file_etag();
    let digest = match facts.digest {
        true => content_digest::sha1(request, file, status).await?,
        false => None,
    };
    Ok(match digest {
        Some(digest) => Some([&b"\""[..], &digest, b"\""].concat()),
        None => make_etag(facts, status, request.unmarked(Because::OfThisSecond).received.start_us),
    })
}

/// The entity tag of a negotiated answer: that of the file joined with that of the list of
/// variants, which for MultiViews is a tag of the folder's time alone, for a type map that of the
/// map. As httpd sends it, it lacks its final quotation mark (http_etag.c `etag_end`).
pub fn joined_tag(file: &[u8], list: &[u8]) -> Vec<u8> {
    let bare = |tag: &[u8]| {
        let strong = tag.strip_prefix(b"W/").unwrap_or(tag);
        let inside = strong.strip_prefix(b"\"").unwrap_or(strong);
        inside.strip_suffix(b"\"").unwrap_or(inside).to_vec()
    };
    let is_weak = file.starts_with(b"W/") || list.starts_with(b"W/");
    let start: &[u8] = if is_weak { b"W/\"" } else { b"\"" };
    [start, &bare(file), b";", &bare(list)].concat()
}

/// `Last-Modified` and `ETag` of a folder, of which no digest is made (ap_make_etag_ex: where
/// nothing but a digest is asked for httpd sends an empty tag, which would match every time).
pub fn folder_validators(request: &RequestContext<'_>, status: &FileAttributes) -> Vec<Field> {
    let now_us = request.unmarked(Because::OfThisSecond).received.start_us;
    let facts = FileEtag { digest: false, ..request.settings.core.file_etag() };
    let changed_s = status.modified_us().min(now_us).div_euclid(1_000_000);
    let changed = ("Last-Modified".into(), http_date(changed_s).into_bytes());
    let tag = make_etag(facts, status, now_us).map(|tag| ("ETag".into(), tag));
    [changed].into_iter().chain(tag).collect()
}

/// `FileETag`: hexadecimal facts joined by `-`; weak while the file is younger than a second.
fn make_etag(facts: FileEtag, status: &FileAttributes, now_us: i64) -> Option<Vec<u8>> {
    let mut tag = Vec::with_capacity(40);
    if facts == (FileEtag { inode: false, mtime: true, size: true, digest: false }) {
        etag::write_file_tag(status.size, status.modified_us(), now_us, &mut tag);
        return Some(tag);
    }
    let parts: Vec<String> = [
        (facts.inode, status.identity.1),
        (facts.size, status.size),
        (facts.mtime, status.modified_us().cast_unsigned()),
    ]
    .iter()
    .filter(|part| part.0)
    .map(|part| format!("{:x}", part.1))
    .collect();
    (!parts.is_empty()).then(|| format!("\"{}\"", parts.join("-")).into_bytes())
}
