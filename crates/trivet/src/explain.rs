//! `trivet explain`: what a server would do with a request, step by step. It reads the
//! configuration as the server does and has the real pipeline decide, but listens nowhere, writes
//! to no log, and asks neither programs nor backends.

mod configuration;
mod json;
mod print;
mod target;

use crate::problem::{Problem, complain, say};
use configuration::ConfigurationOptions;
use lexopt::prelude::{Long, Short, Value, ValueExt};
use runtime::{ServiceManager, process};
use server::explain::{AskedRequest, basic_credentials, explain};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use target::AskedUrl;

/// What the command line says about the request.
#[derive(Default)]
struct RequestOptions {
    method: Option<String>,
    /// `Name: value`, in order.
    fields: Vec<String>,
    /// `name:password`
    user: Option<String>,
    client: Option<IpAddr>,
    is_json: bool,
}

/// The port that clients come from when nobody cares.
const CLIENT_PORT: u16 = 49152;

/// Explain a request; the result is the exit code.
pub(crate) fn run(parser: lexopt::Parser, _: ServiceManager) -> Result<i32, Problem> {
    let Some((options, url, configuration)) = parse(parser)? else {
        say(crate::help::EXPLAIN);
        return Ok(0);
    };
    let url = AskedUrl::parse(&url).map_err(Problem::Usage)?;
    let opened = configuration.open()?;
    if !opened.report.is_empty() {
        complain(&opened.report);
    }
    let (local, is_listening) = url.local(opened.server.listen());
    let client = options.client.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let head = head(&options, &url)?;
    let asked = AskedRequest { head, client: SocketAddr::new(client, CLIENT_PORT), local };
    // What may be read decides, so it is asked as the user whose processes answer.
    let user = opened.server.user().filter(|_| process::is_root()).cloned();
    if let Some(user) = &user {
        let failed = |error| format!("cannot become user {}: {error}", user.name);
        process::become_user(user).map_err(|error| Problem::Failed(failed(error)))?;
    }
    let explanation = explain(Arc::new(opened.server), &asked)
        .map_err(|error| Problem::Failed(format!("cannot explain it: {error}")))?;
    let user = user.map(|user| user.name);
    let facts = print::Facts { of: &opened.name, user: user.as_deref(), local, is_listening };
    match options.is_json {
        true => say(&json::text(&asked, &explanation)),
        false => say(&print::text(&facts, &asked, &explanation)),
    }
    Ok(0)
}

/// The options, the URL, and the configuration; `None` if help is wanted.
fn parse(
    mut parser: lexopt::Parser,
) -> Result<Option<(RequestOptions, String, ConfigurationOptions)>, Problem> {
    let (mut options, mut configuration) = <(RequestOptions, ConfigurationOptions)>::default();
    let mut url = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => return Ok(None),
            Long("method") | Short('X') => options.method = Some(parser.value()?.string()?),
            Long("header") | Short('H') => options.fields.push(parser.value()?.string()?),
            Long("user") | Short('u') => options.user = Some(parser.value()?.string()?),
            Long("from") => options.client = Some(address(&parser.value()?.string()?)?),
            Long("json") => options.is_json = true,
            Long("php") => configuration.php = Some(parser.value()?.string()?),
            Long("config") => configuration.served = Some(PathBuf::from(parser.value()?)),
            Short('f') => configuration.file = Some(parser.value()?.string()?),
            Short('d') => configuration.root = Some(parser.value()?.string()?),
            Short('D') => configuration.defines.push(parser.value()?.string()?),
            Short('C') => configuration.before.push(parser.value()?.string()?),
            Short('c') => configuration.lines.push(parser.value()?.string()?),
            Value(word) if url.is_none() => url = Some(word.string()?),
            Value(word) if configuration.folder.is_none() => {
                configuration.folder = Some(PathBuf::from(word));
            }
            Value(word) => {
                let text = "trivet explain takes a URL and at most one folder";
                let word = word.to_string_lossy();
                return Err(Problem::Usage(format!("{text}: '{word}' is one too many")));
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let url = url.ok_or_else(|| Problem::Usage("trivet explain needs a URL".into()))?;
    Ok(Some((options, url, configuration)))
}

fn address(text: &str) -> Result<IpAddr, Problem> {
    text.parse().map_err(|_| Problem::Usage(format!("--from {text} is no IP address")))
}

/// The head of the request.
fn head(options: &RequestOptions, url: &AskedUrl) -> Result<Vec<u8>, Problem> {
    let method = options.method.as_deref().unwrap_or("GET");
    let mut texts = options.fields.iter().map(String::as_str).chain([method]);
    if texts.any(|text| text.contains(char::is_control)) {
        return Err(Problem::Usage("a method, a URL or a header is one line".into()));
    }
    let mut head = format!("{method} {} HTTP/1.1\r\n", url.target);
    let mut has_host = false;
    for field in &options.fields {
        let Some((name, value)) = field.split_once(':') else {
            let text = format!("--header '{field}' is none: write 'Name: value'");
            return Err(Problem::Usage(text));
        };
        has_host |= name.eq_ignore_ascii_case("host");
        head.push_str(&format!("{name}: {}\r\n", value.trim()));
    }
    if !has_host {
        head.push_str(&format!("Host: {}\r\n", url.host_field()));
    }
    if let Some(user) = &options.user {
        head.push_str(&format!("Authorization: {}\r\n", basic_credentials(user)));
    }
    Ok((head + "\r\n").into_bytes())
}
