//! What every server of the comparison is given to serve.

use std::path::Path;

/// What a server is to serve, and with what it may work.
#[derive(Debug)]
pub(super) struct BenchSite<'a> {
    pub(super) port: u16,
    /// The folder that is served.
    pub(super) docroot: &'a Path,
    /// A folder for the server's own files.
    pub(super) home: &'a Path,
    /// The access log, if one is wanted, in the combined format.
    pub(super) log: Option<&'a Path>,
    /// Whether connections must stay open for long without a request.
    pub(super) idle: bool,
    pub(super) cores: usize,
    /// Sections for other requests, and virtual hosts: only httpd's configuration has them.
    pub(super) sections: u32,
    pub(super) hosts: u32,
    /// Only the configurations of an MPM have these: how many requests at once, addresses to
    /// listen on (each has a queue of its own), and paths at which trivet takes its time.
    pub(super) pool: WorkerPool,
    pub(super) addresses: u32,
    pub(super) handlers: bool,
    /// Where the PHP-FPM listens that runs scripts; only trivet and nginx know of it.
    pub(super) fpm: Option<&'a Path>,
    /// The `.htaccess` files and rules that are there; only the configurations of `rules.rs`, and
    /// nginx's, know of them.
    pub(super) rules: Option<RuledSite>,
    /// Whether the server can become www-data.
    pub(super) root: bool,
}

/// One of the three MPMs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mpm {
    Prefork,
    Worker,
    Event,
}

/// How many requests a server may work on at once, and whether it is ready for them beforehand.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum WorkerPool {
    /// As many as there are workers, all of them started beforehand. Under event, which has no
    /// worker for a request, so many in each process.
    #[default]
    Standing,
    /// As many in the beginning, but most idle ones are ended, as httpd's own settings would.
    Shrinking,
    /// Event: so many in each process, since connections need not be spread evenly over them.
    Slots(u32),
}

/// A site that lives by `.htaccess` files or by rewriting. Its files and rules are in `rules.rs`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RuledSite {
    /// An `.htaccess` file in each of many folders.
    Deep,
    /// WordPress's rules, which lead to a page.
    Permalink,
    /// The same, which lead to a script.
    PermalinkPhp,
    /// Many rules for other requests.
    Moved,
    /// The same, while trivet keeps no response for others.
    MovedUnshared,
}
