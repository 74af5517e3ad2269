//! What an MPM logs about the server as a whole: one table of numbers for all three, and the texts,
//! which are httpd's (prefork.c, worker.c, event.c). When there is an occasion is decided outside
//! of this crate.

use super::MpmKind;
use crate::identity;
use logging::level::Level;
use std::io;

/// Something that the parent, or a child that cannot begin, has to say.
#[derive(Clone, Copy, Debug)]
pub enum MpmMessage<'a> {
    /// The first children have been started.
    Resuming,
    /// When the program was built.
    Built,
    /// The server ends now.
    Terminated,
    /// The server ends when its requests have been answered.
    GracefulStop,
    /// The configuration is read again, and requests are answered before their children end.
    GracefulRestart,
    /// The configuration is read again, and children end now.
    Restart,
    /// A child could not be started.
    ForkFailed(&'a io::Error),
    /// Everything that `MaxRequestWorkers` allows is there, and busy; who holds it.
    Full(&'a str),
    /// The same, but for a few threads that idle (worker and event).
    NearlyFull(&'a str),
    /// The log was told one of these, and it is over.
    NoLongerFull {
        /// So long did it last.
        lasted_s: u64,
    },
    /// Children that are about to end leave no room for others (worker and event).
    NoRoom,
    /// Many children are started at once.
    Busy {
        /// So many.
        spawning: usize,
        /// What idles: processes (prefork), else threads.
        idle: usize,
        /// Processes that there are.
        total: usize,
    },
    /// A child of an earlier generation has failed for good.
    OldChildFailed {
        /// Its number.
        pid: i32,
    },
    /// Children are killed one after the other (worker and event).
    KilledSuccessively,
    /// A child cannot begin, for this reason.
    ChildFailed(&'a str),
}

impl MpmMessage<'_> {
    /// How grave it is, and its number under prefork, worker and event; 0 is none.
    #[rustfmt::skip]
    fn row(self) -> (Level, [u32; 3]) {
        match self {
            Self::Resuming              => (Level::Notice, [  163,  292,   489]),
            Self::Built                 => (Level::Info,   [  164,  293,   490]),
            Self::Terminated            => (Level::Notice, [  169,  295,   491]),
            Self::GracefulStop          => (Level::Notice, [  170,  296,   492]),
            Self::GracefulRestart       => (Level::Notice, [  171,  297,   493]),
            Self::Restart               => (Level::Notice, [  173,  298,   494]),
            Self::ForkFailed(_)         => (Level::Error,  [  159,  283,   481]),
            Self::Full(_)               => (Level::Error,  [  161,  286,   484]),
            Self::NearlyFull(_)         => (Level::Error,  [    0,  287, 10159]),
            Self::NoLongerFull { .. }   => (Level::Warn,   [    0,    0,     0]),
            Self::NoRoom                => (Level::Error,  [    0,  288,  3490]),
            Self::Busy { .. }           => (Level::Info,   [  162,  289,   486]),
            Self::OldChildFailed { .. } => (Level::Warn,   [  166,  290,   487]),
            Self::KilledSuccessively    => (Level::Warn,   [    0, 10393, 10392]),
            Self::ChildFailed(_)        => (Level::Error,  [10378,  282,   480]),
        }
    }

    /// How grave it is.
    pub(crate) fn level(self) -> Level {
        self.row().0
    }

    /// The system's number for what led to it.
    pub(crate) fn os_error(self) -> Option<i32> {
        match self {
            Self::ForkFailed(error) => error.raw_os_error(),
            _ => None,
        }
    }

    /// httpd's words for it under this MPM.
    pub fn text(self, kind: MpmKind) -> String {
        let is_prefork = kind == MpmKind::Prefork;
        match self {
            Self::Resuming => {
                format!("{} configured -- resuming normal operations", identity::IDENTITY)
            }
            Self::Built => format!("Server built: {}", identity::built()),
            Self::Terminated => "caught SIGTERM, shutting down".into(),
            Self::GracefulStop => "caught SIGWINCH, shutting down gracefully".into(),
            Self::GracefulRestart if is_prefork => {
                "Graceful restart requested, doing restart".into()
            }
            Self::GracefulRestart => "SIGUSR1 received.  Doing graceful restart".into(),
            Self::Restart => "SIGHUP received.  Attempting to restart".into(),
            Self::ForkFailed(_) => "fork: Unable to fork new process".into(),
            // httpd's text comes first: alerts look for it.
            Self::Full(who) => format!(
                "server reached MaxRequestWorkers setting, consider raising the \
                 MaxRequestWorkers setting: {who}"
            ),
            Self::NearlyFull(who) => format!(
                "server is within MinSpareThreads of MaxRequestWorkers, consider raising the \
                 MaxRequestWorkers setting: {who}"
            ),
            Self::NoLongerFull { lasted_s } => {
                format!("server is below MaxRequestWorkers again, after {lasted_s} s")
            }
            Self::NoRoom if kind == MpmKind::Event => {
                "scoreboard is full, not at MaxRequestWorkers.Increase ServerLimit.".into()
            }
            Self::NoRoom => "scoreboard is full, not at MaxRequestWorkers".into(),
            Self::Busy { spawning, idle, total } => busy(is_prefork, spawning, idle, total),
            Self::OldChildFailed { pid } => {
                format!("Ignoring fatal error in child of previous generation (pid {pid}).")
            }
            Self::KilledSuccessively => "children are killed successively!".into(),
            Self::ChildFailed(reason) => format!("child cannot serve: {reason}"),
        }
    }
}

fn busy(is_prefork: bool, spawning: usize, idle: usize, total: usize) -> String {
    let (what, around, idle_ones) = match is_prefork {
        true => ("StartServers, or Min/MaxSpareServers", "", "idle, and"),
        false => {
            ("StartServers, ThreadsPerChild or Min/MaxSpareThreads", "around ", "idle threads, and")
        }
    };
    format!(
        "server seems busy, (you may need to increase {what}), spawning {spawning} children, \
         there are {around}{idle} {idle_ones} {total} total children"
    )
}

impl MpmKind {
    /// The number of what this MPM logs at an occasion, if it has one.
    pub fn id(self, occasion: MpmMessage<'_>) -> Option<u32> {
        let id = occasion.row().1[self as usize];
        (id != 0).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_numbers_and_words() {
        let kinds = [MpmKind::Prefork, MpmKind::Worker, MpmKind::Event];
        let ids = |occasion| kinds.map(|kind| kind.id(occasion));
        let texts = |occasion: MpmMessage<'_>| kinds.map(|kind| occasion.text(kind));
        assert_eq!(ids(MpmMessage::Resuming), [Some(163), Some(292), Some(489)]);
        assert_eq!(ids(MpmMessage::NearlyFull("")), [None, Some(287), Some(10159)]);
        let [prefork, worker, event] = texts(MpmMessage::GracefulRestart);
        assert_eq!(prefork, "Graceful restart requested, doing restart");
        assert_eq!((&*worker, &*event), ("SIGUSR1 received.  Doing graceful restart", &*worker));
        let [prefork, worker, _] = texts(MpmMessage::Busy { spawning: 8, idle: 2, total: 20 });
        assert_eq!(
            prefork,
            "server seems busy, (you may need to increase StartServers, or Min/MaxSpareServers), \
             spawning 8 children, there are 2 idle, and 20 total children"
        );
        assert_eq!(
            worker,
            "server seems busy, (you may need to increase StartServers, ThreadsPerChild or \
             Min/MaxSpareThreads), spawning 8 children, there are around 2 idle threads, and 20 \
             total children"
        );
    }
}
