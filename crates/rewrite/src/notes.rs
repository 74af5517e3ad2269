//! Notes of a request (`r->notes`) by which the steps of rewriting tell each other something.

/// What `END` leaves for all that comes of the request.
pub(crate) const END: &str = "mod_rewrite_end";

/// What it leaves in a look-up. Where a request goes on with that, it is forgotten: in httpd it is
/// a mark of the pool, and a look-up has its own.
pub(crate) const END_OF_LOOK_UP: &str = "mod_rewrite_end_of_look_up";

/// A URL named this server: what is behind the host is no file name.
pub(crate) const REDUCED: &str = "mod_rewrite_uri_reduced";

/// `[T=...]`
pub(crate) const MEDIA_TYPE: &str = "rewrite-forced-mimetype";

/// `[H=...]`
pub(crate) const HANDLER: &str = "rewrite-forced-handler";
