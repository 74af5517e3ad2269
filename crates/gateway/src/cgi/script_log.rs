//! `ScriptLog`: what a script was asked and what it said, where it could not be used.

use super::HOST_SETTINGS;
use logging::sink::local_time;
use logging::time::TimeFormat;
use message::{Method, Status};
use runtime::clock;
use scoreboard::WaitCause;
use server::accounting;
use server::request_context::RequestContext;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// What there is to say.
pub(super) enum ScriptLogEntry<'a> {
    /// No script has run, for this reason.
    Error(Status, &'a str),
    /// One has run.
    Script {
        /// What is answered.
        status: Status,
        /// The beginning of the request's body.
        body: Vec<u8>,
        /// What it has said until that could not be used.
        output: Vec<u8>,
        /// The rest of what it has said.
        said: Vec<u8>,
    },
}

/// Write an entry, if there is such a log and it is not too long (`log_script` of mod_cgi.c).
pub(super) async fn write(request: &RequestContext<'_>, entry: ScriptLogEntry<'_>) {
    let log = HOST_SETTINGS.of(&request.host.modules).log();
    let Some((path, most)) = log.filter(|_| !request.is_explained()) else { return };
    let text = text(request, &entry);
    let append = move || append(path, most, &text);
    // What cannot be written is lost, as it is by httpd.
    let _ = accounting::blocking(request.spent(), WaitCause::Disk, append).await;
}

fn append(path: PathBuf, most: i64, text: &[u8]) {
    let Ok(mut file) = File::options().append(true).create(true).open(path) else { return };
    let length = file.metadata().map_or(0, |facts| i64::try_from(facts.len()).unwrap_or(i64::MAX));
    if length <= most {
        let _ = file.write_all(text);
    }
}

fn text(request: &RequestContext<'_>, entry: &ScriptLogEntry<'_>) -> Vec<u8> {
    let view = request.received().view();
    let mut out = Vec::new();
    let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
    let (status, script) = match entry {
        ScriptLogEntry::Error(status, _) | ScriptLogEntry::Script { status, .. } => {
            (status, request.mapping.place.path())
        }
    };
    let (mark, query) = match request.query() {
        Some(query) => (&b"?"[..], query),
        None => (&b""[..], &b""[..]),
    };
    let time = time();
    put(&[b"%% [", &time, b"] ", view.method(), b" ", &request.path, mark, query]);
    put(&[b" ", view.protocol(), b"\n"]);
    put(&[b"%% ", status.code().to_string().as_bytes(), b" ", &script, b"\n"]);
    match entry {
        ScriptLogEntry::Error(_, text) => put(&[b"%error\n", text.as_bytes(), b"\n"]),
        ScriptLogEntry::Script { body, output, said, .. } => {
            put(&[b"%request\n"]);
            view.fields().for_each(|(name, value)| put(&[name, b": ", value, b"\n"]));
            let has_body = matches!(request.method(), Some(Method::Post | Method::Put));
            if has_body && !body.is_empty() {
                put(&[b"\n", body, b"\n"]);
            }
            put(&[b"%response\n"]);
            for (name, value) in &request.output.always {
                put(&[name.as_bytes(), b": ", value, b"\n"]);
            }
            put(&[output, b"\n"]);
            if !said.is_empty() {
                put(&[b"%stdout\n", said, b"\n"]);
            }
        }
    }
    out
}

/// `Wed Jun 19 10:53:21 1996`
fn time() -> Vec<u8> {
    let mut out = Vec::new();
    TimeFormat::new(b"%a %b %d %H:%M:%S %Y").write(&local_time(clock::unix_s()), &mut out);
    out
}
