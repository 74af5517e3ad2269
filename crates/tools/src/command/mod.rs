//! The commands: how words become the four values, and what is printed in the end.

pub mod ab;
pub mod bench;
mod exit;
mod kept;
mod option;
pub mod siege;

pub use exit::Exit;
