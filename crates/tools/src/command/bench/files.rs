//! The files that a run is written to, and what each is to have.

use super::super::Exit;
use super::super::output_file::OutputFile;
use super::fault::CommandFault;
use crate::report::{self, RunRecord};
use load::page::har::{self, Waterfall};
use std::io::{self, Write as _};

/// What a file is to be: the option that asks for it, and the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileForm {
    option: &'static str,
    content: FileContent,
}

#[derive(Clone, Copy, Debug)]
enum FileContent {
    Run(fn(&RunRecord) -> String),
    /// How the first whole page was loaded.
    Waterfall,
}

/// One page with plots.
pub(super) const HTML: FileForm =
    FileForm { option: "--html", content: FileContent::Run(report::html) };
/// A line for each second.
pub(super) const CSV: FileForm =
    FileForm { option: "--csv", content: FileContent::Run(report::csv) };
/// A line for each level.
pub(super) const LEVELS: FileForm =
    FileForm { option: "--levels", content: FileContent::Run(report::levels_csv) };
/// A table of percentiles.
pub(super) const HDR: FileForm =
    FileForm { option: "--hdr", content: FileContent::Run(report::hdr) };
/// The run itself.
pub(super) const SAVED: FileForm =
    FileForm { option: "--save", content: FileContent::Run(report::json) };
/// The waterfall of a page.
pub(super) const HAR: FileForm = FileForm { option: "--har", content: FileContent::Waterfall };

impl FileForm {
    /// Whether it is about one page.
    pub(super) const fn is_of_page(&self) -> bool {
        matches!(self.content, FileContent::Waterfall)
    }

    /// Whether it needs a load that changes.
    pub(super) fn is_of_levels(&self) -> bool {
        self.option == LEVELS.option
    }
}

/// Two reports in one stream are nobody's wish, as a rule.
const NO_DASH: &str = "standard output is for the report; \
                       name /dev/stdout to add to it, or ./- for a file of that name";

/// Files that can be written.
#[derive(Debug, Default)]
pub(super) struct ReportFiles(Vec<(FileForm, OutputFile)>);

impl ReportFiles {
    /// Opens all of them.
    ///
    /// # Errors
    /// The first that cannot be written; or two that are the same.
    pub(super) fn open(asked: &[(FileForm, String)]) -> Result<Self, CommandFault> {
        let mut files = Self::default();
        for (form, path) in asked {
            if path == "-" {
                return Err((Exit::Usage, format!("{} -: {NO_DASH}", form.option)));
            }
            if let Some((other, _)) = files.0.iter().find(|row| row.1.path() == path) {
                let text = format!("{} and {} both name {path}", other.option, form.option);
                return Err((Exit::Usage, text));
            }
            let output_file = OutputFile::open(path).map_err(|error| fault(*form, path, &error))?;
            files.0.push((*form, output_file));
        }
        Ok(files)
    }

    /// Writes the run to all that are about it.
    ///
    /// # Errors
    /// The first that could not be written; the others are.
    pub(super) fn write(&mut self, record: &RunRecord) -> Result<(), CommandFault> {
        self.write_each(|form| match form.content {
            FileContent::Run(write) => Some(write(record)),
            FileContent::Waterfall => None,
        })
    }

    /// Writes how a page was loaded, where that is wanted.
    ///
    /// # Errors
    /// When it could not be written.
    pub(super) fn write_waterfall(&mut self, waterfall: &Waterfall) -> Result<(), CommandFault> {
        self.write_each(|form| form.is_of_page().then(|| har::har(waterfall)))
    }

    /// The file that a waterfall would go to.
    pub(super) fn waterfall(&self) -> Option<&str> {
        self.0.iter().find(|row| row.0.is_of_page()).map(|row| row.1.path())
    }

    fn write_each(
        &mut self,
        text: impl Fn(&FileForm) -> Option<String>,
    ) -> Result<(), CommandFault> {
        let mut result = Ok(());
        for (form, output_file) in &mut self.0 {
            let Some(text) = text(form) else { continue };
            let written = output_file.emptied().and_then(|file| file.write_all(text.as_bytes()));
            if let Err(error) = written {
                result = result.and(Err(fault(*form, output_file.path(), &error)));
            }
        }
        result
    }
}

fn fault(form: FileForm, path: &str, error: &io::Error) -> CommandFault {
    (Exit::File, format!("{} {path}: {error}", form.option))
}
