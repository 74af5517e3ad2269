//! Files reached through directory descriptors, never by a name that was checked earlier.
//!
//! Which links may be followed is the caller's policy; this file turns one policy into one
//! `openat2` call and reports what the kernel said.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Advice, Dir, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{ReadWriteFlags, preadv2};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use rustix::io::Errno;

/// Which symbolic links one `openat2` call may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// All, wherever they lead.
    Follow,
    /// None, and nothing above the starting directory.
    Refuse,
}

/// What to open a name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenPurpose {
    /// To read a file or a directory.
    Read,
    /// To start further look-ups from it, or to ask for its status.
    Path,
    /// As `Path`, and of a link itself rather than of what it names.
    Link,
}

/// `O_NONBLOCK`, for files that the standard library opens.
pub const NONBLOCK: i32 = libc::O_NONBLOCK;

/// Attempts when a rename elsewhere makes the kernel give up (`EAGAIN`, openat2(2)).
const RESOLVE_ATTEMPTS: usize = 16;

/// Open `path` beneath `directory`.
///
/// # Errors
/// The kernel's error: `ELOOP` for a link that may not be followed, `EXDEV` for a way out.
pub fn open_beneath(
    directory: impl AsFd,
    path: &[u8],
    links: Links,
    purpose: OpenPurpose,
) -> Result<OwnedFd, Errno> {
    let path = if path.is_empty() { b".".as_slice() } else { path };
    let flags = match purpose {
        // NONBLOCK: a FIFO must not hold the thread until somebody writes to it.
        OpenPurpose::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
        OpenPurpose::Path => OFlags::PATH,
        OpenPurpose::Link => OFlags::PATH | OFlags::NOFOLLOW,
    } | OFlags::CLOEXEC;
    let resolve = match (links, purpose) {
        (Links::Follow, _) => ResolveFlags::NO_MAGICLINKS,
        (Links::Refuse, OpenPurpose::Link) => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        (Links::Refuse, _) => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    };
    for _ in 0..RESOLVE_ATTEMPTS {
        match openat2(directory.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

/// Open a directory by name, for the server's own use at start: no policy applies.
///
/// # Errors
/// When it is missing, no directory, or not reachable.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Where the link behind `link` (opened as [`OpenPurpose::Link`]) points.
///
/// # Errors
/// When it is no link.
pub fn read_link(link: impl AsFd) -> Result<CString, Errno> {
    rustix::fs::readlinkat(link, c"", Vec::new())
}

/// Kind, size, times and owner of what a descriptor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAttributes {
    /// Device and inode: who the file is.
    pub identity: (u64, u64),
    /// What it is.
    pub kind: FileType,
    /// Who may read, write and execute it: the bits that chmod sets.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Last change of content or status, in nanoseconds since 1970.
    pub changed_ns: i128,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl FileAttributes {
    /// Last change of the content, in microseconds since 1970.
    pub fn modified_us(&self) -> i64 {
        i64::try_from(self.modified_ns.div_euclid(1000)).unwrap_or(0)
    }

    /// Whether a change from `now_us` on (microseconds since 1970) would show in these attributes.
    /// The times of files move on with the kernel's tick, every 1 to 10 ms: what was read within
    /// the tick of the last change may change once more, and keep its times and even its size.
    /// A time to come is of a clock that was set back, and will not be given once more soon.
    pub fn would_show_change(&self, now_us: i64) -> bool {
        let age_ns = i128::from(now_us) * 1000 - self.changed_ns;
        age_ns.abs() > TICK.as_nanos().cast_signed()
    }
}

/// After this time a change shows in the times of a file: twice the kernel's longest tick
/// (`CONFIG_HZ=100`).
pub const TICK: Duration = Duration::from_millis(20);

/// Kinds of file that the server tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Symbolic link.
    Link,
    /// Anything else: device, FIFO, socket.
    Other,
}

/// The folder that relative paths start from.
pub use rustix::fs::CWD as CURRENT_FOLDER;

/// Ask for the status of what `path` leads to from `directory`, links followed.
///
/// # Errors
/// The kernel's error.
pub fn status_at(directory: impl AsFd, path: &[u8]) -> Result<FileAttributes, Errno> {
    Ok(from_stat(&rustix::fs::statat(directory, path, rustix::fs::AtFlags::empty())?))
}

/// Kind, size and whether somebody may execute what a path names, for conditions that ask about
/// files without opening them. What is opened later may be something else.
///
/// # Errors
/// The kernel's error.
pub fn facts(path: &[u8], follow_links: bool) -> Result<(FileType, u64, bool), Errno> {
    use rustix::fs::AtFlags;
    let flags = if follow_links { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let stat = rustix::fs::statat(CURRENT_FOLDER, path, flags)?;
    let status = from_stat(&stat);
    Ok((status.kind, status.size, stat.st_mode & 0o111 != 0))
}

/// Ask for the status of an open descriptor.
///
/// # Errors
/// `ESTALE` and the like, on network file systems.
pub fn status(descriptor: impl AsFd) -> Result<FileAttributes, Errno> {
    Ok(from_stat(&rustix::fs::fstat(descriptor)?))
}

fn from_stat(stat: &rustix::fs::Stat) -> FileAttributes {
    let kind = match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => FileType::File,
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Link,
        _ => FileType::Other,
    };
    let nanoseconds = |s: i64, ns: u64| i128::from(s) * 1_000_000_000 + i128::from(ns);
    FileAttributes {
        identity: (stat.st_dev, stat.st_ino),
        kind,
        mode: stat.st_mode & 0o7777,
        size: stat.st_size.cast_unsigned(),
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        uid: stat.st_uid,
        gid: stat.st_gid,
    }
}

/// Names in an open directory, without `.` and `..`.
///
/// # Errors
/// What reading says; the names read so far are lost.
pub fn names(directory: impl AsFd) -> Result<Vec<Vec<u8>>, Errno> {
    Ok(few_names(directory, usize::MAX)?.unwrap_or_default())
}

/// The same for a folder of at most `most` names; `None` if there are more.
///
/// # Errors
/// What reading says; the names read so far are lost.
pub fn few_names(directory: impl AsFd, most: usize) -> Result<Option<Vec<Vec<u8>>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == most {
            return Ok(None);
        }
        names.push(name);
    }
    Ok(Some(names))
}

