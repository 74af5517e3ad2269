//! The page itself: preamble, list in one of three styles, and what follows
//! (mod_autoindex.c `emit_head`, `output_directories`, `emit_tail`).

use super::entry::{IndexEntry, IndexPage, Insert, ListingRow};
use super::options::{Direction, IconSubject, IndexFlags, IndexOptions, SortKey, Width, find};
use super::row::{Widths, cut_description, rows};
use super::sort::View;
use super::url::relative_url;
use logging::number::decimal;
use logging::time::TimeFormat;
use message::escape::html_escape;
use server::short_size::size;

const BLANK_ICON: &[u8] = b"^^BLANKICON^^";

/// Makes the page.
pub(crate) fn render(
    options: &IndexOptions,
    entries: &[IndexEntry<'_>],
    page: &IndexPage<'_>,
) -> Vec<u8> {
    let view = View::new(options, page.query);
    let rows = rows(options, &view, entries, page);
    let widths = Widths::new(options, &view, &rows);
    let dates = if options.old_dates { &b"%d-%b-%Y %H:%M"[..] } else { b"%Y-%m-%d %H:%M" };
    let dates = TimeFormat::new(dates);
    let out = Vec::with_capacity(1024 + 200 * rows.len());
    let mut listing = ListingPage { options, page, view, widths, dates, out };
    listing.head();
    if listing.has(IndexFlags::HTML_TABLE) {
        listing.table(&rows);
    } else if listing.has(IndexFlags::FANCY_INDEXING) {
        listing.preformatted(&rows);
    } else {
        listing.plain(&rows);
    }
    listing.tail();
    listing.out
}

/// A page in the making.
struct ListingPage<'a> {
    options: &'a IndexOptions,
    page: &'a IndexPage<'a>,
    view: View,
    widths: Widths,
    dates: TimeFormat,
    out: Vec<u8>,
}

