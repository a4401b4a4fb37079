//! Transports from end to end, over paths that lose, delay, duplicate and overtake.

mod any;
mod gcc;
mod ns2;
mod path;
mod tfrc;
mod xrtp;
