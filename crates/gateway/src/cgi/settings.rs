//! The directives of mod_cgi and mod_cgid, and what a place and a host say by them.

use config::args::{self, TimeUnit};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use server::site::builder::Builder;
use server::site::settings::{DirectoryKey, HostKey};
use server::site::store::{Merge, either};
use std::path::PathBuf;

const TIMEOUT: &str =
    "The amount of time to wait between successful reads from the CGI script, in seconds.";

#[rustfmt::skip]
pub(super) static CGI_DIRECTIVES: &[Directive<Builder>] = &[
    row("CGIScriptTimeout", Args::One, Scope::ANY_CONF, "Timeout", TIMEOUT, script_timeout),
];

#[rustfmt::skip]
pub(super) static CGID_DIRECTIVES: &[Directive<Builder>] = &[
    row("ScriptLog", Args::One, Scope::RSRC_CONF, "", "the name of a log for script debugging info", script_log),
    row("ScriptLogLength", Args::One, Scope::RSRC_CONF, "10385760", "the maximum length (in bytes) of the script debug log", script_log_length),
    row("ScriptLogBuffer", Args::One, Scope::RSRC_CONF, "1024", "the maximum size (in bytes) to record of a POST request", script_log_buffer),
    row("ScriptSock", Args::One, Scope::SERVER, "", "the name of the socket to use for communication with the cgi daemon.", script_sock),
    row("CGIDScriptTimeout", Args::One, Scope::ANY_CONF, "Timeout", TIMEOUT, script_timeout_of_daemon),
];

/// httpd's DEFAULT_LOGBYTES and DEFAULT_BUFBYTES.
const LOG_BYTES: i64 = 10_385_760;
const BUFFER_BYTES: usize = 1024;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings: how long a script may be silent, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    timeout_ms: Option<u64>,
    timeout_of_daemon_ms: Option<u64>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self {
            timeout_ms: self.timeout_ms.or(outer.timeout_ms),
            timeout_of_daemon_ms: self.timeout_of_daemon_ms.or(outer.timeout_of_daemon_ms),
        }
    }
}

impl Settings {
    /// For mod_cgid if `of_daemon`, else for mod_cgi; `None` is `Timeout`. Where nobody has said
    /// which of the two there is, either line counts.
    pub(super) fn timeout_ms(&self, of_daemon: bool) -> Option<u64> {
        let (own, other) = match of_daemon {
            true => (self.timeout_of_daemon_ms, self.timeout_ms),
            false => (self.timeout_ms, self.timeout_of_daemon_ms),
        };
        own.or(other).filter(|timeout_ms| *timeout_ms > 0)
    }
}

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// The log for debugging scripts.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    log: Option<PathBuf>,
    length: Option<i64>,
    buffer: Option<usize>,
}

impl Merge for HostSettings {
    /// A host with a log of its own has its own numbers, too (mod_cgi.c, merge_cgi_config).
    fn over(&self, main: &Self) -> Self {
        let own = if self.log.is_some() { self } else { main };
        Self { log: either(self.log.as_ref(), main.log.as_ref()), ..own.clone() }
    }
}

impl HostSettings {
    /// Where it is, and the size from which on it is not written any more.
    pub(super) fn log(&self) -> Option<(PathBuf, i64)> {
        self.log.clone().map(|path| (path, self.length.unwrap_or(LOG_BYTES)))
    }

    /// How much it shows of the body of a request.
    pub(super) fn buffer(&self) -> usize {
        self.buffer.unwrap_or(BUFFER_BYTES)
    }
}

fn milliseconds(call: &Call<'_>) -> Result<Option<u64>, Error> {
    let timeout = args::duration(call, 0, TimeUnit::Second)?;
    Ok(Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)))
}

fn script_timeout(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).timeout_ms = milliseconds(call)?;
    Ok(())
}

fn script_timeout_of_daemon(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).timeout_of_daemon_ms = milliseconds(call)?;
    Ok(())
}

fn script_log(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let path = builder.server_path(call.arg(0));
    HOST_SETTINGS.change(&mut builder.host().modules).log = Some(path);
    Ok(())
}

fn script_log_length(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    HOST_SETTINGS.change(&mut builder.host().modules).length = Some(args::leading(call.arg(0)));
    Ok(())
}

fn script_log_buffer(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let bytes = usize::try_from(args::leading_int(call.arg(0))).unwrap_or(0);
    HOST_SETTINGS.change(&mut builder.host().modules).buffer = Some(bytes);
    Ok(())
}

/// The process that starts scripts is reached by a socket without a name.
fn script_sock(_: &mut Builder, _: &Call<'_>) -> Result<(), Error> {
    Ok(())
}
