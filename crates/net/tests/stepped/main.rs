//! Queues that decide when the transmitter is free, against their RFCs' pseudo-code stepped the obvious way,
//! and against numbers computed by hand. The link sends 8 Mbit/s: a byte takes a microsecond.

mod ack_filter;
mod bench;
mod codel;
mod dualpi2;
mod fq_codel;
mod link;
mod models;
