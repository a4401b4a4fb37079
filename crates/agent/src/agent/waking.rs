//! When a reader is woken. A sender over loopback or at tens of Gbit/s otherwise spends a quarter of its time
//! on waking a reader for every segment, and the reader's reads are small. So where a block comes within
//! [`SOON`], the reader is woken for whole blocks (SO_RCVLOWAT). Acknowledgements do not wait for that:
//! Linux sends them at once while data below the mark is unread.
//!
//! What is left below a block when a fast sender pauses is read when [`PATIENCE`] is over. The kernel rounds
//! that up to two or three of its ticks.

use ackclock_sockets::set_low_water;
use ackclock_units::{Duration, Time};
use std::io;
use std::net::TcpStream;

/// A block that comes within this is waited for.
const SOON: Duration = Duration::from_micros(100);
/// Over this time the rate is measured.
const SPAN: Duration = Duration::from_millis(10);
/// The longest wait for the rest of a block.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(1);

/// When the reader of a connection is woken.
pub(crate) struct Waking {
    block: u64,
    /// The longest wait for a first byte.
    step: std::time::Duration,
    for_blocks: bool,
    /// The span began then, and has brought so many bytes.
    began: Time,
    bytes: u64,
}

impl Waking {
    /// For every segment at first. `block`: what the reader takes at once, bytes. `step`: the socket's own
    /// time-out.
    pub(crate) fn new(block: usize, step: std::time::Duration, now: Time) -> Waking {
        Waking { block: block as u64, step, for_blocks: false, began: now, bytes: 0 }
    }

    /// So many bytes were read at `now`; none if the time was over.
    pub(crate) fn read(&mut self, stream: &TcpStream, now: Time, bytes: u64) -> io::Result<()> {
        self.bytes += bytes;
        let span = now.since(self.began);
        if span < SPAN && bytes > 0 {
            return Ok(());
        }
        let is_fast = bytes > 0 && self.bytes / self.block >= span.as_nanos() / SOON.as_nanos();
        (self.began, self.bytes) = (now, 0);
        if is_fast == self.for_blocks {
            return Ok(());
        }
        self.for_blocks = is_fast;
        stream.set_read_timeout(Some(if is_fast { PATIENCE } else { self.step }))?;
        set_low_water(stream, if is_fast { self.block } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_sockets::is_timeout;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    const STEP: std::time::Duration = std::time::Duration::from_secs(5);

    #[test]
    fn what_is_left_of_a_fast_sender_is_read_soon() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut sender = TcpStream::connect(listener.local_addr()?)?;
        let mut reader = listener.accept()?.0;
        reader.set_read_timeout(Some(STEP))?;
        let at = |us: u64| Time::from_nanos(us * 1000);
        let mut waking = Waking::new(1000, STEP, at(0));
        waking.read(&reader, at(9_999), 100_000)?;
        assert!(!waking.for_blocks, "the span is not over");
        waking.read(&reader, at(10_000), 1)?;
        assert!(waking.for_blocks, "a hundred blocks in 10 ms: one every 100 us");
        assert_eq!(reader.read_timeout()?.map(|it| it < STEP), Some(true));

        sender.write_all(&[0; 10])?;
        let mut buffer = [0; 1000];
        assert_eq!(reader.read(&mut buffer)?, 10, "less than a block");
        let error = reader.read(&mut buffer).expect_err("nothing more comes");
        assert!(is_timeout(&error));
        waking.read(&reader, at(20_000), 0)?;
        assert!(!waking.for_blocks);
        assert_eq!(reader.read_timeout()?, Some(STEP));
        sender.write_all(&[0; 10])?;
        assert_eq!(reader.read(&mut buffer)?, 10);

        waking.read(&reader, at(20_000 + 10_000), 99_999)?;
        assert!(!waking.for_blocks, "one block less");
        Ok(())
    }
}
