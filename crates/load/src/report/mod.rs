//! What is said of a run. Every form is made of a [`Record`], so that all say the same figures.

mod doubt;
mod json;
mod knee;
mod metrics;
mod pages;
mod record;
mod text;
pub mod units;

pub use doubt::Doubt;
pub use json::{json, parse};
pub use knee::{Knee, KneeTry, heading as knee_heading};
pub use pages::{PageSecond, PageSummary};
pub use record::{
    Figures, Machine, Moment, PerSecond, PerUrl, Record, Server, ServerSecond, Summary, Times,
};
pub use text::text;
