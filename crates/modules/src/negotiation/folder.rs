//! The names in a folder that may be variants of a name that is not there.

use super::variant;
use message::Status;
use runtime::file::{self, Errno, FileType};
use server::failure::{Failure, Stop};
use server::mapping::PlaceEntry;
use server::question;
use server::request_context::RequestContext;
use server::walk;
use std::fs::File;

/// What in the folder of the file begins with its name, without folders; and the folder's time.
pub(super) async fn names(
    request: &RequestContext<'_>,
    base: &[u8],
) -> Result<(Vec<Vec<u8>>, i64), Stop> {
    let unreadable = |errno: Errno| -> Stop {
        let path = request.display_path();
        let text = format!("cannot read directory for multi: {path}: {errno}");
        Failure::new(Status::FORBIDDEN, "negotiation", text).id(686).at_error().into()
    };
    let PlaceEntry { file, status } = walk::folder(request).await.map_err(unreadable)?;
    let few = file::few_names(&file, walk::FEW_NAMES).map_err(unreadable)?;
    let names = match few {
        Some(names) => fitting(&file, names, base),
        None => {
            let about = ("negotiation", request.mapping.place.path());
            let base = base.to_vec();
            let work = move || file::names(&file).map(|names| fitting(&file, names, &base));
            let names = question::elsewhere::<Result<Vec<Vec<u8>>, Errno>>(request, &about, work);
            (*names.await?).clone().map_err(unreadable)?
        }
    };
    Ok((names, status.modified_us()))
}

/// Those of the names that may be variants of `base`.
fn fitting(folder: &File, mut names: Vec<Vec<u8>>, base: &[u8]) -> Vec<Vec<u8>> {
    let is_folder = |name: &[u8]| {
        file::status_at(folder, name).is_ok_and(|status| status.kind == FileType::Directory)
    };
    let is_one = |name: &Vec<u8>| variant::is_candidate(name, base) && !is_folder(name);
    names.retain(is_one);
    names
}
