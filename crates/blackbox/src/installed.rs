//! An application with its own files, behind apache2 and trivet with one PHP-FPM: what both answer
//! to the same requests.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::client::Failure;
use crate::differential::{FRAMING, describe};
use crate::rewrite::Row;
use crate::talk::Talk;
use crate::{Response, outside, releases};

/// A request, written as in [`crate::rewrite`], and the status that it has.
pub type Expected<'r> = (&'r str, u16);

/// The two servers, asked for one host on connections that are kept.
#[derive(Debug)]
pub struct Beside {
    theirs: Talk,
    ours: Talk,
    host: String,
    /// Fields that every request has.
    fields: String,
    /// Takes out of an answer what is another in each.
    clean: fn(&str) -> String,
}

impl Beside {
    /// apache2 and trivet.
    pub fn new(
        theirs: SocketAddr,
        ours: SocketAddr,
        host: &str,
        clean: fn(&str) -> String,
    ) -> Self {
        let theirs = Talk::new(theirs, Some(releases::httpd_patch()));
        let ours = Talk::new(ours, None);
        Self { theirs, ours, host: host.to_owned(), fields: String::new(), clean }
    }

    /// The same with fields in every request, each behind ` | `.
    pub fn with(mut self, fields: &str) -> Self {
        fields.clone_into(&mut self.fields);
        self
    }

    /// What apache2 answers.
    pub fn ask_apache(&mut self, row: &str) -> Response {
        let bytes = self.bytes(row);
        self.theirs.ask(&bytes).unwrap_or_else(|failure| panic!("{row}: {failure}"))
    }

    /// What trivet answers.
    pub fn ask(&mut self, row: &str) -> Response {
        let bytes = self.bytes(row);
        self.ours.ask(&bytes).unwrap_or_else(|failure| panic!("{row}: {failure}"))
    }

    fn bytes(&self, row: &str) -> Vec<u8> {
        Row::bytes(&format!("{row}{}", self.fields), &self.host)
    }

    /// Asks both for each row, and trivet once more for what it may have prepared; panics with all
    /// that is answered differently, or not with the status that it should have.
    pub fn compare(&mut self, rows: &[(impl AsRef<str>, u16)]) {
        let mut wrong = String::new();
        let is_shown = std::env::var_os("TRIVET_REWRITE_SHOW").is_some();
        for (row, status) in rows {
            let row = row.as_ref();
            let bytes = self.bytes(row);
            let answer = self.theirs.ask(&bytes);
            let theirs = self.text(self.theirs.server(), answer);
            if is_shown {
                println!("> {row}\n{:.1500}\n", theirs.1);
            }
            for time in ["first", "second"] {
                let answer = self.ours.ask(&bytes);
                let ours = self.text(self.ours.server(), answer);
                if ours != theirs || ours.0 != *status {
                    let [theirs, ours] = [&theirs.1, &ours.1];
                    wrong +=
                        &format!("\n== {row} ({time} time; {status})\n{}", apart(theirs, ours));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }

    fn text(&self, server: SocketAddr, answer: Result<Response, Failure>) -> (u16, String) {
        match answer {
            Ok(response) => {
                let ignored = [FRAMING, &["Connection", "Keep-Alive"]].concat();
                let text = describe(&response, server, &ignored).replace("\\'", "'");
                (response.status, (self.clean)(&text))
            }
            Err(failure) => (0, format!("no response: {failure}")),
        }
    }
}

/// The lines that only one of two texts has.
fn apart(theirs: &str, ours: &str) -> String {
    let mut out = format!("-- apache2 {:.60}\n++ trivet {:.60}\n", theirs, ours);
    for (sign, one, other) in [('-', theirs, ours), ('+', ours, theirs)] {
        let mut lines: Vec<&str> = other.lines().collect();
        for line in one.lines() {
            match lines.iter().position(|it| *it == line) {
                Some(at) => drop(lines.swap_remove(at)),
                None => out += &format!("{sign} {line:.400}\n"),
            }
        }
    }
    out
}

/// Copies a folder with all that is in it; links become what they lead to.
pub fn copy(from: &Path, to: &Path) {
    let output = outside::run_command(Command::new("cp").arg("-RL").args([from, to]), 60);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
