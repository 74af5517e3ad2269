//! logio: counting bytes on the wire is part of every connection; what is left to configure is
//! whether the time to the first byte is kept (mod_logio).

use config::{Args, Call, Directive, Error, Scope};
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "logio_module",
    "mod_logio.c",
    DIRECTIVES,
    Hooks { tracks_first_byte: Some(tracks_first_byte), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "LogIOTrackTTFB",
    args: Args::Flag,
    scope: Scope::OR_ALL,
    default: "Off",
    help: "Set to 'ON' to enable tracking time to first byte",
    apply: track_ttfb,
}];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    tracks_first_byte: Option<bool>,
}

impl Merge for Settings {
    /// An inner section over an outer one.
    fn over(&self, outer: &Self) -> Self {
        Self { tracks_first_byte: self.tracks_first_byte.or(outer.tracks_first_byte) }
    }
}

/// Whether `%^FB` has a value.
pub(crate) fn tracks_first_byte(settings: &server::site::settings::Settings) -> bool {
    SETTINGS.of(settings).tracks_first_byte.unwrap_or(false)
}

fn track_ttfb(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).tracks_first_byte = Some(call.on());
    Ok(())
}
