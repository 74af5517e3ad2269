//! State that modules keep for a request: a key finds that of one module, with its type. A request
//! for which no module keeps anything pays for an empty list.

use crate::key_number::{KeyNumber, KeyNumbers};
use std::any::Any;
use std::marker::PhantomData;

/// Finds the state `T` of one module in that of a request. A module has one in a static.
pub struct RequestKey<T> {
    number: KeyNumber,
    state: PhantomData<fn() -> T>,
}

/// The numbers that these keys have taken so far.
static NUMBERS: KeyNumbers = KeyNumbers::new();

impl<T: 'static> RequestKey<T> {
    /// A key without a number.
    #[expect(clippy::new_without_default, reason = "a key is a static, made by a const fn")]
    pub const fn new() -> Self {
        Self { number: KeyNumber::new(), state: PhantomData }
    }

    /// The state, if the module has set one.
    pub fn of<'r>(&self, request: &'r RequestState) -> Option<&'r T> {
        request.0.get(self.number.known()?)?.as_deref()?.downcast_ref()
    }

    /// The state to be changed, if the module has set one.
    pub fn change<'r>(&self, request: &'r mut RequestState) -> Option<&'r mut T> {
        request.0.get_mut(self.number.known()?)?.as_deref_mut()?.downcast_mut()
    }

    /// Keep `state`, or none, from now on.
    pub fn set(&self, request: &mut RequestState, state: Option<T>) {
        if state.is_none() && self.of(request).is_none() {
            return;
        }
        let number = self.number.take(&NUMBERS);
        if request.0.len() <= number {
            request.0.resize_with(number + 1, || None);
        }
        request.0[number] = state.map(|state| Box::new(state) as Box<dyn Any>);
    }
}

/// What modules keep for one request, each at the number of its key.
#[derive(Default)]
pub struct RequestState(Vec<Option<Box<dyn Any>>>);

#[cfg(test)]
mod tests {
    use super::*;

    static COUNT: RequestKey<u32> = RequestKey::new();
    static NAME: RequestKey<String> = RequestKey::new();

    #[test]
    fn each_module_keeps_its_own_for_each_request() {
        let (mut one, mut two) = (RequestState::default(), RequestState::default());
        NAME.set(&mut one, Some("a".to_owned()));
        COUNT.set(&mut one, Some(1));
        COUNT.set(&mut two, Some(2));
        if let Some(count) = COUNT.change(&mut two) {
            *count += 1;
        }
        assert_eq!((COUNT.of(&one), COUNT.of(&two)), (Some(&1), Some(&3)));
        assert_eq!((NAME.of(&one).map(String::as_str), NAME.of(&two)), (Some("a"), None));
        NAME.set(&mut one, None);
        assert_eq!((NAME.of(&one), COUNT.of(&one)), (None, Some(&1)));
    }
}
