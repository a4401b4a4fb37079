//! What a program asks of a TCP socket of the running kernel (Linux): its state ([`TcpInfo`]), its options,
//! bursts that are written by a timer ([`write_bursts`]), and what must be done in time ([`Timed`]).
//! [`Prefix`] says towards which peers something is allowed.
//!
//! Everything blocks. There is no runtime, no thread and no state of its own.

mod bursting;
mod counters;
mod open_files;
mod options;
mod path_errors;
mod prefix;
mod tcp_info;
mod timed;

pub use bursting::{Alarm, Written, is_timeout, write_bursts, write_in_bursts};
pub use counters::{Counts, HostCounters};
pub use open_files::raise_open_files;
pub use options::{
    controller, set_controller, set_low_water, set_pacing_rate, set_receive_buffer, set_send_buffer,
    set_silence, set_tcp_option, set_unsent, unacknowledged,
};
pub use path_errors::{PathError, keep_path_errors, path_error};
pub use prefix::{Prefix, PrefixError, covers};
pub use tcp_info::TcpInfo;
pub use timed::{Timed, read_within};
