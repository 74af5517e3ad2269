//! Help, version, and the settings as `-C` shows them.

use super::config::{Config, Login, WITHOUT_END};
use super::options;
use std::fmt::Write as _;

/// The text of `--help`.
pub(super) fn help() -> String {
    format!(
        "Usage: siege [options]\n       siege [options] URL\n       siege -g URL\nOptions:\n{}\n\
         This is Trivet's siege; docs/guide/siege.md lists the differences\n",
        options::help()
    )
}

/// The line that a run begins with.
pub(super) fn banner(config: &Config) -> String {
    format!("SIEGE {}\n", config.style.version())
}

/// What `-V` says.
pub(super) fn version(config: &Config) -> String {
    let own = env!("CARGO_PKG_VERSION");
    format!("{}\ntrivet {own}: a load generator that looks like siege\n\n", banner(config))
}

/// The settings, as init.c `show_config` lists them.
pub(super) fn config(config: &Config) -> String {
    let yes = |value: bool| if value { "true" } else { "false" }.to_owned();
    let file = |path: &std::path::Path| path.display().to_string();
    let or_none = |value: bool, text: String| if value { text } else { "n/a".to_owned() };
    let has_reps = config.reps > 0 && config.reps != WITHOUT_END;
    let plural = if config.delay > 1.0 { "s" } else { "" };
    let rows = [
        ("version", config.style.version().to_owned()),
        ("verbose", yes(config.verbose)),
        ("color", yes(config.color)),
        ("quiet", yes(config.quiet)),
        ("debug", yes(config.debug)),
        ("protocol", if config.http11 { "HTTP/1.1" } else { "HTTP/1.0" }.to_owned()),
        ("HTML parser", if config.parser { "enabled" } else { "disabled" }.to_owned()),
        ("get method", config.get_method.clone().unwrap_or_else(|| "HEAD".to_owned())),
        ("proxy-host", config.proxy_host.clone().unwrap_or_default()),
        ("proxy-port", config.proxy_port.to_string()),
        ("connection", if config.keep_alive { "keep-alive" } else { "close" }.to_owned()),
        ("concurrent users", config.users.to_string()),
        ("time to run", or_none(config.seconds > 0, format!("{} seconds", config.seconds))),
        ("repetitions", or_none(has_reps, config.reps.to_string())),
        ("socket timeout", config.timeout.to_string()),
        ("cache enabled", yes(config.cache)),
        ("accept-encoding", config.accept_encoding.clone()),
        ("delay", format!("{:.3} sec{plural}", config.delay)),
        ("internet simulation", yes(config.internet)),
        ("benchmark mode", yes(config.benchmark)),
        ("failures until abort", config.failures.to_string()),
        ("named URL", config.url.clone().unwrap_or_else(|| "none".to_owned())),
        ("URLs file", file(&config.file)),
        ("thread limit", config.limit.map_or("none".to_owned(), |limit| limit.to_string())),
        ("logging", yes(config.logging)),
        ("log file", file(&config.logfile)),
        ("resource file", file(&config.rc)),
        ("timestamped output", yes(config.timestamp)),
        ("comma separated output", yes(config.csv)),
        ("allow redirects", yes(config.follow)),
        ("allow zero byte data", yes(config.zero_data_ok)),
        ("allow chunked encoding", yes(config.chunked)),
        ("upload unique files", yes(config.unique)),
        ("json output", yes(config.json)),
    ];
    let mut out = format!(
        "CURRENT  SIEGE  CONFIGURATION\n{}\nEdit the resource file to change the settings.\n{}\n",
        config.user_agent,
        "-".repeat(46)
    );
    let is_shown = |name: &str| !name.starts_with("proxy-") || config.proxy_host.is_some();
    for (name, value) in rows.iter().filter(|row| is_shown(row.0)) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<32}{value}", format!("{name}:"));
    }
    if !config.no_follow.is_empty() {
        let _ = writeln!(out, "no-follow:");
        config.no_follow.iter().for_each(|host| {
            let _ = writeln!(out, " - {host}");
        });
    }
    for (name, logins) in [("proxy auth", &config.proxy_logins), ("www auth", &config.logins)] {
        let lines = logins.iter().map(|Login { user, password, realm }| {
            format!("credentials:  {user}:{password}:{realm}\n")
        });
        let _ = writeln!(out, "{:<32}{}", format!("{name}:"), lines.collect::<String>());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::rc;
    use super::*;

    #[test]
    fn an_empty_file_and_credentials_look_as_siege_shows_them() {
        let mut settings = Config::of_empty_file();
        rc::apply("login = jeff:pw:staff\nlogin = a:b\nproxy-login = x", &mut settings, &|_| None);
        let text = config(&settings);
        for line in [
            "verbose:                        false",
            "protocol:                       HTTP/1.0",
            "HTML parser:                    disabled",
            "get method:                     HEAD",
            "concurrent users:               1",
            "accept-encoding:                *",
            "thread limit:                   255",
            "allow chunked encoding:         false",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
        let end = "\nproxy auth:                     credentials:  x::any\n\n\
                   www auth:                       credentials:  jeff:pw:staff\n\
                   credentials:  a:b:any\n\n";
        assert!(text.ends_with(end), "{text}");
    }
}
