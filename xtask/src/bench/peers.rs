//! The measured servers: how each is configured, started and asked for its version.
//! tidy: table
//!
//! Every server serves the same folder on 127.0.0.1, in the foreground, with one worker process or
//! thread per core where it has such a setting (those compared under an MPM have the workers that
//! `mpm.rs` says), no limit on requests per connection, and its stock settings otherwise. What
//! differs from stock is in the text of its configuration and in `settings`, which the report
//! repeats.

use std::path::Path;

use super::debian;
use super::mpm;
use super::rules;
use super::site::{BenchSite, Mpm};

/// One server of the comparison.
#[derive(Debug)]
pub(super) struct BenchServer {
    /// The name on the command line and in tables.
    pub(super) name: &'static str,
    /// The program that is run; trivet's is given by path.
    pub(super) program: &'static str,
    /// The Debian package that has it; none for trivet.
    pub(super) package: Option<&'static str>,
    /// How the program is asked for its version.
    pub(super) version_flag: &'static str,
    /// The MPM that it is compared under; none where that is not the question.
    pub(super) mpm: Option<Mpm>,
    /// Said in the report: the settings that matter to a reader who doubts the comparison.
    pub(super) settings: &'static str,
    /// The text of its configuration file.
    pub(super) config: fn(&BenchSite<'_>) -> String,
    /// Its arguments, given the path of that file.
    pub(super) args: fn(&BenchSite<'_>, &str) -> Vec<String>,
}

/// An nginx that one load generator asks.
const fn asked_by(name: &'static str) -> BenchServer {
    BenchServer {
        name,
        program: "nginx",
        package: Some("nginx"),
        version_flag: "-v",
        mpm: None,
        settings: "nginx as above: the figures are those of the load generator, one thread",
        config: nginx_config,
        args: |site, file| words(&["-e", &path(site.home, "error.log"), "-c", file]),
    }
}

/// All servers, trivet first: ratios are trivet's to each of the others.
pub(super) const SERVERS: &[BenchServer] = &[
    BenchServer {
        name: "trivet",
        program: "trivet",
        package: None,
        version_flag: "--version",
        mpm: None,
        settings: "`trivet serve DIR --listen ADDRESS`, release build; KeepAliveTimeout 300 for \
                   idle connections",
        config: |_| String::new(),
        args: trivet_args,
    },
    BenchServer {
        name: "trivet-unmeasured",
        program: "trivet",
        package: None,
        version_flag: "--version",
        mpm: None,
        settings: "the same with `ExtendedStatus Off`: no accounts of where the time goes",
        config: |_| String::new(),
        args: |site, file| {
            let mut all = trivet_args(site, file);
            all.extend(words(&["-c", "ExtendedStatus Off"]));
            all
        },
    },
    BenchServer {
        name: "trivet-httpd",
        program: "trivet",
        package: None,
        version_flag: "--version",
        mpm: None,
        settings: "`trivet -f FILE`: the modules that Debian enables, and the sections or virtual \
                   hosts of the scenario",
        config: debian::config,
        args: |_, file| words(&["-D", "FOREGROUND", "-f", file]),
    },
    BenchServer {
        name: "nginx",
        program: "nginx",
        package: Some("nginx"),
        version_flag: "-v",
        mpm: None,
        settings: "a worker per core, sendfile and tcp_nopush on, open_file_cache not set (stock)",
        config: nginx_config,
        args: |site, file| words(&["-e", &path(site.home, "error.log"), "-c", file]),
    },
    // What is measured with these is who asks them.
    asked_by("by-trivet"),
    asked_by("by-wrk"),
    asked_by("by-ab"),
    BenchServer {
        name: "apache",
        program: "apache2",
        package: Some("apache2"),
        version_flag: "-v",
        mpm: None,
        settings: "event MPM, only the modules needed, MaxKeepAliveRequests 0, \
                   ThreadsPerChild 128, MaxRequestWorkers 1024, AllowOverride None; with virtual \
                   hosts the same file as trivet-httpd",
        config: |site| if site.hosts == 0 { apache_config(site) } else { debian::config(site) },
        args: |_, file| words(&["-D", "FOREGROUND", "-f", file]),
    },
    BenchServer {
        name: "lighttpd",
        program: "lighttpd",
        package: Some("lighttpd"),
        version_flag: "-v",
        mpm: None,
        settings: "one process (stock)",
        config: lighttpd_config,
        args: |_, file| words(&["-D", "-f", file]),
    },
    BenchServer {
        name: "h2o",
        program: "h2o",
        package: Some("h2o"),
        version_flag: "-v",
        mpm: None,
        settings: "a thread per core",
        config: h2o_config,
        args: |_, file| words(&["-m", "worker", "-c", file]),
    },
    trivet(Mpm::Prefork, "trivet-prefork", |site| mpm::config(Mpm::Prefork, site)),
    apache(Mpm::Prefork, "apache-prefork", |site| mpm::config(Mpm::Prefork, site)),
    trivet(Mpm::Worker, "trivet-worker", |site| mpm::config(Mpm::Worker, site)),
    apache(Mpm::Worker, "apache-worker", |site| mpm::config(Mpm::Worker, site)),
    trivet(Mpm::Event, "trivet-event", |site| mpm::config(Mpm::Event, site)),
    BenchServer {
        settings: "`-f FILE`: event, a process per core, mod_rewrite, and the `.htaccess` files or \
                   rules of the scenario",
        args: ruled_args,
        ..trivet(Mpm::Event, "trivet-rules", rules::config)
    },
    BenchServer {
        settings: "the same without them: `AllowOverride None`, a `FallbackResource` in the place \
                   of rules, or no rule",
        args: ruled_args,
        ..trivet(Mpm::Event, "trivet-plain", rules::config_without)
    },
    BenchServer {
        settings: "the same as trivet-plain, but an `AliasMatch` leads to the file",
        args: ruled_args,
        ..trivet(Mpm::Event, "trivet-alias", rules::config_alias)
    },
    BenchServer {
        settings: "the same file as trivet-rules",
        ..apache(Mpm::Event, "apache-rules", rules::config)
    },
    BenchServer {
        settings: "the same file as trivet-plain",
        ..apache(Mpm::Event, "apache-plain", rules::config_without)
    },
];

/// Trivet under an MPM.
const fn trivet(mpm: Mpm, name: &'static str, config: fn(&BenchSite<'_>) -> String) -> BenchServer {
    BenchServer {
        name,
        program: "trivet",
        package: None,
        version_flag: "--version",
        mpm: Some(mpm),
        settings: pool_settings(mpm),
        config,
        args: |_, file| words(&["-D", "FOREGROUND", "-f", file]),
    }
}

/// Apache under an MPM, with the same file.
const fn apache(mpm: Mpm, name: &'static str, config: fn(&BenchSite<'_>) -> String) -> BenchServer {
    let ours = trivet(mpm, name, config);
    BenchServer { program: "apache2", package: Some("apache2"), version_flag: "-v", ..ours }
}

