//! What is said of a run. Every form is made of a [`RunRecord`], so that all say the same figures.

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

pub use capacity::{CapacityRun, CapacitySearch, heading as capacity_heading};
pub use compare::{ComparedFigure, DifferenceVerdict, RunComparison};
pub use csv::{csv, levels_csv};
pub use hdr::hdr;
pub use html::html;
pub use json::{json, parse};
pub use level::{HeldLevel, LevelServer, LoadLevel};
pub use levels::{ByLoad, LoadLevels};
pub use pages::{PageSecond, PageSummary};
pub use record::{
    FirstFailureRecord, MachineUse, PerSecond, RunRecord, RunSettings, ServerRecord, ServerSecond,
    Summary,
};
pub(crate) use rows::error_percent;
pub use text::text;
pub use times::TimeDistribution;
pub use urls::{OtherUrls, PerUrl};
pub use warning::RunWarning;
