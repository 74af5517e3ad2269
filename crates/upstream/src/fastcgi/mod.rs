//! Connections to FastCGI applications. What is said on one is the crate `fastcgi`'s.

mod pool;

pub use pool::{Full, Lease, Options, Pool, Pools, Watch};
