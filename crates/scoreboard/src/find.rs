//! Finding the board of a server from outside, by its parent's process id.

use crate::board::Scoreboard;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

/// What the kernel says a descriptor of a board leads to (proc(5)).
const LINK: &str = "/memfd:trivet-scoreboard (deleted)";

impl Scoreboard {
    /// The board of the youngest generation of the server whose parent process is `pid`.
    ///
    /// # Errors
    /// When the process is none of Trivet's, of another version, or of somebody else: this takes
    /// the same user or root (ptrace(2)).
    pub fn of_process(pid: i32) -> io::Result<Self> {
        let mut youngest: Option<Self> = None;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "no scoreboard of Trivet");
        for entry in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
            let path = entry.path();
            if fs::read_link(&path).is_ok_and(|link| link.as_os_str() == LINK) {
                match fs::File::open(&path).and_then(|file| Self::open(OwnedFd::from(file))) {
                    Ok(board) => youngest = Some(younger(youngest, board)),
                    Err(error) => last = error,
                }
            }
        }
        youngest.ok_or(last)
    }
}

fn younger(one: Option<Scoreboard>, other: Scoreboard) -> Scoreboard {
    match one {
        Some(one) if one.generation() > other.generation() => one,
        _ => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_found_by_the_process_that_has_it() {
        let older = Scoreboard::create(1, 1, 5).unwrap();
        let board = Scoreboard::create(2, 1, 6).unwrap();
        board.set_generation(older.generation() + 1);
        let pid = i32::try_from(std::process::id()).unwrap();
        // Other tests of this process have boards, too.
        let found = Scoreboard::of_process(pid).unwrap();
        assert!(found.generation() > older.generation());
        assert!(Scoreboard::of_process(i32::MAX).is_err());
    }
}
