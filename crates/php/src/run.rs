//! A script under way, as whoever started it sees it: it runs until it has written something or
//! needs an answer, and goes on when it has got one.
#![allow(unsafe_code)]

use crate::host::{HOST, ScriptHost};
use crate::module::Started;
use crate::request::ScriptRequest;
use crate::step::{Answer, Output, Step};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// The stack of a script: as much as the first thread of a process usually has. Only what is used
/// takes memory.
const STACK_BYTES: usize = 8 << 20;

/// Where the scripts of a thread run, one at a time.
#[derive(Default)]
pub struct Stacks(RefCell<Option<DefaultStack>>);

/// A script that was started. One that is dropped runs to its end, as that of a client that has
/// gone: PHP cannot be stopped from outside.
pub struct ScriptRun {
    coroutine: Option<Coroutine<Answer, Step, (Output, usize), DefaultStack>>,
    stacks: Rc<Stacks>,
}

impl ScriptRun {
    /// Prepare to run a script: it begins with the first answer. PHP runs one script at a time, so
    /// the caller makes sure that none is under way in this process.
    ///
    /// # Errors
    /// When there is no memory for a stack.
    pub fn new(started: &Started, stacks: &Rc<Stacks>, request: ScriptRequest) -> io::Result<Self> {
        let module = started.module();
        let kept = stacks.0.borrow_mut().take();
        let stack = kept.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)?;
        let coroutine = Coroutine::with_stack(stack, move |yielder, answer: Answer| {
            let mut host = ScriptHost::new(yielder, &answer);
            let request = request.for_border();
            // SAFETY: the module was started; request and host live until it returns; the host is
            // used through this pointer only, by the functions of `HOST`.
            let peak_bytes = unsafe {
                (module.table().run)(&raw const request.request, &raw const HOST, {
                    (&raw mut host).cast()
                })
            };
            (host.into_output(), peak_bytes)
        });
        Ok(Self { coroutine: Some(coroutine), stacks: stacks.clone() })
    }

    /// Run the script on; `None` when it has ended before.
    pub fn resume(&mut self, answer: Answer) -> Option<Step> {
        let coroutine = self.coroutine.as_mut()?;
        match coroutine.resume(answer) {
            CoroutineResult::Yield(step) => Some(step),
            CoroutineResult::Return((output, peak_bytes)) => {
                let stack = self.coroutine.take().map(Coroutine::into_stack);
                *self.stacks.0.borrow_mut() = stack;
                Some(Step::Ended { output, peak_bytes })
            }
        }
    }

    /// Whether it has begun and not ended.
    pub fn is_under_way(&self) -> bool {
        self.coroutine.as_ref().is_some_and(Coroutine::started)
    }
}

impl Drop for ScriptRun {
    fn drop(&mut self) {
        // One that was never begun has no frame of C on its stack.
        while self.is_under_way() {
            self.resume(Answer::Gone);
        }
    }
}
