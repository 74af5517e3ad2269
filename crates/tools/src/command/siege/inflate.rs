//! Pages as they were before the server compressed them.

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::Read;

/// The page, at most so many bytes of it; what cannot be read is left out.
pub(super) fn inflate<'a>(body: &'a [u8], encoding: &[u8], bytes_max: usize) -> Cow<'a, [u8]> {
    let is = |name: &[u8]| encoding.trim_ascii().eq_ignore_ascii_case(name);
    let mut out = Vec::new();
    if is(b"gzip") || is(b"x-gzip") {
        read(MultiGzDecoder::new(body), bytes_max, &mut out);
    } else if is(b"deflate") {
        // RFC 9110 section 8.4.1.2 means zlib by it, and some servers send the bare stream.
        read(ZlibDecoder::new(body), bytes_max, &mut out);
        if out.is_empty() {
            read(DeflateDecoder::new(body), bytes_max, &mut out);
        }
    } else {
        return Cow::Borrowed(body);
    }
    Cow::Owned(out)
}

fn read(from: impl Read, bytes_max: usize, out: &mut Vec<u8>) {
    // The beginning of a broken page is worth looking at, too.
    let _ = from.take(bytes_max as u64).read_to_end(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write as _;

    #[test]
    fn all_three_forms_are_read() {
        let page = b"<img src=a>".repeat(100);
        let level = Compression::default();
        let mut gzip = GzEncoder::new(Vec::new(), level);
        let mut zlib = ZlibEncoder::new(Vec::new(), level);
        let mut bare = DeflateEncoder::new(Vec::new(), level);
        gzip.write_all(&page).unwrap();
        zlib.write_all(&page).unwrap();
        bare.write_all(&page).unwrap();
        assert_eq!(*inflate(&gzip.finish().unwrap(), b"GZIP", 5000), *page);
        assert_eq!(*inflate(&zlib.finish().unwrap(), b"deflate", 5000), *page);
        let bare = bare.finish().unwrap();
        assert_eq!(*inflate(&bare, b"deflate", 5000), *page);
        assert_eq!(inflate(&bare, b"deflate", 10).len(), 10);
        assert_eq!(*inflate(&page, b"", 10), *page);
        assert!(inflate(b"no gzip", b"gzip", 10).is_empty());
    }
}
