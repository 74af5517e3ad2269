//! ab's report as a table of HTML: `output_html_results` of httpd's support/ab.c.

use super::arguments::AbArguments;
use super::figures::{AbFigures, TimesLine};
use std::fmt::{self, Write as _};

/// The report as HTML.
pub(super) fn of(arguments: &AbArguments, figures: &AbFigures<'_>) -> String {
    let [table, row, cell] = &arguments.attributes;
    let mut page = AbPage { out: format!("\n\n<table {table}>\n"), row, cell };
    // Writing to a string cannot fail.
    let _ = page.write(arguments, figures);
    page.out.push_str("</table>\n");
    page.out
}

struct AbPage<'a> {
    out: String,
    /// Attributes of each row and each cell.
    row: &'a str,
    cell: &'a str,
}

impl AbPage<'_> {
    fn write(&mut self, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
        self.line("Server Software", &figures.software)?;
        self.line("Server Hostname", figures.host)?;
        self.line("Server Port", figures.port)?;
        self.line("Document Path", figures.path)?;
        match arguments.any_length {
            true => self.line("Document Length", "Variable")?,
            false => self.line("Document Length", format!("{} bytes", figures.document_bytes))?,
        }
        self.line("Concurrency Level", figures.users)?;
        self.line("Time taken for tests", format!("{:.3} seconds", figures.elapsed_s))?;
        self.line("Complete requests", figures.done)?;
        self.line("Failed requests", figures.failed)?;
        self.counts(arguments, figures)?;
        if figures.elapsed_s > 0.0 {
            self.rates(arguments, figures)?;
        }
        if figures.done > 0 {
            self.times(figures)?;
        }
        Ok(())
    }

    fn counts(&mut self, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
        let Self { row, cell, .. } = *self;
        if figures.failed > 0 {
            writeln!(
                self.out,
                "<tr {row}><td colspan=4 {cell} >   (Connect: {}, Length: {}, Exceptions: {})\
                 </td></tr>",
                figures.connect_failures, figures.length_failures, figures.exceptions
            )?;
        }
        if figures.non_2xx > 0 {
            self.line("Non-2xx responses", figures.non_2xx)?;
        }
        if arguments.keeps_alive {
            self.line("Keep-Alive requests", figures.kept)?;
        }
        self.line("Total transferred", format!("{} bytes", figures.received_bytes))?;
        if arguments.body.is_some() {
            self.line("Total body sent", figures.sent_bytes)?;
        }
        self.line("HTML transferred", format!("{} bytes", figures.body_bytes))
    }

    fn rates(&mut self, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
        let Self { row, cell, .. } = *self;
        let kilobytes = |bytes: u64| figures.rate(bytes as f64 / 1024.0);
        self.line("Requests per second", format!("{:.2}", figures.rate(figures.done as f64)))?;
        let received = kilobytes(figures.received_bytes);
        self.line("Transfer rate", format!("{received:.2} kb/s received"))?;
        if arguments.body.is_none() {
            return Ok(());
        }
        let (sent, both) = (figures.sent_bytes, figures.received_bytes + figures.sent_bytes);
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

    fn times(&mut self, figures: &AbFigures<'_>) -> fmt::Result {
        let Self { row, cell, .. } = *self;
        writeln!(self.out, "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>")?;
        writeln!(
            self.out,
            "<tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   \
             <th {cell}>max</th></tr>"
        )?;
        for times in figures.times.iter().filter(|times| times.label != "Waiting:") {
            let TimesLine { label, min_ms, mean_ms, max_ms, .. } = times;
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
