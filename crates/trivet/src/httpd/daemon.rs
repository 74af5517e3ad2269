//! Starting the server that `httpd` is: in the background unless something keeps it in front.

use crate::httpd::options::HttpdOptions;
use crate::problem::Problem;
use modules::{Configured, Httpd};
use mpm::{HeapFiller, Reload};
use runtime::ServiceManager;
use runtime::daemon::{self, DetachSide, StartReport};
use runtime::signals::Signals;
use server::{MpmKind, Server};
use std::cell::RefCell;
use std::io::IsTerminal;

/// Whether the server stays in the foreground, and with how many processes it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Manner {
    /// The server stays in the foreground.
    is_in_front: bool,
    /// One process serves everything. It is still not the one that was started: that one never
    /// serves.
    is_alone: bool,
}

impl Manner {
    /// What the names after `-D` ask for (event_pre_config of httpd's event.c).
    fn of(options: &HttpdOptions) -> Self {
        let asks = |names: &[&str]| names.iter().any(|name| options.is_defined(name));
        let is_alone = asks(&["ONE_PROCESS", "DEBUG"]);
        Self { is_in_front: is_alone || asks(&["FOREGROUND", "NO_DETACH"]), is_alone }
    }
}

/// Start the server; the result is the exit code. The process that was started ends with 0 as soon
/// as the children serve.
///
/// # Errors
/// What keeps the server from starting.
pub(crate) fn start(
    options: &HttpdOptions,
    httpd: &Httpd,
    configured: Configured,
    manager: ServiceManager,
) -> Result<i32, Problem> {
    let manner = Manner::of(options);
    if manner.is_in_front {
        return serve(httpd, (configured, manager), manner, None).map_err(Problem::Plain);
    }
    match daemon::detach().map_err(|error| Problem::Failed(format!("cannot detach: {error}")))? {
        DetachSide::Launcher(launcher) => {
            // It belongs to the daemon; this process only waits.
            std::mem::forget(configured);
            let ended = "the server ended before it was ready";
            match launcher.wait() {
                Ok(()) => Ok(0),
                Err(text) if text.is_empty() => Err(Problem::Failed(ended.into())),
                Err(text) => Err(Problem::Plain(text)),
            }
        }
        DetachSide::Daemon(report) => {
            serve(httpd, (configured, manager), manner, Some(report)).or(Ok(1))
        }
    }
}

fn serve(
    httpd: &Httpd,
    given: (Configured, ServiceManager),
    manner: Manner,
    report: Option<StartReport>,
) -> Result<i32, String> {
    // In the background the caller waits for a word whatever happens, in front it prints it.
    let report = RefCell::new(report);
    let result = run(httpd, given, manner, &report);
    if let (Err(text), Some(report)) = (&result, report.take()) {
        report.fails(text);
    }
    result
}

fn run(
    httpd: &Httpd,
    (configured, manager): (Configured, ServiceManager),
    manner: Manner,
    report: &RefCell<Option<StartReport>>,
) -> Result<i32, String> {
    Signals::hold();
    let has_many_children = configured.mpm().kind == MpmKind::Prefork;
    let _filler = has_many_children.then(HeapFiller::take);
    let first = configured.open(manner.is_alone)?;
    runtime::process::raise_descriptor_limit();
    let is_background = report.borrow().is_some();
    if is_background {
        show_errors_in_log(&configured);
    }
    first.repeat(&configured.repeated());
    for warning in configured.mpm().sizing(&server::Machine::here()).1 {
        first.warn(warning.id_again, &warning.text_again);
    }
    let present = RefCell::new(configured);
    let loader = |reload: Reload| -> Result<Server, String> {
        if reload == Reload::Logs {
            let server = present.borrow().open(manner.is_alone)?;
            if is_background {
                show_errors_in_log(&present.borrow());
            }
            return Ok(server);
        }
        let configured = Configured::read(httpd).map_err(|refused| refused.text)?;
        let server = configured.open(manner.is_alone)?;
        if is_background {
            show_errors_in_log(&configured);
        }
        server.repeat(&configured.repeated());
        present.replace(configured);
        Ok(server)
    };
    let started = |_: &mpm::Started| {
        if let Some(report) = report.take() {
            report.serves();
        }
    };
    mpm::run(first, &loader, !is_background && is_at_terminal(), manager, started)
        .map_err(|failure| failure.httpd_text())
}

/// Standard error goes to the error log, as in httpd: a program that a child runs may complain.
fn show_errors_in_log(configured: &Configured) {
    let log = &configured.facts.error_log;
    if log.is_absolute() {
        // The log itself has just been opened; should this fail only such complaints are lost.
        let _ = daemon::standard_error_to(log);
    }
}

/// A person at a terminal resizes its window, which sends the signal of a graceful stop.
fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() || std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_the_server_in_front() {
        for (name, is_in_front, is_alone) in [
            ("FOREGROUND", true, false),
            ("NO_DETACH", true, false),
            ("ONE_PROCESS", true, true),
            ("DEBUG", true, true),
            ("SOMETHING", false, false),
        ] {
            let options = HttpdOptions { defines: vec![name.into()], ..HttpdOptions::default() };
            assert_eq!(Manner::of(&options), Manner { is_in_front, is_alone }, "{name}");
        }
    }
}
