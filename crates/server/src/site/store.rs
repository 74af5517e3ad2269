//! Settings that modules own: a key finds those of one module, with their type, in a store that
//! knows none of the types. What a module says nothing about costs no memory, and what is
//! inherited as it is is shared: there may be thousands of sections.

use crate::key_number::{KeyNumber, KeyNumbers};
use std::any::Any;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

/// Settings of one module that can be said in several places, of which one lies over the other:
/// an inner section over an outer one, a virtual host over the main server.
pub trait Merge: Clone + Debug + Default + Send + Sync + 'static {
    /// Whether settings that lie over none hold as they are, shared; otherwise they are merged with
    /// those of which nothing is said.
    const HOLDS_ALONE: bool = false;

    /// `self` over `outer`. It is not asked where there is no `self`: what says nothing leaves the
    /// outer as it is (ap_merge_per_dir_configs of httpd's config.c).
    /// Without a rule of its own the inner one replaces the outer, as where there is one only.
    fn over(&self, outer: &Self) -> Self {
        let _ = outer;
        self.clone()
    }
}

/// What owns a store, as the settings of a section or of a host do.
pub trait StoreOwner: 'static {
    /// The numbers that its keys have taken so far.
    fn numbers() -> &'static KeyNumbers;
    /// Its store.
    fn store(&self) -> &Store;
    /// Its store, to change what is in it.
    fn store_mut(&mut self) -> &mut Store;
}

/// Finds the settings `T` of one module in those of an `O`. A module has one in a static.
pub struct Key<O, T> {
    /// The place in every store.
    number: KeyNumber,
    /// Settings of which nothing is said, for all to read.
    unset: LazyLock<T>,
    owner: PhantomData<fn(&O)>,
}

impl<O: StoreOwner, T: Merge> Key<O, T> {
    /// A key without a number.
    #[expect(clippy::new_without_default, reason = "a key is a static, made by a const fn")]
    pub const fn new() -> Self {
        Self { number: KeyNumber::new(), unset: LazyLock::new(T::default), owner: PhantomData }
    }

    /// The settings in `owner`.
    pub fn of<'o>(&'static self, owner: &'o O) -> &'o T {
        self.said(owner).unwrap_or_else(|| &self.unset)
    }

    /// The settings in `owner`; `None` if nothing is said there.
    pub(crate) fn said<'o>(&self, owner: &'o O) -> Option<&'o T> {
        let entry: &dyn Any = owner.store().get(self.number.known()?)?;
        entry.downcast_ref()
    }

    /// The settings in `owner`, to be changed; others who share them keep what they have. They are
    /// there from now on, even if nothing is said: what lies over them is merged with them.
    pub fn change<'o>(&self, owner: &'o mut O) -> &'o mut T {
        let number = self.number.take(O::numbers());
        let entry: &mut dyn Any = owner.store_mut().change(number, || Arc::new(T::default()));
        match entry.downcast_mut() {
            Some(settings) => settings,
            // A number is given to one key only, whose settings have one type.
            None => unreachable!("key {number} holds the settings of another module"),
        }
    }

    /// Settings in `owner`, even if nothing is said: what lies over them is merged with them. Those
    /// that are there already stay as they are, shared or not.
    pub fn create(&self, owner: &mut O) {
        if self.said(owner).is_none() {
            self.change(owner);
        }
    }
}

/// Settings of modules, each at the number of its key; behind the last of them there is nothing.
#[derive(Clone, Debug, Default)]
pub struct Store(Vec<Option<Arc<dyn StoredSettings>>>);

impl Store {
    /// `inner` over `outer`, module by module.
    pub(crate) fn merge(outer: &Self, inner: &Self) -> Self {
        let merged = |number| match (inner.slot(number), outer.slot(number)) {
            (Some(inner), outer) => {
                Some(inner.over(outer.map(|it| &**it)).unwrap_or(inner.clone()))
            }
            (None, outer) => outer.cloned(),
        };
        Self((0..outer.0.len().max(inner.0.len())).map(merged).collect())
    }

    fn slot(&self, number: usize) -> Option<&Arc<dyn StoredSettings>> {
        self.0.get(number)?.as_ref()
    }

    fn get(&self, number: usize) -> Option<&dyn StoredSettings> {
        self.slot(number).map(|entry| &**entry)
    }

    fn change(
        &mut self,
        number: usize,
        unset: impl FnOnce() -> Arc<dyn StoredSettings>,
    ) -> &mut dyn StoredSettings {
        if self.0.len() <= number {
            self.0.reserve_exact(number + 1 - self.0.len());
            self.0.resize(number + 1, None);
        }
        let entry = self.0[number].get_or_insert_with(unset);
        if Arc::get_mut(entry).is_none() {
            *entry = entry.copy();
        }
        match Arc::get_mut(entry) {
            Some(entry) => entry,
            None => unreachable!("a copy that nobody else has seen is shared"),
        }
    }
}

