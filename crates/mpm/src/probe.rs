//! Checks that the children's user may read the document root, before anything listens.

use runtime::process::{self, Ending, Fork};
use server::Server;

const UNREADABLE: i32 = 3;
const NO_CHANGE: i32 = 4;

/// Try to read it in a process of its own, which becomes the children's user as they do.
///
/// # Errors
/// What is wrong and what to do, as a clause.
pub fn probe(server: &Server) -> Result<(), String> {
    let Some(user) = server.user() else {
        return server.check_root().map_err(|error| format!("it cannot be read: {error}"));
    };
    let pid = match process::fork().map_err(|error| format!("cannot fork: {error}"))? {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            let code = match process::become_user(user) {
                Err(_) => NO_CHANGE,
                Ok(()) if server.check_root().is_err() => UNREADABLE,
                Ok(()) => 0,
            };
            process::exit_now(code)
        }
    };
    match process::wait_for(pid) {
        Some(Ending::Exit(0)) => Ok(()),
        Some(Ending::Exit(UNREADABLE)) => Err(format!(
            "user {} may not read it: give it the right (chmod o+rx), or name another user with \
             -c 'User NAME'",
            user.name
        )),
        Some(Ending::Exit(NO_CHANGE)) => Err(format!("cannot become user {}", user.name)),
        Some(ending) => Err(format!(
            "the process that tried to read it as user {} ended with {ending}",
            user.name
        )),
        None => Err("the process that tried to read it cannot be waited for".to_owned()),
    }
}