const fn pool_settings(mpm: Mpm) -> &'static str {
    match mpm {
        Mpm::Prefork => "`-f FILE`: prefork, 256 processes started beforehand",
        Mpm::Worker => "`-f FILE`: worker, 4 processes of 64 threads started beforehand",
        Mpm::Event => {
            "`-f FILE`: event, a process per core, ThreadsPerChild as many as there are waits"
        }
    }
}

/// The defaults are what is measured; only what a scenario is about is set.
fn trivet_args(site: &BenchSite<'_>, _: &str) -> Vec<String> {
    let docroot = site.docroot.display().to_string();
    let mut args = words(&["serve", &docroot, "--listen", &format!("127.0.0.1:{}", site.port)]);
    if let Some(log) = site.log {
        args.extend(["-c".into(), format!("CustomLog {} combined", log.display())]);
    }
    if let Some(socket) = site.fpm {
        args.extend(["--php".into(), format!("unix:{}", socket.display())]);
    }
    if site.idle {
        args.extend(words(&["-c", "KeepAliveTimeout 300"]));
    }
    args
}

fn ruled_args(site: &BenchSite<'_>, file: &str) -> Vec<String> {
    let mut args = words(&["-D", "FOREGROUND", "-f", file]);
    args.extend(words(rules::options(site)));
    args
}

fn nginx_config(site: &BenchSite<'_>) -> String {
    let BenchSite { port, cores, .. } = site;
    let (home, docroot) = (site.home.display(), site.docroot.display());
    let user = if site.root { "user www-data;" } else { "" };
    let log = site.log.map_or("off".into(), |file| format!("{} combined", file.display()));
    let (upstream, mut location) = site.fpm.map(nginx_fpm).unwrap_or_default();
    location.push_str(&rules::nginx_location(site));
    format!(
        "daemon off; {user} worker_processes {cores}; worker_rlimit_nofile 20000;
pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 20000; }}
http {{
    include /etc/nginx/mime.types; default_type application/octet-stream;
    client_body_temp_path {home}/body; proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi; uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
    access_log {log}; sendfile on; tcp_nopush on;
    keepalive_timeout 300; keepalive_requests 1000000000;
    {upstream}
    server {{ listen 127.0.0.1:{port} backlog=4096; root {docroot}; index index.html; {location} }}
}}
"
    )
}

/// Each worker keeps as many connections as make eight with two workers, as many as there are
/// children: more would keep them from each other.
fn nginx_fpm(socket: &Path) -> (String, String) {
    let upstream = format!("upstream fpm {{ server unix:{}; keepalive 4; }}", socket.display());
    let location = "location ~ \\.php$ { include /etc/nginx/fastcgi_params; \
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; \
        fastcgi_keep_conn on; fastcgi_pass fpm; }";
    (upstream, location.into())
}

