//! Pictures as numbers, and as PNG and ICO files. What they show is decided elsewhere.

use std::collections::BTreeMap;

/// Red, green, blue and how opaque, for each pixel from the top left, row by row.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    /// Pixels in a row.
    pub(crate) width: u32,
    /// Number of rows.
    pub(crate) height: u32,
    /// `width * height` colours.
    pub(crate) pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// Asks `colour` at `samples * samples` points of each pixel, both coordinates from 0 to 1 over
    /// the picture, and takes the mean, so that edges are smooth.
    pub(crate) fn draw(size: u32, samples: u32, colour: impl Fn(f64, f64) -> [u8; 4]) -> Self {
        let step = 1.0 / f64::from(size * samples);
        let point = |at: u32| (f64::from(at) + 0.5) * step;
        let pixel = |at: u32| {
            let (left, top) = (at % size * samples, at / size * samples);
            let offsets = (0..samples * samples).map(|n| (n % samples, n / samples));
            let taken = offsets.map(|(dx, dy)| colour(point(left + dx), point(top + dy)));
            mean(&taken.collect::<Vec<_>>())
        };
        Self { width: size, height: size, pixels: (0..size * size).map(pixel).collect() }
    }

    /// Lays pictures of one size side by side, `columns` in a row.
    pub(crate) fn sheet(tiles: &[Self], columns: usize) -> Self {
        let side = tiles.first().map_or(0, |tile| tile.width as usize);
        let rows = tiles.len().div_ceil(columns);
        let (width, height) = (columns * side, rows * side);
        let mut pixels = vec![[0; 4]; width * height];
        for (number, tile) in tiles.iter().enumerate() {
            let origin = number / columns * side * width + number % columns * side;
            for (row, line) in tile.pixels.chunks(side).enumerate() {
                let start = origin + row * width;
                pixels[start..start + side].copy_from_slice(line);
            }
        }
        Self { width: width as u32, height: height as u32, pixels }
    }

    /// Writes a PNG file: with a palette when at most 256 colours occur, because that is smaller.
    pub(crate) fn to_png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut numbers: BTreeMap<[u8; 4], u8> = BTreeMap::new();
        for pixel in &self.pixels {
            let next = numbers.len();
            if let Ok(number) = u8::try_from(next) {
                numbers.entry(*pixel).or_insert(number);
            }
        }
        let indexed: Option<Vec<u8>> =
            self.pixels.iter().map(|pixel| numbers.get(pixel).copied()).collect();
        match indexed {
            Some(indexed) => self.encode_indexed(&numbers, &indexed),
            None => self.encode_rgba(),
        }
    }

    fn encode_indexed(
        &self,
        numbers: &BTreeMap<[u8; 4], u8>,
        indexed: &[u8],
    ) -> Result<Vec<u8>, png::EncodingError> {
        let mut colours = vec![[0_u8; 4]; numbers.len()];
        for (colour, &number) in numbers {
            colours[usize::from(number)] = *colour;
        }
        let mut file = Vec::new();
        let mut encoder = self.encoder(&mut file, png::ColorType::Indexed);
        // Filters predict from neighbouring values, which means nothing for palette numbers.
        encoder.set_filter(png::Filter::NoFilter);
        encoder.set_palette(colours.iter().flat_map(|c| [c[0], c[1], c[2]]).collect::<Vec<u8>>());
        if colours.iter().any(|colour| colour[3] != 255) {
            encoder.set_trns(colours.iter().map(|colour| colour[3]).collect::<Vec<u8>>());
        }
        encoder.write_header()?.write_image_data(indexed)?;
        Ok(file)
    }

    fn encode_rgba(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut writer = self.encoder(&mut file, png::ColorType::Rgba).write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        drop(writer);
        Ok(file)
    }

    fn encoder<'a>(
        &self,
        file: &'a mut Vec<u8>,
        color: png::ColorType,
    ) -> png::Encoder<'a, &'a mut Vec<u8>> {
        let mut encoder = png::Encoder::new(file, self.width, self.height);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        encoder
    }

    /// Reads a PNG file back, whatever form it has inside. `None` when it is not a whole PNG.
    pub(crate) fn from_png(file: &[u8]) -> Option<Self> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::ALPHA | png::Transformations::EXPAND);
        let mut reader = decoder.read_info().ok()?;
        let mut bytes = vec![0; reader.output_buffer_size()?];
        let frame = reader.next_frame(&mut bytes).ok()?;
        let (pixels, rest) = bytes.as_chunks::<4>();
        let whole = frame.color_type == png::ColorType::Rgba && rest.is_empty();
        whole.then(|| Self { width: frame.width, height: frame.height, pixels: pixels.to_vec() })
    }
}

