//! A look at the folder through the eyes of the children's user, before anything listens.

use runtime::process::{self, Ending, Fork};
use server::Server;

const UNREADABLE: i32 = 3;
const NO_CHANGE: i32 = 4;

/// Try in a process of its own, which drops privileges as a child does.
///
/// # Errors
/// What is wrong and what to do, as a clause.
pub fn probe(server: &Server) -> Result<(), String> {
    let Some(user) = server.user() else {
        return server.check_root().map_err(|error| format!("it cannot be read: {error}"));
    };
    let pid = match process::fork().map_err(|error| error.to_string())? {
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
        other => Err(format!("the look at it failed ({other:?})")),
    }
}
