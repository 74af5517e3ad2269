//! The compiled expression: what the parser makes and the evaluation walks.
//!
//! It holds no names to look up: a variable is a [`ServerVariable`], a function a [`Function`].

use crate::facts::{ServerVariable, TimePart};
use crate::subnet::Subnet;
use crate::token::Comparison;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pattern::Regex;
use pattern::fnmatch::Fnmatch;

/// What is true or false.
#[derive(Debug)]
pub(crate) enum Condition {
    Constant(bool),
    Not(Box<Self>),
    /// One after the other with `||`.
    Any(Vec<Self>),
    /// One after the other with `&&`.
    All(Vec<Self>),
    Compare(Comparison, Word, Word),
    In(Word, List),
    Matches {
        word: Word,
        regex: Regex,
        negated: bool,
    },
    Test(UnaryTest, Word),
    /// `-R`: the client's address.
    Client(Subnet),
    /// `-ipmatch`: any address.
    Address(Word, Subnet),
    Glob(Glob, Word, Word),
}

/// What `-in` looks through.
#[derive(Debug)]
pub(crate) enum List {
    Words(Vec<Word>),
    /// `PeerExtList()`, the one function that returns a list.
    PeerExtensions(Word),
}

/// What is a text.
#[derive(Debug)]
pub(crate) enum Word {
    Text(Vec<u8>),
    /// Digits without quotes. Not a constant argument for operators that ask for one.
    Number(Vec<u8>),
    Variable(ServerVariable),
    /// `%{HTTP_...}`.
    Field(&'static [u8]),
    Now(TimePart),
    LastModified,
    /// `%{SSL_...}`, without those four letters.
    Ssl(Box<[u8]>),
    /// A variable that never has a value.
    Nothing,
    Backref(u8),
    Call(Function, Box<Self>),
    Concat {
        parts: Vec<Self>,
        /// Whether httpd evaluates the last part first, which shows in `Vary`.
        reversed: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    RequestField,
    /// `req_novary()`.
    RequestFieldUnnoted,
    ResponseField,
    Note,
    RequestEnv,
    /// `env()`: notes, the request's variables, the process's variables.
    Env,
    OsEnv,
    ToLower,
    ToUpper,
    Escape,
    Unescape,
    File,
    FileSize,
    Base64,
    Unbase64,
    Sha1,
    Md5,
    Ldap,
    Ssl,
    HealthCheck,
    /// `v()` of mod_include.
    PageVariable,
}

/// The operators with one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryTest {
    NotEmpty,
    Empty,
    Truth,
    Directory,
    Exists,
    File,
    FileNotEmpty,
    Link,
    Executable,
    /// `-F`, by a subrequest.
    ReachableFile,
    /// `-U` and `-A`, by a subrequest.
    ReachableUrl,
}

/// Which rules a pattern with `*` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glob {
    /// `-fnmatch`: no wildcard matches a slash.
    Path,
    Text,
    TextAnyCase,
}

impl Glob {
    /// Whether the whole text is as the pattern says.
    pub(crate) fn matches(self, pattern: &[u8], text: &[u8]) -> bool {
        let (is_path, any_case) = (self == Self::Path, self == Self::TextAnyCase);
        Fnmatch { is_path, any_case, no_escape: false }.matches(pattern, text)
    }
}
