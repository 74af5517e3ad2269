//! The server that is tested, and the modules that the suite may expect of it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::programs;

/// httpd's loadable modules, as `LoadModule` names them without `_module`. trivet is asked which of
/// them it has, and the suite skips what needs another. Filters that httpd has for this suite only
/// belong here as soon as trivet knows their names.
const STOCK: &str = "\
    access_compat actions alias allowmethods asis auth_basic auth_digest auth_form authn_anon \
    authn_core authn_dbd authn_dbm authn_file authn_socache authnz_fcgi authnz_ldap authz_core \
    authz_dbd authz_dbm authz_groupfile authz_host authz_owner authz_user autoindex brotli buffer \
    cache cache_disk cache_socache cern_meta cgi cgid charset_lite data dav dav_fs dav_lock dbd \
    deflate dialup dir dumpio echo env expires ext_filter file_cache filter headers heartbeat \
    heartmonitor http2 ident imagemap include info lbmethod_bybusyness lbmethod_byrequests \
    lbmethod_bytraffic lbmethod_heartbeat ldap log_debug log_forensic lua macro md mime mime_magic \
    negotiation proxy proxy_ajp proxy_balancer proxy_connect proxy_express proxy_fcgi proxy_fdpass \
    proxy_ftp proxy_hcheck proxy_html proxy_http proxy_http2 proxy_scgi proxy_uwsgi proxy_wstunnel \
    ratelimit reflector remoteip reqtimeout request rewrite sed session session_cookie \
    session_crypto session_dbd setenvif slotmem_plain slotmem_shm socache_dbm socache_memcache \
    socache_redis socache_shmcb speling ssl status substitute suexec unique_id userdir usertrack \
    vhost_alias xml2enc";

/// A module that trivet lacks and the suite does not ask for where it uses its directive: trivet
/// warns that the line has no effect, but only if the module is named.
const UNASKED: &str = "request";

/// Where Debian's apache2 keeps a `.load` file for each of its modules.
const APACHE_MODULES: &str = "/etc/apache2/mods-available";
/// Modules of Debian's apache2 that are made for this suite and have no such file.
const TEST_MODULES: [&str; 3] = ["bucketeer", "case_filter", "case_filter_in"];

/// A server that takes httpd's command line.
#[derive(Debug)]
pub(super) struct HttpdServer {
    pub(super) binary: PathBuf,
    pub(super) is_trivet: bool,
    /// As `-v` tells it, `Apache/2.4.71 (Debian)`.
    pub(super) version: String,
}

impl HttpdServer {
    /// The named server, else trivet built anew.
    pub(super) fn find(named: Option<&Path>) -> Result<Self, String> {
        let binary = match named {
            Some(path) => path.to_owned(),
            None => {
                let target = programs::target_folder()?;
                programs::build_trivet(&target)?;
                target.join("release/trivet")
            }
        };
        let failed = |error| format!("{}: {error}", binary.display());
        let binary = fs::canonicalize(&binary).map_err(failed)?;
        let told = Command::new(&binary).arg("-v").output().map_err(failed)?;
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let version = parse_version(&told).ok_or_else(|| {
            format!("{} -v does not tell a server version: {told:?}", binary.display())
        })?;
        Ok(Self { is_trivet: version.contains("Trivet"), version: version.to_owned(), binary })
    }

    /// The httpd.conf whose modules the suite takes over. It believes a `LoadModule` only if the
    /// file is there, so trivet, which has all modules in itself, gets empty ones in `folder`,
    /// which the server sees as `seen`.
    pub(super) fn module_conf(
        &self,
        mpm: &str,
        folder: &Path,
        seen: &str,
    ) -> Result<String, String> {
        let mut lines = match self.is_trivet {
            true => trivet_lines(&self.binary, mpm, folder, seen)?,
            false => apache_lines(mpm)?,
        };
        lines += "TypesConfig /etc/mime.types\nServerName localhost\n";
        Ok(lines)
    }
}

fn parse_version(told: &str) -> Option<&str> {
    let line = told.lines().find_map(|line| line.strip_prefix("Server version:"))?;
    Some(line.trim()).filter(|version| version.starts_with("Apache/"))
}

