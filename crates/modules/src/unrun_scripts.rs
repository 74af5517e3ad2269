//! Scripts that nothing is configured to run, PHP above all: their source is never sent.
//!
//! Scripts are answered 503, and copies of scripts (`x.php~`, `x.php.bak`) are refused: they hold
//! passwords as often as the scripts themselves.

use crate::asis;
use content::include;
use content::would_send::would_send;
use message::Status;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::phase;
use server::request_context::RequestContext;
use std::rc::Rc;

/// Extensions that Debian's php8.2.conf runs or refuses, and older names of the same.
const EXTENSIONS: &[&str] =
    &["php", "phtml", "phar", "phps", "pht", "php3", "php4", "php5", "php7", "php8"];

/// What a file name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhpScript {
    No,
    Yes,
    /// A script with something appended to its name.
    Copy,
}

/// Take PHP files out of the hands of the file handler.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    if !phase::is_file(request) || !would_send(request) {
        return Ok(None);
    }
    let handler = handler_name::configured(request)?;
    let is_page = |name: &str| name == include::SERVER_PARSED && include::is_parsed(request);
    let is_plain =
        |name: &str| name == "default-handler" || asis::HANDLERS.contains(&name) || is_page(name);
    let handler = handler.as_deref().filter(|name| !is_plain(name));
    let mime = request.metadata(request.mime_name());
    let is_for_php = mime.content_type.is_some_and(|name| name.starts_with("application/x-httpd-"));
    if let Some(what) = handler.or(mime.content_type.filter(|_| is_for_php)) {
        // What somebody wants to be run must not be shown instead.
        let path = request.display_path();
        let advice = match what.starts_with("application/x-httpd-") {
            true => format!(": {}", config::PHP_ADVICE),
            false => String::new(),
        };
        let text = format!(
            "no module has the handler {what}, which is set for {path}: the file is not \
             sent{advice}"
        );
        return Err(Failure::new(Status::SERVICE_UNAVAILABLE, "core", text).at_error().into());
    }
    match classify(request.file_name()) {
        PhpScript::No => Ok(None),
        PhpScript::Yes => Err(Failure::new(
            Status::SERVICE_UNAVAILABLE,
            "php",
            format!(
                "{} is a PHP script and nothing is configured to run it: its source is not sent. \
                 With trivet serve, add --php auto; otherwise {}",
                request.display_path(),
                config::PHP_ADVICE
            ),
        )
        .at_error()
        .into()),
        PhpScript::Copy => Err(Failure::new(
            Status::FORBIDDEN,
            "php",
            format!(
                "{} looks like a copy of a PHP script: its source is not sent",
                request.display_path()
            ),
        )
        .at_error()
        .into()),
    }
}

/// Endings of a name that a browser shows as something else than PHP source: `x.php.jpg` is an
/// image as long as nobody configures a handler for all files with `.php` somewhere inside.
pub(crate) fn classify(name: &[u8]) -> PhpScript {
    let lower = name.to_ascii_lowercase();
    let mut found = PhpScript::No;
    let mut parts = lower.split(|byte| *byte == b'.').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let clean = part.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if !EXTENSIONS.iter().any(|extension| extension.as_bytes() == &part[..clean]) {
            continue;
        }
        if is_last && clean == part.len() {
            return PhpScript::Yes;
        }
        found = PhpScript::Copy;
        // One honest extension may follow, and nothing behind it.
        let rest = parts.peek().copied().unwrap_or_default();
        if clean == part.len() && MEDIA.iter().any(|media| media.as_bytes() == rest) {
            parts.next();
            if parts.peek().is_none() {
                return PhpScript::No;
            }
            // Look at the media part's follower as well: `x.php.js.php` is a script.
        }
    }
    found
}

/// Extensions that may follow `.php.` in an honest name.
const MEDIA: &[&str] = &["jpg", "jpeg", "png", "gif", "webp", "svg", "css", "js", "html", "htm"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_their_copies_are_recognised_in_any_spelling() {
        for name in ["x.php", "X.PHP", "a.b.phtml", "x.phps", "x.php8", ".php", "x.php.js.php"] {
            assert_eq!(classify(name.as_bytes()), PhpScript::Yes, "{name}");
        }
        for name in [
            "x.php~",
            "x.php.bak",
            "x.php.",
            "x.php ",
            "x.PHP.save",
            "x.php.html.bak",
            "x.php.x.y",
            "x.php\n",
            "a.php.swp",
        ] {
            assert_eq!(classify(name.as_bytes()), PhpScript::Copy, "{name}");
        }
        for name in ["x.html", "php", "x.phpx", "x.php.jpg", "phpinfo.txt", "x.graph.p"] {
            assert_eq!(classify(name.as_bytes()), PhpScript::No, "{name}");
        }
    }
}
