//! `--php`: which PHP-FPM runs the scripts of a folder that is served without a configuration.

use crate::Problem;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Folders in which distributions put the sockets of PHP-FPM.
const FOLDERS: [&str; 4] = ["/run/php", "/run/php-fpm", "/var/run/php", "/run"];

/// What a place for scripts is called in the configuration, and by people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fpm {
    /// `proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost`
    pub(crate) handler: String,
    /// `/run/php/php8.2-fpm.sock`
    pub(crate) shown: String,
}

/// What `--php VALUE` means: `None` is to run nothing.
pub(crate) fn parse(value: &str) -> Result<Option<Fpm>, Problem> {
    match value {
        "off" => Ok(None),
        "auto" => find(&FOLDERS.map(Path::new)).map(Some).ok_or_else(|| {
            Problem::Failed(format!(
                "--php auto finds no socket of PHP-FPM in {}: start it (Debian: apt install \
                 php-fpm), or name its socket with --php unix:/PATH",
                FOLDERS.join(", ")
            ))
        }),
        value => named(value).map(Some),
    }
}

/// `unix:/path` or `host:port`.
fn named(value: &str) -> Result<Fpm, Problem> {
    if let Some(path) = value.strip_prefix("unix:").filter(|path| path.starts_with('/')) {
        if is_plain(path) {
            return Ok(of_socket(path));
        }
    } else if let Some((_, port)) = value.rsplit_once(':')
        && port.parse::<u16>().is_ok()
        && is_plain(value)
    {
        return Ok(Fpm { handler: format!("proxy:fcgi://{value}"), shown: value.to_owned() });
    }
    Err(Problem::Usage(format!(
        "--php {value} is not known: write auto, off, unix:/PATH/OF.sock or HOST:PORT"
    )))
}

/// Whether the configuration takes a text for nothing but itself.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\|$<>".contains(&byte))
}

fn of_socket(path: &str) -> Fpm {
    Fpm { handler: format!("proxy:unix:{path}|fcgi://localhost"), shown: path.to_owned() }
}

/// The socket with the last name, which is that of the newest PHP, in the first folder that has
/// one.
fn find(folders: &[&Path]) -> Option<Fpm> {
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
    is_named && is_socket()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_or_a_port_is_named() {
        let unix = named("unix:/run/x.sock").ok().unwrap();
        assert_eq!(unix.handler, "proxy:unix:/run/x.sock|fcgi://localhost");
        let tcp = named("127.0.0.1:9000").ok().unwrap();
        assert_eq!(
            (tcp.handler.as_str(), tcp.shown.as_str()),
            ("proxy:fcgi://127.0.0.1:9000", "127.0.0.1:9000")
        );
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
        let found = find(&[Path::new("/nonexistent"), &folder]).unwrap();
        assert!(found.shown.ends_with("php8.2-fpm.sock"), "{}", found.shown);
        drop(listeners);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
