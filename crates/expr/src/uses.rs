//! What an expression asks about, noted while it is parsed.

use crate::ast::{Function, UnaryTest, Word};
use crate::facts::ServerVariable;

/// What an expression asks about. Where all is false, it is the same for every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent things to ask about")]
pub struct Uses {
    /// The request, the connection or the server's settings.
    pub request: bool,
    /// The response: its status, type or fields.
    pub response: bool,
    /// The user: who is not known may be asked to log in (`Require expr`).
    pub user: bool,
    /// The name of the client, which may have to be looked up.
    pub client_name: bool,
    /// The time of day.
    pub time: bool,
    /// Files by their path.
    pub files: bool,
    /// Subrequests (`-F`, `-U`).
    pub subrequests: bool,
    /// The text that `$0` to `$9` stand for, which may come from the caller.
    pub matches: bool,
}

impl Uses {
    /// Whether it is the same for every request.
    pub(crate) fn is_nothing(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn note_word(&mut self, word: &Word) {
        match word {
            Word::Now(_) => self.time = true,
            Word::Variable(ServerVariable::RequestStatus | ServerVariable::ContentType) => {
                self.response = true;
            }
            Word::Variable(ServerVariable::RemoteUser) => (self.request, self.user) = (true, true),
            Word::Variable(ServerVariable::RemoteHost) => {
                (self.request, self.client_name) = (true, true);
            }
            Word::Variable(_) | Word::Field(_) | Word::Ssl(_) => self.request = true,
            Word::LastModified => self.request = true,
            Word::Text(_) | Word::Number(_) | Word::Nothing | Word::Backref(_) => {}
            Word::Call(..) | Word::Concat { .. } => {}
        }
    }

    pub(crate) fn note_function(&mut self, function: Function) {
        match function {
            Function::ResponseField => self.response = true,
            Function::File | Function::FileSize => self.files = true,
            Function::RequestField | Function::RequestFieldUnnoted => self.request = true,
            Function::Note | Function::RequestEnv | Function::Env => self.request = true,
            Function::OsEnv | Function::Ssl | Function::HealthCheck => self.request = true,
            Function::PageVariable => self.request = true,
            Function::ToLower | Function::ToUpper | Function::Escape => {}
            Function::Unescape | Function::Base64 | Function::Unbase64 => {}
            Function::Sha1 | Function::Md5 | Function::Ldap => {}
        }
    }

    pub(crate) fn note_test(&mut self, test: UnaryTest) {
        match test {
            UnaryTest::NotEmpty | UnaryTest::Empty | UnaryTest::Truth => {}
            UnaryTest::Directory | UnaryTest::Exists | UnaryTest::File => self.files = true,
            UnaryTest::FileNotEmpty | UnaryTest::Link | UnaryTest::Executable => self.files = true,
            UnaryTest::ReachableFile | UnaryTest::ReachableUrl => self.subrequests = true,
        }
    }
}
