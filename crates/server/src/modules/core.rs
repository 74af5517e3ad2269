//! core: what httpd's core.c and http_core.c configure for connections, requests and folders.

use crate::resolve::LinkPolicy;
use crate::site::builder::{Builder, SectionKind};
use crate::site::settings::either;
use crate::site::wildcard::Pattern;
use config::args::{self, Change, Unit};
use config::{Args, Call, Directive, Error, Module, Scope, SectionArgs};
use message::range::RangeLimits;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// The module and its table, in the order of the manual's subjects.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "core_module", file: "core.c", directives: DIRECTIVES };

/// A row without the words that repeat: most directives of this table take one argument.
const fn row(
    name: &'static str,
    args: Args<Builder>,
    scope: Scope,
    default: &'static str,
    help: &'static str,
    apply: config::directive::Apply<Builder>,
) -> Directive<Builder> {
    Directive { name, args, scope, default, help, apply }
}

const SERVER: Scope = Scope::SERVER;
const HOST: Scope = Scope::RSRC_CONF;
/// At server level and inside `<Directory>`, which then both must match.
const FILES_MAY_STAND: Scope = Scope::RSRC_CONF.with(Scope::DIRECTORY);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("Listen", Args::OneOrTwo, SERVER, "", "A port number or a numeric IP address and a port number, and an optional protocol", listen),
    row("ServerName", Args::One, HOST, "", "The hostname and port of the server", server_name),
    row("ServerAdmin", Args::One, HOST, "", "The email address of the server administrator", accept),
    row("DocumentRoot", Args::One, HOST, "", "Root directory of the document tree", document_root),
    row("ServerTokens", Args::One, SERVER, "Full", "Tokens displayed in the Server: header - Min[imal], Major, Minor, Prod[uctOnly], OS, or Full", server_tokens),
    row("TraceEnable", Args::One, HOST, "Off", "'on', 'off' (default) or 'extended' to trace request body content", trace_enable),
    row("Timeout", Args::One, HOST, "60", "Timeout duration (sec)", timeout),
    row("KeepAlive", Args::Flag, HOST, "On", "Whether persistent connections should be On or Off", keep_alive),
    row("KeepAliveTimeout", Args::One, HOST, "5", "Keep-Alive timeout duration (sec)", keep_alive_timeout),
    row("MaxKeepAliveRequests", Args::One, HOST, "100", "Maximum number of Keep-Alive requests per connection, or 0 for infinite", max_keep_alive_requests),
    row("LimitRequestLine", Args::One, HOST, "8190", "Limit on maximum size of an HTTP request line", limit_request_line),
    row("LimitRequestFields", Args::One, HOST, "100", "Limit (0 = unlimited) on max number of header fields in a request message", limit_request_fields),
    row("LimitRequestFieldSize", Args::One, HOST, "8190", "Limit on maximum size of an HTTP request header field", limit_request_field_size),
    row("LimitRequestBody", Args::One, Scope::OR_ALL, "1073741824", "Limit (in bytes) on maximum size of request message body", limit_request_body),
    row("MaxRanges", Args::One, Scope::ANY_CONF, "200", "Maximum number of Ranges in a request before returning the entire resource, or 0 for unlimited", max_ranges),
    row("MaxRangeOverlaps", Args::One, Scope::ANY_CONF, "20", "Maximum number of overlaps in Ranges in a request before returning the entire resource, or 0 for unlimited", max_range_overlaps),
    row("MaxRangeReversals", Args::One, Scope::ANY_CONF, "20", "Maximum number of reversals in Ranges in a request before returning the entire resource, or 0 for unlimited", max_range_reversals),
    row("ErrorLog", Args::One, HOST, "", "The filename of the error log", error_log),
    row("LogLevel", Args::OneOrMore, Scope::ANY_CONF, "warn", "Level of verbosity in error logging", log_level),
    row("Options", Args::OneOrMore, Scope::OR_OPTIONS, "FollowSymLinks", "Set a number of attributes for a given directory", options),
    row("SetHandler", Args::One, Scope::OR_FILEINFO, "", "a handler name that overrides any other configured handler", set_handler),
    row("FileETag", Args::OneOrMore, Scope::OR_FILEINFO, "MTime Size", "Specify components used to construct a file's ETag", file_etag),
    row("EnableSendfile", Args::Flag, Scope::OR_FILEINFO, "On", "Controls whether sendfile may be used to transmit files", enable_sendfile),
    row("EnableMMAP", Args::Flag, Scope::OR_FILEINFO, "Off", "Controls whether memory-mapping may be used to read files", accept),
    row("Error", Args::Raw, Scope::OR_ALL, "", "Generate error message from within configuration.", error),
    row("AllowOverride", Args::OneOrMore, Scope::DIRECTORY, "None", "Controls what groups of directives can be configured by per-directory config files", allow_override),
    row("<Directory", Args::Section(SectionArgs::Some, Builder::leave), HOST, "", "Container for directives affecting resources located in the specified directories", directory),
    row("<Files", Args::Section(SectionArgs::Some, Builder::leave), FILES_MAY_STAND, "", "Container for directives affecting files matching specified patterns", files),
    row("<Location", Args::Section(SectionArgs::Some, Builder::leave), HOST, "", "Container for directives affecting resources accessed through the specified URL paths", location),
];

