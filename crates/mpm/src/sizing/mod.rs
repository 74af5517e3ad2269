//! How many processes or workers memory is enough for, as arithmetic: numbers in, numbers out.
//! Where the numbers come from is in `parent::auto_size` (workers) and `programs::fcgid` (FastCGI
//! processes).

pub(crate) mod budget;
pub(crate) mod cost;
pub(crate) mod log_line;
pub(crate) mod peaks;
