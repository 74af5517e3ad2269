//! ab's report as a table of HTML: `output_html_results` of httpd's support/ab.c.

use super::arguments::AbArguments;
use super::tally::{Tally, Times};
use std::fmt::{self, Write as _};

/// The report.
pub(super) fn of(arguments: &AbArguments, tally: &Tally<'_>) -> String {
    let [table, row, cell] = &arguments.attributes;
    let mut page = Page { out: format!("\n\n<table {table}>\n"), row, cell };
    // Writing to a string cannot fail.
    let _ = page.write(arguments, tally);
    page.out.push_str("</table>\n");
    page.out
}

struct Page<'a> {
    out: String,
    /// Attributes.
    row: &'a str,
    cell: &'a str,
}

impl Page<'_> {
    fn write(&mut self, arguments: &AbArguments, tally: &Tally<'_>) -> fmt::Result {
        self.line("Server Software", &tally.software)?;
        self.line("Server Hostname", tally.host)?;
        self.line("Server Port", tally.port)?;
        self.line("Document Path", tally.path)?;
        match arguments.any_length {
            true => self.line("Document Length", "Variable")?,
            false => self.line("Document Length", format!("{} bytes", tally.document_bytes))?,
        }
        self.line("Concurrency Level", tally.users)?;
        self.line("Time taken for tests", format!("{:.3} seconds", tally.elapsed_s))?;
        self.line("Complete requests", tally.done)?;
        self.line("Failed requests", tally.failed)?;
        self.counts(arguments, tally)?;
        if tally.elapsed_s > 0.0 {
            self.rates(arguments, tally)?;
        }
        if tally.done > 0 {
            self.times(tally)?;
        }
        Ok(())
    }

    fn counts(&mut self, arguments: &AbArguments, tally: &Tally<'_>) -> fmt::Result {
        let Self { row, cell, .. } = *self;
        if tally.failed > 0 {
            writeln!(
                self.out,
                "<tr {row}><td colspan=4 {cell} >   (Connect: {}, Length: {}, Exceptions: {})\
                 </td></tr>",
                tally.connect_failures, tally.length_failures, tally.exceptions
            )?;
        }
        if tally.non_2xx > 0 {
            self.line("Non-2xx responses", tally.non_2xx)?;
        }
        if arguments.keeps_alive {
            self.line("Keep-Alive requests", tally.kept)?;
        }
        self.line("Total transferred", format!("{} bytes", tally.received_bytes))?;
        if arguments.body.is_some() {
            self.line("Total body sent", tally.sent_bytes)?;
        }
        self.line("HTML transferred", format!("{} bytes", tally.body_bytes))
    }

    fn rates(&mut self, arguments: &AbArguments, tally: &Tally<'_>) -> fmt::Result {
        let Self { row, cell, .. } = *self;
        let kilobytes = |bytes: u64| tally.rate(bytes as f64 / 1024.0);
        self.line("Requests per second", format!("{:.2}", tally.rate(tally.done as f64)))?;
        let received = kilobytes(tally.received_bytes);
        self.line("Transfer rate", format!("{received:.2} kb/s received"))?;
        if arguments.body.is_none() {
            return Ok(());
        }
        let (sent, both) = (tally.sent_bytes, tally.received_bytes + tally.sent_bytes);
        for (bytes, what) in [(sent, "sent"), (both, "total")] {
            let rate = kilobytes(bytes);
            writeln!(
                self.out,
                "<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{rate:.2} kb/s \
                 {what}</td></tr>"
            )?;
        }
        Ok(())
    }

    fn times(&mut self, tally: &Tally<'_>) -> fmt::Result {
        let Self { row, cell, .. } = *self;
        writeln!(self.out, "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>")?;
        writeln!(
            self.out,
            "<tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   \
             <th {cell}>max</th></tr>"
        )?;
        for times in tally.times.iter().filter(|times| times.label != "Waiting:") {
            let Times { label, min_ms, mean_ms, max_ms, .. } = times;
            writeln!(
                self.out,
                "<tr {row}><th {cell}>{label}</th><td {cell}>{min_ms:5}</td>\
                 <td {cell}>{mean_ms:5}</td><td {cell}>{max_ms:5}</td></tr>"
            )?;
        }
        Ok(())
    }

    fn line(&mut self, label: &str, value: impl fmt::Display) -> fmt::Result {
        let Self { row, cell, .. } = *self;
        writeln!(
            self.out,
            "<tr {row}><th colspan=2 {cell}>{label}:</th><td colspan=2 {cell}>{value}</td></tr>"
        )
    }
}
