//! log_config: which logs there are, with which formats (mod_log_config). What is configured here
//! is compiled and opened with the site.

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use logging::access::Format;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::custom_log::{LogCondition, LogDraft};
use server::site::expression::{Expression, Mode};
use server::site::settings::ServerKey;
use server::site::store::Merge;
use std::collections::HashSet;
use std::path::PathBuf;

/// The module and its table.
pub(crate) static MODULE: Module =
    Module::new("log_config_module", "mod_log_config.c", DIRECTIVES, Hooks::NONE);

const HOST: Scope = Scope::RSRC_CONF;

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("CustomLog", Args::TwoOrThree, HOST, "", "a file name, a custom log format string or format name, and an optional \"env=\" or \"expr=\" clause (see docs)", custom_log),
    row("GlobalLog", Args::TwoOrThree, Scope::SERVER, "", "Same as CustomLog, but forces virtualhosts to inherit the log", global_log),
    row("TransferLog", Args::One, HOST, "", "the filename of the access log", transfer_log),
    row("LogFormat", Args::OneOrTwo, HOST, "", "a log format string (see docs) and an optional format name", log_format),
    row("BufferedLogs", Args::Flag, HOST, "Off", "Enable Buffered Logging (experimental)", buffered_logs),
];

/// The key of the formats that are right: a thousand hosts tend to have the same.
static FORMATS: ServerKey<Formats> = ServerKey::new();

#[derive(Clone, Debug, Default)]
struct Formats(HashSet<String>);

impl Merge for Formats {}

fn log_format(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let format = call.arg(0);
    let checked = Format::parse(format).map_err(|text| Error::argument(0, text));
    let host = builder.host();
    match call.args.get(1) {
        Some(name) => {
            checked?;
            host.formats.push((name.clone(), format.to_owned()));
        }
        None => {
            // The nickname of another one is good here, too.
            checked?;
            host.default_format = Some(format.to_owned());
        }
    }
    Ok(())
}

fn custom_log(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let format = call.arg(1);
    let mode = builder.mode();
    let condition = call.args.get(2).map(|clause| condition(clause, mode)).transpose()?;
    check_format(builder, format).map_err(|text| Error::argument(1, text))?;
    add(builder, call, Some(format.to_owned()), condition, false);
    Ok(())
}

/// Compile a format once, however many hosts have it.
fn check_format(builder: &mut Builder, format: &str) -> Result<(), String> {
    let known = FORMATS.change(&mut builder.server.modules);
    if !known.0.contains(format) {
        Format::parse(format)?;
        known.0.insert(format.to_owned());
    }
    Ok(())
}

fn global_log(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    custom_log(builder, call)?;
    let added = builder.host().logs.last_mut();
    added.into_iter().for_each(|log| log.is_global = true);
    Ok(())
}

fn transfer_log(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    add(builder, call, None, None, false);
    Ok(())
}

fn add(
    builder: &mut Builder,
    call: &Call<'_>,
    format: Option<String>,
    condition: Option<LogCondition>,
    is_global: bool,
) {
    let path = call.arg(0);
    let path = match path.starts_with('|') {
        true => PathBuf::from(path),
        false => builder.server_path(path),
    };
    builder.host().logs.push(LogDraft { path, format, condition, is_global });
}

/// The third argument of `CustomLog` (mod_log_config.c, add_custom_log).
fn condition(clause: &str, mode: Mode) -> Result<LogCondition, Error> {
    let after = |prefix: &str| {
        let is_it = clause.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix));
        is_it.then(|| &clause[prefix.len()..])
    };
    if let Some(variable) = after("env=") {
        let name = variable.strip_prefix('!');
        let negated = name.is_some();
        let name = name.unwrap_or(variable).to_owned();
        return match name.is_empty() {
            true => Err(Error::argument(2, "missing environment variable name")),
            false => Ok(LogCondition::Env { name, negated }),
        };
    }
    match after("expr=") {
        Some("") => Err(Error::argument(2, "missing condition")),
        Some(text) => Expression::parse(text, mode)
            .map(LogCondition::Expression)
            .map_err(|text| Error::argument(2, text)),
        None => Err(Error::argument(2, "error in condition clause")),
    }
}

fn buffered_logs(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.buffered_logs = call.on();
    Ok(())
}
