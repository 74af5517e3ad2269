//! From an entry to a row of the list: which entries are shown, with which icon, alternative
//! text and description (mod_autoindex.c `make_autoindex_entry`, `make_parent_entry`).

use std::borrow::Cow;

use super::entry::{IndexEntry, IndexPage, ListingRow};
use super::matching::matches_client_pattern;
use super::options::{IconSubject, IndexFlags, IndexOptions, Width, find};
use super::sort::View;

const DIRECTORY: &[u8] = b"^^DIRECTORY^^";

/// The rows of a page in their order.
pub(super) fn rows<'a>(
    options: &'a IndexOptions,
    view: &View,
    entries: &[IndexEntry<'a>],
    page: &IndexPage<'a>,
) -> Vec<ListingRow<'a>> {
    let parent = parent_row(options, view, page);
    let shown = entries.iter().filter_map(|entry| entry_row(options, view, entry, page));
    let mut rows: Vec<ListingRow<'a>> = parent.into_iter().chain(shown).collect();
    rows.sort_by(|left, right| view.compare(left, right));
    rows
}

/// The way up, unless this is the root or IndexIgnore says `..`.
fn parent_row<'a>(
    options: &'a IndexOptions,
    view: &View,
    page: &IndexPage<'a>,
) -> Option<ListingRow<'a>> {
    let inside = page.uri.strip_suffix(b"/").unwrap_or(page.uri);
    let name = &inside[..=inside.iter().rposition(|&byte| byte == b'/')?];
    let path = [page.directory, b".."].concat();
    if options.is_ignored(&path) {
        return None;
    }
    let mut row = ListingRow {
        name: Cow::Borrowed(name),
        is_parent: true,
        is_folder_first: false,
        icon: None,
        alt: None,
        description: None,
        size: None,
        mtime_us: None,
    };
    // A table alone does not give it an icon, unlike the entries.
    if view.flags.has(IndexFlags::FANCY_INDEXING) {
        let subject = IconSubject::path(&path);
        let directory = IconSubject::path(DIRECTORY);
        row.icon = find(&options.icons, subject).or_else(|| find(&options.icons, directory));
        row.alt = find(&options.alts, subject)
            .or_else(|| find(&options.alts, directory))
            .or(Some("PARENTDIR"));
        row.description = options.description(&path).map(str::as_bytes);
    }
    Some(row)
}

/// The row of an entry, if it is shown.
fn entry_row<'a>(
    options: &'a IndexOptions,
    view: &View,
    entry: &IndexEntry<'a>,
    page: &IndexPage<'a>,
) -> Option<ListingRow<'a>> {
    let is_dot = matches!(entry.name, b"." | b"..");
    let is_filtered =
        view.pattern.as_ref().is_some_and(|pattern| !matches_client_pattern(pattern, entry.name));
    let is_hidden = entry.is_forbidden && !view.flags.has(IndexFlags::SHOW_FORBIDDEN);
    let path = [page.directory, entry.name].concat();
    if is_dot || is_filtered || is_hidden || options.is_ignored(&path) {
        return None;
    }
    let name = match entry.is_dir {
        true => Cow::Owned([entry.name, b"/"].concat()),
        false => Cow::Borrowed(entry.name),
    };
    let mut row = ListingRow {
        name,
        is_parent: false,
        is_folder_first: false,
        icon: None,
        alt: None,
        description: None,
        size: None,
        mtime_us: None,
    };
    if view.flags.has(IndexFlags::FANCY_INDEXING | IndexFlags::HTML_TABLE) {
        fill(&mut row, options, view, entry, &path);
    }
    Some(row)
}

/// What only a fancy list shows.
fn fill<'a>(
    row: &mut ListingRow<'a>,
    options: &'a IndexOptions,
    view: &View,
    entry: &IndexEntry<'a>,
    path: &[u8],
) {
    row.mtime_us = Some(entry.mtime_us);
    if entry.is_dir {
        row.is_folder_first = view.flags.has(IndexFlags::FOLDERS_FIRST);
        let (subject, directory) = (IconSubject::path(path), IconSubject::path(DIRECTORY));
        row.icon = find(&options.icons, subject).or_else(|| find(&options.icons, directory));
        row.alt =
            find(&options.alts, subject).or_else(|| find(&options.alts, directory)).or(Some("DIR"));
    } else {
        let subject =
            IconSubject { path, content_type: entry.content_type, encoding: entry.encoding };
        row.icon = find(&options.icons, subject);
        row.alt = find(&options.alts, subject);
        row.size = Some(entry.size);
    }
    row.description = options.description(path).map(str::as_bytes);
    if view.flags.has(IndexFlags::SCAN_HTML_TITLES) {
        row.description = row.description.or(entry.title);
    }
}

/// Widths of the columns `Name` and `Description` in a preformatted list.
pub(super) struct Widths {
    pub(super) name: usize,
    pub(super) description: usize,
}

impl Widths {
    pub(super) fn new(options: &IndexOptions, view: &View, rows: &[ListingRow<'_>]) -> Self {
        let mut widths = Self {
            name: options.name_width.map_or(super::options::WIDTH_DEFAULT, Width::bytes),
            description: options
                .description_width
                .map_or(super::options::WIDTH_DEFAULT, Width::bytes),
        };
        let is_preformatted = !view.flags.has(IndexFlags::HTML_TABLE);
        if is_preformatted && matches!(options.name_width, Some(Width::Adjusted(_))) {
            let longest = rows.iter().map(|row| row.name.len()).max();
            widths.name = widths.name.max(longest.unwrap_or(0));
        }
        if is_preformatted && matches!(options.description_width, Some(Width::Adjusted(_))) {
            let longest = rows.iter().map(|row| row.description_bytes().len()).max();
            widths.description = widths.description.max(longest.unwrap_or(0));
        }
        widths
    }
}

/// The description cut to its column (mod_autoindex.c `terminate_description`). Tags take no
/// room and an entity one byte. Where something is cut off, the last byte kept becomes `>`.
pub(super) fn cut_description(text: &[u8], room: usize) -> Cow<'_, [u8]> {
    let (mut at, mut room) = (0, room);
    while at < text.len() && (room > 0 || text[at] == b'<') {
        let end = match text[at] {
            b'<' => b'>',
            b'&' => {
                room -= 1;
                b';'
            }
            _ => {
                room -= 1;
                at += 1;
                continue;
            }
        };
        match text[at..].iter().position(|&byte| byte == end) {
            Some(length) => at += length + 1,
            // Never closed. httpd looks on behind its end: what it makes of that is left to chance.
            None => return Cow::Borrowed(text),
        }
    }
    match text[..at].split_last() {
        _ if at == text.len() => Cow::Borrowed(text),
        Some((_, kept)) => Cow::Owned([kept, b">"].concat()),
        None => Cow::Borrowed(b""),
    }
}
