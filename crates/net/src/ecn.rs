//! The ECN field of a packet.

/// The ECN codepoint of a packet (RFC 3168 section 5, RFC 9331 section 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// Not-ECT: the transport does not support ECN. The packet cannot be marked.
    #[default]
    NotEct,
    /// ECT(0): the packet can be marked. A mark means the same as a loss.
    Ect0,
    /// ECT(1): the packet can be marked. The sender expects the frequent marks of L4S.
    Ect1,
    /// CE: the packet is marked.
    Ce,
}

impl Ecn {
    /// True if a queue may mark the packet instead of dropping it.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}
