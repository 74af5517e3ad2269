//! What PHP-FPM's own configuration says of the pool that listens at an address: its name, and how
//! many children it may have. That is read, never guessed: a pool whose files cannot be found or
//! read is one of unknown size.

use runtime::backend::{self, Address};
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// What is read of one file, and how many files.
const FILE_BYTES: u64 = 1 << 20;
const FILES: usize = 256;

/// Where the main file is, on Debian, Red Hat and in containers, when no process tells.
const USUAL: &[&str] =
    &["/etc/php/*/fpm/php-fpm.conf", "/etc/php-fpm.conf", "/usr/local/etc/php-fpm.conf"];

/// A pool of PHP-FPM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FpmPool {
    pub(crate) name: String,
    /// `pm.max_children`.
    pub(crate) children: u32,
}

/// The pool that listens at `address`; `master` is the process that does, where it is known. This
/// reads files.
pub(crate) fn find(address: &Address, master: Option<i32>) -> Option<FpmPool> {
    let main = master.and_then(main_file);
    let usual = || USUAL.iter().flat_map(|pattern| matching(Path::new(pattern)));
    let files = main.map_or_else(|| usual().collect(), |file| vec![file]);
    files.iter().find_map(|file| in_files_of(file, address))
}

/// The main file of a master process, which shows it: `php-fpm: master process (/etc/...)`.
fn main_file(master: i32) -> Option<PathBuf> {
    let title = read(Path::new(&format!("/proc/{master}/cmdline")))?;
    let (_, rest) = title.split_once("master process (")?;
    Some(rest.split_once(')')?.0.into())
}

/// The pool in the main file or in what it includes.
fn in_files_of(main: &Path, address: &Address) -> Option<FpmPool> {
    let text = read(main)?;
    let included = values(&text, "include").flat_map(|pattern| matching(Path::new(pattern)));
    let texts = included.take(FILES).filter_map(|file| read(&file));
    std::iter::once(text.clone()).chain(texts).find_map(|text| in_text(&text, address))
}

fn in_text(text: &str, address: &Address) -> Option<FpmPool> {
    sections(text).into_iter().find_map(|(name, lines)| {
        let listen = values(lines, "listen").last()?.replace("$pool", name);
        let children = values(lines, "pm.max_children").last()?.parse().ok()?;
        let is_it = listens_at(&listen, address) && children > 0;
        is_it.then(|| FpmPool { name: name.to_owned(), children })
    })
}

/// Whether that value of `listen` means this address: a path, `host:port`, or a port alone.
fn listens_at(listen: &str, address: &Address) -> bool {
    match address {
        Address::Unix(path) => {
            let listen = Path::new(listen);
            listen == path || backend::is_same_file(listen, path)
        }
        // Elsewhere somebody else may listen at a port of that number.
        Address::Tcp(address) if address.ip().is_loopback() => {
            let (host, port) = listen.rsplit_once(':').unwrap_or(("", listen));
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let is_host = match host.parse::<IpAddr>() {
                Ok(host) => host == address.ip() || host.is_unspecified(),
                Err(_) => matches!(host, "" | "localhost" | "*"),
            };
            is_host && port.parse() == Ok(address.port())
        }
        Address::Tcp(_) => false,
    }
}

/// The sections of a file: name and lines.
fn sections(text: &str) -> Vec<(&str, &str)> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let name = line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((name, _)) = name {
            starts.push((name.trim(), at, at + line.len()));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(_, at, _)| *at).chain([text.len()]);
    starts.iter().zip(ends).map(|((name, _, from), to)| (*name, &text[*from..to])).collect()
}

/// The values of a key, as php.ini spells them: `key = value ; remark`, perhaps in quotes.
fn values<'t>(lines: &'t str, key: &'static str) -> impl Iterator<Item = &'t str> {
    lines.lines().filter_map(move |line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim();
        let bare = value.split(';').next().unwrap_or_default().trim();
        let quoted = value.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        (name.trim() == key).then(|| quoted.map_or(bare, |(value, _)| value))
    })
}

/// The files that a path with one `*` in it names, in order.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let text = pattern.to_string_lossy();
    let Some((before, after)) = text.split_once('*') else { return vec![pattern.to_owned()] };
    let (folder, start) = before.rsplit_once('/').unwrap_or((".", before));
    let (end, rest) = after.split_once('/').map_or((after, None), |(end, it)| (end, Some(it)));
    let entries = std::fs::read_dir(format!("{folder}/")).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let fits = |name: &String| {
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let mut found: Vec<PathBuf> = names
        .filter(fits)
        .map(|name| Path::new(folder).join(name))
        .map(|path| rest.map_or(path.clone(), |rest| path.join(rest)))
        .collect();
    found.sort();
    found
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "; a remark\n[global]\npid = /run/x.pid\n\n[www]\nuser = www-data\n\
        ;listen = /run/no.sock\nlisten = /run/php/$pool.sock ; here\npm = dynamic\n\
        pm.max_children = 5\n[ big ]\nlisten=\"127.0.0.1:9000\"\npm.max_children=80\n\
        [any]\nlisten = 9001\npm.max_children = 3\n[none]\nlisten = 9002\n";

    fn pool(name: &str, children: u32) -> Option<FpmPool> {
        Some(FpmPool { name: name.to_owned(), children })
    }

    #[test]
    fn a_pool_is_found_by_where_it_listens() {
        let unix = |path: &str| in_text(TEXT, &Address::Unix(path.into()));
        let tcp = |address: &str| in_text(TEXT, &Address::Tcp(address.parse().unwrap()));
        assert_eq!(unix("/run/php/www.sock"), pool("www", 5));
        assert_eq!(unix("/run/no.sock"), None, "it is a remark");
        assert_eq!(tcp("127.0.0.1:9000"), pool("big", 80));
        assert_eq!(tcp("127.0.0.1:9001"), pool("any", 3));
        assert_eq!(tcp("[::1]:9001"), pool("any", 3));
        assert_eq!(tcp("[::1]:9000"), None);
        assert_eq!(tcp("10.0.0.7:9001"), None, "another machine");
        assert_eq!(tcp("127.0.0.1:9002"), None, "no number of children");
    }

    #[test]
    fn files_are_followed_from_the_main_one() {
        let folder = std::env::temp_dir().join(format!("trivet-fpm-{}", std::process::id()));
        let pools = folder.join("pool.d");
        std::fs::create_dir_all(&pools).unwrap();
        let main = folder.join("php-fpm.conf");
        let include = format!("[global]\ninclude={}/*.conf\n", pools.display());
        std::fs::write(&main, include).unwrap();
        std::fs::write(pools.join("a.conf"), "[a]\nlisten=9100\npm.max_children=1\n").unwrap();
        std::fs::write(pools.join("b.conf"), "[b]\nlisten=9101\npm.max_children=2\n").unwrap();
        std::fs::write(pools.join("b.conf.old"), "[c]\nlisten=9102\npm.max_children=2\n").unwrap();
        let at = |port| in_files_of(&main, &Address::Tcp(([127, 0, 0, 1], port).into()));
        assert_eq!([at(9100), at(9101), at(9102)], [pool("a", 1), pool("b", 2), None]);
        let all = folder.join("*").join("a.conf");
        assert_eq!(matching(&all), [main.join("a.conf"), pools.join("a.conf")]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in ["", "[", "[]", "[a", "=", "[a]\n=\nlisten", "\"", "[a]listen=\"x"] {
            assert_eq!(in_text(text, &Address::Unix("/x".into())), None, "{text:?}");
        }
    }
}
