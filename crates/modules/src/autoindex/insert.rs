//! HeaderName and ReadmeName: the file whose text stands above or below a listing
//! (mod_autoindex.c, `emit_head` and `emit_tail`). How it is shown is the page's business.

use super::Insert;
use logging::level::Level;
use message::{Field, Status};
use server::failure::{Failure, Stop};
use server::phase;
use server::request_context::{Query, RequestContext};
use server::{description, fields};
use std::fs::File;
use std::io::Read;

/// A longer text is cut off here: the page is put together in memory.
const BYTES_MAX: u64 = 1 << 20;

/// A file to insert.
pub(super) struct Insertable {
    file: File,
    length: u64,
    is_html: bool,
}

/// What was read of it.
pub(super) struct Inserted {
    text: Vec<u8>,
    is_html: bool,
}

impl Insertable {
    /// Its text. This waits for the disk.
    pub(super) fn read(&self) -> Option<Inserted> {
        let mut text = Vec::new();
        (&self.file).take(BYTES_MAX).read_to_end(&mut text).ok()?;
        Some(Inserted { text, is_html: self.is_html })
    }
}

impl Inserted {
    /// HTML is copied into the page, another text shown as it is.
    pub(super) fn insert(&self) -> Insert<'_> {
        match self.is_html {
            true => Insert::Html(&self.text),
            false => Insert::Text(&self.text),
        }
    }
}

/// What `names` lead to, as far as it is there and a request for it would get it.
pub(super) async fn find(
    request: &RequestContext<'_>,
    names: [&Option<String>; 2],
) -> [Option<Insertable>; 2] {
    let mut found = [None, None];
    if names.iter().all(|name| name.is_none()) {
        return found;
    }
    let asking = asking(request);
    for (name, found) in names.iter().zip(&mut found) {
        if let Some(name) = name {
            *found = find_one(request, &asking, name).await;
        }
    }
    found
}

/// The same for one of them; if there is something that cannot be inserted the log says why.
async fn find_one(
    request: &RequestContext<'_>,
    asking: &[Field],
    name: &str,
) -> Option<Insertable> {
    match look_up(request, asking, name).await {
        Ok(found) => found.inspect(|found| {
            if found.length > BYTES_MAX {
                let text = format!("{name} is cut off after {BYTES_MAX} bytes in listings");
                request.log(Level::Warn, "autoindex", None, &text);
            }
        }),
        Err(Stop::Failure(failure)) if failure.status != Status::NOT_FOUND => {
            request.log_failure(&failure);
            None
        }
        Err(_) => None,
    }
}

/// The fields of a wish for a text without a coding: what it accepts is about the page.
fn asking(request: &RequestContext<'_>) -> Vec<Field> {
    let mut fields = fields::of_request(request.received());
    let is_own = |name: &str| {
        name.eq_ignore_ascii_case("Accept") || name.eq_ignore_ascii_case("Accept-Encoding")
    };
    fields.retain(|field| !is_own(&field.0));
    fields.push(("Accept".into(), b"text/html, text/plain".to_vec()));
    fields
}

/// Look a name up as a URL. Only a file is inserted: httpd runs a script whose type is HTML, and
/// shows the source of one whose type is another text.
async fn look_up(
    request: &RequestContext<'_>,
    asking: &[Field],
    name: &str,
) -> Result<Option<Insertable>, Stop> {
    let mut found = phase::sub_request(request, name.as_bytes(), Query::Inherited)?;
    found.set_fields(asking);
    phase::process(&mut found).await?;
    let content_type = description::content_type(&found).unwrap_or_default();
    let Some(is_html) = is_html(&content_type).filter(|_| phase::is_regular(&found)) else {
        return Ok(None);
    };
    let handler = phase::resolve(&mut found).await?;
    let called = handler.name();
    let Some(source) = handler.file() else {
        let text = format!("{name} is not shown in listings: its handler is {called}");
        return Err(Failure::new(Status::FORBIDDEN, "autoindex", text).level(Level::Warn).into());
    };
    let length = source.status.size;
    Ok(source.file.try_clone().ok().map(|file| Insertable { file, length, is_html }))
}

/// Whether a text is HTML (`response_is_html`); `None` of what is no text.
fn is_html(content_type: &str) -> Option<bool> {
    let bare = content_type.split(';').next().unwrap_or_default().trim_end();
    let is_html =
        ["text/html", "application/xhtml+xml"].iter().any(|html| bare.eq_ignore_ascii_case(html));
    let is_text = bare.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("text/"));
    (is_html || is_text).then_some(is_html)
}
