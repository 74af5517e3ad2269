//! Media type, encoding, language and character set of a file from its name (mod_mime).
//! Negotiating between variants belongs to the caller.

mod directives;
mod multiviews;
mod settings;
mod types;

pub(crate) use directives::MODULE;
#[cfg(test)]
pub(crate) use settings::Settings;
pub(crate) use settings::{MimeAttribute, SETTINGS};
pub(crate) use types::Types;

use server::metadata::Metadata;
use server::site::Site;
use server::site::settings::{self as site, ServerKey};
use server::site::store::Merge;
use std::path::PathBuf;

/// The key of the types that extensions have everywhere.
static TYPES: ServerKey<TypesConfig> = ServerKey::new();

/// `TypesConfig`, and what the file says once it is read.
#[derive(Clone, Debug, Default)]
struct TypesConfig {
    path: Option<PathBuf>,
    types: Types,
}

impl Merge for TypesConfig {}

/// Read `TypesConfig`, with the site.
fn open(site: &mut Site) -> Result<(), String> {
    let config = TYPES.change(&mut site.modules);
    config.types = match &config.path {
        None => Types::embedded(),
        Some(path) => {
            let text = std::fs::read(path).map_err(|error| {
                let path = path.display();
                format!("AH01597: could not open mime types config file {path}: {error}")
            })?;
            Types::parse(&String::from_utf8_lossy(&text))
        }
    };
    Ok(())
}

/// What `TypesConfig` says.
pub(crate) fn types(site: &Site) -> &Types {
    &TYPES.of(&site.modules).types
}

/// What a name says where these settings hold.
pub(crate) fn metadata<'s>(
    settings: &'s site::Settings,
    site: &'s Site,
    name: &[u8],
) -> Metadata<'s> {
    SETTINGS.of(settings).mime(types(site), name)
}

fn uses_path_info(settings: &site::Settings) -> bool {
    SETTINGS.of(settings).uses_path_info()
}
