//! `trivet serve`: a folder without any configuration, or a configuration file, in the foreground.

#![expect(clippy::disallowed_methods, reason = "names of the command line, before it serves")]

use crate::php;
use crate::problem::{Problem, complain, say, suggestion};
use lexopt::prelude::{Long, Short, Value, ValueExt};
use modules::Serve;
use mpm::Started;
use runtime::{ServiceManager, os_error};
use server::{Machine, MpmKind, MpmSettings, Server, SizingWarning};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What the command line asked for.
enum ServeCommand {
    /// Serve; the line for the banner says what runs scripts.
    Serve(Serve, Option<String>),
    /// The help, as a whole or about a topic.
    Help(Option<String>),
}

/// Serve until a signal ends it; the result is the exit code.
pub(crate) fn run(parser: lexopt::Parser, manager: ServiceManager) -> Result<i32, Problem> {
    let (serve, php) = match parse(parser)? {
        ServeCommand::Serve(serve, php) => (serve, php),
        ServeCommand::Help(topic) => {
            say(&crate::help::about_serve(topic.as_deref())?);
            return Ok(0);
        }
    };
    runtime::signals::Signals::hold();
    let (first, report) = serve.open().map_err(Problem::Failed)?;
    warn(&report.text);
    warn(&sizes(first.mpm()));
    check_readable(&first)?;
    runtime::process::raise_descriptor_limit();
    let loader = |_| serve.open().map(|(server, _)| server);
    let folder = match &serve.file {
        Some(_) if first.document_root().exists() => first.document_root().to_owned(),
        Some(file) => file.clone(), // its hosts have folders of their own
        None => serve.folder.clone(),
    };
    let started = move |started: &Started| say(&banner(&folder, php.as_deref(), started));
    mpm::run(first, &loader, is_at_terminal(), manager, started)
        .map_err(|failure| Problem::Failed(failure.to_string()))
}

/// What had to be changed to make the numbers of the configuration fit.
pub(crate) fn sizes(settings: &MpmSettings) -> String {
    let (_, warnings) = settings.sizing(&Machine::here());
    warnings.iter().map(SizingWarning::line).collect()
}

fn warn(text: &str) {
    if !text.is_empty() {
        complain(text);
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<ServeCommand, Problem> {
    let mut serve = Serve { prints_requests: std::io::stdout().is_terminal(), ..Serve::default() };
    let (mut folder, mut php) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => return help_topic(parser).map(ServeCommand::Help),
            Long("listen") => serve.listen.push(parse_listen(&parser.value()?.string()?)?),
            Long("config") => serve.file = Some(PathBuf::from(parser.value()?)),
            Long("php") => php = php::parse(&parser.value()?.string()?)?,
            Long("mpm") => serve.mpm = Some(parse_mpm(&parser.value()?.string()?)?),
            Short('c') => serve.directives.push(parser.value()?.string()?),
            Value(value) if folder.is_none() => folder = Some(PathBuf::from(value)),
            other => return Err(misunderstood(&other)),
        }
    }
    serve.php = php.as_ref().and_then(|runner: &php::Runner| runner.php.clone());
    if let Some(file) = &mut serve.file {
        if php.is_some() {
            let text = "--php and --config exclude each other: the file says how scripts are run";
            return Err(Problem::Usage(text.into()));
        }
        if folder.is_some() {
            let text = "a folder and --config exclude each other: the file says what is served";
            return Err(Problem::Usage(text.into()));
        }
        *file = canonical_file(file)?;
        serve.prints_requests = false;
        return Ok(ServeCommand::Serve(serve, None));
    }
    let folder = folder.unwrap_or_else(|| PathBuf::from("."));
    serve.folder = canonical_folder(&folder)?;
    Ok(ServeCommand::Serve(serve, php.map(|runner| runner.shown)))
}

/// The whole path of a configuration file.
pub(crate) fn canonical_file(file: &Path) -> Result<PathBuf, Problem> {
    file.canonicalize().map_err(|error| file_problem(file, &error))
}

/// The whole path of a folder to be served.
pub(crate) fn canonical_folder(folder: &Path) -> Result<PathBuf, Problem> {
    let whole = folder.canonicalize().map_err(|error| folder_problem(folder, &error))?;
    if !whole.is_dir() {
        let text = format!("cannot serve {}: it is not a folder", folder.display());
        return Err(Problem::Failed(text));
    }
    Ok(whole)
}

/// Options that only `trivet serve` has.
const OWN: &[&str] = &["listen", "config", "php", "mpm"];

