//! The connections of one user: at most one to each server, its own or a share of one.

use super::routes::{self, Unresolved};
use super::worker::LoadWorker;
use crate::failure::DescribedFailure;
use crate::page::FETCHERS_MAX;
use crate::url::Url;
use runtime::{Timer, clock};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use upstream::{ClientTransport, ErrorKind, Route, UpstreamError, h1, h2};

/// A connection to send requests on.
pub(super) enum UserConnection {
    /// HTTP/1: this user's alone.
    Own(h1::H1Connection),
    /// HTTP/2: a stream beside those of other users.
    Shared(h2::ConnectionShare),
}

/// The connections of a user, each with the number of its route.
#[derive(Default)]
pub(super) struct UserConnections(Vec<(usize, UserConnection)>);

impl UserConnections {
    pub(super) fn at(&mut self, place: usize) -> &mut UserConnection {
        &mut self.0[place].1
    }

    pub(super) fn drop_at(&mut self, place: usize) {
        self.0.swap_remove(place);
    }

    /// The place of the connection to use, and how long it took to make if it is new; `turn`
    /// chooses the address that it comes from. The timer limits the whole.
    pub(super) async fn find(
        &mut self,
        worker: &LoadWorker,
        route: usize,
        turn: usize,
        timer: &mut Timer,
    ) -> Result<(usize, Option<u64>), DescribedFailure> {
        if let Some(place) = self.0.iter().position(|connection| connection.0 == route) {
            match &self.0[place].1 {
                // It may have ended while nobody asked.
                UserConnection::Shared(share) if !share.is_open() => self.drop_at(place),
                _ => return Ok((place, None)),
            }
        }
        let (connection, connect_ns) = made(worker, route, turn, timer).await?;
        self.0.push((route, connection));
        Ok((self.0.len() - 1, connect_ns))
    }
}

/// A connection that is made now, and how long that took unless others have it already.
pub(super) async fn made(
    worker: &LoadWorker,
    route: usize,
    turn: usize,
    timer: &mut Timer,
) -> Result<(UserConnection, Option<u64>), DescribedFailure> {
    let begun_ns = clock::monotonic_ns();
    // It is large while it lasts: within the user it would be so all the time, and there may be
    // ten thousand of them.
    let mut connecting = Box::pin(connect(worker, route, turn));
    let connected = poll_fn(|context| match connecting.as_mut().poll(context) {
        Poll::Pending if timer.poll_expired(context).is_ready() => {
            let text = "no connection in time".to_owned();
            Poll::Ready(Err(UpstreamError { kind: ErrorKind::ConnectTimeout, text }))
        }
        polled => polled,
    });
    let connected = connected.await;
    // A time limit that has passed is no refusal: the server may be there and slow.
    worker.shared.note_reach(route, connected.as_ref().err().map(|error| error.kind));
    let (connection, is_new) = connected?;
    // Who takes a share of a connection that another user makes has waited, but has made none: the
    // time of it is counted once.
    Ok((connection, is_new.then(|| clock::monotonic_ns() - begun_ns)))
}

/// A connection, and whether it is new.
async fn connect(
    worker: &LoadWorker,
    route: usize,
    turn: usize,
) -> Result<(UserConnection, bool), UpstreamError> {
    let options = &worker.shared.options;
    let route_to = worker.route(route);
    let connect = async || {
        let transport = worker.client.connect(&route_to, turn).await?;
        worker.shared.note_agreed(&transport);
        Ok(transport)
    };
    let own =
        |transport: ClientTransport| (UserConnection::Own(h1::H1Connection::new(transport)), true);
    if !options.http2 {
        return connect().await.map(own);
    }
    // A connection that is made anew each time is nobody else's.
    let streams = match (options.keeps_alive, &options.pages) {
        (false, _) => 1,
        (true, None) => options.streams,
        // As many as a browser sends at once, over the one connection that it has.
        (true, Some(_)) => FETCHERS_MAX as u32,
    };
    match worker.client.h2.join(route, streams, &connect).await? {
        h2::FoundShare::Share(share, is_new) => Ok((UserConnection::Shared(share), is_new)),
        h2::FoundShare::Alone(transport) => Ok(own(transport)),
        h2::FoundShare::Without => connect().await.map(own),
    }
}

impl LoadWorker {
    /// The way with this number.
    fn route(&self, number: usize) -> Rc<Route> {
        match number.checked_sub(self.shared.routes.len()) {
            None => Rc::new(self.shared.routes[number].clone()),
            Some(more) => self.more_routes.borrow()[more].1.clone(),
        }
    }

    /// The number of the way to the server of a URL that is not in the plan.
    ///
    /// # Errors
    /// When its host has no address.
    pub(crate) async fn route_to(&self, url: &Url) -> Result<usize, Unresolved> {
        let known = || self.more_routes.borrow().iter().position(|row| row.0.is_same_server(url));
        if let Some(more) = known() {
            return Ok(self.shared.routes.len() + more);
        }
        let (host, options) = (url.clone(), self.shared.options.clone());
        let found = runtime::blocking(move || routes::route(&host, &options)).await;
        let route = found.map_err(|error| Unresolved { host: url.host.clone(), error })??;
        // Another user may have asked the same meanwhile.
        let more = known().unwrap_or_else(|| {
            let mut more_routes = self.more_routes.borrow_mut();
            more_routes.push((url.clone(), Rc::new(route)));
            more_routes.len() - 1
        });
        Ok(self.shared.routes.len() + more)
    }
}
