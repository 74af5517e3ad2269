//! The life of a connection: what reads requests from it and sends their responses. Each protocol
//! has its folder; which requests there are and how they are answered is known below
//! (`exchange.rs`), and nothing there names a connection.

pub(crate) mod http1;

pub use http1::serve;
