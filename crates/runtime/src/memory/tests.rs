//! The gauge beneath folders that look like a system's, sound and otherwise.

use super::*;
use std::fs;

/// A folder with these files, removed at the end.
struct System(PathBuf);

impl System {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = format!("trivet-memory-{}-{name}", std::process::id());
        let system = Self(std::env::temp_dir().join(folder));
        files.iter().for_each(|(path, text)| system.write(path, text));
        system
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self) -> Memory {
        Gauge::at(&self.0).read()
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MB: u64 = 1 << 20;

const MEMINFO: (&str, &str) =
    ("proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 2 kB\nMemAvailable:  524288 kB\n");

const ONE: &[(&str, &str)] = &[
    MEMINFO,
    ("proc/self/cgroup", "4:memory:/jobs/web\n1:cpu:/\n0::/\n"),
    (
        "proc/self/mountinfo",
        "30 2 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
         31 2 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n",
    ),
    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
    ("sys/fs/cgroup/memory/jobs/web/memory.limit_in_bytes", "67108864\n"),
    ("sys/fs/cgroup/memory/jobs/web/memory.usage_in_bytes", "33554432\n"),
];

const TWO: &[(&str, &str)] = &[
    MEMINFO,
    ("proc/self/cgroup", "0::/system.slice/trivet.service\n"),
    ("proc/self/mountinfo", "24 2 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"),
    ("sys/fs/cgroup/system.slice/memory.max", "134217728\n"),
    ("sys/fs/cgroup/system.slice/memory.current", "67108864\n"),
    ("sys/fs/cgroup/system.slice/trivet.service/memory.max", "max\n"),
    ("sys/fs/cgroup/system.slice/trivet.service/memory.current", "1048576\n"),
    (
        "sys/fs/cgroup/system.slice/trivet.service/memory.pressure",
        "some avg10=1.00 avg60=0.00 avg300=0.00 total=4711\nfull avg10=0.00 total=9\n",
    ),
];

fn memory(total: u64, available: u64, is_of_group: bool) -> Memory {
    let (total_bytes, available_bytes) = (total * MB, available * MB);
    Memory { total_bytes, available_bytes, is_of_group, stalled_us: None }
}

#[test]
fn the_smallest_limit_around_a_process_counts() {
    let plain = System::new("plain", &[MEMINFO]);
    assert_eq!(plain.read(), memory(1024, 512, false));
    let one = System::new("one", ONE);
    assert_eq!(one.read(), memory(64, 32, true));
    let two = System::new("two", TWO);
    assert_eq!(two.read(), Memory { stalled_us: Some(4711), ..memory(128, 64, true) });
    two.write("sys/fs/cgroup/system.slice/trivet.service/memory.high", "16777216");
    assert_eq!(two.read(), Memory { stalled_us: Some(4711), ..memory(16, 15, true) });
}

#[test]
fn a_limit_that_is_changed_counts_at_the_next_look_and_so_does_a_move() {
    let one = System::new("change", ONE);
    let mut gauge = Gauge::at(&one.0);
    assert_eq!(gauge.read(), memory(64, 32, true));
    one.write("sys/fs/cgroup/memory/jobs/web/memory.limit_in_bytes", "41943040");
    assert_eq!(gauge.read(), memory(40, 8, true));
    one.write("sys/fs/cgroup/memory/jobs/web/memory.limit_in_bytes", "16777216");
    assert_eq!(gauge.read(), memory(16, 0, true));
    one.write("proc/self/cgroup", "4:memory:/jobs\n");
    one.write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "268435456");
    assert_eq!(gauge.read(), memory(256, 256, true));
}

#[test]
fn pages_of_files_count_as_free_but_for_a_part_that_is_in_use() {
    let one = System::new("files", ONE);
    let stat = "cache 1\ninactive_file 5\ntotal_inactive_file 8388608\ntotal_active_file 16777216";
    one.write("sys/fs/cgroup/memory/jobs/web/memory.stat", stat);
    // 32 MB are in use, 24 of them by files; a twentieth of the limit stays.
    let free = (64 * MB) - (32 * MB - (24 * MB - 64 * MB / 20));
    assert_eq!(one.read().available_bytes, free);
    one.write(
        "sys/fs/cgroup/memory/jobs/web/memory.stat",
        &stat.replace("8388608", "99999999999999"),
    );
    assert_eq!(one.read().available_bytes, 64 * MB);
}

