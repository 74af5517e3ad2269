//! What the caller tells the renderer: the entries of the directory and the page around them; and
//! the rows that it makes of them.

use logging::time::LocalTimeFn;
use std::borrow::Cow;

/// One entry of the directory. `.` and `..` are not listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexEntry<'a> {
    /// File name, without a slash.
    pub name: &'a [u8],
    /// Whether it is a directory, or a symbolic link to one.
    pub is_dir: bool,
    /// Bytes of the file.
    pub size: u64,
    /// Last modification, microseconds since 1970: pages show minutes but sort by all of it.
    pub mtime_us: i64,
    /// Media type, by which AddIconByType and AddAltByType choose.
    pub content_type: Option<&'a str>,
    /// Content encoding, by which AddIconByEncoding and AddAltByEncoding choose.
    pub encoding: Option<&'a str>,
    /// Title of an HTML page (`scan_title`), where ScanHTMLTitles asks for it.
    pub title: Option<&'a [u8]>,
    /// Whether a request for it would be answered 401 or 403: shown with ShowForbidden only.
    pub is_forbidden: bool,
}

/// What HeaderName or ReadmeName led to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Insert<'a> {
    /// Nothing, or nothing that can be shown.
    #[default]
    None,
    /// A document of type text/html, copied.
    Html(&'a [u8]),
    /// Another text, shown preformatted.
    Text(&'a [u8]),
}

/// The page around the entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexPage<'a> {
    /// URL path of the directory, decoded, with its final slash.
    pub uri: &'a [u8],
    /// Path of the directory in the file system, with its final slash.
    pub directory: &'a [u8],
    /// Query of the request, which can choose order and style.
    pub query: Option<&'a [u8]>,
    /// What stands above the list.
    pub header: Insert<'a>,
    /// What stands below it.
    pub readme: Insert<'a>,
    /// ServerSignature, ready made; empty when it is off.
    pub signature: &'a [u8],
    /// The local time zone.
    pub local_time: LocalTimeFn,
}

/// How much of a document `scan_title` looks at (MAX_STRING_LEN).
const TITLE_SCAN_BYTES: usize = 8191;

/// The title of an HTML document from its first bytes (mod_autoindex.c `find_title`): what
/// follows `<title>`, up to the next `<`, on one line.
pub(crate) fn scan_title(document: &[u8]) -> Option<Vec<u8>> {
    let head = &document[..document.len().min(TITLE_SCAN_BYTES)];
    let tag = b"<title>";
    let start =
        head.windows(tag.len()).position(|window| window.eq_ignore_ascii_case(tag))? + tag.len();
    let title = head[start..].split(|&byte| byte == b'<').next()?;
    let first = title.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    let title = &title[first.unwrap_or(title.len())..];
    let one_line = |&byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte };
    Some(title.iter().map(one_line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_found_in_any_case_and_put_on_one_line() {
        for (document, expected) in [
            (&b"<html><TITLE>\nMy title\nhere</title>"[..], Some(&b"My title here"[..])),
            (b"<title>&amp; more", Some(b"&amp; more")),
            (b"<title></title>", Some(b"")),
            (b"<h1>none</h1>", None),
            (b"", None),
        ] {
            assert_eq!(scan_title(document).as_deref(), expected);
        }
        let mut late = vec![b' '; TITLE_SCAN_BYTES];
        late.extend_from_slice(b"<title>x</title>");
        assert_eq!(scan_title(&late), None);
    }
}

/// A line of the listing.
#[derive(Clone, Debug)]
pub(super) struct ListingRow<'a> {
    /// Name, a directory's with its slash; the parent's is its URL path.
    pub(super) name: Cow<'a, [u8]>,
    pub(super) is_parent: bool,
    /// Whether FoldersFirst puts it before the files.
    pub(super) is_folder_first: bool,
    pub(super) icon: Option<&'a str>,
    pub(super) alt: Option<&'a str>,
    pub(super) description: Option<&'a [u8]>,
    /// Nothing for directories, and in a list that is not fancy.
    pub(super) size: Option<u64>,
    pub(super) mtime_us: Option<i64>,
}

impl<'a> ListingRow<'a> {
    /// What is shown of the name.
    pub(super) fn label(&self) -> &[u8] {
        if self.is_parent { b"Parent Directory" } else { &self.name }
    }

    /// The description, for sorting.
    pub(super) fn description_bytes(&self) -> &'a [u8] {
        self.description.unwrap_or_default()
    }
}
