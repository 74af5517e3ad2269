//! Errors of the system in the words that the kernel and httpd have for them.

use std::io;

/// The kernel's words, without the number that std adds: `No such file or directory`.
pub fn text(error: &io::Error) -> String {
    without_number(&error.to_string()).to_owned()
}

/// The same behind the number, as httpd's messages have it (apr_strerror):
/// `(2)No such file or directory`. What has no number has 0.
pub fn numbered(error: &io::Error) -> String {
    format!("({}){}", error.raw_os_error().unwrap_or(0), text(error))
}

/// A text that std has made of an error, up to ` (os error 2)`.
pub fn without_number(text: &str) -> &str {
    text.split(" (os error").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_comes_first_or_not_at_all() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(text(&error), "No such file or directory");
        assert_eq!(numbered(&error), "(2)No such file or directory");
        assert_eq!(numbered(&io::Error::other("no idea")), "(0)no idea");
    }
}
