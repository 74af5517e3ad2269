//! Both servers over a sheet, and what they answer.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::sheet::{Row, Set, Sheet};
use super::{ground, less};
use crate::apache::{Apache, config, start_ours};
use crate::client::Failure;
use crate::differential::{FRAMING, describe};
use crate::scratch::Scratch;
use crate::talk::Talk;
use crate::{Mpm, Response, Server, releases};

/// apache2 beside trivet. With `TRIVET_REWRITE_SELF` in the environment it is apache2 beside
/// another apache2, which shows whether the answers to a sheet are always the same. With
/// `TRIVET_REWRITE_SHOW` the answers of apache2 are printed.
#[derive(Debug)]
pub struct Beside {
    theirs: Talk,
    ours: Talk,
    apache: Apache,
    other: Other,
    /// The folder of all sets; it goes last.
    site: Scratch,
}

#[derive(Debug)]
enum Other {
    Trivet(Box<Server>, #[expect(dead_code, reason = "it is there as long as the server")] Scratch),
    Apache(Apache),
}

/// A request that is answered differently.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The number of its set.
    pub set: usize,
    /// The request.
    pub row: Row,
    /// What apache2 answers.
    pub theirs: String,
    /// What trivet answers.
    pub ours: String,
}

impl Beside {
    /// Starts both over a sheet; `None`, told and counted, where there is no apache2.
    pub fn start(test: &str, mpm: Mpm, sheet: &Sheet) -> Option<Self> {
        let program = releases::httpd(test)?;
        let site = Scratch::new();
        let more = ground::build(&site, sheet);
        let apache = Apache::start(&program, Mpm::Event, &(config("rewrite", &site) + &more));
        let patch = Some(releases::httpd_patch());
        let (other, ours) = if std::env::var_os("TRIVET_REWRITE_SELF").is_some() {
            let other = Apache::start(&program, Mpm::Event, &(config("rewrite", &site) + &more));
            let talk = Talk::new(other.address(), patch);
            (Other::Apache(other), talk)
        } else {
            let (server, home) = start_ours(mpm, "rewrite", &site, &more);
            let talk = Talk::new(server.address(), None);
            (Other::Trivet(Box::new(server), home), talk)
        };
        let theirs = Talk::new(apache.address(), patch);
        Some(Self { theirs, ours, apache, other, site })
    }

    /// The folder with the folders of all sets.
    pub fn site(&self) -> &Scratch {
        &self.site
    }

    /// What the two wrote to their error logs.
    pub fn errors(&self) -> [String; 2] {
        let ours = match &self.other {
            Other::Trivet(server, _) => server.error_text(),
            Other::Apache(apache) => apache.errors(),
        };
        [self.apache.errors(), ours]
    }

    /// The files of their error logs.
    pub(super) fn error_files(&self) -> [PathBuf; 2] {
        let ours = match &self.other {
            Other::Trivet(server, _) => server.error_file().to_owned(),
            Other::Apache(apache) => apache.error_file(),
        };
        [self.apache.error_file(), ours]
    }

    /// Where the two listen.
    pub(super) fn servers(&self) -> [SocketAddr; 2] {
        [self.theirs.server(), self.ours.server()]
    }

    /// What the two answer to a request to the host of this set.
    pub fn ask(&mut self, set: usize, row: &Row) -> [String; 2] {
        let bytes = self.bytes(set, row);
        let theirs = self.theirs.ask(&bytes);
        let ours = self.ours.ask(&bytes);
        [text(theirs, self.theirs.server()), text(ours, self.ours.server())]
    }

    fn bytes(&self, set: usize, row: &Row) -> Vec<u8> {
        Row::bytes(&ground::filled(&row.text, set, &self.site), &Set::host_name(set))
    }

    /// Asks for all rows of a sheet, and ours again, since it may have prepared an answer.
    pub fn findings(&mut self, sheet: &Sheet) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_shown = std::env::var_os("TRIVET_REWRITE_SHOW").is_some();
        for (number, set) in sheet.sets.iter().enumerate() {
            if is_shown {
                println!("\n=== {}\n{}", set.title, set.rules());
            }
            let mut answers = Vec::new();
            for row in &set.rows {
                let [theirs, ours] = self.ask(number, row);
                if is_shown {
                    println!("> {}\n{theirs}", row.text);
                }
                if theirs == ours && row.differs.is_none() {
                    answers.push((row, ours));
                } else {
                    findings.push(Finding { set: number, row: row.clone(), theirs, ours });
                }
            }
            for (row, answer) in answers {
                let bytes = self.bytes(number, row);
                // A script is known from the second time on, and what is known used at the third.
                for nth in 2..=3 {
                    let again = self.ours.ask(&bytes);
                    let again = text(again, self.ours.server());
                    if answer != again {
                        let row = Row::new(format!("{} (asked again, time {nth})", row.text));
                        let theirs = answer.clone();
                        findings.push(Finding { set: number, row, theirs, ours: again });
                        break;
                    }
                }
            }
        }
        findings
    }
}

