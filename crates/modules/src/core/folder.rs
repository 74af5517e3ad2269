//! Directives of core about folders and files: options, overrides, error documents, validators.

use super::Done;
use config::args::{self, OptionChange};
use config::{Call, Error, Position, Scope};
use gateway::forward;
use logging::level::Levels;
use message::limits::{MAX_RANGE_OVERLAPS, MAX_RANGE_REVERSALS, MAX_RANGES};
use server::site::builder::Builder;
use server::site::expression::ExpressionText;
use server::site::names::UseCanonicalName;
use server::site::overrides::Overrides;
use server::site::settings::core::{
    ErrorDocument, FileEtagChange, HandlerSetting, OPTION_WORDS, Options, OptionsChange, PathInfo,
    Signature, is_absolute_url, lower, options_over,
};
use std::sync::Arc;

pub(super) fn options(builder: &mut Builder, call: &Call<'_>) -> Done {
    let changes = args::changes(call, OPTION_WORDS)?;
    let replaces = changes.first().is_some_and(|change| change.0 == OptionChange::Set);
    let mut result = OptionsChange { keep: if replaces { 0 } else { u8::MAX }, add: 0 };
    let allowed = builder.options_allowed();
    for (nth, (change, Options(bits))) in changes.into_iter().enumerate() {
        if change != OptionChange::Remove && bits & !allowed != 0 {
            let word = call.arg(nth).trim_start_matches('+');
            return Err(Error::argument(nth, format!("Option {word} not allowed here")));
        }
        if change == OptionChange::Remove {
            result.keep &= !bits;
            result.add &= !bits;
        } else {
            result.add |= bits;
        }
    }
    // Who permits pages without programs takes programs back (merge_core_dir_configs).
    let includes = Options::INCLUDES.0 | Options::INCLUDES_EXEC.0;
    if result.add & includes == Options::INCLUDES.0 {
        result.keep &= !Options::INCLUDES_EXEC.0;
    }
    let runs = Options::EXEC_CGI.0 | Options::INCLUDES_EXEC.0;
    builder.server.may_run_programs |= result.add & runs != 0;
    // A second line of the same section changes what the first has left (core.c, set_options).
    let own = &mut builder.settings().core.options;
    *own = options_over(Some(result), *own);
    Ok(())
}

/// core.c, set_override
pub(super) fn allow_override(builder: &mut Builder, call: &Call<'_>) -> Done {
    if builder.is_out_of_folders() {
        let Position { line, file, .. } = call.position();
        let text = format!("Useless use of AllowOverride in line {line} of {file}.");
        call.warn(Some("AH00114"), text);
    }
    let mut all = Overrides { options: u8::MAX, ..Overrides::default() };
    for (nth, word) in call.args.iter().enumerate() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        // Behind all other words httpd passes a value over.
        match (name.to_ascii_lowercase().as_str(), value) {
            ("limit", _) => all.classes = all.classes | Scope::HTACCESS_LIMIT,
            ("options", value) => {
                all.classes = all.classes | Scope::HTACCESS_OPTIONS;
                if let Some(value) = value {
                    all.options = option_bits(value, nth)?;
                }
            }
            ("fileinfo", _) => all.classes = all.classes | Scope::HTACCESS_FILEINFO,
            ("authconfig", _) => all.classes = all.classes | Scope::HTACCESS_AUTHCFG,
            ("indexes", _) => all.classes = all.classes | Scope::HTACCESS_INDEXES,
            ("nonfatal", Some(value)) => nonfatal(value, &mut all),
            ("nonfatal", None) => {
                let text = format!("=Override, =Unknown or =All expected after {name}");
                return Err(Error::argument(nth, text));
            }
            // Both take back what stands before them, `Nonfatal` as well.
            ("none", _) => all = Overrides { options: all.options, ..Overrides::default() },
            ("all", _) => {
                let classes = Scope::HTACCESS;
                all = Overrides { options: all.options, classes, ..Overrides::default() };
            }
            _ => return Err(Error::argument(nth, format!("Illegal override option {name}"))),
        }
    }
    let may_change_options = all.classes.meets(Scope::HTACCESS_OPTIONS);
    let may_execute = may_change_options && all.options & Options::EXEC_CGI.0 != 0;
    builder.server.may_run_programs |= may_execute;
    builder.settings().core.overrides = Some(all);
    Ok(())
}

