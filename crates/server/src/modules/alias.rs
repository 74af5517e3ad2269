//! alias: URL prefixes that lead to folders outside of the document root (mod_alias).

use crate::phase::Place;
use crate::resolve::Root;
use crate::site::builder::Builder;
use crate::site::{Host, lexical};
use config::{Args, Call, Directive, Error, Module, Scope};
use std::path::PathBuf;
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "alias_module", file: "mod_alias.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "Alias",
    args: Args::Two,
    scope: Scope::RSRC_CONF,
    default: "",
    help: "a fakename and a realname",
    apply: alias,
}];

/// An `Alias` line.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// URL prefix.
    pub(crate) from: String,
    /// Folder or file.
    pub(crate) to: PathBuf,
}

/// An `Alias` whose folder is open.
pub(crate) struct Alias {
    from: Vec<u8>,
    root: Arc<Root>,
    /// The file below `root`, where the line names a file.
    file: Option<Vec<u8>>,
}

fn alias(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let (from, to) = (call.arg(0), call.arg(1));
    if !from.starts_with('/') {
        return Err(Error::argument(0, "the fakename of an Alias must begin with /"));
    }
    if from.ends_with('/') != to.ends_with('/') && from != "/" {
        // httpd joins both texts as they are; this is where a wrong folder comes from.
        call.warn(None, "one of the two ends with / and the other does not");
    }
    builder.host.aliases.push(Draft { from: from.to_owned(), to: PathBuf::from(to) });
    Ok(())
}

impl Alias {
    /// Open what a line names.
    pub(crate) fn open(draft: &Draft) -> Result<Self, String> {
        let complain =
            |error: std::io::Error| format!("Alias {} {}: {error}", draft.from, draft.to.display());
        let to = lexical::normal(&draft.to);
        let opened = std::fs::File::open(&to).map_err(complain)?;
        let is_file = opened.metadata().map_err(complain)?.is_file();
        let (folder, file) = match (is_file, to.parent(), to.file_name()) {
            (true, Some(folder), Some(name)) => (folder, Some(name.as_encoded_bytes().to_vec())),
            _ => (to.as_path(), None),
        };
        let root = Arc::new(Root::open(folder).map_err(complain)?);
        Ok(Self { from: draft.from.as_bytes().to_vec(), root, file })
    }
}

/// The folder and the path below it, if an alias covers `path`. The first line that matches wins.
///
/// A prefix matches whole segments only (alias_matches of mod_alias.c): `/i` never covers
/// `/i../secret`.
pub(crate) fn translate<'a>(host: &'a Host, path: &'a [u8]) -> Option<Place<'a>> {
    host.aliases.iter().find_map(|alias| {
        let rest = path.strip_prefix(alias.from.as_slice())?;
        let at_border = rest.is_empty() || rest[0] == b'/' || alias.from.ends_with(b"/");
        if !at_border {
            return None;
        }
        match &alias.file {
            Some(_) if !rest.is_empty() => None,
            Some(file) => Some((&alias.root, file.as_slice())),
            None => Some((&alias.root, rest.strip_prefix(b"/").unwrap_or(rest))),
        }
    })
}
