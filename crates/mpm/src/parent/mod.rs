//! The parent process: one thread, no executor, and it never serves. What it knows is
//! [`state::Parent`]; each file beside this one adds what the parent does about one matter:
//!
//! | file | what happens there |
//! |---|---|
//! | `main_loop` | the start of the server, signals, and what is looked after in each turn |
//! | `fork` | a child is forked |
//! | `death` | a child is waited for; what its end means |
//! | `stop` | children are told to end, or killed when they take too long |
//! | `restart` | one generation follows another |
//! | `maintain` | children are started that are missing, and ended where there are too many |
//! | `revise_workers` | `MaxRequestWorkers auto`: as many workers as memory is enough for |
//! | `measure_children` | what memory children have, for that |
//! | `record_second` | what the scoreboard and the log are told once a second |
//! | `managers` | the processes that start programs are forked, questioned and ended |
//! | `count_changes` | reports of the kernel about folders with `.htaccess` files are read |

mod command_line;
mod count_changes;
mod death;
mod fork;
mod log_programs;
pub(crate) mod main_loop;
mod maintain;
mod managers;
mod measure_children;
mod record_second;
mod restart;
mod revise_workers;
mod state;
mod stop;

pub use state::pid_file::read_pid_file;