/// Whether a write to a pipe or a terminal is taken now, or within `limit_ms`.
pub fn takes_bytes(descriptor: impl AsFd, limit_ms: u32) -> bool {
    let mut descriptors = [PollFd::new(&descriptor, PollFlags::OUT)];
    let limit = Timespec {
        tv_sec: i64::from(limit_ms / 1000),
        tv_nsec: i64::from(limit_ms % 1000) * 1_000_000,
    };
    matches!(poll(&mut descriptors, Some(&limit)), Ok(ready) if ready > 0)
}

/// Make the writing end of a pipe hold `bytes`, where the system allows it, and never wait.
///
/// # Errors
/// When the descriptor cannot be told not to wait.
pub fn prepare_log_pipe(writer: &File, bytes: usize) -> io::Result<()> {
    // The limit of what all pipes of a user may hold may be reached; a smaller pipe works, too.
    let _ = rustix::pipe::fcntl_setpipe_size(writer, bytes);
    let flags = rustix::fs::fcntl_getfl(writer)?;
    Ok(rustix::fs::fcntl_setfl(writer, flags | OFlags::NONBLOCK)?)
}

/// Read exactly `length` bytes from the start of `file`.
///
/// # Errors
/// `UnexpectedEof` when the file has become shorter.
pub fn read_whole(file: &File, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    out.resize(start + length, 0);
    file.read_exact_at(&mut out[start..], 0)
}

/// Whether the byte at `offset` can be had without waiting for a disk. A file system that cannot
/// tell counts as yes.
pub fn is_cached(file: impl AsFd, offset: u64) -> bool {
    let mut byte = [0];
    let mut buffers = [IoSliceMut::new(&mut byte)];
    !matches!(preadv2(file, &mut buffers, offset, ReadWriteFlags::NOWAIT), Err(Errno::AGAIN))
}

/// Bytes read at once to bring a file into memory.
const LOAD_BYTES: usize = 64 * 1024;

/// An empty file in `folder` that has no name, and is gone when it is closed.
///
/// # Errors
/// When the folder cannot be written to.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(folder, flags, mode) {
        Ok(file) => Ok(File::from(file)),
        // Not every file system has such files (open(2)).
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => nameless(folder),
        Err(error) => Err(error.into()),
    }
}

/// The same by another way: a file that loses its name at once.
fn nameless(folder: &Path) -> io::Result<File> {
    let id = std::process::id();
    let path = folder.join(format!("trivet-{id}-{}", crate::executor::clock::monotonic_ns()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
    std::fs::remove_file(&path)?;
    Ok(File::from(file))
}

/// The file system of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// What an unprivileged user may write, in bytes.
    pub free_bytes: u64,
    /// What is written stays in memory (tmpfs).
    pub is_memory: bool,
}

/// The `f_type` of tmpfs (statfs(2)).
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// The file system of `folder`.
///
/// # Errors
/// When there is no such folder.
pub fn volume(folder: &Path) -> io::Result<Volume> {
    let told = rustix::fs::statfs(folder)?;
    let block_bytes = u64::try_from(told.f_bsize).unwrap_or(0);
    let free_bytes = told.f_bavail.saturating_mul(block_bytes);
    let is_memory = u64::try_from(told.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC);
    Ok(Volume { free_bytes, is_memory })
}

/// Tell the kernel that this part of a file is read soon. It waits for nothing.
pub fn will_need(file: &File, offset: u64, length: u64) {
    // Advice that is not taken does no harm.
    let _ = rustix::fs::fadvise(file, offset, NonZeroU64::new(length), Advice::WillNeed);
}

/// Bring `length` bytes of a file into the kernel's cache, for as long as the disk takes: call it
/// where blocking is allowed.
pub fn load(file: &File, offset: u64, length: usize) {
    let mut buffer = vec![0; LOAD_BYTES.min(length)];
    let mut done = 0;
    while done < length {
        // Whatever goes wrong, the send that follows meets it again and reports it.
        match file.read_at(&mut buffer, offset + done as u64) {
            Ok(read) if read > 0 => done += read,
            _ => return,
        }
    }
}

/// A path from raw bytes.
pub fn path_from(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_once_the_tick_of_the_last_one_is_over() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let status = FileAttributes { changed_ns: 5_000_000_000, ..status(&file).unwrap() };
        assert!(!status.would_show_change(5_000_000) && !status.would_show_change(5_010_000));
        assert!(!status.would_show_change(4_990_000), "clocks differ");
        assert!(status.would_show_change(4_000_000), "a clock that was set back");
        assert!(status.would_show_change(5_020_001));
    }

    #[test]
    fn what_was_loaded_is_cached_and_the_end_of_a_file_is_no_trouble() {
        let path = std::env::temp_dir().join(format!("trivet-load-{}", std::process::id()));
        std::fs::write(&path, vec![7; 300_000]).unwrap();
        let file = File::open(&path).unwrap();
        load(&file, 0, 1 << 20);
        assert!(is_cached(&file, 0) && is_cached(&file, 299_999));
        assert!(is_cached(&file, 1 << 40), "there is nothing to wait for");
        std::fs::remove_file(&path).unwrap();
    }
}