/// Bits of `Options`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options(u8);

impl Options {
    const NONE: Self = Self(0);
    const INDEXES: Self = Self(1);
    const FOLLOW: Self = Self(2);
    const OWNER_MATCH: Self = Self(4);
    const EXEC_CGI: Self = Self(8);
    const INCLUDES: Self = Self(16);
    const MULTI_VIEWS: Self = Self(32);
    /// `All` is everything but MultiViews.
    const ALL: Self = Self(1 | 2 | 8 | 16);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

const OPTION_WORDS: &[(&str, Options)] = &[
    ("All", Options::ALL),
    ("None", Options::NONE),
    ("Indexes", Options::INDEXES),
    ("FollowSymLinks", Options::FOLLOW),
    ("SymLinksIfOwnerMatch", Options::OWNER_MATCH),
    ("ExecCGI", Options::EXEC_CGI),
    ("Includes", Options::INCLUDES),
    ("IncludesNOEXEC", Options::INCLUDES),
    ("MultiViews", Options::MULTI_VIEWS),
];

/// What one section says about `Options`: `(value & keep) | add`.
#[derive(Clone, Copy, Debug)]
struct OptionsChange {
    keep: u8,
    add: u8,
}

/// Which facts of a file make its entity tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileEtag {
    pub(crate) inode: bool,
    pub(crate) mtime: bool,
    pub(crate) size: bool,
}

const FILE_ETAG_DEFAULT: FileEtag = FileEtag { inode: false, mtime: true, size: true };

/// Per-directory settings of core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    options: Option<OptionsChange>,
    /// `SetHandler`.
    handler: Option<String>,
    file_etag: Option<FileEtag>,
    enable_sendfile: Option<bool>,
    limit_request_body: Option<u64>,
    max_ranges: Option<usize>,
    max_range_overlaps: Option<usize>,
    max_range_reversals: Option<usize>,
}

impl Settings {
    pub(crate) fn over(&self, outer: &Self) -> Self {
        Self {
            options: match (self.options, outer.options) {
                (Some(inner), Some(outer)) => Some(OptionsChange {
                    keep: inner.keep & outer.keep,
                    add: (outer.add & inner.keep) | inner.add,
                }),
                (inner, outer) => inner.or(outer),
            },
            handler: either(self.handler.as_ref(), outer.handler.as_ref()),
            file_etag: self.file_etag.or(outer.file_etag),
            enable_sendfile: self.enable_sendfile.or(outer.enable_sendfile),
            limit_request_body: self.limit_request_body.or(outer.limit_request_body),
            max_ranges: self.max_ranges.or(outer.max_ranges),
            max_range_overlaps: self.max_range_overlaps.or(outer.max_range_overlaps),
            max_range_reversals: self.max_range_reversals.or(outer.max_range_reversals),
        }
    }

    fn options(&self) -> Options {
        let change = self.options.unwrap_or(OptionsChange { keep: u8::MAX, add: 0 });
        Options((Options::FOLLOW.0 & change.keep) | change.add)
    }

    /// `SetHandler`; `none` and the default handler are the absence of one.
    pub(crate) fn handler(&self) -> Option<&str> {
        self.handler.as_deref().filter(|name| !matches!(*name, "none" | "default-handler"))
    }

    /// Whether this section has an `Options` line.
    pub(crate) fn says_options(&self) -> bool {
        self.options.is_some()
    }

    /// `Options Indexes`.
    pub(crate) fn lists_directories(&self) -> bool {
        self.options().has(Options::INDEXES)
    }

    /// Which symbolic links may be followed. FollowSymLinks wins where both are on, as in httpd.
    pub(crate) fn links(&self) -> LinkPolicy {
        let options = self.options();
        if options.has(Options::FOLLOW) {
            LinkPolicy::Follow
        } else if options.has(Options::OWNER_MATCH) {
            LinkPolicy::OwnerMatch
        } else {
            LinkPolicy::Refuse
        }
    }

    pub(crate) fn file_etag(&self) -> FileEtag {
        self.file_etag.unwrap_or(FILE_ETAG_DEFAULT)
    }

    pub(crate) fn uses_sendfile(&self) -> bool {
        self.enable_sendfile.unwrap_or(true)
    }

