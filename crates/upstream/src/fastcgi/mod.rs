//! Connections to FastCGI applications. What is said on one is the crate `fastcgi`'s.

mod connect;
mod pool;

pub use connect::{ConnectError, Connected, Destination, connect};
pub use pool::{Full, Lease, Opening, Pool, PoolOptions, PoolWatch, Pools};
