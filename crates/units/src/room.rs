//! The capacity of a queue.

use crate::{Bytes, QuantityError};
use std::fmt;
use std::str::FromStr;

/// The capacity of a queue, in one of three units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Room {
    /// So many packets: a whole number.
    Packets(f64),
    /// So many bytes.
    Bytes(u64),
    /// So many times the bandwidth-delay product.
    Bdp(f64),
}

/// Most packets, or products of bandwidth and delay.
const MAX: f64 = 1e9;
const REMEDY: &str = "write it as \"5000 packets\", \"1 bdp\" or \"64 kB\"";

impl FromStr for Room {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Room, QuantityError> {
        let trimmed = text.trim();
        let counted = |unit: &str| trimmed.strip_suffix(unit).map(|number| number.trim().parse::<f64>());
        let (number, room): (_, fn(f64) -> Room) =
            if let Some(number) = counted("packets").or_else(|| counted("packet")) {
                (number, Room::Packets)
            } else if let Some(number) = counted("bdp") {
                (number, Room::Bdp)
            } else {
                return text
                    .parse()
                    .map(|Bytes(bytes)| Room::Bytes(bytes))
                    .map_err(|error: QuantityError| error.or(REMEDY));
            };
        match number.map(|number| (number, room(number))) {
            Ok((number, Room::Packets(_))) if number.fract() != 0.0 => {
                Err(QuantityError::new(trimmed, "a whole number of packets", REMEDY))
            }
            Ok((number, room)) if (0.0..=MAX).contains(&number) => Ok(room),
            _ => Err(QuantityError::new(
                trimmed,
                "room in a queue",
                format!("{REMEDY}, with a number from 0 to {MAX:e}"),
            )),
        }
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Room::Packets(1.0) => write!(f, "1 packet"),
            Room::Packets(packets) => write!(f, "{packets} packets"),
            Room::Bytes(bytes) => Bytes(*bytes).fmt(f),
            Room::Bdp(times) => write!(f, "{times} bdp"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_products_and_sizes() {
        for (text, room) in [
            ("5000 packets", Room::Packets(5000.0)),
            ("1 packet", Room::Packets(1.0)),
            (" 0.5 bdp ", Room::Bdp(0.5)),
            ("64 kB", Room::Bytes(64_000)),
        ] {
            assert_eq!(text.parse(), Ok(room));
            assert_eq!(room.to_string().parse(), Ok(room));
        }
        for wrong in ["1.5 packets", "-1 packets", "1e12 bdp", "nan bdp", "100", "1 BDP", "5 ms", ""] {
            let error = wrong.parse::<Room>().expect_err(wrong).to_string();
            assert!(error.contains("\"5000 packets\", \"1 bdp\" or \"64 kB\""), "{wrong}: {error}");
        }
    }
}
