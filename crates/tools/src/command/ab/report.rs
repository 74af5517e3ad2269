//! ab's report as text: `output_results` of httpd's support/ab.c.

use super::arguments::AbArguments;
use super::figures::{AbFigures, TimesLine, ms};
use super::usage::AbStyle;
use std::fmt::{self, Write as _};
use std::net::IpAddr;

/// Percentages of the table of percentiles.
const PERCENTAGES: [u32; 8] = [50, 66, 75, 80, 90, 95, 98, 99];

/// The report as text.
pub(super) fn of(arguments: &AbArguments, figures: &AbFigures<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, arguments, figures);
    out
}

fn write_all(out: &mut String, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
    write_server(out, arguments, figures)?;
    write_load(out, arguments, figures)?;
    write_counts(out, arguments, figures)?;
    if figures.elapsed_s > 0.0 && figures.done > 0 {
        write_rates(out, arguments, figures)?;
    }
    if figures.done > 0 {
        write_times(out, arguments, figures)?;
    }
    if figures.done > 1 && !arguments.hides_percentiles {
        write_percentiles(out, figures)?;
    }
    Ok(())
}

fn write_server(out: &mut String, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
    writeln!(out, "\n\nServer Software:        {}", figures.software)?;
    writeln!(out, "Server Hostname:        {}", figures.host)?;
    writeln!(out, "Server Port:            {}", figures.port)?;
    if let Some(agreed) = figures.agreed {
        write_agreed(out, arguments, agreed, figures.host)?;
    }
    writeln!(out)?;
    writeln!(out, "Document Path:          {}", figures.path)?;
    match arguments.any_length {
        true => writeln!(out, "Document Length:        Variable\n"),
        false => writeln!(out, "Document Length:        {} bytes\n", figures.document_bytes),
    }
}

fn write_agreed(
    out: &mut String,
    arguments: &AbArguments,
    agreed: &tls::Agreed,
    host: &str,
) -> fmt::Result {
    let tls::Agreed { version, suite, key_bits, suite_bits, temporary_key, .. } = agreed;
    writeln!(out, "SSL/TLS Protocol:       {version},{suite},{key_bits},{suite_bits}")?;
    // To OpenSSL a key that is encapsulated (X25519MLKEM768) is none: ab has no line for it.
    if temporary_key.ends_with(" bits") {
        writeln!(out, "Server Temp Key:        {temporary_key}")?;
    }
    // An address is no name (RFC 6066 section 3).
    match arguments.tls.sends_name && host.parse::<IpAddr>().is_err() {
        true => writeln!(out, "TLS Server Name:        {host}"),
        false => Ok(()),
    }
}

fn write_load(out: &mut String, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
    let is_trunk = arguments.style == AbStyle::Trunk;
    if is_trunk {
        writeln!(out, "Number of workers:      {}", figures.threads)?;
    }
    writeln!(out, "Concurrency Level:      {}", figures.users)?;
    if is_trunk {
        writeln!(out, "Concurrency achieved:   {}", figures.users_achieved)?;
        writeln!(out, "Rampup delay:           {} [ms]", arguments.ramp_ms)?;
    }
    writeln!(out, "Time taken for tests:   {:.3} seconds", figures.elapsed_s)?;
    if is_trunk {
        let window = if arguments.limit_s > 0 { " (window)" } else { "" };
        writeln!(out, "Number of requests:     {}{window}", arguments.requests())?;
    }
    Ok(())
}

fn write_counts(out: &mut String, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
    writeln!(out, "Complete requests:      {}", figures.done)?;
    writeln!(out, "Failed requests:        {}", figures.failed)?;
    if figures.failed > 0 {
        writeln!(
            out,
            "   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})",
            figures.connect_failures,
            figures.receive_failures,
            figures.length_failures,
            figures.exceptions
        )?;
    }
    if figures.non_2xx > 0 {
        writeln!(out, "Non-2xx responses:      {}", figures.non_2xx)?;
    }
    if arguments.keeps_alive {
        writeln!(out, "Keep-Alive requests:    {}", figures.kept)?;
        if arguments.style == AbStyle::Trunk && figures.repeated > 0 {
            writeln!(out, "Keep-Alive aborts:      {}", figures.repeated)?;
        }
    }
    writeln!(out, "Total transferred:      {} bytes", figures.received_bytes)?;
    if arguments.body.is_some() {
        writeln!(out, "Total body sent:        {}", figures.sent_bytes)?;
    }
    writeln!(out, "HTML transferred:       {} bytes", figures.body_bytes)
}

fn write_rates(out: &mut String, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
    let (done, users) = (figures.done as f64, f64::from(figures.users));
    let each_ms = figures.elapsed_s * 1000.0 / done;
    let kilobytes = |bytes: u64| figures.rate(bytes as f64 / 1024.0);
    writeln!(out, "Requests per second:    {:.2} [#/sec] (mean)", figures.rate(done))?;
    writeln!(out, "Time per request:       {:.3} [ms] (mean)", users * each_ms)?;
    let across = "(mean, across all concurrent requests)";
    writeln!(out, "Time per request:       {each_ms:.3} [ms] {across}")?;
    let received = kilobytes(figures.received_bytes);
    writeln!(out, "Transfer rate:          {received:.2} [Kbytes/sec] received")?;
    if arguments.body.is_some() {
        writeln!(out, "{:24}{:.2} kb/s sent", "", kilobytes(figures.sent_bytes))?;
        let both = figures.received_bytes + figures.sent_bytes;
        writeln!(out, "{:24}{:.2} kb/s total", "", kilobytes(both))?;
    }
    Ok(())
}

