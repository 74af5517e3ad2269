//! Whom a program runs as. The user of the server needs no permission: whoever orders is the same.
//! Others are rows of the configuration or users with a home, and what suEXEC asks for must hold.

use runtime::process::{self, User};
use runtime::programs::{Identity, Order, Refusal, trust};
use server::Server;
use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The folder for the web in the home of a user (AP_USERDIR_SUFFIX).
const OF_HOME: &str = "public_html";

/// The user of a program, and the open folder that was checked, if he is another one than the
/// server's.
pub(super) type As<'a> = (Option<Cow<'a, User>>, Option<OwnedFd>);

/// The user of `order`; `None` is to stay who the manager is.
pub(super) fn user<'a>(server: &'a Server, order: &mut Order) -> Result<As<'a>, Refusal> {
    let (user, roots) = match order.identity {
        Identity::Server => return Ok((server.user().map(Cow::Borrowed), None)),
        Identity::Row(row) => {
            let (user, roots) = server.script_user(row).ok_or(Refusal::UnknownUser)?;
            (Cow::Borrowed(user), roots)
        }
        Identity::Home(uid) => {
            let user = with_home(server, uid).ok_or(Refusal::UnknownUser)?;
            let root = user.home.join(OF_HOME);
            (Cow::Owned(user), vec![root])
        }
    };
    let folder = trust(order, &user, &roots)?;
    Ok((Some(user), Some(folder)))
}

fn with_home(server: &Server, uid: u32) -> Option<User> {
    let mut user = process::user_by_id(uid).filter(|_| server.runs_as_others())?;
    user.groups = process::groups_of(&user.name, user.gid).ok()?;
    (user.home != PathBuf::new()).then_some(user)
}
