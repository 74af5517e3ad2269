//! The command line of httpd: what a program does that is called with options only, or that is
//! called `httpd` or `apache2` (main() of httpd's main.c).

mod control;
mod daemon;
mod dump;
mod envvars;
mod options;
mod usage;
mod version;

use crate::problem::{Problem, program, say};
use crate::serve::sizes;
use control::{ControlStep, ControlWord};
use modules::{Configured, Httpd, RefusedConfiguration};
use options::{Early, HttpdOptions};
use runtime::ServiceManager;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

pub(crate) use version::short as version;

/// Names under which the program is httpd whatever its arguments are.
const NAMES: &[&str] = &["httpd", "apache2"];

/// Whether a command line is httpd's: `words` are what follows the name of the program. Long
/// options belong to `trivet` itself.
pub(crate) fn is_meant(program: &str, words: &[String]) -> bool {
    let first = words.first().map_or("", String::as_str);
    NAMES.contains(&program) || (first.starts_with('-') && !first.starts_with("--"))
}

/// Do what the options ask for; the result is the exit code.
pub(crate) fn run(
    program: &str,
    words: &[String],
    manager: ServiceManager,
) -> Result<i32, Problem> {
    let options = match HttpdOptions::read(words) {
        Ok(options) => options,
        Err(Early::Version) => return Ok(printed(&version::short())),
        Err(Early::Modules) => return Ok(printed(&dump::static_modules())),
        Err(Early::Usage(mistake)) => {
            let mistake = mistake.map_or(String::new(), |text| format!("{program}: {text}\n"));
            return Err(Problem::Plain(mistake + &usage::usage(&called_as())));
        }
    };
    if let Some(path) = &options.error_file {
        match OpenOptions::new().append(true).create(true).open(path) {
            // What is written to standard error from here on stands in the file.
            Ok(file) => runtime::sys::duplicate_to(&file, 2)
                .map_err(|error| Problem::Failed(format!("cannot write to {path}: {error}")))?,
            // It goes where it went before then (log.c, ap_replace_stderr_log).
            Err(error) => complain(&format!(
                "{}: AH00086: {program}: could not open error log file {path}.\n",
                runtime::os_error::numbered(&error)
            )),
        }
    }
    let httpd = asked(program, &options)?;
    if options.shows_version {
        let (mpm, said) = match Configured::mpm_of(&httpd) {
            Ok((mpm, text)) => (mpm, Ok(text)),
            Err(RefusedConfiguration { text, mpm, .. }) => (mpm, Err(Problem::Plain(text))),
        };
        say(&version::long(mpm));
        complain(&said?);
        return Ok(0);
    }
    match Configured::read(&httpd) {
        Ok(configured) => {
            // A running server is told to read again what `-t` has just been asked about.
            let is_told = options.control.is_some_and(|control| control != ControlWord::Start);
            match is_told {
                true => complain(&configured.repeated()),
                false => complain(&configured.text),
            }
            complain(&configured.summary);
            if httpd.shows_warnings() {
                complain(&sizes(configured.mpm()));
            }
            act(&options, &httpd, configured, manager)
        }
        Err(RefusedConfiguration { text, included, .. }) => {
            // It shows where the mistake may be: httpd reads a line at a time, and has it by then.
            if options.is_defined(dump::INCLUDES) {
                say(&dump::includes(&httpd.file, &included));
            }
            Err(Problem::Plain(text))
        }
    }
}

/// The configuration can be used.
fn act(
    options: &HttpdOptions,
    httpd: &Httpd,
    configured: Configured,
    manager: ServiceManager,
) -> Result<i32, Problem> {
    // Whatever comes next ends the process or goes on with it: nothing is taken apart in between.
    let configured = ManuallyDrop::new(configured);
    let facts = &configured.facts;
    if options.lists_directives {
        return Ok(printed(&dump::directives(facts)));
    }
    if let Some(text) = dump::asked_for(options, &httpd.file, facts) {
        return Ok(printed(&text));
    }
    if options.tests {
        complain(&configured.advice_on_files(httpd));
        complain("Syntax OK\n");
        return Ok(0);
    }
    // httpd looks for a running server without -k, too.
    let control = options.control.unwrap_or(ControlWord::Start);
    match control::run(control, &facts.pid_file).map_err(Problem::Plain)? {
        ControlStep::End(text) => Ok(printed(&text)),
        ControlStep::Start(text) => {
            say(&text);
            daemon::start(options, httpd, ManuallyDrop::into_inner(configured), manager)
        }
    }
}

fn printed(text: &str) -> i32 {
    say(text);
    0
}

/// The name of the program as it was typed, which the usage begins with.
fn called_as() -> String {
    std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned()
}

/// On standard error, as it stands.
fn complain(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The configuration that these options name, to look at it: `-f`, `-d`, `-D`, `-C` and `-c`.
pub(crate) fn configuration(
    file: Option<String>,
    server_root: Option<String>,
    defines: Vec<String>,
    before: Vec<String>,
    after: Vec<String>,
) -> Result<Httpd, Problem> {
    let options =
        HttpdOptions { file, server_root, defines, before, after, ..HttpdOptions::default() };
    asked(&program(), &options)
}

/// What the options say about the configuration.
fn asked(program: &str, options: &HttpdOptions) -> Result<Httpd, Problem> {
    let here = std::env::current_dir()
        .map_err(|error| Problem::Failed(format!("cannot find the current folder: {error}")))?;
    let server_root = options.server_root.as_deref().unwrap_or(version::HTTPD_ROOT);
    let server_root = normal(&here.join(server_root));
    let file = options.file.as_deref().unwrap_or(version::SERVER_CONFIG_FILE);
    let environment = envvars::read(&server_root);
    make_run_folder(&environment);
    Ok(Httpd {
        program: program.to_owned(),
        file: normal(&server_root.join(file)),
        server_root,
        defines: options.defines.clone(),
        before: options.before.clone(),
        after: options.after.clone(),
        level: options.level.clone(),
        checks_document_root: !options.skips_document_root,
        environment,
    })
}

/// A path without `.`, `..` and doubled slashes; links are left alone.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            std::path::Component::Normal(name) => out.push(name),
            std::path::Component::ParentDir => drop(out.pop()),
            _ => {}
        }
    }
    out
}

/// The folder of the pid file is in memory on many systems, and `apache2ctl` makes it; so does
/// this, when it is `envvars` that names it and nobody has set it before.
fn make_run_folder(environment: &[(String, String)]) {
    const NAME: &str = "APACHE_RUN_DIR";
    let folder = environment.iter().find(|row| row.0 == NAME).map(|row| Path::new(&row.1));
    let is_ours = std::env::var_os(NAME).is_none() && runtime::process::is_root();
    if let Some(folder) = folder.filter(|folder| is_ours && folder.is_absolute()) {
        // If it cannot be made, what needs it says so.
        let _ = fs::create_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_names_mean_httpd() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (program, line, expected) in [
            ("trivet", "", false),
            ("trivet", "serve x", false),
            ("trivet", "--version", false),
            ("trivet", "-t", true),
            ("trivet", "-d /srv -k start", true),
            ("httpd", "", true),
            ("apache2", "--help", true),
        ] {
            assert_eq!(is_meant(program, &words(line)), expected, "{program} {line}");
        }
    }

    #[test]
    fn paths_are_made_plain() {
        assert_eq!(normal(Path::new("/a/./b//../c/")), Path::new("/a/c"));
        assert_eq!(normal(Path::new("/../x")), Path::new("/x"));
    }
}
