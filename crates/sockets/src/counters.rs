//! The TCP counters of a host: RFC 2012's MIB and Linux' extensions.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The TCP counters of a host.
pub struct HostCounters {
    files: [File; 2],
}

/// The values of the counters, by name.
pub type Counts = HashMap<String, u64>;

impl HostCounters {
    /// The counters of the host (the network namespace) in which the calling thread is.
    ///
    /// # Errors
    ///
    /// If /proc is not there.
    pub fn open() -> io::Result<HostCounters> {
        Ok(HostCounters {
            files: [File::open("/proc/thread-self/net/snmp")?, File::open("/proc/thread-self/net/netstat")?],
        })
    }

    /// The values now.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell them.
    pub fn read(&mut self) -> io::Result<Counts> {
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
    fn counters_by_name() {
        let mut counts = Counts::new();
        read_into("Tcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 17\nUdp: In\nUdp: 3\n", &mut counts);
        assert_eq!(counts.get("RetransSegs"), Some(&17));
        assert_eq!(counts.get("MaxConn"), None);
    }
}
