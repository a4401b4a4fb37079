//! The messages about files. Numbers are little-endian.

/// SHA-256.
pub(super) type Hash = [u8; 32];

/// From the sender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ToReceiver {
    /// A file that it has: the number, from 0 in order, the size, whether to go on with what is there.
    Offer { file: u32, size: u64, resume: bool, name: String },
    /// How many there were.
    Offered(u32),
    /// Where the data of a file begin.
    Start { file: u32, offset: u64 },
    /// The data follow.
    Begin,
    /// The hash of a whole file.
    Digest { file: u32, hash: Hash },
}

/// From the receiver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ToSender {
    /// So much of a file is there, and the hash of that.
    Have { file: u32, bytes: u64, hash: Hash },
    /// It is complete and in its place.
    Saved(u32),
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn hash(bytes: &[u8], at: usize) -> Option<Hash> {
    bytes.get(at..at + 32)?.try_into().ok()
}

/// Accepts `message` only if it has this length.
fn exactly<T>(message: &[u8], length: usize, read: Option<T>) -> Option<T> {
    read.filter(|_| message.len() == length)
}

impl ToReceiver {
    pub(super) fn read(message: &[u8]) -> Option<ToReceiver> {
        match message.first()? {
            1 => {
                let resume = match message.get(13)? {
                    0 => false,
                    1 => true,
                    _ => return None,
                };
                let name = std::str::from_utf8(&message[14..]).ok()?.to_owned();
                Some(ToReceiver::Offer { file: number(message, 1)?, size: long(message, 5)?, resume, name })
            }
            2 => exactly(message, 5, number(message, 1)).map(ToReceiver::Offered),
            3 => exactly(message, 13, number(message, 1).zip(long(message, 5)))
                .map(|(file, offset)| ToReceiver::Start { file, offset }),
            4 => exactly(message, 1, Some(ToReceiver::Begin)),
            5 => exactly(message, 37, number(message, 1).zip(hash(message, 5)))
                .map(|(file, hash)| ToReceiver::Digest { file, hash }),
            _ => None,
        }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        match self {
            ToReceiver::Offer { file, size, resume, name } => {
                let mut out = [&[1][..], &file.to_le_bytes(), &size.to_le_bytes()].concat();
                out.push(u8::from(*resume));
                out.extend(name.as_bytes());
                out
            }
            ToReceiver::Offered(count) => [&[2][..], &count.to_le_bytes()].concat(),
            ToReceiver::Start { file, offset } => {
                [&[3][..], &file.to_le_bytes(), &offset.to_le_bytes()].concat()
            }
            ToReceiver::Begin => vec![4],
            ToReceiver::Digest { file, hash } => [&[5][..], &file.to_le_bytes(), hash].concat(),
        }
    }
}

impl ToSender {
    pub(super) fn read(message: &[u8]) -> Option<ToSender> {
        match message.first()? {
            1 => {
                let (file, bytes) = exactly(message, 45, number(message, 1).zip(long(message, 5)))?;
                Some(ToSender::Have { file, bytes, hash: hash(message, 13)? })
            }
            2 => exactly(message, 5, number(message, 1)).map(ToSender::Saved),
            _ => None,
        }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        match self {
            ToSender::Have { file, bytes, hash } => {
                [&[1][..], &file.to_le_bytes(), &bytes.to_le_bytes(), hash].concat()
            }
            ToSender::Saved(file) => [&[2][..], &file.to_le_bytes()].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            file in any::<u32>(),
            size in any::<u64>(),
            resume in any::<bool>(),
            name in ".{0,60}",
            hash in any::<Hash>(),
        ) {
            for message in [
                ToReceiver::Offer { file, size, resume, name },
                ToReceiver::Offered(file),
                ToReceiver::Start { file, offset: size },
                ToReceiver::Begin,
                ToReceiver::Digest { file, hash },
            ] {
                prop_assert_eq!(ToReceiver::read(&message.write()), Some(message));
            }
            for message in [ToSender::Have { file, bytes: size, hash }, ToSender::Saved(file)] {
                prop_assert_eq!(ToSender::read(&message.write()), Some(message));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..60), kind in 0..7_u8) {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Some(message) = ToReceiver::read(&bytes) {
                prop_assert_eq!(message.write(), bytes.clone());
            }
            if let Some(message) = ToSender::read(&bytes) {
                prop_assert_eq!(message.write(), bytes);
            }
        }
    }
}