/// `Options=Indexes,MultiViews`
fn option_bits(value: &str, nth: usize) -> Result<u8, Error> {
    let bit = |word: &str| {
        let row = OPTION_WORDS.iter().find(|row| row.0.eq_ignore_ascii_case(word));
        row.map(|row| row.1.0).ok_or_else(|| Error::argument(nth, format!("Illegal option {word}")))
    };
    let mut words = value.split(',').filter(|word| !word.is_empty());
    words.try_fold(0, |bits, word| Ok(bits | bit(word)?))
}

/// What is not permitted here, wherever it may stand, and what nobody knows (config.c, invoke_cmd
/// and ap_walk_config_sub). httpd passes over a word that it does not know.
fn nonfatal(value: &str, all: &mut Overrides) {
    let anywhere = Scope::HTACCESS | Scope::ANY_CONF;
    match value.to_ascii_lowercase().as_str() {
        "override" => all.passes_over = anywhere,
        "unknown" => all.passes_unknown = true,
        "all" => (all.passes_over, all.passes_unknown) = (anywhere, true),
        _ => {}
    }
}

/// core.c, set_override_list
pub(super) fn allow_override_list(builder: &mut Builder, call: &Call<'_>) -> Done {
    let Position { line, file, .. } = call.position();
    let warn = |id, what: &str| call.warn(Some(id), format!("{what} at {file}:{line}"));
    if builder.is_out_of_folders() {
        warn("AH00115", "Useless use of AllowOverrideList");
    }
    let mut list = Vec::new();
    for (nth, word) in call.args.iter().enumerate() {
        if word.eq_ignore_ascii_case("none") {
            if call.args.len() > 1 {
                let text = "'None' not allowed with other directives in AllowOverrideList";
                return Err(Error::argument(nth, text));
            }
            break;
        }
        match scope_of(builder, call, word) {
            None => warn(
                "AH00116",
                &format!("Discarding unrecognized directive `{word}' in AllowOverrideList"),
            ),
            Some(scope) if !scope.meets(Scope::HTACCESS | Scope::ACCESS_CONF) => warn(
                "AH02304",
                &format!("Discarding directive `{word}' not allowed in AllowOverrideList"),
            ),
            Some(_) => list.push(word.clone()),
        }
    }
    let may_execute = list.iter().any(|name| name.eq_ignore_ascii_case("Options"));
    builder.server.may_run_programs |= may_execute;
    builder.settings().core.override_list = Some(list);
    Ok(())
}

/// Where a directive may stand, whether it has a row or acts while it is read.
fn scope_of(builder: &Builder, call: &Call<'_>, name: &str) -> Option<Scope> {
    let is_there = |symbol: Option<&str>| symbol.is_none_or(|symbol| builder.has_module(symbol));
    let mut on_read = config::read_time_directives();
    match on_read.find(|row| row.name.eq_ignore_ascii_case(name)) {
        Some(row) => is_there(row.module).then_some(row.scope),
        None => call.scope_of(name),
    }
}

/// core.c, set_sethandler
pub(super) fn set_handler(builder: &mut Builder, call: &Call<'_>) -> Done {
    let written = call.arg(0);
    // To httpd it is always an expression that gives a text; most of them are plain.
    let handler = match written.contains(['%', '$', '\\']) {
        true => {
            let computed = computed(builder, written)?;
            forward::name_backend(builder, "");
            HandlerSetting::Computed(Arc::new(computed))
        }
        false => {
            let name = lower(written);
            forward::name_backend(builder, &name);
            HandlerSetting::Name(name)
        }
    };
    builder.settings().core.handler = Some(handler);
    Ok(())
}

/// A text with `%{...}` in it.
fn computed(builder: &Builder, text: &str) -> Result<ExpressionText, Error> {
    let mode = builder.mode();
    ExpressionText::parse(text, mode)
        .map_err(|error| Error::argument(0, format!("Can't parse expression : {error}")))
}