fn write_times(out: &mut String, arguments: &AbArguments, figures: &AbFigures<'_>) -> fmt::Result {
    writeln!(out, "\nConnection Times (ms)")?;
    if arguments.hides_confidence {
        writeln!(out, "              min   avg   max")?;
        return figures.times.iter().try_for_each(|times| {
            let TimesLine { label, min_ms, mean_ms, max_ms, .. } = times;
            writeln!(out, "{label:<12}{min_ms:5} {mean_ms:5}{max_ms:5}")
        });
    }
    writeln!(out, "              min  mean[+/-sd] median   max")?;
    for times in &figures.times {
        let TimesLine { label, min_ms, mean_ms, deviation_ms, median_ms, max_ms, .. } = times;
        write!(out, "{label:<12}{min_ms:5} {mean_ms:4} {deviation_ms:5.1} ")?;
        writeln!(out, "{median_ms:6} {max_ms:7}")?;
    }
    figures.times.iter().try_for_each(|times| write_warning(out, times))
}

fn write_warning(out: &mut String, times: &TimesLine) -> fmt::Result {
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

fn write_percentiles(out: &mut String, figures: &AbFigures<'_>) -> fmt::Result {
    writeln!(out, "\nPercentage of the requests served within a certain time (ms)")?;
    for percent in PERCENTAGES {
        let time_ms = ms(figures.total.percentile_ns(f64::from(percent)));
        writeln!(out, "  {percent}%  {time_ms:5}")?;
    }
    writeln!(out, " 100%  {:5} (longest request)", ms(figures.total.max_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::run::RunOutcome;
    use load::{FailureKind, Window};

    /// Five requests of 1, 2, 3, 4 and 10 ms after connections of 1 ms each, one of them failed.
    fn outcome() -> RunOutcome {
        let mut total = Window::default();
        for ms in [10, 3, 1, 4, 2_u64] {
            total.latency.record((ms + 1) * 1_000_000);
            total.service.record(ms * 1_000_000);
            total.first_byte.record(ms * 600_000);
            total.connect.record(1_000_000);
        }
        total.answers = 5;
        total.failures[FailureKind::Length as usize] = 1;
        total.faulty_answers = 1;
        (total.kept, total.received_bytes, total.body_bytes) = (4, 1024, 100);
        total.statuses = vec![(200, 4), (404, 1)];
        RunOutcome {
            total,
            elapsed_ns: 500_000_000,
            begun_unix_us: 0,
            begun_ns: 0,
            was_interrupted: false,
            was_given_up: false,
            first_head: Some(b"HTTP/1.1 200 OK\r\nServer: Stub/1\r\n\r\n".to_vec()),
            lengths: vec![Some(20)],
            stolen_percent: None,
            agreed: None,
            fell_back: false,
            waterfall: None,
        }
    }

    const REPORT: &str = "

Server Software:        Stub/1
Server Hostname:        localhost
Server Port:            80

Document Path:          /x
Document Length:        20 bytes

Concurrency Level:      2
Time taken for tests:   0.500 seconds
Complete requests:      5
Failed requests:        1
   (Connect: 0, Receive: 0, Length: 1, Exceptions: 0)
Non-2xx responses:      1
Keep-Alive requests:    4
Total transferred:      1024 bytes
HTML transferred:       100 bytes
Requests per second:    10.00 [#/sec] (mean)
Time per request:       200.000 [ms] (mean)
Time per request:       100.000 [ms] (mean, across all concurrent requests)
Transfer rate:          2.00 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        1    1   0.0      1       1
Processing:     1    4   3.5      3      10
Waiting:        1    2   2.1      2       6
Total:          2    5   3.5      4      11

Percentage of the requests served within a certain time (ms)
  50%      4
  66%      5
  75%      5
  80%      5
  90%     11
  95%     11
  98%     11
  99%     11
 100%     11 (longest request)
";

    fn report(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (arguments, target) = AbArguments::read("ab", &words).unwrap();
        let (target, outcome) = (target.unwrap(), outcome());
        of(&arguments, &AbFigures::of(&arguments, &target, &outcome, 1))
    }

    #[test]
    fn the_report_has_the_right_median_and_percentiles() {
        assert_eq!(report(&["-n", "5", "-c", "2", "-k", "http://localhost/x"]), REPORT);
    }

    #[test]
    fn without_confidence_there_are_three_columns() {
        let text = report(&["-n", "5", "-S", "-d", "-l", "http://localhost/x"]);
        let (_, table) = text.split_once("\nConnection Times (ms)\n").unwrap();
        let lines = [
            "              min   avg   max",
            "Connect:        1     1    1",
            "Processing:     1     4   10",
            "Waiting:        1     2    6",
            "Total:          2     5   11",
        ];
        assert_eq!(table.lines().collect::<Vec<_>>(), lines);
        assert!(text.contains("\nDocument Length:        Variable\n"), "{text}");
    }

    #[test]
    fn means_far_from_the_median_are_warned_of() {
        let times = |mean_ms, deviation_ms| TimesLine {
            label: "Total:",
            name: "the total time",
            min_ms: 0,
            mean_ms,
            deviation_ms,
            median_ms: 10,
            max_ms: 0,
        };
        let text = |mean_ms, deviation_ms| {
            let mut out = String::new();
            write_warning(&mut out, &times(mean_ms, deviation_ms)).unwrap();
            out
        };
        assert_eq!(text(12, 2.0), "");
        assert_eq!(
            text(8, 1.5),
            "WARNING: The median and mean for the total time are not within a normal deviation\n\
             \x20       These results are probably not that reliable.\n"
        );
        assert!(
            text(14, 1.5).starts_with("ERROR: The median and mean for the total time are more")
        );
    }
}