/// Options of other servers, and what is meant by them here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["-p", "-b", "-l", "-a", "--port", "--bind", "--host", "--address"], "--listen ADDR:PORT"),
    (&["-d", "-t", "-S", "--dir", "--directory", "--root", "--docroot"], "trivet serve DIR"),
    (&["-f", "--conf", "--configuration"], "--config FILE"),
    (&["-e", "--directive"], "-c 'LINE'"),
];

/// An option that there is not, and the one that may be meant.
fn misunderstood(argument: &lexopt::Arg<'_>) -> Problem {
    let option = match argument {
        Long(name) => format!("--{name}"),
        Short(letter) => format!("-{letter}"),
        Value(value) => {
            let value = value.to_string_lossy();
            return Problem::Usage(format!(
                "trivet serve takes one folder: '{value}' is one too many"
            ));
        }
    };
    let known: Vec<String> = OWN.iter().map(|name| format!("--{name}")).collect();
    let meant = ELSEWHERE.iter().find(|(names, _)| names.contains(&option.as_str()));
    let hint = match meant {
        Some((_, instead)) => format!(": write {instead}"),
        None => suggestion(&option, known.iter().map(String::as_str).chain(["--help"])),
    };
    Problem::Usage(format!("trivet serve has no option '{option}'{hint}"))
}

/// Whether only `trivet serve` has this option.
pub(crate) fn has_option(name: &str) -> bool {
    OWN.contains(&name)
}

/// `--help TOPIC` or `--help=TOPIC`.
fn help_topic(mut parser: lexopt::Parser) -> Result<Option<String>, Problem> {
    if let Some(topic) = parser.optional_value() {
        return Ok(Some(topic.string()?));
    }
    match parser.next()? {
        Some(Value(topic)) => Ok(Some(topic.string()?)),
        _ => Ok(None),
    }
}

fn folder_problem(folder: &Path, error: &std::io::Error) -> Problem {
    let advice = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such folder".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => os_error::text(error),
    };
    Problem::Failed(format!("cannot serve {}: {advice}", folder.display()))
}

/// In httpd's words.
fn file_problem(file: &Path, error: &std::io::Error) -> Problem {
    let reason = os_error::text(error);
    Problem::Failed(format!("Could not open configuration file {}: {reason}", file.display()))
}

/// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `8080`.
fn parse_listen(text: &str) -> Result<SocketAddr, Problem> {
    let full = match text.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.replace("localhost:", "127.0.0.1:"),
    };
    full.parse().map_err(|_| {
        Problem::Usage(format!(
            "--listen {text} is not an address: write 127.0.0.1:8080, [::1]:8080 or a port"
        ))
    })
}

fn parse_mpm(name: &str) -> Result<MpmKind, Problem> {
    MpmKind::parse(name).ok_or_else(|| {
        let known: Vec<&str> = MpmKind::names().collect();
        Problem::Usage(format!("--mpm {name} is unknown; choose one of: {}", known.join(", ")))
    })
}

/// A person at a terminal resizes its window, which sends the signal of a graceful stop.
fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal()
}

/// Children run as somebody else than root: find out now whether they can read the folder, rather
/// than answer every request with 403.
fn check_readable(server: &Server) -> Result<(), Problem> {
    // Hosts of a file may have folders of their own; that there is none is told as httpd does it.
    if !server.document_root().exists() {
        return Ok(());
    }
    mpm::probe(server).map_err(|reason| {
        let folder = server.document_root().display().to_string();
        Problem::Failed(format!("cannot serve {folder}: {reason}"))
    })
}

/// An address at which this machine reaches a listener: `0.0.0.0` is none that a browser opens.
fn from_here(mut address: SocketAddr) -> SocketAddr {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    match address.ip().to_canonical() {
        IpAddr::V4(any) if any.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(any) if any.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

fn banner(folder: &Path, php: Option<&str>, started: &Started) -> String {
    let mut text = String::new();
    for address in &started.addresses {
        let open = from_here(*address);
        let folder = folder.display();
        text.push_str(&format!("Trivet serves {folder} at http://{open}/{}\n", {
            if open == *address { "" } else { ", and at every other address of this machine" }
        }));
    }
    let pids: Vec<String> = started.pids.iter().map(ToString::to_string).collect();
    let layout = started.layout;
    text.push_str(&format!(
        "MPM {}: parent {}, {} child process{} ({}), {} loop thread{} each, {}{} request slots\n",
        layout.kind.name(),
        std::process::id(),
        pids.len(),
        if pids.len() == 1 { "" } else { "es" },
        pids.join(", "),
        layout.threads,
        if layout.threads == 1 { "" } else { "s" },
        if layout.revised.is_some() { "up to " } else { "" },
        layout.workers_max(),
    ));
    if let Some(php) = php {
        text.push_str(&format!("{php}\n"));
    }
    text.push_str("Ctrl-C ends it.\n");
    text
}
