//! Starting programs by way of another process, the script manager, which owns them.
//!
//! A serving process sends a [`ProgramCommand`] through its [`ManagerClient`], a socket that it has
//! inherited, and gets a [`Program`]: pipes, and a control socket on which a [`ProgramReport`] says
//! how it goes. As long as that is open the program may run: when it is dropped, the manager ends
//! the program. For a FastCGI process that the manager keeps it sends a [`ProcessClass`] and gets a
//! [`LeasedProcess`]. The manager takes requests from its [`ClientSockets`], one for each serving
//! process, and starts programs by [`launch()`]. The parent tells it of new ones by a
//! [`ManagerLink`]. What it makes of commands is not known here, and no HTTP and no configuration
//! may live here.
//!
//! A program that answers questions (`RewriteMap name prg:`) has a manager of its own, which is
//! asked what keys stand for ([`ManagerClient::ask`]) and otherwise works in the same way.

mod answer_line;
mod client;
mod client_sockets;
mod command;
mod launch;
mod lease;
mod lease_request;
mod manager_link;
mod map_question;
mod pool_socket;
mod process_class;
mod program;
mod report;
mod trust;
mod unlinked_socket;

pub use answer_line::{AnswerLine, LineTooLong, MapAnswer, VALUE_BYTES_MAX, question_line};
pub use client::{ClientSocket, DESCRIPTORS_EVER, ManagerClient, ManagerRequest, ProgramControl};
pub use client_sockets::ClientSockets;
pub use command::{
    COMMAND_BYTES_MAX, Malformed, ProgramCommand, ProgramIdentity, ResourceLimit, ResourceLimits,
    fuzz_command,
};
pub use launch::{Launch, Whom, end_group, launch};
pub use lease::LeasedProcess;
pub use lease_request::{LeaseDenial, LeaseEvent, LeaseRequest, LeaseResult};
pub use manager_link::{LinkMessage, ManagerLink};
pub use map_question::{MapQuestion, MapRequest};
pub use pool_socket::{PoolTurn, next_connection};
pub use process_class::ProcessClass;
pub use program::{Program, ProgramStream};
pub use report::{IdentityRefusal, LaunchStep, ProgramReport};
pub use trust::tame;
pub use unlinked_socket::{UnlinkedSocket, discard, input_pipe, log_pipe, never_wait, say_no_more};
