//! A command line that a page has a shell run (`<!--#exec cmd=...`; include_cmd of mod_cgi.c and
//! mod_cgid.c). What it says is part of the page as it is: it has no head.

use super::flavor::Flavor;
use super::log::CgiLog;
use super::relay::{CgiBody, CgiRelay, CgiTalk};
use super::{DESCRIPTORS, SETTINGS, variables};
use crate::suexec;
use message::Status;
use runtime::programs::ProgramCommand;
use scoreboard::WaitCause;
use server::accounting::AnswerWaits;
use server::failure::{Failure, Stop};
use server::request_context::RequestContext;
use server::response::Body;
use server::script::body::ScriptBody;
use std::ffi::{CStr, CString};
use std::time::Duration;

/// The shell (APR_SHELLCMD of apr_proc_create).
const SHELL: &CStr = c"/bin/sh";

impl Flavor {
    /// Have a command line run with the variables of a request.
    pub(super) async fn command(
        &'static self,
        request: &mut RequestContext<'_>,
        line: Vec<u8>,
    ) -> Result<Body, Stop> {
        request.mark_personal();
        let Ok(line) = CString::new(line) else {
            let text = "a command line has a NUL in it";
            return Err(Failure::new(Status::INTERNAL_SERVER_ERROR, self.name, text).into());
        };
        let path = request.mapping.place.path();
        let folder = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let command = ProgramCommand {
            identity: suexec::identity(request),
            limits: request.settings.core.limits(),
            folder: CString::new(&path[..folder]).unwrap_or_default(),
            arguments: vec![SHELL.to_owned(), c"-c".to_owned(), line],
            environment: variables(&request.tables.env),
            program: SHELL.to_owned(),
        };
        let timeout_ms = SETTINGS.of(&request.settings).timeout_ms(self.is_daemon);
        let timeout_ms = timeout_ms.unwrap_or(request.host.timing.timeout_ms);
        let mut waits = AnswerWaits::new(request.spent().clone());
        waits.now_for(Some(WaitCause::BackendConnect));
        let descriptors = request.context.server().held.hold(DESCRIPTORS);
        let program = self.start(request, command, Duration::from_millis(timeout_ms)).await?;
        let talk = CgiTalk {
            body: ScriptBody::None,
            timeout_ms,
            log: CgiLog::of(request, self),
            has_log: false,
            kept_bytes: 0,
            _descriptors: descriptors,
        };
        let relay = CgiRelay::new(program, talk, waits, self.is_daemon);
        let going_on = request.context.going_on().clone();
        Ok(Body::stream(CgiBody::of(relay, going_on)))
    }
}
