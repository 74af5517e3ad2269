//! `--php`: who runs the scripts of a folder that is served without a configuration: PHP in the
//! processes of the server itself, a PHP-FPM, or php-cgi processes that the server keeps.

#![expect(clippy::disallowed_methods, reason = "paths are looked for before the server starts")]

use crate::problem::Problem;
use modules::Php;
use std::ffi::OsStr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Folders in which distributions put the sockets of PHP-FPM.
const FOLDERS: [&str; 4] = ["/run/php", "/run/php-fpm", "/var/run/php", "/run"];

/// Folders in which programs are, beside those of `PATH`.
const PROGRAMS: [&str; 4] = ["/usr/bin", "/usr/local/bin", "/usr/lib/cgi-bin", "/opt/php/bin"];

/// What runs PHP scripts: for the configuration, and as a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    /// What runs scripts; `None` if nothing was found.
    pub(crate) php: Option<Php>,
    /// The line of the banner that says so.
    pub(crate) shown: String,
}

/// What `--php VALUE` means: `None` is to run nothing.
pub(crate) fn parse(value: &str) -> Result<Option<Runner>, Problem> {
    match value {
        "off" => Ok(None),
        "embed" => embedded().map(Some).ok_or_else(|| {
            let text = format!(
                "--php embed: there is no {} beside trivet or in ../lib/trivet (make php-module \
                 builds it)",
                modules::PHP_MODULE_FILE
            );
            Problem::Failed(text)
        }),
        "cgi" => php_cgi().map(Some).ok_or_else(|| {
            let text =
                "--php cgi: there is no php-cgi in PATH; install it (Debian: apt install php-cgi)";
            Problem::Failed(text.into())
        }),
        "auto" => {
            let found = embedded().or_else(|| find(&FOLDERS.map(Path::new))).or_else(php_cgi);
            Ok(Some(found.unwrap_or_else(nobody)))
        }
        value => named(value).map(Some),
    }
}

/// Nothing was found that runs scripts.
fn nobody() -> Runner {
    let shown = format!(
        "PHP scripts are answered with 503: there is neither a PHP module of Trivet (make \
         php-module) nor a running PHP-FPM in {} nor a php-cgi in PATH (Debian: apt install \
         php-fpm, or php-cgi).",
        FOLDERS.join(", ")
    );
    Runner { php: None, shown }
}

/// PHP by the module file of this server.
fn embedded() -> Option<Runner> {
    let path = modules::php_module_file()?;
    let shown = format!("PHP scripts are run by this server, with {}.", path.display());
    Some(Runner { php: Some(Php::Embedded), shown })
}

/// The php-cgi of this machine.
fn php_cgi() -> Option<Runner> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(PROGRAMS.map(PathBuf::from));
    let program = find_program(folders)?;
    let shown = format!("PHP scripts are run by {program}, in processes that Trivet keeps.");
    Some(Runner { php: Some(Php::Program(program)), shown })
}

