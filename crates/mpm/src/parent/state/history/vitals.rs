//! What the kernel says about the machine, once a second: processors, memory, and how long work
//! waited for either. The files stay open: to read one again costs a few microseconds.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes that are read of a file: what is wanted stands in front.
const READ_BYTES: usize = 1024;

/// Its files in `/proc`; those of PSI are there only if the kernel has it.
pub(crate) struct Vitals {
    stat: Option<File>,
    memory: Option<File>,
    pressure: [Option<File>; 3],
}

/// One reading of these files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Ticks of all processors: all, busy, waiting for a disk, stolen by other machines.
    pub(crate) ticks: [u64; 4],
    pub(crate) available_kib: Option<u64>,
    /// Time in which something waited for a processor, memory, a disk.
    pub(crate) stalled_us: [Option<u64>; 3],
}

impl Vitals {
    /// Nothing open, for a process that does not read them.
    pub(crate) fn closed() -> Self {
        Self { stat: None, memory: None, pressure: [None, None, None] }
    }

    pub(crate) fn open() -> Self {
        let open = |path: &str| File::open(path).ok();
        Self {
            stat: open("/proc/stat"),
            memory: open("/proc/meminfo"),
            pressure: ["cpu", "memory", "io"].map(|name| open(&format!("/proc/pressure/{name}"))),
        }
    }

    pub(crate) fn read(&self) -> Reading {
        Reading {
            ticks: text(self.stat.as_ref()).as_deref().and_then(ticks).unwrap_or_default(),
            available_kib: text(self.memory.as_ref()).as_deref().and_then(available_kib),
            stalled_us: self
                .pressure
                .each_ref()
                .map(|file| text(file.as_ref()).as_deref().and_then(stalled_us)),
        }
    }
}

fn text(file: Option<&File>) -> Option<String> {
    let mut bytes = vec![0; READ_BYTES];
    let length = file?.read_at(&mut bytes, 0).ok()?;
    bytes.truncate(length);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
/// What guests use is counted among user already.
fn ticks(stat: &str) -> Option<[u64; 4]> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> =
        line.split_ascii_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, disk, irq, softirq, stolen] = *times.first_chunk()?;
    let busy = [nice, system, irq, softirq].into_iter().fold(user, u64::saturating_add);
    let all = [idle, disk, stolen].into_iter().fold(busy, u64::saturating_add);
    Some([all, busy, disk, stolen])
}

fn available_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`
fn stalled_us(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    line.rsplit_once("total=")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_as_the_kernel_writes_them() {
        let stat = "cpu  10 2 3 40 5 6 7 8 9 0\ncpu0 1 2 3";
        assert_eq!(ticks(stat), Some([81, 28, 5, 8]));
        assert_eq!(ticks("cpu  10 2 3"), None);
        assert_eq!(ticks(""), None);
        let meminfo = "MemTotal: 8 kB\nMemFree: 1 kB\nMemAvailable:    4711 kB\n";
        assert_eq!(available_kib(meminfo), Some(4711));
        assert_eq!(available_kib("MemTotal: 8 kB\n"), None);
        let pressure = "some avg10=0.58 avg60=0.60 avg300=2.84 total=11322\nfull total=0\n";
        assert_eq!(stalled_us(pressure), Some(11_322));
        assert_eq!(stalled_us("full total=0"), None);
    }

    #[test]
    fn this_machine_can_be_read() {
        let vitals = Vitals::open();
        let [first, second] = [vitals.read(), vitals.read()];
        assert!(first.ticks[0] > 0 && second.ticks[0] >= first.ticks[0]);
        assert!(second.ticks[1] >= first.ticks[1] && first.available_kib > Some(0));
    }
}