/// A `LoadModule` for each module that trivet has; the files are made.
fn trivet_lines(binary: &Path, mpm: &str, folder: &Path, seen: &str) -> Result<String, String> {
    let mut lines = String::new();
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let mpm = format!("mpm_{mpm}");
    let present = present(binary, folder)?;
    for name in present.iter().map(String::as_str).chain([UNASKED, mpm.as_str()]) {
        let file = folder.join(format!("mod_{name}.so"));
        fs::write(file, "").map_err(|error| error.to_string())?;
        let _ = writeln!(lines, "LoadModule {name}_module {seen}/mod_{name}.so");
    }
    Ok(lines)
}

/// The modules of [`STOCK`] that trivet has: it warns about others and does not list them.
fn present(binary: &Path, folder: &Path) -> Result<Vec<String>, String> {
    let mut conf = String::from("ServerName localhost\nListen 127.0.0.1:8529\nErrorLog errors\n");
    if programs::is_root() {
        conf += "User nobody\nGroup nogroup\n";
    }
    for name in STOCK.split_whitespace() {
        let _ = writeln!(conf, "LoadModule {name}_module mod_{name}.so");
    }
    let file = folder.join("all.conf");
    fs::write(&file, conf).map_err(|error| error.to_string())?;
    let mut command = Command::new(binary);
    let told = command.arg("-M").arg("-d").arg(folder).arg("-f").arg(file).output();
    let told = told.map_err(|error| format!("{}: {error}", binary.display()))?;
    if !told.status.success() {
        let errors = String::from_utf8_lossy(&told.stderr);
        return Err(format!("{} -M fails:\n{errors}", binary.display()));
    }
    Ok(parse_shared(&String::from_utf8_lossy(&told.stdout)))
}

/// The lines ` alias_module (shared)` of `-M`, but not its MPM.
fn parse_shared(told: &str) -> Vec<String> {
    let names = told.lines().filter_map(|line| line.trim().strip_suffix("_module (shared)"));
    names.filter(|name| !name.starts_with("mpm_")).map(str::to_owned).collect()
}

/// Every module that Debian has, but for PHP and the other MPMs, in the order of their files.
fn apache_lines(mpm: &str) -> Result<String, String> {
    let failed = |error| format!("{APACHE_MODULES}: {error}; is apache2 installed?");
    let entries = fs::read_dir(APACHE_MODULES).map_err(failed)?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| is_loadable(path, mpm)).collect();
    paths.sort();
    let texts: Result<String, _> = paths.iter().map(fs::read_to_string).collect();
    let texts = texts.map_err(failed)?;
    // Debian wraps a few into a condition, which the suite would read as part of none.
    let mut lines = String::new();
    for line in texts.lines().map(str::trim).filter(|line| line.starts_with("LoadModule ")) {
        let _ = writeln!(lines, "{line}");
    }
    for name in TEST_MODULES {
        let file = format!("/usr/lib/apache2/modules/mod_{name}.so");
        let _ = writeln!(lines, "LoadModule {name}_module {file}");
    }
    Ok(lines)
}

fn is_loadable(path: &Path, mpm: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(name) = name.strip_suffix(".load") else { return false };
    !name.starts_with("php") && name.strip_prefix("mpm_").is_none_or(|other| other == mpm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_of_apaches_kind_has_a_version() {
        let told = "Server version: Apache/2.4.71 (Debian)\nServer built:   2026\n";
        assert_eq!(parse_version(told), Some("Apache/2.4.71 (Debian)"));
        assert_eq!(parse_version("nginx version: nginx/1.22.1"), None);
    }

    #[test]
    fn one_mpm_is_loaded_and_no_php() {
        let loads = |name: &str| is_loadable(Path::new(name), "worker");
        assert!(loads("/m/alias.load") && loads("/m/mpm_worker.load"));
        assert!(!loads("/m/mpm_event.load") && !loads("/m/php8.2.load") && !loads("/m/a.conf"));
    }

    #[test]
    fn modules_that_are_built_in_need_no_file() {
        let told = "Loaded Modules:\n core_module (static)\n alias_module (shared)\n \
                    mpm_event_module (shared)\n";
        assert_eq!(parse_shared(told), ["alias"]);
    }
}
