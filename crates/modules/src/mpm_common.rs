//! The directives of the MPMs: each fills its field of `MpmSettings` with what was written, under
//! every MPM, so that one file will do for all. What the numbers come to is decided elsewhere.

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope, args};
use runtime::file::{self, FileType};
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::{Count, MpmKind};
use std::os::unix::ffi::OsStrExt;

/// The module and its table. It stands for whichever MPM runs.
pub(crate) static MODULE: Module =
    Module::new("mpm_event_module", "event.c", DIRECTIVES, Hooks::NONE).always();

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("MaxRequestWorkers", Args::One, Scope::SERVER, "256 (prefork), 400 (worker), auto (event, trivet serve)", "Maximum number of threads alive at the same time", max_request_workers),
    row("MaxClients", Args::One, Scope::SERVER, "256 (prefork), 400 (worker), auto (event, trivet serve)", "Deprecated name of MaxRequestWorkers", max_clients),
    row("ThreadsPerChild", Args::One, Scope::SERVER, "25 (worker), auto (event, trivet serve)", "Number of threads each child creates", threads_per_child),
    row("ServerLimit", Args::One, Scope::SERVER, "256 (prefork), 16 (worker), auto (event, trivet serve)", "Maximum number of child processes for this run of Apache", server_limit),
    row("ThreadLimit", Args::One, Scope::SERVER, "64, auto (trivet serve)", "Maximum number of worker threads per child process for this run of Apache - Upper limit for ThreadsPerChild", thread_limit),
    row("StartServers", Args::One, Scope::SERVER, "5 (prefork), 3 (worker), auto (event, trivet serve)", "Number of child processes launched at server startup", start_servers),
    row("ListenBacklog", Args::One, Scope::SERVER, "511", "Maximum length of the queue of pending connections, as used by listen(2)", listen_backlog),
    row("ListenTCPDeferAccept", Args::One, Scope::SERVER, "1", "Value set for the socket option TCP_DEFER_ACCEPT if it is set", listen_tcp_defer_accept),
    row("ListenCoresBucketsRatio", Args::One, Scope::SERVER, "0", "Ratio between the number of CPU cores (online) and the number of listeners buckets", listen_cores_buckets_ratio),
    row("SendBufferSize", Args::One, Scope::SERVER, "0", "Send buffer size in bytes", send_buffer_size),
    row("ReceiveBufferSize", Args::One, Scope::SERVER, "0", "Receive buffer size in bytes", receive_buffer_size),
    row("MaxMemFree", Args::One, Scope::SERVER, "", "Maximum number of 1k blocks a particular child's allocator may hold.", max_mem_free),
    row("ThreadStackSize", Args::One, Scope::SERVER, "", "Size in bytes of stack used by threads handling client connections", thread_stack_size),
    row("CoreDumpDirectory", Args::One, Scope::SERVER, "", "The location of the directory Apache changes to before dumping core", core_dump_directory),
    row("ScoreBoardFile", Args::One, Scope::SERVER, "", "A file for Apache to maintain runtime process management information", accept),
    row("GracefulShutdownTimeout", Args::One, Scope::SERVER, "0", "Maximum time in seconds to wait for child processes to complete transactions during shutdown", graceful_shutdown_timeout),
    row("MinSpareThreads", Args::One, Scope::SERVER, "75 (worker), auto (event, trivet serve)", "Minimum number of idle threads, to handle request spikes", min_spare_threads),
    row("MaxSpareThreads", Args::One, Scope::SERVER, "250 (worker), auto (event, trivet serve)", "Maximum number of idle threads", max_spare_threads),
    row("MinSpareServers", Args::One, Scope::SERVER, "5, auto (trivet serve)", "Minimum number of idle children, to handle request spikes", min_spare_servers),
    row("MaxSpareServers", Args::One, Scope::SERVER, "10, auto (trivet serve)", "Maximum number of idle children", max_spare_servers),
    row("MaxConnectionsPerChild", Args::One, Scope::SERVER, "0", "Maximum number of connections a particular child serves before dying.", max_connections_per_child),
    row("MaxRequestsPerChild", Args::One, Scope::SERVER, "0", "Maximum number of connections a particular child serves before dying. (DEPRECATED, use MaxConnectionsPerChild)", max_connections_per_child),
    row("MaxMemoryPerChild", Args::One, Scope::SERVER, "0", "Private memory, in bytes or with K, M or G, above which a child is replaced", max_memory_per_child),
    row("PidFile", Args::One, Scope::SERVER, "", "A file for logging the server process ID", pid_file),
    row("AsyncRequestWorkerFactor", Args::One, Scope::SERVER, "auto", "How many additional connects will be accepted per idle worker thread", async_request_worker_factor),
];

type Done = Result<(), Error>;

/// Accepted without effect: what it would size is sized by the kernel, or does not exist here.
fn accept(_: &mut Builder, _: &Call<'_>) -> Done {
    Ok(())
}

/// A whole number as `atoi` of C reads it: httpd reads as far as it understands the word.
fn number(call: &Call<'_>) -> i32 {
    let word = call.arg(0);
    let number = args::leading_int(word);
    if word.trim_start().parse() != Ok(number) {
        let text = format!("{} should be a number; {word} is read as {number}", call.name);
        call.warn(None, Error::argument(0, text));
    }
    number
}

/// A number, or `auto`. It is checked when all are known.
fn count(call: &Call<'_>) -> Count {
    match call.arg(0).eq_ignore_ascii_case("auto") {
        true => Count::Auto,
        false => Count::Given(number(call)),
    }
}

