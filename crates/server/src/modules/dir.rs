//! dir: what a URL that names a folder answers: an index file, or a redirect to its slash
//! (mod_dir).

use crate::site::builder::Builder;
use crate::site::settings::either;
use config::{Args, Call, Directive, Error, Module, Scope};

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "dir_module", file: "mod_dir.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "DirectoryIndex",
        args: Args::OneOrMore,
        scope: Scope::OR_INDEXES,
        default: "index.html",
        help: "a list of file names",
        apply: directory_index,
    },
    Directive {
        name: "DirectorySlash",
        args: Args::Flag,
        scope: Scope::OR_FILEINFO,
        default: "On",
        help: "On or Off",
        apply: directory_slash,
    },
];

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    index: Option<Vec<String>>,
    slash: Option<bool>,
}

impl Settings {
    pub(crate) fn over(&self, outer: &Self) -> Self {
        Self {
            index: either(self.index.as_ref(), outer.index.as_ref()),
            slash: self.slash.or(outer.slash),
        }
    }

    /// Names to try, in order.
    pub(crate) fn index(&self) -> impl Iterator<Item = &str> {
        let default: &[String] = &[];
        let names = self.index.as_deref().unwrap_or(default).iter().map(String::as_str);
        names.chain(self.index.is_none().then_some("index.html"))
    }

    /// Whether a folder without its slash is redirected.
    pub(crate) fn redirects_to_slash(&self) -> bool {
        self.slash.unwrap_or(true)
    }
}

fn directory_index(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    // As in mod_dir a line adds to the list of its own section; `disabled` alone empties it.
    let index = &mut builder.settings().dir.index;
    let [only] = call.args else {
        index.get_or_insert_default().extend(call.args.iter().cloned());
        return Ok(());
    };
    if only.eq_ignore_ascii_case("disabled") {
        *index = Some(Vec::new());
    } else {
        index.get_or_insert_default().push(only.clone());
    }
    Ok(())
}

fn directory_slash(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.settings().dir.slash = Some(call.on());
    Ok(())
}
