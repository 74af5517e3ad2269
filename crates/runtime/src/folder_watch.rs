//! Reports of what happens in folders (inotify(7)): several processes share an instance and add
//! what is to be watched, one of them reads the reports.

use crate::file::{Errno, FileType};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{FsWord, fstatfs};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// File systems that report each change, by the kernel's numbers (statfs(2)). Others change on
/// other machines, or in ways that the kernel does not see.
const REPORTING: [FsWord; 6] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
    0xf2f5_2010, // f2fs
    0x2fc1_2fc1, // zfs
];

/// Room for reports that are read at once.
const REPORTS_BYTES: usize = 4096;

/// Reports that are read in one go, in a millisecond or two.
const REPORTS_MAX: u32 = 4096;

/// What is watched of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Names that come and go in a folder, and the folder itself.
    Folder,
    /// The same if it is a folder; else what it contains, and who may read it.
    Any,
}

/// An instance of inotify.
pub struct FolderWatch {
    inotify: OwnedFd,
}

impl FolderWatch {
    /// One that watches nothing yet.
    ///
    /// # Errors
    /// When the user has too many of them (`fs.inotify.max_user_instances`).
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)? })
    }

    /// Watch what is open; the same thing has the same number each time. Numbers grow.
    ///
    /// # Errors
    /// `ENOTDIR` for what is no folder and should be one, `EOPNOTSUPP` where changes are not
    /// reported, `EACCES` for what may not be read, `ENOSPC` when too much is watched
    /// (`fs.inotify.max_user_watches`).
    pub fn add(&self, opened: BorrowedFd<'_>, what: Watched) -> Result<u64, Errno> {
        if !REPORTING.contains(&fstatfs(opened)?.f_type) {
            return Err(Errno::OPNOTSUPP);
        }
        let itself = WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
        let is_folder = crate::file::status(opened)?.kind == FileType::Directory;
        let flags = match what {
            Watched::Folder if !is_folder => return Err(Errno::NOTDIR),
            _ if is_folder => itself | names,
            _ => itself | WatchFlags::MODIFY,
        };
        // The thing that is open, whatever its name has become.
        let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
        let number = inotify::add_watch(&self.inotify, path, flags | WatchFlags::MASK_ADD)?;
        u64::try_from(number).map_err(|_| Errno::RANGE)
    }

    /// Do not watch it any more.
    pub fn remove(&self, number: u64) {
        // An error says that it is not watched.
        let _ = i32::try_from(number).map(|number| inotify::remove_watch(&self.inotify, number));
    }

    /// Whether there are reports that nobody has read.
    pub fn has_reports(&self) -> bool {
        rustix::io::ioctl_fionread(&self.inotify) != Ok(0)
    }

    /// Read the reports, but no more than a moment's: others are read later. How many watches have
    /// ended by themselves.
    pub fn read(&self) -> u64 {
        let mut room = [MaybeUninit::<u8>::uninit(); REPORTS_BYTES];
        let mut reader = Reader::new(&self.inotify, &mut room);
        let (mut read, mut ended) = (0, 0);
        // What is in the room was taken from the kernel: it is looked at to its end.
        while read < REPORTS_MAX || !reader.is_buffer_empty() {
            let Ok(event) = reader.next() else { break };
            ended += u64::from(event.events().contains(ReadFlags::IGNORED));
            read += 1;
        }
        ended
    }
}

impl AsFd for FolderWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Whether a change is reported.
    fn is_told(watch: &FolderWatch, change: impl FnOnce()) -> bool {
        assert!(!watch.has_reports());
        change();
        let is_told = watch.has_reports();
        watch.read();
        is_told
    }

    fn put(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_happens_in_a_folder_is_reported() {
        let folder = std::env::temp_dir().join(format!("trivet-watch-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        let watch = FolderWatch::new().unwrap();
        let opened = File::open(&folder).unwrap();
        let Ok(number) = watch.add(opened.as_fd(), Watched::Folder) else {
            return; // a file system that reports nothing: the server does without, too
        };
        assert_eq!(watch.add(opened.as_fd(), Watched::Folder), Ok(number));
        let [file, other] = ["a", "b"].map(|name| folder.join(name));
        assert!(is_told(&watch, || put(&file, "1")));
        assert!(!is_told(&watch, || put(&file, "22")), "names only");
        let opened = File::open(&file).unwrap();
        assert!(watch.add(opened.as_fd(), Watched::Any).is_ok_and(|other| other > number));
        assert!(is_told(&watch, || put(&file, "333")));
        assert!(is_told(&watch, || fs::rename(&file, &other).unwrap()));
        assert!(is_told(&watch, || symlink(&other, folder.join("link")).unwrap()));
        assert!(is_told(&watch, || fs::create_dir(folder.join("d")).unwrap()));
        assert!(!is_told(&watch, || put(&folder.join("sub/x"), "")));
        let moved = folder.with_extension("moved");
        assert!(is_told(&watch, || fs::rename(&folder, &moved).unwrap()));
        watch.remove(number);
        assert_eq!(watch.read(), 1, "watches that have ended");
        fs::remove_dir_all(&moved).unwrap();
    }
}