/// A number above 0.
fn positive(call: &Call<'_>) -> Result<i32, Error> {
    match number(call) {
        ..1 => Err(Error::argument(0, format!("{} must be > 0", call.name))),
        number => Ok(number),
    }
}

fn unsigned(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn max_request_workers(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.max_request_workers = count(call);
    Ok(())
}

fn max_clients(builder: &mut Builder, call: &Call<'_>) -> Done {
    // Each MPM has its own number for this.
    let id = match builder.server.mpm.kind {
        MpmKind::Prefork => "AH00188",
        MpmKind::Worker => "AH00324",
        MpmKind::Event => "AH00521",
    };
    call.note(Some(id), "MaxClients is deprecated, use MaxRequestWorkers instead.");
    max_request_workers(builder, call)
}

fn threads_per_child(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.threads_per_child = count(call);
    Ok(())
}

fn thread_limit(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.thread_limit = count(call);
    Ok(())
}

fn server_limit(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.server_limit = count(call);
    Ok(())
}

fn start_servers(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.start_servers = count(call);
    Ok(())
}

fn min_spare_threads(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.min_spare_threads = count(call);
    Ok(())
}

fn max_spare_threads(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.max_spare_threads = count(call);
    Ok(())
}

fn min_spare_servers(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.min_spare_servers = count(call);
    Ok(())
}

fn max_spare_servers(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.max_spare_servers = count(call);
    Ok(())
}

fn listen_backlog(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.listen_backlog = positive(call)?;
    Ok(())
}

fn listen_tcp_defer_accept(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.listen_tcp_defer_accept_s = positive(call)?.min(3600);
    Ok(())
}

fn listen_cores_buckets_ratio(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.listen_cores_buckets_ratio = unsigned(positive(call)?);
    Ok(())
}

/// The size of a socket's buffer.
fn buffer_bytes(call: &Call<'_>) -> Result<usize, Error> {
    match number(call) {
        bytes if bytes < 512 && bytes != 0 => {
            let text = format!("{} must be >= 512 bytes, or 0 for system default.", call.name);
            Err(Error::argument(0, text))
        }
        bytes => Ok(unsigned(bytes)),
    }
}

fn send_buffer_size(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.send_buffer_bytes = buffer_bytes(call)?;
    Ok(())
}

fn receive_buffer_size(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.receive_buffer_bytes = buffer_bytes(call)?;
    Ok(())
}

/// A number that is refused when it is negative or beyond what strtol(3) can hold
/// (ap_mpm_set_max_mem_free, ap_mpm_set_thread_stacksize of mpm_common.c).
fn memory_size(call: &Call<'_>) -> Result<usize, Error> {
    match args::leading(call.arg(0)) {
        ..0 | i64::MAX => {
            Err(Error::argument(0, format!("Invalid {} value: {}", call.name, call.arg(0))))
        }
        size => Ok(usize::try_from(size).unwrap_or(usize::MAX)),
    }
}

/// Memory is given back as the allocator sees fit.
fn max_mem_free(_: &mut Builder, call: &Call<'_>) -> Done {
    memory_size(call).map(|_| ())
}

fn thread_stack_size(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.thread_stack_bytes = memory_size(call)?;
    Ok(())
}

/// A child that crashes leaves its memory there, so that the folder must be there at the start.
fn core_dump_directory(builder: &mut Builder, call: &Call<'_>) -> Done {
    let path = builder.server_path(call.arg(0));
    let wrong = match file::facts(path.as_os_str().as_bytes(), true) {
        Ok((FileType::Directory, ..)) => {
            builder.server.mpm.core_dump_directory = Some(path);
            return Ok(());
        }
        Ok(_) => "is not a directory",
        Err(_) => "does not exist",
    };
    Err(Error::argument(0, format!("CoreDumpDirectory {} {wrong}", path.display())))
}

/// 0 is never, and so is what is below.
fn max_connections_per_child(builder: &mut Builder, call: &Call<'_>) -> Done {
    if call.name.eq_ignore_ascii_case("MaxRequestsPerChild") {
        let text = "MaxRequestsPerChild is deprecated, use MaxConnectionsPerChild instead.";
        call.note(Some("AH00545"), text);
    }
    builder.server.mpm.max_connections_per_child = u64::try_from(number(call)).unwrap_or(0);
    Ok(())
}

fn max_memory_per_child(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.max_memory_per_child_bytes = args::bytes(call, 0)?;
    Ok(())
}

fn pid_file(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.pid_file = Some(builder.server_path(call.arg(0)));
    Ok(())
}

/// Below 0 httpd does not wait at all; here that is the shortest time.
fn graceful_shutdown_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.mpm.graceful_shutdown_timeout_s = u32::try_from(number(call)).unwrap_or(1);
    Ok(())
}

fn async_request_worker_factor(builder: &mut Builder, call: &Call<'_>) -> Done {
    if call.arg(0).eq_ignore_ascii_case("auto") {
        builder.server.mpm.async_request_worker_factor = None;
        return Ok(());
    }
    let factor: f64 = call.arg(0).parse().map_err(|_| Error::argument(0, "error parsing value"))?;
    if !factor.is_finite() || factor <= 0.0 {
        let text = "AsyncRequestWorkerFactor argument must be a positive number";
        return Err(Error::argument(0, text));
    }
    builder.server.mpm.async_request_worker_factor = Some(factor.max(1.0));
    Ok(())
}
