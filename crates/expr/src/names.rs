//! What the names of variables, functions and operators mean, and where they may not be used.
//!
//! The order of looking is httpd's: a module that has its own lookup, the core, then mod_ssl and
//! mod_proxy_hcheck (`core_expr_lookup`, `ssl_expr_lookup`, `hc_expr_lookup`).
// tidy: table

use crate::ast::{Function, Glob, UnaryTest, Word};
use crate::facts::{ServerVariable, TimePart};
use crate::mode::{Mode, Restrict};
use alloc::format;
use alloc::string::String;

/// `MODULE_MAGIC_NUMBER_MAJOR` of httpd 2.4.
const API_VERSION: &[u8] = b"20120211";

/// What a variable becomes.
enum Meaning {
    Fact(ServerVariable),
    Field(&'static [u8]),
    Now(TimePart),
    LastModified,
    ApiVersion,
}

use Meaning::{ApiVersion, Fact, Field, LastModified, Now};

/// The variables of the core (`conn_var_names` and its neighbours).
const VARIABLES: &[(&str, Meaning)] = &[
    ("TIME_YEAR", Now(TimePart::Year)),
    ("TIME_MON", Now(TimePart::Month)),
    ("TIME_DAY", Now(TimePart::Day)),
    ("TIME_HOUR", Now(TimePart::Hour)),
    ("TIME_MIN", Now(TimePart::Minute)),
    ("TIME_SEC", Now(TimePart::Second)),
    ("TIME_WDAY", Now(TimePart::Weekday)),
    ("TIME", Now(TimePart::Whole)),
    ("SERVER_SOFTWARE", Fact(ServerVariable::ServerSoftware)),
    ("API_VERSION", ApiVersion),
    ("HTTP_USER_AGENT", Field(b"User-Agent")),
    ("HTTP_PROXY_CONNECTION", Field(b"Proxy-Connection")),
    ("HTTP_REFERER", Field(b"Referer")),
    ("HTTP_COOKIE", Field(b"Cookie")),
    ("HTTP_FORWARDED", Field(b"Forwarded")),
    ("HTTP_HOST", Field(b"Host")),
    ("HTTP_ACCEPT", Field(b"Accept")),
    ("REQUEST_METHOD", Fact(ServerVariable::RequestMethod)),
    ("REQUEST_SCHEME", Fact(ServerVariable::RequestScheme)),
    ("REQUEST_URI", Fact(ServerVariable::RequestUri)),
    ("REQUEST_FILENAME", Fact(ServerVariable::RequestFilename)),
    ("REMOTE_HOST", Fact(ServerVariable::RemoteHost)),
    ("REMOTE_IDENT", Fact(ServerVariable::RemoteIdent)),
    ("REMOTE_USER", Fact(ServerVariable::RemoteUser)),
    ("SERVER_ADMIN", Fact(ServerVariable::ServerAdmin)),
    ("SERVER_NAME", Fact(ServerVariable::ServerName)),
    ("SERVER_PORT", Fact(ServerVariable::ServerPort)),
    ("SERVER_PROTOCOL", Fact(ServerVariable::ServerProtocol)),
    ("SCRIPT_FILENAME", Fact(ServerVariable::RequestFilename)),
    ("PATH_INFO", Fact(ServerVariable::PathInfo)),
    ("QUERY_STRING", Fact(ServerVariable::QueryString)),
    ("IS_SUBREQ", Fact(ServerVariable::IsSubreq)),
    ("DOCUMENT_ROOT", Fact(ServerVariable::DocumentRoot)),
    ("AUTH_TYPE", Fact(ServerVariable::AuthType)),
    ("THE_REQUEST", Fact(ServerVariable::TheRequest)),
    ("CONTENT_TYPE", Fact(ServerVariable::ContentType)),
    ("HANDLER", Fact(ServerVariable::Handler)),
    ("REQUEST_LOG_ID", Fact(ServerVariable::RequestLogId)),
    ("SCRIPT_USER", Fact(ServerVariable::ScriptUser)),
    ("SCRIPT_GROUP", Fact(ServerVariable::ScriptGroup)),
    ("DOCUMENT_URI", Fact(ServerVariable::DocumentUri)),
    ("LAST_MODIFIED", LastModified),
    ("CONTEXT_PREFIX", Fact(ServerVariable::ContextPrefix)),
    ("CONTEXT_DOCUMENT_ROOT", Fact(ServerVariable::ContextDocumentRoot)),
    ("REQUEST_STATUS", Fact(ServerVariable::RequestStatus)),
    ("REMOTE_ADDR", Fact(ServerVariable::RemoteAddr)),
    ("REMOTE_PORT", Fact(ServerVariable::RemotePort)),
    ("HTTPS", Fact(ServerVariable::Https)),
    ("IPV6", Fact(ServerVariable::Ipv6)),
    ("CONN_LOG_ID", Fact(ServerVariable::ConnLogId)),
    ("CONN_REMOTE_ADDR", Fact(ServerVariable::ConnRemoteAddr)),
    ("HTTP2", Fact(ServerVariable::Http2)),
];

/// The functions of the core (`string_func_providers`).
const FUNCTIONS: &[(&str, Function)] = &[
    ("osenv", Function::OsEnv),
    ("env", Function::Env),
    ("resp", Function::ResponseField),
    ("req", Function::RequestField),
    // SSLRequire's old name for the same.
    ("http", Function::RequestField),
    ("note", Function::Note),
    ("reqenv", Function::RequestEnv),
    ("req_novary", Function::RequestFieldUnnoted),
    ("tolower", Function::ToLower),
    ("toupper", Function::ToUpper),
    ("escape", Function::Escape),
    ("unescape", Function::Unescape),
    ("file", Function::File),
    ("filesize", Function::FileSize),
    ("base64", Function::Base64),
    ("unbase64", Function::Unbase64),
    ("sha1", Function::Sha1),
    ("md5", Function::Md5),
    ("ldap", Function::Ldap),
];

/// What mod_include puts in front of the core's functions.
const PAGE_FUNCTIONS: &[&str] = &["v", "reqenv", "env"];

/// One word behind them. `-R` is not here: its word is read when the expression is compiled.
const TESTS: &[(u8, UnaryTest)] = &[
    (b'n', UnaryTest::NotEmpty),
    (b'z', UnaryTest::Empty),
    (b'T', UnaryTest::Truth),
    (b'd', UnaryTest::Directory),
    (b'e', UnaryTest::Exists),
    (b'f', UnaryTest::File),
    (b's', UnaryTest::FileNotEmpty),
    (b'L', UnaryTest::Link),
    (b'h', UnaryTest::Link),
    (b'x', UnaryTest::Executable),
    (b'F', UnaryTest::ReachableFile),
    (b'U', UnaryTest::ReachableUrl),
    (b'A', UnaryTest::ReachableUrl),
];

/// Operators between two words (`binary_op_providers`) whose words may both change.
const GLOBS: &[(&str, Glob)] =
    &[("fnmatch", Glob::Path), ("strmatch", Glob::Text), ("strcmatch", Glob::TextAnyCase)];

/// The word that a variable is.
pub(crate) fn variable(name: &[u8], mode: &Mode) -> Result<Word, String> {
    if let Some(meaning) = find(VARIABLES, name) {
        return Ok(match meaning {
            Fact(variable) => Word::Variable(*variable),
            Field(field_name) => Word::Field(field_name),
            Now(part) => Word::Now(*part),
            LastModified => Word::LastModified,
            ApiVersion => Word::Number(API_VERSION.to_vec()),
        });
    }
    match name {
        [b'S', b'S', b'L', b'_', rest @ ..] if mode.ssl => Ok(Word::Ssl(rest.into())),
        [b'H' | b'h', b'C' | b'c', b'_', ..] if mode.health_check => {
            Ok(health_check_variable(name))
        }
        _ => Err(missing("Variable", "", name)),
    }
}

/// Whatever begins with `HC_` exists, and only the body has a value.
fn health_check_variable(name: &[u8]) -> Word {
    if is(name, "HC_BODY") {
        Word::Variable(ServerVariable::HealthCheckBody)
    } else {
        Word::Nothing
    }
}

/// The function that returns a text.
pub(crate) fn function(name: &[u8], mode: &Mode) -> Result<Function, String> {
    if mode.include && PAGE_FUNCTIONS.iter().any(|known| is(name, known)) {
        return Ok(Function::PageVariable);
    }
    match find(FUNCTIONS, name) {
        Some(Function::File) if mode.restrict != Restrict::Nothing => Err(restricted("file")),
        Some(Function::FileSize) if mode.restrict != Restrict::Nothing => {
            Err(restricted("filesize"))
        }
        Some(function) => Ok(*function),
        None if mode.ssl && name == b"SSL" => Ok(Function::Ssl),
        None if mode.health_check && is(name, "HC") => Ok(Function::HealthCheck),
        None => Err(missing("Function", "", name)),
    }
}

/// Whether the function that returns a list is there; there is only one.
pub(crate) fn list_function(name: &[u8], mode: &Mode) -> Result<(), String> {
    if mode.ssl && name == b"PeerExtList" {
        return Ok(());
    }
    Err(missing("List-returning function", "", name))
}

/// The operator with one word; upper and lower case differ.
pub(crate) fn test(letter: u8, mode: &Mode) -> Result<UnaryTest, String> {
    let Some((_, test)) = TESTS.iter().find(|(known, _)| *known == letter) else {
        return Err(missing("Unary operator", "-", &[letter]));
    };
    if mode.restrict == Restrict::Files && is_about_files(*test) {
        return Err(restricted(&format!("-{}", char::from(letter))));
    }
    Ok(*test)
}

fn is_about_files(test: UnaryTest) -> bool {
    match test {
        UnaryTest::Directory | UnaryTest::Exists | UnaryTest::File | UnaryTest::FileNotEmpty => {
            true
        }
        UnaryTest::Link | UnaryTest::Executable => true,
        // Subrequests pass the access control of what they ask for.
        UnaryTest::ReachableFile | UnaryTest::ReachableUrl => false,
        UnaryTest::NotEmpty | UnaryTest::Empty | UnaryTest::Truth => false,
    }
}

/// The operator between two words, apart from `-ipmatch`.
pub(crate) fn glob(name: &[u8]) -> Result<Glob, String> {
    find(GLOBS, name).copied().ok_or_else(|| missing("Binary operator", "-", name))
}

fn find<'t, T>(table: &'t [(&str, T)], name: &[u8]) -> Option<&'t T> {
    table.iter().find(|(known, _)| is(name, known)).map(|(_, meaning)| meaning)
}

/// Names are the same in upper and lower case.
pub(crate) fn is(name: &[u8], known: &str) -> bool {
    name.eq_ignore_ascii_case(known.as_bytes())
}

fn missing(kind: &str, prefix: &str, name: &[u8]) -> String {
    format!("{kind} '{prefix}{}' does not exist", String::from_utf8_lossy(name))
}

fn restricted(name: &str) -> String {
    format!("{name} not available in restricted context")
}
