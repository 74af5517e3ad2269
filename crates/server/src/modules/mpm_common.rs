//! The numbers that say how many processes, threads and request slots there are. What they mean
//! is decided outside of this crate; here they are only read.

use crate::site::builder::Builder;
use config::args::{self, Unit};
use config::{Args, Call, Directive, Error, Module, Scope};

/// httpd's bounds (mpm_common.c, event.c).
const SERVER_LIMIT_MAX: u64 = 20_000;
const THREAD_LIMIT_MAX: u64 = 100_000;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "mpm_event_module", file: "event.c", directives: DIRECTIVES };

const fn row(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    apply: config::directive::Apply<Builder>,
) -> Directive<Builder> {
    Directive { name, args: Args::One, scope: Scope::SERVER, default, help, apply }
}

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("MaxRequestWorkers", "auto", "Maximum number of threads alive at the same time", max_request_workers),
    row("MaxClients", "auto", "Deprecated name of MaxRequestWorkers", max_request_workers),
    row("ThreadsPerChild", "auto", "Number of threads each child creates", threads_per_child),
    row("ServerLimit", "auto", "Maximum number of child processes for this run of Apache", server_limit),
    row("ThreadLimit", "auto", "Maximum number of worker threads per child process for this run of Apache - Upper limit for ThreadsPerChild", checked_only),
    row("StartServers", "auto", "Number of child processes launched at server startup", checked_only),
    row("ListenBacklog", "511", "Maximum length of the queue of pending connections, as used by listen(2)", listen_backlog),
    row("ListenTCPDeferAccept", "1", "Value set for the socket option TCP_DEFER_ACCEPT if it is set", listen_tcp_defer_accept),
    row("ListenCoresBucketsRatio", "0", "Ratio between the number of CPU cores (online) and the number of listeners buckets", listen_cores_buckets_ratio),
    row("SendBufferSize", "0", "Send buffer size in bytes", buffer_size),
    row("ReceiveBufferSize", "0", "Receive buffer size in bytes", buffer_size),
    row("MaxMemFree", "", "Maximum number of 1k blocks a particular child's allocator may hold.", memory_size),
    row("ThreadStackSize", "", "Size in bytes of stack used by threads handling client connections", memory_size),
    row("CoreDumpDirectory", "", "The location of the directory Apache changes to before dumping core", core_dump_directory),
    row("ScoreBoardFile", "", "A file for Apache to maintain runtime process management information", accept),
    row("GracefulShutdownTimeout", "0", "Maximum time in seconds to wait for child processes to complete transactions during shutdown", graceful_shutdown_timeout),
    row("MinSpareThreads", "auto", "Minimum number of idle threads, to handle request spikes", checked_only),
    row("MaxSpareThreads", "auto", "Maximum number of idle threads", checked_only),
    row("MinSpareServers", "auto", "Minimum number of idle children, to handle request spikes", checked_only),
    row("MaxSpareServers", "auto", "Maximum number of idle children", checked_only),
    row("MaxConnectionsPerChild", "0", "Maximum number of connections a particular child serves before dying.", max_connections_per_child),
    row("MaxRequestsPerChild", "0", "Maximum number of connections a particular child serves before dying. (DEPRECATED, use MaxConnectionsPerChild)", max_connections_per_child),
    row("PidFile", "", "A file for logging the server process ID", pid_file),
    row("AsyncRequestWorkerFactor", "auto", "How many additional connects will be accepted per idle worker thread", async_request_worker_factor),
];

type Done = Result<(), Error>;

/// Accepted without effect: what it would size is sized by the kernel, or does not exist here.
fn accept(_: &mut Builder, _: &Call<'_>) -> Done {
    Ok(())
}

/// A count, or nothing for `auto`. Out of range is clamped with a warning, as in httpd.
fn count(call: &Call<'_>, most: u64) -> Result<Option<usize>, Error> {
    if call.arg(0).eq_ignore_ascii_case("auto") {
        return Ok(None);
    }
    Ok(usize::try_from(args::clamped(call, 0, 1..=most)?).ok())
}

fn max_request_workers(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.max_request_workers = count(call, SERVER_LIMIT_MAX * THREAD_LIMIT_MAX)?;
    Ok(())
}

