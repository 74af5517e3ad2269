//! Makes load with wrk, ab and siege and reads their reports. Other load generators of this machine
//! are not known here; the benchmark's own is `crowd.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

/// All that siege is told in its own file, which takes the place of the user's. Its stock settings
/// are written out, but for the output; `connection = close` is one of them.
const SIEGERC: &str = "\
verbose = false
color = off
quiet = true
json_output = true
show-logfile = false
logging = false
parser = true
cache = false
connection = close
protocol = HTTP/1.1
chunked = true
limit = 255
timeout = 30
failures = 1024
url-escaping = true
";

/// What a load generator reports of one run.
#[derive(Debug, PartialEq)]
pub(super) struct LoadResult {
    pub(super) requests: u64,
    pub(super) per_second: f64,
    /// Any answer that is not a success, any connection that failed.
    pub(super) fault: Option<String>,
}

/// Keep-alive load: one thread of wrk, which is faster than every server here per request.
pub(super) fn wrk(connections: u32, seconds: u32, url: &str) -> Result<LoadResult, String> {
    wrk_with(connections, seconds, &[url])
}

/// The same, with a connection for each request.
pub(super) fn wrk_closing(connections: u32, seconds: u32, url: &str) -> Result<LoadResult, String> {
    wrk_with(connections, seconds, &["-H", "Connection: close", url])
}

fn wrk_with(connections: u32, seconds: u32, rest: &[&str]) -> Result<LoadResult, String> {
    let (connections, seconds) = (format!("-c{connections}"), format!("-d{seconds}s"));
    let report = output("wrk", &[&["-t1", &connections, &seconds], rest].concat())?;
    parse_wrk(&report).ok_or(format!("wrk reported no requests:\n{report}"))
}

/// One connection per request. `-n` stands after `-t` because `-t` sets it to 50,000; ab makes
/// room for that many results at once, so it is only somewhat more than can be reached.
pub(super) fn ab(connections: u32, seconds: u32, url: &str) -> Result<LoadResult, String> {
    let most = (u64::from(seconds) * 200_000).to_string();
    let (connections, seconds) = (connections.to_string(), seconds.to_string());
    let args = ["-q", "-r", "-c", &connections, "-t", &seconds, "-n", &most, url];
    let report = output("ab", &args)?;
    parse_ab(&report).ok_or(format!("ab reported no requests:\n{report}"))
}

/// Keep-alive load of so many requests, from the first byte of the first to the last of the last
/// (ab). For requests that share the cores for long: a run of so many seconds would end with most
/// of what it has paid for under way.
pub(super) fn ab_counted(connections: u32, requests: u32, url: &str) -> Result<LoadResult, String> {
    let (connections, requests) = (connections.to_string(), requests.to_string());
    let report = output("ab", &["-q", "-r", "-k", "-c", &connections, "-n", &requests, url])?;
    parse_ab(&report).ok_or(format!("ab reported no requests:\n{report}"))
}

/// A page and then what it shows, so many times by each user. Not for a time (`-t`): at its end
/// siege cancels its threads wherever they are, and now and then hangs in the lock of an allocator.
/// It leaves files in its home, which is therefore the given folder.
pub(super) fn siege(users: u32, times: u32, url: &str, home: &Path) -> Result<LoadResult, String> {
    let file = home.join("siegerc");
    let written = fs::write(&file, SIEGERC);
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let mut command = Command::new("siege");
    command.env("HOME", home).arg("-R").arg(&file);
    command.args(["-b", &format!("-c{users}"), &format!("-r{times}"), url]);
    let done = command.output().map_err(|error| format!("cannot run siege: {error}"))?;
    // Its exit status says no more than its report does.
    let report = String::from_utf8_lossy(&done.stdout);
    parse_siege(&report).ok_or_else(|| {
        let said = String::from_utf8_lossy(&done.stderr);
        format!("siege reported no transactions:\n{report}{said}")
    })
}

/// `trivet bench` with one thread, persistent connections or not.
pub(super) fn trivet(
    program: &Path,
    connections: u32,
    seconds: u32,
    closing: bool,
    url: &str,
) -> Result<LoadResult, String> {
    let (connections, seconds) = (connections.to_string(), format!("{seconds}s"));
    let mut words = vec!["bench", "-q", "--json", "-t", "1", "-c", &connections, "-d", &seconds];
    words.extend(closing.then_some("--close"));
    words.push(url);
    let report = output(&program.display().to_string(), &words)?;
    parse_trivet(&report).ok_or(format!("trivet bench reported no figures:\n{report}"))
}

fn parse_trivet(report: &str) -> Option<LoadResult> {
    let record: serde_json::Value = serde_json::from_str(report).ok()?;
    let summary = record.get("summary")?;
    let errors = summary.get("errors")?.as_u64()?;
    Some(LoadResult {
        requests: summary.get("requests")?.as_u64()?,
        per_second: summary.get("rate")?.as_f64()?,
        fault: (errors > 0).then(|| format!("trivet bench: {errors} errors")),
    })
}

