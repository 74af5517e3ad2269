//! What is said of a run. Every form is made of a [`Record`], so that all say the same figures.

mod compare;
mod csv;
mod doubt;
mod hdr;
mod headline;
mod html;
mod json;
mod knee;
mod level;
mod levels;
mod metrics;
mod pages;
mod record;
mod rows;
mod text;
mod times;
pub mod units;
mod urls;

pub use compare::{Comparison, Row, Verdict};
pub use csv::{csv, levels_csv};
pub use doubt::Doubt;
pub use hdr::hdr;
pub use html::html;
pub use json::{json, parse};
pub use knee::{Knee, KneeTry, heading as knee_heading};
pub use level::{HeldLevel, Level, LevelServer};
pub use levels::{ByLoad, Levels};
pub use pages::{PageSecond, PageSummary};
pub use record::{Figures, Machine, Moment, PerSecond, Record, Server, ServerSecond, Summary};
pub(crate) use rows::error_percent;
pub use text::text;
pub use times::Times;
pub use urls::{OtherUrls, PerUrl};
