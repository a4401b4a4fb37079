//! The kernel's data about a connection: TCP_INFO (linux/tcp.h).

use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct tcp_info` of Linux 6.7. Older kernels fill a part of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    bytes: [u8; 8],
    rto_ato_mss: [u32; 4],
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Of these, those selectively acknowledged.
    pub sacked: u32,
    /// Of these, those that the kernel takes for lost.
    pub lost: u32,
    /// Retransmissions in flight, segments.
    pub retrans: u32,
    fackets: u32,
    last: [u32; 4],
    pmtu_rcv_ssthresh: [u32; 2],
    /// Smoothed round-trip time, us.
    pub rtt: u32,
    rttvar: u32,
    /// Segments; `i32::MAX` before the first reduction.
    pub snd_ssthresh: u32,
    /// Segments.
    pub snd_cwnd: u32,
    advmss_reordering: [u32; 2],
    rcv_rtt_space: [u32; 2],
    /// Segments retransmitted, over the connection.
    pub total_retrans: u32,
    /// The rate at which the kernel paces, bytes/s. All ones: it does not.
    pub pacing_rate: u64,
    /// The limit of that rate, bytes/s. All ones: none.
    pub max_pacing_rate: u64,
    /// Bytes acknowledged, over the connection.
    pub bytes_acked: u64,
    /// Bytes received in order, over the connection.
    pub bytes_received: u64,
    segs: [u32; 2],
    notsent: u32,
    /// The smallest round-trip time of the last five minutes, us.
    pub min_rtt: u32,
    /// Segments with data received, duplicates included.
    pub data_segs_in: u32,
    /// Segments with data sent, retransmissions included.
    pub data_segs_out: u32,
    delivery_rate: u64,
    limits: [u64; 3],
    delivered: [u32; 2],
    bytes_sent_retrans: [u64; 2],
    dsack_reord: [u32; 2],
    rcv: [u32; 3],
    rehash: u32,
    /// Expiries of the retransmission timer, over the connection.
    pub total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

impl TcpInfo {
    /// The data of this socket. All zero if the kernel gives none.
    #[allow(unsafe_code, reason = "rustix has no wrapper for TCP_INFO")]
    pub fn of(socket: BorrowedFd<'_>) -> TcpInfo {
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

    /// The payload of a full segment that is sent, bytes.
    pub fn segment(&self) -> u32 {
        self.rto_ato_mss[2]
    }

    /// Segments in flight, as the kernel counts them.
    pub fn in_flight(&self) -> f64 {
        let (out, gone) = (
            u64::from(self.unacked) + u64::from(self.retrans),
            u64::from(self.sacked) + u64::from(self.lost),
        );
        out.saturating_sub(gone) as f64
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
        assert_eq!(std::mem::offset_of!(TcpInfo, max_pacing_rate), 112);
        assert_eq!(std::mem::offset_of!(TcpInfo, min_rtt), 148);
    }
}