    pub(crate) fn limit_request_body(&self) -> u64 {
        self.limit_request_body.unwrap_or(message::limits::LIMIT_REQUEST_BODY)
    }

    pub(crate) fn range_limits(&self) -> RangeLimits {
        let default = RangeLimits::default();
        RangeLimits {
            max_ranges: self.max_ranges.unwrap_or(default.max_ranges),
            max_overlaps: self.max_range_overlaps.unwrap_or(default.max_overlaps),
            max_reversals: self.max_range_reversals.unwrap_or(default.max_reversals),
        }
    }
}

type Done = Result<(), Error>;

/// Accepted without effect: what it would change does not exist here (memory-mapped files), or
/// nothing shows it yet.
fn accept(_: &mut Builder, _: &Call<'_>) -> Done {
    Ok(())
}

fn listen(builder: &mut Builder, call: &Call<'_>) -> Done {
    let address = parse_listen(call.arg(0))?;
    if address.port() != 0 && builder.server.listen.contains(&address) {
        return Err("Cannot define multiple Listeners on the same IP:port".into());
    }
    builder.server.listen.push(address);
    Ok(())
}

/// `80`, `*:80`, `1.2.3.4:80`, `[::1]:80`. Without an address one socket serves both families,
/// where the machine has IPv6, as in httpd.
fn parse_listen(word: &str) -> Result<SocketAddr, Error> {
    let (host, port) = word.rsplit_once(':').unwrap_or(("*", word));
    let port: u16 = port.parse().map_err(|_| {
        Error::argument(0, "Port must be specified: Listen 8080 or Listen 127.0.0.1:8080")
    })?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let ip: IpAddr = match bare {
        "*" if runtime::net::has_ipv6() => Ipv6Addr::UNSPECIFIED.into(),
        "*" => Ipv4Addr::UNSPECIFIED.into(),
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        other => other.parse().map_err(|_| Error::argument(0, "Invalid address or port"))?,
    };
    Ok((ip, port).into())
}

fn server_name(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.server_name = Some(call.arg(0).to_owned());
    Ok(())
}

fn document_root(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.document_root = Some(PathBuf::from(call.arg(0)));
    Ok(())
}

fn server_tokens(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.tokens = args::keyword(call, 0, crate::identity::TOKEN_WORDS)?;
    Ok(())
}

fn trace_enable(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.trace = match call.arg(0).to_ascii_lowercase().as_str() {
        "on" | "extended" => true,
        "off" => false,
        _ => {
            return Err(Error::argument(
                0,
                "TraceEnable must be one of 'on', 'off', or 'extended'",
            ));
        }
    };
    Ok(())
}

fn milliseconds(call: &Call<'_>) -> Result<u64, Error> {
    let duration = args::duration(call, 0, Unit::Second)?;
    Ok(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4))
}

fn timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.timing.timeout_ms = milliseconds(call)?;
    Ok(())
}

fn keep_alive(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.timing.keep_alive = call.on();
    Ok(())
}

fn keep_alive_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.timing.keep_alive_timeout_ms = milliseconds(call)?;
    Ok(())
}

fn max_keep_alive_requests(builder: &mut Builder, call: &Call<'_>) -> Done {
    let count = args::number(call, 0, 0..=u64::from(u32::MAX))?;
    builder.host.timing.max_keep_alive_requests = u32::try_from(count).unwrap_or(u32::MAX);
    Ok(())
}

/// Memory that one hostile connection may make the server hold: a bound on the two limits below.
const HEAD_LIMIT_BYTES: u64 = 1 << 20;

fn limit_request_line(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.limits.request_line_bytes = size(args::number(call, 0, 0..=HEAD_LIMIT_BYTES)?);
    Ok(())
}

fn limit_request_field_size(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.host.limits.field_bytes = size(args::number(call, 0, 0..=HEAD_LIMIT_BYTES)?);
    Ok(())
}

