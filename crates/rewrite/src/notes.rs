//! Notes of a request (`r->notes`) by which the steps of rewriting tell each other something.

/// What `END` leaves for all that comes of the request.
pub(crate) const END: &str = "mod_rewrite_end";

/// A URL named this server: what is behind the host is no file name.
pub(crate) const REDUCED: &str = "mod_rewrite_uri_reduced";

/// `[T=...]`
pub(crate) const MEDIA_TYPE: &str = "rewrite-forced-mimetype";

/// `[H=...]`
pub(crate) const HANDLER: &str = "rewrite-forced-handler";

/// Of a look-up: the path of the request that it is made for.
pub(crate) const LOOKED_UP_FOR: &str = "mod_rewrite_for";
