//! What siege says while it runs: a line for each answer on standard output, notices on standard
//! error, heads and pages as they are.

use super::config::Config;
use super::urls::SiegeRequest;
use runtime::clock;
use runtime::sys::local_time;
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write as _};
use std::sync::Mutex;

/// Standard output, shared by all users.
#[derive(Debug)]
pub(super) struct Screen {
    out: Mutex<BufWriter<Stdout>>,
    is_terminal: bool,
}

impl Screen {
    pub(super) fn new() -> Self {
        let out = io::stdout();
        let is_terminal = out.is_terminal();
        Self { out: Mutex::new(BufWriter::with_capacity(64 * 1024, out)), is_terminal }
    }

    /// Writes to standard output; a reader that has gone is no fault.
    pub(super) fn write(&self, bytes: &[u8]) {
        let Ok(mut out) = self.out.lock() else { return };
        let _ = out.write_all(bytes);
        if self.is_terminal {
            let _ = out.flush();
        }
    }

    /// Lets everything be seen that was written.
    pub(super) fn flush(&self) {
        if let Ok(mut out) = self.out.lock() {
            let _ = out.flush();
        }
    }
}

/// How grave a notice is.
#[derive(Clone, Copy, Debug)]
pub(super) enum NoticeLevel {
    Debug,
    Alert,
    Error,
    Fatal,
}

/// Says something on standard error, coloured as siege's notify.c has it on any output.
pub(super) fn notice(level: NoticeLevel, text: &str) {
    let (name, color) = match level {
        NoticeLevel::Debug => ("debug", 34),
        NoticeLevel::Alert => ("alert", 32),
        NoticeLevel::Error => ("error", 33),
        NoticeLevel::Fatal => ("fatal", 31),
    };
    complain(&format!("[\x1b[1;{color}m{name}\x1b[0m] {text}\n"));
}

/// Writes on standard error.
pub(super) fn complain(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// What the line about an answer says.
pub(super) struct AnswerLine<'a> {
    pub(super) user: u32,
    pub(super) protocol: &'a str,
    pub(super) status: u16,
    pub(super) is_cached: bool,
    pub(super) took_s: f64,
    pub(super) bytes: u64,
    pub(super) task: &'a SiegeRequest,
}

/// The line for an answer: browser.c `__display_result`.
pub(super) fn line(told: &AnswerLine<'_>, config: &Config) -> String {
    let AnswerLine { user, protocol, status, took_s, bytes, task, .. } = *told;
    let url = task.shown(config.full_url);
    let stamp = if config.timestamp { stamp() } else { String::new() };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = if config.csv {
        let mark = config.mark.as_ref().map_or(String::new(), |mark| format!("{mark},"));
        let id = if config.display_id { format!("{user:4},") } else { String::new() };
        let (entry, now) = (task.entry, date());
        write!(
            text,
            "{stamp}{mark}{id}{protocol},{status},{took_s:6.2},{bytes:7},{url},{entry},{now}"
        )
    } else if config.display_id {
        let method = &task.method;
        write!(
            text,
            "{user:4}) {protocol} {status} {took_s:6.2} secs: {bytes:7} bytes ==> {method:<4} {url}"
        )
    } else {
        let (method, cached) = (&task.method, if told.is_cached { "(C)" } else { "   " });
        write!(
            text,
            "{stamp}{protocol} {status}{cached} {took_s:5.2} secs: {bytes:7} bytes ==> \
             {method:<4} {url}"
        )
    };
    match config.color {
        true => format!("\x1b[0;{}m{text}\x1b[0m\n", color(status, told.is_cached)),
        false => text + "\n",
    }
}

/// browser.c `__select_color`.
const fn color(status: u16, is_cached: bool) -> u8 {
    match status {
        _ if is_cached => 32,
        150 | 200..=206 | 226 => 34,
        300..=307 => 36,
        400..=417 => 35,
        _ => 31,
    }
}

/// `2010-11-20 10:39:13`, local time.
pub(super) fn date() -> String {
    let now = local_time(clock::unix_s());
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        now.year, now.month, now.day, now.hour, now.minute, now.second
    )
}

fn stamp() -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    let weekday = usize::from(local_time(clock::unix_s()).weekday);
    format!("[{}, {}] ", DAYS.get(weekday).unwrap_or(&""), date())
}

#[cfg(test)]
mod tests {
    use super::super::urls;
    use super::*;

    fn told(config: Config, status: u16) -> String {
        let config = Config { url: Some("http://a/x".to_owned()), ..config };
        let task = urls::load(&config).unwrap().tasks.remove(0);
        let told = AnswerLine {
            user: 3,
            protocol: "HTTP/1.1",
            status,
            is_cached: false,
            took_s: 0.25,
            bytes: 12,
            task: &task,
        };
        line(&told, &config)
    }

    fn plain() -> Config {
        Config { color: false, ..Config::default() }
    }

    #[test]
    fn lines_have_the_columns_of_siege() {
        assert_eq!(told(plain(), 200), "HTTP/1.1 200     0.25 secs:      12 bytes ==> GET  /x\n");
        assert_eq!(
            told(Config { display_id: true, timestamp: true, ..plain() }, 404),
            "   3) HTTP/1.1 404   0.25 secs:      12 bytes ==> GET  /x\n"
        );
        let full = told(Config { full_url: true, color: true, ..plain() }, 302);
        assert!(full.starts_with("\x1b[0;36mHTTP") && full.ends_with("GET  http://a/x\x1b[0m\n"));
    }

    #[test]
    fn rows_of_csv_have_mark_user_and_time() {
        let config = Config { csv: true, display_id: true, mark: Some("m".to_owned()), ..plain() };
        let row = told(config, 200);
        assert!(row.starts_with("m,   3,HTTP/1.1,200,  0.25,     12,/x,0,20"), "{row}");
    }
}
