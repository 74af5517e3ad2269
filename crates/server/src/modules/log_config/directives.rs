//! The directives of log_config. Formats are compiled when the site is opened.

use super::Format;
use crate::site::builder::Builder;
use config::{Args, Call, Directive, Error, Module, Scope};

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "log_config_module", file: "mod_log_config.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "LogFormat",
        args: Args::OneOrTwo,
        scope: Scope::RSRC_CONF,
        default: "",
        help: "a log format string (see docs) and an optional format name",
        apply: log_format,
    },
    Directive {
        name: "CustomLog",
        args: Args::TwoOrThree,
        scope: Scope::RSRC_CONF,
        default: "",
        help: "a file name, a custom log format string or format name, and an optional \"env=\" \
               or \"expr=\" clause (see docs)",
        apply: custom_log,
    },
    Directive {
        name: "TransferLog",
        args: Args::One,
        scope: Scope::RSRC_CONF,
        default: "",
        help: "the filename of the access log",
        apply: transfer_log,
    },
];

/// The nickname under which a `LogFormat` without one is kept, for TransferLog.
const UNNAMED: &str = "";

fn log_format(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let format = call.arg(0);
    Format::parse(format).map_err(|text| Error::argument(0, text))?;
    let name = call.args.get(1).map_or(UNNAMED, String::as_str);
    if name.contains('%') {
        return Err(Error::argument(1, "the format name cannot contain %"));
    }
    builder.server.formats.push((name.to_owned(), format.to_owned()));
    Ok(())
}

fn custom_log(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let (path, format) = (call.arg(0), call.arg(1));
    if path.starts_with('|') {
        return Err(Error::argument(0, "piped logs are not supported yet: name a file"));
    }
    if call.args.len() > 2 {
        return Err(Error::argument(2, "conditional logs are not supported yet"));
    }
    Format::parse(format).map_err(|text| Error::argument(1, text))?;
    let path = builder.server_path(path);
    builder.server.logs.push((path, format.to_owned()));
    Ok(())
}

fn transfer_log(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let unnamed = builder.server.formats.iter().rev().find(|row| row.0 == UNNAMED);
    let format = unnamed.map_or_else(|| super::COMMON.to_owned(), |row| row.1.clone());
    let path = builder.server_path(call.arg(0));
    builder.server.logs.push((path, format));
    Ok(())
}
