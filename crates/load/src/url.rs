//! Absolute http and https URLs, and references within a page.
