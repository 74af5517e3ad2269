//! The part of the command line that says what is asked: requests from words, files and logs.

use super::super::Exit;
use super::fault::{CommandFault, usage};
use super::print::complain;
use load::pacer::Pacer;
use load::plan::replay::LogReader;
use load::plan::{self, BodyContent, Expect, Plan, PlanEntry, RequestOrder, Variables};
use load::url::Url;
use std::cell::OnceCell;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

/// A body that is read from a file, at most.
const BODY_BYTES_MAX: u64 = 1 << 30;

/// A URL file, at most.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The options that say which requests are sent.
#[derive(Debug, Default)]
pub(super) struct RequestOptions {
    pub(super) method: String,
    /// Header fields, in their order.
    pub(super) fields: Vec<(String, String)>,
    /// The body: a text, or `@FILE`.
    pub(super) body: Option<String>,
    /// URL files.
    pub(super) files: Vec<String>,
    /// Values for names, as they stand in URL files.
    pub(super) variables: Vec<(String, String)>,
    pub(super) expect: Option<Expect>,
    pub(super) user_agent: Option<String>,
    pub(super) is_random: bool,
    pub(super) http10: bool,
    /// Ask for compressed contents, unless a field says otherwise.
    pub(super) accepts_gzip: bool,
    /// An access log, and how much faster than it was.
    pub(super) replay: Option<String>,
    pub(super) speed: Option<f64>,
    /// What standard input has, once it is read.
    pub(super) stdin: OnceCell<Vec<u8>>,
}

/// A recorded schedule: when, and which entry.
pub(super) type Recorded = (Pacer, Vec<u32>);

impl RequestOptions {
    /// The plan of the words, and the schedule if a log has one.
    ///
    /// # Errors
    /// What cannot be understood, or a file that cannot be read.
    pub(super) fn plan(
        &self,
        words: &[String],
        keep_alive: bool,
    ) -> Result<(Plan, Option<Recorded>), CommandFault> {
        self.check()?;
        let options = self.options(keep_alive)?;
        if let Some(log) = &self.replay {
            return self.replay(log, words, options);
        }
        let mut variables = Variables::default();
        for (name, text) in &self.variables {
            variables.define(name, text).map_err(usage)?;
        }
        let mut entries = Vec::new();
        for word in words {
            entries.push(self.entry(word, &variables, &options)?);
        }
        for file in &self.files {
            entries.extend(self.entries_of(file, &mut variables, &options)?);
        }
        if entries.is_empty() {
            return Err(usage("no URL to send requests to\ntry: trivet bench --help"));
        }
        let takes = entries.iter().any(|entry| !entry.takes.is_empty());
        let order = match (self.is_random, takes) {
            (true, true) => {
                return Err(usage(
                    "-i: a value that is taken from an answer is for the request after it",
                ));
            }
            (true, false) => RequestOrder::AtRandom,
            (false, true) => RequestOrder::AsWritten,
            (false, false) => RequestOrder::Weighted,
        };
        Ok((Plan::new(entries, order).map_err(usage)?, None))
    }

    /// What all requests have in common.
    fn options(&self, keep_alive: bool) -> Result<plan::RequestDefaults, CommandFault> {
        let mut fields = self.fields.clone();
        let has_coding = |field: &(String, String)| field.0.eq_ignore_ascii_case("accept-encoding");
        if self.accepts_gzip && !self.fields.iter().any(has_coding) {
            fields.push(("Accept-Encoding".to_owned(), "gzip".to_owned()));
        }
        let usual = plan::RequestDefaults::default();
        let body = match self.body.as_deref().map(|body| (body, body.strip_prefix('@'))) {
            None => None,
            Some((_, Some(file))) => {
                Some(BodyContent::Bytes(self.read(file, BODY_BYTES_MAX)?.into()))
            }
            Some((text, None)) => Some(BodyContent::Text(text.to_owned())),
        };
        Ok(plan::RequestDefaults {
            keep_alive,
            http10: self.http10,
            fields,
            user_agent: self.user_agent.clone().unwrap_or(usual.user_agent),
            method: self.method.clone(),
            body,
        })
    }

