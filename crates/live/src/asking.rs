//! A flow whose receiving host asks for each transfer: a client and a server, as with HTTP, over one
//! connection or over one for each request. The server is the sending host.
//!
//! A request has the size of a short one of a browser, and says how much is wanted.

use crate::clock::PATIENCE;
use crate::error::LiveError;
use crate::flow::{CHUNK, Flow, PORT, forget_when_over, tcp_socket};
use crate::schedule;
use ackclock_scenario::measured::Transfer;
use ackclock_scenario::plan::Asking;
use ackclock_sockets::{HostCounters, is_timeout};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;

/// The size of a request, bytes: that of the thesis's, with its header fields.
const REQUEST: usize = 128;

impl Flow<'_> {
    /// The server. It needs a thread of its own.
    pub(crate) fn answer(&self) -> Result<(), LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot serve", self.sender.name));
        schedule::ahead();
        self.sender.enter().map_err(failed())?;
        self.tracked().counters = Some(HostCounters::open().map_err(failed())?);
        let listener = TcpListener::bind((self.sender.address, PORT)).map_err(failed())?;
        set_socket_timeout(&listener, Timeout::Recv, Some(PATIENCE))
            .map_err(|error| failed()(error.into()))?;
        // Connections that it accepts have the same options.
        self.equip(&listener)?;
        self.listening.store(true, Ordering::Release);
        while !self.over() {
            match listener.accept() {
                Ok((stream, _)) => match self.respond(stream) {
                    Err(_) if self.over() => return Ok(()),
                    ended => ended.map_err(failed())?,
                },
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(failed()(error)),
            }
        }
        Ok(())
    }

    /// Answers all requests of a connection.
    fn respond(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        forget_when_over(&stream)?;
        self.tracked().follow(stream.try_clone().ok());
        let mut request = [0; REQUEST];
        while self.read_all(&mut stream, &mut request)? {
            let bytes = u64::from_be_bytes(request[..8].try_into().expect("eight bytes"));
            let all = match self.plan.writing.and_then(|writing| writing.bursts) {
                Some(bursts) => self.answer_in_bursts(&stream, bytes, bursts)?,
                None => self.write_all(&stream, bytes)?,
            };
            if !all {
                break;
            }
        }
        Ok(())
    }

    /// The client. It needs a thread of its own.
    pub(crate) fn ask(&self, asking: Asking) -> Result<(), LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot ask", self.receiver.name));
        schedule::ahead();
        self.receiver.enter().map_err(failed())?;
        while !self.listening.load(Ordering::Acquire) {
            if self.over() {
                return Ok(()); // the server says why it does not listen
            }
            std::thread::sleep(PATIENCE / 50);
        }
        self.sleep_until(self.plan.start);
        let mut requests = self.plan.requests.clone();
        let mut connection = None;
        for _ in 0..requests.repeat {
            if !self.goes_on() {
                break;
            }
            let begun = self.clock.now();
            let Some(bytes) = self.bytes_of(requests.next_size()) else { break };
            self.tracked().transfers.push(Transfer { begun, bytes, took: None });
            let stream = match connection.take() {
                Some(stream) => Some(stream),
                None => self.reach().map_err(failed())?,
            };
            let Some(mut stream) = stream else { break };
            match self.get(&mut stream, bytes) {
                Ok(true) => {}
                Err(error) if !self.over() => return Err(failed()(error)),
                Ok(false) | Err(_) => break,
            }
            let now = self.clock.now();
            let mut tracked = self.tracked();
            if let Some(transfer) = tracked.transfers.last_mut() {
                transfer.took = Some(now.since(begun));
            }
            let next = requests.next_start(begun, now);
            tracked.waited = requests.waited;
            if asking.persistent {
                connection = Some(stream);
            } else {
                tracked.read(&stream);
            }
            drop(tracked);
            self.sleep_until(next);
        }
        Ok(())
    }

    /// A connection to the server. `None` if the run ended before.
    fn reach(&self) -> io::Result<Option<TcpStream>> {
        let socket = tcp_socket()?;
        self.window().announce(&socket)?;
        let stream = self.connected(socket, self.sender.address)?;
        if let Some(stream) = &stream {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            self.tracked().receiving = stream.try_clone().ok();
        }
        Ok(stream)
    }

    /// Asks for so many bytes, and reads them. False if the run ended before.
    fn get(&self, stream: &mut TcpStream, bytes: u64) -> io::Result<bool> {
        let mut request = [0; REQUEST];
        request[..8].copy_from_slice(&bytes.to_be_bytes());
        stream.write_all(&request)?;
        let mut buffer = vec![0; CHUNK];
        let (mut left, mut window) = (bytes, self.window());
        while left > 0 {
            let part = (CHUNK as u64).min(left) as usize;
            match stream.read(&mut buffer[..part]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => {
                    left -= bytes as u64;
                    window.hold(&*stream, self.clock.now())?;
                }
                Err(error) if is_timeout(&error) && !self.over() => {}
                Err(error) if is_timeout(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Fills the buffer. False if the other end has closed, or if the run has ended.
    fn read_all(&self, stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < buffer.len() {
            match stream.read(&mut buffer[filled..]) {
                Ok(0) => return Ok(false),
                Ok(bytes) => filled += bytes,
                Err(error) if is_timeout(&error) && !self.over() => {}
                Err(error) if is_timeout(&error) => return Ok(false),
                // A client that has what it wants resets its connection.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