/// core.c, set_etag_bits
pub(super) fn file_etag(builder: &mut Builder, call: &Call<'_>) -> Done {
    let mut change = FileEtagChange { replaces: false, add: [false; 4], remove: [false; 4] };
    for (nth, word) in call.args.iter().enumerate() {
        let (sign, name) = match word.as_bytes().first() {
            Some(b'+') => (Some(true), &word[1..]),
            Some(b'-') => (Some(false), &word[1..]),
            _ => (None, word.as_str()),
        };
        change.replaces |= sign.is_none();
        let bits = match name.to_ascii_lowercase().as_str() {
            "none" | "all" if sign.is_some() => {
                return Err(Error::argument(
                    nth,
                    format!("FileETag keyword '{name}' may not be used with + or -"),
                ));
            }
            "none" => [false; 4],
            "all" => [true, true, true, false],
            "inode" => [true, false, false, false],
            "mtime" => [false, true, false, false],
            "size" => [false, false, true, false],
            "digest" => [false, false, false, true],
            _ => {
                let text = format!("Unknown keyword '{name}' for FileETag directive");
                return Err(Error::argument(nth, text));
            }
        };
        let into = if sign == Some(false) { &mut change.remove } else { &mut change.add };
        into.iter_mut().zip(bits).for_each(|(all, bit)| *all |= bit);
    }
    builder.settings().core.file_etag.push(change);
    Ok(())
}

/// `on` or `off` in httpd's words for arguments that are no flags to it.
fn on_off(call: &Call<'_>) -> Result<bool, Error> {
    match call.arg(0).to_ascii_lowercase().as_str() {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Error::argument(0, "parameter must be 'on' or 'off'")),
    }
}

pub(super) fn enable_sendfile(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.enable_sendfile = Some(on_off(call)?);
    Ok(())
}

/// Content is never mapped: a file that is cut short would end the process.
pub(super) fn enable_mmap(_: &mut Builder, call: &Call<'_>) -> Done {
    on_off(call).map(|_| ())
}

pub(super) fn limit_request_body(builder: &mut Builder, call: &Call<'_>) -> Done {
    // httpd: 0 is no limit.
    let word = call.arg(0);
    let limit: u64 =
        word.parse().ok().filter(|limit| *limit <= i64::MAX as u64).ok_or_else(|| {
            let is_beyond = matches!(args::leading(word), i64::MAX | i64::MIN);
            Error::argument(
                0,
                match is_beyond {
                    true => "LimitRequestBody argument is not parsable.",
                    false => "LimitRequestBody requires a non-negative integer.",
                },
            )
        })?;
    let limit = if limit == 0 { u64::MAX } else { limit };
    builder.settings().core.limit_request_body = Some(limit);
    Ok(())
}

fn range_count(call: &Call<'_>, default: usize) -> Result<usize, Error> {
    match call.arg(0) {
        word if word.eq_ignore_ascii_case("none") => Ok(0),
        word if word.eq_ignore_ascii_case("default") => Ok(default),
        word if word.eq_ignore_ascii_case("unlimited") => Ok(usize::MAX),
        word => {
            if args::leading_int(word) <= 0 {
                let text = format!(
                    "{} requires 'none', 'default', 'unlimited' or a positive integer",
                    call.name
                );
                return Err(Error::argument(0, text));
            }
            Ok(usize::try_from(args::read_number(call, 0)).unwrap_or(usize::MAX))
        }
    }
}

pub(super) fn max_ranges(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.max_ranges = Some(range_count(call, MAX_RANGES)?);
    Ok(())
}

pub(super) fn max_range_overlaps(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.max_range_overlaps = Some(range_count(call, MAX_RANGE_OVERLAPS)?);
    Ok(())
}

pub(super) fn max_range_reversals(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.max_range_reversals = Some(range_count(call, MAX_RANGE_REVERSALS)?);
    Ok(())
}

/// core.c, set_error_document
pub(super) fn error_document(builder: &mut Builder, call: &Call<'_>) -> Done {
    let (code, text) = (call.arg(0), call.arg(1));
    let number = code.parse().unwrap_or(0);
    if code.len() != 3 || message::Status::new(number).is_none_or(|s| s.known_line().is_none()) {
        return Err(Error::argument(0, format!("Unsupported HTTP response code {code}")));
    }
    // What has a space is none.
    let is_url = is_absolute_url(text) && !text.contains(' ');
    if number == 401 && is_url {
        let text = format!(
            "{}:{} cannot use a full URL in a 401 ErrorDocument directive --- ignoring!",
            call.position().file,
            call.position().line
        );
        call.warn(Some("AH00113"), text);
        return Ok(());
    }
    let document = if text.eq_ignore_ascii_case("default") {
        ErrorDocument::Default
    } else if is_url || text.starts_with('/') && !text.contains(' ') {
        ErrorDocument::Url(Arc::new(document_text(builder, text)?))
    } else {
        ErrorDocument::Text(Arc::new(document_text(builder, text)?))
    };
    let documents = &mut builder.settings().core.error_documents;
    documents.retain(|row| row.0 != number);
    documents.push((number, document));
    Ok(())
}

