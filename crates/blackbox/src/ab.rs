//! ab from httpd and `trivet ab` with the same words, and their outputs side by side; servers of a
//! few lines that do what a proper one does not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use crate::binary;
use crate::outside::{program, run_command};
use crate::releases::{KILLED, Program, as_of_today};

/// What one of the two has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// The exit status.
    pub status: i32,
}

/// In place of the exit status of a program that was ended by a signal.
const SIGNALLED: i32 = -1;

/// Seconds that a run of a test may take.
const LIMIT_S: u64 = 60;

/// Runs the ab of httpd.
pub fn original(words: &[&str]) -> Said {
    let mut said = said(Command::new(program("ab")).arg0("ab").args(words));
    said.out = as_of_today(Program::Ab, &said.out);
    said
}

/// Runs ours as through a link of that name.
pub fn ours(words: &[&str]) -> Said {
    said(&mut our_command(words))
}

/// Ours, not started yet.
pub fn our_command(words: &[&str]) -> Command {
    let mut command = Command::new(binary::trivet());
    command.arg0("ab").args(words);
    command
}

fn said(command: &mut Command) -> Said {
    let output = run_command(command, LIMIT_S);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let status = output.status.code().unwrap_or(SIGNALLED);
    Said { out: text(output.stdout), err: text(output.stderr), status }
}

/// Runs both and asserts that all they say is the same, but for what takes time. Gives ours.
pub fn assert_alike(words: &[&str]) -> Said {
    let (original, ours) = (original(words), ours(words));
    assert_eq!(timeless(&original.out), timeless(&ours.out), "{words:?}");
    assert_eq!(original.err, ours.err, "{words:?}");
    let is_killed = original.status == SIGNALLED && KILLED.iter().any(|it| words.starts_with(it));
    assert!(is_killed || original.status == ours.status, "{words:?}: {original:?} {ours:?}");
    ours
}

/// Beginnings of lines whose numbers are of any length.
const TIMED: [&str; 3] = ["Time taken for tests:", "Requests per second:", "Time per request:"];

/// The output with its times as `N`. Where columns are aligned, the length of the line stays.
fn timeless(out: &str) -> Vec<String> {
    let lines = out.lines().filter(|line| !is_warning(line));
    lines
        .map(|line| {
            let is_timed = TIMED.iter().any(|start| line.contains(start))
                || line.contains("Transfer rate:")
                || line.contains(" kb/s ");
            match (is_timed, is_of_table(line)) {
                (true, _) => without_numbers(line),
                (false, true) => format!("{} {}", line.len(), without_numbers(line)),
                (false, false) => line.to_owned(),
            }
        })
        .collect()
}

/// Whether the line is one of the tables of times.
fn is_of_table(line: &str) -> bool {
    let starts = ["Connect: ", "Processing: ", "Waiting: ", "Total: "];
    starts.iter().any(|start| line.starts_with(start))
        || line.contains("%  ")
        || starts.iter().any(|start| line.contains(&format!("{}</th>", start.trim_end())))
}

/// Warnings about means and medians come with the weather.
fn is_warning(line: &str) -> bool {
    ["WARNING: The median", "ERROR: The median", "        These results", "       deviation apart"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Each number, and the blanks that align it, as `N`; the percentage of a line stays.
fn without_numbers(line: &str) -> String {
    let (kept, rest) = match line.find('%') {
        Some(end) => line.split_at(end + 1),
        None => ("", line),
    };
    let mut out = kept.to_owned();
    for word in rest.split(' ').filter(|word| !word.is_empty()) {
        let mut number = false;
        out.push(' ');
        for c in word.chars() {
            let is_number = c.is_ascii_digit() || (c == '.' && number);
            if !is_number {
                out.push(c);
            } else if !number {
                out.push('N');
            }
            number = is_number;
        }
    }
    out
}

impl Said {
    /// The number behind a label, which begins its line.
    pub fn number(&self, label: &str) -> f64 {
        self.value(label)
            .and_then(|value| value.split_whitespace().next()?.parse().ok())
            .unwrap_or_else(|| panic!("no number behind {label:?} in\n{}", self.out))
    }

    /// What stands behind a label, if there is such a line.
    pub fn value(&self, label: &str) -> Option<&str> {
        let mut lines = self.out.lines();
        lines.find_map(|line| Some(line.strip_prefix(label)?.strip_prefix(':')?.trim()))
    }
}

/// A server for tests: what it does with each connection, whose number from 1 it is told. It goes
/// on until the test process ends.
pub fn stub(behave: fn(TcpStream, usize)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = listener.local_addr().expect("a listener has an address");
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            thread::spawn(move || behave(stream, number + 1));
        }
    });
    address
}

/// Reads the head of a request; false if the client has gone.
pub fn take_request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// Takes a request and answers with these bytes.
pub fn answer(stream: &mut TcpStream, bytes: &str) -> bool {
    take_request(stream) && stream.write_all(bytes.as_bytes()).is_ok()
}

/// Closes a connection with a reset.
pub fn reset(stream: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the option is as long as is said, and the descriptor is open.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        );
    }
    drop(stream);
}

/// Keeps a connection open and says nothing until the client goes.
pub fn stay_silent(mut stream: TcpStream) {
    while take_request(&mut stream) {}
}
