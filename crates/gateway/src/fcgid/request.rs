//! What an application is told about a request, and what kind of process it needs.

use super::settings::Wrapper;
use super::{HOST_SETTINGS, NAME, SERVER_SETTINGS};
use crate::suexec;
use fastcgi::{Params, RequestOpening};
use logging::level::Level;
use message::BodyLength;
use runtime::programs::{ProcessClass, ProgramCommand};
use server::request_context::RequestContext;
use server::script::body::ScriptBody;
use server::script::environment::environment;
use server::table::Table;
use std::ffi::CString;
use std::sync::Arc;

/// Fields that are about the connection to the client (fcgid_handler).
const HOP_BY_HOP: [&str; 5] =
    ["HTTP_KEEP_ALIVE", "HTTP_TE", "HTTP_TRAILER", "HTTP_TRANSFER_ENCODING", "HTTP_UPGRADE"];

/// What is sent first, and what it makes of the answer.
pub(super) fn head(request: &mut RequestContext<'_>, body: &ScriptBody) -> Arc<RequestOpening> {
    let settings = request.settings.clone();
    let mut env = environment(request, settings.core.variables());
    // Debian's mod_fcgid has read the body by now, and says its length even if there is none.
    let length = match (body, request.body()) {
        (ScriptBody::Spooled(spool), _) => spool.length(),
        (ScriptBody::Streamed(_) | ScriptBody::Gathered(_), BodyLength::Length(length)) => length,
        _ => 0,
    };
    env.set("CONTENT_LENGTH", length.to_string());
    pass_headers(request, &mut env);
    if SERVER_SETTINGS.of(&request.site().modules).fixes_path_info() {
        fix_path_info(&mut env);
    }
    HOP_BY_HOP.iter().for_each(|name| env.unset(name));
    // Said as mod_fcgid says it: an application must not keep the connection.
    env.set("HTTP_CONNECTION", "close");
    request.tables.env = env;
    Arc::new(encode(request, &request.tables.env))
}

/// `FcgidPassHeader`: under the name that is written, and under that of any field.
fn pass_headers(request: &RequestContext<'_>, env: &mut Table) {
    for name in HOST_SETTINGS.of(&request.host.modules).pass_headers() {
        let Some(value) = request.field(name).map(<[u8]>::to_vec) else { continue };
        env.set(name, value.as_slice());
        let letter = |byte: u8| match byte.is_ascii_alphanumeric() {
            true => char::from(byte.to_ascii_uppercase()),
            false => '_',
        };
        let variable: String = "HTTP_".chars().chain(name.bytes().map(letter)).collect();
        env.set(&variable, value);
    }
}

/// `FcgidFixPathinfo`: for a PHP that cuts DOCUMENT_ROOT off SCRIPT_NAME.
fn fix_path_info(env: &mut Table) {
    let (root, name) = (env.get("DOCUMENT_ROOT"), env.get("SCRIPT_NAME"));
    // apr_filepath_merge: an absolute path takes the place of the root.
    if let (Some(root), Some(name)) = (root, name)
        && !name.starts_with(b"/")
    {
        let merged = [root, b"/", name].concat();
        env.set("SCRIPT_NAME", merged);
    }
}

/// Variables as records, with names that a shell can use (ap_create_environment). What is too long
/// is left out.
fn encode(request: &RequestContext<'_>, env: &Table) -> RequestOpening {
    let mut params = Params::new(false);
    for (name, value) in env.iter() {
        let letter = |(nth, byte): (usize, u8)| match byte {
            b'0'..=b'9' if nth == 0 => b'_',
            byte if byte.is_ascii_alphanumeric() => byte,
            _ => b'_',
        };
        let name: Vec<u8> = name.bytes().enumerate().map(letter).collect();
        if let Err(too_long) = params.add(&name, value) {
            let text = String::from_utf8_lossy(&too_long.message(&name)).into_owned();
            request.log(Level::Warn, NAME, None, &text);
        }
    }
    params.opening(true)
}

/// The process that a script needs: of the wrapper, or of the script itself if that is a program.
pub(super) fn class(request: &RequestContext<'_>, wrapper: Option<&Wrapper>) -> ProcessClass {
    let (arguments, file) = match wrapper {
        Some(wrapper) => {
            (wrapper.words.iter().map(|word| word.clone().into_bytes()).collect(), (0, 0))
        }
        None => {
            // As mod_fcgid tells programs apart by inode and device: one that was replaced is
            // another class, and the processes of the old one get no more requests.
            let identity = request.mapping.status.map_or((0, 0), |status| status.identity);
            (vec![request.mapping.place.path()], identity)
        }
    };
    let program = arguments.first().cloned().unwrap_or_default();
    let folder = program.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash.max(1));
    let text = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
    let command = ProgramCommand {
        identity: suexec::identity(request),
        limits: request.settings.core.limits(),
        folder: text(&program[..folder]),
        program: text(&program),
        arguments: arguments.iter().map(|argument| text(argument)).collect(),
        environment: Vec::new(),
    };
    ProcessClass { host: u32::try_from(request.host.index).unwrap_or(u32::MAX), file, command }
}