#[test]
fn kills_are_those_of_the_cgroup_or_of_the_machine() {
    let plain = System::new("kills", &[MEMINFO, ("proc/vmstat", "pgfault 9\noom_kill 3\n")]);
    assert_eq!(Gauge::at(&plain.0).kills(), 3);
    let kills = |name, system: &[(&str, &str)], path, text| {
        let system = System::new(name, system);
        let mut gauge = Gauge::at(&system.0);
        gauge.read();
        assert_eq!(gauge.kills(), 0);
        system.write(path, text);
        gauge.kills()
    };
    let path = "sys/fs/cgroup/memory/jobs/web/memory.oom_control";
    assert_eq!(kills("kills1", ONE, path, "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7);
    let path = "sys/fs/cgroup/system.slice/trivet.service/memory.events";
    assert_eq!(kills("kills2", TWO, path, "low 0\noom 2\noom_kill 5\noom_group_kill 1\n"), 5);
    assert_eq!(kills("kills3", TWO, path, "oom_kill -5\n"), 0);
}

#[test]
fn a_mount_that_begins_further_down_is_a_container() {
    let two = System::new("container", TWO);
    let mounts = "24 2 0:22 /system.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    two.write("proc/self/mountinfo", mounts);
    two.write("sys/fs/cgroup/trivet.service/memory.max", "33554432");
    assert_eq!(two.read().total_bytes, 32 * MB);
    // Nothing leads out of the mount.
    two.write("proc/self/cgroup", "0::/../../etc");
    two.write("sys/fs/cgroup/memory.max", "50331648");
    assert_eq!(two.read().total_bytes, 48 * MB);
}

#[test]
fn what_is_missing_or_absurd_is_nothing() {
    let nothing = System::new("nothing", &[("proc/x", "")]);
    assert_eq!(nothing.read(), Memory::default());
    for absurd in ["", "-1", "max", "x", "18446744073709551615", "99999999999999999999", "1e9"] {
        let one = System::new("absurd", ONE);
        one.write("sys/fs/cgroup/memory/jobs/web/memory.limit_in_bytes", absurd);
        assert_eq!(one.read(), memory(1024, 512, false), "{absurd:?}");
        one.write("proc/meminfo", &format!("MemTotal: {absurd} kB\nMemAvailable: {absurd} kB\n"));
        assert_eq!(one.read(), Memory::default(), "{absurd:?}");
    }
    // More is available than there is, and more is used than may be.
    let one = System::new("more", ONE);
    one.write("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 9999999 kB\n");
    assert_eq!(one.read(), memory(1, 1, false));
    let two = System::new("more2", TWO);
    two.write("sys/fs/cgroup/system.slice/memory.current", "18446744073709551615");
    assert_eq!(two.read().available_bytes, 0);
    two.write("sys/fs/cgroup/system.slice/memory.max", "0");
    assert_eq!((two.read().total_bytes, two.read().available_bytes), (1, 0));
}

#[test]
fn the_memory_of_a_process_is_read_from_what_the_kernel_says() {
    let text = "55-7ff ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPss:  300 kB\n\
                Pss_Anon: 1 kB\nPrivate_Clean: 8 kB\nPrivate_Dirty: 100 kB\n";
    let share = ProcessMemory { private_bytes: 108 << 10, proportional_bytes: 300 << 10 };
    assert_eq!(share_of(text), Some(share));
    assert_eq!(share_of(""), None);
    assert_eq!(share_of(&text.replace("300", "99999999999999999")), None);
    let page = rustix::param::page_size() as u64;
    assert_eq!(anonymous_of("100 30 10 1 0 5 0"), Some(20 * page));
    assert_eq!(anonymous_of("100 10 30 1 0 5 0"), Some(0));
    for absurd in ["", "1", "1 -5 2", "1 18446744073709551615 0 1"] {
        assert_eq!(anonymous_of(absurd), None, "{absurd:?}");
    }
    let own = crate::process::id();
    assert!(anonymous_bytes(own).is_some_and(|bytes| bytes > 0));
    assert!(super::share(own).is_ok_and(|share| share.private_bytes > 0));
    assert!(anonymous_bytes(i32::MAX).is_none() && super::share(i32::MAX).is_err());
}

#[test]
fn the_peak_of_a_process_is_what_its_status_says() {
    let text = "Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t     300 kB\nVmRSS:\t     200 kB\n";
    let peak = Peak { resident_bytes: 200 << 10, most_bytes: 300 << 10 };
    assert_eq!(peak_of(text), Some(peak));
    // A counter that is behind is no reason for less.
    assert_eq!(peak_of(&text.replace("300", "100")).unwrap().most_bytes, 200 << 10);
    assert_eq!(peak_of("Name:\tx\n"), None);
}

#[test]
fn a_peak_begins_anew_with_what_is_there() {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let large = std::hint::black_box(vec![1_u8; 32 << 20]);
    let before = peak(own).unwrap();
    drop(large);
    if forget_peak(own).is_err() {
        return; // who may not has peaks of all the time
    }
    let after = peak(own).unwrap();
    assert!(after.most_bytes + (16 << 20) < before.most_bytes, "{before:?} {after:?}");
}
