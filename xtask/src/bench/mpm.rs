//! The configuration of an httpd under each of its three MPMs. Trivet and Apache are given the
//! same text, so that the same number of workers stands on both sides.

use std::fmt::Write;

use super::procs;
use super::site::{BenchSite, Mpm, WorkerPool};

/// Workers under prefork and worker: processes of the one, threads of the other.
pub(super) const WORKERS: u32 = 256;

/// What `ListenBacklog` asks for; the kernel gives no more than net.core.somaxconn.
pub(super) const BACKLOG: u32 = 4096;

/// Idle processes that prefork keeps where it may end the others.
pub(super) const MAX_SPARE_SERVERS: u32 = 10;

/// Paths at which trivet takes its time, and the handler that does. Only trivet knows them.
const HANDLERS: &[(&str, &str)] = &[("/wait", "trivet-wait"), ("/cpu", "trivet-cpu")];

/// Modules besides the MPM. Those for logs and users are built into Debian's apache2.
const MODULES: &[&str] = &["authz_core", "mime", "dir"];

/// The text of the file.
pub(super) fn config(mpm: Mpm, site: &BenchSite<'_>) -> String {
    let BenchSite { port, .. } = site;
    let (home, docroot) = (site.home.display(), site.docroot.display());
    let user = if site.root { "User www-data\nGroup www-data\n" } else { "" };
    let log = site.log.map_or(String::new(), |file| {
        format!("CustomLog {} \"%h %l %u %t \\\"%r\\\" %>s %b\"\n", file.display())
    });
    let name = mpm.name();
    let mut text = format!(
        "ServerRoot {home}
DefaultRuntimeDir {home}
ServerName localhost
ListenBacklog {BACKLOG}
PidFile {home}/pid
ErrorLog {home}/error.log
{user}{log}LoadModule mpm_{name}_module /usr/lib/apache2/modules/mod_mpm_{name}.so
"
    );
    for module in MODULES {
        let file = format!("/usr/lib/apache2/modules/mod_{module}.so");
        let _ = writeln!(text, "LoadModule {module}_module {file}");
    }
    (1..=site.addresses).for_each(|nth| text.push_str(&format!("Listen 127.0.0.{nth}:{port}\n")));
    text.push_str(&pool(mpm, site));
    let _ = write!(
        text,
        "KeepAlive On
KeepAliveTimeout 300
MaxKeepAliveRequests 0
TypesConfig /etc/mime.types
DocumentRoot {docroot}
DirectoryIndex index.html
<Directory {docroot}>
    Require all granted
    AllowOverride None
</Directory>
"
    );
    if site.handlers {
        text.extend(HANDLERS.iter().map(|(path, handler)| {
            format!("<Location {path}>\n    SetHandler {handler}\n</Location>\n")
        }));
    }
    text
}

/// Whether a path is one at which trivet takes its time, rather than that of a file.
pub(super) fn is_handled(path: &str) -> bool {
    HANDLERS.iter().any(|(handled, _)| path.starts_with(handled))
}

/// Whether all workers are there that are to be started beforehand.
pub(super) fn has_its_workers(mpm: Mpm, pid: u32) -> bool {
    match mpm {
        Mpm::Prefork => WORKERS <= procs::children(pid),
        // Each process has its first thread beside those that are workers.
        Mpm::Worker => WORKERS + procs::children(pid) <= procs::threads_of_children(pid),
        Mpm::Event => true,
    }
}

/// The directives that say how many there are.
#[rustfmt::skip] // a table
fn pool(mpm: Mpm, site: &BenchSite<'_>) -> String {
    let cores = site.cores;
    let children = u32::try_from(cores).unwrap_or(u32::MAX);
    match (mpm, site.pool) {
        (Mpm::Prefork, WorkerPool::Shrinking) => lines(&[
            ("StartServers", WORKERS),
            ("MinSpareServers", 5), ("MaxSpareServers", MAX_SPARE_SERVERS),
            ("ServerLimit", WORKERS), ("MaxRequestWorkers", WORKERS),
        ]),
        (Mpm::Prefork, _) => lines(&[
            ("StartServers", WORKERS), ("MinSpareServers", 1), ("MaxSpareServers", WORKERS),
            ("ServerLimit", WORKERS), ("MaxRequestWorkers", WORKERS),
        ]),
        (Mpm::Worker, WorkerPool::Shrinking) => lines(&[
            ("StartServers", WORKERS / 32), ("ServerLimit", WORKERS / 32),
            ("ThreadLimit", 32), ("ThreadsPerChild", 32),
            ("MinSpareThreads", 32), ("MaxSpareThreads", 96), ("MaxRequestWorkers", WORKERS),
        ]),
        (Mpm::Worker, _) => lines(&[
            ("StartServers", 4), ("ServerLimit", 4),
            ("ThreadLimit", WORKERS / 4), ("ThreadsPerChild", WORKERS / 4),
            ("MinSpareThreads", 1), ("MaxSpareThreads", WORKERS), ("MaxRequestWorkers", WORKERS),
        ]),
        (Mpm::Event, pool) => {
            let slots = if let WorkerPool::Slots(slots) = pool { slots } else { WORKERS };
            lines(&[
                ("StartServers", children), ("ServerLimit", children),
                ("ThreadLimit", slots), ("ThreadsPerChild", slots),
                ("MinSpareThreads", 1), ("MaxSpareThreads", children * slots),
                ("MaxRequestWorkers", children * slots),
                // Connections are (factor + 1) x MaxRequestWorkers.
                ("AsyncRequestWorkerFactor", 20),
            ])
        }
    }
}

fn lines(directives: &[(&str, u32)]) -> String {
    directives.iter().map(|(name, value)| format!("{name} {value}\n")).collect()
}

impl Mpm {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Prefork => "prefork",
            Self::Worker => "worker",
            Self::Event => "event",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::peers::tests::site;
    use super::*;

    #[test]
    fn as_many_workers_stand_as_are_said() {
        let site = site(None, false);
        for (mpm, line) in [
            (Mpm::Prefork, "StartServers 256\nMinSpareServers 1\nMaxSpareServers 256\n"),
            (Mpm::Worker, "StartServers 4\nServerLimit 4\nThreadLimit 64\nThreadsPerChild 64\n"),
            (Mpm::Event, "ThreadsPerChild 256\n"),
        ] {
            let text = config(mpm, &site);
            assert!(text.contains(line), "{text}");
            assert!(text.contains(&format!("mod_mpm_{}.so", mpm.name())), "{text}");
        }
    }

    #[test]
    fn no_process_of_event_has_fewer_slots_than_there_are_waits() {
        let text =
            config(Mpm::Event, &BenchSite { pool: WorkerPool::Slots(2000), ..site(None, false) });
        assert!(text.contains("ThreadsPerChild 2000\n"), "{text}");
        assert!(text.contains("MaxRequestWorkers 4000\n"), "{text}");
    }

    #[test]
    fn handlers_and_addresses_are_there_where_they_are_needed() {
        let plain = config(Mpm::Worker, &site(None, false));
        assert!(!plain.contains("SetHandler") && plain.matches("Listen 127").count() == 1);
        let more = BenchSite { handlers: true, addresses: 3, ..site(None, false) };
        let text = config(Mpm::Worker, &more);
        assert_eq!(text.matches("SetHandler trivet-").count(), 2);
        assert!(text.contains("Listen 127.0.0.3:8100\n"), "{text}");
        assert!(is_handled("/wait?ms=200") && !is_handled("/index.html"));
    }
}
