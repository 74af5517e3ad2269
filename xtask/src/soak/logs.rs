//! What the server wrote: every access line must be whole, and it must never say that something
//! of it has failed.

use std::fs;
use std::path::Path;

/// Words of the server's messages that no fault of the soak explains.
const BAD_WORDS: &[&str] = &["panicked", "exit signal Aborted", "ended with exit code", "AH00481"];

/// Lines of the access logs, and everything that is wrong with any log.
pub(super) fn check(folder: &Path) -> Result<(usize, Vec<String>), String> {
    let mut faults = Vec::new();
    let mut lines = 0;
    let files = fs::read_dir(folder).map_err(|error| format!("cannot read the logs: {error}"))?;
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let bytes = fs::read(file.path()).map_err(|error| format!("{name}: {error}"))?;
        let text = String::from_utf8_lossy(&bytes);
        if name.starts_with("access") {
            lines += text.lines().count();
            let torn = text.split_inclusive('\n').find(|line| !is_whole(line));
            faults.extend(torn.map(|line| format!("{name} has the line {line:?}")));
        } else {
            let bad = text.lines().find(|line| BAD_WORDS.iter().any(|word| line.contains(word)));
            faults.extend(bad.map(|line| format!("{name} says {line:?}")));
        }
    }
    Ok((lines, faults))
}

/// `127.0.0.1 - - [date zone] "request" status size`, with its line end.
fn is_whole(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("127.0.0.1 - - [") else { return false };
    let Some((_, rest)) = rest.split_once("] \"") else { return false };
    let Some((_, rest)) = rest.rsplit_once("\" ") else { return false };
    let Some((status, size)) = rest.trim_end_matches('\n').split_once(' ') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let once = line.matches("127.0.0.1 - - [").count() == 1;
    once && line.ends_with('\n')
        && status.len() == 3
        && is_number(status)
        && (size == "-" || is_number(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "127.0.0.1 - - [20/Nov/2026:11:47:31 +0000] \"GET /a\\\"b HTTP/1.1\" 200 17\n";

    #[test]
    fn a_whole_line_is_told_from_a_torn_one() {
        assert!(is_whole(LINE) && is_whole(&LINE.replace("17", "-")));
        let twice = format!("{}{LINE}", LINE.trim_end());
        for torn in [&LINE[..LINE.len() - 1], &LINE[9..], &twice, "\n", &LINE.replace("200", "")] {
            assert!(!is_whole(torn), "{torn}");
        }
    }

    #[test]
    fn logs_are_counted_and_bad_words_found() {
        let folder = std::env::temp_dir().join(format!("trivet-soak-logs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("access.log.0"), LINE.repeat(3)).unwrap();
        fs::write(folder.join("access.log"), format!("{LINE}torn")).unwrap();
        fs::write(folder.join("output"), "all well\nthread 'a' panicked at b\n").unwrap();
        let (lines, mut faults) = check(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        faults.sort();
        assert_eq!(lines, 5);
        assert_eq!(
            faults,
            ["access.log has the line \"torn\"", "output says \"thread 'a' panicked at b\""]
        );
    }
}