/// Fields that belong to a connection.
const OF_CONNECTION: [&str; 2] = ["Connection", "Keep-Alive"];

/// An answer, as far as two can be compared.
fn text(answer: Result<Response, Failure>, server: SocketAddr) -> String {
    let response = match answer {
        Ok(response) => response,
        Err(failure) => return format!("no response: {failure}"),
    };
    let ignored = [FRAMING, &OF_CONNECTION].concat();
    let text = describe(&response, server, &ignored).replace("\\'", "'");
    let is_told = |line: &&str| match line.split_once('=') {
        Some((name, _)) => !ground::NOT_TOLD.contains(&name),
        None => true,
    };
    let lines: Vec<String> = text.lines().filter(is_told).map(without_time).collect();
    lines.join("\n")
}

/// A cookie ends so many minutes after its request.
fn without_time(line: &str) -> String {
    let parts = line.split_once("; expires=").filter(|_| line.starts_with("Set-Cookie:"));
    let Some((before, rest)) = parts else { return line.to_owned() };
    let time = rest.split(';').next().unwrap_or_default();
    let form: String =
        time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).skip(3).collect();
    let month = form.get(5..8).unwrap_or_default();
    format!("{before}; expires={}{}", form.replace(month, "mon"), &rest[time.len()..])
}

/// Findings as text: rules, request, and the lines that only one of the two has.
pub fn told(sheet: &Sheet, findings: &[Finding]) -> String {
    let mut out = String::new();
    let mut last = None;
    for finding in findings {
        let set = &sheet.sets[finding.set];
        if last != Some(finding.set) {
            let _ = write!(out, "\n=== {} (s{})\n{}", set.title, finding.set, set.rules());
            last = Some(finding.set);
        }
        let Finding { row, theirs, ours, .. } = finding;
        let _ = writeln!(out, "> {}", row.text);
        if theirs == ours {
            let why = row.differs.as_deref().unwrap_or_default();
            let _ = writeln!(out, "no longer differs, though \"{why}\"");
        }
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let _ = writeln!(out, "  apache2 {} | trivet {}", first(theirs), first(ours));
        for (sign, one, other) in [('-', theirs, ours), ('+', ours, theirs)] {
            let mut lines: Vec<&str> = other.lines().collect();
            for line in one.lines() {
                match lines.iter().position(|it| *it == line) {
                    Some(at) => drop(lines.swap_remove(at)),
                    None => drop(writeln!(out, "  {sign} {line}")),
                }
            }
        }
    }
    out
}

/// Asks both for all rows of `rewrite/NAME.rules`; panics with what is answered differently and
/// has no reason to be.
pub fn compare(test: &str, mpm: Mpm, name: &str) {
    let sheet = Sheet::read(name);
    let Some(mut beside) = Beside::start(test, mpm, &sheet) else { return };
    let is_self = matches!(beside.other, Other::Apache(_));
    let mut findings = beside.findings(&sheet);
    findings.retain(|finding| {
        // With a reason it has to differ, without one it must not.
        let is_alike = finding.theirs == finding.ours;
        is_alike == finding.row.differs.is_some() && !(is_self && is_alike)
    });
    let rows: usize = sheet.sets.iter().map(|set| set.rows.len()).sum();
    println!("{name}: {} sets, {rows} requests, {} differ", sheet.sets.len(), findings.len());
    assert!(findings.is_empty(), "{} differ:\n{}", findings.len(), told(&sheet, &findings));
}

/// The least that goes wrong in the same way as a finding: lines, flags and parts of the request
/// are left out as long as both servers go on to answer differently with the same statuses.
pub fn smallest(test: &str, mpm: Mpm, sheet: &Sheet, finding: &Finding) -> (Set, Finding) {
    let status = |text: &str| text.split(' ').nth(1).map(ToOwned::to_owned);
    let kind = |finding: &Finding| (status(&finding.theirs), status(&finding.ours));
    let (mut set, mut least) = (sheet.sets[finding.set].clone(), finding.clone());
    for _ in 0..30 {
        let sets = less::smaller(&set, &least.row);
        let tried = Sheet { main: sheet.main.clone(), sets };
        let Some(mut beside) = Beside::start(test, mpm, &tried) else { break };
        let found = beside.findings(&tried).into_iter().find(|it| kind(it) == kind(finding));
        let Some(found) = found else { break };
        set = tried.sets[found.set].clone();
        least = found;
    }
    (set, least)
}
