//! The ten palettes of the gallery: five colours each, from the darkest ground to the accent.
//! Nothing is drawn here.

/// One colour.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rgb {
    pub(crate) red: u8,
    pub(crate) green: u8,
    pub(crate) blue: u8,
}

/// A named set of colours that look well together.
pub(crate) struct Palette {
    /// Shown as the heading of its section of the gallery.
    pub(crate) name: &'static str,
    /// One sentence under the heading.
    pub(crate) note: &'static str,
    /// Ground, shade, middle, light, accent.
    pub(crate) colours: [Rgb; 5],
}

/// In the order of the page.
pub(crate) const PALETTES: &[Palette] = &[
    Palette {
        name: "Harbour",
        note: "Deep water, a painted hull, and one lamp that is already lit.",
        colours: [rgb(0x0f2a43), rgb(0x1f5f8b), rgb(0x66a5c9), rgb(0xd7e8ef), rgb(0xf2b05e)],
    },
    Palette {
        name: "Terracotta",
        note: "Roof tiles in the late sun, with a pot of sage on the sill.",
        colours: [rgb(0x3b1f1b), rgb(0xa3452c), rgb(0xd9825b), rgb(0xf3d9b8), rgb(0x6b8f71)],
    },
    Palette {
        name: "Moss",
        note: "The north side of an old wall after a week of rain.",
        colours: [rgb(0x1e2d24), rgb(0x3f6b4a), rgb(0x86a873), rgb(0xdfe6c8), rgb(0xe6a15c)],
    },
    Palette {
        name: "Plum",
        note: "Jam on the stove: the fruit, the foam, and the flame below.",
        colours: [rgb(0x2a1a33), rgb(0x6b3b73), rgb(0xb06a9b), rgb(0xf0d6dd), rgb(0xf2b263)],
    },
    Palette {
        name: "Ember",
        note: "What is left of the fire when the talk has become quiet.",
        colours: [rgb(0x2b1414), rgb(0x8f2d2d), rgb(0xd9593d), rgb(0xf4b860), rgb(0xfaeccd)],
    },
    Palette {
        name: "Glacier",
        note: "Cold melt water, and a tent that somebody left open.",
        colours: [rgb(0x12303b), rgb(0x2f7f86), rgb(0x7cc4bf), rgb(0xe3f3ee), rgb(0xf28e7c)],
    },
    Palette {
        name: "Wheat",
        note: "A field in August, with a strip of river behind it.",
        colours: [rgb(0x40301d), rgb(0x8c6a34), rgb(0xc9a25a), rgb(0xf4e7c5), rgb(0x5d8a91)],
    },
    Palette {
        name: "Ink",
        note: "A page of print, and the editor's red pencil.",
        colours: [rgb(0x16181d), rgb(0x434a57), rgb(0x8d97a8), rgb(0xe9ecf1), rgb(0xe2574c)],
    },
    Palette {
        name: "Orchard",
        note: "Bark, cherries, blossom, and the leaves between them.",
        colours: [rgb(0x2c1b12), rgb(0x7a2e3a), rgb(0xc65b5b), rgb(0xf2e3c6), rgb(0x7fa05a)],
    },
    Palette {
        name: "Dusk",
        note: "The ten minutes in which a town turns on its windows.",
        colours: [rgb(0x1c1b3a), rgb(0x48427f), rgb(0x9a7bb5), rgb(0xf3c6c0), rgb(0xf6d98b)],
    },
];

/// Takes a colour as style sheets write it: `0xRRGGBB`.
const fn rgb(hex: u32) -> Rgb {
    let [_, red, green, blue] = hex.to_be_bytes();
    Rgb { red, green, blue }
}

/// Writes a colour as style sheets do: `#rrggbb`.
pub(crate) fn hex(colour: Rgb) -> String {
    let Rgb { red, green, blue } = colour;
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_survives_being_written() {
        assert_eq!(hex(rgb(0x0f2a43)), "#0f2a43");
    }

    #[test]
    fn no_palette_repeats_a_colour_or_a_name() {
        for palette in PALETTES {
            let distinct: std::collections::BTreeSet<_> = palette.colours.iter().collect();
            assert_eq!(distinct.len(), 5, "{}", palette.name);
            assert_eq!(PALETTES.iter().filter(|other| other.name == palette.name).count(), 1);
        }
    }
}
