//! What is known before a configuration is read, what it may ask of the system meanwhile, and what
//! is known at its end.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ast::Node;
use crate::diagnostic::Diagnostic;
use crate::guards::Guards;

/// What a configuration may ask of the system.
pub trait World {
    /// A variable of the environment.
    fn environment(&self, name: &str) -> Option<String>;
    /// The files behind the absolute path of an `Include`: one file, all files of a folder and
    /// below it, or what a pattern matches, in alphabetical order. With `optional` what is not
    /// there is left out.
    ///
    /// # Errors
    /// httpd's text for a path that does not exist or a pattern that matches nothing.
    fn files(&mut self, path: &str, optional: bool) -> Result<Vec<String>, String>;
    /// The content of a file.
    ///
    /// # Errors
    /// httpd's text for a file that cannot be read.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String>;
    /// Whether there is such a file or folder.
    fn exists(&mut self, path: &str) -> bool;
    /// Whether there is such a folder.
    fn is_folder(&mut self, path: &str) -> bool;
    /// Whether a regular expression is found in `subject`; `None` if it does not compile.
    fn matches(&mut self, pattern: &str, subject: &str) -> Option<bool>;
}

/// A module that `LoadModule` can name: `alias_module` and `mod_alias.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleName {
    /// As in `LoadModule` and `-M`.
    pub symbol: &'static str,
    /// As in `-l` and `<IfModule mod_alias.c>`.
    pub file: &'static str,
    /// Whether it is there without `LoadModule`.
    pub is_static: bool,
}

/// What is known before the first line is read.
pub struct StartFacts<'a> {
    /// `-D` names, and variables with a value.
    pub defines: Vec<(String, Option<String>)>,
    /// Every module that there is.
    pub modules: &'a [ModuleName],
    /// Whether `LoadModule` decides which modules are there, as in httpd. If not, each of
    /// `modules` may also be named by one without any effect.
    pub is_modular: bool,
    /// Whether a directive (`Listen`) or section (`<Directory`) has a row in one of the modules
    /// that are loaded by now.
    pub has_directive: &'a dyn Fn(&str, &[&'static str]) -> bool,
    /// What keeps something shut, and must not be skipped because a module is missing.
    pub guards: Guards,
    /// What relative paths are relative to, until `ServerRoot` says otherwise; absolute.
    pub server_root: String,
    /// The version that `<IfVersion>` compares with.
    pub version: [u32; 3],
    /// [`EXPANDED_BYTES_MAX`](super::EXPANDED_BYTES_MAX), but in tests.
    pub bytes_max: usize,
    /// Of a `.htaccess` file, which may not include files or load modules, what it may do.
    pub htaccess: Option<Permits<'a>>,
    /// Modules of httpd that the server was asked for before and that are not there.
    pub missing: &'a [&'static str],
    /// The MPM that runs whatever `LoadModule` says; `None` is the one that it named last.
    pub mpm: Option<&'static str>,
}

/// What a `.htaccess` file may do of what acts while it is read.
pub struct Permits<'a> {
    /// Whether it may use a name that may stand there at all (`Use`, `<IfModule`).
    pub may_use: &'a dyn Fn(&str) -> bool,
    /// Whether it may name what it may not do, without any effect
    /// (`AllowOverride Nonfatal=Override`).
    pub passes_over: bool,
}

/// The expanded configuration.
#[derive(Debug, Default)]
pub struct Expanded {
    /// What is left of each tree.
    pub nodes: Vec<Vec<Node>>,
    /// Everything that was said, by the parser or here, in the order in which httpd would find it.
    pub diagnostics: Vec<Diagnostic>,
    /// Modules that are there, static ones first, then in the order of `LoadModule`.
    pub loaded: Vec<&'static str>,
    /// What each `LoadModule` named: symbol, and absolute path.
    pub module_files: Vec<(String, String)>,
    /// MPMs that a `LoadModule` named, in order. Of these only one is `loaded`.
    pub mpms: Vec<&'static str>,
    /// Whether a condition asked for an MPM.
    pub asks_for_mpm: bool,
    /// Modules of httpd that a `LoadModule` named and that are not ours.
    pub missing: Vec<&'static str>,
    /// Files that were included, for `DUMP_INCLUDES`.
    pub included: Vec<Included>,
    /// Variables at the end, for `-S`.
    pub defines: Vec<(String, Option<String>)>,
    /// `ServerRoot` at the end.
    pub server_root: String,
    /// `DefaultRuntimeDir`, if there was one; absolute.
    pub runtime_dir: Option<String>,
}

/// A file that was included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Its absolute path.
    pub path: String,
    /// How many `Include` lines led to it.
    pub depth: usize,
    /// The line of the last of them.
    pub line: u32,
}
