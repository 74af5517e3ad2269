//! What `trivet serve` configures when nobody configures anything: a text in the configuration
//! language, so that the defaults are as visible as any other configuration.

use config::Node;
use runtime::process;
use server::MpmKind;
use server::site::builder::ServerDraft;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The name of this source in messages.
pub(crate) const SOURCE_NAME: &str = "trivet serve";

/// What the command line of `trivet serve` says.
#[derive(Clone, Debug, Default)]
pub struct Serve {
    /// The folder to serve; unused if there is a file.
    pub folder: PathBuf,
    /// `--config`: a file that is the whole configuration, but for `listen` and `directives`. Its
    /// path is absolute, and is read again at each restart.
    pub file: Option<PathBuf>,
    /// `--listen`, in order.
    pub listen: Vec<SocketAddr>,
    /// `--mpm`, which wins over every `LoadModule`.
    pub mpm: Option<MpmKind>,
    /// `--php`: who runs scripts; without one they are not run.
    pub php: Option<Php>,
    /// `-c` lines, in order; applied last.
    pub directives: Vec<String>,
    /// Whether a person watches: one short line per request goes to standard output.
    pub prints_requests: bool,
}

/// Who runs PHP scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Php {
    /// This server itself, with its module file.
    Embedded,
    /// What this handler names.
    Handler(String),
    /// Processes of this program, which the server keeps.
    Program(String),
}

impl Serve {
    /// The configuration that comes before `directives`.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub fn configuration(&self) -> Result<String, String> {
        text(self)
    }
}

/// Whether a line brings its own `Listen`, which replaces the default address.
pub(crate) fn is_listen(node: &Node) -> bool {
    node.line().name().eq_ignore_ascii_case("listen")
}

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// What cannot be left out: where to listen, and as root whom the children become.
pub(crate) fn complete(serve: &Serve, draft: &mut ServerDraft) -> Result<(), String> {
    if draft.listen.is_empty() {
        draft.listen.push(DEFAULT_LISTEN);
    }
    match &serve.file {
        Some(file) if draft.user.is_none() && process::is_root() => Err(format!(
            "AH02155: running as root, but {} names no user for the child processes: add User and \
             Group",
            file.display()
        )),
        _ => Ok(()),
    }
}

/// Users to become as root, the first that exists.
const USERS: &[&str] = &["www-data", "nobody"];

/// The configuration as text.
pub(crate) fn text(serve: &Serve) -> Result<String, String> {
    if serve.file.is_some() {
        return Ok(serve.listen.iter().map(|address| format!("Listen {address}\n")).collect());
    }
    let folder = serve.folder.to_str().filter(|path| !path.contains(['"', '\n', '\\']));
    let folder = folder.ok_or_else(|| {
        format!(
            "cannot serve {}: its name contains a quote, a backslash, a line end or bytes that are \
             not UTF-8, which a configuration cannot express",
            serve.folder.display()
        )
    })?;
    let mut text = listen_lines(serve);
    if process::is_root() {
        let user = USERS.iter().find(|name| process::user_by_name(name).is_some());
        let user = user.ok_or(
            "AH02155: running as root, but neither user www-data nor user nobody exists: start \
             trivet as an ordinary user, or name one with -c 'User NAME'",
        )?;
        text.push_str(&format!("User {user}\n"));
    }
    text.push_str(&format!(
        "DocumentRoot \"{folder}\"\n\
         MaxKeepAliveRequests 0\n\
         TraceEnable Off\n\
         DirectoryIndex index.html index.htm index.php\n\
         Options Indexes SymLinksIfOwnerMatch\n\
         HiddenNames .ht .git\n\
         IndexOptions FancyIndexing HTMLTable VersionSort FoldersFirst NameWidth=* \
         SuppressDescription Charset=UTF-8\n\
         IndexIgnore .??* *~ *#\n\
         <Location /server-status>\n\
         SetHandler server-status\n\
         Require local\n\
         </Location>\n"
    ));
    if let Some(php) = &serve.php {
        if *php == Php::Embedded {
            text.push_str("PHPModuleFile auto\n");
        }
        text.push_str("<FilesMatch \"\\.(?:php|phtml|phar)$\">\n");
        text.push_str(&match php {
            Php::Embedded => "SetHandler application/x-httpd-php\n".to_owned(),
            Php::Handler(handler) => format!("SetHandler \"{handler}\"\n"),
            Php::Program(program) => {
                format!("SetHandler fcgid-script\nOptions +ExecCGI\nFcgidWrapper \"{program}\"\n")
            }
        });
        text.push_str("</FilesMatch>\n");
    }
    if serve.prints_requests {
        text.push_str("CustomLog - \"%{%H:%M:%S}t %a %>s %r %B bytes %{ms}T ms\"\n");
    }
    Ok(text)
}

fn listen_lines(serve: &Serve) -> String {
    if serve.listen.is_empty() {
        return format!("Listen {DEFAULT_LISTEN}\n");
    }
    serve.listen.iter().map(|address| format!("Listen {address}\n")).collect()
}
