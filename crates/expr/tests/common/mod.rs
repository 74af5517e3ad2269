//! One request for all tests, and what its expressions are.

use expr::facts::FILE_MAX_BYTES;
use expr::{
    EvalError, Expr, Facts, FileError, FileKind, FileStatus, Matches, Mode, ServerVariable,
    StringExpr, TimeParts,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};

/// A request for a small site, and what was added to its `Vary`.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) vary: RefCell<String>,
}

const FIELDS: &[(&str, &str)] = &[
    ("SomeHeader", "SomeValue"),
    ("User-Agent", "SomeAgent"),
    ("Referer", "SomeReferer"),
    ("Host", "example.org"),
];

/// Paths and lengths; none is a directory.
const FILES: &[(&str, Option<u64>)] =
    &[("/site/index.html", Some(4)), ("/site/zero", Some(0)), ("/site", None)];

fn find(table: &'static [(&str, &str)], name: &[u8]) -> Option<Cow<'static, [u8]>> {
    let same = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
    table.iter().find(|(known, _)| same(known)).map(|(_, value)| Cow::Borrowed(value.as_bytes()))
}

impl Facts for Request {
    fn variable(&self, variable: ServerVariable) -> Option<Cow<'_, [u8]>> {
        let value: &str = match variable {
            ServerVariable::RequestMethod => "GET",
            ServerVariable::RequestScheme => "http",
            ServerVariable::RequestUri => "/apache/expr/index.html",
            ServerVariable::RemoteAddr => "127.0.0.1",
            ServerVariable::Https => "off",
            ServerVariable::HealthCheckBody => "up",
            _ => return None,
        };
        Some(Cow::Borrowed(value.as_bytes()))
    }

    fn request_field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        find(FIELDS, name)
    }

    fn response_field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        find(&[("Content-Type", "text/plain")], name)
    }

    fn env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        find(&[("both", "env"), ("env", "env")], name)
    }

    fn note(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        find(&[("both", "note"), ("note", "note")], name)
    }

    fn os_env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        find(&[("both", "process"), ("PATH", "/bin")], name)
    }

    fn ssl_variable(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        find(&[("PROTOCOL", "TLSv1.3"), ("SSL_PROTOCOL", "TLSv1.3")], name)
    }

    fn peer_extensions(&self, oid: &[u8]) -> Vec<Cow<'_, [u8]>> {
        if oid == b"1.2.3" { vec![Cow::Borrowed(b"one"), Cow::Borrowed(b"two")] } else { vec![] }
    }

    fn page_variable(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        find(&[("both", "page")], name)
    }

    fn read_file(&self, path: &[u8]) -> Result<Vec<u8>, FileError> {
        match path {
            b"/site/index.html" => Ok(b"foo\n".to_vec()),
            b"/site/largest" => Ok(vec![b'a'; FILE_MAX_BYTES]),
            b"/site/nul" => Ok(b"a\0b".to_vec()),
            b"/site/large" => Err(FileError::TooLarge),
            b"/site" => Err(FileError::Read),
            _ => Err(FileError::Open),
        }
    }

    fn file_status(&self, path: &[u8], follow_links: bool) -> Option<FileStatus> {
        if path == b"/site/link" && !follow_links {
            return Some(FileStatus { kind: FileKind::Link, size: 1, is_executable: true });
        }
        let (_, size) = FILES.iter().find(|(known, _)| known.as_bytes() == path)?;
        let kind = if size.is_some() { FileKind::File } else { FileKind::Directory };
        let is_executable = kind == FileKind::Directory;
        Some(FileStatus { kind, size: size.unwrap_or(4096), is_executable })
    }

    fn is_reachable_url(&self, url: &[u8]) -> bool {
        url == b"/apache/"
    }

    fn is_reachable_file(&self, path: &[u8]) -> bool {
        path == b"/site/index.html"
    }

    fn client_ip(&self) -> Option<IpAddr> {
        Some(Ipv4Addr::LOCALHOST.into())
    }

    fn resolve_host(&self, name: &[u8]) -> Option<IpAddr> {
        (name == b"localhost").then_some(Ipv4Addr::LOCALHOST.into())
    }

    fn now(&self) -> TimeParts {
        TimeParts { year: 2026, month: 3, day: 9, hour: 7, minute: 5, second: 59, weekday: 1 }
    }

    fn vary(&self, field_names: &[Cow<'_, [u8]>]) {
        let names = field_names.iter().map(|name| String::from_utf8_lossy(name).into_owned());
        *self.vary.borrow_mut() = names.collect::<Vec<_>>().join(", ");
    }
}

/// All modules that know names.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn all_modules() -> Mode {
    Mode { ssl: true, health_check: true, ..Mode::default() }
}

/// The value of a condition.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn truth(text: &str, mode: &Mode) -> Result<bool, EvalError> {
    let expr = Expr::parse(text, mode).unwrap_or_else(|error| panic!("{text}: {error}"));
    expr.eval(&Request::default(), &mut Matches::new())
}

/// The value of a text.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn value(text: &str, mode: &Mode) -> Result<String, EvalError> {
    let expr = StringExpr::parse(text, mode).unwrap_or_else(|error| panic!("{text}: {error}"));
    let request = Request::default();
    let value = expr.eval(&request, &mut Matches::new())?;
    Ok(String::from_utf8_lossy(&value).into_owned())
}

/// What is wrong with a condition.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn error(text: &str, mode: &Mode) -> String {
    match Expr::parse(text, mode) {
        Ok(_) => panic!("{text} is an expression"),
        Err(error) => error.to_string(),
    }
}
