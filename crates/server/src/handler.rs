//! Content handlers: what one is to the frame. Each belongs to a module.

use crate::representation::Representation;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::waiting::{NowOrLater, Waiting};
use message::Status;
use std::cell::Cell;
use std::rc::Rc;

/// What answers a request: a module has it, which chose itself for the request.
pub trait Handler {
    /// Its name, for `%R` and messages.
    fn name(&self) -> &'static str;

    /// Whether it runs a program: that answers OPTIONS itself, and wants to know names.
    fn is_script(&self) -> bool {
        false
    }

    /// The file that it is, if it is nothing but one and whoever may see it may have it.
    fn file(self: Rc<Self>) -> Option<Rc<Representation>> {
        None
    }

    /// Whether what was found out for one request holds for others like it for a moment, so that
    /// this answers them as well.
    fn may_be_cached(&self) -> bool {
        false
    }

    /// What is told of it when somebody asks for its methods.
    fn options(&self) -> Response {
        Response::new(Status::OK)
    }

    /// Answer. This is asked once for a request.
    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response>;
}

/// An answer that was put together when it was chosen, and the handler that it is from.
pub struct Made {
    name: &'static str,
    response: Cell<Option<Response>>,
}

impl Made {
    /// The handler that is called `name` and says this.
    pub fn new(name: &'static str, response: Response) -> Rc<Self> {
        Rc::new(Self { name, response: Cell::new(Some(response)) })
    }
}

impl Handler for Made {
    fn name(&self) -> &'static str {
        self.name
    }

    fn respond<'l>(self: Rc<Self>, _: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::Now(Ok(self.response.take().unwrap_or_else(|| Response::new(Status::OK))))
    }
}

/// What httpd calls the handler of CGI scripts, as which `ScriptAlias` has files run.
pub const SCRIPT: &str = "cgi-script";

/// What httpd calls the handler of files.
pub const FILE: &str = "default-handler";
