//! A process of a pool, from the fork to its exit code: it becomes the server's user, and serves
//! one connection after the other until it may go.

use runtime::process as processes;
use runtime::programs::{PoolTurn, next_connection};
use runtime::signals::LeaveSignal;
use server::Server;
use server::process_pool::ProcessPool;
use std::fs::File;
use std::io::Write;
use std::time::Duration;

/// The exit code of one that could not begin.
const FAILED: i32 = 1;

/// Serve until it may go; the result is the exit code.
pub(super) fn serve(
    server: &Server,
    pool: &ProcessPool,
    manager: i32,
    mut says_idle: &File,
) -> i32 {
    let Ok(leave) = LeaveSignal::take() else { return FAILED };
    if let Some(user) = server.user()
        && let Err(error) = processes::become_user(user)
    {
        let text = format!("unable to become user {}: {error}", user.name);
        server.log(logging::level::Level::Alert, "core", Some(2162), None, text.as_bytes());
        return FAILED;
    }
    processes::forbid_new_privileges();
    processes::die_with_parent(manager);
    pool.work.begin();
    let idle = Duration::from_millis(pool.limits.idle_ms);
    loop {
        match next_connection(&pool.listener, &leave, idle) {
            PoolTurn::Connection(connection) => {
                if !pool.work.serve(connection) {
                    return 0;
                }
            }
            PoolTurn::Taken => {}
            PoolTurn::Leave => return 0,
            // One that cannot say so stays.
            PoolTurn::Nothing => drop(says_idle.write(&processes::id().to_ne_bytes())),
        }
    }
}
