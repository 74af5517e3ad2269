//! What kind of thing answers a request, where its name alone does not say so: a variant that was
//! chosen by what the client accepts, or a type that a module chose.

/// What was chosen, and what the answer has to say about the choice.
#[derive(Clone, Default)]
pub struct Negotiated {
    /// `r->content_type`, where another module than mime chose one.
    pub content_type: Option<String>,
    /// The handler that a rule has chosen, whatever is configured for the file.
    pub handler: Option<String>,
    pub content_language: Option<String>,
    pub content_encoding: Option<String>,
    /// The entity tag of the list of variants (`r->vlist_validator`); that of the answer has it.
    pub list_tag: Option<Vec<u8>>,
    /// Caches of HTTP/1.0 must not keep the answer (`r->no_cache`).
    pub no_cache: bool,
}

impl Negotiated {
    /// What is left of it behind an internal redirect: that there was a choice, and not what was
    /// chosen.
    pub(crate) fn redirected(&self) -> Self {
        Self { list_tag: self.list_tag.clone(), no_cache: self.no_cache, ..Self::default() }
    }

    /// What was chosen for `outer`, which this look-up is to replace, was the choice of the look-up
    /// itself: of `outer` the list counts.
    pub(crate) fn inherit(&mut self, outer: &mut Self) {
        self.list_tag = outer.list_tag.take();
        self.no_cache &= outer.no_cache;
    }
}