    fn entry(
        &self,
        url: &str,
        variables: &Variables,
        options: &plan::RequestDefaults,
    ) -> Result<PlanEntry, CommandFault> {
        let spec = plan::RequestSpec { url, ..plan::RequestSpec::default() };
        let mut entry = PlanEntry::new(&spec, variables, options).map_err(usage)?;
        entry.expect.clone_from(&self.expect);
        Ok(entry)
    }

    fn entries_of(
        &self,
        file: &str,
        variables: &mut Variables,
        options: &plan::RequestDefaults,
    ) -> Result<Vec<PlanEntry>, CommandFault> {
        let text = String::from_utf8(self.read(file, FILE_BYTES_MAX)?)
            .map_err(|_| (Exit::File, format!("{file}: not UTF-8")))?;
        let mut load = |name: &str| self.read(name, BODY_BYTES_MAX).map_err(|(_, text)| text);
        let entries = plan::file::parse(file, &text, variables, options, &mut load);
        let mut entries = entries.map_err(|fault| (Exit::File, fault.to_string()))?;
        if entries.is_empty() {
            return Err((Exit::File, format!("{file}: no URL in this file")));
        }
        for entry in &mut entries {
            entry.expect = entry.expect.take().or_else(|| self.expect.clone());
        }
        Ok(entries)
    }

    fn replay(
        &self,
        log: &str,
        words: &[String],
        options: plan::RequestDefaults,
    ) -> Result<(Plan, Option<Recorded>), CommandFault> {
        let [base] = words else {
            return Err(usage("--replay takes one URL: that of the server"));
        };
        let base = Url::parse(base).map_err(usage)?;
        let mut reader = LogReader::new(base, options);
        let file = File::open(log).map_err(|error| (Exit::File, format!("{log}: {error}")))?;
        for line in BufReader::new(file).split(b'\n') {
            reader.line(&line.map_err(|error| (Exit::File, format!("{log}: {error}")))?);
        }
        let mut recording = reader.finish();
        if let Some(expect) = &self.expect {
            recording.entries.iter_mut().for_each(|entry| entry.expect = Some(expect.clone()));
        }
        if let Some(first) = &recording.first_left_out {
            let count = recording.left_out;
            complain(&format!("{log}: {count} lines cannot be replayed; the first: {first}"));
        }
        let plan = recording.plan().map_err(|_| {
            (Exit::File, format!("{log}: no line has a request that can be replayed"))
        })?;
        let speed = self.speed.unwrap_or(1.0);
        let pacer = Pacer::recorded(recording.moments_ns, speed).map_err(usage)?;
        Ok((plan, Some((pacer, recording.which))))
    }

    /// What does not go together: what a replay asks stands in the log.
    fn check(&self) -> Result<(), CommandFault> {
        if self.replay.is_none() {
            return match self.speed {
                Some(_) => Err(usage("--speed needs --replay")),
                None => Ok(()),
            };
        }
        let given = [
            ("-m", !self.method.is_empty()),
            ("-b", self.body.is_some()),
            ("-f", !self.files.is_empty()),
            ("-v", !self.variables.is_empty()),
            ("-i", self.is_random),
        ];
        match given.iter().find(|row| row.1) {
            Some((option, _)) => {
                Err(usage(format!("--replay sends what the log says: no {option}")))
            }
            None => Ok(()),
        }
    }

    /// The bytes of a file; `-` is standard input, which is read once, for whoever wants it.
    ///
    /// # Errors
    /// When it cannot be read, or is longer than it may be.
    fn read(&self, file: &str, bytes_max: u64) -> Result<Vec<u8>, CommandFault> {
        let fault = |text: &dyn ToString| (Exit::File, format!("{file}: {}", text.to_string()));
        if let ("-", Some(bytes)) = (file, self.stdin.get()) {
            return Ok(bytes.clone());
        }
        let mut bytes = Vec::new();
        let read = match file {
            "-" => std::io::stdin().take(bytes_max + 1).read_to_end(&mut bytes),
            _ => File::open(file).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes)),
        };
        match read {
            Ok(_) if bytes.len() as u64 > bytes_max => {
                Err(fault(&format!("more than {bytes_max} bytes")))
            }
            Ok(_) if file == "-" => Ok(self.stdin.get_or_init(|| bytes).clone()),
            Ok(_) => Ok(bytes),
            Err(error) => Err(fault(&error)),
        }
    }
}
