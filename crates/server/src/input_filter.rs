//! Filters of request bodies: what a body passes on its way to a program.

use crate::request_context::RequestContext;
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

/// The filter that the body of a request has to pass, if one has to.
pub(crate) type ChooseInput = fn(&RequestContext<'_>) -> Option<Box<dyn InputFilter>>;

/// The filter that the body of this request has to pass, if one has to.
pub fn of(request: &RequestContext<'_>) -> Option<Box<dyn InputFilter>> {
    request.site().phases.input.and_then(|choose| choose(request))
}
