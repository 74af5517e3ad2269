//! State that modules keep per serving thread: a key finds that of one module, with its type. It is
//! made when it is first asked for, in the process that uses it.

use crate::key_number::{KeyNumber, KeyNumbers};
use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

/// Finds the state `T` of one module in that of a thread. A module has one in a static.
pub struct ThreadKey<T> {
    number: KeyNumber,
    state: PhantomData<fn() -> T>,
}

/// The numbers that these keys have taken so far.
static NUMBERS: KeyNumbers = KeyNumbers::new();

impl<T: Default + 'static> ThreadKey<T> {
    /// A key without a number.
    #[expect(clippy::new_without_default, reason = "a key is a static, made by a const fn")]
    pub const fn new() -> Self {
        Self { number: KeyNumber::new(), state: PhantomData }
    }

    /// The state in that of a thread.
    pub fn of(&self, thread: &ThreadState) -> Rc<T> {
        let number = self.number.take(&NUMBERS);
        let mut all = thread.0.borrow_mut();
        if all.len() <= number {
            all.resize(number + 1, None);
        }
        let state = all[number].get_or_insert_with(|| Rc::new(T::default())).clone();
        match state.downcast() {
            Ok(state) => state,
            // A number is given to one key only, whose states have one type.
            Err(_) => unreachable!("key {number} holds the state of another module"),
        }
    }
}

/// What modules keep on a thread, each at the number of its key.
#[derive(Default)]
pub struct ThreadState(RefCell<Vec<Option<Rc<dyn Any>>>>);

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    static COUNT: ThreadKey<Cell<u32>> = ThreadKey::new();
    static NAME: ThreadKey<RefCell<String>> = ThreadKey::new();

    #[test]
    fn each_module_keeps_its_own_on_each_thread() {
        let (one, two) = (ThreadState::default(), ThreadState::default());
        NAME.of(&one).borrow_mut().push('a');
        COUNT.of(&one).set(1);
        COUNT.of(&two).set(2);
        assert_eq!((COUNT.of(&one).get(), COUNT.of(&two).get()), (1, 2));
        assert_eq!((NAME.of(&one).borrow().as_str(), NAME.of(&two).borrow().as_str()), ("a", ""));
    }
}
