//! Sets of request methods, for lines within `<Limit>` and `<LimitExcept>`.

use message::Method;
use server::site::builder::Limited;

/// A set of methods; one bit for each that is registered, and one for all others. HEAD is GET
/// (`ap_method_number_of`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Methods(u32);

/// httpd's `M_INVALID`
const OTHERS: u32 = 31;

impl Methods {
    pub(crate) const ALL: Self = Self(u32::MAX);

    /// The methods that a line is about.
    pub(crate) fn limited(limited: Option<&Limited>) -> Self {
        let Some(limited) = limited else { return Self::ALL };
        let mut named = Self::default();
        limited.methods.iter().for_each(|method| named.add(*method));
        if limited.except { Self(!named.0) } else { named }
    }

    pub(crate) fn add(&mut self, method: Method) {
        self.0 |= 1 << bit(Some(method));
    }

    /// The methods of this set or of `other`.
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The methods of this set that are not in `other`.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set has `method`; `None` is a method that is not registered.
    pub(crate) fn has(self, method: Option<Method>) -> bool {
        self.0 >> bit(method) & 1 != 0
    }
}

fn bit(method: Option<Method>) -> u32 {
    match method {
        Some(Method::Head) => Method::Get as u32,
        Some(method) => method as u32,
        None => OTHERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_get_and_unknown_methods_are_only_in_what_is_excepted() {
        let limited = |except| Limited {
            methods: vec![Method::Get, Method::Put],
            others: Vec::new(),
            except,
        };
        let named = Methods::limited(Some(&limited(false)));
        let others = Methods::limited(Some(&limited(true)));
        for (method, is_named) in [
            (Some(Method::Get), true),
            (Some(Method::Head), true),
            (Some(Method::Put), true),
            (Some(Method::Post), false),
            (Some(Method::Merge), false),
            (None, false),
        ] {
            assert_eq!(named.has(method), is_named, "{method:?}");
            assert_eq!(others.has(method), !is_named, "{method:?}");
            assert!(Methods::limited(None).has(method), "{method:?}");
            assert!(named.with(others).has(method) && !named.without(named).has(method));
        }
    }
}
