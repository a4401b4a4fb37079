//! The ECN field of a packet.

/// What a packet says of ECN (RFC 3168 section 5, RFC 9331 section 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// Its transport does not know ECN: it cannot be marked.
    #[default]
    NotEct,
    /// ECT(0): it can, and a mark means what a loss means.
    Ect0,
    /// ECT(1): it can, and its sender expects the frequent marks of L4S.
    Ect1,
    /// It has been marked.
    Ce,
}

impl Ecn {
    /// May it be marked instead of being dropped?
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}
