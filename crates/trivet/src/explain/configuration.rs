//! Which configuration a request is explained for: the one that `trivet serve` would have with a
//! folder or `--config`, else the one that httpd's options name.

use crate::httpd;
use crate::problem::Problem;
use crate::{php, serve};
use modules::{Configured, Serve};
use server::Server;
use std::path::PathBuf;

/// What the command line says about the configuration.
#[derive(Default)]
pub(super) struct ConfigurationOptions {
    /// The folder of `trivet serve`.
    pub(super) folder: Option<PathBuf>,
    /// `--config`
    pub(super) served: Option<PathBuf>,
    /// `-f`
    pub(super) file: Option<String>,
    /// `-d`
    pub(super) root: Option<String>,
    /// `-D`
    pub(super) defines: Vec<String>,
    /// `-C`
    pub(super) before: Vec<String>,
    /// `-c`
    pub(super) lines: Vec<String>,
    /// `--php`
    pub(super) php: Option<String>,
}

/// A server that explains.
pub(super) struct OpenedConfiguration {
    pub(super) server: Server,
    /// The file or the folder.
    pub(super) name: String,
    /// Warnings.
    pub(super) report: String,
}

impl ConfigurationOptions {
    /// Read and open it.
    pub(super) fn open(self) -> Result<OpenedConfiguration, Problem> {
        let is_served = self.folder.is_some() || self.served.is_some();
        let is_httpds = self.file.is_some() || self.root.is_some();
        if is_served && (is_httpds || !self.defines.is_empty() || !self.before.is_empty()) {
            let text = "a folder or --config is for what trivet serve does, and -f, -d, -D and -C \
                        for what trivet -k start does: not both";
            return Err(Problem::Usage(text.into()));
        }
        if self.php.is_some() && self.folder.is_none() {
            return Err(Problem::Usage("--php goes with a folder".into()));
        }
        if is_served { self.open_served() } else { self.open_httpd() }
    }

    /// As `trivet serve` has it.
    fn open_served(self) -> Result<OpenedConfiguration, Problem> {
        let php = self.php.as_deref().map(php::parse).transpose()?.flatten();
        let mut serve = Serve { directives: self.lines, ..Serve::default() };
        serve.php = php.and_then(|runner| runner.php);
        let name = match (self.served, self.folder) {
            (Some(_), Some(_)) => {
                let text = "a folder and --config exclude each other";
                return Err(Problem::Usage(text.into()));
            }
            (Some(file), None) => {
                let file = serve::canonical_file(&file)?;
                let name = file.display().to_string();
                serve.file = Some(file);
                name
            }
            (None, folder) => {
                serve.folder = serve::canonical_folder(&folder.unwrap_or_default())?;
                serve.folder.display().to_string()
            }
        };
        let (server, report) = serve.open_to_explain().map_err(Problem::Failed)?;
        Ok(OpenedConfiguration { server, name, report: report.text })
    }

    /// As httpd's options have it.
    fn open_httpd(self) -> Result<OpenedConfiguration, Problem> {
        let Self { file, root: server_root, defines, before, lines: after, .. } = self;
        let httpd = httpd::configuration(file, server_root, defines, before, after)?;
        let configured = Configured::read(&httpd).map_err(|why| Problem::Plain(why.text))?;
        let server = configured.open_to_explain().map_err(Problem::Failed)?;
        let report = configured.text.clone();
        Ok(OpenedConfiguration { server, name: httpd.file.display().to_string(), report })
    }
}
