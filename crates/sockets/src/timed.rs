//! Streams on which something must be done in time. A time-out of the socket (SO_RCVTIMEO) begins anew with
//! each byte, so who sends one byte at a time would hold a reader as long as he likes.

use std::borrow::Borrow;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A TCP stream, own or borrowed, on which everything must be read and written until an instant. What is not
/// done by then fails with `TimedOut`, however much has come.
///
/// It changes both time-outs of the socket.
#[derive(Debug)]
pub struct Timed<S> {
    stream: S,
    until: Instant,
}

impl<S: Borrow<TcpStream>> Timed<S> {
    /// The stream, with so much time from now on.
    pub fn new(stream: S, patience: Duration) -> Timed<S> {
        Timed { stream, until: Instant::now() + patience }
    }

    /// So much time from now on.
    pub fn allow(&mut self, patience: Duration) {
        self.until = Instant::now() + patience;
    }

    /// The stream.
    pub fn stream(&self) -> &TcpStream {
        self.stream.borrow()
    }

    /// What is left of the time.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

/// Both names that systems have for a time-out become one.
fn late(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

impl<S: Borrow<TcpStream>> Read for Timed<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream();
        stream.set_read_timeout(self.left()?)?;
        stream.read(buffer).map_err(late)
    }
}

impl<S: Borrow<TcpStream>> Write for Timed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream();
        stream.set_write_timeout(self.left()?)?;
        stream.write(bytes).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fills `buffer` within `patience`, however few bytes come at a time. It changes the stream's time-out for
/// reading.
///
/// # Errors
///
/// `TimedOut` if too little has come, `UnexpectedEof` if the other end has hung up, and those of the socket.
pub fn read_within(stream: &TcpStream, buffer: &mut [u8], patience: Duration) -> io::Result<()> {
    Timed::new(stream, patience).read_exact(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread::{sleep, spawn};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        (near, listener.accept().expect("its other end").0)
    }

    #[test]
    fn pieces_that_come_in_time_fill_a_buffer() {
        let (near, mut far) = pair();
        let writer = spawn(move || {
            for byte in 0..10 {
                far.write_all(&[byte]).expect("written");
                sleep(Duration::from_millis(2));
            }
        });
        let mut buffer = [0; 10];
        read_within(&near, &mut buffer, Duration::from_secs(10)).expect("all in time");
        assert_eq!(buffer, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        writer.join().expect("it ends");
        let gone = read_within(&near, &mut buffer, Duration::from_secs(10)).expect_err("hung up");
        assert_eq!(gone.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn who_sends_a_byte_at_a_time_gains_nothing() {
        let (near, mut far) = pair();
        spawn(move || {
            while far.write_all(b"x").is_ok() {
                sleep(Duration::from_millis(10));
            }
        });
        let begun = Instant::now();
        let late = read_within(&near, &mut [0; 100_000], Duration::from_millis(300)).expect_err("too slow");
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        // A busy machine may be late, but not by as much as all those bytes would take.
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }

    #[test]
    fn nobody_waits_for_who_reads_nothing() {
        let (near, _far) = pair();
        let mut timed = Timed::new(near, Duration::from_millis(300));
        let block = vec![0; 1 << 20];
        let late = loop {
            match timed.write(&block) {
                Ok(bytes) => assert!(bytes > 0),
                Err(error) => break error,
            }
        };
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        timed.allow(Duration::from_millis(1));
        assert_eq!(timed.read(&mut [0]).expect_err("nothing comes").kind(), ErrorKind::TimedOut);
    }
}
