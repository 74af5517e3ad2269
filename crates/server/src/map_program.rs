//! Programs that say what the keys of a map stand for (`RewriteMap name prg:`). Each runs once for
//! a generation, kept by a process that asks it one question after the other; which process that
//! is, which module has the map and how a request asks (`map_question.rs`) is not known here.

use runtime::process::User;
use std::ffi::CString;
use std::time::Duration;

/// How long a question may wait for its answer, its turn included; a program that takes longer for
/// one question alone hangs. It is what a look-up takes that asks DNS or a database and whose first
/// server does not answer (5 s in resolv.conf(5)). httpd waits for ever, and all others with it.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// A program that says what the keys of a map stand for.
#[derive(Clone, Debug)]
pub struct MapProgram {
    /// The program: an absolute path.
    pub program: CString,
    /// Its arguments, the first of which is its own name.
    pub arguments: Vec<CString>,
    /// Where it starts.
    pub folder: CString,
    /// As whom it runs.
    pub user: MapUser,
}

/// As whom the program of a map runs.
#[derive(Clone, Debug)]
pub enum MapUser {
    /// As whoever has started the server, as in httpd.
    Starter,
    /// As somebody else.
    Of(User),
    /// There is no such user or group: it does not run.
    Nobody,
}
