//! The directives of mod_fcgid 2.3.9, as its table has them (mod_fcgid.c, fcgid_cmds), and what a
//! line means (fcgid_conf.c). What comes of all lines together is in `settings.rs`.

use super::settings::{CmdOptions, HostSettings, Wrapper};
use super::{HOST_SETTINGS, SERVER_SETTINGS, SETTINGS};
use config::args::{leading_int, read_number};
use config::directive::row;
use config::lexer::LineWords;
use config::{Args, Call, Directive, Error, Scope};
use logging::target;
use runtime::{file, os_error};
use server::site::builder::Builder;
use std::sync::Arc;

type Done = Result<(), Error>;

/// Longest path of a program and longest command line (fcgid_global.h).
const PATH_BYTES_MAX: usize = 256;
const COMMAND_BYTES_MAX: usize = PATH_BYTES_MAX + 256;

/// `FcgidCmdOptions` has room for so many variables (fcgid_conf.h, INITENV_CNT).
const VARIABLES_MAX: usize = 64;

#[rustfmt::skip]
pub(super) static DIRECTIVES: &[Directive<Builder>] = &[
    row("FcgidAccessChecker", Args::One, Scope::OR_FILEINFO, "", "a absolute access checker file path", guard),
    row("FcgidAccessCheckerAuthoritative", Args::Flag, Scope::OR_FILEINFO, "On", "Set to 'off' to allow access control to be passed along to lower modules upon failure", nothing),
    row("FcgidAuthenticator", Args::One, Scope::OR_FILEINFO, "", "a absolute authenticator file path", guard),
    row("FcgidAuthenticatorAuthoritative", Args::Flag, Scope::OR_FILEINFO, "On", "Set to 'off' to allow authentication to be passed along to lower modules upon failure", nothing),
    row("FcgidAuthorizer", Args::One, Scope::OR_FILEINFO, "", "a absolute authorizer file path", guard),
    row("FcgidAuthorizerAuthoritative", Args::Flag, Scope::OR_FILEINFO, "On", "Set to 'off' to allow authorization to be passed along to lower modules upon failure", nothing),
    row("FcgidBusyScanInterval", Args::One, Scope::SERVER, "120", "scan interval for busy timeout process", interval),
    row("FcgidBusyTimeout", Args::One, Scope::RSRC_CONF, "300", "a fastcgi application will be killed after handling a request for BusyTimeout", busy_timeout),
    row("FcgidCmdOptions", Args::Raw, Scope::RSRC_CONF, "", "set processing options for a FastCGI command", command_options),
    row("FcgidInitialEnv", Args::OneOrTwo, Scope::RSRC_CONF, "", "an environment variable name and optional value to pass to FastCGI.", initial_env),
    row("FcgidMaxProcessesPerClass", Args::One, Scope::RSRC_CONF, "100", "Max process count of one class of fastcgi application", class_max),
    row("FcgidMinProcessesPerClass", Args::One, Scope::RSRC_CONF, "3", "Min process count of one class of fastcgi application", class_min),
    row("FcgidErrorScanInterval", Args::One, Scope::SERVER, "3", "scan interval for exited process", interval),
    row("FcgidIdleScanInterval", Args::One, Scope::SERVER, "120", "scan interval for idle timeout process", interval),
    row("FcgidIdleTimeout", Args::One, Scope::RSRC_CONF, "300", "an idle fastcgi application will be killed after IdleTimeout", idle_timeout),
    row("FcgidIOTimeout", Args::One, Scope::RSRC_CONF, "40", "Communication timeout to fastcgi server", io_timeout),
    row("FcgidConnectTimeout", Args::One, Scope::RSRC_CONF, "64", "Connect timeout to fastcgi server", connect_timeout),
    row("FcgidMaxProcesses", Args::One, Scope::SERVER, "chosen by memory and cores", "Max total process count", processes_max),
    row("FcgidMaxRequestInMem", Args::One, Scope::RSRC_CONF, "65536", "The part of HTTP request which greater than this limit will swap to disk", request_in_memory),
    row("FcgidMaxRequestLen", Args::One, Scope::RSRC_CONF, "unlimited", "Max HTTP request length in byte", request_max),
    row("FcgidMaxRequestsPerProcess", Args::One, Scope::RSRC_CONF, "0", "Max requests handled by each fastcgi application", requests_max),
    row("FcgidOutputBufferSize", Args::One, Scope::RSRC_CONF, "65536", "CGI output buffer size", interval),
    row("FcgidPassHeader", Args::One, Scope::RSRC_CONF, "", "Header name which will be passed to FastCGI as environment variable.", pass_header),
    row("FcgidFixPathinfo", Args::One, Scope::SERVER, "0", "Set 1, if cgi.fix_pathinfo=1 in php.ini", fix_pathinfo),
    row("FcgidProcessLifeTime", Args::One, Scope::RSRC_CONF, "3600", "fastcgi application lifetime", life_time),
    row("FcgidProcessTableFile", Args::One, Scope::SERVER, "", "fastcgi shared memory file path", nothing),
    row("FcgidIPCDir", Args::One, Scope::SERVER, "", "fastcgi socket file path", ipc_dir),
    row("FcgidSpawnScore", Args::One, Scope::SERVER, "1", "Score of spawn", spawn_score),
    row("FcgidSpawnScoreUpLimit", Args::One, Scope::SERVER, "10", "Spawn score up limit", score_limit),
    row("FcgidTerminationScore", Args::One, Scope::SERVER, "2", "Score of termination", termination_score),
    row("FcgidTimeScore", Args::One, Scope::SERVER, "1", "Score of passage of time (in seconds)", time_score),
    row("FcgidWrapper", Args::OneTwoOrThree, Scope::OR_FILEINFO, "", "The CGI wrapper file an optional URL suffix and an optional flag", wrapper),
    row("FcgidZombieScanInterval", Args::One, Scope::SERVER, "3", "scan interval for zombie process", interval),
    // Names of earlier versions.
    row("BusyScanInterval", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidBusyScanInterval' instead", interval),
    row("BusyTimeout", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidBusyTimeout' instead", busy_timeout),
    row("DefaultInitEnv", Args::OneOrTwo, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidInitialEnv' instead", initial_env),
    row("DefaultMaxClassProcessCount", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidMaxProcessesPerClass' instead", class_max),
    row("DefaultMinClassProcessCount", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidMinProcessesPerClass' instead", class_min),
    row("ErrorScanInterval", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidErrorScanInterval' instead", interval),
    row("FastCgiAccessChecker", Args::One, Scope::OR_FILEINFO, "", "Deprecated - Use 'FcgidAccessChecker' instead", guard),
    row("FastCgiAccessCheckerAuthoritative", Args::Flag, Scope::OR_FILEINFO, "", "Deprecated - Use 'FcgidAccessCheckerAuthoritative' instead", nothing),
    row("FastCgiAuthenticator", Args::One, Scope::OR_FILEINFO, "", "Deprecated - Use 'FcgidAuthenticator' instead", guard),
    row("FastCgiAuthenticatorAuthoritative", Args::Flag, Scope::OR_FILEINFO, "", "Deprecated - Use 'FcgidAuthenticatorAuthoritative' instead", nothing),
    row("FastCgiAuthorizer", Args::One, Scope::OR_FILEINFO, "", "Deprecated - Use 'FcgidAuthorizer' instead", guard),
    row("FastCgiAuthorizerAuthoritative", Args::Flag, Scope::OR_FILEINFO, "", "Deprecated - Use 'FcgidAuthorizerAuthoritative' instead", nothing),
    row("FCGIWrapper", Args::OneTwoOrThree, Scope::OR_FILEINFO, "", "Deprecated - Use 'FcgidWrapper' instead", wrapper),
    row("IdleScanInterval", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidIdleScanInterval' instead", interval),
    row("IdleTimeout", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidIdleTimeout' instead", idle_timeout),
    row("IPCCommTimeout", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidIOTimeout' instead", io_timeout),
    row("IPCConnectTimeout", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidConnectTimeout' instead", connect_timeout),
    row("MaxProcessCount", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidMaxProcesses' instead", processes_max),
    row("MaxRequestInMem", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidMaxRequestInMem' instead", request_in_memory),
    row("MaxRequestLen", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidMaxRequestLen' instead", request_max),
    row("MaxRequestsPerProcess", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidMaxRequestsPerProcess' instead", requests_max),
    row("OutputBufferSize", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidOutputBufferSize' instead", interval),
    row("PassHeader", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidPassHeader' instead", pass_header),
    row("PHP_Fix_Pathinfo_Enable", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidFixPathinfo' instead", fix_pathinfo),
    row("ProcessLifeTime", Args::One, Scope::RSRC_CONF, "", "Deprecated - Use 'FcgidProcessLifeTime' instead", life_time),
    row("SharememPath", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidProcessTableFile' instead", nothing),
    row("SocketPath", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidIPCDir' instead", ipc_dir),
    row("SpawnScore", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidSpawnScore' instead", spawn_score),
    row("SpawnScoreUpLimit", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidSpawnScoreUpLimit' instead", score_limit),
    row("TerminationScore", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidTerminationScore' instead", termination_score),
    row("TimeScore", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidTimeScore' instead", time_score),
    row("ZombieScanInterval", Args::One, Scope::SERVER, "", "Deprecated - Use 'FcgidZombieScanInterval' instead", interval),
];

/// What has no meaning here: there is no table of processes in a file, and nobody asks for programs
/// that do not run.
#[expect(clippy::unnecessary_wraps, reason = "as all rows")]
fn nothing(_: &mut Builder, _: &Call<'_>) -> Done {
    Ok(())
}

/// A number that has no meaning here: processes are looked after when it is time, and answers are
/// passed on as they come.
#[expect(clippy::unnecessary_wraps, reason = "as all rows")]
fn interval(_: &mut Builder, call: &Call<'_>) -> Done {
    read_number(call, 0);
    Ok(())
}

/// A program that decides who may see something. Without it that would be open.
fn guard(_: &mut Builder, call: &Call<'_>) -> Done {
    let text = format!(
        "{} is not supported, and what it protects would be open without it: use Require instead, \
         or remove the line",
        call.name
    );
    Err(text.into())
}

/// What the host of this line says.
fn host(builder: &mut Builder) -> &mut HostSettings {
    HOST_SETTINGS.change(&mut builder.host().modules)
}

fn busy_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).terms.busy_s = Some(read_number(call, 0));
    Ok(())
}

fn idle_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).terms.idle_s = Some(read_number(call, 0));
    Ok(())
}

fn life_time(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).terms.life_s = Some(read_number(call, 0));
    Ok(())
}

fn connect_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).terms.connect_s = Some(read_number(call, 0));
    Ok(())
}

fn io_timeout(builder: &mut Builder, call: &Call<'_>) -> Done {
    let seconds = read_number(call, 0);
    if seconds <= 0 {
        return Err(Error::argument(0, "FcgidIOTimeout must be greater than 0"));
    }
    host(builder).terms.io_s = Some(seconds);
    Ok(())
}

fn class_max(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).terms.processes_max = Some(read_number(call, 0));
    Ok(())
}

fn class_min(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).terms.processes_min = Some(read_number(call, 0));
    Ok(())
}

fn requests_max(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).terms.requests_max = Some(read_number(call, 0));
    Ok(())
}

fn request_max(builder: &mut Builder, call: &Call<'_>) -> Done {
    let bytes = call.arg(0).parse::<u64>().ok().filter(|bytes| i64::try_from(*bytes).is_ok());
    let text = "FcgidMaxRequestLen requires a non-negative integer.";
    host(builder).request_bytes_max = Some(bytes.ok_or_else(|| Error::argument(0, text))?);
    Ok(())
}

fn request_in_memory(builder: &mut Builder, call: &Call<'_>) -> Done {
    let bytes = u64::try_from(read_number(call, 0)).unwrap_or(0);
    host(builder).request_bytes_kept = Some(bytes);
    Ok(())
}

fn initial_env(builder: &mut Builder, call: &Call<'_>) -> Done {
    host(builder).set_variable(call.arg(0), call.arg(1));
    Ok(())
}

fn pass_header(builder: &mut Builder, call: &Call<'_>) -> Done {
    // The argument is taken apart once more (add_pass_headers).
    let name = LineWords::new(call.arg(0)).next().map(|word| word.text);
    host(builder).pass_headers.push(name.unwrap_or_default());
    Ok(())
}

fn processes_max(builder: &mut Builder, call: &Call<'_>) -> Done {
    SERVER_SETTINGS.change(&mut builder.server.modules).processes_max = Some(read_number(call, 0));
    Ok(())
}

fn fix_pathinfo(builder: &mut Builder, call: &Call<'_>) -> Done {
    SERVER_SETTINGS.change(&mut builder.server.modules).fixes_path_info = read_number(call, 0) != 0;
    Ok(())
}

fn ipc_dir(builder: &mut Builder, call: &Call<'_>) -> Done {
    let folder = builder.server_path(call.arg(0));
    SERVER_SETTINGS.change(&mut builder.server.modules).socket_folder = Some(folder);
    Ok(())
}

fn spawn_score(builder: &mut Builder, call: &Call<'_>) -> Done {
    SERVER_SETTINGS.change(&mut builder.server.modules).scores.spawn = read_number(call, 0);
    Ok(())
}

fn termination_score(builder: &mut Builder, call: &Call<'_>) -> Done {
    SERVER_SETTINGS.change(&mut builder.server.modules).scores.termination = read_number(call, 0);
    Ok(())
}

fn time_score(builder: &mut Builder, call: &Call<'_>) -> Done {
    SERVER_SETTINGS.change(&mut builder.server.modules).scores.second = read_number(call, 0);
    Ok(())
}

fn score_limit(builder: &mut Builder, call: &Call<'_>) -> Done {
    SERVER_SETTINGS.change(&mut builder.server.modules).scores.limit = read_number(call, 0);
    Ok(())
}

/// `FcgidWrapper "command line" [.suffix] [virtual]` (set_wrapper_config).
fn wrapper(builder: &mut Builder, call: &Call<'_>) -> Done {
    let is_flag = |word: &String| word.eq_ignore_ascii_case("virtual");
    let (suffix, flag) = match &call.args[1..] {
        [word] if is_flag(word) => (None, Some(word)),
        rest => (rest.first(), rest.get(1)),
    };
    if let Some(flag) = flag
        && !is_flag(flag)
    {
        return Err(Error::argument(2, "Invalid wrapper flag"));
    }
    if let Some(suffix) = suffix
        && (!suffix.starts_with('.') || suffix.len() < 2 || suffix.contains(['/', '\\']))
    {
        return Err(Error::argument(1, "Invalid wrapper file extension"));
    }
    let mut words = target::words(call.arg(0));
    let Some(program) = words.first_mut().filter(|program| !program.is_empty()) else {
        return Err(Error::argument(0, "Invalid wrapper config"));
    };
    exists("Wrapper", program)?;
    if program.len() >= PATH_BYTES_MAX {
        return Err(Error::argument(0, "Executable path length exceeds compiled-in limit"));
    }
    if call.arg(0).len() >= COMMAND_BYTES_MAX {
        return Err(Error::argument(0, "Command line length exceeds compiled-in limit"));
    }
    // Whoever starts it is in no folder of ours.
    if let Ok(path) = std::path::absolute(&*program)
        && let Some(path) = path.to_str()
    {
        path.clone_into(program);
    }
    let line = call.arg(0).to_owned();
    let wrapper = Arc::new(Wrapper { line, words, is_virtual: flag.is_some() });
    SETTINGS.change(builder.settings()).set_wrapper(suffix.map(String::as_str), wrapper);
    Ok(())
}

/// missing_file_msg
fn exists(what: &str, program: &str) -> Done {
    file::facts(program.as_bytes(), true).map(drop).map_err(|errno| {
        let reason = os_error::numbered(&errno.into());
        Error::argument(0, format!("{what} {program} cannot be accessed: {reason}"))
    })
}

/// `FcgidCmdOptions program option [value] ...` (set_cmd_options).
fn command_options(builder: &mut Builder, call: &Call<'_>) -> Done {
    let mut words = LineWords::new(call.raw).map(|word| word.text);
    let program = words.next().filter(|program| !program.is_empty());
    let program = program.ok_or("A command must be specified for FcgidCmdOptions")?;
    exists("Command", &program)?;
    let mut options = CmdOptions::default();
    let mut is_empty = true;
    while let Some(name) = words.next() {
        option(&mut options, &name, &mut words)?;
        is_empty = false;
    }
    if is_empty {
        return Err("At least one option must be specified for FcgidCmdOptions".into());
    }
    let variables = options.environment.len();
    if variables > VARIABLES_MAX {
        let text = format!(
            "mod_fcgid: environment variable table overflow; increase INITENV_CNT in fcgid_pm.h \
             from {VARIABLES_MAX} to at least {variables}"
        );
        return Err(text.into());
    }
    host(builder).set_options(program, options);
    Ok(())
}

/// Where a number belongs.
type OptionField = fn(&mut CmdOptions) -> &mut Option<i64>;

/// One option with its value.
fn option(options: &mut CmdOptions, name: &str, words: &mut impl Iterator<Item = String>) -> Done {
    let slots: [(&str, OptionField); 7] = [
        ("ConnectTimeout", |options| &mut options.terms.connect_s),
        ("IdleTimeout", |options| &mut options.terms.idle_s),
        ("IOTimeout", |options| &mut options.terms.io_s),
        ("MaxProcesses", |options| &mut options.terms.processes_max),
        ("MaxProcessLifetime", |options| &mut options.terms.life_s),
        ("MaxRequestsPerProcess", |options| &mut options.terms.requests_max),
        ("MinProcesses", |options| &mut options.terms.processes_min),
    ];
    let is_variable = name.eq_ignore_ascii_case("InitialEnv");
    let slot = slots.iter().find(|row| row.0.eq_ignore_ascii_case(name));
    let known = slot.map(|row| row.0).or(is_variable.then_some("InitialEnv"));
    let Some(known) = known else {
        return Err(format!("Invalid option for FcgidCmdOptions: {name}").into());
    };
    let value = words.next().filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| format!("{known} must have an argument"))?;
    match slot {
        Some((_, slot)) => *slot(options) = Some(leading_int(&value).into()),
        None => {
            let (name, value) = value.split_once('=').unwrap_or((&value, ""));
            super::settings::set(&mut options.environment, name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_have_the_rows_of_the_new_ones() {
        let new = |row: &&Directive<Builder>| row.name.starts_with("Fcgid");
        let find = |name: &str| DIRECTIVES.iter().find(|row| row.name == name).unwrap();
        assert_eq!(DIRECTIVES.iter().filter(new).count(), 33);
        for old in DIRECTIVES.iter().filter(|row| !new(row)) {
            let name = old.help.split('\'').nth(1).unwrap();
            let row = find(name);
            assert!(std::ptr::fn_addr_eq(row.apply, old.apply), "{}", old.name);
            assert_eq!(row.scope, old.scope, "{}", old.name);
        }
    }
}