impl ListingPage<'_> {
    fn has(&self, flags: IndexFlags) -> bool {
        self.view.flags.has(flags)
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// `styled` with IndexStyleSheet, `plain` without.
    fn put_styled(&mut self, styled: &str, plain: &str) {
        let text = if self.options.style_sheet.is_some() { styled } else { plain };
        self.put(text);
    }

    /// The end of a tag of an empty element.
    fn end_empty_tag(&mut self) {
        self.put(if self.has(IndexFlags::XHTML) { " />" } else { ">" });
    }

    fn head(&mut self) {
        match self.page.header {
            Insert::Html(document) => {
                if !self.has(IndexFlags::SUPPRESS_HTML_PREAMBLE) {
                    self.preamble();
                }
                self.out.extend_from_slice(document);
            }
            Insert::Text(text) => {
                self.preamble();
                self.preformatted_text(text);
            }
            Insert::None => {
                self.preamble();
                self.put_styled("  <h1 id=\"indextitle\">Index of ", "<h1>Index of ");
                self.title();
                self.put("</h1>\n");
            }
        }
    }

    fn preamble(&mut self) {
        if self.has(IndexFlags::XHTML) {
            self.put(concat!(
                "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n",
                "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n",
                "<html xmlns=\"http://www.w3.org/1999/xhtml\">\n"
            ));
        } else {
            self.put(concat!(
                "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" ",
                "\"http://www.w3.org/TR/html4/strict.dtd\">\n<html>\n"
            ));
        }
        self.put(" <head>\n  <title>Index of ");
        self.title();
        self.put("</title>\n");
        let options = self.options;
        if let Some(style_sheet) = &options.style_sheet {
            self.put("  <link rel=\"stylesheet\" href=\"");
            self.put(style_sheet);
            self.put("\" type=\"text/css\"");
            self.end_empty_tag();
            self.put("\n");
        }
        if let Some(insert) = &options.head_insert {
            self.put(insert);
        }
        self.put(" </head>\n <body>\n");
    }

    /// The URL path, without slashes at its end unless it is the root.
    fn title(&mut self) {
        let mut title = self.page.uri;
        while let [shorter @ .., b'/'] = title
            && !shorter.is_empty()
        {
            title = shorter;
        }
        html_escape(title, &mut self.out);
    }

    /// A text file between the preamble and the list, or after the list.
    fn preformatted_text(&mut self, text: &[u8]) {
        self.put("<pre>\n");
        for part in text.split_inclusive(|&byte| byte == b'"') {
            // A quotation mark means nothing here and httpd leaves it alone.
            match part.split_last() {
                Some((b'"', before)) => {
                    html_escape(before, &mut self.out);
                    self.put("\"");
                }
                _ => html_escape(part, &mut self.out),
            }
        }
        self.put("</pre>\n");
    }

    fn tail(&mut self) {
        let mut is_closed = true;
        match self.page.readme {
            Insert::Html(document) => {
                self.out.extend_from_slice(document);
                is_closed = !self.has(IndexFlags::SUPPRESS_HTML_PREAMBLE);
            }
            Insert::Text(text) => self.preformatted_text(text),
            Insert::None => self.out.extend_from_slice(self.page.signature),
        }
        if is_closed {
            self.put("</body></html>\n");
        }
    }

    /// Neither FancyIndexing nor HTMLTable.
    fn plain(&mut self, rows: &[ListingRow<'_>]) {
        self.put("<ul>");
        for row in rows {
            self.put("<li>");
            self.open_link(row);
            self.put(" ");
            html_escape(row.label(), &mut self.out);
            self.put("</a></li>\n");
        }
        self.put("</ul>\n");
    }

    /// FancyIndexing without HTMLTable.
    fn preformatted(&mut self, rows: &[ListingRow<'_>]) {
        self.put("<pre>");
        self.preformatted_header();
        for row in rows {
            self.preformatted_row(row);
        }
        if !self.has(IndexFlags::SUPPRESS_RULES) {
            self.put("<hr");
            self.end_empty_tag();
        }
        self.put("</pre>\n");
    }

    fn preformatted_header(&mut self) {
        if !self.has(IndexFlags::SUPPRESS_ICON) {
            match find(&self.options.icons, IconSubject::path(BLANK_ICON)) {
                Some(icon) => {
                    self.image(icon, "Icon ");
                    self.put(" ");
                }
                None => self.put("      "),
            }
        }
        self.column_link("Name", SortKey::Name);
        self.pad("Name".len());
        self.put(" "); // one space at least between columns
        if !self.has(IndexFlags::SUPPRESS_LAST_MODIFIED) {
            self.column_link("Last modified", SortKey::LastModified);
            self.put("      ");
        }
        if !self.has(IndexFlags::SUPPRESS_SIZE) {
            self.column_link("Size", SortKey::Size);
            self.put("  ");
        }
        if !self.has(IndexFlags::SUPPRESS_DESCRIPTION) {
            self.column_link("Description", SortKey::Description);
        }
        if self.has(IndexFlags::SUPPRESS_RULES) {
            self.put("\n");
        } else {
            self.put("<hr");
            self.end_empty_tag();
        }
    }

    fn preformatted_row(&mut self, row: &ListingRow<'_>) {
        if !self.has(IndexFlags::SUPPRESS_ICON) {
            let is_link = self.has(IndexFlags::ICONS_ARE_LINKS);
            if is_link {
                self.open_link(row);
            }
            self.row_icon(row, "     ");
            self.put(if is_link { "</a> " } else { " " });
        }
        self.name_link(row);
        self.put(" ");
        if !self.has(IndexFlags::SUPPRESS_LAST_MODIFIED) {
            match row.mtime_us {
                Some(mtime_us) => {
                    self.date(mtime_us);
                    self.put("  ");
                }
                None => self.put("                   "), // httpd's width, of "01-Mar-2024 02:03  "
            }
        }
        if !self.has(IndexFlags::SUPPRESS_SIZE) {
            size(row.size, &mut self.out);
            self.put("  ");
        }
        if !self.has(IndexFlags::SUPPRESS_DESCRIPTION) {
            self.description(row);
        }
        self.put("\n");
    }

    /// HTMLTable.
    fn table(&mut self, rows: &[ListingRow<'_>]) {
        let rule = if self.has(IndexFlags::SUPPRESS_RULES) { None } else { Some(self.columns()) };
        self.table_header();
        self.table_rule(rule);
        for (at, row) in rows.iter().enumerate() {
            self.table_row(row, at);
        }
        self.table_rule(rule);
        self.put("</table>\n");
    }

    /// How many columns there are.
    fn columns(&self) -> u64 {
        let optional = [
            IndexFlags::SUPPRESS_ICON,
            IndexFlags::SUPPRESS_LAST_MODIFIED,
            IndexFlags::SUPPRESS_SIZE,
            IndexFlags::SUPPRESS_DESCRIPTION,
        ];
        1 + optional.into_iter().filter(|&flag| !self.has(flag)).count() as u64
    }

    fn table_header(&mut self) {
        self.put_styled(
            "  <table id=\"indexlist\">\n   <tr class=\"indexhead\">",
            "  <table>\n   <tr>",
        );
        if !self.has(IndexFlags::SUPPRESS_ICON) {
            self.put_styled("<th class=\"indexcolicon\">", "<th valign=\"top\">");
            match find(&self.options.icons, IconSubject::path(BLANK_ICON)) {
                Some(icon) => self.image(icon, "[ICO]"),
                None => self.put("&nbsp;"),
            }
            self.put("</th>");
        }
        self.put_styled("<th class=\"indexcolname\">", "<th>");
        self.column_link("Name", SortKey::Name);
        if !self.has(IndexFlags::SUPPRESS_LAST_MODIFIED) {
            self.put_styled("</th><th class=\"indexcollastmod\">", "</th><th>");
            self.column_link("Last modified", SortKey::LastModified);
        }
        if !self.has(IndexFlags::SUPPRESS_SIZE) {
            self.put_styled("</th><th class=\"indexcolsize\">", "</th><th>");
            self.column_link("Size", SortKey::Size);
        }
        if !self.has(IndexFlags::SUPPRESS_DESCRIPTION) {
            self.put_styled("</th><th class=\"indexcoldesc\">", "</th><th>");
            self.column_link("Description", SortKey::Description);
        }
        self.put("</th></tr>\n");
    }

    /// The line above and below the rows, over `columns`.
    fn table_rule(&mut self, columns: Option<u64>) {
        let Some(columns) = columns else { return };
        self.put_styled("   <tr class=\"indexbreakrow\">", "   <tr>");
        self.put("<th colspan=\"");
        decimal(columns, &mut self.out);
        self.put("\"><hr");
        self.end_empty_tag();
        self.put("</th></tr>\n");
    }

    fn table_row(&mut self, row: &ListingRow<'_>, at: usize) {
        self.open_table_row(row, at);
        if !self.has(IndexFlags::SUPPRESS_ICON) {
            self.put_styled("<td class=\"indexcolicon\">", "<td valign=\"top\">");
            let is_link = self.has(IndexFlags::ICONS_ARE_LINKS);
            if is_link {
                self.open_link(row);
            }
            self.row_icon(row, "&nbsp;");
            self.put(if is_link { "</a></td>" } else { "</td>" });
        }
        self.put_styled("<td class=\"indexcolname\">", "<td>");
        self.name_link(row);
        if !self.has(IndexFlags::SUPPRESS_LAST_MODIFIED) {
            self.date_cell(row.mtime_us);
        }
        if !self.has(IndexFlags::SUPPRESS_SIZE) {
            self.put_styled("</td><td class=\"indexcolsize\">", "</td><td align=\"right\">");
            size(row.size, &mut self.out);
        }
        if !self.has(IndexFlags::SUPPRESS_DESCRIPTION) {
            self.put_styled("</td><td class=\"indexcoldesc\">", "</td><td>");
            match row.description {
                Some(_) => self.description(row),
                None => self.put("&nbsp;"),
            }
        }
        self.put("</td></tr>\n");
    }

    fn date_cell(&mut self, mtime_us: Option<i64>) {
        match mtime_us {
            Some(mtime_us) => {
                self.put_styled("</td><td class=\"indexcollastmod\">", "</td><td align=\"right\">");
                self.date(mtime_us);
                self.put("  ");
            }
            None => self.put_styled("</td><td class=\"indexcollastmod\">&nbsp;", "</td><td>&nbsp;"),
        }
    }

    /// With a style sheet, rows have classes that alternate.
    fn open_table_row(&mut self, row: &ListingRow<'_>, at: usize) {
        if self.options.style_sheet.is_none() {
            self.put("<tr>");
            return;
        }
        self.put("   <tr class=\"");
        self.put(if at.is_multiple_of(2) { "even" } else { "odd" });
        if let (Some(alt), true) = (row.alt, self.has(IndexFlags::ADD_ALT_CLASS)) {
            self.put("-");
            self.put(&alt.to_ascii_lowercase());
        }
        self.put("\">");
    }

    /// The head of a column. The column that sorts already turns the order around.
    fn column_link(&mut self, label: &str, key: SortKey) {
        if self.has(IndexFlags::SUPPRESS_COLUMN_SORTING) {
            self.put(label);
            return;
        }
        let is_current = self.view.key == key && self.view.direction == Direction::Ascending;
        let next = if is_current { Direction::Descending } else { Direction::Ascending };
        self.put("<a href=\"?C=");
        self.out.push(key.letter());
        self.put(";O=");
        self.out.push(next.letter());
        self.out.extend_from_slice(&self.view.link_arguments);
        self.put("\">");
        self.put(label);
        self.put("</a>");
    }

    /// `<a href="...">`. The name is made a URL first and safe in HTML then.
    fn open_link(&mut self, row: &ListingRow<'_>) {
        let mut url = Vec::with_capacity(row.name.len());
        relative_url(&row.name, &mut url);
        self.put("<a href=\"");
        html_escape(&url, &mut self.out);
        self.put("\">");
    }

    /// The name, cut to its column and padded; in a table with `NameWidth=*`, as it is.
    fn name_link(&mut self, row: &ListingRow<'_>) {
        let label = row.label();
        let is_adjusted = matches!(self.options.name_width, Some(Width::Adjusted(_)));
        let is_whole = is_adjusted && self.has(IndexFlags::HTML_TABLE);
        let width = self.widths.name;
        self.open_link(row);
        // A width of 0 leaves no room for the dots; httpd then copies past its buffer.
        let shown = if !is_whole && label.len() > width && width >= 3 {
            html_escape(&label[..width - 3], &mut self.out);
            self.put("..&gt;");
            width
        } else {
            html_escape(label, &mut self.out);
            label.len()
        };
        self.put("</a>");
        if !is_whole {
            self.pad(shown);
        }
    }

    /// Fills the column `Name` after `used` bytes.
    fn pad(&mut self, used: usize) {
        let width = self.widths.name.saturating_sub(used);
        self.out.resize(self.out.len() + width, b' ');
    }

    fn row_icon(&mut self, row: &ListingRow<'_>, nothing: &str) {
        let options = self.options;
        match row.icon.or(options.default_icon.as_deref()) {
            Some(icon) => self.image(icon, &format!("[{}]", row.alt.unwrap_or("   "))),
            None => self.put(nothing),
        }
    }

    /// An icon; the alternative text is the administrator's HTML.
    fn image(&mut self, url: &str, alt: &str) {
        self.put("<img src=\"");
        html_escape(url.as_bytes(), &mut self.out);
        self.put("\" alt=\"");
        self.put(alt);
        self.put("\"");
        for (name, size) in
            [("width", self.options.icon_width), ("height", self.options.icon_height)]
        {
            if size > 0 {
                self.put(" ");
                self.put(name);
                self.put("=\"");
                decimal(u64::from(size), &mut self.out);
                self.put("\"");
            }
        }
        self.end_empty_tag();
    }

    fn date(&mut self, mtime_us: i64) {
        let second = mtime_us.div_euclid(1_000_000);
        self.dates.write(&(self.page.local_time)(second), &mut self.out);
    }

    /// The description, cut to its column; in a table with `DescriptionWidth=*`, as it is.
    /// Columns that are not shown leave room unless a width was set.
    fn description(&mut self, row: &ListingRow<'_>) {
        let text = row.description_bytes();
        let mut room = self.widths.description;
        match self.options.description_width {
            Some(Width::Adjusted(_)) if self.has(IndexFlags::HTML_TABLE) => {
                self.out.extend_from_slice(text);
                return;
            }
            Some(_) => {}
            None => {
                for (flag, bytes) in [
                    (IndexFlags::SUPPRESS_ICON, 6),
                    (IndexFlags::SUPPRESS_LAST_MODIFIED, 19),
                    (IndexFlags::SUPPRESS_SIZE, 7),
                ] {
                    room += if self.has(flag) { bytes } else { 0 };
                }
            }
        }
        self.out.extend_from_slice(&cut_description(text, room));
    }
}
