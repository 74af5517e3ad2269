//! From the head of a script's answer that is none to a failure, in httpd's words.

use crate::failure::Failure;
use fastcgi::ScriptFault;

/// The failure for what the script with this path has said. httpd's library complains about what
/// it reads in the name of `module`, and those that send it about fields.
pub fn failure(fault: &ScriptFault, script: &[u8], module: &'static str) -> Failure {
    let name = script.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let said = fault.message(name);
    let module = if fault.id().is_some() { "http" } else { module };
    let text = String::from_utf8_lossy(&said).into_owned();
    let mut failure = Failure::new(fault.status(), module, text).at_error();
    failure.id = fault.id();
    // Error documents are told what ap_scan_script_header_err_core_ex of util_script.c logs.
    match fault {
        ScriptFault::NoEnd { .. }
        | ScriptFault::TimedOut
        | ScriptFault::NoColon(_)
        | ScriptFault::BadStatus(_) => failure.notes(&said),
        _ => failure,
    }
}
