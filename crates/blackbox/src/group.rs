//! Memory cgroups for tests, of whichever version the machine has: processes that may use so much
//! memory, and what became of it. A machine that lets nobody make one says so with `not run`.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::outside::not_run;

/// Where the hierarchies are mounted.
const ONE: &str = "/sys/fs/cgroup/memory";
const TWO: &str = "/sys/fs/cgroup";

/// A group of processes whose memory is limited. It is removed at the end.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
    is_one: bool,
}

impl Group {
    /// Makes one with a limit, or says why not.
    pub fn make(test: &str, limit_bytes: u64) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let is_one = Path::new(ONE).join("memory.limit_in_bytes").exists();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trivet-test-{}-{count}", std::process::id());
        let folder = Path::new(if is_one { ONE } else { TWO }).join(name);
        if fs::create_dir(&folder).is_err() {
            not_run(test, "no memory cgroup can be made here");
            return None;
        }
        let group = Self { folder, is_one };
        if !group.limit(limit_bytes) {
            not_run(test, "a cgroup has no limit of memory here");
            return None;
        }
        Some(group)
    }

    /// Sets the limit; `false` when more is used and cannot be taken back.
    pub fn limit(&self, bytes: u64) -> bool {
        let name = if self.is_one { "memory.limit_in_bytes" } else { "memory.max" };
        fs::write(self.folder.join(name), bytes.to_string()).is_ok()
    }

    /// Moves a process into it.
    pub fn take(&self, pid: i32) {
        fs::write(self.processes(), pid.to_string()).expect("a process can be moved");
    }

    /// Has a command begin in it.
    pub fn hold(&self, command: &mut Command) {
        let path = CString::new(self.processes().as_os_str().as_bytes()).expect("a path");
        // SAFETY: open, write and close are async-signal-safe; the path was made before the fork.
        unsafe {
            command.pre_exec(move || {
                let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                let written = libc::write(file, c"0".as_ptr().cast(), 1);
                let error = std::io::Error::last_os_error();
                libc::close(file);
                if written == 1 { Ok(()) } else { Err(error) }
            });
        }
    }

    fn processes(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// Bytes in use now, without the pages of files, which the kernel takes back when it needs
    /// them: whoever reads a program first, after it was built perhaps, pays for all its pages.
    pub fn used_bytes(&self) -> u64 {
        let used =
            self.number(if self.is_one { "memory.usage_in_bytes" } else { "memory.current" });
        let stat = fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let total = if self.is_one { "total_" } else { "" };
        let of_files = |kind: &str| {
            let name = format!("{total}{kind}_file ");
            let number = stat.lines().find_map(|line| line.strip_prefix(&name));
            number.and_then(|number| number.parse::<u64>().ok()).expect("the kernel counts files")
        };
        used.saturating_sub(of_files("inactive") + of_files("active"))
    }

    /// How often the kernel has killed for want of memory.
    pub fn kills(&self) -> u64 {
        let name = if self.is_one { "memory.oom_control" } else { "memory.events" };
        let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.expect("the kernel counts kills").trim().parse().expect("a number")
    }

    fn number(&self, name: &str) -> u64 {
        let text = fs::read_to_string(self.folder.join(name)).expect("the kernel counts memory");
        text.trim().parse().expect("a number")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It can be removed as soon as the last process in it is gone.
        let deadline = Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.folder).is_err() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }
}
