//! Why the place of a request cannot be opened.

use super::RequestContext;
use crate::failure::Failure;
use message::Status;
use runtime::file::{self, Errno, FileType};

impl RequestContext<'_> {
    /// The failure for what could not be opened, in httpd's words.
    pub fn open_failure(&self, errno: Errno) -> Failure {
        let path = self.display_path();
        match errno {
            Errno::NOENT | Errno::NOTDIR => {
                let text = format!("File does not exist: {path}");
                Failure::new(Status::NOT_FOUND, "core", text).id(128)
            }
            Errno::LOOP | Errno::XDEV => {
                let text =
                    format!("Symbolic link not allowed or link target not accessible: {path}");
                Failure::new(Status::FORBIDDEN, "core", text).id(37).at_error()
            }
            Errno::NAMETOOLONG => {
                let url = String::from_utf8_lossy(&self.path);
                let text = format!("access to {url} failed (filesystem path '{path}')");
                let failure = Failure::new(Status::FORBIDDEN, "core", text).id(36).at_error();
                failure.os_error(errno.raw_os_error())
            }
            // Descriptors or memory: the next request may find some again.
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => {
                let text = format!("cannot open {path} now: {errno}");
                Failure::new(Status::SERVICE_UNAVAILABLE, "core", text).at_error().retry_after(1)
            }
            _ => denied(self, &path).os_error(errno.raw_os_error()),
        }
    }
}

/// Which permission is missing: to go somewhere (request.c, ap_directory_walk), to list a folder
/// (mod_autoindex.c, index_directory) or to read a file (core.c, default_handler).
fn denied(request: &RequestContext<'_>, path: &str) -> Failure {
    let whole = request.mapping.place.path();
    let status = |path: &[u8]| file::status_at(file::CURRENT_FOLDER, path);
    let (module, id, text) = match status(&whole).map(|status| status.kind) {
        Err(_) => {
            let ends = (1..whole.len()).filter(|at| whole[*at] == b'/').chain([whole.len()]);
            let hidden = ends.map(|end| &whole[..end]).find(|part| status(part).is_err());
            let hidden = String::from_utf8_lossy(hidden.unwrap_or(&whole)).into_owned();
            let url = String::from_utf8_lossy(&request.path);
            let text = format!(
                "access to {url} denied (filesystem path '{hidden}') because search permissions \
                 are missing on a component of the path"
            );
            ("core", 35, text)
        }
        Ok(FileType::Directory) => {
            ("autoindex", 1275, format!("Can't open directory for index: {path}"))
        }
        Ok(_) => ("core", 132, format!("file permissions deny server access: {path}")),
    };
    Failure::new(Status::FORBIDDEN, module, text).id(id).at_error()
}