fn document_text(builder: &Builder, text: &str) -> Result<ExpressionText, Error> {
    let mode = builder.mode();
    ExpressionText::parse(text, mode).map_err(|error| {
        Error::argument(1, format!("Cannot parse expression in ErrorDocument: {error}"))
    })
}

pub(super) fn accept_path_info(builder: &mut Builder, call: &Call<'_>) -> Done {
    let value = match call.arg(0).to_ascii_lowercase().as_str() {
        "on" => PathInfo::Accept,
        "off" => PathInfo::Reject,
        "default" => PathInfo::Default,
        _ => {
            let text = "AcceptPathInfo must be set to on, off or default";
            return Err(Error::argument(0, text));
        }
    };
    builder.settings().core.accept_path_info = Some(value);
    Ok(())
}

pub(super) fn add_default_charset(builder: &mut Builder, call: &Call<'_>) -> Done {
    let charset = match call.arg(0) {
        word if word.eq_ignore_ascii_case("off") => None,
        word if word.eq_ignore_ascii_case("on") => Some("iso-8859-1".to_owned()),
        word => Some(word.to_owned()),
    };
    builder.settings().core.default_charset = Some(charset);
    Ok(())
}

pub(super) fn server_signature(builder: &mut Builder, call: &Call<'_>) -> Done {
    let signature = match call.arg(0).to_ascii_lowercase().as_str() {
        "on" => Signature::On,
        "off" => Signature::Off,
        "email" => Signature::Email,
        _ => {
            let text = "ServerSignature: use one of: off | on | email";
            return Err(Error::argument(0, text));
        }
    };
    builder.settings().core.signature = Some(signature);
    Ok(())
}

pub(super) fn use_canonical_name(builder: &mut Builder, call: &Call<'_>) -> Done {
    let value = match call.arg(0).to_ascii_lowercase().as_str() {
        "on" => UseCanonicalName::On,
        "off" => UseCanonicalName::Off,
        "dns" => UseCanonicalName::Dns,
        _ => {
            let text = "parameter must be 'on', 'off', or 'dns'";
            return Err(Error::argument(0, text));
        }
    };
    builder.settings().core.use_canonical_name = Some(value);
    Ok(())
}

pub(super) fn use_canonical_physical_port(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.use_canonical_physical_port = Some(on_off(call)?);
    Ok(())
}

pub(super) fn content_digest(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.content_digest = Some(call.on());
    Ok(())
}

pub(super) fn cgi_pass_auth(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.passes_authorization = Some(call.on());
    Ok(())
}

pub(super) fn cgi_var(builder: &mut Builder, call: &Call<'_>) -> Done {
    if call.arg(0) != "REQUEST_URI" {
        let text = format!("Unrecognized CGI variable: \"{}\"", call.arg(0));
        return Err(Error::argument(0, text));
    }
    let rules = [("current-uri", true), ("original-uri", false)];
    let rule = rules.iter().find(|rule| rule.0.eq_ignore_ascii_case(call.arg(1)));
    let text = "Valid rules for REQUEST_URI are 'current-uri' and 'original-uri'";
    let rule = rule.ok_or_else(|| Error::argument(1, text))?;
    builder.settings().core.has_current_uri = Some(rule.1);
    Ok(())
}

pub(super) fn qualify_redirect_url(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.qualify_redirect_url = Some(call.on());
    Ok(())
}

/// `LogLevel`, of a host or of a section.
pub(super) fn log_level(builder: &mut Builder, call: &Call<'_>) -> Done {
    let known = crate::MODULES.short_names();
    let levels: &mut Levels = if builder.is_in_section() {
        builder.settings().core.levels.get_or_insert_default()
    } else {
        builder.host().levels.get_or_insert_default()
    };
    levels.set(&call.words(), &known).map_err(Error::from)
}
