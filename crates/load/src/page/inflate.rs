//! Contents that came compressed, to be looked into.

use flate2::read::MultiGzDecoder;
use std::io::Read as _;

/// Bytes of a page or stylesheet that are looked at.
pub(crate) const CONTENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The content behind its coding; as much of it as can be had. `None` if the coding is unknown.
pub(crate) fn decoded(content: Vec<u8>, coding: Option<&[u8]>) -> Option<Vec<u8>> {
    let coding = coding.unwrap_or_default().trim_ascii().to_ascii_lowercase();
    match coding.as_slice() {
        b"" | b"identity" => Some(content),
        b"gzip" | b"x-gzip" => {
            let mut out = Vec::new();
            let limited = MultiGzDecoder::new(&content[..]).take(CONTENT_BYTES_MAX as u64);
            // What came before a fault is as good as it would be in a browser.
            let _ = { limited }.read_to_end(&mut out);
            Some(out)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn gzip_is_undone_within_bounds() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![b'a'; CONTENT_BYTES_MAX + 1]).unwrap();
        let packed = encoder.finish().unwrap();
        let whole = decoded(packed.clone(), Some(b" GZIP ")).unwrap();
        assert_eq!(whole.len(), CONTENT_BYTES_MAX);
        let half = decoded(packed[..packed.len() / 2].to_vec(), Some(b"gzip")).unwrap();
        assert!(!half.is_empty() && half.iter().all(|byte| *byte == b'a'));
        assert_eq!(decoded(b"x".to_vec(), Some(b"gzip")), Some(Vec::new()));
        assert_eq!(decoded(b"x".to_vec(), None), Some(b"x".to_vec()));
        assert_eq!(decoded(b"x".to_vec(), Some(b"br")), None);
    }
}
