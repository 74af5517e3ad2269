//! The twelve patterns of the gallery. Each is a plain function from a point of the unit square to
//! one of five colours. Only operations that IEEE 754 defines to the last bit are used (no sine, no
//! power), so that every machine draws the same picture.

/// Which of the five colours of a palette lies at `(x, y)`, both from 0 to 1. The seed varies the
/// pattern; the same seed draws the same picture.
pub(crate) type ColourPattern = fn(x: f64, y: f64, seed: u32) -> usize;

/// Every pattern with its name, in the order of the page.
pub(crate) const PATTERNS: &[(&str, ColourPattern)] = &[
    ("rings", rings),
    ("stripes", stripes),
    ("blocks", blocks),
    ("triangles", triangles),
    ("arcs", arcs),
    ("plaid", plaid),
    ("dots", dots),
    ("mosaic", mosaic),
    ("weave", weave),
    ("waves", waves),
    ("cells", cells),
    ("scales", scales),
];

/// Rings around a point near the middle.
fn rings(x: f64, y: f64, seed: u32) -> usize {
    let (centre_x, centre_y) = (spread(seed, 1, 0.2, 0.8), spread(seed, 2, 0.2, 0.8));
    let width = spread(seed, 3, 0.07, 0.13);
    let ring = (distance(x - centre_x, y - centre_y) / width) as u32;
    pick(seed, ring, 0)
}

/// Slanted stripes of different colours that meet their own start at the opposite edge.
fn stripes(x: f64, y: f64, seed: u32) -> usize {
    let count = 4 + mix(seed, 1, 0) % 5;
    let slope = [-1.0, 1.0, -2.0, 2.0, 0.0][mix(seed, 2, 0) as usize % 5];
    let along = fraction(x + slope * y) * f64::from(count);
    let hairline = fraction(along) < 0.18;
    if hairline { 3 } else { pick(seed, along as u32, 4) }
}

/// A grid in which each field holds a disc, a quarter disc, a half field or nothing.
fn blocks(x: f64, y: f64, seed: u32) -> usize {
    let grid = Grid::at(x, y, 3 + mix(seed, 1, 0) % 2);
    let dice = mix(seed, grid.column, grid.row);
    let (ground, shape) = (dice as usize % 5, (dice >> 8) as usize % 5);
    let (u, v) = turn(grid.u, grid.v, dice >> 16);
    let inside = match (dice >> 20) % 4 {
        0 => distance(u - 0.5, v - 0.5) < 0.36,
        1 => distance(u, v) < 0.98,
        2 => u < v,
        _ => u < 0.5,
    };
    if inside { shape } else { ground }
}

/// Square fields cut in two along one of their diagonals.
fn triangles(x: f64, y: f64, seed: u32) -> usize {
    let grid = Grid::at(x, y, 4 + mix(seed, 1, 0) % 2);
    let dice = mix(seed, grid.column, grid.row);
    let (u, v) = turn(grid.u, grid.v, dice);
    let half = if u < v { dice >> 8 } else { dice >> 20 };
    half as usize % 5
}

/// Quarter circles that join into paths, whichever way each field is turned.
fn arcs(x: f64, y: f64, seed: u32) -> usize {
    let grid = Grid::at(x, y, 4);
    let (u, v) = turn(grid.u, grid.v, mix(seed, grid.column, grid.row) & 1);
    let near = distance(u, v).min(distance(1.0 - u, 1.0 - v));
    let off_path = (near - 0.5).abs();
    let colour = mix(seed, 9, 0) as usize;
    match off_path {
        off if off < 0.08 => 3 + colour % 2,
        off if off < 0.20 => 1 + colour % 2,
        _ => 0,
    }
}

/// Bands across and down; where two meet, a third colour shows.
fn plaid(x: f64, y: f64, seed: u32) -> usize {
    let band = |at: f64, salt: u32| {
        let place = fraction(at * 2.0 + spread(seed, salt, 0.0, 1.0));
        usize::from(place < 0.42) + usize::from(place > 0.16 && place < 0.24)
    };
    (band(x, 1) + 3 * band(y, 2) + mix(seed, 3, 0) as usize) % 5
}