fn output(program: &str, args: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(args).output();
    let done = done.map_err(|error| format!("cannot run {program}: {error}"))?;
    if !done.status.success() {
        let text = [done.stdout, done.stderr].concat();
        return Err(format!("{program} failed: {}", String::from_utf8_lossy(&text).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn parse_wrk(report: &str) -> Option<LoadResult> {
    let requests = report.lines().find_map(|line| line.split_once(" requests in "))?.0;
    let faults = ["Socket errors:", "Non-2xx or 3xx responses:"];
    let fault =
        report.lines().map(str::trim).find(|line| faults.iter().any(|f| line.starts_with(f)));
    Some(LoadResult {
        requests: requests.trim().parse().ok()?,
        per_second: first_number(report, "Requests/sec:")?,
        fault: fault.map(|line| format!("wrk: {line}")),
    })
}

fn parse_ab(report: &str) -> Option<LoadResult> {
    let faults = ["Failed requests:", "Non-2xx responses:", "Write errors:"];
    let bad = |label: &&str| first_number(report, label).is_some_and(|count| 0.0 < count);
    let faults: Vec<&str> = faults.into_iter().filter(bad).collect();
    Some(LoadResult {
        requests: first_number(report, "Complete requests:")?,
        per_second: first_number(report, "Requests per second:")?,
        fault: (!faults.is_empty()).then(|| format!("ab: {}", faults.join(" "))),
    })
}

/// siege fails a transaction only when its connection does; an answer that is an error is one
/// that was not successful.
fn parse_siege(report: &str) -> Option<LoadResult> {
    let json = report.get(report.find('{')?..=report.rfind('}')?)?;
    let json: serde_json::Value = serde_json::from_str(json).ok()?;
    let requests = json["transactions"].as_u64()?;
    let successful = json["successful_transactions"].as_u64()?;
    let failed = json["failed_transactions"].as_u64()? + requests.saturating_sub(successful);
    Some(LoadResult {
        requests,
        per_second: json["transaction_rate"].as_f64()?,
        fault: (0 < failed).then(|| format!("siege: {failed} transactions failed")),
    })
}

/// The number after a label at the beginning of a line.
fn first_number<T: std::str::FromStr>(report: &str, label: &str) -> Option<T> {
    let rest = report.lines().find_map(|line| line.trim().strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "Running 1s test @ http://127.0.0.1:18199/index.html\n  \
        1 threads and 4 connections\n  55474 requests in 1.10s, 14.65MB read\n\
        Requests/sec:  50446.00\nTransfer/sec:     13.33MB\n";
    const AB: &str = "Concurrency Level:      2\nComplete requests:      19075\n\
        Failed requests:        0\nRequests per second:    19074.94 [#/sec] (mean)\n";

    const SIEGE: &str = "New configuration template added to /tmp\n\
        {\t\"transactions\":\t\t\t       19246,\n\t\"availability\":\t\t\t      100.00,\n\
        \t\"transaction_rate\":\t\t    13649.65,\n\t\"successful_transactions\":\t 19246,\n\
        \t\"failed_transactions\":\t\t           0\n}\n";

    #[test]
    fn a_clean_wrk_report() {
        let load = LoadResult { requests: 55_474, per_second: 50_446.0, fault: None };
        assert_eq!(parse_wrk(WRK), Some(load));
        assert_eq!(parse_wrk("unable to connect"), None);
    }

    #[test]
    fn wrk_faults_are_kept() {
        for fault in [
            "Socket errors: connect 0, read 3, write 0, timeout 0",
            "Non-2xx or 3xx responses: 62572",
        ] {
            let load = parse_wrk(&WRK.replace("Requests/sec", &format!("  {fault}\nRequests/sec")));
            assert_eq!(load.unwrap().fault, Some(format!("wrk: {fault}")));
        }
    }

    #[test]
    fn a_clean_ab_report() {
        let load = LoadResult { requests: 19_075, per_second: 19_074.94, fault: None };
        assert_eq!(parse_ab(AB), Some(load));
        assert_eq!(parse_ab("apr_socket_recv: Connection refused (111)"), None);
    }

    #[test]
    fn ab_faults_are_named() {
        let failed = parse_ab(&AB.replace("requests:        0", "requests:        7")).unwrap();
        assert_eq!(failed.fault.as_deref(), Some("ab: Failed requests:"));
        let refused = parse_ab(&AB.replace("Failed", "Non-2xx responses: 4\nFailed")).unwrap();
        assert_eq!(refused.fault.as_deref(), Some("ab: Non-2xx responses:"));
    }

    #[test]
    fn siege_reports_what_failed() {
        let load = LoadResult { requests: 19_246, per_second: 13_649.65, fault: None };
        assert_eq!(parse_siege(SIEGE), Some(load));
        for (clean, faulty) in [("   0\n", "   2\n"), (" 19246,\n\t\"f", " 19244,\n\t\"f")] {
            let load = parse_siege(&SIEGE.replace(clean, faulty)).unwrap();
            assert_eq!(load.fault.as_deref(), Some("siege: 2 transactions failed"));
        }
        assert_eq!(parse_siege("[error] socket: unable to connect"), None);
    }
}
