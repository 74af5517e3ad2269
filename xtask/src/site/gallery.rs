//! The 240 tiles of the gallery, the page that shows them, and the files made from the same tables.

use super::palette::{PALETTES, Palette, Rgb, hex};
use super::pattern::PATTERNS;
use super::picture::Picture;

/// How often each pattern is drawn in each palette.
const VARIANTS: usize = 2;
/// Pixels along each side of a tile.
pub(crate) const TILE_SIDE: u32 = 64;
/// Sample points along each side of a pixel. Four samples of five colours make at most 70 mixtures,
/// so that a tile always fits a palette of 256.
const SAMPLES: u32 = 2;

/// One picture of the gallery.
pub(crate) struct Tile {
    /// From 1; also the file's name.
    pub(crate) number: u32,
    pattern: usize,
    palette: &'static Palette,
}

/// All tiles in the order of the page: palette by palette, pattern by pattern.
pub(crate) fn tiles() -> Vec<Tile> {
    let kinds = PALETTES
        .iter()
        .flat_map(|palette| (0..PATTERNS.len() * VARIANTS).map(move |at| (palette, at / VARIANTS)));
    (1..).zip(kinds).map(|(number, (palette, pattern))| Tile { number, pattern, palette }).collect()
}

impl Tile {
    /// Where the page finds the picture.
    pub(crate) fn path(&self) -> String {
        format!("gallery/{:03}.png", self.number)
    }

    /// Draws the tile, `side` pixels wide and high.
    pub(crate) fn picture(&self, side: u32) -> Picture {
        let (_, pattern) = PATTERNS[self.pattern];
        Picture::draw(side, SAMPLES, |x, y| {
            let Rgb { red, green, blue } = self.palette.colours[pattern(x, y, self.number)];
            [red, green, blue, 255]
        })
    }

    fn html(&self) -> String {
        let (src, alt) = (self.path(), PATTERNS[self.pattern].0);
        format!(
            "      <li><img src=\"{src}\" width=\"{TILE_SIDE}\" height=\"{TILE_SIDE}\" \
             alt=\"{} {alt}\"></li>\n",
            self.palette.name
        )
    }
}

/// All tiles on one sheet, at half their size.
pub(crate) fn sheet(tiles: &[Tile]) -> Picture {
    let small: Vec<Picture> = tiles.iter().map(|tile| tile.picture(TILE_SIDE / 2)).collect();
    Picture::sheet(&small, PATTERNS.len() * VARIANTS)
}

/// The page: one section for each palette.
pub(crate) fn page() -> String {
    let tiles = tiles();
    let sections = PALETTES.iter().zip(tiles.chunks(PATTERNS.len() * VARIANTS));
    let sections: String = sections.map(|(palette, tiles)| section(palette, tiles)).collect();
    // The frame is a file of its own, so that it is read and changed as HTML.
    include_str!("gallery.html")
        .replace("{count}", &tiles.len().to_string())
        .replace("{palettes}", &PALETTES.len().to_string())
        .replace("{patterns}", &PATTERNS.len().to_string())
        .replace("{sections}", sections.trim_end())
}

fn section(palette: &Palette, tiles: &[Tile]) -> String {
    let Palette { name, note, .. } = palette;
    let items: String = tiles.iter().map(Tile::html).collect();
    format!(
        "  <section>\n    <h2>{name}</h2>\n    <p>{note}</p>\n    \
         <ul class=\"tiles\">\n{items}    </ul>\n  </section>\n"
    )
}

/// The palettes for other programs, as JSON.
pub(crate) fn palettes_json() -> String {
    let row = |palette: &Palette| {
        let colours = palette.colours.map(|colour| format!("\"{}\"", hex(colour)));
        format!("  {{ \"name\": \"{}\", \"colours\": [{}] }}", palette.name, colours.join(", "))
    };
    let rows: Vec<String> = PALETTES.iter().map(row).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_page_shows_240_distinct_pictures() {
        let page = page();
        let sources: BTreeSet<&str> =
            page.split("<img src=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(page.matches("<img ").count(), 240);
        assert_eq!(sources.len(), 240);
        let pictures: BTreeSet<_> = tiles().iter().map(|tile| tile.picture(16).pixels).collect();
        assert_eq!(pictures.len(), 240);
        assert!(!page.contains('{'), "a place of the frame was not filled");
    }

    #[test]
    fn the_palettes_are_json() {
        let read: serde_json::Value = serde_json::from_str(&palettes_json()).unwrap();
        assert_eq!(read.as_array().unwrap().len(), PALETTES.len());
        assert_eq!(read[0]["colours"][0], "#0f2a43");
    }
}