/// `php-cgi` in the first folder that has one, or else the one with the largest number.
fn find_program(folders: impl Iterator<Item = PathBuf>) -> Option<String> {
    let plain = |path: PathBuf| path.to_str().filter(|path| is_plain(path)).map(str::to_owned);
    let mut others: Vec<(Vec<u32>, PathBuf)> = Vec::new();
    for folder in folders.filter(|folder| folder.is_absolute()) {
        let own = folder.join("php-cgi");
        if is_program(&own) {
            return plain(own);
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let numbered =
            entries.filter_map(|entry| Some((version(&entry.file_name())?, entry.path())));
        others.extend(numbered.filter(|row| is_program(&row.1)));
    }
    others.into_iter().max_by(|one, other| one.0.cmp(&other.0)).and_then(|row| plain(row.1))
}

/// The numbers of `php-cgi8.2`.
fn version(name: &OsStr) -> Option<Vec<u32>> {
    let numbers = name.to_str()?.strip_prefix("php-cgi")?.trim_start_matches('-');
    numbers.split('.').map(|number| number.parse().ok()).collect()
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// `unix:/path` or `host:port`.
fn named(value: &str) -> Result<Runner, Problem> {
    if let Some(path) = value.strip_prefix("unix:").filter(|path| path.starts_with('/')) {
        if is_plain(path) {
            return Ok(of_socket(path));
        }
    } else if let Some((_, port)) = value.rsplit_once(':')
        && port.parse::<u16>().is_ok()
        && is_plain(value)
    {
        return Ok(of_fpm(format!("proxy:fcgi://{value}"), value));
    }
    Err(Problem::Usage(format!(
        "--php {value} is unknown: write auto, embed, cgi, off, unix:/PATH/OF.sock or \
         HOST:PORT"
    )))
}

/// Whether the configuration takes a text for nothing but itself.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\|$<>".contains(&byte))
}

fn of_socket(path: &str) -> Runner {
    of_fpm(format!("proxy:unix:{path}|fcgi://localhost"), path)
}

fn of_fpm(handler: String, place: &str) -> Runner {
    let shown = format!("PHP scripts are run by the PHP-FPM at {place}.");
    Runner { php: Some(Php::Handler(handler)), shown }
}

/// The socket with the last name, which is that of the newest PHP, in the first folder that has
/// one with somebody behind it.
fn find(folders: &[&Path]) -> Option<Runner> {
    let sockets = |folder: &&Path| {
        let entries = std::fs::read_dir(folder).ok()?;
        let paths = entries.flatten().map(|entry| entry.path()).filter(|path| is_of_fpm(path));
        paths.max()
    };
    let path: PathBuf = folders.iter().find_map(sockets)?;
    path.to_str().filter(|path| is_plain(path)).map(of_socket)
}

fn is_of_fpm(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_socket = || std::fs::metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let is_named = (name.contains("php") || name.contains("www")) && name.ends_with(".sock");
    is_named && is_socket() && is_served(path)
}

/// Whether somebody listens, or would if this user were asked to come in.
fn is_served(path: &Path) -> bool {
    let refused = UnixStream::connect(path).err();
    refused.is_none_or(|error| error.kind() != std::io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_or_a_port_is_named() {
        let unix = named("unix:/run/x.sock").ok().unwrap();
        let handler = |text: &str| Some(Php::Handler(text.to_owned()));
        assert_eq!(unix.php, handler("proxy:unix:/run/x.sock|fcgi://localhost"));
        let tcp = named("127.0.0.1:9000").ok().unwrap();
        assert_eq!(tcp.php, handler("proxy:fcgi://127.0.0.1:9000"));
        assert_eq!(tcp.shown, "PHP scripts are run by the PHP-FPM at 127.0.0.1:9000.");
        assert!(matches!(parse("off"), Ok(None)));
        for value in [
            "",
            "x",
            "unix:x",
            "unix:/a\"b",
            "unix:/a|b",
            "unix:/a$b",
            "unix:/a\rb",
            "host:",
            "host:99999",
            "/run/x",
        ] {
            assert!(matches!(parse(value), Err(Problem::Usage(_))), "{value}");
        }
    }

    #[test]
    fn the_newest_php_is_found() {
        let folder = std::env::temp_dir().join(format!("trivet-php-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(find(&[Path::new("/nonexistent"), &folder]), None);
        let names = ["php7.4-fpm.sock", "php8.2-fpm.sock", "other.sock", "zphp.txt"];
        let listeners: Vec<_> =
            names.iter().map(|name| UnixListener::bind(folder.join(name)).unwrap()).collect();
        std::fs::write(folder.join("php9.9-fpm.sock"), "no socket").unwrap();
        let found = || find(&[Path::new("/nonexistent"), &folder]).map(|found| found.shown);
        assert!(found().unwrap().ends_with("php8.2-fpm.sock."), "{:?}", found());
        // Its files stay where they were.
        drop(listeners);
        assert_eq!(found(), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn php_cgi_is_found_by_its_name_or_the_largest_number() {
        let folder = std::env::temp_dir().join(format!("trivet-php-cgi-{}", std::process::id()));
        let (first, second) = (folder.join("first"), folder.join("second"));
        for folder in [&first, &second] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let found = || find_program([first.clone(), second.clone()].into_iter());
        let add = |path: &Path, mode: u32| {
            std::fs::write(path, "").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(found(), None);
        for (name, mode) in [
            ("php-cgi8.10", 0o755),
            ("php-cgi8.9", 0o755),
            ("php-cgi99", 0o644),
            ("php-cgi.x", 0o755),
        ] {
            add(&first.join(name), mode);
        }
        assert_eq!(found().as_deref(), first.join("php-cgi8.10").to_str());
        add(&second.join("php-cgi"), 0o755);
        assert_eq!(found().as_deref(), second.join("php-cgi").to_str());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
