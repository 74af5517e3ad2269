//! Digests of the content of files, for `ContentDigest` and `FileETag Digest`.

use crate::question;
use crate::request_context::RequestContext;
use crate::waiting::{NowOrLater, Waiting};
use md5::Md5;
use runtime::file::FileAttributes;
use sha1::{Digest, Sha1};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A longer file has no digest: each request for it would read all of it.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// A longer file is read on another thread: for this much the disk and the digest need a
/// millisecond, about 600 MB/s.
const INLINE_BYTES_MAX: u64 = 512 << 10;

const STEP_BYTES: usize = 64 * 1024;

/// The value of `Content-MD5` (RFC 1864), which httpd sends for all of a file.
///
/// # Errors
/// As [`question::elsewhere`] for a long file.
pub(crate) fn md5<'l>(
    request: &'l RequestContext<'_>,
    file: &File,
    status: &FileAttributes,
) -> Waiting<'l, Option<Vec<u8>>> {
    of_file(request, file, status, "md5", digest::<Md5>)
}

/// What stands in an entity tag (http_etag.c, make_digest_etag).
///
/// # Errors
/// As [`question::elsewhere`] for a long file.
pub(crate) fn sha1<'l>(
    request: &'l RequestContext<'_>,
    file: &File,
    status: &FileAttributes,
) -> Waiting<'l, Option<Vec<u8>>> {
    of_file(request, file, status, "sha1", digest::<Sha1>)
}

/// A digest of a file that may be long.
fn of_file<'l>(
    request: &'l RequestContext<'_>,
    file: &File,
    status: &FileAttributes,
    name: &str,
    digest: fn(&File, u64) -> Option<Vec<u8>>,
) -> Waiting<'l, Option<Vec<u8>>> {
    let length = status.size;
    if length <= INLINE_BYTES_MAX {
        return NowOrLater::Now(Ok(digest(file, length)));
    }
    let Ok(file) = file.try_clone() else { return NowOrLater::Now(Ok(None)) };
    let about = (name, status.identity, length, status.modified_ns, status.changed_ns);
    let found = question::elsewhere(request, &about, move || digest(&file, length));
    found.map(|found| Ok((*found?).clone()))
}

/// The digest in base64; `None` for a file that is too long, or that changes under our hands.
fn digest<D: Digest>(file: &File, length: u64) -> Option<Vec<u8>> {
    if length > FILE_BYTES_MAX {
        return None;
    }
    let (mut digest, mut buffer) = (D::new(), vec![0; STEP_BYTES]);
    let mut at = 0;
    while at < length {
        let step = usize::try_from(length - at).unwrap_or(STEP_BYTES).min(STEP_BYTES);
        file.read_exact_at(&mut buffer[..step], at).ok()?;
        digest.update(&buffer[..step]);
        at += step as u64;
    }
    Some(expr::base64(&digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn digests_are_those_of_the_content() {
        let path = std::env::temp_dir().join(format!("trivet-digest-{}", std::process::id()));
        for (content, md5_text, sha1_text) in [
            (vec![], "1B2M2Y8AsgTpgAmY7PhCfg==", "2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
            (b"abc".to_vec(), "kAFQmDzST7DWlj99KOF/cg==", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="),
        ] {
            fs::write(&path, &content).unwrap();
            let (file, length) = (File::open(&path).unwrap(), content.len() as u64);
            assert_eq!(digest::<Md5>(&file, length).unwrap(), md5_text.as_bytes());
            assert_eq!(digest::<Sha1>(&file, length).unwrap(), sha1_text.as_bytes());
            assert_eq!(digest::<Md5>(&file, length + 1), None);
            assert_eq!(digest::<Md5>(&file, u64::MAX), None);
        }
        fs::write(&path, vec![b'a'; 200_000]).unwrap();
        let long = digest::<Md5>(&File::open(&path).unwrap(), 200_000).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(long.len(), 24);
    }
}