/// Dots in rows, each second row moved by half a step.
fn dots(x: f64, y: f64, seed: u32) -> usize {
    let count = 4;
    let row = (y * f64::from(count)) as u32;
    let shift = if row.is_multiple_of(2) { 0.0 } else { 0.5 / f64::from(count) };
    let grid = Grid::at(fraction(x + shift), y, count);
    let dice = mix(seed, grid.column, grid.row);
    let radius = 0.22 + f64::from(dice >> 8 & 255) / 255.0 * 0.24;
    let ground = mix(seed, 7, 7) as usize % 5;
    let dot = (ground + 1 + dice as usize % 4) % 5;
    if distance(grid.u - 0.5, grid.v - 0.5) < radius { dot } else { ground }
}

/// Square stones, the same on the left and on the right.
fn mosaic(x: f64, y: f64, seed: u32) -> usize {
    let grid = Grid::at(x, y, 8);
    let column = grid.column.min(7 - grid.column);
    let stone = mix(seed, column, grid.row);
    if stone % 16 < 5 { 0 } else { (stone >> 8) as usize % 5 }
}

/// Ribbons that pass over and under each other.
fn weave(x: f64, y: f64, seed: u32) -> usize {
    let grid = Grid::at(x, y, 4);
    let (over, along, across) = if (grid.column + grid.row).is_multiple_of(2) {
        (pick(seed, grid.row, 10) % 4, grid.v, grid.u)
    } else {
        (pick(seed, grid.column, 20) % 4, grid.u, grid.v)
    };
    let ground = 4;
    let on_ribbon = (along - 0.5).abs() < 0.38;
    let under = across.min(1.0 - across) < 0.08;
    match (on_ribbon, under) {
        (true, false) => over,
        (true, true) => (over + 1) % 4,
        (false, _) => ground,
    }
}

/// Swells one behind the other, made of parabolas.
fn waves(x: f64, y: f64, seed: u32) -> usize {
    let layers = 7;
    // From the front to the back: the first swell that reaches this high hides the rest.
    for layer in (0..layers).rev() {
        let phase = fraction(x * 2.0 + spread(seed, layer, 0.0, 1.0));
        let crest = 4.0 * phase * (1.0 - phase) * 0.12;
        if y > (f64::from(layer) + 0.6) / f64::from(layers) - crest {
            return pick(seed, layer, 30);
        }
    }
    3
}

/// Each point takes the colour of the nearest of nine seeds, with a light seam between cells.
fn cells(x: f64, y: f64, seed: u32) -> usize {
    let (mut first, mut second, mut owner) = (f64::MAX, f64::MAX, 0);
    for cell in 0..9 {
        let to_x = (f64::from(cell % 3) + spread(seed, cell, 0.1, 0.9)) / 3.0;
        let to_y = (f64::from(cell / 3) + spread(seed, cell + 50, 0.1, 0.9)) / 3.0;
        let away = distance(x - to_x, y - to_y);
        if away < first {
            (second, first, owner) = (first, away, cell);
        } else if away < second {
            second = away;
        }
    }
    if second - first < 0.025 { 3 } else { [0, 1, 2, 4][mix(seed, owner, 3) as usize % 4] }
}

/// Roof tiles: discs in rows, each row lying over the one below it and half a tile aside.
fn scales(x: f64, y: f64, seed: u32) -> usize {
    let (columns, rows) = (4.0, 8.0);
    let above = (y * rows).floor();
    // The upper row lies in front, so it is asked first; what it leaves free the lower one covers.
    for row in [above, above + 1.0] {
        let odd = row % 2.0 != 0.0;
        let at_x = x * columns + if odd { 0.5 } else { 0.0 };
        let away = distance(fraction(at_x) - 0.5, (y * rows - row) * columns / rows);
        if away < 0.5 {
            let tile = mix(seed, at_x as u32 % 4, row as u32) as usize % 5;
            return if away > 0.42 { (tile + 1) % 5 } else { tile };
        }
    }
    0
}

