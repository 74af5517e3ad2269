//! Pure parts of the server: log lines, directory listings, media types.

/// What is written to the error log, and the calendar both logs share.
pub mod log {
    pub mod error_log;
    pub mod level;
    pub mod time;
}

/// The modules a configuration can name.
pub mod modules {
    pub mod autoindex;
    pub mod escape;
    pub mod log_config;
    pub mod mime;
}
