//! Filters of request bodies: what a body passes on its way to a program.

use message::Refusal;

/// A filter at work on one body.
pub trait InputFilter {
    /// How much of the body it is given at once: bounds what may come of it.
    fn piece_bytes(&self) -> usize;

    /// Take in a piece, and append what comes of it.
    ///
    /// # Errors
    /// What is wrong with the body.
    fn write(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal>;

    /// The body has ended.
    ///
    /// # Errors
    /// What is missing or wrong.
    fn finish(&mut self) -> Result<(), Refusal>;

    /// What the body is still coded with behind the filter; `None` if with nothing.
    fn coding_left(&self) -> Option<&[u8]>;
}
