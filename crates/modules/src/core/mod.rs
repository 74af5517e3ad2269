//! core: what httpd's core.c and http_core.c configure for connections, requests and folders. The
//! table is here; what its rows do is in the files beside, by subject.
// tidy: table

mod connection;
mod folder;
mod hosts;
mod rlimit;
mod sections;
mod unused;

use crate::filter;
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope, SectionArgs};
use server::failure::Failure;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::response::Response;
use server::site::builder::Builder;
use server::site::names::HostnameLookups;
use std::path::PathBuf;

/// The module and its table, in the order of the manual's subjects.
pub(crate) static MODULE: Module =
    Module::new("core_module", "core.c", DIRECTIVES, Hooks { finish: Some(finish), ..Hooks::NONE })
        .always();

const SERVER: Scope = Scope::SERVER;
const HOST: Scope = Scope::RSRC_CONF;
const SECTION: Args<Builder> = Args::Section(SectionArgs::Some, Builder::leave);
/// One that may not stand everywhere, which is looked at first.
const INNER_SECTION: Args<Builder> = Args::Section(SectionArgs::SomeLater, Builder::leave);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    // Sections.
    row("<Directory", SECTION, HOST, "", "Container for directives affecting resources located in the specified directories", sections::directory),
    row("<DirectoryMatch", SECTION, HOST, "", "Container for directives affecting resources located in the specified directories", sections::directory_match),
    row("<Files", INNER_SECTION, Scope::OR_ALL, "", "Container for directives affecting files matching specified patterns", sections::files),
    row("<FilesMatch", INNER_SECTION, Scope::OR_ALL, "", "Container for directives affecting files matching specified patterns", sections::files_match),
    row("<Location", SECTION, HOST, "", "Container for directives affecting resources accessed through the specified URL paths", sections::location),
    row("<LocationMatch", SECTION, HOST, "", "Container for directives affecting resources accessed through the specified URL paths", sections::location_match),
    row("<VirtualHost", Args::Section(SectionArgs::SomeLater, Builder::leave_virtual_host), HOST, "", "Container to map directives to a particular virtual host, takes one or more host addresses", hosts::virtual_host),
    row("<If", INNER_SECTION, Scope::OR_ALL, "", "Container for directives to be conditionally applied", sections::if_section),
    row("<ElseIf", INNER_SECTION, Scope::OR_ALL, "", "Container for directives to be conditionally applied", sections::else_if),
    row("<Else", Args::Section(SectionArgs::Any, Builder::leave), Scope::OR_ALL, "", "Container for directives to be conditionally applied", sections::else_section),
    row("<Limit", Args::Section(SectionArgs::Some, Builder::leave_limit), Scope::OR_AUTHCFG.with(Scope::OR_LIMIT), "", "Container for authentication directives when accessed using specified HTTP methods", sections::limit),
    row("<LimitExcept", Args::Section(SectionArgs::Some, Builder::leave_limit), Scope::OR_AUTHCFG.with(Scope::OR_LIMIT), "", "Container for authentication directives to be applied when any HTTP method other than those specified is used to access the resource", sections::limit_except),
    // Sockets, connections, heads.
    row("Listen", Args::Argv, SERVER, "", "A port number or a numeric IP address and a port number, and an optional protocol", connection::listen),
    row("Timeout", Args::One, HOST, "60", "Timeout duration (sec)", connection::timeout),
    row("KeepAlive", Args::Flag, HOST, "On", "Whether persistent connections should be On or Off", connection::keep_alive),
    row("KeepAliveTimeout", Args::One, HOST, "5", "Keep-Alive timeout duration (sec)", connection::keep_alive_timeout),
    row("MaxKeepAliveRequests", Args::One, HOST, "100", "Maximum number of Keep-Alive requests per connection, or 0 for infinite", connection::max_keep_alive_requests),
    row("LimitRequestLine", Args::One, HOST, "8190", "Limit on maximum size of an HTTP request line", connection::limit_request_line),
    row("LimitRequestFields", Args::One, HOST, "100", "Limit (0 = unlimited) on max number of header fields in a request message", connection::limit_request_fields),
    row("LimitRequestFieldsize", Args::One, HOST, "8190", "Limit on maximum size of an HTTP request header field", connection::limit_request_field_size),
    row("HttpProtocolOptions", Args::OneOrMore, HOST, "Strict", "'Allow0.9' or 'Require1.0' (default); 'RegisteredMethods' or 'LenientMethods' (default); 'Unsafe' or 'Strict' (default). Sets HTTP acceptance rules", connection::http_protocol_options),
    row("ServerTokens", Args::One, SERVER, "Full", "Determine tokens displayed in the Server: header - Min(imal), Major, Minor, Prod(uctOnly), OS, or Full", connection::server_tokens),
    row("Protocols", Args::OneOrMore, HOST, "http/1.1", "Controls which protocols are allowed", accept),
    row("ProtocolsHonorOrder", Args::One, HOST, "On", "'off' (default) or 'on' to respect given order of protocols, by default the client specified order determines selection", unused::protocols_honor_order),
    row("Protocol", Args::One, HOST, "", "Set the Protocol for httpd to use.", accept),
    row("AcceptFilter", Args::Two, SERVER, "", "Set the Accept Filter to use for a protocol", accept),
    row("FlushMaxThreshold", Args::One, HOST, "", "Maximum threshold above which pending data are flushed to the network", unused::unsigned),
    row("FlushMaxPipelined", Args::One, HOST, "", "Maximum number of pipelined responses (pending) above which they are flushed to the network", unused::flush_max_pipelined),
    row("MergeTrailers", Args::Flag, HOST, "Off", "merge request trailers into request headers or not", accept),
    row("RegisterHttpMethod", Args::OneOrMore, SERVER, "", "Registers non-standard HTTP methods", accept),
    // Hosts and their names.
    row("ServerName", Args::One, HOST, "", "The hostname and port of the server", hosts::server_name),
    row("ServerAlias", Args::Any, HOST, "", "A name or names alternately used to access the server", hosts::server_alias),
    row("ServerPath", Args::One, HOST, "", "The pathname the server can be reached at", hosts::server_path),
    row("ServerAdmin", Args::One, HOST, "", "The email address of the server administrator", hosts::server_admin),
    row("NameVirtualHost", Args::One, HOST, "", "A numeric IP address:port, or the name of a host", name_virtual_host),
    row("DocumentRoot", Args::One, HOST, "", "Root directory of the document tree", hosts::document_root),
    row("AccessFileName", Args::Any, HOST, ".htaccess", "Name(s) of per-directory config files (default: .htaccess)", hosts::access_file_name),
    row("UseCanonicalName", Args::One, Scope::ANY_CONF, "Off", "How to work out the ServerName : Port when constructing URLs", folder::use_canonical_name),
    row("UseCanonicalPhysicalPort", Args::One, Scope::ANY_CONF, "Off", "Whether to use the physical Port when constructing URLs", folder::use_canonical_physical_port),
    row("StrictHostCheck", Args::Flag, HOST, "Off", "Controls whether a hostname match is required", hosts::strict_host_check),
    row("HostnameLookups", Args::One, Scope::ANY_CONF, "Off", "\"on\" to enable, \"off\" to disable reverse DNS lookups, or \"double\" to enable double-reverse DNS lookups", hostname_lookups),
    row("TraceEnable", Args::One, HOST, "On", "'on' (default), 'off' or 'extended' to trace request body content", hosts::trace_enable),
    row("MergeSlashes", Args::Flag, HOST, "On", "Controls whether consecutive slashes in the URI path are merged", hosts::merge_slashes),
    row("AllowEncodedSlashes", Args::One, HOST, "Off", "Allow URLs containing '/' encoded as '%2F'", hosts::allow_encoded_slashes),
    row("LimitInternalRecursion", Args::OneOrTwo, HOST, "10", "maximum recursion depth of internal redirects and subrequests", hosts::limit_internal_recursion),
    row("ErrorLog", Args::One, HOST, "", "The filename of the error log", hosts::error_log),
    row("ErrorLogFormat", Args::OneOrTwo, HOST, "", "Format string for the ErrorLog", hosts::error_log_format),
    row("LogLevel", Args::OneOrMore, Scope::ANY_CONF, "warn", "Level of verbosity in error logging", folder::log_level),
    // Folders and files.
    row("Options", Args::Any, Scope::OR_OPTIONS, "FollowSymLinks", "Set a number of attributes for a given directory", folder::options),
    row("AllowOverride", Args::Any, Scope::ACCESS_CONF, "None", "Controls what groups of directives can be configured by per-directory config files", folder::allow_override),
    row("AllowOverrideList", Args::Argv, Scope::ACCESS_CONF, "None", "Controls what individual directives can be configured by per-directory config files", folder::allow_override_list),
    row("SetHandler", Args::One, Scope::OR_FILEINFO, "", "a handler name that overrides any other configured handler", folder::set_handler),
    row("ErrorDocument", Args::Two, Scope::OR_FILEINFO, "", "Change responses for HTTP errors", folder::error_document),
    row("AcceptPathInfo", Args::One, Scope::OR_FILEINFO, "Default", "Set to on or off for PATH_INFO to be accepted by handlers, or default for the per-handler preference", folder::accept_path_info),
    row("AddDefaultCharset", Args::One, Scope::OR_FILEINFO, "Off", "The name of the default charset to add to any Content-Type without one or 'Off' to disable", folder::add_default_charset),
    row("ServerSignature", Args::One, Scope::OR_ALL, "Off", "En-/disable server signature (on|off|email)", folder::server_signature),
    row("FileETag", Args::Any, Scope::OR_FILEINFO, "MTime Size", "Specify components used to construct a file's ETag", folder::file_etag),
    row("ContentDigest", Args::Flag, Scope::OR_OPTIONS, "Off", "whether or not to send a Content-MD5 header with each request", folder::content_digest),
    row("QualifyRedirectURL", Args::Flag, Scope::OR_FILEINFO, "Off", "Controls whether the REDIRECT_URL environment variable is fully qualified", folder::qualify_redirect_url),
    row("LimitRequestBody", Args::One, Scope::OR_ALL, "1073741824", "Limit (in bytes) on maximum size of request message body", folder::limit_request_body),
    row("LimitXMLRequestBody", Args::One, Scope::OR_ALL, "1000000", "Limit (in bytes) on maximum size of an XML-based request body", unused::limit_xml_request_body),
    row("SetOutputFilter", Args::One, Scope::OR_FILEINFO, "", "filter (or ; delimited list of filters) to be run on the request content", filter::set_output_filter),
    row("SetInputFilter", Args::One, Scope::OR_FILEINFO, "", "filter (or ; delimited list of filters) to be run on the request body", filter::set_input_filter),
    row("MaxRanges", Args::One, Scope::ANY_CONF, "200", "Maximum number of Ranges in a request before returning the entire resource, or 0 for unlimited", folder::max_ranges),
    row("MaxRangeOverlaps", Args::One, Scope::ANY_CONF, "20", "Maximum number of overlaps in Ranges in a request before returning the entire resource, or 0 for unlimited", folder::max_range_overlaps),
    row("MaxRangeReversals", Args::One, Scope::ANY_CONF, "20", "Maximum number of reversals in Ranges in a request before returning the entire resource, or 0 for unlimited", folder::max_range_reversals),
    row("EnableSendfile", Args::One, Scope::OR_FILEINFO, "On", "Controls whether sendfile may be used to transmit files", folder::enable_sendfile),
    row("EnableMMAP", Args::One, Scope::OR_FILEINFO, "Off", "Controls whether memory-mapping may be used to read files", folder::enable_mmap),
    row("ReadBufferSize", Args::One, Scope::ANY_CONF, "", "Size (in bytes) of the memory buffers used to read data", unused::unsigned),
    // The whole server.
    row("Port", Args::One, HOST, "", "Port was replaced with Listen in Apache 2.0", port),
    row("DefaultType", Args::One, Scope::OR_FILEINFO, "none", "the default media type for otherwise untyped files (DEPRECATED)", default_type),
    row("CGIPassAuth", Args::Flag, Scope::OR_AUTHCFG, "Off", "Controls whether HTTP authorization headers, normally hidden, will be passed to scripts", folder::cgi_pass_auth),
    row("CGIVar", Args::Two, Scope::OR_FILEINFO, "", "Controls how some CGI variables are set", folder::cgi_var),
    row("RLimitCPU", Args::OneOrTwo, Scope::OR_ALL, "", "Soft/hard limits for max CPU usage in seconds", rlimit::cpu),
    row("RLimitMEM", Args::OneOrTwo, Scope::OR_ALL, "", "Soft/hard limits for max memory usage per process", rlimit::memory),
    row("RLimitNPROC", Args::OneOrTwo, Scope::OR_ALL, "", "soft/hard limits for max number of processes per uid", rlimit::processes),
    row("Mutex", Args::Any, SERVER, "default", "mutex (or \"default\") and mechanism", unused::mutex),
    row("RegexDefaultOptions", Args::Raw, SERVER, "DOTALL DOLLAR_ENDONLY", "default options for regexes (prefixed by '+' to add, '-' to del)", regex_default_options),
    row("SeeRequestTail", Args::Flag, SERVER, "Off", "For extended status, \"On\" to see the last 63 chars of the request line, \"Off\" (default) to see the first 63", see_request_tail),
    row("Error", Args::Raw, Scope::OR_ALL, "", "Generate error message from within configuration", error),
];