/// The mean of some colours; a transparent one adds no colour of its own.
fn mean(colours: &[[u8; 4]]) -> [u8; 4] {
    let sum = |of: &dyn Fn(&[u8; 4]) -> u32| colours.iter().map(of).sum::<u32>();
    let opaque = sum(&|c| u32::from(c[3]));
    let part = |at: usize| {
        let weighted = sum(&|c| u32::from(c[at]) * u32::from(c[3]));
        (weighted + opaque / 2).checked_div(opaque).unwrap_or(0) as u8
    };
    let count = colours.len() as u32;
    [part(0), part(1), part(2), ((opaque + count / 2) / count) as u8]
}

/// An ICO file that holds PNG files, as every browser reads them.
pub(crate) fn ico(pictures: &[Picture]) -> Result<Vec<u8>, png::EncodingError> {
    let (header_bytes, entry_bytes) = (6, 16);
    let mut directory = Vec::new();
    let mut files = Vec::new();
    directory.extend([0_u16, 1, pictures.len() as u16].map(u16::to_le_bytes).as_flattened());
    for picture in pictures {
        let file = picture.to_png()?;
        let offset = header_bytes + entry_bytes * pictures.len() + files.len();
        directory.extend([picture.width as u8, picture.height as u8, 0, 0]);
        directory.extend([1_u16, 32].map(u16::to_le_bytes).as_flattened());
        directory.extend([file.len() as u32, offset as u32].map(u32::to_le_bytes).as_flattened());
        files.extend(file);
    }
    directory.extend(files);
    Ok(directory)
}

/// The pictures in a PNG or ICO file; `None` when it is neither.
pub(crate) fn read_all(file: &[u8]) -> Option<Vec<Picture>> {
    const ICO_START: [u8; 4] = [0, 0, 1, 0];
    if !file.starts_with(&ICO_START) {
        return Some(vec![Picture::from_png(file)?]);
    }
    let (entries, _) = file.get(6..)?.as_chunks::<16>();
    let count = u16::from_le_bytes([*file.get(4)?, *file.get(5)?]);
    let picture = |entry: &[u8; 16]| {
        let [.., l0, l1, l2, l3, o0, o1, o2, o3] = *entry;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let offset = u32::from_le_bytes([o0, o1, o2, o3]) as usize;
        Picture::from_png(file.get(offset..offset.checked_add(length)?)?)
    };
    entries.iter().take(count.into()).map(picture).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gradient(size: u32) -> Picture {
        Picture::draw(size, 2, |x, y| [(x * 255.0) as u8, (y * 255.0) as u8, 40, 255])
    }

    #[test]
    fn a_picture_survives_its_file_with_a_palette_and_without() {
        for size in [8, 64] {
            let picture = gradient(size);
            let read = Picture::from_png(&picture.to_png().unwrap()).unwrap();
            assert!(read == picture, "{size}");
        }
    }

    #[test]
    fn a_transparent_picture_stays_so() {
        let picture = Picture::draw(4, 1, |x, _| [200, 10, 10, if x < 0.5 { 0 } else { 255 }]);
        let read = Picture::from_png(&picture.to_png().unwrap()).unwrap();
        assert_eq!(read.pixels[0][3], 0);
        assert_eq!(read.pixels[3], [200, 10, 10, 255]);
    }

    #[test]
    fn half_a_file_is_no_picture() {
        let file = gradient(64).to_png().unwrap();
        assert!(Picture::from_png(&file[..file.len() / 2]).is_none());
    }

    #[test]
    fn edges_are_mixed_and_transparent_samples_add_no_colour() {
        assert_eq!(mean(&[[0, 0, 0, 255], [200, 100, 50, 255]]), [100, 50, 25, 255]);
        assert_eq!(mean(&[[9, 9, 9, 0], [200, 100, 50, 255]]), [200, 100, 50, 128]);
        assert_eq!(mean(&[[9, 9, 9, 0]]), [0, 0, 0, 0]);
    }

    #[test]
    fn a_sheet_keeps_tiles_in_reading_order() {
        let tile = |red| Picture::draw(2, 1, move |_, _| [red, 0, 0, 255]);
        let sheet = Picture::sheet(&[tile(1), tile(2), tile(3)], 2);
        let reds: Vec<u8> = sheet.pixels.iter().map(|pixel| pixel[0]).collect();
        assert_eq!(reds, [1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 0, 0, 3, 3, 0, 0]);
    }

    #[test]
    fn an_icon_points_at_its_pictures() {
        let icon = ico(&[gradient(16), gradient(32)]).unwrap();
        assert_eq!(icon[..6], [0, 0, 1, 0, 2, 0]);
        let inside = read_all(&icon).unwrap();
        assert!(inside == [gradient(16), gradient(32)]);
        assert!(read_all(&icon[..icon.len() - 9]).is_none());
        assert!(read_all(b"neither").is_none());
    }
}
