//! What modules say about a request in the error log.

use super::RequestContext;
use crate::failure::Failure;
use logging::level::Level;
use runtime::file::Errno;

impl RequestContext<'_> {
    /// Log something about this request.
    pub fn log(&self, level: Level, module: &'static str, id: Option<u32>, text: &str) {
        let failure = Failure::at(level, module, id, text);
        self.context.log_failure(&failure, self);
    }

    /// Log something about this request that would come with every request: what is wrong with the
    /// configuration, say. Those like it are counted.
    pub fn log_recurring(&self, level: Level, module: &'static str, id: Option<u32>, text: &str) {
        let failure = Failure::at(level, module, id, text).recurring(text.to_owned());
        self.context.log_failure(&failure, self);
    }

    /// Log what the system said about a file that the configuration names.
    pub fn log_errno(&self, errno: Errno, module: &'static str, id: u32, text: &str) {
        let failure = Failure::at(Level::Error, module, Some(id), text).recurring(text.to_owned());
        self.context.log_failure(&failure.os_error(errno.raw_os_error()), self);
    }
}
