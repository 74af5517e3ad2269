//! The files of `-e` and `-g`: opened before the run, written after it. Those of httpd's ab are
//! opened after it (`output_results` in support/ab.c); both leave a file alone without a report.

use super::super::output_file::OutputFile;
use super::arguments::AbArguments;
use super::figures::ms;
use super::stop::{self, AbStop};
use load::run::RunOutcome;
use load::{AnsweredRequest, Histogram};
use runtime::sys::{LocalTime, local_time};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};

/// The files of `-e` and `-g`, opened before the run.
pub(super) struct AbFiles {
    percentiles: Option<OutputFile>,
    gnuplot: Option<OutputFile>,
}

impl AbFiles {
    /// Opens them.
    ///
    /// # Errors
    /// For the first that cannot be written, in the words of ab.
    pub(super) fn open(arguments: &AbArguments) -> Result<Self, AbStop> {
        let open = |name: &Option<String>, what: &str| {
            let fault = |error| {
                AbStop::failed(&format!(
                    "Cannot open {what} output file: {}",
                    stop::in_words(&error)
                ))
            };
            name.as_ref().map(|name| OutputFile::open(name).map_err(fault)).transpose()
        };
        Ok(Self {
            percentiles: open(&arguments.percentiles_csv, "CSV")?,
            gnuplot: open(&arguments.gnuplot, "gnuplot")?,
        })
    }

    /// Writes them.
    ///
    /// # Errors
    /// When the disk is full.
    pub(super) fn write(self, outcome: &RunOutcome) -> Result<(), AbStop> {
        let fault = |what: &'static str| {
            move |error: io::Error| {
                AbStop::failed(&format!(
                    "Cannot write {what} output file: {}",
                    stop::in_words(&error)
                ))
            }
        };
        let all = &outcome.total.latency;
        if let Some(mut output_file) = self.percentiles {
            let written = output_file.emptied().and_then(|file| write_percentiles(file, all));
            written.map_err(fault("CSV"))?;
        }
        if let Some(mut output_file) = self.gnuplot {
            let written = output_file.emptied().and_then(|file| write_rows(file, outcome));
            written.map_err(fault("gnuplot"))?;
        }
        Ok(())
    }
}

/// `-e`: for each percentage how long the requests took at most.
fn write_percentiles(file: &mut File, all: &Histogram) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "Percentage served,Time in ms")?;
    for percent in 0..=100_u32 {
        let time_ns = match percent {
            0 => all.min_ns(),
            100 => all.max_ns(),
            _ => all.percentile_ns(f64::from(percent)),
        };
        writeln!(out, "{percent},{:.3}", time_ns as f64 / 1e6)?;
    }
    out.flush()
}

/// `-g`: every request, the quickest first.
fn write_rows(file: &mut File, outcome: &RunOutcome) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "starttime\tseconds\tctime\tdtime\tttime\twait")?;
    let mut rows: Vec<&AnsweredRequest> = outcome.total.rows.iter().collect();
    let total_us = |row: &AnsweredRequest| u64::from(row.connect_us) + u64::from(row.service_us);
    rows.sort_unstable_by_key(|row| (total_us(row), row.start_ns));
    for row in rows {
        let since_us = row.start_ns.saturating_sub(outcome.begun_ns) / 1000;
        let unix_s = (outcome.begun_unix_us + since_us.cast_signed()).div_euclid(1_000_000);
        let [connect, service, total, wait] =
            [row.connect_us.into(), row.service_us.into(), total_us(row), row.wait_us.into()]
                .map(|us| ms(us * 1000));
        let date = date(&local_time(unix_s));
        writeln!(out, "{date}\t{unix_s}\t{connect}\t{service}\t{total}\t{wait}")?;
    }
    out.flush()
}

/// `Sun Sep 16 01:03:52 1973`, as `apr_ctime` writes it.
fn date(at: &LocalTime) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let day = DAYS.get(usize::from(at.weekday)).unwrap_or(&"???");
    let month = MONTHS.get(usize::from(at.month).wrapping_sub(1)).unwrap_or(&"???");
    format!(
        "{day} {month} {:02} {:02}:{:02}:{:02} {:04}",
        at.day, at.hour, at.minute, at.second, at.year
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_ctime() {
        let at = LocalTime {
            year: 1973,
            month: 9,
            day: 6,
            hour: 1,
            minute: 3,
            second: 52,
            weekday: 0,
            ..LocalTime::default()
        };
        assert_eq!(date(&at), "Sun Sep 06 01:03:52 1973");
    }
}
