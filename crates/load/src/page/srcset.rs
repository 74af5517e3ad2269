//! Which of several images a browser takes: `srcset` and `sizes` (HTML standard, 4.8.4.3).

use super::media;

/// Images of a list at most.
const CANDIDATES_MAX: usize = 100;

/// How dense the pixels of the imagined screen are.
const DENSITY: f64 = 1.0;

/// The image that a browser takes from a list, with `src` for where the list has none of its
/// density.
///
/// ```
/// use load::page::srcset::choose;
///
/// let list = "s.png 320w, m.png 640w, l.png 1920w";
/// assert_eq!(choose(list, "(max-width: 400px) 100vw, 600px", None), Some("m.png"));
/// assert_eq!(choose(list, "", None), Some("l.png"));
/// assert_eq!(choose("big.png 2x", "", Some("small.png")), Some("small.png"));
/// ```
pub fn choose<'a>(list: &'a str, sizes: &str, src: Option<&'a str>) -> Option<&'a str> {
    let slot = slot_px(sizes).max(1.0);
    let mut candidates: Vec<(&str, f64)> = Vec::new();
    let mut has_widths = false;
    for (url, descriptors) in split(list).take(CANDIDATES_MAX) {
        let Some(descriptor) = parse(descriptors) else { continue };
        has_widths |= matches!(descriptor, Descriptor::Width(_));
        candidates.push((url, descriptor.density(slot)));
    }
    if let Some(src) = src.filter(|src| !src.trim().is_empty() && !has_widths)
        && candidates.iter().all(|candidate| candidate.1 != 1.0)
    {
        candidates.push((src, 1.0));
    }
    // Sorting keeps the order of equals, and of equals the first counts.
    candidates.sort_by(|one, other| one.1.total_cmp(&other.1));
    let enough = candidates.iter().find(|candidate| candidate.1 >= DENSITY);
    let densest = || {
        let most = candidates.last()?.1;
        candidates.iter().find(|candidate| candidate.1 == most)
    };
    enough.or_else(densest).map(|candidate| candidate.0)
}

enum Descriptor {
    Density(f64),
    Width(f64),
}

impl Descriptor {
    fn density(&self, slot: f64) -> f64 {
        match self {
            Self::Density(density) => *density,
            Self::Width(width) => width / slot,
        }
    }
}

/// `None` for what browsers refuse.
fn parse(descriptors: &str) -> Option<Descriptor> {
    let (mut density, mut width) = (None, None);
    for word in descriptors.split_ascii_whitespace() {
        let number = word.get(..word.len() - 1)?.parse::<f64>().ok().filter(|n| n.is_finite());
        match (word.as_bytes().last()?, number?) {
            (b'x', number) if density.is_none() && number >= 0.0 => density = Some(number),
            (b'w', number) if width.is_none() && number > 0.0 => width = Some(number),
            // Heights stand beside widths and decide nothing.
            (b'h', number) if number > 0.0 => {}
            _ => return None,
        }
    }
    match (density, width) {
        (Some(_), Some(_)) => None,
        (None, Some(width)) => Some(Descriptor::Width(width)),
        (density, None) => Some(Descriptor::Density(density.unwrap_or(1.0))),
    }
}

/// URLs and what follows each of them, up to the comma behind that.
fn split(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = list;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        // A comma at the end of a URL ends the candidate.
        let bare = url.trim_end_matches(',');
        if bare.len() < url.len() {
            rest = after;
            return Some((bare, ""));
        }
        let (mut depth, mut end) = (0_u32, after.len());
        for (at, byte) in after.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        rest = after.get(end + 1..).unwrap_or_default();
        Some((url, &after[..end]))
    })
}

/// How wide the image will be, by the first of the sizes whose condition holds.
fn slot_px(sizes: &str) -> f64 {
    for size in sizes.split(',').take(CANDIDATES_MAX) {
        let size = size.trim();
        let (condition, length) = match size.rfind(|c: char| c.is_ascii_whitespace()) {
            Some(at) => (&size[..at], &size[at + 1..]),
            None => ("", size),
        };
        let Some(px) = media::length(&length.to_ascii_lowercase()) else { continue };
        if media::matches(condition) {
            return px;
        }
    }
    media::WIDTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_take_the_first_that_is_dense_enough() {
        let rows: &[(&str, &str, Option<&str>, Option<&str>)] = &[
            ("a 1x, b 2x", "", None, Some("a")),
            ("a, b 2x", "", None, Some("a")),
            ("b 2x, c 3x", "", None, Some("b")),
            ("a 0.5x", "", None, Some("a")),
            ("a 0.5x", "", Some("s"), Some("s")),
            ("a 100w, b 300w", "200px", Some("s"), Some("b")),
            ("a 100w, b 300w", "50vw", None, Some("b")),
            ("a 100w 50h, b 2000w", "10em", None, Some("b")),
            ("a,b", "", None, Some("a,b")),
            ("a, , b 1x", "", None, Some("a")),
            ("a 1x 2x, b", "", None, Some("b")),
            ("a 1w 2x, b -1x, c x", "", Some("s"), Some("s")),
            ("", "", Some("s"), Some("s")),
            ("", "", None, None),
            (" ,, ", "", None, None),
            ("a foo(b, c), d 2x", "", None, Some("d")),
            ("a 100w, b 1300w", "calc(1px), (bad", None, Some("b")),
        ];
        for (list, sizes, src, wanted) in rows {
            assert_eq!(choose(list, sizes, *src), *wanted, "{list} / {sizes}");
        }
    }
}
