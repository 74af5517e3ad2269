//! What a script and whoever runs it say to each other: why it does not run on for now, and what it
//! goes on with.

/// Name and value.
pub type Field = (Vec<u8>, Vec<u8>);

/// Names and values that answer a question.
pub type ReplyPairs = Vec<Field>;

/// The head of the answer of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptHead {
    /// The status.
    pub status: u16,
    /// `HTTP/1.1 404 Not Here`, if the script has said one.
    pub status_line: Option<Vec<u8>>,
    /// The value of `Content-Type`.
    pub content_type: Vec<u8>,
    /// All other fields, as the script has said them.
    pub fields: Vec<Field>,
}

impl ScriptHead {
    /// `404 Not Here` of a line `HTTP/1.1 404 Not Here`; a line of another form says nothing.
    pub fn status_text(&self) -> Option<&[u8]> {
        let line = self.status_line.as_deref()?;
        let is_one = line.len() > 12 && line.starts_with(b"HTTP/1.") && line[8] == b' ';
        is_one.then(|| &line[9..])
    }
}

/// What a script has written since it was asked last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The head, with the first of it.
    pub head: Option<ScriptHead>,
    /// A piece of the body.
    pub body: Vec<u8>,
}

/// What a script needs to know, or to have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// More of the body of the request.
    Body,
    /// A line of the log, with the level of syslog(3).
    Log(i32, Vec<u8>),
    /// The value of a variable.
    Variable(Vec<u8>),
    /// Set one.
    SetVariable(Vec<u8>, Vec<u8>),
    /// The value of a note.
    Note(Vec<u8>),
    /// Set one.
    SetNote(Vec<u8>, Vec<u8>),
    /// All variables.
    Variables,
    /// The fields of the request.
    RequestFields,
    /// The fields of the response; these are what the script has said itself.
    ResponseFields(Vec<Field>),
    /// What a URL leads to.
    LookUp(Vec<u8>),
    /// What a URL leads to is to come next, behind this output. A text that answers is the file of
    /// a script that is run in the middle of this one.
    Include(Vec<u8>, Output),
    /// What the server says of itself: its version as a text, and rows for a page.
    Server,
    /// The modules that are there.
    Modules,
    /// With this output the answer is complete, although the script goes on.
    Finish(Output),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Go,
    /// Go on; nobody takes what is written any more.
    Gone,
    /// A piece of the body of the request; an empty one is its end.
    Body(Vec<u8>),
    /// The answer to a question.
    Reply {
        /// 200, or what is wrong.
        status: u32,
        /// A text, if there is one.
        text: Option<Vec<u8>>,
        /// Names and values.
        pairs: ReplyPairs,
    },
}

impl Answer {
    /// A text, or that there is none.
    pub fn text(text: Option<Vec<u8>>) -> Self {
        Self::Reply { status: 200, text, pairs: Vec::new() }
    }

    /// Names and values.
    pub fn pairs(pairs: ReplyPairs) -> Self {
        Self::Reply { status: 200, text: None, pairs }
    }

    /// It is done, or failed with this status.
    pub fn status(status: u32) -> Self {
        Self::Reply { status, text: None, pairs: Vec::new() }
    }
}

/// Why a script does not run on for now.
#[derive(Debug)]
pub enum Step {
    /// It has written this, as much as is kept, or it wants it sent. Go on with [`Answer::Go`] or
    /// [`Answer::Gone`].
    Wrote(Output),
    /// It waits for an answer.
    Asks(Asked),
    /// It has ended.
    Ended {
        /// What it has written last.
        output: Output,
        /// The most memory that it has taken.
        peak_bytes: usize,
    },
}
