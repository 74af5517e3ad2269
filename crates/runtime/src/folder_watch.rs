//! Reports of what happens in folders (inotify(7)): several processes share an instance and add
//! what is to be watched, one of them reads the reports.

use crate::file::Errno;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{FsWord, fstatfs};
use std::ffi::CStr;
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

/// What is watched of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Names that come and go in a folder, and the folder itself.
    Folder,
    /// What a file contains, and who may read it.
    File,
}

/// What has happened.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The name in the watched folder; `None` if it is about what is watched itself.
    pub name: Option<&'a CStr>,
    /// A folder came or went.
    pub is_about_folder: bool,
    /// Nothing will be reported of it any more.
    pub has_ended: bool,
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
    /// `EOPNOTSUPP` where changes are not reported, `EACCES` for what may not be read, `ENOSPC`
    /// when too much is watched (`fs.inotify.max_user_watches`).
    pub fn add(&self, opened: BorrowedFd<'_>, what: Watched) -> Result<u64, Errno> {
        if !REPORTING.contains(&fstatfs(opened)?.f_type) {
            return Err(Errno::OPNOTSUPP);
        }
        let itself = WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
        let flags = match what {
            Watched::Folder => itself | names | WatchFlags::ONLYDIR,
            Watched::File => itself | WatchFlags::MODIFY,
        };
        // The thing that is open, whatever its name has become.
        let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
        let number = inotify::add_watch(&self.inotify, path, flags)?;
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

    /// Read all reports. Where some are lost, `None` stands for them.
    pub fn read(&self, mut each: impl FnMut(Option<Report<'_>>)) {
        let mut room = [MaybeUninit::<u8>::uninit(); REPORTS_BYTES];
        let mut reader = Reader::new(&self.inotify, &mut room);
        while let Ok(event) = reader.next() {
            let events = event.events();
            let report = Report {
                name: event.file_name(),
                is_about_folder: events.contains(ReadFlags::ISDIR),
                has_ended: events.contains(ReadFlags::IGNORED),
            };
            each((!events.contains(ReadFlags::QUEUE_OVERFLOW)).then_some(report));
        }
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
    use std::path::Path;

    /// What a change is reported as: the name if there is one, `folder` before that of a folder,
    /// `itself` if there is none.
    fn reports(watch: &FolderWatch) -> Vec<String> {
        let mut all = Vec::new();
        watch.read(|report| {
            let report = report.expect("few reports are not lost");
            let name = report.name.map_or("itself".into(), CStr::to_string_lossy);
            let text = match report.is_about_folder && report.name.is_some() {
                true => format!("folder {name}"),
                false => name.into_owned(),
            };
            if !all.contains(&text) {
                all.push(text);
            }
        });
        all
    }

    fn change(watch: &FolderWatch, change: impl FnOnce()) -> Vec<String> {
        assert!(!watch.has_reports());
        change();
        let had = watch.has_reports();
        let all = reports(watch);
        assert_eq!(had, !all.is_empty());
        all
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
        let file = folder.join("a");
        assert_eq!(change(&watch, || put(&file, "1")), ["a"]);
        assert_eq!(change(&watch, || put(&file, "22")), [""; 0], "names only");
        let opened = File::open(&file).unwrap();
        assert!(watch.add(opened.as_fd(), Watched::File).is_ok_and(|other| other > number));
        assert_eq!(change(&watch, || put(&file, "333")), ["itself"]);
        let other = folder.join("b");
        assert_eq!(change(&watch, || fs::rename(&file, &other).unwrap()), ["a", "b", "itself"]);
        assert_eq!(change(&watch, || fs::create_dir(folder.join("d")).unwrap()), ["folder d"]);
        assert_eq!(change(&watch, || put(&folder.join("sub/x"), "")), [""; 0]);
        let moved = folder.with_extension("moved");
        assert_eq!(change(&watch, || fs::rename(&folder, &moved).unwrap()), ["itself"]);
        watch.remove(number);
        let mut has_ended = false;
        watch.read(|report| has_ended |= report.is_some_and(|report| report.has_ended));
        assert!(has_ended);
        fs::remove_dir_all(&moved).unwrap();
    }
}
