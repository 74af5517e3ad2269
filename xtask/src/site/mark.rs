//! The project's mark, a trivet seen from above: a ring on three feet. `favicon.svg` shows the same
//! numbers; this file draws them for programs that want an `.ico`.

use super::picture::{Picture, ico};

/// Sides of the pictures inside the icon.
const SIDES: [u32; 3] = [16, 32, 48];
/// The drawing's own raster: all lengths below are in these units.
const RASTER: f64 = 32.0;

const RING: [u8; 4] = [0x6b, 0x7a, 0x90, 255];
const RING_RADIUS: f64 = 8.5;
const RING_HALF_WIDTH: f64 = 1.75;
const FOOT_RADIUS: f64 = 4.25;
const CLEAR: [u8; 4] = [0; 4];

/// Where the feet stand, and the colours of prefork, worker and event throughout the site.
const FEET: [(f64, f64, [u8; 4]); 3] = [
    (16.0, 6.25, [0xe0, 0x9f, 0x3e, 255]),
    (6.25, 23.0, [0x2a, 0x9d, 0x8f, 255]),
    (25.75, 23.0, [0xd1, 0x49, 0x5b, 255]),
];

/// `favicon.ico`.
pub(crate) fn icon() -> Result<Vec<u8>, png::EncodingError> {
    ico(&SIDES.map(|side| Picture::draw(side, 8, |x, y| colour(x * RASTER, y * RASTER))))
}

fn colour(x: f64, y: f64) -> [u8; 4] {
    let away = |to_x: f64, to_y: f64| ((x - to_x).powi(2) + (y - to_y).powi(2)).sqrt();
    let foot = FEET.iter().find(|(foot_x, foot_y, _)| away(*foot_x, *foot_y) < FOOT_RADIUS);
    match foot {
        Some((_, _, colour)) => *colour,
        None if (away(16.0, 17.5) - RING_RADIUS).abs() < RING_HALF_WIDTH => RING,
        None => CLEAR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_svg_shows_the_same_mark() {
        let path = crate::project::root().join("examples/site/favicon.svg");
        let svg = std::fs::read_to_string(path).unwrap();
        for (x, y, [red, green, blue, _]) in FEET {
            let foot = format!("cx=\"{x}\" cy=\"{y}\" r=\"{FOOT_RADIUS}\"");
            assert!(svg.contains(&foot), "{foot}");
            assert!(svg.contains(&format!("#{red:02x}{green:02x}{blue:02x}")), "{foot}");
        }
    }
}
