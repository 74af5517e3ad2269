//! `RewriteMap`: what a key stands for, in a file, by a function or by a program (lookup_map of
//! mod_rewrite.c).

mod internal;
mod program;
mod text;

use crate::trace::{Trace, shown};
use config::Error;
use internal::Function;
use program::ProgramMap;
use runtime::file;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use text::TextFile;

/// A map.
#[derive(Debug)]
pub(crate) enum Map {
    /// `txt:` and `rnd:`
    Text(TextFile),
    /// `int:`
    Internal(Function),
    /// `prg:`
    Program(ProgramMap),
}

impl Map {
    /// Read what a line says of the map `name`; a program runs as `user`.
    pub(crate) fn parse(
        builder: &Builder,
        name: &str,
        text: &str,
        user: Option<&str>,
    ) -> Result<Self, Error> {
        let bad = |text: String| Err(Error::argument(1, text));
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind.to_ascii_lowercase(), rest),
            None => (String::new(), text),
        };
        match kind.as_str() {
            "txt" => {
                existing(builder, name, rest).map(|path| Self::Text(TextFile::new(path, false)))
            }
            "rnd" => {
                existing(builder, name, rest).map(|path| Self::Text(TextFile::new(path, true)))
            }
            "int" => match Function::named(rest) {
                Some(function) => Ok(Self::Internal(function)),
                None => bad(format!("RewriteMap: internal map not found:{rest}")),
            },
            "dbd" | "fastdbd" => bad("RewriteMap types dbd and fastdbd require mod_dbd!".into()),
            "prg" => {
                let program = ProgramMap::parse(builder, rest, user);
                must_exist(name, &program.path).map(|()| Self::Program(program))
            }
            dbm if dbm == "dbm" || dbm.starts_with("dbm=") => bad(format!(
                "RewriteMap: map {name} is a DBM file, which is not supported; name the text file \
                 that it was made from with txt:"
            )),
            _ => existing(builder, name, text).map(|path| Self::Text(TextFile::new(path, false))),
        }
    }

    /// What `key` stands for in this map, which is called `name`.
    pub(crate) async fn find(
        &self,
        request: &RequestContext<'_>,
        trace: Trace,
        name: &str,
        key: Vec<u8>,
    ) -> Option<Vec<u8>> {
        match self {
            Self::Text(file) => file.find(request, trace, name, &key),
            Self::Program(program) => program.find(request, trace, name, key).await,
            Self::Internal(function) => {
                let key_text = shown(&key).into_owned();
                let value = function.apply(key);
                trace.say(5, request, None, || {
                    let value = shown(&value);
                    // All others work on the key itself.
                    let key = if *function == Function::Escape { &key_text } else { &*value };
                    format!("map lookup OK: map={name} key={key} -> val={value}")
                });
                Some(value)
            }
        }
    }
}

/// The file of a map, which has to be there when the configuration is read.
fn existing(builder: &Builder, name: &str, path: &str) -> Result<PathBuf, Error> {
    let path = builder.server_path(path);
    must_exist(name, &path).map(|()| path)
}

fn must_exist(name: &str, path: &Path) -> Result<(), Error> {
    match file::facts(path.as_os_str().as_bytes(), true) {
        Ok(_) => Ok(()),
        Err(errno) => {
            let text = format!("RewriteMap: file for map {name} not found:{}", path.display());
            Err(Error::argument(1, text).because(errno.to_string()))
        }
    }
}
