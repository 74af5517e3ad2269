//! Where something stands in the configuration.

use config::Position;
use std::fmt;
use std::sync::Arc;

/// Where something was configured, for messages and dumps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigPlace {
    /// The file.
    pub(crate) file: Arc<str>,
    /// Its line.
    pub(crate) line: u32,
}

/// `file:line`; a whole file has no line.
impl fmt::Display for ConfigPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => out.write_str(&self.file),
            line => write!(out, "{}:{line}", self.file),
        }
    }
}

impl ConfigPlace {
    /// A whole file.
    pub(crate) fn of_file(file: &str) -> Self {
        Self { file: file.into(), line: 0 }
    }

    /// The file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, if it is not the whole file.
    pub fn line(&self) -> Option<u32> {
        Some(self.line).filter(|line| *line > 0)
    }
}

impl From<&Self> for ConfigPlace {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

impl From<&Position> for ConfigPlace {
    fn from(position: &Position) -> Self {
        Self { file: position.file.clone(), line: position.line }
    }
}
