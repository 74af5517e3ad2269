//! Every content handler there is, and the one match that runs them.

use crate::context::Context;
use crate::failure::Failure;
use crate::modules::{autoindex, diagnostic, files, status};
use crate::representation::Representation;
use crate::request::Request;
use crate::response::Response;
use message::{Method, Status};
use std::fs::File;
use std::rc::Rc;

/// What answers a request.
pub(crate) enum Handler {
    /// A regular file.
    File(Rc<Representation>),
    /// A directory listing.
    Listing {
        /// The open folder.
        folder: File,
        /// Where it is and what holds for it.
        place: autoindex::listing::Place,
    },
    /// A redirect to this URL.
    Redirect(Vec<u8>),
    /// server-status.
    Status,
    /// Waits, burns and faults on request.
    Diagnostic,
}

/// Names that `SetHandler` knows.
pub(crate) const NAMES: &[&str] = &["server-status", "trivet-diagnostic", "default-handler"];

/// Answer with a file that was found before.
pub(crate) fn from_file(
    request: &Request,
    source: &Rc<Representation>,
) -> Result<Response, Failure> {
    files::respond(request, source)
}

impl Handler {
    /// Answer.
    pub(crate) async fn run(
        self,
        context: &Context,
        request: &Request,
    ) -> Result<Response, Failure> {
        if request.method() == Some(Method::Options) {
            return Ok(Response::new(Status::OK).field("Allow", crate::response::ALLOWED_METHODS));
        }
        match self {
            Self::File(source) => files::respond(request, &source),
            Self::Listing { folder, place } => {
                files::method_for_file(request.method())?;
                autoindex::listing::respond(context, request, folder, place).await
            }
            Self::Redirect(location) => {
                files::method_for_file(request.method())?;
                Ok(Response::redirect(Status::MOVED_PERMANENTLY, location))
            }
            Self::Status => status::respond(context, request),
            Self::Diagnostic => diagnostic::respond(request).await,
        }
    }

    /// Its name, for `%R` and messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::File(_) => "default-handler",
            Self::Listing { .. } => "httpd/unix-directory",
            Self::Redirect(_) => "redirect-handler",
            Self::Status => "server-status",
            Self::Diagnostic => "trivet-diagnostic",
        }
    }
}