/// A point within a square grid: which field, and where in that field.
struct Grid {
    column: u32,
    row: u32,
    u: f64,
    v: f64,
}

impl Grid {
    fn at(x: f64, y: f64, count: u32) -> Self {
        let (x, y) = (x * f64::from(count), y * f64::from(count));
        Self { column: x as u32, row: y as u32, u: fraction(x), v: fraction(y) }
    }
}

/// Turns a field by as many quarters as the lowest two bits say.
fn turn(u: f64, v: f64, quarters: u32) -> (f64, f64) {
    match quarters % 4 {
        0 => (u, v),
        1 => (1.0 - v, u),
        2 => (1.0 - u, 1.0 - v),
        _ => (v, 1.0 - u),
    }
}

/// The part behind the decimal point, from 0 up to 1 for negative numbers too.
fn fraction(number: f64) -> f64 {
    number - number.floor()
}

/// `hypot` may round differently from one C library to the next; a square root may not.
fn distance(dx: f64, dy: f64) -> f64 {
    (dx * dx + dy * dy).sqrt()
}

/// A number between two bounds that depends on the seed.
fn spread(seed: u32, salt: u32, low: f64, high: f64) -> f64 {
    low + (high - low) * f64::from(mix(seed, salt, 0xf00d)) / f64::from(u32::MAX)
}

/// A colour that differs from the one before and the one after it.
fn pick(seed: u32, number: u32, salt: u32) -> usize {
    // Steps of 1, 2, 3 or 4 through five colours never stand still.
    let step = 1 + mix(seed, salt, 1) % 4;
    (mix(seed, salt, 2) % 5 + number * step) as usize % 5
}

/// Stirs three numbers into one that looks like chance (xorshift and multiply, as hash tables do).
fn mix(a: u32, b: u32, c: u32) -> u32 {
    let mut hash = a.wrapping_mul(0x9e37_79b1) ^ b.wrapping_mul(0x85eb_ca77);
    hash ^= c.wrapping_mul(0xc2b2_ae3d).rotate_left(13);
    for _ in 0..2 {
        hash ^= hash >> 15;
        hash = hash.wrapping_mul(0x2c1b_3c6d);
        hash ^= hash >> 12;
        hash = hash.wrapping_mul(0x297a_2d39);
    }
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colours that a pattern uses on a coarse raster.
    fn used(pattern: ColourPattern, seed: u32) -> Vec<usize> {
        let raster = (0..32 * 32).map(|at| (f64::from(at % 32) / 32.0, f64::from(at / 32) / 32.0));
        let mut colours: Vec<usize> = raster.map(|(x, y)| pattern(x, y, seed)).collect();
        colours.sort_unstable();
        colours.dedup();
        colours
    }

    #[test]
    fn every_pattern_shows_two_to_five_colours() {
        for (name, pattern) in PATTERNS {
            for seed in 0..50 {
                let colours = used(*pattern, seed);
                assert!(colours.len() >= 2, "{name} {seed}: {colours:?}");
                assert!(colours.iter().all(|&colour| colour < 5), "{name} {seed}: {colours:?}");
            }
        }
    }

    #[test]
    fn neighbouring_rings_differ() {
        for (seed, ring) in (0..20).flat_map(|seed| (0..20).map(move |ring| (seed, ring))) {
            assert_ne!(pick(seed, ring, 0), pick(seed, ring + 1, 0));
        }
    }

    #[test]
    fn four_quarter_turns_lead_back() {
        let start = (0.25, 0.75);
        let back = (0..4).fold(start, |(u, v), _| turn(u, v, 1));
        assert_eq!(back, start);
    }
}
