//! From what `trivet serve` was told to a server: the defaults, the lines of the administrator, and
//! what is wrong with them.

use crate::MODULES;
use crate::defaults::{self, Serve};
use config::index::FoundRow;
use config::{ConfigTree, Diagnostic, DirectiveIndex, Node, Severity, SourceText, StartFacts};
use server::MpmKind;
use server::Server;
use server::identity;
use server::site::builder::Builder;
use server::site::world::{self, System};
use std::path::{Path, PathBuf};

/// A configuration that cannot be used, or its warnings.
#[derive(Debug, Default)]
pub struct ConfigurationReport {
    /// Everything that was said about the text, ready to print; empty if there was nothing.
    pub text: String,
}

impl Serve {
    /// Build what `trivet serve` serves. The report holds warnings.
    ///
    /// # Errors
    /// A text for standard error that names every mistake, or what could not be opened.
    pub fn open(&self) -> Result<(Server, ConfigurationReport), String> {
        let (builder, index, report) = self.read()?;
        Ok((Server::open(&builder, index.into(), &MODULES)?, report))
    }

    /// Build what `trivet serve` would serve, to explain requests.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_explain(&self) -> Result<(Server, ConfigurationReport), String> {
        let (builder, index, report) = self.read()?;
        Ok((Server::open_to_explain(&builder, index.into(), &MODULES)?, report))
    }

    /// Read what there is to say.
    fn read(&self) -> Result<(Builder, DirectiveIndex<Builder>, ConfigurationReport), String> {
        let serve = self;
        let text = defaults::text(serve)?;
        let mut builder = Builder::default();
        builder.server.mpm.sizes_itself = true;
        let index = MODULES.index();
        let own = config::parse(defaults::SOURCE_NAME, text.as_bytes(), 1);
        let mut said = config::apply(&own.nodes, &index, &mut builder);
        let (expanded, kind) = expand_for_mpm(serve, &index)?;
        builder.server.mpm.kind = kind;
        said.extend(expanded.diagnostics);
        builder.server.root = expanded.server_root.unwrap_or_default();
        builder.server.named = expanded.named;
        builder.server.missing = expanded.missing;
        builder.server.defines = expanded.defines;
        // Under `--config` there is no default to be replaced.
        if serve.listen.is_empty() && expanded.nodes.iter().any(defaults::is_listen) {
            builder.server.listen.clear();
        }
        said.extend(config::apply(&expanded.nodes, &index, &mut builder));
        builder.server.tree = expanded.nodes.into();
        said.extend(MODULES.check(&builder));
        said.extend(MODULES.advise(&builder, None));
        builder.settle(&mut said);
        let report = ConfigurationReport { text: render(&said) };
        if said.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(report.text);
        }
        defaults::complete(serve, &mut builder.server)?;
        Ok((builder, index, report))
    }
}

/// What the lines of the administrator say, without all that acts while they are read.
struct ServeLines {
    nodes: Vec<Node>,
    diagnostics: Vec<Diagnostic>,
    /// `ServerRoot`, if there is one; under `--config` there always is.
    server_root: Option<PathBuf>,
    /// MPMs that were asked for, in order.
    mpms: Vec<&'static str>,
    /// Modules that were asked for.
    named: Vec<String>,
    /// Modules of httpd that were asked for and are not there.
    missing: Vec<&'static str>,
    /// Variables, for `.htaccess` files.
    defines: Vec<(String, Option<String>)>,
}

/// Read the lines for the MPM that runs: that of `--mpm`, else the last of `LoadModule`.
fn expand_for_mpm(
    serve: &Serve,
    index: &DirectiveIndex<Builder>,
) -> Result<(ServeLines, MpmKind), String> {
    let assumed = serve.mpm.unwrap_or_default();
    let expanded = expand(serve, index, serve.mpm)?;
    let last = expanded.mpms.last().and_then(|symbol| MpmKind::of_symbol(symbol));
    match last {
        // Conditions before the last `LoadModule` have to be asked again.
        Some(kind) if serve.mpm.is_none() && (kind != assumed || expanded.mpms.len() > 1) => {
            Ok((expand(serve, index, Some(kind))?, kind))
        }
        _ => Ok((expanded, assumed)),
    }
}

/// Read the lines and what they include.
fn expand(
    serve: &Serve,
    index: &DirectiveIndex<Builder>,
    mpm: Option<MpmKind>,
) -> Result<ServeLines, String> {
    let folder = match &serve.file {
        Some(file) => file.parent().map(Path::to_owned).unwrap_or_default(),
        None => std::env::current_dir()
            .map_err(|error| format!("cannot find the current directory: {error}"))?,
    };
    let modules = MODULES.names();
    let start = StartFacts {
        defines: Vec::new(),
        modules: &modules,
        is_modular: false,
        has_directive: &|name, _| matches!(index.find(name), FoundRow::Row(_)),
        guards: MODULES.guards,
        server_root: folder.to_string_lossy().into_owned(),
        version: identity::VERSION,
        bytes_max: config::expand::EXPANDED_BYTES_MAX,
        htaccess: None,
        missing: &[],
        mpm: mpm.map(MpmKind::symbol),
    };
    let mut trees = Vec::new();
    if let Some(file) = &serve.file {
        let name = file.to_string_lossy();
        let text = world::read_file(&name).map_err(|error| world::cannot_open(&name, &error))?;
        trees.push(config::parse_file(&name, text));
    }
    trees.push(command_line(&serve.directives));
    let expanded = config::expand(trees, &start, &mut System);
    let is_set = serve.file.is_some() || expanded.server_root != start.server_root;
    Ok(ServeLines {
        nodes: expanded.nodes.into_iter().flatten().collect(),
        diagnostics: expanded.diagnostics,
        server_root: is_set.then(|| expanded.server_root.into()),
        mpms: expanded.mpms,
        named: expanded.module_files.into_iter().map(|row| row.0).collect(),
        missing: expanded.missing,
        defines: expanded.defines,
    })
}

/// The `-c` lines. httpd numbers the options of its command line as lines of one file.
pub(crate) fn command_line(directives: &[String]) -> ConfigTree {
    let sources: Vec<SourceText<'_>> = directives
        .iter()
        .zip(1..)
        .map(|(line, number)| SourceText {
            name: config::COMMAND_LINE,
            text: line.as_bytes(),
            first_line: number,
        })
        .collect();
    config::parse_sources(&sources)
}

fn render(said: &[Diagnostic]) -> String {
    if said.is_empty() { String::new() } else { config::diagnostic::render("trivet", said) }
}
