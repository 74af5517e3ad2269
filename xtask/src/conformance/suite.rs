//! Where the suite comes from, and the copy of it that a run works in.
//!
//! It is part of Debian's source package of apache2. apt fetches it with lists, caches and sources
//! of its own in the target folder, so that the machine's configuration stays as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lab::{self, SEEN};
use super::modules::HttpdServer;
use crate::bench::{php, programs};

/// What the suite and the namespaces need of Debian.
const PACKAGES: &[&str] = &[
    "iproute2",
    "libanyevent-perl",
    "libanyevent-websocket-client-perl",
    "libcrypt-ssleay-perl",
    "libdatetime-perl",
    "libfcgi-perl",
    "libhtml-parser-perl",
    "libhttp-dav-perl",
    "libnet-ssleay-perl",
    "libprotocol-http2-perl",
    "liburi-ws-perl",
    "libwww-perl",
    "openssl",
    "perl-doc",
    php::FPM.1,
    "util-linux",
    "xz-utils",
];

/// The areas of the suite that are about the server itself, and the one about PHP.
const AREAS: [&str; 5] = ["apache", "modules", "filter", "http11", "php"];

/// Tests that need a module of the suite that is written in C, from their first request on. No
/// server but httpd can load it, and httpd only one that is built against its headers.
const LACKING: &[(&str, &str)] = &[
    ("t/apache/chunkinput.t", "echo_post_chunk"),
    ("t/apache/contentlength.t", "echo_post"),
    ("t/apache/leaks.t", "memory_track"),
    ("t/apache/passbrigade.t", "test_pass_brigade"),
    ("t/apache/post.t", "eat_post"),
    ("t/apache/rwrite.t", "test_rwrite"),
    ("t/apache/teclchunk.t", "echo_post_chunk"),
    ("t/filter/input_body.t", "input_body_filter"),
    ("t/http11/basicauth.t", "authany"),
    ("t/http11/chunked.t", "echo_post_chunk"),
    ("t/http11/post.t", "eat_post"),
    ("t/modules/deflate.t", "echo_post"),
    ("t/modules/session.t", "test_session"),
];

/// Changes to the copy: file, what stands there, what stands there instead.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        // The suite measures with a function of its module test_utilities, and no server starts
        // without it. A pattern finds the same: the path is longer than twice the limit of the
        // request line.
        "t/conf/extra.conf.in",
        r#"RewriteCond expr "util_strlen(%{REQUEST_FILENAME}) -le @limitrequestlinex2@""#,
        r#"RewriteCond %{REQUEST_FILENAME} "!^.{@limitrequestlinex2@}.""#,
    ),
    (
        // Scripts run in PHP-FPM. The suite knows PHP as a module of the server only.
        "Apache-Test/lib/Apache/Test.pm",
        "return _need_multi(qw(php4 php5 sapi_apache2.c));",
        "return _need_multi(qw(php4 php5 sapi_apache2.c proxy_fcgi));",
    ),
    (
        "Apache-Test/lib/Apache/Test.pm",
        "return _need_multi(qw(php4 sapi_apache2.c));",
        "return _need_multi(qw(php4 sapi_apache2.c proxy_fcgi));",
    ),
    (
        // The folders that its tests of PHP ask for; others have a `.php` for other tests.
        "t/conf/extra.conf.in",
        "<IfModule @PHP_MODULE@>\n    AddType application/x-httpd-php .php\n",
        "<IfModule mod_proxy_fcgi.c>\n\
         <DirectoryMatch \"^@SERVERROOT@/htdocs/(php|apache/acceptpathinfo)\">\n\
         <FilesMatch \"\\.php$\">\n\
         SetHandler \"proxy:unix:/mnt/fpm.sock|fcgi://localhost\"\n\
         </FilesMatch>\n</DirectoryMatch>\n</IfModule>\n\
         <IfModule @PHP_MODULE@>\n    AddType application/x-httpd-php .php\n",
    ),
    (
        // All other lines of mod_proxy are in such a section.
        "t/conf/proxy.conf.in",
        "ProxyPass /modules/proxy/fcgi-uds \
         \"unix:/tmp/apache-test-builtinfcgi.sock|fcgi://unused\"\n",
        "<IfModule mod_proxy.c>\nProxyPass /modules/proxy/fcgi-uds \
         \"unix:/tmp/apache-test-builtinfcgi.sock|fcgi://unused\"\n</IfModule>\n",
    ),
];

