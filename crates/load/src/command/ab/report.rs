//! ab's report as text: `output_results` of httpd's support/ab.c.

use super::draft::{Draft, Style};
use super::tally::{Tally, Times, ms};
use std::fmt::{self, Write as _};

/// Percentages of the table of percentiles.
const PERCENTAGES: [u32; 8] = [50, 66, 75, 80, 90, 95, 98, 99];

/// The report.
pub(super) fn of(draft: &Draft, tally: &Tally<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, draft, tally);
    out
}

fn write_all(out: &mut String, draft: &Draft, tally: &Tally<'_>) -> fmt::Result {
    write_server(out, draft, tally)?;
    write_load(out, draft, tally)?;
    write_counts(out, draft, tally)?;
    if tally.elapsed_s > 0.0 && tally.done > 0 {
        write_rates(out, draft, tally)?;
    }
    if tally.done > 0 {
        write_times(out, draft, tally)?;
    }
    if tally.done > 1 && !draft.hides_percentiles {
        write_percentiles(out, tally)?;
    }
    Ok(())
}

fn write_server(out: &mut String, draft: &Draft, tally: &Tally<'_>) -> fmt::Result {
    writeln!(out, "\n\nServer Software:        {}", tally.software)?;
    writeln!(out, "Server Hostname:        {}", tally.host)?;
    writeln!(out, "Server Port:            {}\n", tally.port)?;
    writeln!(out, "Document Path:          {}", tally.path)?;
    match draft.any_length {
        true => writeln!(out, "Document Length:        Variable\n"),
        false => writeln!(out, "Document Length:        {} bytes\n", tally.document_bytes),
    }
}

fn write_load(out: &mut String, draft: &Draft, tally: &Tally<'_>) -> fmt::Result {
    let is_trunk = draft.style == Style::Trunk;
    if is_trunk {
        writeln!(out, "Number of workers:      {}", tally.threads)?;
    }
    writeln!(out, "Concurrency Level:      {}", tally.users)?;
    if is_trunk {
        writeln!(out, "Concurrency achieved:   {}", tally.users_achieved)?;
        writeln!(out, "Rampup delay:           {} [ms]", draft.ramp_ms)?;
    }
    writeln!(out, "Time taken for tests:   {:.3} seconds", tally.elapsed_s)?;
    if is_trunk {
        let window = if draft.limit_s > 0 { " (window)" } else { "" };
        writeln!(out, "Number of requests:     {}{window}", draft.requests())?;
    }
    Ok(())
}

fn write_counts(out: &mut String, draft: &Draft, tally: &Tally<'_>) -> fmt::Result {
    writeln!(out, "Complete requests:      {}", tally.done)?;
    writeln!(out, "Failed requests:        {}", tally.failed)?;
    if tally.failed > 0 {
        writeln!(
            out,
            "   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})",
            tally.connect_failures, tally.receive_failures, tally.length_failures, tally.exceptions
        )?;
    }
    if tally.non_2xx > 0 {
        writeln!(out, "Non-2xx responses:      {}", tally.non_2xx)?;
    }
    if draft.keeps_alive {
        writeln!(out, "Keep-Alive requests:    {}", tally.kept)?;
        if draft.style == Style::Trunk && tally.repeated > 0 {
            writeln!(out, "Keep-Alive aborts:      {}", tally.repeated)?;
        }
    }
    writeln!(out, "Total transferred:      {} bytes", tally.received_bytes)?;
    if draft.body.is_some() {
        writeln!(out, "Total body sent:        {}", tally.sent_bytes)?;
    }
    writeln!(out, "HTML transferred:       {} bytes", tally.body_bytes)
}

fn write_rates(out: &mut String, draft: &Draft, tally: &Tally<'_>) -> fmt::Result {
    let (done, users) = (tally.done as f64, f64::from(tally.users));
    let each_ms = tally.elapsed_s * 1000.0 / done;
    let kilobytes = |bytes: u64| tally.rate(bytes as f64 / 1024.0);
    writeln!(out, "Requests per second:    {:.2} [#/sec] (mean)", tally.rate(done))?;
    writeln!(out, "Time per request:       {:.3} [ms] (mean)", users * each_ms)?;
    let across = "(mean, across all concurrent requests)";
    writeln!(out, "Time per request:       {each_ms:.3} [ms] {across}")?;
    let received = kilobytes(tally.received_bytes);
    writeln!(out, "Transfer rate:          {received:.2} [Kbytes/sec] received")?;
    if draft.body.is_some() {
        writeln!(out, "{:24}{:.2} kb/s sent", "", kilobytes(tally.sent_bytes))?;
        let both = tally.received_bytes + tally.sent_bytes;
        writeln!(out, "{:24}{:.2} kb/s total", "", kilobytes(both))?;
    }
    Ok(())
}

fn write_times(out: &mut String, draft: &Draft, tally: &Tally<'_>) -> fmt::Result {
    writeln!(out, "\nConnection Times (ms)")?;
    if draft.hides_confidence {
        writeln!(out, "              min   avg   max")?;
        return tally.times.iter().try_for_each(|times| {
            let Times { label, min_ms, mean_ms, max_ms, .. } = times;
            writeln!(out, "{label:<12}{min_ms:5} {mean_ms:5}{max_ms:5}")
        });
    }
    writeln!(out, "              min  mean[+/-sd] median   max")?;
    for times in &tally.times {
        let Times { label, min_ms, mean_ms, deviation_ms, median_ms, max_ms, .. } = times;
        write!(out, "{label:<12}{min_ms:5} {mean_ms:4} {deviation_ms:5.1} ")?;
        writeln!(out, "{median_ms:6} {max_ms:7}")?;
    }
    tally.times.iter().try_for_each(|times| write_warning(out, times))
}

fn write_warning(out: &mut String, times: &Times) -> fmt::Result {
    let apart_ms = times.mean_ms.abs_diff(times.median_ms) as f64;
    let name = times.name;
    if apart_ms > 2.0 * times.deviation_ms {
        writeln!(
            out,
            "ERROR: The median and mean for {name} are more than twice the standard\n       \
             deviation apart. These results are NOT reliable."
        )
    } else if apart_ms > times.deviation_ms {
        writeln!(
            out,
            "WARNING: The median and mean for {name} are not within a normal deviation\n        \
             These results are probably not that reliable."
        )
    } else {
        Ok(())
    }
}

fn write_percentiles(out: &mut String, tally: &Tally<'_>) -> fmt::Result {
    writeln!(out, "\nPercentage of the requests served within a certain time (ms)")?;
    for percent in PERCENTAGES {
        let time_ms = ms(tally.total.percentile_ns(f64::from(percent)));
        writeln!(out, "  {percent}%  {time_ms:5}")?;
    }
    writeln!(out, " 100%  {:5} (longest request)", ms(tally.total.max_ns()))
}
