//! What is shown while a run goes on, on standard error: a picture where that is a terminal, a line
//! a second where it is not. The report, on standard output, is not concerned.

mod line;
mod picture;
mod progress;

use crate::report::PerSecond;
use picture::LivePicture;
pub(crate) use progress::Goal;
use std::io::{IsTerminal as _, Write as _};

/// Who looks on while a run goes on, and how it is shown to him.
pub(crate) enum Live {
    /// Nothing is shown.
    Nobody,
    /// Standard error is not a terminal: one line each second.
    Lines,
    /// Standard error is a terminal: a picture.
    Terminal(Box<LivePicture>),
}

impl Live {
    /// For whoever is at standard error; `pace` says what is being done.
    pub(crate) fn new(is_quiet: bool, pace: &str) -> Self {
        if is_quiet {
            return Self::Nobody;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines;
        }
        // A terminal that cannot be drawn on can still show lines.
        LivePicture::new(pace).map_or(Self::Lines, |picture| Self::Terminal(Box::new(picture)))
    }

    /// A second has passed; `all` are those until now, and `progress` says how far that is.
    pub(crate) fn show(&mut self, all: &[PerSecond], progress: &str) {
        let Some(last) = all.last() else { return };
        let shown = match self {
            Self::Nobody => Ok(()),
            Self::Lines => writeln!(std::io::stderr(), "{}", line::of(last)),
            Self::Terminal(picture) => picture.draw(all, progress),
        };
        if shown.is_err() {
            // Nobody looks on any more; the run is not concerned.
            *self = Self::Nobody;
        }
    }

    /// End the picture: from now on the terminal belongs to the report.
    pub(crate) fn end(&mut self) {
        if let Self::Terminal(picture) = self {
            picture.clear();
        }
        *self = Self::Nobody;
    }
}