/// The PHP-FPM of a run. Short tags are what PHP 4 had, for which most of the scripts were written;
/// that messages are not part of a page is what php.ini-production says.
const POOL: &str = "\
[global]
error_log = /mnt/out/fpm.log
[www]
listen = /mnt/fpm.sock
pm = static
pm.max_children = 2
php_admin_flag[display_errors] = off
php_admin_flag[log_errors] = on
php_admin_flag[register_argc_argv] = on
php_admin_flag[short_open_tag] = on
";

/// Fetches into "$1" the newest source of apache2 that the archive still has: mirrors drop the file
/// of a version before its name. Prints the version.
const FETCH: &str = r#"
set -e
mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial" "$1/source"
cd "$1/source"
apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI) $(CODENAME)' \
    'Created-By: Packages' |
    sed -n 's/^\(Debian\|Ubuntu\) main \(.*\)/deb-src \2 main/p' | sort -u > ../apt/sources.list
own="-o Dir::Etc::SourceList=$1/apt/sources.list -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists=$1/apt/lists -o Dir::Cache=$1/apt/cache -o APT::Sandbox::User=root"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -e $keyring ]; then
    sed -i "s|^deb-src |deb-src [signed-by=$keyring] |" ../apt/sources.list
fi
apt-get $own -qq update >&2
newest=$(for version in $(apt-cache $own showsrc --only-source apache2 |
    sed -n 's/^Version: //p' | sort -u); do echo "$version"; done | sort -rV)
for version in $newest; do
    if apt-get $own -qq source --download-only --diff-only apache2="$version" >&2; then
        tar -xJf apache2_"${version#*:}".debian.tar.xz debian/perl-framework
        echo "$version"
        exit 0
    fi
done
echo 'no version of apache2 could be fetched' >&2
exit 1
"#;

/// The suite as it was fetched.
#[derive(Debug)]
pub(super) struct Suite {
    folder: PathBuf,
    /// Debian's version of the source package.
    pub(super) version: String,
}

/// The C module without which a test cannot run at all.
pub(super) fn lacks_module(file: &str) -> Option<&'static str> {
    LACKING.iter().find(|(path, _)| *path == file).map(|(_, module)| *module)
}

