//! The names in `%{...}` (lookup_variable of mod_rewrite.c). What each is for a request is found
//! out in `expand`.

use expr::ServerVariable;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// One that expressions know as well.
    Server(ServerVariable),
    /// A field of the request, which `Vary` names.
    Field(Box<str>),
    /// `ENV:name`: a note, a variable of the request or one of the server's process.
    Env(Box<str>),
    /// `LA-U:variable`: of the request that the URL leads to as it is now.
    LookAheadUrl(Ahead),
    /// `LA-F:variable`: the same for the URL as a file name.
    LookAheadFile(Ahead),
    /// `SERVER_ADDR`
    LocalAddress,
    /// `API_VERSION`
    ApiVersion,
    /// `TIME`, and its parts.
    Time(TimePart),
    /// Any other: it is empty.
    Empty,
}

/// A variable of a request to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// As it was written, or in capitals if it has no prefix: so httpd shows it.
    pub(crate) name: Box<str>,
    pub(crate) variable: Box<Variable>,
}

impl Ahead {
    fn parse(name: &str) -> Self {
        let has_prefix = [3, 4].iter().any(|at| name.as_bytes().get(*at) == Some(&b':'));
        let shown = if has_prefix { name.to_owned() } else { name.to_ascii_uppercase() };
        Self { name: shown.into(), variable: Box::new(Variable::parse(name)) }
    }
}

/// Parts of the local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimePart {
    /// `YYYYMMDDhhmmss`
    All,
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    /// 0 is Sunday.
    WeekDay,
}

/// Names of fields that have a variable of their own.
const FIELDS: &[(&str, &str)] = &[
    ("HTTP_ACCEPT", "Accept"),
    ("HTTP_COOKIE", "Cookie"),
    ("HTTP_FORWARDED", "Forwarded"),
    ("HTTP_HOST", "Host"),
    ("HTTP_PROXY_CONNECTION", "Proxy-Connection"),
    ("HTTP_REFERER", "Referer"),
    ("HTTP_USER_AGENT", "User-Agent"),
];

const SERVER: &[(&str, ServerVariable)] = &[
    ("AUTH_TYPE", ServerVariable::AuthType),
    ("CONN_REMOTE_ADDR", ServerVariable::ConnRemoteAddr),
    ("CONTEXT_DOCUMENT_ROOT", ServerVariable::ContextDocumentRoot),
    ("CONTEXT_PREFIX", ServerVariable::ContextPrefix),
    ("DOCUMENT_ROOT", ServerVariable::DocumentRoot),
    ("HTTPS", ServerVariable::Https),
    ("IPV6", ServerVariable::Ipv6),
    ("IS_SUBREQ", ServerVariable::IsSubreq),
    ("PATH_INFO", ServerVariable::PathInfo),
    ("QUERY_STRING", ServerVariable::QueryString),
    ("REMOTE_ADDR", ServerVariable::RemoteAddr),
    ("REMOTE_HOST", ServerVariable::RemoteHost),
    ("REMOTE_IDENT", ServerVariable::RemoteIdent),
    ("REMOTE_PORT", ServerVariable::RemotePort),
    ("REMOTE_USER", ServerVariable::RemoteUser),
    ("REQUEST_FILENAME", ServerVariable::RequestFilename),
    ("REQUEST_METHOD", ServerVariable::RequestMethod),
    ("REQUEST_SCHEME", ServerVariable::RequestScheme),
    ("REQUEST_URI", ServerVariable::RequestUri),
    ("SCRIPT_FILENAME", ServerVariable::RequestFilename),
    ("SCRIPT_GROUP", ServerVariable::ScriptGroup),
    ("SCRIPT_USER", ServerVariable::ScriptUser),
    ("SERVER_ADMIN", ServerVariable::ServerAdmin),
    ("SERVER_NAME", ServerVariable::ServerName),
    ("SERVER_PORT", ServerVariable::ServerPort),
    ("SERVER_PROTOCOL", ServerVariable::ServerProtocol),
    ("SERVER_SOFTWARE", ServerVariable::ServerSoftware),
    ("THE_REQUEST", ServerVariable::TheRequest),
];

const TIMES: &[(&str, TimePart)] = &[
    ("TIME", TimePart::All),
    ("TIME_DAY", TimePart::Day),
    ("TIME_HOUR", TimePart::Hour),
    ("TIME_MIN", TimePart::Minute),
    ("TIME_MON", TimePart::Month),
    ("TIME_SEC", TimePart::Second),
    ("TIME_WDAY", TimePart::WeekDay),
    ("TIME_YEAR", TimePart::Year),
];

impl Variable {
    /// What `name`, without its brackets, stands for; case does not matter.
    pub(crate) fn parse(name: &str) -> Self {
        if let Some((kind, rest)) = name.split_once(':')
            && !rest.is_empty()
            && let Some(prefixed) = Self::with_prefix(kind, rest)
        {
            return prefixed;
        }
        let upper = name.to_ascii_uppercase();
        let find = |row: &&(&str, _)| row.0 == upper;
        if let Some(row) = SERVER.iter().find(|row| row.0 == upper) {
            return Self::Server(row.1);
        }
        if let Some(row) = FIELDS.iter().find(|row| row.0 == upper) {
            return Self::Field(row.1.into());
        }
        if let Some(row) = TIMES.iter().find(find) {
            return Self::Time(row.1);
        }
        match upper.as_str() {
            "SERVER_ADDR" => Self::LocalAddress,
            "API_VERSION" => Self::ApiVersion,
            _ => Self::Empty,
        }
    }

    fn with_prefix(kind: &str, rest: &str) -> Option<Self> {
        Some(match kind.to_ascii_uppercase().as_str() {
            "ENV" => Self::Env(rest.into()),
            "HTTP" => Self::Field(rest.into()),
            "LA-U" => Self::LookAheadUrl(Ahead::parse(rest)),
            "LA-F" => Self::LookAheadFile(Ahead::parse(rest)),
            _ => return None,
        })
    }

    /// Whether finding it out may have to wait for the look-up of another URL.
    pub(crate) fn looks_ahead(&self) -> bool {
        matches!(self, Self::LookAheadUrl(_) | Self::LookAheadFile(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_case_and_unknown_ones_are_empty() {
        let table = [
            ("request_uri", Variable::Server(ServerVariable::RequestUri)),
            ("HTTP_HOST", Variable::Field("Host".into())),
            ("http:X-Up", Variable::Field("X-Up".into())),
            ("env:A", Variable::Env("A".into())),
            ("ENV:A:B", Variable::Env("A:B".into())),
            ("TIME_YEAR", Variable::Time(TimePart::Year)),
            ("Server_Addr", Variable::LocalAddress),
            ("SSL:SSL_PROTOCOL", Variable::Empty),
            ("HTTP:", Variable::Empty),
            ("NO", Variable::Empty),
            ("", Variable::Empty),
        ];
        for (name, expected) in table {
            assert_eq!(Variable::parse(name), expected, "{name}");
        }
        let ahead = Variable::parse("LA-U:LA-F:REMOTE_USER");
        let file = Variable::LookAheadFile(Ahead::parse("REMOTE_USER"));
        let (name, variable) = ("LA-F:REMOTE_USER".into(), Box::new(file));
        assert_eq!(ahead, Variable::LookAheadUrl(Ahead { name, variable }));
        assert!(ahead.looks_ahead());
    }
}
