//! What is said of a run. Every form is made of a [`Record`], so that all say the same figures.

mod capacity;
mod compare;
mod csv;
mod hdr;
mod headline;
mod html;
mod json;
mod level;
mod levels;
mod metrics;
mod outcome;
mod pages;
mod record;
mod rows;
mod text;
mod times;
pub mod units;
mod urls;
mod warning;

pub use capacity::{Capacity, CapacityRun, heading as capacity_heading};
pub use compare::{ComparedFigure, Comparison, Verdict};
pub use csv::{csv, levels_csv};
pub use hdr::hdr;
pub use html::html;
pub use json::{json, parse};
pub use level::{HeldLevel, Level, LevelServer};
pub use levels::{ByLoad, Levels};
pub use pages::{PageSecond, PageSummary};
pub use record::{Machine, Moment, PerSecond, Record, RunSettings, Server, ServerSecond, Summary};
pub(crate) use rows::error_percent;
pub use text::text;
pub use times::Times;
pub use urls::{OtherUrls, PerUrl};
pub use warning::Warning;