/// All 8 x 128 threads exist from the start and stay. With smaller children event closes
/// persistent connections whenever one child's threads are all busy, which at 512 connections
/// shows as errors and costs it more per request; this is the setting kindest to it.
/// log_config and unixd are built into Debian's apache2. AsyncRequestWorkerFactor lets event hold
/// 10,000 idle connections with 1024 workers: its limit is (factor + 1) x MaxRequestWorkers.
fn apache_config(site: &BenchSite<'_>) -> String {
    let BenchSite { port, .. } = site;
    let (home, docroot) = (site.home.display(), site.docroot.display());
    let user = if site.root { "User www-data\nGroup www-data\n" } else { "" };
    let log = site.log.map_or(String::new(), |file| {
        let format = r#""%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"""#;
        format!("CustomLog {} {format}\n", file.display())
    });
    let modules = "/usr/lib/apache2/modules";
    format!(
        "ServerRoot {home}
DefaultRuntimeDir {home}
ServerName localhost
Listen 127.0.0.1:{port}
ListenBacklog 4096
PidFile {home}/pid
ErrorLog {home}/error.log
{user}{log}LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule dir_module {modules}/mod_dir.so
TypesConfig /etc/mime.types
DocumentRoot {docroot}
DirectoryIndex index.html
KeepAlive On
KeepAliveTimeout 300
MaxKeepAliveRequests 0
StartServers 8
ServerLimit 8
ThreadLimit 128
ThreadsPerChild 128
MaxRequestWorkers 1024
MaxSpareThreads 1024
AsyncRequestWorkerFactor 20
<Directory {docroot}>
    Require all granted
    AllowOverride None
</Directory>
"
    )
}

/// Errors go to stderr, because it would open a log only after it has become www-data.
fn lighttpd_config(site: &BenchSite<'_>) -> String {
    let (port, docroot) = (site.port, site.docroot.display());
    let user = "server.username = \"www-data\"\nserver.groupname = \"www-data\"\n";
    let user = if site.root { user } else { "" };
    let log = site.log.map_or(String::new(), |file| {
        let modules = "server.modules = (\"mod_accesslog\")\n";
        format!("{modules}accesslog.filename = \"{}\"\n", file.display())
    });
    format!(
        "server.document-root = \"{docroot}\"
server.bind = \"127.0.0.1\"
server.port = {port}
{user}{log}server.max-fds = 20000
server.max-connections = 16000
server.max-keep-alive-requests = 1000000000
server.max-keep-alive-idle = 300
server.max-read-idle = 300
index-file.names = (\"index.html\")
mimetype.assign = (\".html\" => \"text/html\", \"\" => \"application/octet-stream\")
"
    )
}

fn h2o_config(site: &BenchSite<'_>) -> String {
    let BenchSite { port, cores, .. } = site;
    let (home, docroot) = (site.home.display(), site.docroot.display());
    let user = if site.root { "user: www-data\n" } else { "" };
    let log = site.log.map_or(String::new(), |file| format!("access-log: {}\n", file.display()));
    format!(
        "{user}{log}error-log: {home}/error.log
num-threads: {cores}
max-connections: 20000
http1-request-timeout: 300
listen: {{ host: 127.0.0.1, port: {port} }}
hosts: {{ default: {{ paths: {{ /: {{ file.dir: {docroot} }} }} }} }}
"
    )
}

/// The path of a file in a folder, as text.
fn path(folder: &Path, file: &str) -> String {
    folder.join(file).display().to_string()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| String::from(*word)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A site of no scenario in particular.
    pub(in super::super) fn site(log: Option<&Path>, idle: bool) -> BenchSite<'_> {
        BenchSite {
            port: 8100,
            docroot: Path::new("/b/www"),
            home: Path::new("/b/home"),
            log,
            idle,
            cores: 2,
            sections: 0,
            hosts: 0,
            pool: crate::bench::site::WorkerPool::Standing,
            addresses: 1,
            handlers: false,
            fpm: None,
            rules: None,
            root: true,
        }
    }

    #[test]
    fn trivet_gets_options_only_where_the_scenario_asks() {
        let args = |log, idle| trivet_args(&site(log, idle), "").join("|");
        assert_eq!(args(None, false), "serve|/b/www|--listen|127.0.0.1:8100");
        assert!(args(Some(Path::new("/b/log")), false).ends_with("|-c|CustomLog /b/log combined"));
        assert!(args(None, true).ends_with("|-c|KeepAliveTimeout 300"));
    }

    #[test]
    fn every_configuration_names_folder_port_and_log() {
        let log = Some(Path::new("/b/access.log"));
        for server in SERVERS.iter().filter(|server| server.package.is_some()) {
            let (logged, silent) = ((server.config)(&site(log, false)), site(None, false));
            for part in ["/b/www", "8100", "/b/access.log", "www-data"] {
                assert!(logged.contains(part), "{}: no {part}", server.name);
            }
            assert!(!(server.config)(&silent).contains("access.log"), "{}", server.name);
        }
    }
}
