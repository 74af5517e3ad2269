//! The commands: how words become the four values, and what is printed in the end.

pub mod ab;
pub mod bench;
mod exit;
mod option;
mod output_file;
pub mod siege;

pub use exit::Exit;
