//! siege's log: a header, a row for each run, marks between them.

use super::config::Config;
use super::lines::date;
use super::report::SiegeFigures;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};

/// The header of a new log, from log.c of siege: programs find columns by it.
const HEADER: &str = "      Date & Time,  Trans,  Elap Time,  Data Trans,  Resp Time,  \
                      Trans Rate,  Throughput,  Concurrent,    OKAY,   Failed\n";

/// A log that can be written to.
pub(super) struct SiegeLog {
    file: File,
}

impl SiegeLog {
    /// Opens the log, and begins it if it is new.
    ///
    /// # Errors
    /// When the system does not let it be written.
    pub(super) fn open(config: &Config) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).create(true).open(&config.logfile)?;
        if file.metadata()?.len() == 0 {
            file.write_all(HEADER.as_bytes())?;
        }
        Ok(Self { file })
    }

    /// Writes a line of the user's words.
    ///
    /// # Errors
    /// When the system does not let it be written.
    pub(super) fn mark(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(format!("**** {text} ****\n").as_bytes())
    }

    /// Writes the row of a run.
    ///
    /// # Errors
    /// When the system does not let it be written.
    pub(super) fn row(&mut self, figures: &SiegeFigures) -> io::Result<()> {
        self.file.write_all(row(figures, &date()).as_bytes())
    }
}

fn row(figures: &SiegeFigures, date: &str) -> String {
    // Whole megabytes, here and in the throughput: log.c `write_to_log`.
    let megabytes = figures.megabytes.floor();
    let throughput = if figures.elapsed_s > 0.0 { megabytes / figures.elapsed_s } else { 0.0 };
    format!(
        "{date},{:7},{:11.2},{megabytes:12.0},{:11.2},{:12.2},{throughput:12.2},{:12.2},\
         {:8},{:8}\n",
        figures.hits,
        figures.elapsed_s,
        figures.response_s(),
        figures.rate(),
        figures.concurrency(),
        figures.successes,
        figures.failed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_columns_of_its_header() {
        let figures =
            SiegeFigures { hits: 5, elapsed_s: 2.0, megabytes: 7.9, ..SiegeFigures::default() };
        let row = row(&figures, "2026-01-02 03:04:05");
        assert_eq!(
            row,
            "2026-01-02 03:04:05,      5,       2.00,           7,       0.00,        2.50,        \
             3.50,        0.00,       0,       0\n"
        );
        assert_eq!(row.split(',').count(), HEADER.split(',').count());
    }
}
