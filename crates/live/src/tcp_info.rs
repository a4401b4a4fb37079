//! The kernel's data about a connection: TCP_INFO (linux/tcp.h), and the TCP counters of a host (RFC 2012's
//! MIB and Linux' extensions).

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct tcp_info` of Linux 6.7. Older kernels fill a part of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    bytes: [u8; 8],
    rto_ato_mss: [u32; 4],
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    fackets: u32,
    last: [u32; 4],
    pmtu_rcv_ssthresh: [u32; 2],
    /// Smoothed round-trip time, us.
    pub(crate) rtt: u32,
    rttvar: u32,
    /// Segments; `i32::MAX` before the first reduction.
    pub(crate) snd_ssthresh: u32,
    /// Segments.
    pub(crate) snd_cwnd: u32,
    advmss_reordering: [u32; 2],
    rcv_rtt_space: [u32; 2],
    /// Segments retransmitted, over the connection.
    pub(crate) total_retrans: u32,
    pacing: [u64; 2],
    pub(crate) bytes_acked: u64,
    pub(crate) bytes_received: u64,
    segs: [u32; 2],
    notsent: u32,
    /// The smallest round-trip time of the last five minutes, us.
    pub(crate) min_rtt: u32,
    pub(crate) data_segs_in: u32,
    /// Segments with data sent, retransmissions included.
    pub(crate) data_segs_out: u32,
    delivery_rate: u64,
    limits: [u64; 3],
    delivered: [u32; 2],
    bytes_sent_retrans: [u64; 2],
    dsack_reord: [u32; 2],
    rcv: [u32; 3],
    rehash: u32,
    pub(crate) total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

impl TcpInfo {
    /// The data of this socket. All zero if the kernel gives none.
    #[allow(unsafe_code, reason = "rustix has no wrapper for TCP_INFO")]
    pub(crate) fn of(socket: BorrowedFd<'_>) -> TcpInfo {
        let mut info = TcpInfo::default();
        let mut length = size_of::<TcpInfo>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, which is the size of `info`. Every bit pattern is
        // a valid `TcpInfo`.
        let status = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &mut length,
            )
        };
        if status == 0 { info } else { TcpInfo::default() }
    }

    /// Segments in flight, as the kernel counts them.
    pub(crate) fn in_flight(&self) -> f64 {
        let (out, gone) = (
            u64::from(self.unacked) + u64::from(self.retrans),
            u64::from(self.sacked) + u64::from(self.lost),
        );
        out.saturating_sub(gone) as f64
    }
}

/// The TCP counters of a host.
pub(crate) struct HostCounters {
    files: [File; 2],
}

/// The values of the counters, by name.
pub(crate) type Counts = HashMap<String, u64>;

impl HostCounters {
    /// The counters of the host in which the calling thread is.
    pub(crate) fn open() -> io::Result<HostCounters> {
        Ok(HostCounters {
            files: [File::open("/proc/thread-self/net/snmp")?, File::open("/proc/thread-self/net/netstat")?],
        })
    }

    pub(crate) fn read(&mut self) -> io::Result<Counts> {
        let mut counts = Counts::new();
        for file in &mut self.files {
            let mut text = String::new();
            file.seek(SeekFrom::Start(0))?;
            file.read_to_string(&mut text)?;
            read_into(&text, &mut counts);
        }
        Ok(counts)
    }
}

/// Parses pairs of lines: names, then numbers.
fn read_into(text: &str, counts: &mut Counts) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let names = pair[0].split_whitespace().skip(1);
        let values = pair[1].split_whitespace().skip(1);
        counts.extend(
            names.zip(values).filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_structure_has_this_length() {
        // linux/tcp.h of 6.7: total_rto_time ends at byte 248.
        assert_eq!(size_of::<TcpInfo>(), 248);
        assert_eq!(std::mem::offset_of!(TcpInfo, rtt), 68);
        assert_eq!(std::mem::offset_of!(TcpInfo, total_retrans), 100);
        assert_eq!(std::mem::offset_of!(TcpInfo, min_rtt), 148);
    }

    #[test]
    fn counters_by_name() {
        let mut counts = Counts::new();
        read_into("Tcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 17\nUdp: In\nUdp: 3\n", &mut counts);
        assert_eq!(counts.get("RetransSegs"), Some(&17));
        assert_eq!(counts.get("MaxConn"), None);
    }
}