fn limit_request_fields(builder: &mut Builder, call: &Call<'_>) -> Done {
    let most = message::limits::REQUEST_FIELDS_MAX;
    let fields = size(args::number(call, 0, 0..=most as u64)?);
    builder.host.limits.fields = if fields == 0 { most } else { fields };
    Ok(())
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn limit_request_body(builder: &mut Builder, call: &Call<'_>) -> Done {
    // httpd: 0 is no limit.
    let limit = args::number(call, 0, 0..=u64::MAX - 1)?;
    let limit = if limit == 0 { u64::MAX } else { limit };
    builder.settings().core.limit_request_body = Some(limit);
    Ok(())
}

fn range_count(call: &Call<'_>) -> Result<usize, Error> {
    match call.arg(0) {
        word if word.eq_ignore_ascii_case("none") => Ok(0),
        word if word.eq_ignore_ascii_case("default") => Ok(message::limits::MAX_RANGES),
        word if word.eq_ignore_ascii_case("unlimited") => Ok(usize::MAX),
        _ => {
            let count = size(args::number(call, 0, 0..=u64::from(u32::MAX))?);
            Ok(if count == 0 { usize::MAX } else { count })
        }
    }
}

fn max_ranges(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.max_ranges = Some(range_count(call)?);
    Ok(())
}

fn max_range_overlaps(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.max_range_overlaps = Some(range_count(call)?);
    Ok(())
}

fn max_range_reversals(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.max_range_reversals = Some(range_count(call)?);
    Ok(())
}

fn error_log(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.error_log = Some(builder.server_path(call.arg(0)));
    Ok(())
}

/// The administrator's own error (generate_message of server/core.c).
fn error(_: &mut Builder, call: &Call<'_>) -> Done {
    Err(match call.raw {
        "" => "The Error directive was used with no message.".into(),
        text => text.into(),
    })
}

fn log_level(builder: &mut Builder, call: &Call<'_>) -> Done {
    if builder.is_in_section() {
        call.warn(None, "LogLevel for a section is not supported yet: the line has no effect");
        return Ok(());
    }
    builder.server.levels.set(&call.words(), &crate::modules::short_names()).map_err(Error::from)
}

fn options(builder: &mut Builder, call: &Call<'_>) -> Done {
    let changes = args::changes(call, OPTION_WORDS)?;
    let replaces = changes.first().is_some_and(|change| change.0 == Change::Set);
    let mut result = OptionsChange { keep: if replaces { 0 } else { u8::MAX }, add: 0 };
    for (change, Options(bits)) in changes {
        if change == Change::Remove {
            result.keep &= !bits;
            result.add &= !bits;
        } else {
            result.add |= bits;
        }
    }
    builder.settings().core.options = Some(result);
    Ok(())
}

fn set_handler(builder: &mut Builder, call: &Call<'_>) -> Done {
    let name = call.arg(0).to_ascii_lowercase();
    if name != "none" && !crate::handler::NAMES.contains(&name.as_str()) {
        call.warn(None, Error::argument(0, format!("no module has the handler {name}")));
    }
    builder.settings().core.handler = Some(name);
    Ok(())
}

fn file_etag(builder: &mut Builder, call: &Call<'_>) -> Done {
    let mut tag = FileEtag { inode: false, mtime: false, size: false };
    for word in call.args {
        let (on, word) = match word.strip_prefix('-') {
            Some(word) => (false, word),
            None => (true, word.strip_prefix('+').unwrap_or(word)),
        };
        match word.to_ascii_lowercase().as_str() {
            "none" => {}
            "all" => tag = FileEtag { inode: on, mtime: on, size: on },
            "inode" => tag.inode = on,
            "mtime" => tag.mtime = on,
            "size" => tag.size = on,
            other => return Err(format!("Unknown keyword '{other}' for FileETag directive").into()),
        }
    }
    builder.settings().core.file_etag = Some(tag);
    Ok(())
}

fn enable_sendfile(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.enable_sendfile = Some(call.on());
    Ok(())
}

fn allow_override(_: &mut Builder, call: &Call<'_>) -> Done {
    if call.args.iter().any(|word| !word.eq_ignore_ascii_case("none")) {
        call.warn(None, ".htaccess files are not read yet: AllowOverride has no effect");
    }
    Ok(())
}

/// The pattern of a section; `~` would make it a regular expression.
fn section_pattern(call: &Call<'_>) -> Result<Pattern, Error> {
    let mut words = config::lexer::Words::new(call.raw);
    let word = words.next().map(|word| word.text).unwrap_or_default();
    if word == "~" || words.next().is_some() {
        return Err(format!("{}> takes one plain path or wildcard here", call.name).into());
    }
    Ok(Pattern::new(&word))
}

fn directory(builder: &mut Builder, call: &Call<'_>) -> Done {
    let pattern = section_pattern(call)?;
    let written = String::from_utf8_lossy(pattern.text()).into_owned();
    // A pattern with wildcards keeps them through this: they are ordinary names to it.
    let path = crate::site::lexical::normal(std::path::Path::new(&written));
    builder.enter(SectionKind::Directory(Pattern::new(&path.to_string_lossy())));
    Ok(())
}

fn files(builder: &mut Builder, call: &Call<'_>) -> Done {
    let pattern = section_pattern(call)?;
    builder.enter(SectionKind::Files(pattern));
    Ok(())
}

fn location(builder: &mut Builder, call: &Call<'_>) -> Done {
    let pattern = section_pattern(call)?;
    builder.enter(SectionKind::Location(pattern));
    Ok(())
}
