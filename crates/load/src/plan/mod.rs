//! What: requests with their variables, order and weights.
//!
//! ```
//! use load::plan::{Cursor, Plan, PlanEntry, Variables};
//! use load::plan::{RequestDefaults, RequestOrder, RequestSpec};
//!
//! let mut variables = Variables::default();
//! variables.define("word", "list[red,green]").unwrap();
//! let spec = RequestSpec { url: "localhost/search?q=#{word}", ..RequestSpec::default() };
//! let entry = PlanEntry::new(&spec, &variables, &RequestDefaults::default()).unwrap();
//! assert_eq!(entry.name, "GET http://localhost/search?q=$(word)");
//!
//! let plan = Plan::new(vec![entry], RequestOrder::Weighted).unwrap();
//! let mut cursor = Cursor::new(1, 0);
//! let index = plan.next(&mut cursor);
//! let mut bytes = Vec::new();
//! plan.entries()[index].write(&mut cursor.values, None, &mut bytes);
//! assert!(bytes.starts_with(b"GET /search?q="));
//! ```

pub mod cookies;
pub mod expect;
pub mod file;
mod mix;
mod random;
pub mod replay;
mod request;
mod statuses;
mod think;
mod values;

pub use expect::{Expect, Take};
pub use random::Random;
pub use request::{BodyContent, PlanEntry, PlannedBody, Request, RequestDefaults, RequestSpec};
pub use statuses::Statuses;
pub use think::Think;
pub use values::{PlanValues, Template, Variable, Variables};

use crate::text::SyntaxFault;
use mix::Mix;
use std::collections::HashMap;
use std::sync::Arc;

/// Which request comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrder {
    /// By weight, evenly mixed: over any stretch each comes as often as its weight says, but for
    /// rounding.
    Weighted,
    /// One after the other, each user from another place on; weights do not count. siege's order.
    InTurn,
    /// By weight, at random: siege with `-i`.
    AtRandom,
    /// One after the other, each user from the first on: where an answer gives what the next
    /// request needs. Weights do not count.
    AsWritten,
}

/// Requests and their order.
#[derive(Clone, Debug)]
pub struct Plan {
    entries: Vec<PlanEntry>,
    order: RequestOrder,
    mix: Mix,
    /// For each entry, the weights of all before it and its own.
    sums: Vec<u64>,
    /// For each entry the row of the report that it is counted in; empty where each has its own.
    rows: Arc<[u32]>,
}

/// Requests of a plan at most.
pub const ENTRIES_MAX: usize = 1_000_000;

impl Plan {
    /// A plan of at least one request, some of them with a weight above 0.
    pub fn new(entries: Vec<PlanEntry>, order: RequestOrder) -> Result<Self, SyntaxFault> {
        let add = |sum: &mut u64, entry: &PlanEntry| {
            *sum += u64::from(entry.weight);
            Some(*sum)
        };
        let sums: Vec<u64> = entries.iter().scan(0, add).collect();
        if entries.len() > ENTRIES_MAX {
            return Err(SyntaxFault::new(
                "",
                0,
                format!("expected at most {ENTRIES_MAX} requests"),
            ));
        }
        let mix = Mix::new(entries.iter().map(|entry| entry.weight));
        let mix = mix.ok_or_else(|| SyntaxFault::new("", 0, "a plan without requests"))?;
        Ok(Self { entries, order, mix, sums, rows: Arc::default() })
    }

    /// The plan, with requests of one name counted together, whatever else differs in them.
    #[must_use]
    pub fn counted_by_name(mut self) -> Self {
        let mut known = HashMap::new();
        let rows = self.entries.iter().map(|entry| {
            let next = known.len() as u32;
            *known.entry(entry.name.as_str()).or_insert(next)
        });
        self.rows = rows.collect();
        self
    }

    /// For each entry the row of the report that it is counted in; empty where each has its own.
    pub fn rows(&self) -> Arc<[u32]> {
        self.rows.clone()
    }

    /// The names of the rows of a report.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (place, entry) in self.entries.iter().enumerate() {
            // Rows are numbered in the order in which they come first.
            if self.rows.get(place).map_or(place, |row| *row as usize) == names.len() {
                names.push(entry.name.clone());
            }
        }
        names
    }

    /// The requests.
    pub fn entries(&self) -> &[PlanEntry] {
        &self.entries
    }

    /// Whether more of answers has to be seen than their statuses.
    pub fn looks_inside(&self) -> bool {
        self.entries.iter().any(PlanEntry::looks_inside)
    }

    /// Whether contents have to be seen.
    pub fn looks_at_bodies(&self) -> bool {
        self.entries.iter().any(PlanEntry::looks_at_body)
    }

    /// The order.
    pub const fn order(&self) -> RequestOrder {
        self.order
    }

    /// The index of the next request of a user.
    pub fn next(&self, cursor: &mut Cursor) -> usize {
        let step = cursor.step;
        cursor.step += 1;
        if step > 0 {
            cursor.values.advance();
        }
        let len = self.entries.len() as u64;
        match self.order {
            RequestOrder::InTurn => ((u64::from(cursor.user) + step % len) % len) as usize,
            RequestOrder::AsWritten => (step % len) as usize,
            RequestOrder::Weighted => self.mix.at(cursor.user, step),
            RequestOrder::AtRandom => {
                let number = cursor.random.below(self.sums.last().copied().unwrap_or(1));
                self.sums.partition_point(|sum| *sum <= number)
            }
        }
    }
}

/// Where one user is in the plan, and the values of the request it is at.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// For [`PlanEntry::write`].
    pub values: PlanValues,
    user: u32,
    step: u64,
    random: Random,
}

impl Cursor {
    /// A user before its first request. The same seed and user give the same run.
    pub const fn new(seed: u64, user: u32) -> Self {
        let random = Random::new(seed ^ (user as u64).wrapping_mul(0xd134_2543_de82_ef95));
        Self { values: PlanValues::new(seed, user), user, step: 0, random }
    }

    /// How long this user thinks, nanoseconds.
    pub fn think_ns(&mut self, think: Think) -> u64 {
        let span_ns = think.to_ns.saturating_sub(think.from_ns);
        think.from_ns.saturating_add(self.random.below(span_ns.saturating_add(1)))
    }
}

impl PlanEntry {
    /// Whether more of the answer has to be seen than its status.
    pub fn looks_inside(&self) -> bool {
        !self.takes.is_empty() || self.expect.as_ref().is_some_and(Expect::looks_inside)
    }

    /// Whether what its answer says has to be seen.
    pub(crate) fn looks_at_body(&self) -> bool {
        self.takes.iter().any(Take::looks_at_body)
            || self.expect.as_ref().is_some_and(Expect::looks_at_body)
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