/// Settings of a type that only their module knows.
trait StoredSettings: Any + Debug + Send + Sync {
    /// Itself over what may be there; `None` if it holds as it is.
    fn over(&self, outer: Option<&dyn StoredSettings>) -> Option<Arc<dyn StoredSettings>>;
    /// A copy that nobody shares.
    fn copy(&self) -> Arc<dyn StoredSettings>;
}

impl<T: Merge> StoredSettings for T {
    fn over(&self, outer: Option<&dyn StoredSettings>) -> Option<Arc<dyn StoredSettings>> {
        let outer = outer.and_then(|outer| (outer as &dyn Any).downcast_ref::<T>());
        match outer {
            None if T::HOLDS_ALONE => None,
            None => Some(Arc::new(Merge::over(self, &T::default()))),
            Some(outer) => Some(Arc::new(Merge::over(self, outer))),
        }
    }

    fn copy(&self) -> Arc<dyn StoredSettings> {
        Arc::new(self.clone())
    }
}

/// `inner` if it is set, else `outer`.
pub fn either<T: Clone>(inner: Option<&T>, outer: Option<&T>) -> Option<T> {
    inner.or(outer).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Words(Vec<&'static str>);

    impl Merge for Words {
        fn over(&self, outer: &Self) -> Self {
            Self([&outer.0[..], &self.0].concat())
        }
    }

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Alone(u32);

    impl Merge for Alone {
        const HOLDS_ALONE: bool = true;

        fn over(&self, outer: &Self) -> Self {
            Self(self.0 + outer.0)
        }
    }

    #[derive(Default)]
    struct Place(pub Store);

    impl StoreOwner for Place {
        fn numbers() -> &'static KeyNumbers {
            static NUMBERS: KeyNumbers = KeyNumbers::new();
            &NUMBERS
        }

        fn store(&self) -> &Store {
            &self.0
        }

        fn store_mut(&mut self) -> &mut Store {
            &mut self.0
        }
    }

    static WORDS: Key<Place, Words> = Key::new();
    static ALONE: Key<Place, Alone> = Key::new();
    static NEVER: Key<Place, Alone> = Key::new();

    fn merge(outer: &Place, inner: &Place) -> Place {
        Place(Store::merge(&outer.0, &inner.0))
    }

    #[test]
    fn each_module_finds_its_own() {
        let mut place = Place::default();
        WORDS.change(&mut place).0.push("a");
        ALONE.change(&mut place).0 = 7;
        assert_eq!((WORDS.of(&place).0.as_slice(), ALONE.of(&place).0), (&["a"][..], 7));
        assert_eq!((NEVER.of(&place), NEVER.said(&place)), (&Alone(0), None));
    }

    #[test]
    fn the_inner_lies_over_the_outer() {
        let (mut outer, mut inner) = (Place::default(), Place::default());
        WORDS.change(&mut outer).0.push("outer");
        WORDS.change(&mut inner).0.push("inner");
        ALONE.change(&mut inner).0 = 1;
        let merged = merge(&outer, &inner);
        assert_eq!(WORDS.of(&merged).0, ["outer", "inner"]);
        assert_eq!(ALONE.of(&merged), &Alone(1));
        let both = merge(&merged, &inner);
        assert_eq!((WORDS.of(&both).0.len(), ALONE.of(&both)), (3, &Alone(2)));
    }

    #[test]
    fn what_is_inherited_as_it_is_is_shared_until_it_is_changed() {
        let mut outer = Place::default();
        WORDS.change(&mut outer).0.push("a");
        ALONE.change(&mut outer).0 = 1;
        let mut merged = merge(&outer, &Place::default());
        let same = |a: &Place, b: &Place| std::ptr::eq(WORDS.of(a), WORDS.of(b));
        assert!(same(&merged, &outer));
        let over_none = merge(&Place::default(), &outer);
        assert!(!same(&over_none, &outer) && std::ptr::eq(ALONE.of(&over_none), ALONE.of(&outer)));
        WORDS.create(&mut merged);
        assert!(same(&merged, &outer), "what is there is not made again");
        WORDS.change(&mut merged).0.push("b");
        assert!(!same(&merged, &outer) && WORDS.of(&outer).0 == ["a"]);
    }

    #[test]
    fn who_says_nothing_takes_nothing() {
        let (mut first, mut second) = (Place::default(), Place::default());
        WORDS.change(&mut first);
        ALONE.change(&mut second);
        let lengths = [&first, &second, &Place::default()].map(|place| place.0.0.len());
        assert!(lengths[2] == 0 && lengths.iter().all(|length| *length <= 2));
    }
}
