//! Whom a program runs as. The user of the server needs no permission: whoever asks is the same.
//! Others are rows of the configuration or users with a home, and what suEXEC asks for must hold.

use runtime::process::{self, User};
use runtime::programs::{IdentityRefusal, ProgramCommand, ProgramIdentity, tame};
use server::Server;
use std::path::PathBuf;

/// The folder for the web in the home of a user (AP_USERDIR_SUFFIX).
const OF_HOME: &str = "public_html";

/// What holds of `command` for whoever runs it: programs of others are told less.
pub(super) fn prepare(command: &mut ProgramCommand) -> Result<(), IdentityRefusal> {
    match command.identity {
        ProgramIdentity::Server => Ok(()),
        ProgramIdentity::Row(_) | ProgramIdentity::Home(_) => tame(command),
    }
}

/// Another user than the server's, and the folders that his programs are in. This may take long: he
/// is looked up where the system keeps its users.
pub(super) fn find(server: &Server, identity: ProgramIdentity) -> Option<(User, Vec<PathBuf>)> {
    match identity {
        ProgramIdentity::Server => None,
        ProgramIdentity::Row(row) => gateway::suexec::script_user(server, row).cloned(),
        ProgramIdentity::Home(uid) => {
            let user = with_home(server, uid)?;
            let root = user.home.join(OF_HOME);
            Some((user, vec![root]))
        }
    }
}

fn with_home(server: &Server, uid: u32) -> Option<User> {
    let mut user = process::user_by_id(uid).filter(|_| gateway::suexec::runs_as_others(server))?;
    user.groups = process::groups_of(&user.name, user.gid).ok()?;
    (user.home != PathBuf::new()).then_some(user)
}