fn threads_per_child(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.threads_per_child = count(call, THREAD_LIMIT_MAX)?;
    Ok(())
}

fn server_limit(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.server_limit = count(call, SERVER_LIMIT_MAX)?;
    Ok(())
}

/// The number of processes does not vary while serving, so these only have to make sense.
fn checked_only(_: &mut Builder, call: &Call<'_>) -> Done {
    count(call, THREAD_LIMIT_MAX).map(|_| ())
}

fn listen_backlog(builder: &mut Builder, call: &Call<'_>) -> Done {
    // The kernel has a bound of its own.
    builder.server.mpm.listen_backlog = positive(call)?;
    Ok(())
}

/// A number above zero; a larger one than httpd can hold is as large as possible.
fn positive(call: &Call<'_>) -> Result<i32, Error> {
    let number = call.arg(0).parse().ok().filter(|number: &i64| *number > 0);
    let number = number.ok_or_else(|| Error::argument(0, format!("{} must be > 0", call.name)))?;
    Ok(i32::try_from(number).unwrap_or(i32::MAX))
}

/// There is one set of listening sockets, whatever the number of cores.
fn listen_cores_buckets_ratio(_: &mut Builder, call: &Call<'_>) -> Done {
    positive(call).map(|_| ())
}

/// The kernel sizes the buffers of sockets (ap_set_send_buffer_size).
fn buffer_size(_: &mut Builder, call: &Call<'_>) -> Done {
    match args::leading_int(call.arg(0)) {
        0 | 512.. => Ok(()),
        _ => {
            let text = format!("{} must be >= 512 bytes, or 0 for system default.", call.name);
            Err(Error::argument(0, text))
        }
    }
}

/// ap_mpm_set_max_mem_free, ap_mpm_set_thread_stacksize
fn memory_size(_: &mut Builder, call: &Call<'_>) -> Done {
    match args::leading(call.arg(0)) {
        ..0 | i64::MAX => {
            Err(Error::argument(0, format!("Invalid {} value: {}", call.name, call.arg(0))))
        }
        _ => Ok(()),
    }
}

/// ap_mpm_set_coredumpdir. Where a core is written the kernel decides.
fn core_dump_directory(builder: &mut Builder, call: &Call<'_>) -> Done {
    let path = builder.server_path(call.arg(0));
    let fault = match std::fs::metadata(&path) {
        Ok(status) if status.is_dir() => return Ok(()),
        Ok(_) => "is not a directory",
        Err(_) => "does not exist",
    };
    Err(Error::argument(0, format!("CoreDumpDirectory {} {fault}", path.display())))
}

fn listen_tcp_defer_accept(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.listen_tcp_defer_accept_s = positive(call)?.min(3600);
    Ok(())
}

/// A child lives as long as its generation.
fn max_connections_per_child(_: &mut Builder, call: &Call<'_>) -> Done {
    let not_a_number = || Error::argument(0, format!("{} must be a number", call.name));
    let count: i64 = call.arg(0).parse().map_err(|_| not_a_number())?;
    if count != 0 {
        call.warn(None, Error::argument(0, "child processes are not replaced yet: 0 is taken"));
    }
    Ok(())
}

fn pid_file(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.pid_file = Some(builder.server_path(call.arg(0)));
    Ok(())
}

fn graceful_shutdown_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    let timeout = args::duration(call, 0, Unit::Second)?;
    builder.server.mpm.graceful_shutdown_timeout_s =
        u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
    Ok(())
}

fn async_request_worker_factor(builder: &mut Builder, call: &Call<'_>) -> Done {
    if call.arg(0).eq_ignore_ascii_case("auto") {
        builder.server.mpm.async_request_worker_factor = None;
        return Ok(());
    }
    let factor: Result<f64, _> = call.arg(0).parse();
    let factor = factor.map_err(|_| Error::argument(0, "error parsing value"))?;
    if !factor.is_finite() || factor <= 0.0 {
        return Err(Error::argument(
            0,
            "AsyncRequestWorkerFactor argument must be a positive number",
        ));
    }
    builder.server.mpm.async_request_worker_factor = Some(factor);
    Ok(())
}