/// Installs what is missing, as root or through sudo.
pub(super) fn install_packages() -> Result<(), String> {
    let is_there = |package: &str| {
        let asked = Command::new("dpkg-query")
            .args(["-W", "-f=${db:Status-Status}", package])
            .stderr(Stdio::null())
            .output();
        asked.is_ok_and(|answer| answer.stdout == b"installed")
    };
    let missing: Vec<&str> = PACKAGES.iter().copied().filter(|name| !is_there(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("conformance: installing {}", missing.join(" "));
    if programs::install(&missing) {
        return Ok(());
    }
    Err(format!("please install as root: apt-get install {}", missing.join(" ")))
}

/// Fetches the suite into `folder`, unless it is there.
pub(super) fn fetch(folder: &Path) -> Result<Suite, String> {
    let told = folder.join("version");
    if !told.exists() {
        let script = Command::new("sh").args(["-c", FETCH, "fetch"]).arg(folder).output();
        let done = script.map_err(|error| format!("cannot run sh: {error}"))?;
        if !done.status.success() {
            let errors = String::from_utf8_lossy(&done.stderr);
            return Err(format!("the suite cannot be fetched:\n{errors}"));
        }
        fs::write(&told, &done.stdout).map_err(|error| error.to_string())?;
    }
    let version = fs::read_to_string(&told).map_err(|error| error.to_string())?;
    let version = version.trim().to_owned();
    Ok(Suite { folder: folder.to_owned(), version })
}

impl Suite {
    fn framework(&self) -> PathBuf {
        self.folder.join("source/debian/perl-framework")
    }

    /// Makes the folder of a run: a fresh copy of the suite, the server, its modules and the place
    /// for what the tests write, all owned by the user of the tests.
    pub(super) fn lay_out(&self, server: &HttpdServer, mpm: &str) -> Result<PathBuf, String> {
        let run = self.folder.join("run");
        let failed = |error: std::io::Error| format!("{}: {error}", run.display());
        match fs::remove_dir_all(&run) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => fs::create_dir_all(run.join("out")).map_err(failed)?,
        }
        command("cp", &["-a"], &[&self.framework(), &run.join("perl-framework")])?;
        change(&run.join("perl-framework"))?;
        fs::create_dir(run.join("bin")).map_err(failed)?;
        fs::copy(&server.binary, run.join(lab::SERVER)).map_err(failed)?;
        let seen = format!("{SEEN}/modules");
        let modules = server.module_conf(mpm, &run.join("modules"), &seen)?;
        fs::write(run.join(lab::MODULES), modules).map_err(failed)?;
        fs::write(run.join(lab::HOSTS), "127.0.0.1 localhost\n").map_err(failed)?;
        fs::write(run.join(lab::POOL), POOL).map_err(failed)?;
        if programs::is_root() {
            command("chown", &["-R", lab::OWNER], &[&run])?;
        }
        Ok(run)
    }

    /// The test files that the words name, in the suite's order; all without any word.
    pub(super) fn choose(&self, words: &[String]) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        for area in AREAS {
            all.extend(self.area(area)?);
        }
        if words.is_empty() {
            return Ok(all);
        }
        for word in words {
            if !all.iter().any(|file| is_named(file, word)) {
                return Err(format!("{word} names no test of {}", AREAS.join(", ")));
            }
        }
        all.retain(|file| words.iter().any(|word| is_named(file, word)));
        Ok(all)
    }

    fn area(&self, area: &str) -> Result<Vec<String>, String> {
        let folder = self.framework().join("t").join(area);
        let failed = |error| format!("{}: {error}", folder.display());
        let entries = fs::read_dir(&folder).map_err(failed)?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // The suite asks `all.t` whether a folder can run at all.
        let tests = names.filter(|name| name.ends_with(".t") && name != "all.t");
        let mut files: Vec<String> = tests.map(|name| format!("t/{area}/{name}")).collect();
        files.sort_by(|a, b| stem(a).cmp(stem(b)));
        Ok(files)
    }
}

fn stem(file: &str) -> &str {
    file.trim_end_matches(".t")
}

/// Whether a word is the file's area, its name, or its path.
fn is_named(file: &str, word: &str) -> bool {
    let name = stem(file.trim_start_matches("t/"));
    let word = stem(word.trim_start_matches("t/").trim_end_matches('/'));
    name == word || name.split('/').next() == Some(word)
}

/// Applies [`CHANGES`]; one that finds nothing is an error, for then the suite is another.
fn change(framework: &Path) -> Result<(), String> {
    for (file, from, to) in CHANGES {
        let path = framework.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        if !text.contains(from) {
            return Err(format!("{file} of the suite has no line {from}"));
        }
        fs::write(&path, text.replace(from, to)).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(())
}

fn command(program: &str, flags: &[&str], paths: &[&Path]) -> Result<(), String> {
    let status = Command::new(program).args(flags).args(paths).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} ended with {status}")),
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_in_three_ways() {
        for word in ["modules", "modules/", "modules/alias", "t/modules/alias.t", "t/modules"] {
            assert!(is_named("t/modules/alias.t", word), "{word}");
        }
        for word in ["alias", "module", "modules/ali", "modules/alias2", "http11"] {
            assert!(!is_named("t/modules/alias.t", word), "{word}");
        }
    }

    #[test]
    fn what_needs_a_c_module_says_which() {
        assert_eq!(lacks_module("t/modules/session.t"), Some("test_session"));
        assert_eq!(lacks_module("t/modules/alias.t"), None);
    }
}
