//! A clock that rings to the microsecond, for schedules that are measured against. (Deadlines of
//! connections use [`crate::Timer`], which is cheaper and coarser.)

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

const NS_PER_S: u64 = 1_000_000_000;

/// An alarm of the executor that it was made on.
pub struct Alarm {
    clock: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    /// When there is no descriptor left for it.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let clock = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { clock: crate::sys::watch(clock)? })
    }

    /// Wait until `at_ns` of [`crate::clock::monotonic_ns`]; a moment that has passed is no wait.
    ///
    /// # Errors
    /// When the kernel refuses the moment.
    pub async fn ring_at(&self, at_ns: u64) -> io::Result<()> {
        let moment = Timespec {
            tv_sec: (at_ns / NS_PER_S).cast_signed(),
            // Zero would take the alarm off.
            tv_nsec: (at_ns % NS_PER_S).max(1).cast_signed(),
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: never, it_value: moment };
        timerfd_settime(&self.clock, TimerfdTimerFlags::ABSTIME, &setting)?;
        loop {
            let mut guard = self.clock.readable().await?;
            let mut rung = [0; 8];
            if guard.try_io(|clock| Ok(rustix::io::read(clock.get_ref(), &mut rung)?)).is_ok() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::clock;
    use crate::executor::thread::Thread;

    #[test]
    fn an_alarm_rings_when_it_shall_and_not_before() {
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            let alarm = Alarm::new().unwrap();
            for after_ns in [0, 1, 300_000, 2_000_000] {
                let at = clock::monotonic_ns() + after_ns;
                alarm.ring_at(at).await.unwrap();
                assert!(clock::monotonic_ns() >= at);
            }
            alarm.ring_at(1).await.unwrap();
        });
    }
}
