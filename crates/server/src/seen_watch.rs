//! Whether what was seen of names may have changed, without looking at each: the folders in which
//! they were looked for are watched, and reports of the kernel are counted on the scoreboard by the
//! parent. A change is reported before the call that makes it returns, so that it counts at the
//! next request as if each name had been looked at. Where nothing is reported (file systems of
//! other machines, paths that lead over symbolic links) that is done. It is done once a second in
//! any case, since a few changes are never reported (through a mapping of a file, by a mount over a
//! folder).

use crate::site::seen_file::SeenFile;
use runtime::file::{self, Errno, Links, OpenPurpose};
use runtime::folder_watch::{FolderWatch, Watched};
use scoreboard::Scoreboard;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// So many folders and files are watched by the processes of a generation together; each keeps
/// about a kilobyte of the kernel's memory. Clients choose which folders are looked at.
const WATCHES_MAX: u64 = 4096;

/// How long nothing more is added where there was no room, in seconds: each try is a report.
const FULL_S: i64 = 60;

/// A moment until which nothing has changed: the number of the last change, and the second, since
/// what is watched is made sure of once in each.
pub(crate) type QuietSince = (u64, i64);

/// What one thread knows of the folders that are watched.
pub(crate) struct SeenWatch {
    reports: Option<Arc<FolderWatch>>,
    board: Arc<Scoreboard>,
    /// Until then nothing is added, in seconds since 1970: there was no room.
    full_s: Cell<i64>,
    known: RefCell<KnownPaths>,
}

/// What was found out since a moment: whether each path is watched.
#[derive(Default)]
struct KnownPaths {
    since: Option<QuietSince>,
    is_watched: HashMap<Vec<u8>, bool>,
}

impl SeenWatch {
    /// For a thread of a server that watches folders, or of one that cannot.
    pub(crate) fn new(reports: Option<Arc<FolderWatch>>, board: Arc<Scoreboard>) -> Self {
        Self { reports, board, full_s: Cell::default(), known: RefCell::default() }
    }

    /// The moment until now; `None` while it is not known whether there was a change.
    pub(crate) fn now(&self, now_s: i64) -> Option<QuietSince> {
        // In this order: what is not in the kernel any more is counted on the board.
        let has_unread = self.reports.as_ref()?.has_reports();
        let last = self.board.folder_changes().last()?;
        (!has_unread).then_some((last, now_s))
    }

    /// Have changes of the files, and of what leads to them, reported; `false` if that cannot be.
    pub(crate) fn watch(&self, files: &[SeenFile], now_s: i64) -> bool {
        let (Some(reports), since @ Some(_)) = (&self.reports, self.now(now_s)) else {
            return false;
        };
        let mut known = self.known.borrow_mut();
        if known.since != since {
            known.since = since;
            known.is_watched.clear();
        }
        files.iter().all(|file| {
            let name = file.full_path();
            if let Some(is_watched) = known.is_watched.get(&name) {
                return *is_watched;
            }
            let watched = file.with_root(now_s, |root, path| {
                let start = name.len() - path.len();
                self.watch_path(reports, (root, path, &name[..start]), now_s, &mut known)
            });
            let is_watched = watched == Ok(true);
            known.is_watched.insert(name, is_watched);
            is_watched
        })
    }

    /// Watch the folders that lead to a file, from `root` on, and the file if it is there. All of
    /// them are named as they are, so that no link can lead elsewhere unnoticed.
    fn watch_path(
        &self,
        reports: &FolderWatch,
        (root, path, above): (BorrowedFd<'_>, &[u8], &[u8]),
        now_s: i64,
        known: &mut KnownPaths,
    ) -> bool {
        let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        for end in std::iter::once(0).chain(slashes) {
            let name = [above, &path[..end]].concat();
            let is_watched = match known.is_watched.get(&name) {
                Some(is_watched) => Some(*is_watched),
                None => self.add(reports, (root, &path[..end]), now_s, Watched::Folder),
            };
            // That a folder comes to be is reported of the one above it, which is watched.
            let Some(is_watched) = is_watched else { return end > 0 };
            known.is_watched.insert(name, is_watched);
            if !is_watched {
                return false;
            }
        }
        self.add(reports, (root, path), now_s, Watched::Any).unwrap_or(true)
    }

    /// Watch what is there; `None` if nothing is.
    fn add(
        &self,
        reports: &FolderWatch,
        (root, path): (BorrowedFd<'_>, &[u8]),
        now_s: i64,
        what: Watched,
    ) -> Option<bool> {
        if self.full_s.get() > now_s {
            return Some(false);
        }
        let opened = match file::open_beneath(root, path, Links::Refuse, OpenPurpose::Path) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR) => return None,
            Err(_) => return Some(false),
        };
        let number = match reports.add(opened.as_fd(), what) {
            Ok(number) => number,
            Err(Errno::NOTDIR) => return None,
            Err(_) => return Some(false),
        };
        // Numbers grow by one for each watch that there ever was.
        let is_room = number <= WATCHES_MAX + self.board.folder_changes().ended();
        if !is_room {
            reports.remove(number);
            self.full_s.set(now_s + FULL_S);
        }
        Some(is_room)
    }
}
