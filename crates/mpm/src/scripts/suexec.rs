//! Whom a program runs as.

use runtime::process::User;
use runtime::programs::{Identity, Order, Refusal};
use server::Server;
use std::borrow::Cow;

/// The user of `order`; `None` is to stay who the manager is.
pub(super) fn user<'a>(
    server: &'a Server,
    order: &Order,
) -> Result<Option<Cow<'a, User>>, Refusal> {
    match order.identity {
        Identity::Server => Ok(server.user().map(Cow::Borrowed)),
        Identity::Row(_) | Identity::Home(_) => Err(Refusal::UnknownUser),
    }
}
