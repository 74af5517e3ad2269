//! The files that a run is written to. They are opened before it begins, so that nobody learns
//! after an hour that the folder is not there; they keep what they have until there is a run.

use super::super::Exit;
use super::draft::Fault;
use crate::report::{self, Record};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// What a file is to be: the option that asks for it, and the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    option: &'static str,
    write: fn(&Record) -> String,
}

/// One page with plots.
pub(super) const HTML: Form = Form { option: "--html", write: report::html };
/// A line for each second.
pub(super) const CSV: Form = Form { option: "--csv", write: report::csv };
/// A table of percentiles.
pub(super) const HDR: Form = Form { option: "--hdr", write: report::hdr };
/// The run itself.
pub(super) const SAVED: Form = Form { option: "--save", write: report::json };

/// Files that can be written.
#[derive(Debug, Default)]
pub(super) struct Files(Vec<Opened>);

#[derive(Debug)]
struct Opened {
    form: Form,
    path: String,
    file: File,
    /// What it has already stays: it is the end of something else.
    is_stream: bool,
    /// It was not there before.
    is_new: bool,
    is_written: bool,
}

impl Files {
    /// Opens all of them.
    ///
    /// # Errors
    /// The first that cannot be written; or two that are the same.
    pub(super) fn open(asked: &[(Form, String)]) -> Result<Self, Fault> {
        let mut files = Self::default();
        for (form, path) in asked {
            if let Some(other) = files.0.iter().find(|other| other.path == *path) {
                let text = format!("{} and {}: both are {path}", other.form.option, form.option);
                return Err((Exit::Usage, text));
            }
            let opened = Opened::new(*form, path);
            files.0.push(opened.map_err(|error| fault(*form, path, &error))?);
        }
        Ok(files)
    }

    /// Writes the run to all of them.
    ///
    /// # Errors
    /// The first that could not be written; the others are.
    pub(super) fn write(&mut self, record: &Record) -> Result<(), Fault> {
        let mut result = Ok(());
        for opened in &mut self.0 {
            if let Err(error) = opened.write(record) {
                result = result.and(Err(fault(opened.form, &opened.path, &error)));
            }
        }
        result
    }
}

fn fault(form: Form, path: &str, error: &io::Error) -> Fault {
    (Exit::File, format!("{} {path}: {error}", form.option))
}

impl Opened {
    fn new(form: Form, path: &str) -> io::Result<Self> {
        // /dev/stdout may be a file that the text report goes to as well.
        let is_stream = Path::new(path).starts_with("/dev");
        let mut options = OpenOptions::new();
        options.write(true).append(is_stream);
        let (file, is_new) = match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (options.open(path)?, false)
            }
            made => (made?, true),
        };
        Ok(Self { form, path: path.to_owned(), file, is_stream, is_new, is_written: false })
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        // A pipe or a terminal has no length.
        if !self.is_stream && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.is_written = true;
        self.file.write_all((self.form.write)(record).as_bytes())
    }
}

impl Drop for Opened {
    /// Without a run a file that was made for it is not left behind.
    fn drop(&mut self) {
        if self.is_new && !self.is_written {
            // If it cannot be removed it is empty, which does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}
