//! What the phases of a request tell about their decisions where somebody has it explained
//! (`explain.rs`). Nothing is decided here, and a thread that serves has no such list.

use crate::site::config_place::ConfigPlace;
use crate::table::Table;
use std::cell::{Cell, RefCell};

/// A decision about a request, or something else that happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedStep {
    /// What it is about.
    pub kind: StepKind,
    /// How many look-ups it is inside of.
    pub depth: u32,
    /// The line of the configuration that decided.
    pub place: Option<ConfigPlace>,
    /// The decision in words.
    pub text: String,
}

/// What a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Which virtual host answers, and why.
    Host,
    /// A request begins: the client's, or what an internal redirect made of it.
    Request,
    /// A look-up of another URL begins.
    LookUp,
    /// A section holds.
    Section,
    /// The URL is mapped to something.
    Place,
    /// A rule or a condition is tried.
    Rule,
    /// What came of the rule or condition before.
    RuleResult,
    /// Who may see it.
    Access,
    /// What answers.
    Answer,
    /// What a log would say.
    Message,
}

impl StepKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Request => "request",
            Self::LookUp => "look-up",
            Self::Section => "section",
            Self::Place => "place",
            Self::Rule => "rule",
            Self::RuleResult => "result",
            Self::Access => "access",
            Self::Answer => "answer",
            Self::Message => "log",
        }
    }
}

/// No more steps are kept when their texts have come to this: rules may go round and round.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// All steps of a request.
#[derive(Debug, Default)]
pub(crate) struct StepList {
    list: RefCell<Vec<ExplainedStep>>,
    /// How long they are together, as far as there was room for them.
    text_bytes: Cell<usize>,
    /// The variables of a program or a backend that would have answered.
    script: RefCell<Option<Table>>,
}

impl StepList {
    pub(crate) fn add(&self, mut step: ExplainedStep) {
        let before = self.text_bytes.get();
        let after = before + step.text.len() + size_of::<ExplainedStep>();
        self.text_bytes.set(after);
        if before >= TEXT_BYTES_MAX {
            return;
        }
        if after >= TEXT_BYTES_MAX {
            step = ExplainedStep { text: "the steps from here on are left out".into(), ..step };
        }
        self.list.borrow_mut().push(step);
    }

    /// Whoever would have answered, with these variables, is not asked.
    pub(crate) fn leave_unasked(&self, variables: &Table) {
        self.script.replace(Some(variables.clone()));
    }

    /// The variables of a program or a backend that was not asked.
    pub(crate) fn script(&self) -> Option<Table> {
        self.script.take()
    }

    /// What was told so far.
    pub(crate) fn take(&self) -> Vec<ExplainedStep> {
        self.list.take()
    }
}
