//! What both servers log of the steps of rules (`LogLevel rewrite:trace8`), line by line.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::SocketAddr;
use std::path::Path;

use super::beside::Beside;
use super::sheet::{Row, Set, Sheet};
use crate::Mpm;

/// Asks both for all rows of `rewrite/NAME.rules` and compares what their error logs say of module
/// rewrite, without times, processes, ports and addresses in memory; panics with what differs. A
/// row with a reason has to differ.
///
/// All steps are logged unless a host has a `LogLevel` of its own.
pub fn compare(test: &str, mpm: Mpm, name: &str) {
    let mut sheet = Sheet::read(name);
    sheet.main.insert_str(0, "LogLevel rewrite:trace8\n");
    let Some(mut beside) = Beside::start(test, mpm, &sheet) else { return };
    let mut log = BothLogs::new(&beside);
    let (mut lines, mut rows, mut text, mut differ) = (0, 0, String::new(), 0);
    for (number, set) in sheet.sets.iter().enumerate() {
        for row in &set.rows {
            beside.ask(number, row);
            let [theirs, ours] = log.new_steps(&beside);
            lines += theirs.len();
            rows += 1;
            // With a reason it has to differ, without one it must not.
            if (theirs == ours) == row.is_told_differently.is_some() {
                differ += 1;
                tell(&mut text, (number, set), row, [&theirs, &ours]);
            }
        }
    }
    println!("{name}: {rows} requests, {lines} lines, {differ} requests differ");
    assert!(lines > rows, "hardly anything is logged: {lines} lines for {rows} requests");
    assert!(differ == 0, "{differ} differ:\n{text}");
}

/// The error logs of both servers, as far as they were read.
#[derive(Debug)]
pub struct BothLogs([u64; 2]);

impl BothLogs {
    /// What was said at the start is left out.
    pub fn new(beside: &Beside) -> Self {
        let mut both = Self([0, 0]);
        both.new_lines(beside, |_| false);
        both
    }

    /// What the two have logged about requests since the last time.
    pub fn new_errors(&mut self, beside: &Beside) -> [Vec<String>; 2] {
        self.new_lines(beside, |line| line.contains("[client "))
    }

    /// The same of module rewrite, with its steps.
    fn new_steps(&mut self, beside: &Beside) -> [Vec<String>; 2] {
        self.new_lines(beside, |line| line.contains("[rewrite:"))
    }

    fn new_lines(&mut self, beside: &Beside, is_wanted: impl Fn(&str) -> bool) -> [Vec<String>; 2] {
        let (files, servers) = (beside.error_files(), beside.servers());
        [0, 1].map(|nth| {
            let text = read_from(&files[nth], &mut self.0[nth]);
            let wanted = text.lines().filter(|line| is_wanted(line));
            wanted.filter_map(|line| compared(line, servers[nth])).collect()
        })
    }
}

fn read_from(path: &Path, at: &mut u64) -> String {
    let mut file = File::open(path).expect("the log is there");
    file.seek(SeekFrom::Start(*at)).expect("a file has places");
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).expect("the log can be read");
    *at += bytes.len() as u64;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A line without what tells two runs apart; `None` for what is none.
fn compared(line: &str, server: SocketAddr) -> Option<String> {
    let (_, line) = line.split_once("] [")?;
    let (module, rest) = line.split_once("] ")?;
    let rest = match rest.starts_with("[pid ") {
        true => rest.split_once("] ")?.1,
        false => rest,
    };
    // httpd names the line of its source.
    let sources = ["mod_rewrite.c(", "util_expr_eval.c("];
    let rest = match rest.split_once("): ") {
        Some((place, rest)) if sources.iter().any(|source| place.starts_with(source)) => rest,
        _ => rest,
    };
    let rest = rest.replace(&format!(":{}", server.port()), ":PORT");
    // The two have a file of their own with these lines.
    let rest = match rest.split_once(".conf:") {
        Some((before, behind)) => {
            let folder = before.rfind(' ').map_or(0, |at| at + 1);
            let number = behind.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}FILE{number}", &before[..folder])
        }
        None => rest,
    };
    let mut out = format!("[{module}] ");
    let mut rest = &*rest;
    for mark in ["[client 127.0.0.1:", "/sid#", "][rid#"] {
        let Some((before, behind)) = rest.split_once(mark) else { continue };
        out += before;
        out += mark;
        rest = behind.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    Some(out + rest)
}

/// Rules, request, and what both said from the first line on that is another.
fn tell(out: &mut String, (number, set): (usize, &Set), row: &Row, lines: [&[String]; 2]) {
    let _ = write!(out, "\n=== {} (s{number})\n{}> {}\n", set.title, set.rules(), row.text);
    if let Some(why) = row.is_told_differently.as_deref().filter(|_| lines[0] == lines[1]) {
        let _ = writeln!(out, "no longer differs, though \"{why}\"");
    }
    let alike = lines[0].iter().zip(lines[1]).take_while(|(one, other)| one == other).count();
    for (sign, lines) in [('-', lines[0]), ('+', lines[1])] {
        for line in lines.iter().skip(alike).take(LINES_TOLD) {
            let _ = writeln!(out, "  {sign} {line}");
        }
    }
}

/// So many lines are told of each server.
const LINES_TOLD: usize = 6;
