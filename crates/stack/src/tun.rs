//! A TUN device: what a host sends is read from a file, and what is written to the file is received by the
//! host.

use ackclock_wire::offload::LENGTH;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, IoSlice};
use rustix::ioctl::{IntegerSetter, Opcode, Setter, ioctl, opcode};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The longest name of a device, bytes (IFNAMSIZ without the final zero).
const MAX_NAME: usize = 15;

// linux/if_tun.h
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);
const TUNSETOFFLOAD: Opcode = opcode::write::<u32>(b'T', 208);
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
/// Checksums may be unfinished, and TCP packets may be trains, with CWR, too.
const OFFLOADS: usize = 0x01 | 0x02 | 0x04 | 0x08;

/// `struct ifreq` as TUNSETIFF reads it.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    unused: [u8; 22],
}

/// The file of the device. The device disappears when it is closed.
pub struct Tun {
    file: OwnedFd,
}

impl Tun {
    /// Creates a device of this name, at most 15 bytes, in the network namespace of the calling thread. It
    /// has neither address nor route.
    ///
    /// # Errors
    ///
    /// If the kernel refuses it, or the name is too long.
    #[allow(unsafe_code, reason = "rustix has no wrapper for the ioctls of TUN devices")]
    pub fn make(name: &str) -> io::Result<Tun> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        let mut request =
            Request { name: [0; 16], flags: IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, unused: [0; 22] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: TUNSETIFF reads a `struct ifreq` (40 bytes) and writes the name back into it. `Request` is
        // one.
        unsafe { ioctl(&file, Setter::<TUNSETIFF, Request>::new(request)) }?;
        // SAFETY: TUNSETOFFLOAD takes its flags as an integer in the place of the pointer.
        unsafe { ioctl(&file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(OFFLOADS)) }?;
        Ok(Tun { file })
    }

    /// Reads an offload header and a packet, if there is one. Returns its length.
    ///
    /// # Errors
    ///
    /// If the device cannot be read.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.file, buffer) {
            Ok(bytes) if bytes > LENGTH => Ok(Some(bytes)),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes an offload header and a packet, in up to three parts.
    ///
    /// # Errors
    ///
    /// If the kernel does not accept it. [`io::ErrorKind::WouldBlock`]: it has no room now.
    pub fn write(&self, parts: &[&[u8]]) -> io::Result<()> {
        let part = |at: usize| IoSlice::new(parts.get(at).copied().unwrap_or(&[]));
        let slices = [part(0), part(1), part(2)];
        let count = parts.len().min(slices.len());
        Ok(rustix::io::writev(&self.file, &slices[..count]).map(|_| ())?)
    }
}

impl From<OwnedFd> for Tun {
    /// Anything that passes packets in this form, one at a time and without blocking.
    fn from(file: OwnedFd) -> Tun {
        Tun { file }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