type Done = Result<(), Error>;

fn see_request_tail(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.sees_request_tail = call.on();
    Ok(())
}

/// Finish hook: the charset of texts that have none. Files have theirs already, so that it is the
/// same in each part of them that a client asks for.
pub(crate) fn finish(
    request: &mut RequestContext<'_>,
    response: &mut Response,
) -> Result<(), Failure> {
    let content_type = response.content_type.take();
    response.content_type = content_type.map(|text| request.settings.core.with_charset(text));
    Ok(())
}

/// Accepted without effect: what it would change does not exist here (memory-mapped files, locks
/// between processes), or has one right value.
fn accept(_: &mut Builder, _: &Call<'_>) -> Done {
    Ok(())
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A path below `ServerRoot`, unless it is absolute.
fn path_argument(builder: &Builder, path: &str) -> PathBuf {
    builder.server.root.join(path)
}

fn port(_: &mut Builder, _: &Call<'_>) -> Done {
    Err("Port was replaced with Listen in Apache 2.0".into())
}

/// core.c, set_default_type
fn default_type(_: &mut Builder, call: &Call<'_>) -> Done {
    if !call.arg(0).eq_ignore_ascii_case("none") {
        let position = call.position();
        let (line, file) = (position.line, &position.file);
        let text = format!("Ignoring deprecated use of DefaultType in line {line} of {file}.");
        call.warn(Some("AH00117"), text);
    }
    Ok(())
}

fn name_virtual_host(_: &mut Builder, call: &Call<'_>) -> Done {
    let position = call.position();
    let text = format!(
        "NameVirtualHost has no effect and will be removed in the next release {}:{}",
        position.file, position.line
    );
    call.warn(Some("AH00548"), text);
    Ok(())
}

fn hostname_lookups(builder: &mut Builder, call: &Call<'_>) -> Done {
    let value = match call.arg(0).to_ascii_lowercase().as_str() {
        "off" => HostnameLookups::Off,
        "on" => HostnameLookups::On,
        "double" => HostnameLookups::Double,
        _ => return Err(Error::argument(0, "parameter must be 'on', 'off', or 'double'")),
    };
    builder.settings().core.hostname_lookups = Some(value);
    Ok(())
}

/// core.c, set_regex_default_options. What holds is what holds at the line of an expression.
fn regex_default_options(builder: &mut Builder, call: &Call<'_>) -> Done {
    let none = pattern::PatternFlags {
        ignore_case: false,
        dotall: false,
        dollar_endonly: false,
        ..pattern::PatternFlags::default()
    };
    let mut flags = builder.server.regex;
    for (nth, word) in config::lexer::LineWords::new(call.raw).map(|word| word.text).enumerate() {
        if word.eq_ignore_ascii_case("none") {
            flags = none;
            continue;
        }
        let (sign, name) = match word.as_bytes().first() {
            Some(b'+') => (Some(true), &word[1..]),
            Some(b'-') => (Some(false), &word[1..]),
            _ => (None, word.as_str()),
        };
        if sign.is_none() {
            flags = none;
        }
        let switch = match name.to_ascii_lowercase().as_str() {
            "icase" => &mut flags.ignore_case,
            "dotall" => &mut flags.dotall,
            "dollar_endonly" => &mut flags.dollar_endonly,
            _ => {
                let text = format!("{}: option '{name}' unknown", call.name);
                return Err(Error::argument(nth, text));
            }
        };
        *switch = sign != Some(false);
    }
    builder.server.regex = flags;
    Ok(())
}

/// The administrator's own error (generate_message of server/core.c).
fn error(_: &mut Builder, call: &Call<'_>) -> Done {
    let quote = call.raw.chars().next().filter(|first| matches!(first, '"' | '\''));
    let within = quote.and_then(|quote| call.raw[1..].strip_suffix(quote));
    Err(match call.raw {
        "" => "The Error directive was used with no message.".into(),
        text => within.unwrap_or(text).into(),
    })
}
