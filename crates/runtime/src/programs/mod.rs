//! Starting programs by way of another process, the script manager, which owns them.
//!
//! A serving process sends an [`Order`] through [`Orders`], a socket that it has inherited, and
//! gets a [`Program`]: pipes, and a control socket on which a [`Report`] says how it goes. As long
//! as that is open the program may run: when it is dropped, the manager ends the program. The
//! manager takes orders from its [`Desk`] and carries them out by [`launch`]. What it makes of them
//! is not known here, and no HTTP and no configuration may live here.

mod desk;
mod doorway;
mod launch;
mod lease;
mod order;
mod program;
mod report;
mod trust;

pub use desk::{Asked, Control, Desk, Orders};
pub use doorway::{Doorway, discard, log_pipe, say_no_more};
pub use launch::{Launch, end_group, launch};
pub use lease::{Counter, Denial, Heard, Tenant, Wanted, Word};
pub use order::{Identity, Limit, Limits, Malformed, ORDER_BYTES_MAX, Order, fuzz_order};
pub use program::{Program, Stream};
pub use report::{Refusal, Report, Step};
pub use trust::trust;
